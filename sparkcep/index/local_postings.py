"""Posting lists of a small batch, made and written by one process: Spark's jobs would cost more than their work.

:func:`write` takes plain values, as the functions of :mod:`sparkcep.index.lookup` do.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sparkcep.exec.kernels.index.postings import Cases
from sparkcep.index import facts, pairs
from sparkcep.index.files import data_files, file_of, write_small
from sparkcep.index.local_events import THREADS, groups_of_cases
from sparkcep.index.lookup import footer, read_groups
from sparkcep.index.pairs import Longs, PairOptions, one_chunk
from sparkcep.index.snapshots import TableState
from sparkcep.index.storage import DataFile, Location
from sparkcep.index.tables import ACTIVITIES, COUNTS, PAIRS, SEQUENCES

#: Events, with those that the batch's cases had before, that one process reads.
MAX_EVENTS = 2_000_000
#: Pairs that the batch's events may complete: some bytes of memory each.
MAX_PAIRS = 1 << 27
#: Events of fewer are packed by one thread, as lists of many cases pack better.
EVENTS_PER_THREAD = 250_000
#: zstd's level in Spark's writer; less costs a tenth of the size and saves little.
ZSTD_LEVEL = 3
#: Bytes of a row group before compression. A reader of a posting list decodes all of each group that it touches, and
#: each group takes a few hundred bytes of a footer: lists of types are few and long, of pairs many and short.
BLOCKS = {PAIRS: 1 << 20, ACTIVITIES: 1 << 18}
#: What lists are sorted by, so that a reader finds those of a type or pair side by side in one file.
ORDERS = {PAIRS: ("a", "b", "interval", "first_case"), ACTIVITIES: ("type", "first_case")}


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch whose sequences are written.

    ``build``: where its tables are. ``files``: of its sequences. ``older``: of sequences whose cases it may continue,
    None without. ``older_rows``: how many of their rows may be read. ``tables``: that are to be written. ``counted``:
    `counts` is there already.
    """

    build: Location
    name: str
    files: tuple[DataFile, ...]
    older: TableState | None
    older_rows: int
    tables: tuple[str, ...]
    options: PairOptions
    with_ties: bool
    compression: str
    counted: bool

    def table(self, name: str) -> Location:
        """Where a table is."""
        return self.build.child(name)


@dataclass(frozen=True, slots=True)
class Done:
    """Files and seconds by table; ``seams``: cases that go on with an event that only its type tells from the last one
    before."""

    files: Mapping[str, tuple[DataFile, ...]]
    seconds: Mapping[str, float]
    seams: int


def write(batch: Batch) -> Done | None:
    """Write posting lists, and counts of pairs. None: there are too many events or pairs, and nothing was written."""
    rows = _rows(batch)
    if rows is None:
        return None
    cases, seams = _cases(rows)
    lengths = np.diff(cases.offsets)
    types = int(cases.codes.max()) + 1 if len(cases.codes) else 0
    if int(((lengths - cases.first_new) * np.minimum(lengths, types)).sum()) > MAX_PAIRS:
        return None
    made: dict[str, Callable[[Cases], pa.RecordBatch]] = {
        ACTIVITIES: pairs.pack_activities,
        PAIRS: lambda share: pairs.pack_pairs(share, batch.options),
    }
    files, seconds = {}, {}
    for table, pack in made.items():
        if table not in batch.tables:
            continue
        started = clock.perf_counter()
        with ThreadPoolExecutor(THREADS) as threads:
            lists = pa.Table.from_batches(list(threads.map(pack, _shares(cases))))
        files[table] = _write_lists(batch, table, lists)
        seconds[table] = clock.perf_counter() - started
        if table == PAIRS and not batch.counted:
            started = clock.perf_counter()
            files[COUNTS] = write_small(batch.table(COUNTS), batch.name, facts.counts_of(lists))
            seconds[COUNTS] = clock.perf_counter() - started
    return Done(files, seconds, seams)


def _rows(batch: Batch) -> pa.Table | None:
    """Rows of `sequences` with events, of the batch and those before of cases that it continues; None: too many."""
    columns = ["id", "start", "codes", "times", *(["ties"] if batch.with_ties else [])]
    place = batch.table(SEQUENCES)
    parts = list(facts.tables(place, batch.files, columns))
    going = [rows.filter(pc.greater(rows["start"], 0))["id"].to_numpy() for rows in parts]
    ids = np.sort(np.concatenate([np.empty(0, np.int64), *going]))
    if len(ids):
        assert batch.older is not None
        where = groups_of_cases(place, batch.older, ids)
        if where.rows > batch.older_rows:
            return None
        for file, groups in where.groups:
            rows = read_groups(place, file, footer(place, file, ("id",)), groups, columns)
            parts.append(rows.filter(pc.is_in(rows["id"], pa.array(ids))))
    kinds = {"id": pa.int64(), "start": pa.int32(), "codes": pa.list_(pa.int32()), "times": pa.list_(pa.int64())}
    if batch.with_ties:
        kinds["ties"] = pa.list_(parts[0].schema.field("ties").type.value_type)
    found = pa.concat_tables([rows.cast(pa.schema(kinds)) for rows in parts])
    # A case that is gone has a row without events.
    found = found.filter(pc.greater(pc.list_value_length(found["codes"]), 0))
    events = pc.sum(pc.list_value_length(found["codes"])).as_py() or 0
    return found if events <= MAX_EVENTS else None


