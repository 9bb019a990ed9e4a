"""``sparkcep index``: pattern indexes from the command line, with progress and a summary."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkcep.cli.options import (
    Command,
    Connection,
    Data,
    Examples,
    pairs,
    session_at,
    with_connection,
    with_examples,
)
from sparkcep.progress import activity

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkcep.index.commits import Summary


def bytes_text(size: float) -> str:
    """1.5 MB and the like."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def summary_text(done: Summary) -> str:
    """What was done, and the index by table."""
    lines = [
        f"{done.name}: {done.action} ({done.reason}) in {done.total_seconds:.1f} s",
        f"{done.events:,} events, {done.cases:,} cases, {done.pairs:,} pairs, {bytes_text(done.size)}",
    ]
    if done.rejected:
        lines.append(f"{done.rejected:,} rows set aside")
    lines += ["", f"{'table':<12} {'rows':>14} {'size':>10} {'seconds':>8}"]
    for name in done.rows:
        seconds = f"{done.seconds[name]:.1f}" if name in done.seconds else ""
        lines.append(f"{name:<12} {done.rows[name]:>14,} {bytes_text(done.sizes[name]):>10} {seconds:>8}".rstrip())
    return "\n".join(lines)


def _with_index(command: Command) -> Command:
    """The session as ``spark``, with the indexes' folder of ``--path``; Ctrl-C cancels what Spark runs."""

    @click.option("--path", help="Directory or URI of the indexes (spark.sparkcep.index.path).")
    @with_connection
    @with_examples
    @functools.wraps(command)
    def run(path: str | None, connection: Connection, examples: Examples, **given: Any) -> Any:
        with session_at(path, connection, Data(flights=examples.flights, stocks=examples.stocks)) as spark:
            return command(spark=spark, **given)

    return run  # type: ignore[return-value]


@click.group("index")
def index_group() -> None:
    """Make, refresh and look at pattern indexes."""


def _folder_of(xes: str, into: str | None) -> Path:
    """The folder of Parquet that a log in XES becomes."""
    return Path(into) if into is not None else Path(xes.removesuffix(".gz")).with_suffix(".parquet")


def _with_source(command: Command) -> Command:
    """What `create` is given is looked at before Spark is started."""

    @functools.wraps(command)
    def run(**given: Any) -> Any:
        source, xes, into = given["source"], given["xes"], given["into"]
        if (source is None) == (xes is None):
            raise click.UsageError("one of --source and --xes is expected")
        if into is not None and xes is None:
            raise click.UsageError("--into is the folder of what --xes names")
        missing = [f"--{role}" for role in ("case", "time", "event") if given[role] is None]
        if missing and xes is None:
            raise click.UsageError(f"missing {', '.join(missing)}")
        if xes is not None:
            _check_folder(xes, _folder_of(xes, into))
        return command(**given)

    return run  # type: ignore[return-value]


def _check_folder(xes: str, folder: Path) -> None:
    """Refuse a log that is not there, and a folder that cannot become a source.

    Raises:
        SparkCepError: CEP_FILE, CEP_ARGUMENTS.
    """
    from sparkcep.errors import SparkCepError

    if not Path(xes).is_file():
        raise SparkCepError("CEP_FILE", f"{xes} cannot be read: there is no such file.")
    if "`" in str(folder):
        raise SparkCepError("CEP_ARGUMENTS", f"{folder}: the folder's name has a backtick.", hint="--into FOLDER")
    if folder.exists():
        raise SparkCepError(
            "CEP_FILE", f"{folder} cannot be written: it is there already.",
            hint=f"--into names another folder; --source 'parquet.`{folder.absolute()}`' takes this one",
        )  # fmt: skip


