"""Command line: ``sparkcep demo | sql | shell | explain | compile | dbt | index | rules | warmup | doctor``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sparkcep.cli.index import add_parser as add_index_parser
from sparkcep.cli.messages import is_sparks, short_message
from sparkcep.cli.printing import PRINT
from sparkcep.cli.rules import add_parser as add_rules_parser
from sparkcep.sql.script import split_statements

# What takes time to load, errors too since they bring pyspark, is imported where it is needed: --help answers at once.
if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_statements(spark: SparkSession, text: str, form: str) -> None:
    """Run all statements; print the results of those that have columns."""
    printed = False
    for statement in split_statements(text):
        frame = spark.sql(statement)
        if frame.columns:
            if printed:
                print()
            PRINT[form](frame)
            printed = True


def _statements(arguments: argparse.Namespace) -> list[str]:
    """The statements that a command is given.

    Raises:
        SparkCepError: their file cannot be read (CEP_FILE), or there is none (CEP_ARGUMENTS).
    """
    arguments.text = _text(arguments)
    statements = split_statements(arguments.text)
    if not statements:
        from sparkcep.errors import SparkCepError

        raise SparkCepError("CEP_ARGUMENTS", "There is no statement in the text.")
    return statements


def _text(arguments: argparse.Namespace) -> str:
    if arguments.execute is not None:
        return str(arguments.execute)
    if str(arguments.file) == "-":
        return sys.stdin.read()
    try:
        return Path(arguments.file).read_text()
    except OSError as error:
        from sparkcep.errors import SparkCepError

        raise SparkCepError("CEP_FILE", f"{arguments.file} cannot be read: {error.strerror}.") from None


def _session(arguments: argparse.Namespace) -> SparkSession:
    from sparkcep.session.local import local_session, quiet_errors

    conf = {}
    for item in arguments.conf:
        key, equals, value = item.partition("=")
        if not equals:
            from sparkcep.errors import SparkCepError

            raise SparkCepError("CEP_ARGUMENTS", f"--conf {item}: KEY=VALUE is expected.")
        conf[key] = value
    # What is missing is said before Spark is started, which takes its time.
    if arguments.flights:
        from sparkcep.data.flights import create_flights_view, flights_source

        flights_source()
    if arguments.stocks:
        from sparkcep.data.stocks import create_stocks_view, stocks_source

        stocks_source()
    quiet_errors()
    spark = local_session(arguments.master, arguments.remote, conf)
    if arguments.flights:
        create_flights_view(spark)
    if arguments.stocks:
        create_stocks_view(spark)
    return spark


def command_sql(arguments: argparse.Namespace) -> None:
    """Run statements and print their results."""
    from sparkcep.session.interrupts import interruptible

    _statements(arguments)
    spark = _session(arguments)
    with interruptible(spark):
        run_statements(spark, arguments.text, arguments.format)


def command_explain(arguments: argparse.Namespace) -> None:
    """Print the plan of the last statement, or draw it; the others are run."""
    from sparkcep.session.inspection import explained
    from sparkcep.session.interrupts import interruptible

    *before, last = _statements(arguments)
    spark = _session(arguments)
    with interruptible(spark):
        for statement in before:
            spark.sql(statement).collect()
        plan, run = explained(spark, last, analyze=arguments.analyze)
        if arguments.html is None:
            print(plan)
            return
        from sparkcep.pictures.explained import explained_page

        page = explained_page(last, plan, run, arguments.analyze)
    try:
        Path(arguments.html).write_text(page, encoding="utf-8")
    except OSError as error:
        from sparkcep.errors import SparkCepError

        raise SparkCepError("CEP_FILE", f"{arguments.html} cannot be written: {error.strerror}.") from None


def command_shell(arguments: argparse.Namespace) -> None:
    """Statements typed one after the other."""
    from sparkcep.cli.prompt import run_shell
    from sparkcep.cli.shell import HELP, Shell

    spark = _session(arguments)
    if sys.stdin.isatty():
        print(HELP)
    run_shell(Shell(spark))


def command_compile(arguments: argparse.Namespace) -> None:
    """Print the last statement as SQL for Spark alone; the others are run."""
    from sparkcep.session.interrupts import interruptible
    from sparkcep.session.transpile import compiled

    *before, last = _statements(arguments)
    spark = _session(arguments)
    with interruptible(spark):
        for statement in before:
            spark.sql(statement).collect()
        print(compiled(spark, last) + ";")


def command_dbt(arguments: argparse.Namespace) -> int:
    """Run dbt in this process, where pattern queries are enabled before it starts."""
    from sparkcep.session.local import prepare_process

    try:
        from dbt.cli.main import dbtRunner
    except ImportError:
        from sparkcep.errors import SparkCepError

        raise SparkCepError("CEP_DBT_MISSING", "dbt is not installed.", hint="pip install 'sparkcep[dbt]'") from None
    prepare_process()
    result = dbtRunner().invoke(arguments.arguments)
    if result.exception is not None:  # what dbt does not print itself, such as a wrong option
        print(result.exception, file=sys.stderr)
    return 0 if result.success else 1


def command_demo(options: argparse.Namespace) -> None:
    """``sparkcep demo``."""
    if options.stream:
        from sparkcep.cli.demo_stream import run_stream_demo

        run_stream_demo()
        return
    from sparkcep.cli.demo import run_demo

    run_demo()


def command_doctor(arguments: argparse.Namespace) -> int:
    """Say what this machine lacks; the exit code is 1 where pattern queries cannot run."""
    from sparkcep.cli.doctor import findings

    fatal = False
    if arguments.cluster or arguments.remote or arguments.master:
        from sparkcep.cli.doctor_cluster import cluster_findings

        arguments.flights = arguments.stocks = False
        found_here = cluster_findings(_session(arguments))
    else:
        found_here = findings(not arguments.no_query)
    for found in found_here:
        print(found.line(), flush=True)
        fatal |= found.fatal
    return int(fatal)


def command_warmup(arguments: argparse.Namespace) -> None:
    """Compile the kernels into a cache, and say what was compiled."""
    from sparkcep.exec.kernel_cache.places import places
    from sparkcep.session.warmup import ship_kernels, warm_for

    kept = places()
    if kept.write is None:
        from sparkcep.errors import SparkCepError

        raise SparkCepError(
            "CEP_KERNEL_CACHE", f"Compiled kernels can be kept nowhere: {'; '.join(kept.refused)}.",
            hint="export NUMBA_CACHE_DIR=a folder that only you can write to",
        )  # fmt: skip
    started = time.perf_counter()
    compiled = 0
    for group in warm_for(os.cpu_count() or 1, arguments.portable or arguments.into is not None):
        compiled += group.compiled
        if group.compiled:
            kernels = "1 kernel" if group.compiled == 1 else f"{group.compiled} kernels"
            print(f"{group.name:<12} {kernels:<10} {group.cpu:6.1f} s of a processor", flush=True)
    seconds = time.perf_counter() - started
    print(
        f"Compiled {compiled} kernels in {seconds:.1f} s, into {kept.write}."
        if compiled else f"All kernels were compiled before, in {', '.join(map(str, kept.read))}."
    )  # fmt: skip
    if arguments.into is not None:
        files = ship_kernels(arguments.into)
        print(f"{len(files)} files, {sum(f.stat().st_size for f in files) / 1e6:.1f} MB, in {files[0].parent}")


def _steps(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("-e", "--execute", metavar="TEXT", help="statements, separated by ;")
    group.add_argument("-f", "--file", metavar="FILE", help="file of statements; - for standard input")
    _session_options(parser)


def _session_options(parser: argparse.ArgumentParser) -> None:
    _where(parser)
    parser.add_argument("--flights", action="store_true", help="create the view `flights` of the examples first")
    parser.add_argument("--stocks", action="store_true", help="create the view `stocks` of the examples first")


def _where(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--master", help="Spark master (default local[*])")
    parser.add_argument("--remote", help="Spark Connect address, sc://host:port, instead of a master")
    parser.add_argument("--conf", metavar="KEY=VALUE", action="append", default=[], help="Spark configuration")


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    from sparkcep import __version__

    out = argparse.ArgumentParser(prog="sparkcep", description="Pattern queries as part of Spark SQL.")
    out.add_argument("--version", action="version", version=f"sparkcep {__version__}")
    out.set_defaults(run=lambda _: out.print_help())
    commands = out.add_subparsers(dest="command")
    demo = commands.add_parser("demo", help="find delays that grow leg by leg in 336,776 real flights")
    demo.add_argument("--stream", action="store_true", help="replay ten days of them as a stream")
    demo.set_defaults(run=command_demo)
    warmup = commands.add_parser("warmup", help="compile the matching kernels ahead, once per machine and version")
    warmup.add_argument(
        "--portable", action="store_true", help="for all processors of a level (x86-64-v2), not just for this machine's"
    )
    warmup.add_argument(
        "--into", metavar="FOLDER", type=Path, help="copy what a wheel brings there; implies --portable"
    )
    warmup.set_defaults(run=command_warmup)
    doctor = commands.add_parser("doctor", help="say what this machine lacks for pattern queries, and how to fix it")
    doctor.add_argument("--no-query", action="store_true", help="do not run one pattern query at the end")
    doctor.add_argument("--cluster", action="store_true", help="look at a session's executors instead of this machine")
    _where(doctor)
    doctor.set_defaults(run=command_doctor)
    sql = commands.add_parser("sql", help="run statements that may hold pattern queries")
    _steps(sql)
    sql.add_argument("--format", choices=PRINT, default="table", help="how results are printed (default table)")
    sql.set_defaults(run=command_sql)
    explain = commands.add_parser("explain", help="print the plan of the last statement; the others are run")
    _steps(explain)
    explain.add_argument("--analyze", action="store_true", help="run it, and tell what it met")
    explain.add_argument("--html", metavar="FILE", help="write a page with the pattern drawn, instead of printing")
    explain.set_defaults(run=command_explain)
    shell = commands.add_parser("shell", help="type statements and see their results")
    _session_options(shell)
    shell.set_defaults(run=command_shell)
    compile_ = commands.add_parser(
        "compile", help="print the last statement as SQL for Spark alone; the others are run"
    )
    _steps(compile_)
    compile_.set_defaults(run=command_compile)
    commands.add_parser(
        "dbt", help="run dbt with pattern queries enabled", usage="sparkcep dbt ...",
        description="Run dbt with pattern queries enabled. All that follows is dbt's: build, run --select model, "
        "docs --help ...",
    )  # fmt: skip
    add_index_parser(commands, _session_options, _session)
    add_rules_parser(commands)
    return out


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments as a namespace whose ``run`` is what to do."""
    if argv[:1] == ["dbt"] and argv[1:] not in (["-h"], ["--help"]):
        # argparse would take options in front of dbt's command for ours.
        return argparse.Namespace(run=command_dbt, arguments=list(argv[1:]))
    return parser().parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code. Errors are one message on standard error, without a traceback."""
    arguments = parsed(sys.argv[1:] if argv is None else list(argv))
    try:
        return arguments.run(arguments) or 0
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "pyspark":
            raise
        print("[CEP_SPARK_MISSING] pyspark is not installed.\nHint: pip install 'sparkcep[local]'", file=sys.stderr)
        return 1
    except Exception as error:
        if not is_sparks(error):
            raise
        print(short_message(error, getattr(arguments, "text", "")), file=sys.stderr)
        return 1
