"""Tables of a snapshot as DataFrames: batch directories, never single files, of which Spark is slow to list many."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from sparkcep.index.build import event_fields, list_columns
from sparkcep.index.files import SPARK_CHECKS
from sparkcep.index.snapshots import Snapshot
from sparkcep.index.storage import Location, call
from sparkcep.index.storage_errors import damaged, unread_by_spark
from sparkcep.index.tables import SEQUENCES, Definition
from sparkcep.index.verify import check_table
from sparkcep.spark.error_notes import note_errors
from sparkcep.spark.exceptions import reason


def directories(index: Location, snapshot: Snapshot, table: str) -> list[str]:
    """Batch directories of a table; each holds exactly the files that the snapshot names."""
    state = snapshot.tables.get(table)
    build = index.child(snapshot.build)
    return [build.child(table, "data", batch).spark for batch, files in state.batches if files] if state else []


def read_table(spark: SparkSession, index: Location, snapshot: Snapshot, table: str) -> DataFrame:
    """A table as it is in the snapshot.

    Raises:
        PatternIndexError: CEP_INDEX_DAMAGED, files of it are gone.
    """
    import json

    schema = StructType.fromJson(json.loads(snapshot.tables[table].schema))
    paths = directories(index, snapshot, table)
    if not paths:
        return spark.createDataFrame([], schema)
    # Whatever the session says of other files: one that is lost here would be events lost.
    strict = {"ignoreMissingFiles": "false", "ignoreCorruptFiles": "false", **SPARK_CHECKS}
    try:
        frame = spark.read.schema(schema).options(**strict).parquet(*paths)
    except AnalysisException as error:
        raise damaged(reason(error)) from None
    # Behind the listing, so that what goes later is missed by Spark and not by this.
    call(spark, check_table, index.child(snapshot.build, table), snapshot.tables[table])
    note_errors(unread_by_spark)
    return frame


def segments(spark: SparkSession, index: Location, snapshot: Snapshot) -> DataFrame:
    """Rows of `sequences` that count: a case that was rebuilt or is gone has left its old rows behind."""
    rows = read_table(spark, index, snapshot, SEQUENCES)
    if not snapshot.totals.replaced:
        return rows
    dead = rows.where("replaces IS NOT NULL").select(F.col("replaces").alias("dead"))
    return rows.where("size(codes) > 0").join(dead, F.col("id") == F.col("dead"), "left_anti")


def stitched(rows: DataFrame, d: Definition, segmented: bool) -> DataFrame:
    """One row per case: id, case_key, the lists over all its segments, `symbols` and the start of the last segment."""
    names = [*list_columns(d), "symbols"]
    if not segmented:
        return rows.select("id", "case_key", "start", *names)
    parts = F.sort_array(F.collect_list(F.struct("start", *names)))
    frame = rows.groupBy("id").agg(F.first("case_key").alias("case_key"), parts.alias("parts"))
    lists = [F.flatten(f"parts.{n}").alias(n) for n in names[:-1]]
    return frame.select(
        "id", "case_key", F.array_max("parts.start").alias("start"), *lists,
        F.array_join("parts.symbols", "").alias("symbols"),
    )  # fmt: skip


def sequences(spark: SparkSession, index: Location, snapshot: Snapshot) -> DataFrame:
    """One row per case of a snapshot."""
    return stitched(segments(spark, index, snapshot), snapshot.built_with, snapshot.totals.segmented)


def continued(spark: SparkSession, index: Location, base: Snapshot, written: DataFrame, d: Definition) -> DataFrame:
    """Cases that a batch continues, from their first event on; pairs are those whose second event is new.

    Args:
        base: what was there before the batch. written: its rows of `sequences`.

    Returns:
        Columns id, first_new, codes, times and, with a tiebreak, ties.
    """
    tails = written.where("start > 0")
    old = segments(spark, index, base).join(tails.select("id"), "id", "left_semi")
    names = tails.columns
    frame = stitched(old.select(*names).union(tails.select(*names)), d, True)
    ties = ["ties"] if d.tiebreak is not None else []
    return frame.selectExpr("id", "start AS first_new", "codes", "times", *ties)


def as_events(cases: DataFrame, d: Definition, *more: str) -> DataFrame:
    """Stored cases with `ev`, their events in the form that batches have. ``more``: columns that are kept."""
    by_field = {field: column for column, field in list_columns(d).items()}
    fields = event_fields(d)
    zipped = F.arrays_zip(*(by_field[f] for f in fields))
    # arrays_zip names its fields after the columns; a cast of the struct renames them.
    renamed = F.transform(zipped, lambda e: F.struct(*(e[by_field[f]].alias(f) for f in fields)))
    return cases.select("id", "case_key", *more, renamed.alias("ev"))
