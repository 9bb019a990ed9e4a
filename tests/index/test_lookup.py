"""Row groups that hold a key, by statistics and the order of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.index.lookup import Footer, _between, ascending, groups_with, key_bounds
from sparkcep.index.reader import Scope

Pair = tuple[int, int]
pairs = st.tuples(st.integers(0, 3), st.integers(0, 4))


def written(rows: Sequence[Pair], size: int) -> pq.FileMetaData:
    sink = pa.BufferOutputStream()
    table = pa.table({"a": pa.array([a for a, _ in rows], pa.int32()), "b": pa.array([b for _, b in rows], pa.int32())})
    pq.write_table(table, sink, row_group_size=size)
    return pq.read_metadata(pa.BufferReader(sink.getvalue()))


def holding(rows: Sequence[Pair], size: int, wanted: Sequence[Pair]) -> set[int]:
    return {k // size for k, pair in enumerate(rows) if pair in wanted}


def found(rows: Sequence[Pair], size: int, wanted: Sequence[Pair]) -> set[int]:
    metadata = written(rows, size)
    return set(groups_with(Footer(metadata, *key_bounds(metadata, ("a", "b"))), wanted).tolist())


@given(
    st.lists(pairs, min_size=1, max_size=60), st.integers(1, 9), st.lists(pairs, min_size=1, max_size=3), st.booleans()
)
def test_no_row_group_that_holds_a_key_is_missed(
    rows: list[Pair], size: int, wanted: list[Pair], is_sorted: bool
) -> None:
    rows = sorted(rows) if is_sorted else rows
    own = found(rows, size, wanted)
    # Where statistics do not show that rows are out of order, nothing else can.
    metadata = written(rows, size)
    first, last = key_bounds(metadata, ("a", "b"))
    if is_sorted or not (last[:-1] <= first[1:]).all():
        assert own >= holding(rows, size, wanted)


def test_groups_between_two_first_keys_are_told_apart_by_their_neighbours() -> None:
    rows = [(a, b) for a in range(4) for b in range(10)]
    for wanted in rows:
        near = found(rows, 4, [wanted])
        assert near >= holding(rows, 4, [wanted])
        # Statistics alone take a group of two first keys for one of all second keys.
        assert len(near) <= 2


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=40), st.integers(1, 9), st.integers(-6, 6), st.integers(0, 5))
def test_row_groups_by_interval(intervals: list[int], size: int, first: int, more: int) -> None:
    """None that has a list of the intervals is left out; and where rows are in order, only such as have one between."""
    sink = pa.BufferOutputStream()
    rows = pa.table({"a": pa.nulls(len(intervals), pa.int32()), "interval": pa.array(intervals, pa.int32())})
    pq.write_table(rows, sink, row_group_size=size)
    kept = _between(pq.read_metadata(pa.BufferReader(sink.getvalue())), (first, first + more))
    parts = [intervals[low : low + size] for low in range(0, len(intervals), size)]
    assert list(kept) == [min(part) <= first + more and max(part) >= first for part in parts]
    assert all(k for k, part in zip(kept, parts, strict=True) if any(first <= i <= first + more for i in part))


@given(st.integers(-(10**16), 10**16), st.integers(0, 10**16), st.integers(-(10**16), 10**16))
def test_intervals_of_times(least: int, length: int, time: int) -> None:
    scope = Scope(None, least, least + length)
    first, last = scope.intervals(2_592_000_000_000) or (0, 0)
    assert not least <= time <= least + length or first <= time // 2_592_000_000_000 <= last
    assert Scope().intervals(1) is None
    assert Scope(None, None, 7).intervals(10**20) == (-(2**31), 0)


def test_one_key_is_looked_up_by_its_statistics() -> None:
    metadata = written([(a, 0) for a in (1, 1, 2, 2, 2, 5)], 2)
    bounds = Footer(metadata, *key_bounds(metadata, ("a",)))
    assert groups_with(bounds, [(2,)]).tolist() == [1, 2]
    assert groups_with(bounds, [(1,), (5,)]).tolist() == [0, 2]
    assert groups_with(bounds, [(9,)]).tolist() == []


@given(st.lists(st.lists(st.integers(0, 20))))
def test_ids_are_ascending_and_each_once(parts: list[list[int]]) -> None:
    assert ascending([np.array(p, np.int64) for p in parts]).tolist() == sorted({k for p in parts for k in p})
