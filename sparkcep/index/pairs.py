"""Postings as Arrow: extracted from cases, packed into bytes, read again.

A row of the pairs table is one posting list: types a and b, the interval of the second events, and the pairs of as many
cases as were packed together. `fresh` counts cases whose first pair of these types is in this list, so that it adds up
over lists to the number of cases; durations add up as `sum_high` * 2**20 + `sum_low`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sparkcep.errors import LimitError
from sparkcep.exec.kernels.index import postings as kernel
from sparkcep.exec.kernels.index.keys import INTERVAL_BITS, TYPE_BITS
from sparkcep.exec.kernels.index.postings import Cases, Lists

Longs = npt.NDArray[np.int64]

PAIR_STREAMS = ("cases", "positions_a", "positions_b", "times_a", "times_b")
PAIR_NUMBERS = "fresh sum_high sum_low shortest longest first_case last_case".split()
ACTIVITY_STREAMS = ("cases", "positions", "times")

#: Events that are packed together: longer lists pack better, and this bounds a worker's memory.
EVENTS_PER_PACK = 2_000_000
#: Bytes of a batch on its way to the JVM.
BATCH_BYTES = 16 << 20
#: Arrow's offsets of binary columns have 31 bits.
MAX_BYTES = 2**31 - 1
#: Smallest hash table.
SLOTS = 1 << 16


@dataclass(frozen=True, slots=True)
class PairOptions:
    """How pairs are extracted: ``lookback`` and ``interval`` in units of the times, ``lookback`` None: any distance."""

    lookback: int | None
    interval: int
    with_times: bool

    @property
    def streams(self) -> int:
        """How many packed streams a pair has: its cases, two positions and, with times, two times."""
        return 5 if self.with_times else 3

    def schema(self) -> str:
        """Columns of the pairs table, for Spark."""
        numbers = ", ".join(f"{name} bigint" for name in PAIR_NUMBERS)
        streams = ", ".join(f"{name} binary" for name in PAIR_STREAMS[: self.streams])
        return f"a int, b int, interval int, count int, {numbers}, {streams}"


ACTIVITY_SCHEMA = "type int, count int, fresh bigint, first_case bigint, last_case bigint, " + ", ".join(
    f"{name} binary" for name in ACTIVITY_STREAMS
)


def cases_of(batches: Sequence[pa.RecordBatch]) -> Cases:
    """Cases of batches with columns id, first_new, codes, times, in order of their ids."""
    table = pa.Table.from_batches(batches).combine_chunks()
    order = np.argsort(table["id"].to_numpy(), kind="stable")
    if len(order) > 1 and (np.diff(order) != 1).any():
        table = table.take(pa.array(order)).combine_chunks()
    codes, times = one_chunk(table["codes"]), one_chunk(table["times"])
    offsets = codes.offsets.to_numpy().astype(np.int64)
    flat = codes.flatten().to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
    return Cases(
        one_chunk(table["id"]).to_numpy(),
        offsets - offsets[0],
        one_chunk(table["first_new"]).to_numpy().astype(np.int64),
        flat,
        times.flatten().to_numpy(zero_copy_only=False).astype(np.int64, copy=False),
        flat,
    )


def one_chunk(column: pa.ChunkedArray) -> Any:
    """The array of a column that is in one piece."""
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


def packs(batches: Iterable[pa.RecordBatch]) -> Iterator[Cases]:
    """Batches gathered until they hold enough events to be packed together."""
    held: list[pa.RecordBatch] = []
    events = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        events += len(batch.column(batch.schema.get_field_index("codes")).flatten())
        if events >= EVENTS_PER_PACK:
            yield cases_of(held)
            held, events = [], 0
    if held:
        yield cases_of(held)


def _scratch(cases: Cases) -> tuple[Longs, Longs, Longs, Longs]:
    types = int(cases.codes.max()) + 1 if len(cases.codes) else 1
    longest = int(np.diff(cases.offsets).max()) if len(cases.ids) else 0
    zeros = np.zeros(types, np.int64)
    return zeros, zeros.copy(), np.empty(types, np.int64), np.empty(longest, np.int64)


def pack_pairs(cases: Cases, options: PairOptions) -> pa.RecordBatch:
    """Posting lists of the new pairs of some cases, in order of a, b and interval."""
    lookback = -1 if options.lookback is None else options.lookback
    origin = int(cases.times.min()) // options.interval if len(cases.times) else 0
    cases = cases._replace(intervals=(cases.times // options.interval - origin).astype(np.int32))
    nothing = np.empty(0, np.uint8)
    lists = Lists(np.full(SLOTS, -1, np.int64), np.zeros(SLOTS * kernel.WIDTH, np.int64))
    low = opened = 0
    while True:
        scratch = _scratch(cases)
        low, opened = kernel.pack_pairs(
            cases, low, lists, opened, len(lists.keys) // 2, scratch, lookback,
            options.with_times, nothing, False,
        )  # fmt: skip
        if low == len(cases.ids):
            break
        lists = enlarged(lists)
    used = np.flatnonzero(lists.keys >= 0)
    used = used[np.argsort(lists.keys[used])]
    table = lists.stats.reshape(-1, kernel.WIDTH)
    keys, stats = lists.keys[used], table[used]
    out, ends = _places(table, used, options.streams)
    kernel.pack_pairs(cases, 0, lists, 0, 0, _scratch(cases), lookback, options.with_times, out, True)
    interval_mask = (1 << INTERVAL_BITS) - 1
    columns: dict[str, pa.Array] = {
        "a": pa.array((keys >> (TYPE_BITS + INTERVAL_BITS)).astype(np.int32)),
        "b": pa.array(((keys >> INTERVAL_BITS) & ((1 << TYPE_BITS) - 1)).astype(np.int32)),
        "interval": pa.array(((keys & interval_mask) + origin).astype(np.int32)),
        "count": pa.array(stats[:, kernel.COUNT].astype(np.int32)),
        "fresh": pa.array(stats[:, kernel.FRESH]),
        "sum_high": pa.array(stats[:, kernel.SUM_HIGH]),
        "sum_low": pa.array(stats[:, kernel.SUM_LOW]),
        "shortest": pa.array(stats[:, kernel.SHORTEST]),
        "longest": pa.array(stats[:, kernel.LONGEST]),
        "first_case": pa.array(stats[:, kernel.FIRST]),
        "last_case": pa.array(stats[:, kernel.LAST_CASE]),
    }
    for stream in range(options.streams):
        columns[PAIR_STREAMS[stream]] = _binary(out, ends[stream])
    return pa.record_batch(columns)


def pack_activities(cases: Cases) -> pa.RecordBatch:
    """Posting lists of the new events of some cases, in order of their type."""
    types = int(cases.codes.max()) + 1 if len(cases.codes) else 0
    flat = np.zeros(types * kernel.WIDTH, np.int64)
    stats = flat.reshape(-1, kernel.WIDTH)
    kernel.pack_activities(cases, flat, np.empty(0, np.uint8), False)
    used = np.flatnonzero(stats[:, kernel.COUNT])
    found = stats[used]
    out, ends = _places(stats, used, 4)
    kernel.pack_activities(cases, flat, out, True)
    streams = {name: _binary(out, ends[k]) for name, k in zip(ACTIVITY_STREAMS, (0, 1, 3), strict=True)}
    columns: dict[str, pa.Array] = {
        "type": pa.array(used.astype(np.int32)),
        "count": pa.array(found[:, kernel.COUNT].astype(np.int32)),
        "fresh": pa.array(found[:, kernel.FRESH]),
        "first_case": pa.array(found[:, kernel.FIRST]),
        "last_case": pa.array(found[:, kernel.LAST_CASE]),
    }
    return pa.record_batch(columns | streams)


def enlarged(lists: Lists) -> Lists:
    """The same lists in a table four times as large."""
    grown = Lists(np.full(4 * len(lists.keys), -1, np.int64), np.zeros(4 * len(lists.stats), np.int64))
    used = np.flatnonzero(lists.keys >= 0)
    kernel.move(lists, used, grown)
    return grown


def _places(stats: Longs, used: Longs, streams: int) -> tuple[npt.NDArray[np.uint8], list[Longs]]:
    """Turn sizes into places, list behind list and stream behind stream, and set the lists back to empty.

    Returns:
        The bytes to write to, and for each stream the ends of its lists with the stream's begin in front.
    """
    ends: list[Longs] = []
    begin = 0
    for stream in range(streams):
        sizes = stats[used, kernel.STREAMS + stream]
        own = np.concatenate((np.array([begin]), begin + np.cumsum(sizes)))
        stats[used, kernel.STREAMS + stream] = own[:-1]
        ends.append(own)
        if own[-1] - begin > MAX_BYTES:
            raise LimitError(
                "CEP_INDEX_PAIR_LIMIT",
                f"The postings of {EVENTS_PER_PACK:,} events, or of one case with more, pass {MAX_BYTES:,} bytes.",
                hint="a lookback bounds the pairs of long cases",
            )
        begin = int(own[-1])
    stats[used, kernel.COUNT] = 0
    return np.empty(begin, np.uint8), ends


def _binary(out: npt.NDArray[np.uint8], ends: Longs) -> pa.Array:
    """Views of the bytes, without a copy."""
    begin = int(ends[0])
    offsets = pa.py_buffer((ends - begin).astype(np.int32))
    return pa.Array.from_buffers(pa.binary(), len(ends) - 1, [None, offsets, pa.py_buffer(out[begin : int(ends[-1])])])


def slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch in pieces of bounded size: the JVM holds each piece as a whole."""
    rows = max(1, int(batch.num_rows * min(1.0, BATCH_BYTES / max(1, batch.nbytes))))
    for low in range(0, batch.num_rows, rows):
        yield batch.slice(low, rows)


