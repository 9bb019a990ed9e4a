"""Et-pairs: the kernel against Definition 3.4 word by word."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.index import pairs
from sparkcep.index.pairs import PairOptions

Event = tuple[int, int]  # type, time
Pair = tuple[int, int, int, int]  # a, b, positions


def reference(events: Sequence[Event], lookback: int | None) -> list[Pair]:
    """Pairs of one case. The a that waits for its b is the first one behind the last pair that b can still reach."""
    found = []
    types = {e[0] for e in events}
    for a in types:
        for b in types:
            start = 0  # where the next a may be
            for j, (type_, time) in enumerate(events):
                if type_ != b:
                    continue
                near = [i for i in range(start, j) if lookback is None or time - events[i][1] <= lookback]
                reach = [i for i in near if events[i][0] == a]
                if reach:
                    found.append((a, b, reach[0], j))
                    start = j if a == b else j + 1
    return sorted(found)


def batch(cases: Sequence[Sequence[Event]], ids: Sequence[int], first_new: Sequence[int]) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "id": pa.array(ids, pa.int64()),
            "first_new": pa.array(first_new, pa.int32()),
            "codes": pa.array([[e[0] for e in c] for c in cases], pa.list_(pa.int32())),
            "times": pa.array([[e[1] for e in c] for c in cases], pa.list_(pa.int64())),
        }
    )


def read(packed: pa.RecordBatch) -> dict[int, list[tuple[Pair, int]]]:
    """Pairs and their interval, by case."""
    counts = packed["count"].to_numpy().astype(np.int64)
    cases = pairs.unpack(packed["cases"], counts, packed["first_case"].to_numpy(), 1)
    first = pairs.unpack(packed["positions_a"], counts)
    second = first + pairs.unpack(packed["positions_b"], counts)
    out = defaultdict(list)
    keys = [np.repeat(packed[k].to_numpy(), counts) for k in ("a", "b", "interval")]
    for a, b, interval, case, i, j in zip(*keys, cases, first, second, strict=True):
        out[int(case)].append(((int(a), int(b), int(i), int(j)), int(interval)))
    return {c: sorted(v) for c, v in out.items()}


logs = st.lists(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=12).map(
        lambda es: list(zip([e[0] for e in es], np.cumsum([e[1] for e in es]).tolist(), strict=True))
    ),
    min_size=1,
    max_size=5,
)


@given(logs, st.none() | st.integers(0, 12), st.integers(1, 30), st.data())
def test_pairs_are_those_of_the_definition(
    log: list[list[Event]], lookback: int | None, interval: int, data: st.DataObject
) -> None:
    ids = sorted(data.draw(st.lists(st.integers(0, 2**40), min_size=len(log), max_size=len(log), unique=True)))
    first_new = [data.draw(st.integers(0, len(c))) for c in log]
    order = data.draw(st.permutations(range(len(log))))
    rows = batch([log[k] for k in order], [ids[k] for k in order], [first_new[k] for k in order])
    packed = pairs.pack_pairs(pairs.cases_of([rows]), PairOptions(lookback, interval, True))
    found = read(packed)
    fresh: dict[tuple[int, int], int] = defaultdict(int)
    durations = defaultdict(list)
    for case, own, new in zip(ids, log, first_new, strict=True):
        wanted = [(p, own[p[3]][1] // interval) for p in reference(own, lookback) if p[3] >= new]
        assert found.get(case, []) == wanted
        for a, b in {p[:2] for p, _ in wanted} - {p[:2] for p in reference(own[:new], lookback)}:
            fresh[a, b] += 1
        for p, at in wanted:
            durations[p[0], p[1], at].append(own[p[3]][1] - own[p[2]][1])
    assert sum(packed["fresh"].to_pylist()) == sum(fresh.values())
    for a, b, at, high, low, shortest, longest in zip(
        *(packed[k].to_pylist() for k in "a b interval sum_high sum_low shortest longest".split()), strict=True
    ):
        own_durations = durations[a, b, at]
        assert ((high << 20) + low, shortest, longest) == (
            sum(own_durations),
            min(own_durations),
            max(own_durations),
        )


@given(logs, st.none() | st.integers(0, 12), st.data())
def test_a_case_in_pieces_has_the_pairs_of_the_whole(
    log: list[list[Event]], lookback: int | None, data: st.DataObject
) -> None:
    case = log[0]
    options = PairOptions(lookback, 1000, False)
    cuts = sorted({0, len(case), *data.draw(st.lists(st.integers(0, len(case)), max_size=3))})
    found: list[Pair] = []
    for low, high in pairwise(cuts):
        packed = pairs.pack_pairs(pairs.cases_of([batch([case[:high]], [7], [low])]), options)
        found += [p for p, _ in read(packed).get(7, [])]
    assert sorted(found) == reference(case, lookback)


@given(logs)
def test_activities_list_every_event(log: list[list[Event]]) -> None:
    packed = pairs.pack_activities(pairs.cases_of([batch(log, range(10, 10 + len(log)), [0] * len(log))]))
    counts = packed["count"].to_numpy().astype(np.int64)
    cases = pairs.unpack(packed["cases"], counts, packed["first_case"].to_numpy(), 1)
    positions = pairs.unpack(packed["positions"], counts)
    times = pairs.unpack(packed["times"], counts, None, 2)
    types = np.repeat(packed["type"].to_numpy(), counts)
    found = sorted(zip(cases.tolist(), positions.tolist(), types.tolist(), times.tolist(), strict=True))
    assert found == [(10 + c, i, *e) for c, own in enumerate(log) for i, e in enumerate(own)]


@given(logs, st.data())
def test_events_of_some_cases_are_picked_out_of_lists(log: list[list[Event]], data: st.DataObject) -> None:
    packed = pairs.pack_activities(pairs.cases_of([batch(log, range(10, 10 + len(log)), [0] * len(log))]))
    ids = sorted(data.draw(st.sets(st.integers(5, 20), min_size=1)))
    found = []
    for row in range(packed.num_rows):
        places, times, positions = pairs.unpack_within(packed.slice(row, 1), np.array(ids))
        type_ = packed["type"][row].as_py()
        picked = zip(places.tolist(), times.tolist(), positions.tolist(), strict=True)
        found += [(ids[p], type_, t, position) for p, t, position in picked]
        bare = pairs.unpack_within(packed.drop_columns(["positions"]).slice(row, 1), np.array(ids))
        assert [a.tolist() for a in bare] == [places.tolist(), times.tolist(), []]
    expected = ((10 + c, *e, k) for c, own in enumerate(log) for k, e in enumerate(own) if 10 + c in ids)
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize(
    ("events", "lookback", "wanted"),
    [
        # The cases of the design's table, by (a, b) = (0, 1).
        ([(0, 0), (0, 270), (1, 300)], 60, [(1, 2)]),
        ([(0, 0), (1, 5), (2, 10)], 6, [(0, 1)]),
        ([(0, 0), (1, 7)], 6, []),
        ([(0, 0), (1, 6)], 6, [(0, 1)]),
    ],
)
def test_lookback(events: list[Event], lookback: int, wanted: list[tuple[int, int]]) -> None:
    packed = pairs.pack_pairs(pairs.cases_of([batch([events], [0], [0])]), PairOptions(lookback, 1000, False))
    assert [p[2:] for p, _ in read(packed).get(0, []) if p[:2] == (0, 1)] == wanted


@pytest.mark.full
def test_many_lists_grow_the_table() -> None:
    """More lists than the smallest hash table holds."""
    case = [(k % 400, k) for k in range(800)]
    packed = pairs.pack_pairs(pairs.cases_of([batch([case], [3], [0])]), PairOptions(None, 10_000, False))
    assert packed.num_rows == 400 * 400
    assert sum(packed["count"].to_pylist()) == sum(len(v) for v in read(packed).values())


@given(st.lists(st.integers(0, 40)), st.lists(st.integers(0, 40)))
def test_intersection(left: list[int], right: list[int]) -> None:
    one, other = (np.array(sorted(v), np.int64) for v in (left, right))
    assert pairs.intersect(one, other).tolist() == sorted(set(left) & set(right))
