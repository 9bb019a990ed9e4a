"""Make few batches of many: all of them anew as one, or the newest ones alone.

A query opens the files of every batch, so that their number must stay small however often an index is refreshed. The
newest batches are merged where they are many, together with as many of those before them as are not much larger; each
event is then written anew a number of times that grows with the logarithm of the batches (the logarithmic method of
Bentley and Saxe 1980). A merged batch is what one refresh with the events of all of its batches would have written.
"""

from __future__ import annotations

import time as clock
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sparkcep.errors import PatternIndexError, warn
from sparkcep.index import facts, table_reader
from sparkcep.index.build import Progress, Work, list_columns, no_progress, shuffle_partitions
from sparkcep.index.commits import Summary, commit_work, new_work, pairs_of, summary_of, work_build, write_first
from sparkcep.index.facts import Facts
from sparkcep.index.postings import write_postings
from sparkcep.index.snapshots import Snapshot, TableState
from sparkcep.index.storage import Location, call, can_remove_files, delete_directory
from sparkcep.index.storage_errors import STORAGE
from sparkcep.index.tables import COUNTS, COUNTS_SCHEMA, DICTIONARY, DICTIONARY_SCHEMA, REJECTED, SEQUENCES, Definition

#: Batches of a snapshot; a refresh that would make one more merges the newest ones first.
MAX_BATCHES = 8
#: A batch is merged with the newer ones where it is at most so many times as large as they are together.
GROWTH = 2
#: Events that one task writes anew.
EVENTS_PER_TASK = 250_000


def compact(
    spark: SparkSession, index: Location, base: Snapshot, progress: Progress = no_progress
) -> tuple[Snapshot, Summary]:
    """Write a snapshot's live cases anew as one batch, from the index's own sequences.

    What is one batch already, without cases in several rows or replaced ones, is left as it is.

    Raises:
        PatternIndexError: CEP_INDEX_DAMAGED, files of the index are lost; CEP_INDEX_BUSY and others.
    """
    started = clock.perf_counter()
    if base.batches <= 1 and not base.totals.segmented and not base.totals.replaced:
        return base, summary_of(base, "unchanged", "it is one batch already", started, {})
    work = new_work(spark, index, base.built_with, f"build-{uuid.uuid4().hex[:12]}", 0, progress)
    try:
        made = _write_anew(work, index, base)
    except Exception:
        # Storage that was too small for it has room again.
        with suppress(PatternIndexError, OSError):
            call(spark, delete_directory, index, work_build(work))
        raise
    totals = replace(
        base.totals, events=made.events, cases=made.begun, pairs=pairs_of(work), ties=made.ties,
        next_id=made.highest_id + 1, segmented=False, replaced=False,
    )  # fmt: skip
    target = replace(base, build=work_build(work), tables={}, totals=totals)
    return commit_work(work, index, base, target, started, "compacted", f"{base.batches} batches became one")


def _write_anew(work: Work, index: Location, base: Snapshot) -> Facts:
    """Write a snapshot's live cases, and what follows from them, as the first batch of a build."""
    spark = work.spark
    work.progress(SEQUENCES, 0.1)
    rows = in_tasks(table_reader.segments(spark, index, base), base.totals.events)
    stitched = table_reader.stitched(rows, base.built_with, base.totals.segmented)
    cases = table_reader.as_events(stitched, base.built_with).drop("id")
    write_first(work, cases, base.tables[DICTIONARY].rows)
    for table in (DICTIONARY, REJECTED):
        if table in base.tables:
            work.write(table, table_reader.read_table(spark, index, base, table).coalesce(1))
    made = work.facts()
    write_postings(work, made, index)
    return made


def with_few_batches(
    spark: SparkSession, index: Location, base: Snapshot, progress: Progress = no_progress
) -> Snapshot:
    """A snapshot to which one more batch may be added: the same, or the newest of its batches are merged.

    Where storage has no room to write all of an index anew, the newest batches alone are, with a PatternWarning.
    """
    if base.batches < MAX_BATCHES:
        return base
    count = len(base.tables[SEQUENCES].batches)
    newest = batches_to_merge(_sizes(base))
    if not call(spark, can_remove_files):
        return compact(spark, index, base, progress)[0]
    if newest >= count:
        try:
            return compact(spark, index, base, progress)[0]
        except PatternIndexError as error:
            # The whole index takes room of several times its size; the newest batches may have that.
            if error.getCondition() != STORAGE or count <= 2:
                raise
            reason = str(error).partition("\n")[0]
            warn(
                f"{reason} The pattern index {base.definition.name} could not be rewritten as one batch, so only its "
                "newest batches are merged; OPTIMIZE PATTERN INDEX, or a later refresh, tries again."
            )
            newest = count - 1
    return merge(spark, index, base, newest, progress)[0]


