"""What an index knows of a pattern without a query: statistics of its steps, and what comes after it.

SIESTA's statistics and continuation queries. Both read one pinned snapshot, of an index that covers its source.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sparkcep.errors import PatternIndexError, near_hint
from sparkcep.index import catalog, sources
from sparkcep.index.plain_sequence import EventType, read_plain_sequence
from sparkcep.index.reader import Reader
from sparkcep.index.tables import COUNTS, Definition, Source
from sparkcep.spark.releases import frame_of
from sparkcep.spark.shipping import shipped

MODES = ("fast", "accurate", "hybrid")
_MICROSECOND = "INTERVAL '0.000001' SECOND"
_CONTINUATIONS = "next_event string, completions bigint, cases bigint, counted bigint, total decimal(38,0)"


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows, and how they were found, for EXPLAIN."""

    frame: DataFrame
    how: str


def statistics(spark: SparkSession, log: Source, pattern: str | Sequence[str]) -> Answer:
    """See :func:`sparkcep.index.pattern_statistics`."""
    reader, state = _reader(spark, log, True)
    types = _types(reader, pattern)
    if len(types) < 2:
        raise PatternIndexError(
            "CEP_PLAIN_SEQUENCE", "Statistics need a pattern with at least two event types.", blame="pattern",
            hint="write 'A B', or pattern_continuations(log, 'A')",
        )  # fmt: skip
    steps = list(pairwise(types))
    found = reader.counts(steps)
    rows = pa.table(
        {
            "step": pa.array(range(1, len(steps) + 1), pa.int32()),
            "event": pa.array([a for a, _ in steps], pa.string()),
            "next_event": pa.array([b for _, b in steps], pa.string()),
            "completions": pa.array([found[s].completions for s in steps], pa.int64()),
            "cases": pa.array([found[s].cases for s in steps], pa.int64()),
            "total": pa.array([Decimal(found[s].total) for s in steps], pa.decimal128(38, 0)),
            "low": pa.array([found[s].shortest for s in steps], pa.int64()),
            "high": pa.array([found[s].longest for s in steps], pa.int64()),
        }
    )
    clock = reader.definition.is_clock
    # Where nothing was counted there is no sum, as in SQL.
    total = "CASE WHEN completions > 0 THEN total END"
    frame = frame_of(spark, rows).selectExpr(
        "step", "event", "next_event", "completions", "cases",
        f"{_duration(f'try_cast({total} AS BIGINT)') if clock else total} AS total_duration",
        f"{_average('completions', clock)} AS average_duration",
        f"{_duration('low') if clock else 'low'} AS minimum_duration",
        f"{_duration('high') if clock else 'high'} AS maximum_duration",
    )  # fmt: skip
    return Answer(frame, _how(reader, state, f"{len(steps)} pairs of the Count table"))


def continuations(
    spark: SparkSession, log: Source, pattern: str | Sequence[str], mode: str = "accurate", k: int = 10
) -> Answer:
    """See :func:`sparkcep.index.pattern_continuations`."""
    way = mode.lower() if isinstance(mode, str) else str(mode)
    if way not in MODES:
        hint = near_hint(way, MODES, f"there are {', '.join(MODES)}")
        raise PatternIndexError("CEP_CONTINUATION_MODE", f"There is no mode {mode}.", blame="mode", hint=hint)
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k < 2**31:
        raise PatternIndexError(
            "CEP_CONTINUATION_K",
            f"k is {k!r}; it must be a whole number from 1.",
            blame="k",
            hint="k => 10",
        )
    reader, state = _reader(spark, log, way != "accurate")
    types = _types(reader, pattern)
    if not types:
        raise PatternIndexError(
            "CEP_PLAIN_SEQUENCE", "The pattern has no event type.", blame="pattern", hint="write 'A B'"
        )
    candidates = None
    if way == "accurate":
        found = _matched(reader, types, None)
        how = "every type is matched after the pattern"
    else:
        counted = _bounded(reader, types)
        if way == "fast":
            found = frame_of(spark, _table(counted, _bounded_cases(reader, types)))
            how = "bounds from the Count table"
        else:
            best = sorted(counted, key=lambda c: c.rank(reader.definition.is_clock))[:k]
            candidates = [c.event for c in best]
            found = _matched(reader, types, candidates)
            how = f"{len(candidates)} types, the best by the Count table, are matched after the pattern"
    return Answer(_ranked(found, reader.definition.is_clock, k), _how(reader, state, how))


