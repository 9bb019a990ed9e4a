"""The command line: ``sparkcep --help`` lists its commands."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from sparkcep.cli.discover import discover_command
from sparkcep.cli.index import index_group
from sparkcep.cli.options import Connection, Data, session_of, with_connection, with_data
from sparkcep.cli.rules import rules_group
from sparkcep.cli.statements import COMMANDS, TEXT
from sparkcep.cli.table import table_group
from sparkcep.session.messages.printed import is_sparks, short_message
from sparkcep.version import __version__

# What takes time to load, errors too since they bring pyspark, is imported where it is needed: --help answers at once.


@click.group("sparkcep", invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sparkcep", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Pattern queries as part of Spark SQL."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@cli.command("shell")
@with_connection
@with_data
def shell_command(connection: Connection, data: Data) -> None:
    """Type statements and see their results."""
    from sparkcep.cli.prompt import run_shell
    from sparkcep.cli.shell import HELP, Shell
    from sparkcep.progress import hide

    spark = session_of(connection, data)
    hide()  # between statements, a prompt stands where activities would be shown
    if sys.stdin.isatty():
        click.echo(HELP)
    run_shell(Shell(spark))


@cli.command("demo")
@click.option("--stream", is_flag=True, help="Replay ten days of them as a stream.")
def demo_command(stream: bool) -> None:
    """Find delays that grow leg by leg in 336,776 real flights."""
    if stream:
        from sparkcep.cli.demo_stream import run_stream_demo

        run_stream_demo()
        return
    from sparkcep.cli.demo import run_demo

    run_demo()


@cli.command("doctor")
@click.option("--no-query", is_flag=True, help="Do not run one pattern query at the end.")
@click.option("--cluster", is_flag=True, help="Look at a session's executors instead of this machine.")
@with_connection
def doctor_command(no_query: bool, cluster: bool, connection: Connection) -> int:
    """Check whether this machine can run pattern queries, and say how to fix it.

    The exit code is 1 if pattern queries cannot run.
    """
    from sparkcep.cli.doctor import findings

    fatal = False
    if cluster or connection.remote or connection.master:
        from sparkcep.cli.doctor_cluster import cluster_findings

        found_here = cluster_findings(session_of(connection))
    else:
        found_here = findings(not no_query)
    for found in found_here:
        print(found.line(), flush=True)
        fatal |= found.fatal
    return int(fatal)


@cli.command("warmup")
@click.option("--portable", is_flag=True, help="Compile for all processors of a level (x86-64-v2).")
@click.option("--into", metavar="FOLDER", type=Path, help="Copy the kernels to this folder; implies --portable.")
def warmup_command(portable: bool, into: Path | None) -> None:
    """Compile the matching kernels ahead, once per machine and version."""
    from sparkcep.exec.kernel_cache.called import counted
    from sparkcep.exec.kernel_cache.places import places
    from sparkcep.progress import activity
    from sparkcep.session.machine.warmup import ENTRIES, keep_beside_sources, ship_kernels, warm_for

    kept = places()
    if kept.write is None:
        from sparkcep.errors import SparkCepError

        raise SparkCepError(
            "CEP_KERNEL_CACHE", f"No folder can hold compiled kernels: {'; '.join(kept.refused)}.",
            hint="export NUMBA_CACHE_DIR=a folder that only you can write to",
        )  # fmt: skip
    started = time.perf_counter()
    compiled = 0
    portable = portable or into is not None
    with activity("Compiling kernels") as progress:
        for group in warm_for(os.cpu_count() or 1, portable, counted(progress, ENTRIES)):
            compiled += group.compiled
            if group.compiled:
                kernels = "1 kernel" if group.compiled == 1 else f"{group.compiled} kernels"
                progress.say(f"{group.name:<12} {kernels:<10} {group.cpu:6.1f} s of a processor")
    seconds = time.perf_counter() - started
    print(
        f"Compiled {compiled} kernels in {seconds:.1f} s, into {kept.write}."
        if compiled else f"All kernels were compiled before, in {', '.join(map(str, kept.read))}."
    )  # fmt: skip
    if beside := keep_beside_sources(portable):
        print(f"Other users of this installation find them in {beside}.")
    if into is not None:
        files = ship_kernels(into)
        print(f"{len(files)} files, {sum(f.stat().st_size for f in files) / 1e6:.1f} MB, in {files[0].parent}")


@cli.command("dbt", options_metavar="...")
def dbt_command() -> None:
    """Run dbt with pattern queries enabled.

    Arguments go to dbt: build, run --select model, docs --help ...
    """


def run_dbt(arguments: Sequence[str]) -> int:
    """Run dbt in this process, where pattern queries are enabled before it starts; returns the exit code.

    Raises:
        SparkCepError: CEP_DBT_MISSING.
    """
    from sparkcep.session.machine.local import prepare_process

    try:
        from dbt.cli.main import dbtRunner
    except ImportError:
        from sparkcep.errors import SparkCepError

        raise SparkCepError("CEP_DBT_MISSING", "dbt is not installed.", hint="pip install 'sparkcep[dbt]'") from None
    prepare_process()
    result = dbtRunner().invoke(list(arguments))
    if result.exception is not None:  # what dbt does not print itself, such as a wrong option
        print(result.exception, file=sys.stderr)
    return 0 if result.success else 1


for command in (*COMMANDS, discover_command, index_group, rules_group, table_group):
    cli.add_command(command)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code. Errors are one message on standard error, without a traceback."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    meta: dict[str, str] = {}
    try:
        # click would take options in front of dbt's command for ours.
        if arguments[:1] == ["dbt"] and arguments[1:] not in (["-h"], ["--help"]):
            return run_dbt(arguments[1:])
        return _run(arguments, meta)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "pyspark":
            raise
        from sparkcep.session.machine.local import way_to_spark

        print(f"[CEP_SPARK_MISSING] PySpark is not installed.\nHint: {way_to_spark()}", file=sys.stderr)
        return 1
    except Exception as error:
        if not is_sparks(error):
            raise
        print(short_message(error, meta.get(TEXT, "")), file=sys.stderr)
        return 1


@contextlib.contextmanager
def _plain_warnings() -> Iterator[None]:
    """What a query is warned of is one line, without the place in our code that Python would show."""
    before = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if category.__name__ == "PatternWarning":  # to name the class would load pyspark
            click.echo(f"Warning: {message}", err=True)
        else:
            before(message, category, *rest, **more)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before


def _run(arguments: list[str], meta: dict[str, str]) -> int:
    from sparkcep.progress import shown

    if "_SPARKCEP_COMPLETE" in os.environ:  # the user's shell asks what may stand where its cursor is
        cli.main(arguments, "sparkcep")
    try:
        with cli.make_context("sparkcep", arguments) as context, shown(), _plain_warnings():
            context.meta.update(meta)
            try:
                return cli.invoke(context) or 0
            finally:
                meta.update({k: v for k, v in context.meta.items() if k == TEXT})
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        error.show()
        return error.exit_code
