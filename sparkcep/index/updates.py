"""Build an index, and bring it up to date batch by batch.

A batch's events extend cases (their new pairs are added), begin cases, or come late: a case with an event older than
its last indexed one gets a new id and new postings, and its old id is dead from then on. `counts` are those of the
whole log; where cases are replaced they are counted again, since minima and maxima cannot be taken back.
"""

from __future__ import annotations

import time as clock
import uuid
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sparkcep.errors import PatternIndexError
from sparkcep.index import lookup, sources, table_reader
from sparkcep.index.build import Progress, Work, grouped, no_progress, with_ids
from sparkcep.index.commits import Summary, commit_work, new_work, pairs_of, summary_of, work_build, write_first
from sparkcep.index.compaction import highest_number, with_few_batches
from sparkcep.index.events import (
    BAD_REASON,
    Dictionary,
    Survey,
    check_columns,
    check_survey,
    coded,
    events_of,
    survey,
)
from sparkcep.index.facts import Facts
from sparkcep.index.path import check_index
from sparkcep.index.postings import new_cases, pair_lists, pair_options, write_counts, write_postings
from sparkcep.index.snapshots import READY, Snapshot, Totals
from sparkcep.index.sources import Changes, State
from sparkcep.index.storage import Location, call
from sparkcep.index.storage_errors import damaged
from sparkcep.index.tables import (
    COUNTS,
    DICTIONARY,
    DICTIONARY_SCHEMA,
    REJECTED,
    SEQUENCES,
    Definition,
)
from sparkcep.index.verify import found_in


def build(
    spark: SparkSession,
    index: Location,
    definition: Definition,
    frame: DataFrame,
    state: State,
    base: Snapshot | None,
    progress: Progress = no_progress,
    reason: str = "",
    batch_ids: tuple[str, ...] = (),
) -> tuple[Snapshot, Summary]:
    """Index everything in a frame, in a directory of its own, behind the snapshot ``base``."""
    started = clock.perf_counter()
    work = new_work(spark, index, definition, f"build-{uuid.uuid4().hex[:12]}", 0, progress)
    events = events_of(frame, definition)
    surveyed = _survey(work, events)
    dictionary, rows = Dictionary({}).extended(spark, surveyed.types)
    progress(SEQUENCES, 0.1)
    cases = grouped(coded(spark, events, dictionary, surveyed.types), definition)
    write_first(work, cases, len(dictionary.codes))
    work.write_rows(DICTIONARY, rows, DICTIONARY_SCHEMA)
    _write_rejected(work, events, surveyed)
    made = work.facts()
    if made.events != surveyed.events:
        # Either files of some executors are not seen, or the source has changed.
        check_index(spark, index)
        raise _changed(definition)
    write_postings(work, made, index)
    totals = Totals(
        made.events, made.begun, pairs_of(work), surveyed.rejected, made.ties, made.highest_id + 1,
        surveyed.first_time, surveyed.last_time,
    )  # fmt: skip
    target = Snapshot(0, 0.0, READY, work_build(work), definition, definition, {}, state, batch_ids, totals)
    return commit_work(work, index, base, target, started, "built", reason)


def refresh(
    spark: SparkSession,
    index: Location,
    base: Snapshot,
    full: bool = False,
    batch: DataFrame | None = None,
    batch_id: str | None = None,
    progress: Progress = no_progress,
) -> tuple[Snapshot, Summary]:
    """Bring an index up to date with its source, or with a batch of new events.

    Args:
        full: build everything anew from the source.
        batch: new events, in the source's columns, instead of what is new in the source.
        batch_id: a name for the batch; a batch of a name that is done is ignored.

    An index that has lost files is built anew from its source.

    Raises:
        PatternIndexError: CEP_INDEX_DAMAGED, files are lost and the index has no source; CEP_INDEX_BUSY and others.
    """
    started = clock.perf_counter()
    if batch_id is not None and _is_done(batch_id, base.batch_ids):
        return base, summary_of(base, "unchanged", f"batch {batch_id} is done", started, {})
    d = base.definition
    ids = _with_batch(batch_id, base.batch_ids)
    lost = None if full else call(spark, found_in, index, base)
    if lost and (batch is not None or d.source.kind == "batches"):
        raise damaged(lost, f"DROP PATTERN INDEX {d.name} and create it again with all events")
    if batch is not None:
        check_columns(batch, d)
        if d.options.layout() != base.built_with.options.layout():
            raise PatternIndexError(
                "CEP_INDEX_OPTION",
                f"Options of {d.name} have changed, which needs all events, not a batch.",
                blame="name",
                hint="REFRESH PATTERN INDEX ... FULL",
            )
        changes = Changes("added", batch, sources.UNKNOWN, "a batch was given")
    elif full or lost or d.options.layout() != base.built_with.options.layout():
        frame, state = sources.current(spark, d.source)
        changes = Changes("rebuild", frame, state, "asked for" if full else lost or "its options have changed")
    else:
        changes = sources.changes(spark, d, base.source_state)
    if changes.mode == "none":
        return base, summary_of(base, "unchanged", changes.reason, started, {})
    check_columns(changes.frame, d)
    if changes.mode == "rebuild":
        return build(spark, index, d, changes.frame, changes.state, base, progress, changes.reason, ids)
    base = with_few_batches(spark, index, base, progress)
    return _extend(spark, index, base, changes, ids, progress, started)


