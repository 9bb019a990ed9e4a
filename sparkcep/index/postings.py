"""What follows from a batch's sequences: posting lists of types and pairs, counts of pairs, signatures.

A small batch's are made by one process (:mod:`sparkcep.index.local_postings`), others by Spark.
"""

from __future__ import annotations

import time as clock
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sparkcep.exec.kernels.index.postings import SPLIT
from sparkcep.index import facts, local_postings, table_reader
from sparkcep.index import pairs as packing
from sparkcep.index.build import WITHOUT_SPARK, Work, shuffle_partitions
from sparkcep.index.facts import Facts
from sparkcep.index.local_postings import BLOCKS, ORDERS
from sparkcep.index.pairs import PairOptions
from sparkcep.index.signature import signatures
from sparkcep.index.snapshots import Snapshot
from sparkcep.index.storage import Location, call
from sparkcep.index.tables import ACTIVITIES, COUNTS, COUNTS_SCHEMA, PAIRS, SEQUENCES, SIGNATURES, Definition
from sparkcep.spark.shipping import shipped

#: Pairs that a task sorts, where each event has one with each other of its case: lists of about 250 MB.
PAIRS_PER_TASK = 1 << 28
#: Tasks at most: a file each.
MOST_TASKS = 1000


def pair_options(d: Definition, with_times: bool | None = None) -> PairOptions:
    """How pairs are extracted for a definition. ``with_times``: other than its option `postings` says."""
    times = d.options.postings == "timestamps" if with_times is None else with_times
    return PairOptions(d.options.lookback, d.interval, times)


def write_postings(work: Work, made: Facts, index: Location, older: Snapshot | None = None, seams: bool = True) -> int:
    """Write everything that follows from the sequences of a batch.

    Args:
        made: what the sequences hold. older: what was there before the batch, whose cases it may continue. seams:
            whether they are to be counted.

    Returns:
        How many cases go on with an event that only its type tells from the last one before.
    """
    if SIGNATURES not in work.definition.tables and made.events <= local_postings.MAX_EVENTS:
        found = _write_here(work, made, older)
        if found is not None:
            return found
    written = work.read(SEQUENCES)
    whole = new_cases(written.where("start = 0 AND size(codes) > 0"))
    if older is None or not made.continued:
        _write_by_spark(work, whole, made)
        return 0
    continued = table_reader.continued(work.spark, index, older, written, work.definition)
    _write_by_spark(work, whole.union(continued.drop("ties")), made)
    return _seams(continued) if seams else 0


def _write_here(work: Work, made: Facts, older: Snapshot | None) -> int | None:
    """By one process; None, and nothing is written, where there are too many events or pairs for that."""
    d = work.definition
    state, rows = None, 0
    if older is not None and made.continued:
        state = older.tables[SEQUENCES]
        rows = local_postings.MAX_EVENTS * max(1, older.totals.cases) // max(1, older.totals.events)
    batch = local_postings.Batch(
        work.build, work.batch, work.written[SEQUENCES].files, state, rows, d.tables, pair_options(d),
        d.tiebreak is not None, d.options.compression, COUNTS in work.written,
    )  # fmt: skip
    work.progress(PAIRS if PAIRS in d.tables else ACTIVITIES, 0.45)
    done = call(work.spark, local_postings.write, batch)
    if done is None:
        return None
    schemas = {ACTIVITIES: packing.ACTIVITY_SCHEMA, PAIRS: batch.options.schema(), COUNTS: COUNTS_SCHEMA}
    for table, files in done.files.items():
        work.add(table, files, schemas[table])
    work.seconds |= done.seconds
    return done.seams


def _write_by_spark(work: Work, whole: DataFrame, made: Facts) -> None:
    """As :func:`write_postings`. ``whole``: id, first_new, codes and times of the batch's cases from their first event
    on."""
    tables = work.definition.tables
    if ACTIVITIES in tables:
        work.progress(ACTIVITIES, 0.45)
        _write_lists(work, ACTIVITIES, activity_lists(whole))
    if PAIRS in tables:
        work.progress(PAIRS, 0.55)
        _write_lists(work, PAIRS, pair_lists(whole, pair_options(work.definition)), _pairs_tasks(made))
        work.progress(COUNTS, 0.9)
        if COUNTS not in work.written:
            _count_pairs(work)
    if SIGNATURES in tables:
        work.progress(SIGNATURES, 0.6)
        work.write(SIGNATURES, signatures(whole))


def _pairs_tasks(made: Facts) -> int:
    """Tasks that sort pairs of a batch: what does not fit a task's memory is written to disk twice."""
    pairs = made.events * made.events // max(1, made.begun + made.continued)
    return min(MOST_TASKS, pairs // PAIRS_PER_TASK)


def _write_lists(work: Work, table: str, lists: DataFrame, tasks: int = 0) -> None:
    """Posting lists, sorted so that a reader finds those of a type or pair side by side in one file.

    ``tasks``: at least, for the sorting.
    """
    order = ORDERS[table]
    more = tasks > shuffle_partitions(work.spark)
    spread = lists.repartition(tasks, order[0]) if more else lists.repartition(order[0])
    work.write(
        table,
        spread.sortWithinPartitions(*order),
        options={
            "parquet.block.size": BLOCKS[table],
            # How many rows the writer may wait before it looks at the size of a page or a block: rows are large,
            # and what it guesses of the next ones is sometimes eight times too many.
            "parquet.page.size.row.check.min": "1",
            "parquet.page.size.row.check.max": "16",
            "parquet.enable.dictionary": "false",
        },
    )


def _count_pairs(work: Work) -> None:
    """Counts of this batch, from the numbers that its posting lists carry."""
    lists = work.written[PAIRS]
    if sum(f.size for f in lists.files) > WITHOUT_SPARK:
        write_counts(work, work.read(PAIRS))
        return
    started = clock.perf_counter()
    rows = call(work.spark, facts.counts, work.build.child(PAIRS), lists.files)
    work.write_rows(COUNTS, rows, COUNTS_SCHEMA)
    work.seconds[COUNTS] = clock.perf_counter() - started


def write_counts(work: Work, lists: DataFrame, replaces: bool = False) -> None:
    """Write the table `counts` from the pairs' lists. ``replaces``: it takes the place of earlier counts."""
    work.write(COUNTS, _counts_of(lists), replaces)


def _counts_of(lists: DataFrame) -> DataFrame:
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
    """Cases that begin in this batch, as :func:`write_postings` takes them."""
    return cases.select("id", F.lit(0).alias("first_new"), "codes", "times")


def _seams(continued: DataFrame) -> int:
    """How many continued cases go on with an event that only its type tells from the last one before."""
    columns = [c for c in ("times", "ties") if c in continued.columns]
    same = " AND ".join(f"get({c}, first_new) <=> get({c}, first_new - 1)" for c in columns)
    return int(continued.selectExpr(f"count_if({same})").collect()[0][0])