# -- the index ---------------------------------------------------------------------------------------------------------


def _reader(spark: SparkSession, log: Source, needs_counts: bool) -> tuple[Reader, str]:
    """A reader of the index that a log's name means, and how it stands to its source.

    Raises:
        PatternIndexError: CEP_INDEX_NOT_FOUND, CEP_INDEX_KIND, CEP_INDEX_STALE.
    """
    stale = None
    for reader in _readers(spark, log, needs_counts):
        coverage = reader.coverage()
        if coverage.state != "stale":
            return reader, coverage.state
        d = reader.definition
        stale = stale or PatternIndexError(
            "CEP_INDEX_STALE",
            f"Pattern index {d.name} does not cover {d.source} as it is now: {coverage.reason}.",
            blame="log",
            hint=f"REFRESH PATTERN INDEX {d.name}",
        )
    assert stale is not None
    raise stale


def _readers(spark: SparkSession, log: Source, needs_counts: bool) -> list[Reader]:
    all_of = catalog.all_indexes(spark)
    located = all_of.indexes
    listed = [s for _, s in located]
    name = log.parts[0].casefold() if log.kind == "table" and len(log.parts) == 1 else ""
    if unreadable := dict(all_of.unreadable).get(name):
        raise unreadable
    found = [s for s in listed if name == s.definition.name]
    table = None
    if not found:
        table = _full_name(spark, log)
        found = [
            s for s in listed
            if (log.kind == "path" and catalog.same(s.definition.source, log))
            or (table is not None and _full_name(spark, s.definition.source) == table)
        ]  # fmt: skip
    if not found:
        if table is not None or log.kind == "path":
            message = f"{log} has no pattern index."
            hint = f"CREATE PATTERN INDEX name ON {log} (CASE c, TIME t, EVENT e)"
        else:
            message = f"There is no pattern index {log}, and no table of this name."
            hint = near_hint(
                str(log), [n for s in listed for n in _names(s.definition)], "SHOW PATTERN INDEXES lists the indexes"
            )
        raise PatternIndexError("CEP_INDEX_NOT_FOUND", message, blame="log", hint=hint)
    able = [s for s in found if not needs_counts or COUNTS in s.tables]
    if not able:
        d = found[0].definition
        raise PatternIndexError(
            "CEP_INDEX_KIND", f"Pattern index {d.name} is USING {d.kind}, which counts no pairs.", blame="log",
            hint="CREATE PATTERN INDEX ... USING siesta; continuations by mode => 'accurate' need no counts",
        )  # fmt: skip
    names = {s.definition.name for s in able}
    return [Reader(spark, at, s) for at, s in located if s.definition.name in names]


def _names(d: Definition) -> list[str]:
    return [d.name, str(d.source)] if d.source.kind == "table" else [d.name]


def _full_name(spark: SparkSession, source: Source) -> tuple[str, ...] | None:
    """Catalog, schema and name of a table or view as the session sees it; None where there is none."""
    table = sources.listed(spark, source)
    if table is None:
        return None
    return tuple(p.casefold() for p in (table.catalog or "", *(table.namespace or ()), table.name))


def _types(reader: Reader, pattern: str | Sequence[str]) -> list[str]:
    """Event types of a pattern, each known to the index."""
    types = read_plain_sequence(pattern) if isinstance(pattern, str) else [EventType(t, 0) for t in pattern]
    known = reader.dictionary()
    for one in types:
        if one.name not in known:
            hint = near_hint(one.name, known, f"it has {', '.join(sorted(known)[:10])}")
            raise PatternIndexError(
                "CEP_UNKNOWN_EVENT_TYPE", f"Pattern index {reader.definition.name} has no event of type {one.name}.",
                blame=f"pattern:{one.offset}", hint=hint,
            )  # fmt: skip
    return [t.name for t in types]


def _how(reader: Reader, state: str, how: str) -> str:
    claim = "which covers its source" if state == "current" else "whose source does not tell what it covers"
    return f"index {reader.definition.name}, snapshot {reader.snapshot.number}, {claim}; {how}"


# -- durations ---------------------------------------------------------------------------------------------------------


def _duration(value: str) -> str:
    """A day-time interval of whole microseconds."""
    return f"{_MICROSECOND} * ({value})"


