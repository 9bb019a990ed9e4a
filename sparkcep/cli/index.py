"""``sparkcep index``: pattern indexes from the command line, with a progress bar and a summary."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkcep.index.updates import Summary

Session = Callable[[argparse.Namespace], "SparkSession"]


class Bar:
    """A progress bar on standard error; silent where that is no terminal."""

    WIDTH = 30

    def __init__(self) -> None:
        self.shown = sys.stderr.isatty()
        self.start = time.perf_counter()

    def __call__(self, step: str, share: float) -> None:
        if not self.shown:
            return
        full = round(share * self.WIDTH)
        seconds = time.perf_counter() - self.start
        line = f"\r[{'#' * full}{'.' * (self.WIDTH - full)}] {share:4.0%}  {seconds:6.1f} s  {step:<12}"
        print(line, end="\n" if share >= 1 else "", file=sys.stderr, flush=True)


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


def options_of(items: Sequence[str]) -> dict[str, str]:
    """``OPTION=VALUE`` items as a dictionary. Raises SparkCepError: CEP_ARGUMENTS."""
    out = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not equals:
            from sparkcep.errors import SparkCepError

            raise SparkCepError("CEP_ARGUMENTS", f"--with {item}: OPTION=VALUE is expected.")
        out[key] = value
    return out


def _create(spark: SparkSession, a: argparse.Namespace) -> None:
    from sparkcep import index

    done = index.create(
        spark, a.name, a.source, case=a.case, time=a.time, event=a.event, tiebreak=a.tiebreak, include=a.include,
        using=a.using, options=options_of(a.options), if_not_exists=a.if_not_exists, progress=Bar(),
    )  # fmt: skip
    print(summary_text(done) if done else f"{a.name}: is there already")


def _refresh(spark: SparkSession, a: argparse.Namespace) -> None:
    from sparkcep import index

    print(summary_text(index.refresh(spark, a.name, full=a.full, progress=Bar())))


def _show(spark: SparkSession, a: argparse.Namespace) -> None:
    from sparkcep import index

    for row in index.show(spark, a.on):
        if row["source"] is None:
            print(f"{row['name']}  cannot be read: {row['kind']}")
            continue
        print(f"{row['name']}  {row['kind']} on {row['source']}: {row['cases']:,} cases, {row['events']:,} events, "
              f"{row['pairs']:,} pairs, {bytes_text(row['bytes'])}")  # fmt: skip


def _describe(spark: SparkSession, a: argparse.Namespace) -> None:
    from sparkcep import index

    rows = index.describe(spark, a.name, a.extended)
    width = max(len(name) for name, _ in rows)
    print("\n".join(f"{name:<{width}}  {value}" for name, value in rows))


def _analyze(spark: SparkSession, a: argparse.Namespace) -> None:
    from sparkcep import index

    print("\n".join("  ".join(row) for row in index.analyze(spark, a.name)))


def _drop(spark: SparkSession, a: argparse.Namespace) -> None:
    from sparkcep import index

    index.drop(spark, a.name, a.if_exists)


def _vacuum(spark: SparkSession, a: argparse.Namespace) -> None:
    from sparkcep import index

    files, size = index.vacuum(spark, a.name, a.retain_hours)
    print(f"{files:,} files deleted, {bytes_text(size)}")


def add_parser(commands: Any, session_options: Callable[[argparse.ArgumentParser], None], session: Session) -> None:
    """Add ``index`` and its commands.

    Args:
        session_options: adds the options that ``session`` reads when it starts Spark.
    """
    group = commands.add_parser("index", help="make, refresh and look at pattern indexes")
    group.set_defaults(run=lambda _: group.print_help())
    verbs = group.add_subparsers(dest="verb")

    def verb(name: str, action: Callable[[SparkSession, argparse.Namespace], None], help: str) -> Any:
        out = verbs.add_parser(name, help=help)
        if name != "show":
            out.add_argument("name", help="the index")
        out.add_argument("--path", help="directory or URI of the indexes (spark.sparkcep.index.path)")
        session_options(out)
        out.set_defaults(run=lambda a: _run(action, session, a))
        return out

    create = verb("create", _create, "make an index and fill it")
    create.add_argument("--source", required=True, help="a table, or format.`path`")
    for role in ("case", "time", "event"):
        create.add_argument(f"--{role}", required=True, help=f"the {role} column")
    create.add_argument("--tiebreak", help="orders events of one time")
    create.add_argument("--include", metavar="COLUMN", action="append", default=[], help="keep a column as well")
    create.add_argument("--using", default="siesta", help="siesta, signature or set_containment (default siesta)")
    create.add_argument(
        "--with", dest="options", metavar="OPTION=VALUE", action="append", default=[], help="lookback ..."
    )
    create.add_argument("--if-not-exists", action="store_true")
    refresh = verb("refresh", _refresh, "bring an index up to date with its source")
    refresh.add_argument("--full", action="store_true", help="build everything anew")
    verb("show", _show, "list the indexes").add_argument("--on", help="only those on a source")
    verb("describe", _describe, "facts about an index").add_argument("--extended", action="store_true")
    verb("analyze", _analyze, "what an index costs and saves")
    verb("drop", _drop, "stop using an index").add_argument("--if-exists", action="store_true")
    vacuum = verb("vacuum", _vacuum, "delete data that nobody reads any more")
    vacuum.add_argument("--retain-hours", type=float, default=168, help="keep snapshots of these hours (default 168)")


def _run(action: Callable[[SparkSession, argparse.Namespace], None], session: Session, a: argparse.Namespace) -> None:
    spark = session(a)
    if a.path:
        from sparkcep.settings import INDEX_PATH

        spark.conf.set(INDEX_PATH.key, a.path)
    from sparkcep.session.interrupts import interruptible

    with interruptible(spark):
        action(spark, a)