def _cases(rows: pa.Table) -> tuple[Cases, int]:
    """Cases of rows of `sequences`, the last one of each being the new one, and how many have a seam."""
    order = np.lexsort((rows["start"].to_numpy(), rows["id"].to_numpy()))
    rows = rows.take(pa.array(order)).combine_chunks()
    ids, starts = rows["id"].to_numpy(), rows["start"].to_numpy().astype(np.int64)
    codes, times = one_chunk(rows["codes"]), one_chunk(rows["times"])
    events = np.append(0, np.cumsum(np.asarray(codes.value_lengths()).astype(np.int64)))
    first = np.unique(ids, return_index=True)[1]
    ends = np.append(first, len(ids))
    offsets, first_new = events[ends], starts[ends[1:] - 1]
    flat, stamps = codes.flatten().to_numpy(), times.flatten().to_numpy()
    going = first_new > 0
    at = (offsets[:-1] + first_new)[going]
    same = stamps[at] == stamps[at - 1]
    if "ties" in rows.schema.names and same.any():
        same = facts.same_keys(one_chunk(rows["ties"]).flatten(), at[same] - 1, at[same])
    # Read-only, as all that comes from Arrow: other arrays would be of another type to the kernels.
    own = one_chunk(rows["id"]).take(pa.array(first)).to_numpy()
    return Cases(own, offsets, first_new, flat, stamps, flat), int(same.sum())


def _shares(cases: Cases) -> Iterator[Cases]:
    """Cases for each thread, about as many events each."""
    count = max(1, min(THREADS, len(cases.codes) // EVENTS_PER_THREAD))
    wanted = np.linspace(0, len(cases.codes), count + 1)
    ends = np.searchsorted(cases.offsets, wanted[1:])
    low = 0
    for high in ends.tolist():
        begin, end = int(cases.offsets[low]), int(cases.offsets[high])
        yield Cases(
            cases.ids[low:high], cases.offsets[low : high + 1] - begin, cases.first_new[low:high],
            cases.codes[begin:end], cases.times[begin:end], cases.codes[begin:end],
        )  # fmt: skip
        low = high


def _write_lists(batch: Batch, name: str, lists: pa.Table) -> tuple[DataFile, ...]:
    """A file of sorted lists, none where there are no lists."""
    if not lists.num_rows:
        return ()
    if len(lists.column(0).chunks) > 1:
        lists = lists.sort_by([(column, "ascending") for column in ORDERS[name]]).combine_chunks()
    table = batch.table(name)
    numbers = [field.name for field in lists.schema if pa.types.is_integer(field.type)]
    packed = [field.name for field in lists.schema if field.name not in numbers]
    encodings = dict.fromkeys(numbers, "DELTA_BINARY_PACKED") | dict.fromkeys(packed, "DELTA_LENGTH_BYTE_ARRAY")
    with (
        file_of(table, batch.name) as out,
        pq.ParquetWriter(
            out, lists.schema, compression=batch.compression, write_statistics=numbers, use_dictionary=False,
            compression_level=ZSTD_LEVEL if batch.compression == "zstd" else None, column_encoding=encodings,
            data_page_version="2.0", write_page_checksum=True,
        ) as writer,
    ):  # fmt: skip
        for low, high in _groups(lists, len(numbers), packed, BLOCKS[name]):
            writer.write_table(lists.slice(low, high - low), row_group_size=high - low)
    return data_files(table, batch.name)


def _groups(lists: pa.Table, numbers: int, packed: Sequence[str], block: int) -> Iterator[tuple[int, int]]:
    """First row of each row group, and the one behind its last."""
    sizes: Longs = np.full(lists.num_rows, 8 * numbers, np.int64)
    for name in packed:
        sizes += pc.binary_length(lists[name]).to_numpy()
    group = np.cumsum(sizes) // block
    ends = [*(np.flatnonzero(group[1:] != group[:-1]) + 1).tolist(), lists.num_rows]
    low = 0
    for high in ends:
        yield low, high
        low = high