def _from_xes(spark: SparkSession, xes: str, into: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """A log in XES as a folder of Parquet, and what `create` is given for it."""
    from sparkcep.data.xes_table import CASE, EVENT, POSITION, TIME, read_xes

    folder = _folder_of(xes, into)
    with activity(f"Reading {xes}"):
        read_xes(spark, xes, folder)
    click.echo(f"{xes} is now the Parquet of {folder}", err=True)
    columns = {"case": CASE, "time": TIME, "event": EVENT, "tiebreak": POSITION}
    return {"source": f"parquet.`{folder.absolute()}`", **{role: given[role] or own for role, own in columns.items()}}


@index_group.command("create")
@click.argument("name")
@click.option("--source", help="A table, or format.`path`.")
@click.option("--xes", metavar="FILE", help="A log in XES, which becomes a folder of Parquet, and that the source.")
@click.option("--into", metavar="FOLDER", help="That folder, if not FILE with the ending .parquet.")
@click.option("--case", metavar="COLUMN", help="The case column; not needed with --xes, as --time and --event.")
@click.option("--time", metavar="COLUMN", help="The time column.")
@click.option("--event", metavar="COLUMN", help="The event column.")
@click.option("--tiebreak", metavar="COLUMN", help="Orders events of one time.")
@click.option("--include", metavar="COLUMN", multiple=True, help="Keep a column as well.")
@click.option("--using", default="siesta", help="siesta, signature or set_containment (default siesta).")
@click.option("--with", "options", metavar="OPTION=VALUE", multiple=True, help="lookback ...")
@click.option("--if-not-exists", is_flag=True)
@_with_source
@_with_index
def create(
    spark: SparkSession, name: str, options: tuple[str, ...], xes: str | None, into: str | None, **given: Any
) -> None:
    """Make an index and fill it."""
    from sparkcep import index

    if xes is not None:
        given |= _from_xes(spark, xes, into, given)
    with activity(f"Making the index {name}") as progress:
        done = index.create(
            spark, name, options=pairs(options, "--with", "OPTION=VALUE"), progress=progress.at, **given
        )
    click.echo(summary_text(done) if done else f"{name}: is there already")


@index_group.command("refresh")
@click.argument("name")
@click.option("--full", is_flag=True, help="Build everything anew.")
@_with_index
def refresh(spark: SparkSession, name: str, full: bool) -> None:
    """Bring an index up to date with its source."""
    from sparkcep import index

    with activity(f"Refreshing the index {name}") as progress:
        done = index.refresh(spark, name, full=full, progress=progress.at)
    click.echo(summary_text(done))


@index_group.command("optimize")
@click.argument("name")
@_with_index
def optimize(spark: SparkSession, name: str) -> None:
    """Rewrite an index as one batch."""
    from sparkcep import index

    with activity(f"Compacting the index {name}") as progress:
        done = index.optimize(spark, name, progress=progress.at)
    click.echo(summary_text(done))


@index_group.command("show")
@click.option("--on", help="Only those on a source.")
@_with_index
def show(spark: SparkSession, on: str | None) -> None:
    """List the indexes."""
    from sparkcep import index

    for row in index.show(spark, on):
        if row["source"] is None:
            click.echo(f"{row['name']}  cannot be read: {row['kind']}")
            continue
        click.echo(f"{row['name']}  {row['kind']} on {row['source']}: {row['cases']:,} cases, "
                   f"{row['events']:,} events, {row['pairs']:,} pairs, {bytes_text(row['bytes'])}")  # fmt: skip


@index_group.command("describe")
@click.argument("name")
@click.option("--extended", is_flag=True, help="With its tables.")
@_with_index
def describe(spark: SparkSession, name: str, extended: bool) -> None:
    """Describe an index."""
    from sparkcep import index

    rows = index.describe(spark, name, extended)
    width = max(len(name) for name, _ in rows)
    click.echo("\n".join(f"{name:<{width}}  {value}" for name, value in rows))


@index_group.command("analyze")
@click.argument("name")
@_with_index
def analyze(spark: SparkSession, name: str) -> None:
    """What an index costs and saves."""
    from sparkcep import index

    click.echo("\n".join("  ".join(row) for row in index.analyze(spark, name)))


@index_group.command("drop")
@click.argument("name")
@click.option("--if-exists", is_flag=True)
@_with_index
def drop(spark: SparkSession, name: str, if_exists: bool) -> None:
    """Stop using an index."""
    from sparkcep import index

    index.drop(spark, name, if_exists)


@index_group.command("vacuum")
@click.argument("name")
@click.option("--retain-hours", type=float, default=168, help="Keep snapshots of these hours (default 168).")
@_with_index
def vacuum(spark: SparkSession, name: str, retain_hours: float) -> None:
    """Delete data that nobody reads any more."""
    from sparkcep import index

    with activity("Deleting files"):
        files, size = index.vacuum(spark, name, retain_hours)
    click.echo(f"{files:,} files deleted, {bytes_text(size)}")
