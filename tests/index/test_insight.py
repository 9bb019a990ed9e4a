"""Statistics and continuations equal what their definitions say, event by event."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from sparkcep import SparkCepError, index
from sparkcep.index.continuations import count_continuations
from sparkcep.index.plain_sequence import read_plain_sequence

from .helpers import Row, create, frame

Events = list[tuple[str, int]]  # types and times of a case

TYPES = "ABC"
cases = st.lists(st.lists(st.sampled_from(TYPES), max_size=12), max_size=5)


def matches(events: Events, sequence: Sequence[str]) -> list[list[int]]:
    """Positions of matches that do not overlap: each event in turn is the first that fits behind the one before."""
    out: list[list[int]] = []
    found: list[int] = []
    for position, (event, _) in enumerate(events):
        if event == sequence[len(found)]:
            found.append(position)
        if len(found) == len(sequence):
            out.append(found)
            found = []
    return out


def continuations(log: list[Events], pattern: Sequence[str]) -> dict[str, tuple[int, int, int]]:
    """Cases, completions and total duration by the next type."""
    out = {}
    for event in sorted({e for events in log for e, _ in events}):
        found = [(events, m) for events in log for m in matches(events, [*pattern, event])]
        held = sum(1 for events in log if matches(events, [*pattern, event]))
        if found:
            out[event] = held, len(found), sum(events[m[-1]][1] - events[m[-2]][1] for events, m in found)
    return out


@given(cases, st.lists(st.sampled_from(TYPES), min_size=1, max_size=4), st.integers(1, 3), st.sampled_from([1, 2**60]))
def test_kernel(log: list[list[str]], pattern: list[str], per_batch: int, tick: int) -> None:
    """One walk for all types, whatever the batches; sums pass 64 bits."""
    timed = [[(event, tick * (k % 3 + k // 3) // 12) for k, event in enumerate(events)] for events in log]
    batches = []
    for low in range(0, len(timed), per_batch):
        part = timed[low : low + per_batch]
        codes = pa.array([[TYPES.index(e) for e, _ in events] for events in part], pa.list_(pa.int32()))
        times = pa.array([[t for _, t in events] for events in part], pa.list_(pa.int64()))
        batches.append(pa.record_batch({"codes": codes, "times": times}))
    found = count_continuations(
        batches, np.array([TYPES.index(t) for t in pattern], np.int32), np.ones(len(TYPES), np.uint8), TYPES
    )  # fmt: skip
    rows = {r["next_event"]: (r["cases"], r["completions"], int(r["total"])) for r in found.to_pylist()}
    holding = sum(1 for events in timed if matches(events, pattern))
    assert rows == {None: (holding, 0, 0), **continuations(timed, pattern)}


def test_only_wanted_types() -> None:
    batch = pa.record_batch(
        {"codes": pa.array([[0, 1, 2]], pa.list_(pa.int32())), "times": pa.array([[0, 1, 2]], pa.list_(pa.int64()))}
    )
    found = count_continuations([batch], np.array([0], np.int32), np.array([0, 0, 1], np.uint8), TYPES)
    assert found["next_event"].to_pylist() == [None, "C"]


def log_of(rows: list[Row]) -> list[Events]:
    """Cases in the index's order: time, tiebreak, type."""
    by_case = defaultdict(list)
    for case, time, _, event in sorted(rows, key=lambda r: (r[1], r[2], r[3])):
        by_case[case].append((event, time * 1_000_000))
    return list(by_case.values())


def micros(value: Any) -> int:
    return round(value.total_seconds() * 1_000_000)


def pairs(events: Events, a: str, b: str) -> list[tuple[int, int]]:
    """Times of Def. 3.4's pairs; of equal types the second event begins the next pair."""
    if a == b:
        return list(pairwise(t for event, t in events if event == a))
    return [(events[i][1], events[j][1]) for i, j in matches(events, [a, b])]


# One example is three to six Spark jobs; shrinking would take hundreds.
few = settings(max_examples=max(3, settings().max_examples // 25), phases=(Phase.explicit, Phase.generate))
rows_of_logs = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(0, 40), st.integers(0, 2), st.sampled_from("ABC")),
    min_size=4, max_size=30, unique_by=lambda r: r[:3],
)  # fmt: skip


