"""Write the tables of a batch: sequences first, then everything that follows from them.

`sequences` is written and read again before postings are made, so that case ids, which are given while writing, are
facts by then and no retried task can give others.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from sparkcep.index import facts
from sparkcep.index.facts import Facts
from sparkcep.index.files import SPARK_CHECKS, SPARK_WRITES, data_files, write_small
from sparkcep.index.path import not_shared
from sparkcep.index.snapshots import Written
from sparkcep.index.storage import DataFile, Location, call
from sparkcep.index.storage_errors import disk_full
from sparkcep.index.tables import (
    FIRST_SYMBOL,
    SEQUENCES,
    SYMBOL_STEPS,
    Definition,
    include_columns,
    symbol,
)
from sparkcep.spark.jobs import described

Progress = Callable[[str, float], None]


def shuffle_partitions(spark: SparkSession) -> int:
    """Into how many partitions Spark shuffles, by the session's settings."""
    return int(spark.conf.get("spark.sql.shuffle.partitions", "200") or 200)


def no_progress(step: str, share: float) -> None:
    """No progress is shown."""


#: Bytes of a row group of `sequences` before compression.
SEQUENCE_BLOCK = 16 << 20
#: Bytes of a table that are summed up in one process: below, a Spark job costs more than its work.
WITHOUT_SPARK = 256 << 20


def event_fields(d: Definition) -> list[str]:
    """Fields of an event, in the order that sorts a case's events."""
    tie = ["tie"] if d.tiebreak is not None else []
    return ["time", *tie, "code", *include_columns(d)]


def list_columns(d: Definition) -> dict[str, str]:
    """Columns of `sequences` that hold one value per event, and the event's field they are made of."""
    tie = {"ties": "tie"} if d.tiebreak is not None else {}
    return {"codes": "code", "times": "time", **tie, **{c: c for c in include_columns(d)}}


def grouped(events: DataFrame, d: Definition) -> DataFrame:
    """One row per case: case_key, and `ev`, its events in order."""
    event = F.struct(*event_fields(d))
    return events.groupBy("case_key").agg(F.sort_array(F.collect_list(event)).alias("ev"))


def symbols(types: int) -> str:
    """The string of a list of codes, as SQL; see tables.symbol.

    A constant list of characters is quickest where it is short; else code points in hexadecimal are decoded at once.
    """
    if types <= 4096:
        letters = "".join(symbol(code) for code in range(types))
        return f"array_join(transform(ev.code, c -> get(split('{letters}', ''), c)), '')"
    more = "".join(f" + if(c >= {low}, {count}, 0)" for low, count in SYMBOL_STEPS if low < types)
    code_point = f"lpad(hex(c + {FIRST_SYMBOL}{more}), 8, '0')"
    return f"decode(unhex(array_join(transform(ev.code, c -> {code_point}), '')), 'UTF-32')"


def sequence_columns(d: Definition, types: int) -> list[Column]:
    """Columns of `sequences` from id, case_key, start, replaces and ev."""
    lists = [F.col(f"ev.{own}").alias(name) for name, own in list_columns(d).items()]
    return [
        F.col("id"),
        F.col("case_key"),
        F.col("start"),
        F.col("replaces"),
        *lists,
        F.expr(symbols(types)).alias("symbols"),
    ]


def with_ids(cases: DataFrame, base: int) -> DataFrame:
    """Give ids to rows whose `id` is NULL, in order of their first event: cases of one time have near ids.

    Ids grow within a task and differ between tasks by 2**33; packed lists hold differences, so the gaps cost little.
    """
    ordered = cases.sortWithinPartitions(F.expr("get(ev, 0).time"))
    fresh = F.monotonically_increasing_id() + F.lit(base)
    return ordered.withColumn("id", F.coalesce("id", fresh))


@dataclass(slots=True)
class Work:
    """One batch on its way to disk: where it goes, and what has been written of it."""

    spark: SparkSession
    definition: Definition
    build: Location
    batch: str
    progress: Progress = no_progress
    written: dict[str, Written] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def directory(self, table: str) -> str:
        """Where Spark writes a table's files of this batch."""
        return self.build.child(table, "data", self.batch).spark

    def write(
        self, table: str, frame: DataFrame, replaces: bool = False, options: Mapping[str, Any] | None = None
    ) -> None:
        """Spark writes a table's files of this batch."""
        started = clock.perf_counter()
        writer = (
            frame.write.mode("overwrite")
            .option("compression", self.definition.options.compression)
            # The second version of Parquet's pages has DELTA_BINARY_PACKED: sorted numbers take a third.
            .option("parquet.writer.version", "PARQUET_2_0")
            .options(**SPARK_WRITES, **(options or {}))
        )
        try:
            with described(self.spark, f"write {table}"):
                writer.parquet(self.directory(table))
        except Exception as error:
            if (full := disk_full(error)) is not None:
                raise full from error
            raise
        files = call(self.spark, data_files, self.build.child(table), self.batch)
        if not files and self.build.local is not None:
            # Spark writes at least one file, if without rows.
            raise not_shared(self.build, f"what Spark has written of {table} is not seen")
        self.written[table] = Written(self.batch, files, frame.schema.json(), replaces)
        self.seconds[table] = self.seconds.get(table, 0) + clock.perf_counter() - started

    def write_rows(self, table: str, rows: pa.Table, schema: str) -> None:
        """A few rows, without a Spark job."""
        started = clock.perf_counter()
        self.add(table, call(self.spark, write_small, self.build.child(table), self.batch, rows), schema)
        self.seconds[table] = clock.perf_counter() - started

    def add(self, table: str, files: tuple[DataFile, ...], schema: str) -> None:
        """Files that were written without Spark, none where a table has no rows. ``schema``: its columns, as DDL."""
        self.written[table] = Written(self.batch, files, self.spark.createDataFrame([], schema).schema.json())

    def read(self, table: str) -> DataFrame:
        """What has been written of a table."""
        return self.spark.read.options(**SPARK_CHECKS).parquet(self.directory(table))

    def write_sequences(self, cases: DataFrame, types: int) -> None:
        """Write id, case_key, start, replaces and the lists of each case; a file is a bucket of cases.

        Args:
            types: how many event types there are.
        """
        self.write(
            SEQUENCES,
            cases.select(*sequence_columns(self.definition, types)),
            options={
                "maxRecordsPerFile": self.definition.options.cases_per_bucket,
                "parquet.block.size": SEQUENCE_BLOCK,
                "parquet.enable.dictionary": "false",
            },
        )

    def facts(self) -> Facts:
        """What the written sequences hold."""
        files = self.written[SEQUENCES].files
        if sum(f.size for f in files) > WITHOUT_SPARK:
            return facts.of_sequences(self.read(SEQUENCES), self.definition)
        return call(
            self.spark, facts.of_files, self.build.child(SEQUENCES), files, self.definition.tiebreak is not None
        )