def in_tasks(rows: DataFrame, events: int) -> DataFrame:
    """Rows of `sequences` shared between tasks by their case.

    Spark goes by bytes, of which sequences have few for the work that their pairs are, and would leave it to one task.
    """
    most = shuffle_partitions(rows.sparkSession)
    return rows.repartition(max(1, min(most, -(-events // EVENTS_PER_TASK))), "id")


def _sizes(snapshot: Snapshot) -> list[int]:
    """Bytes of each batch in all tables, the oldest first."""
    sizes = dict.fromkeys((batch for batch, _ in snapshot.tables[SEQUENCES].batches), 0)
    for state in snapshot.tables.values():
        for batch, files in state.batches:
            sizes[batch] = sizes.get(batch, 0) + sum(f.size for f in files)
    return list(sizes.values())


def batches_to_merge(sizes: Sequence[int]) -> int:
    """How many of the newest batches to merge.

    Args:
        sizes: of all batches, the oldest first.

    >>> batches_to_merge([1000, 10, 10, 10, 10])
    4
    >>> batches_to_merge([1000, 300, 100, 10, 10])
    2
    """
    count, together = 2, sum(sizes[-2:])
    while count < len(sizes) and sizes[-count - 1] <= GROWTH * together:
        count += 1
        together += sizes[-count]
    return min(count, len(sizes))


def merge(
    spark: SparkSession, index: Location, base: Snapshot, newest: int, progress: Progress = no_progress
) -> tuple[Snapshot, Summary]:
    """Write the newest batches of a snapshot anew as one, behind the others, which stay.

    Args:
        newest: how many, fewer than there are.
    """
    started = clock.perf_counter()
    d = base.built_with
    first = number_of(base.tables[SEQUENCES].batches[-newest][0])
    older, newer = (_part(base, first, is_newer) for is_newer in (False, True))
    work = new_work(spark, index, d, base.build, highest_number(base) + 1, progress)
    progress(SEQUENCES, 0.1)
    sizes = _sizes(base)
    share = sum(sizes[-newest:]) / max(1, sum(sizes))
    found = table_reader.read_table(spark, index, newer, SEQUENCES)
    rows = _merged_rows(in_tasks(found, int(share * base.totals.events)), d)
    work.write_sequences(rows.sortWithinPartitions("id"), base.tables[DICTIONARY].rows)
    if DICTIONARY in newer.tables:
        place, state = index.child(base.build, DICTIONARY), newer.tables[DICTIONARY]
        work.write_rows(DICTIONARY, call(spark, facts.rows_of, place, state.files), DICTIONARY_SCHEMA)
    if REJECTED in newer.tables:
        work.write(REJECTED, table_reader.read_table(spark, index, newer, REJECTED).coalesce(1))
    if COUNTS in newer.tables:
        # Not from the merged postings: counts that were made again over the whole log are of older batches, too.
        place, state = index.child(base.build, COUNTS), newer.tables[COUNTS]
        work.write_rows(COUNTS, call(spark, facts.added_counts, place, state.files), COUNTS_SCHEMA)
    write_postings(work, work.facts(), index, older, seams=False)
    merged = {name: tuple(batch for batch, _ in state.batches) for name, state in newer.tables.items()}
    work.written = {name: replace(new, merges=merged.get(name, ())) for name, new in work.written.items()}
    return commit_work(work, index, base, base, started, "merged", f"{newest} batches became one")


def _part(snapshot: Snapshot, first: int, is_newer: bool) -> Snapshot:
    """A snapshot with the batches from a number on, or with those before it alone."""
    tables = {}
    for name, state in snapshot.tables.items():
        own = tuple(b for b in state.batches if (number_of(b[0]) >= first) == is_newer)
        # Older sequences are read, if there are none as well.
        if own or not is_newer:
            tables[name] = TableState(state.version, state.schema, own)
    return replace(snapshot, tables=tables)


def number_of(batch: str) -> int:
    """The number in a batch's name."""
    return int(batch.split("-", maxsplit=1)[0])


def highest_number(snapshot: Snapshot) -> int:
    """The highest number of a batch in a snapshot."""
    return max((number_of(b) for t in snapshot.tables.values() for b, _ in t.batches), default=0)


def _merged_rows(rows: DataFrame, d: Definition) -> DataFrame:
    """One row for each case of some batches: id, case_key, start, replaces and ev.

    Of a case that was replaced by one of these batches nothing is left but which one it replaced itself: older batches
    may have postings of that.
    """
    dead = rows.where("replaces IS NOT NULL").select(F.col("replaces").alias("dead")).distinct()
    marked = rows.join(dead, F.col("id") == F.col("dead"), "left")
    names = list(list_columns(d))
    part = F.struct("start", *names)
    lives = F.expr("dead IS NULL AND size(codes) > 0")
    found = (
        marked.groupBy("id")
        .agg(
            F.first("case_key").alias("case_key"),
            F.max("replaces").alias("replaces"),
            F.sort_array(F.collect_list(F.when(lives, part))).alias("parts"),
        )
        .where("size(parts) > 0 OR replaces IS NOT NULL")
    )
    stitched = found.select(
        "id", "case_key", "replaces", F.coalesce(F.expr("get(parts.start, 0)"), F.lit(0)).alias("start"),
        *(F.flatten(f"parts.{n}").alias(n) for n in names),
    )  # fmt: skip
    return table_reader.as_events(stitched, d, "start", "replaces")