def _extend(
    spark: SparkSession,
    index: Location,
    base: Snapshot,
    changes: Changes,
    batch_ids: tuple[str, ...],
    progress: Progress,
    started: float,
) -> tuple[Snapshot, Summary]:
    d = replace(base.built_with, options=base.definition.options)
    work = new_work(spark, index, d, base.build, highest_number(base) + 1, progress)
    events = events_of(changes.frame, d)
    surveyed = _survey(work, events)
    place = index.child(base.build, DICTIONARY)
    known = Dictionary(call(spark, lookup.dictionary, place, base.tables[DICTIONARY]))
    dictionary, rows = known.extended(spark, surveyed.types)
    progress(SEQUENCES, 0.1)
    new = grouped(coded(spark, events, dictionary, surveyed.types), d)
    old_rows = table_reader.segments(spark, index, base)
    whole = changes.mode == "all"
    if not whole:
        keys = events.where("case_key IS NOT NULL").select("case_key").distinct()
        old_rows = old_rows.join(keys, "case_key", "left_semi")
    old = table_reader.as_events(table_reader.stitched(old_rows, d, base.totals.segmented), d)
    work.write_sequences(with_ids(classified(new, old, whole), base.totals.next_id), len(dictionary.codes))
    if rows.num_rows:
        work.write_rows(DICTIONARY, rows, DICTIONARY_SCHEMA)
    _write_rejected(work, events, surveyed, whole and REJECTED in base.tables)
    made = work.facts()
    rejected = surveyed.rejected if whole else base.totals.rejected + surveyed.rejected
    if not made.events and not made.ended:
        totals = replace(base.totals, rejected=rejected)
        target = replace(
            base, definition=base.definition, source_state=changes.state, batch_ids=batch_ids, totals=totals
        )
        del work.written[SEQUENCES]
        return commit_work(work, index, base, target, started, "unchanged", changes.reason)
    if made.ended:
        _count_again(work, index, base)
    seams = write_postings(work, made, index, base)
    totals = _extended_totals(base, surveyed, made, work, index, rejected, seams)
    target = replace(
        base, definition=base.definition, built_with=d, source_state=changes.state, batch_ids=batch_ids, totals=totals
    )
    return commit_work(work, index, base, target, started, "extended", changes.reason)


def classified(new: DataFrame, old: DataFrame, whole: bool) -> DataFrame:
    """What to write for each case of a batch: id (NULL: a new one), case_key, start, replaces, ev.

    Args:
        new: case_key and ev of the batch.
        old: id, case_key and ev as indexed, of at least the batch's cases.
        whole: ``new`` is the whole source, so that what it lacks is gone and what it repeats is known.
    """
    n, o = F.col("new.ev"), F.col("old.ev")
    size = F.size(o)
    joined = new.alias("new").join(
        old.alias("old"), F.expr("new.case_key <=> old.case_key"), "full" if whole else "left"
    )
    known = F.col("old.id").isNotNull()
    if whole:
        joined = joined.where(F.expr("NOT (new.ev <=> old.ev)"))
        extends = known & (F.size(n) > size) & (F.slice(n, F.lit(1), size) == o)
        tail = F.slice(n, size + 1, F.size(n))
        merged = F.coalesce(n, F.slice(o, 1, 0))
    else:
        extends = known & (F.element_at(n, 1) >= F.element_at(o, -1))
        tail = n
        merged = F.sort_array(F.concat(o, n))
    # Where a case is gone, comparisons with it are NULL.
    extends = F.coalesce(extends, F.lit(False))
    return joined.select(
        F.when(extends, F.col("old.id")).alias("id"),
        F.coalesce(F.col("new.case_key"), F.col("old.case_key")).alias("case_key"),
        F.when(extends, size).otherwise(0).alias("start"),
        F.when(known & ~extends, F.col("old.id")).alias("replaces"),
        F.when(extends, tail).when(known, merged).otherwise(n).alias("ev"),
    )