def _average(count: str, clock: bool) -> str:
    if clock:
        return _duration(f"CAST(round(total / nullif({count}, 0)) AS BIGINT)")
    return f"CAST(total AS DOUBLE) / nullif({count}, 0)"


# -- continuations -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Bound:
    """A continuation by the Count table: completions and cases are upper bounds, ``total`` is of ``counted`` pairs."""

    event: str
    completions: int
    cases: int
    counted: int
    total: int

    def rank(self, clock: bool) -> tuple[float, int, str]:
        """As :func:`_ranked` sorts."""
        average = self.total / self.counted / (1e6 if clock else 1.0)
        return -(self.completions / average if average else float("inf")), -self.completions, self.event


def _bounded(reader: Reader, types: Sequence[str]) -> list[_Bound]:
    """SIESTA's fast exploration: nothing is completed more often than the rarest pair on its way."""
    last = types[-1]
    steps = list(pairwise(types))
    found = reader.counts([*steps, *((last, t) for t in reader.dictionary())])
    out = []
    for event in reader.dictionary():
        own = found[last, event]
        way = [found[s] for s in steps] + [own]
        completions, cases = min(c.completions for c in way), min(c.cases for c in way)
        if completions:
            out.append(_Bound(event, completions, cases, own.completions, own.total))
    return out


def _bounded_cases(reader: Reader, types: Sequence[str]) -> int:
    """No fewer cases than hold a pattern: those of its rarest pair, of a single type those that have it."""
    if len(types) == 1:
        return len(reader.contains_all(types).ids)
    return min(count.cases for count in reader.counts(pairwise(types)).values())


def _table(bounds: Sequence[_Bound], holding: int) -> pa.Table:
    """Rows as of :func:`count_continuations`."""
    return pa.table(
        {
            "next_event": pa.array([None, *(b.event for b in bounds)], pa.string()),
            "completions": pa.array([0, *(b.completions for b in bounds)], pa.int64()),
            "cases": pa.array([holding, *(b.cases for b in bounds)], pa.int64()),
            "counted": pa.array([0, *(b.counted for b in bounds)], pa.int64()),
            "total": pa.array([Decimal(0), *(Decimal(b.total) for b in bounds)], pa.decimal128(38, 0)),
        }
    )


def _matched(reader: Reader, types: Sequence[str], candidates: Sequence[str] | None) -> DataFrame:
    """Continuations, counted in all cases that may hold the pattern; lazy."""
    codes = reader.dictionary()
    names = sorted(codes, key=codes.__getitem__)
    wanted = np.zeros(len(names), np.uint8)
    wanted[[codes[c] for c in (names if candidates is None else candidates)]] = 1
    pattern = np.array([codes[t] for t in types], np.int32)
    found = reader.candidates([types])
    ids = None if len(found.ids) == found.total else found.ids
    cases = reader.lists(ids).select("codes", "times")

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from sparkcep.index.continuations import count_continuations

        yield count_continuations(batches, pattern, wanted, names)

    parts = cases.mapInArrow(shipped(count, "sparkcep_continuations"), _CONTINUATIONS)
    sums = ("completions", "cases", "counted", "total")
    return parts.groupBy("next_event").agg(*(F.sum(name).alias(name) for name in sums))


def _ranked(continuations: DataFrame, clock: bool, k: int) -> DataFrame:
    """The best k by SIESTA's score: completions over average duration, in seconds where time is a clock's.

    Args:
        continuations: with a row without a type, whose cases are those that hold the pattern.
    """
    average = f"CAST(total AS DOUBLE) / counted{' / 1000000D' if clock else ''}"
    # Few rows: one list of them brings the two kinds together without a second walk over the cases.
    rows = continuations.groupBy().agg(
        F.expr("max(CASE WHEN next_event IS NULL THEN cases END)").alias("holding"),
        F.collect_list(F.struct(*continuations.columns)).alias("rows"),
    )
    return (
        rows.selectExpr("holding", "inline(rows)")
        .where("next_event IS NOT NULL")
        .selectExpr(
            "next_event", "cases AS support", "completions", f"{_average('counted', clock)} AS average_duration",
            f"CASE WHEN total = 0 THEN double('Infinity') ELSE completions / ({average}) END AS score",
            "CAST(cases AS DOUBLE) / holding AS probability",
        )
        .orderBy(F.desc("score"), F.desc("completions"), "next_event")
        .limit(k)
    )  # fmt: skip