def unpack(lists: pa.ChunkedArray | pa.Array, counts: Longs, bases: Longs | None = None, kind: int = 0) -> Longs:
    """All integers of packed lists; ``kind`` is 0 plain, 1 differences to ``bases``, 2 zigzag differences."""
    array = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
    if not len(array):
        return np.empty(0, np.int64)
    raw, starts = _stream(array)
    out = np.empty(int(counts.sum()), np.int64)
    given = np.zeros(len(array), np.int64) if bases is None else bases
    kernel.unpack(raw, starts, counts.astype(np.int64), given, kind, out)
    return out


def unpack_within(lists: pa.RecordBatch, ids: Longs) -> tuple[Longs, Longs, Longs]:
    """Events of rows of `activities` in some cases (ascending ids).

    Returns:
        Places of their cases in ``ids``, times, and positions in their cases, which are empty where the rows have no
        column `positions`.
    """
    nothing = np.empty(0, np.int64)
    counts = lists["count"].to_numpy().astype(np.int64)
    if not len(counts):
        return nothing, nothing, nothing
    placed = "positions" in lists.schema.names
    size = int(counts.sum())
    out = [np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size if placed else 0, np.int64)]
    positions = _stream(lists["positions"]) if placed else (np.empty(0, np.uint8), nothing)
    given = *_stream(lists["cases"]), *_stream(lists["times"]), *positions
    found = kernel.unpack_within(*given, counts, lists["first_case"].to_numpy(), ids, *out)
    return out[0][:found], out[1][:found], out[2][:found]


def _stream(lists: pa.Array) -> tuple[npt.NDArray[np.uint8], Longs]:
    """Bytes of packed lists, and where each begins."""
    _, offsets, data = lists.buffers()
    starts = np.frombuffer(offsets, np.int32)[lists.offset : lists.offset + len(lists)].astype(np.int64)
    return np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8), starts


def intersect(left: Longs, right: Longs) -> Longs:
    """Values in both of two ascending arrays, each once."""
    out = np.empty(min(len(left), len(right)), np.int64)
    return out[: kernel.intersect(left, right, out)]