@pytest.mark.full
@few
@given(rows_of_logs, st.data())
def test_modes(spark: SparkSession, rows: list[Row], data: st.DataObject) -> None:
    """accurate is the definition, fast bounds it from above, hybrid is accurate on the k best of fast."""
    cut = data.draw(st.integers(1, len(rows) - 1))
    create(spark, "insight", rows[:cut])
    index.refresh(spark, "insight", batch=frame(spark, rows[cut:]), batch_id="more")
    known = sorted({r[3] for r in rows})
    pattern = data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=3))
    expected = continuations(log_of(rows), pattern)
    accurate = index.pattern_continuations(spark, "insight", pattern).collect()
    assert {r.next_event: (r.support, r.completions, micros(r.average_duration)) for r in accurate} == {
        e: (held, n, (2 * total + n) // (2 * n)) for e, (held, n, total) in expected.items()
    }
    order = [(-r.score, -r.completions, r.next_event) for r in accurate]
    assert order == sorted(order)
    holding = sum(1 for events in log_of(rows) if matches(events, pattern))
    assert [r.probability for r in accurate] == [r.support / holding for r in accurate]
    fast = index.pattern_continuations(spark, "insight", pattern, "fast").collect()
    bounds = {r.next_event: r for r in fast}
    for event, (held, n, _) in expected.items():
        assert bounds[event].support >= held
        assert bounds[event].completions >= n
    assert all(0 < r.probability <= 1 for r in fast)
    k = data.draw(st.integers(1, 3))
    hybrid = index.pattern_continuations(spark, "insight", pattern, "hybrid", k).collect()
    best = {r.next_event for r in fast[:k]}
    assert hybrid == [r for r in accurate if r.next_event in best]


@few
@given(rows_of_logs)
def test_statistics(spark: SparkSession, rows: list[Row]) -> None:
    create(spark, "insight", rows)
    known = sorted({r[3] for r in rows})
    pattern = [a for a in known for _ in range(2)]
    for row in index.pattern_statistics(spark, "insight", pattern).collect():
        pair = pattern[row.step - 1 : row.step + 1]
        found = [pairs(events, *pair) for events in log_of(rows)]
        durations = [b - a for of_case in found for a, b in of_case]
        assert (row.event, row.next_event) == tuple(pair)
        assert (row.completions, row.cases) == (len(durations), sum(map(bool, found)))
        seen = row.total_duration, row.minimum_duration, row.maximum_duration, row.average_duration
        if durations:
            n, total = len(durations), sum(durations)
            assert [micros(s) for s in seen] == [total, min(durations), max(durations), (2 * total + n) // (2 * n)]
        else:
            assert seen == (None, None, None, None)


def test_accurate_equals_pattern_blocks(spark: SparkSession) -> None:
    """The same by a pattern block for each type, and plain SQL around it."""
    rows: list[Row] = [
        (case, 7 * k + (k * k) % 5, 0, event)
        for case, events in {"a": "ABCABDBA", "b": "BBACBDA", "c": "AABBCCDD", "d": "CAB"}.items()
        for k, event in enumerate(events)
    ]
    create(spark, "insight", rows, include=[])
    frame(spark, rows).createOrReplaceTempView("insight_events")
    blocks = " UNION ALL ".join(
        f"""SELECT '{x}' AS next_event, c, gap FROM (
              FROM insight_events PARTITION BY c ORDER BY ts EVENT TYPE e PATTERN SEQ(A a, B b, {x} x)
              MATCHES NON OVERLAPPING RETURN c, x.ts - b.ts AS gap)"""
        for x in "ABCD"
    )
    by_blocks = spark.sql(
        f"SELECT next_event, count(DISTINCT c), count(*), avg(gap) FROM ({blocks}) GROUP BY next_event"
    )
    found = index.pattern_continuations(spark, "insight", "A B").drop("score", "probability")
    assert sorted(map(tuple, found.collect())) == sorted(map(tuple, by_blocks.collect()))
    spark.catalog.dropTempView("insight_events")


def test_pairs_past_the_lookback(spark: SparkSession) -> None:
    """fast knows pairs within the lookback; accurate is none the wiser for it."""
    create(spark, "insight", [("a", 0, 0, "A"), ("a", 50, 0, "B")], options={"lookback": "10 seconds"})
    assert index.pattern_continuations(spark, "insight", "A", "fast").collect() == []
    assert [r.next_event for r in index.pattern_continuations(spark, "insight", "A").collect()] == ["B"]


@pytest.mark.full
def test_parameters(spark: SparkSession) -> None:
    """Arguments may be the caller's parameters, in all three of Spark's ways."""
    create(spark, "insight", [("a", 0, 0, "A"), ("a", 5, 0, "B"), ("b", 0, 0, "A")])
    call = "SELECT next_event FROM pattern_continuations"
    for found in (
        spark.sql(f"{call}(:log, :pattern, k => :k)", {"log": "insight", "pattern": "A", "k": 3}),
        spark.sql(f"{call}(?, upper(?), k => ?) WHERE next_event <> ?", ["insight", "a", 3, "x"]),
        spark.sql(f"{call}({{log}}, {{pattern}})", log="insight", pattern="A"),
    ):
        assert [r.next_event for r in found.collect()] == ["B"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("A B", ["A", "B"]),
        ("  A\n\tB ", ["A", "B"]),
        ("\"Create Fine\" `Send Fine` 'a b'", ["Create Fine", "Send Fine", "a b"]),
        ('"a ""b""" `c``d`', ['a "b"', "c`d"]),
        ("W_Complete-x pay/ship 5.0", ["W_Complete-x", "pay/ship", "5.0"]),
        ('"NOT" "B+"', ["NOT", "B+"]),
        ("", []),
    ],
)
def test_plain_sequences(text: str, names: list[str]) -> None:
    assert [t.name for t in read_plain_sequence(text)] == names


@pytest.mark.parametrize(
    ("text", "offset"), [("A B+", 3), ("A|B", 1), ("A (B)", 2), ("A, B", 1), ("<A>", 0), ("A NOT B", 2), ('A "B', 2),
                         ('"A"B', 0), ("!A", 0)],
)  # fmt: skip
def test_other_patterns(text: str, offset: int) -> None:
    with pytest.raises(SparkCepError) as caught:
        read_plain_sequence(text)
    assert caught.value.error_class == "CEP_PLAIN_SEQUENCE"
    assert caught.value.blame == f"pattern:{offset}"  # type: ignore[attr-defined]
