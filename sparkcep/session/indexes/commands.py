"""Run statements about pattern indexes; their results look like those of Spark's own SHOW, DESCRIBE and DROP."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from sparkcep import index
from sparkcep.errors import PatternIndexError
from sparkcep.progress import activity
from sparkcep.sql.index_statements import IndexStatement

if TYPE_CHECKING:
    from sparkcep.index.commits import Summary

SHOW_SCHEMA = "name string, source string, kind string, cases bigint, events bigint, pairs bigint, bytes bigint"
#: What CREATE, REFRESH and OPTIMIZE say; all numbers but the seconds are of the whole index.
MADE_SCHEMA = (
    "name string, action string, reason string, events bigint, cases bigint, pairs bigint, seconds double, bytes bigint"
)

_DOING = {"CREATE": "Making", "REFRESH": "Refreshing", "OPTIMIZE": "Compacting"}


def run_index_statement(spark: SparkSession, text: str, statement: IndexStatement) -> DataFrame:
    """Run a statement at once, as Spark runs its own commands.

    Raises:
        PatternIndexError: with the place of what is at fault.
    """
    try:
        return _run(spark, statement)
    except PatternIndexError as error:
        blamed = statement.places.get(error.blame)
        if blamed is None:
            blamed = statement.places.get("name")
        raise (error if blamed is None else error.located(text, blamed)) from None


def _run(spark: SparkSession, s: IndexStatement) -> DataFrame:
    from sparkcep.index import catalog

    if s.verb == "CREATE":
        return _made(spark, s, lambda progress: _created(spark, s, progress))
    if s.verb == "REFRESH":
        return _made(spark, s, lambda progress: index.refresh(spark, s.name, full=s.full, progress=progress))
    if s.verb == "OPTIMIZE":
        return _made(spark, s, lambda progress: index.optimize(spark, s.name, progress))
    if s.verb == "ALTER":
        index.alter(spark, s.name, s.options)
    elif s.verb == "DROP":
        index.drop(spark, s.name, s.if_exists)
    elif s.verb == "SHOW":
        found = catalog.show(spark, index.source_of(s.source) if s.source else None)
        names = [c.split(" ")[0] for c in SHOW_SCHEMA.split(", ")]
        return spark.createDataFrame([tuple(f[n] for n in names) for f in found], SHOW_SCHEMA)
    elif s.verb == "DESCRIBE":
        return spark.createDataFrame(index.describe(spark, s.name, s.extended), "info_name string, info_value string")
    elif s.verb == "VACUUM":
        return spark.createDataFrame(
            [index.vacuum(spark, s.name, s.retain_hours)], "deleted_files bigint, deleted_bytes bigint"
        )
    else:
        return spark.createDataFrame(index.analyze(spark, s.name), "subject string, measure string, value string")
    return spark.createDataFrame([], StructType([]))


def _created(spark: SparkSession, s: IndexStatement, progress: index.Progress) -> Summary | None:
    from sparkcep.index import catalog

    made = catalog.create(
        spark, s.name, index.source_of(s.source), None, case=s.columns["case"], time=s.columns["time"],
        event=s.columns["event"], tiebreak=s.columns.get("tiebreak"), include=s.include, kind=s.kind,
        options=s.options, if_not_exists=s.if_exists, progress=progress,
    )  # fmt: skip
    return made[1] if made else None


def _made(spark: SparkSession, s: IndexStatement, make: Callable[[index.Progress], Summary | None]) -> DataFrame:
    """One row about what was made, none where the index was there already."""
    label = f"{_DOING[s.verb]} the index {s.name}"
    with activity(label) as shown:
        done = make(shown.at)
    if done is None:
        return spark.createDataFrame([], MADE_SCHEMA)
    counts = done.events, done.cases, done.pairs
    row = (done.name, done.action, done.reason, *counts, round(done.total_seconds, 1), done.size)
    return spark.createDataFrame([row], MADE_SCHEMA)
