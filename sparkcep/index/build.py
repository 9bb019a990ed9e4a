"""Write the tables of a batch: sequences first, then everything that follows from them.

`sequences` is written and read again before postings are made, so that case ids, which are given while writing, are
facts by then and no retried task can give others.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from sparkcep.exec.kernels.index.postings import SPLIT
from sparkcep.index import facts
from sparkcep.index import pairs as packing
from sparkcep.index.facts import Facts
from sparkcep.index.pairs import PairOptions
from sparkcep.index.path import not_shared
from sparkcep.index.snapshots import Written
from sparkcep.index.storage import Location, call, data_files, write_small
from sparkcep.index.storage_errors import disk_full
from sparkcep.index.tables import (
    ACTIVITIES,
    COUNTS,
    COUNTS_SCHEMA,
    FIRST_SYMBOL,
    PAIRS,
    SEQUENCES,
    SIGNATURES,
    SYMBOL_STEPS,
    Definition,
    include_columns,
    symbol,
)
from sparkcep.jobs import described
from sparkcep.shipping import shipped

Progress = Callable[[str, float], None]


def no_progress(step: str, share: float) -> None:
    """No progress is shown."""


#: Bytes of a row group before compression. A reader of a posting list decodes all of each group that it touches, and
#: each group takes a few hundred bytes of a footer: lists of types are few and long, of pairs many and short.
PAIR_BLOCK = 1 << 20
ACTIVITY_BLOCK = 1 << 18
SEQUENCE_BLOCK = 16 << 20
#: Bytes of a table that are summed up in one process: below, a Spark job costs more than its work.
WITHOUT_SPARK = 256 << 20


def pair_options(d: Definition, with_times: bool | None = None) -> PairOptions:
    """How pairs are extracted for a definition. ``with_times``: other than its option `postings` says."""
    times = d.options.postings == "timestamps" if with_times is None else with_times
    return PairOptions(d.options.lookback, d.interval, times)


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
            .options(**(options or {}))
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
        files = call(self.spark, write_small, self.build.child(table), self.batch, rows) if rows.num_rows else ()
        frame = self.spark.createDataFrame([], schema)
        self.written[table] = Written(self.batch, files, frame.schema.json())
        self.seconds[table] = clock.perf_counter() - started

    def read(self, table: str) -> DataFrame:
        """What has been written of a table."""
        return self.spark.read.parquet(self.directory(table))

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

    def write_postings(self, whole: DataFrame) -> None:
        """Everything that follows from the sequences of this batch.

        Args:
            whole: id, first_new, codes and times of the batch's cases from their first event on.
        """
        tables = self.definition.tables
        if ACTIVITIES in tables:
            self.progress(ACTIVITIES, 0.45)
            self.write_lists(ACTIVITIES, activity_lists(whole), ["type", "first_case"], ACTIVITY_BLOCK)
        if PAIRS in tables:
            self.progress(PAIRS, 0.55)
            lists = pair_lists(whole, pair_options(self.definition))
            self.write_lists(PAIRS, lists, ["a", "b", "interval", "first_case"], PAIR_BLOCK)
            self.progress(COUNTS, 0.9)
            if COUNTS not in self.written:
                self.count_pairs()
        if SIGNATURES in tables:
            from sparkcep.index.signature import signatures

            self.progress(SIGNATURES, 0.6)
            self.write(SIGNATURES, signatures(whole))

    def write_lists(self, table: str, lists: DataFrame, order: Sequence[str], block: int) -> None:
        """Posting lists, sorted so that a reader finds those of a type or pair side by side in one file."""
        self.write(
            table,
            lists.repartition(order[0]).sortWithinPartitions(*order),
            options={
                "parquet.block.size": block,
                # How many rows the writer may wait before it looks at the size of a page or a block: rows are large,
                # and what it guesses of the next ones is sometimes eight times too many.
                "parquet.page.size.row.check.min": "1",
                "parquet.page.size.row.check.max": "16",
                "parquet.enable.dictionary": "false",
            },
        )

    def count_pairs(self) -> None:
        """Counts of this batch, from the numbers that its posting lists carry."""
        lists = self.written[PAIRS]
        if sum(f.size for f in lists.files) > WITHOUT_SPARK:
            self.write_counts(self.read(PAIRS))
            return
        started = clock.perf_counter()
        rows = call(self.spark, facts.counts, self.build.child(PAIRS), lists.files)
        self.write_rows(COUNTS, rows, COUNTS_SCHEMA)
        self.seconds[COUNTS] = clock.perf_counter() - started

    def facts(self) -> Facts:
        """What the written sequences hold."""
        files = self.written[SEQUENCES].files
        if sum(f.size for f in files) > WITHOUT_SPARK:
            return facts.of_sequences(self.read(SEQUENCES), self.definition)
        return call(
            self.spark, facts.of_files, self.build.child(SEQUENCES), files, self.definition.tiebreak is not None
        )

    def write_counts(self, lists: DataFrame, replaces: bool = False) -> None:
        """Write the table `counts` from the pairs' lists. ``replaces``: it takes the place of earlier counts."""
        self.write(COUNTS, counts_of(lists), replaces)


def counts_of(lists: DataFrame) -> DataFrame:
    """Rows of `counts` from posting lists."""
    total = F.sum(F.col("sum_high").cast("decimal(38,0)") * F.lit(1 << SPLIT) + F.col("sum_low")).cast("decimal(38,0)")
    frame = lists.groupBy("a", "b").agg(
        F.sum("count").alias("completions"),
        F.sum("fresh").alias("cases"),
        total.alias("sum"),
        F.min("shortest").alias("min"),
        F.max("longest").alias("max"),
    )
    wanted = [c.strip().split(" ")[:2] for c in COUNTS_SCHEMA.replace("38,0", "38;0").split(",")]
    return frame.selectExpr(*(f"CAST({n} AS {t.replace(';', ',')}) AS {n}" for n, t in wanted))


def pair_lists(whole: DataFrame, options: PairOptions, stats_only: bool = False) -> DataFrame:
    """Posting lists of the new pairs of cases; ``stats_only``: without the postings."""

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for cases in packing.packs(batches):
            found = packing.pack_pairs(cases, options)
            if stats_only:
                found = found.select(found.schema.names[: -options.streams])
            yield from packing.slices(found)

    schema = options.schema()
    if stats_only:
        schema = schema.split(", cases binary")[0]
    return whole.select("id", "first_new", "codes", "times").mapInArrow(shipped(pack, "sparkcep_pack_pairs"), schema)


def activity_lists(whole: DataFrame) -> DataFrame:
    """Posting lists of the new events of cases."""

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for cases in packing.packs(batches):
            yield from packing.slices(packing.pack_activities(cases))

    return whole.select("id", "first_new", "codes", "times").mapInArrow(
        shipped(pack, "sparkcep_pack_activities"), packing.ACTIVITY_SCHEMA
    )


def new_cases(cases: DataFrame) -> DataFrame:
    """Cases that begin in this batch, as :meth:`Work.write_postings` takes them."""
    return cases.select("id", F.lit(0).alias("first_new"), "codes", "times")
