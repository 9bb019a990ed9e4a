"""Posting lists that one process makes of a batch hold the pairs of the definition, whatever lies in which file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.index import local_postings, lookup
from sparkcep.index.local_postings import Batch
from sparkcep.index.pairs import PairOptions, unpack
from sparkcep.index.snapshots import TableState
from sparkcep.index.storage import DataFile, Location

from .helpers import stored
from .test_pairs import read, reference

#: Type, time and tie of an event.
Event = tuple[int, int, str | None]
#: Id, start and events of a row of `sequences`.
Row = tuple[int, int, list[Event]]
events = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 6), st.one_of(st.none(), st.sampled_from("ab"))), max_size=8
)
START = pa.field("start", pa.int32())
KEYS = {"pairs": ("a", "b", "interval", "first_case"), "activities": ("type", "first_case")}


def in_order(own: list[Event]) -> list[Event]:
    """Events of a case as the index sorts them."""
    return sorted(own, key=lambda e: (e[1], e[2] or "", e[0]))


def in_files(folder: Path, name: str, parts: Sequence[list[Row]], size: int) -> tuple[DataFile, ...]:
    """A file of `sequences` for each of some parts that has rows."""
    return tuple(stored(folder / "sequences", f"{name}{k}", own, size, START) for k, own in enumerate(parts) if own)


def written(batch: Batch, table: str, files: tuple[DataFile, ...]) -> pa.RecordBatch:
    """The lists of a table, which must be in order, and between whose row groups footers must tell."""
    found = pa.concat_tables([pq.read_table(Path(batch.build.uri, table, f.path)) for f in files]).combine_chunks()
    rows = found.select(list(KEYS[table])).to_pylist()
    assert rows == sorted(rows, key=lambda r: [r[k] for k in KEYS[table]])
    own = KEYS[table][: -2 if table == "pairs" else -1]
    state = TableState(0, "", (("one", files),))
    for key in {tuple(r[k] for k in own) for r in rows}:
        lists, _ = lookup.read_lists(batch.table(table), state, own, [key], ["count"])
        assert sum(b.num_rows for b in lists[key]) == sum(tuple(r[k] for k in own) == key for r in rows)
    return found.to_batches()[0]


@pytest.mark.full
@given(st.lists(st.tuples(events, events), min_size=1, max_size=8), st.integers(1, 3), st.data())
def test_pairs_of_new_and_continued_cases(parts: list[tuple[list[Event], list[Event]]], size: int, data: Any) -> None:
    """A case's first part is of an earlier batch, where it has two, in one or two rows."""
    cases, older, new = {}, [], []
    for id_, (one, other) in enumerate(parts):
        first, more = in_order(one), in_order(other)
        if first:
            more = [(code, time + 6, tie) for code, time, tie in more]
        cases[id_] = (first if more else []), more
        if more:
            cut = data.draw(st.integers(0, len(first)))
            older += [(id_, at, own) for at, own in ((0, first[:cut]), (cut, first[cut:])) if own]
            new.append((id_, len(first), more))
        else:
            older.append((id_, 0, first))
            new.append((id_, 0, []))  # a case that is gone
    lookback = data.draw(st.one_of(st.none(), st.integers(0, 6)))
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sequences").mkdir()
        half = data.draw(st.integers(0, len(older)))
        before = in_files(folder, "old", (older[:half], older[half:]), size)
        files = in_files(folder, "new", (new[::2], new[1::2]), size)
        state = TableState(0, "", (("zero", before),))
        batch = Batch(
            Location(name), "one", files, state, 100, ("activities", "pairs"), PairOptions(lookback, 5, True), True,
            "zstd", False,
        )  # fmt: skip
        blocks = {"pairs": data.draw(st.integers(1, 1_000)), "activities": 300}
        with patch.object(local_postings, "BLOCKS", blocks), patch.object(local_postings, "EVENTS_PER_THREAD", 2):
            done = local_postings.write(batch)
        assert done is not None
        wanted = {}
        for id_, (first, more) in cases.items():
            own = reference([e[:2] for e in (*first, *more)], lookback)
            if kept := [p for p in own if p[3] >= len(first)]:
                wanted[id_] = kept
        assert bool(done.files["pairs"]) == bool(done.files["counts"]) == bool(wanted)
        if wanted:
            found = read(written(batch, "pairs", done.files["pairs"]))
            assert {k: sorted(p for p, _ in own) for k, own in found.items()} == wanted
            counts = pa.concat_tables([pq.read_table(folder / "counts" / f.path) for f in done.files["counts"]])
            assert sum(counts["completions"].to_pylist()) == sum(map(len, wanted.values()))
        listed = sorted((id_, e[0], e[1]) for id_, (_, more) in cases.items() for e in more)
        if listed:
            lists = written(batch, "activities", done.files["activities"])
            assert decoded(lists) == listed
        seams = [(a[-1][1:], b[0][1:]) for a, b in cases.values() if a and b]
        assert done.seams == sum(one == other for one, other in seams)


def decoded(lists: pa.RecordBatch) -> list[tuple[int, int, int]]:
    """Case, type and time of each event of `activities`."""
    counts = lists["count"].to_numpy().astype("int64")
    cases = unpack(lists["cases"], counts, lists["first_case"].to_numpy(), 1)
    times = unpack(lists["times"], counts, None, 2)
    types = lists["type"].to_numpy().repeat(counts)
    return sorted((int(c), int(t), int(at)) for c, t, at in zip(cases, types, times, strict=True))


def test_what_is_too_much_is_left_to_spark() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name, "sequences")
        folder.mkdir()
        file = stored(folder, "new", [(0, 0, [(k % 3, k, None) for k in range(9)])], 1, START)
        batch = Batch(
            Location(name), "one", (file,), None, 0, ("activities", "pairs"), PairOptions(None, 5, True), True, "zstd",
            False,
        )  # fmt: skip
        with patch.object(local_postings, "MAX_EVENTS", 8):
            assert local_postings.write(batch) is None
        with patch.object(local_postings, "MAX_PAIRS", 9 * 3 - 1):
            assert local_postings.write(batch) is None
        assert not Path(name, "pairs").exists()
        assert local_postings.write(batch) is not None


def test_pairs_that_older_events_complete_do_not_count() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name, "sequences")
        folder.mkdir()
        old = stored(folder, "old", [(0, 0, [(k % 3, k, None) for k in range(9)])], 1, START)
        new = stored(folder, "new", [(0, 9, [(0, 9, None)])], 1, START)
        batch = Batch(
            Location(name), "one", (new,), TableState(0, "", (("zero", (old,)),)), 1, ("pairs",),
            PairOptions(None, 5, True), True, "zstd", False,
        )  # fmt: skip
        with patch.object(local_postings, "MAX_PAIRS", 3):
            assert local_postings.write(batch) is not None
        with patch.object(local_postings, "MAX_PAIRS", 2):
            assert local_postings.write(batch) is None