def _count_again(work: Work, index: Location, base: Snapshot) -> None:
    """Counts of all live cases: those of the snapshot that are not replaced, and those of the batch."""
    if COUNTS not in work.definition.tables:
        return
    written = work.read(SEQUENCES)
    dead = written.where("replaces IS NOT NULL").select(F.col("replaces").alias("dead"))
    rows = table_reader.segments(work.spark, index, base).union(written.where("size(codes) > 0"))
    live = rows.join(dead, F.col("id") == F.col("dead"), "left_anti")
    cases = table_reader.stitched(live, work.definition, True)
    lists = pair_lists(new_cases(cases), pair_options(work.definition), stats_only=True)
    write_counts(work, lists, replaces=True)


def _extended_totals(
    base: Snapshot, surveyed: Survey, made: Facts, work: Work, index: Location, rejected: int, seams: int
) -> Totals:
    was = base.totals
    gone = 0
    if made.ended:
        dead = work.read(SEQUENCES).where("replaces IS NOT NULL").select(F.col("replaces").alias("id"))
        rows = table_reader.segments(work.spark, index, base).join(dead, "id", "left_semi")
        gone = rows.selectExpr("CAST(coalesce(sum(size(codes)), 0) AS BIGINT)").collect()[0][0]
    times = [t for t in (was.first_time, surveyed.first_time) if t is not None]
    lasts = [t for t in (was.last_time, surveyed.last_time) if t is not None]
    return Totals(
        events=was.events + made.events - gone,
        cases=was.cases + made.begun - made.ended,
        pairs=pairs_of(work) + (0 if made.ended else was.pairs),
        rejected=rejected,
        ties=was.ties + made.ties + seams,
        next_id=max(was.next_id, made.highest_id + 1),
        first_time=min(times, default=None),
        last_time=max(lasts, default=None),
        segmented=was.segmented or made.continued > 0,
        replaced=was.replaced or made.ended > 0,
    )


# -- pieces ------------------------------------------------------------------------------------------------------------


def _survey(work: Work, events: DataFrame) -> Survey:
    work.progress("reading", 0.0)
    started = clock.perf_counter()
    try:
        surveyed = survey(events)
    except Exception as error:  # the first look at the rows: a file that is cut short, a value that does not parse
        raise sources.unreadable(work.definition.source, error) from error
    check_survey(work.spark, surveyed, work.definition)
    work.seconds["(survey)"] = clock.perf_counter() - started
    return surveyed


def _write_rejected(work: Work, events: DataFrame, surveyed: Survey, again: bool = False) -> None:
    """Write rows that cannot be indexed. ``again``: the batch is the whole source, whose rows were written before."""
    if surveyed.rejected or again:
        bad = events.where(f"({BAD_REASON}) IS NOT NULL").selectExpr(
            f"'{work.batch}' AS batch", f"{BAD_REASON} AS reason", "CAST(case_key AS STRING) AS case_key",
            "CAST(time AS STRING) AS time", "event",
        )  # fmt: skip
        work.write(REJECTED, bad, replaces=again)


def _changed(d: Definition) -> PatternIndexError:
    return PatternIndexError(
        "CEP_INDEX_SOURCE_CHANGED", f"{d.source} changed while it was indexed.", blame="name", hint="run this again"
    )


def stream_batch(stream: str, epoch: int) -> str:
    """The name of a stream's micro-batch; of each stream only the latest is remembered."""
    return f"stream {stream} {epoch}"


def _is_done(batch_id: str, done: tuple[str, ...]) -> bool:
    if batch_id in done:
        return True
    if not batch_id.startswith("stream "):
        return False
    stream, _, epoch = batch_id.rpartition(" ")
    return any(d.rpartition(" ")[0] == stream and int(d.rpartition(" ")[2]) >= int(epoch) for d in done)


def _with_batch(batch_id: str | None, done: tuple[str, ...]) -> tuple[str, ...]:
    if batch_id is None:
        return done
    if batch_id.startswith("stream "):
        stream = batch_id.rpartition(" ")[0]
        done = tuple(d for d in done if d.rpartition(" ")[0] != stream)
    return (*done, batch_id)
