"""Aggregate over the trends of one batch of partitions: Arrow arrays in, partial results by window out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sparkcep.exec.arrays import Ints
from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.rows.tables import load_columns, mask_words, new_search_state
from sparkcep.exec.engines.runs.tables import compiled_conditions, interval, machine_tables, new_work
from sparkcep.exec.engines.trends.spec import TrendAggregate, TrendSpec
from sparkcep.exec.engines.trends.symbols import NO_SYMBOLS, trend_symbols
from sparkcep.exec.engines.trends.tables import (
    Record,
    compared_pairs,
    edge_class_tables,
    fields_of,
    grid_tables,
    key_columns,
    new_jobs,
    new_lists,
    new_nodes,
    new_ranks,
    new_sums,
    order_tables,
    sums_bytes,
    tree_orders,
    value_columns,
)
from sparkcep.exec.kernels.statuses import OUTPUT_FULL
from sparkcep.exec.kernels.tables import Columns
from sparkcep.exec.kernels.trends import sums
from sparkcep.exec.kernels.trends import trends as kernel
from sparkcep.exec.kernels.trends.orders import COUNTS
from sparkcep.exec.kernels.trends.tables import Events, Scratch, Tests, Trends, Windows, Words
from sparkcep.exec.memory import Budget
from sparkcep.exec.statuses import SELECTIONS, raise_status
from sparkcep.expr.types import parse_type

#: Windows that share a walk. More share more, but a block's rows are those of all its windows.
LANES = 64
#: Bytes that sums over a block's events may take; where more would be needed, fewer windows share a walk.
MAX_BYTES = 2**28
#: What a DECIMAL(38, 0) holds.
LARGEST = 10**38 - 1
_TOO_LARGE_HIGH, _TOO_LARGE_LOW = (np.uint64(x) for x in divmod(LARGEST + 1, 2**64))
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Partial:
    """One aggregate by partition and window. ``values``: NULL without a value. ``exponents``: of sums that are
    ``values * 2^(512 e)``; with ``weights`` (and theirs) an average is their quotient. ``overflows``: which exact
    values do not fit; they are NULL."""

    values: pa.Array
    overflows: Flags | None = None
    exponents: pa.Array | None = None
    weights: pa.Array | None = None
    weight_exponents: pa.Array | None = None


@dataclass(frozen=True, slots=True)
class TrendTable:
    """``partition`` and ``window`` (its number) of each row that has trends, with a Partial for each aggregate."""

    partition: Ints
    window: Ints
    partials: tuple[Partial, ...]


class TrendMatcher:
    """Runs one TrendSpec over batches. Made once per task and thread; holds the compiled tables."""

    def __init__(self, spec: TrendSpec, lanes: int = LANES, calls_back: CallsBack = CallsBack.WHERE_NEEDED) -> None:
        self.spec = spec
        self.machine, _ = machine_tables(spec.run)
        self.edge_classes = edge_class_tables(spec, self.machine)
        self.pairs = compared_pairs(spec)
        self.orders = order_tables(tree_orders(spec), self.pairs)
        self.grids = grid_tables(spec)
        pair_run = replace(spec.run, conditions=spec.conditions)
        self.programs, self.external, self.conditions = compiled_conditions(pair_run, calls_back)
        self.record = Record(spec)
        self.fields, self.valued, self.known = self.record.tables()
        #: What the last batch needed beside its columns.
        self.scratch_bytes = 0
        overlapping = -(-spec.width // spec.slide) if spec.windowed else 1
        self.lanes = min(overlapping, lanes)
        self.symbols = NO_SYMBOLS
        if self.lanes == 1:
            self.symbols = trend_symbols(spec, self.machine, self.edge_classes, self.fields)

    def aggregate(self, batch: Batch) -> TrendTable:
        """Aggregate over every partition of a batch.

        Raises:
            LimitError: CEP_STEP_LIMIT, CEP_MEMORY_LIMIT.
            SparkCepError: ARITHMETIC_OVERFLOW, DIVIDE_BY_ZERO of a condition.
        """
        spec = self.spec
        rows = int(batch.offsets[-1])
        masks = mask_words(batch, spec.run.mask_words)
        offsets = np.array(batch.offsets, np.int64)
        within = interval(batch)
        time = within.key if spec.windowed else np.zeros(1, np.int64)
        windows, room = self.windows(offsets, time)
        lanes = len(windows.first)
        values, ranked = value_columns(self.valued, self.known, batch)
        keys, key_nulls = key_columns(self.pairs, batch)
        columns: Columns
        columns, const_i = load_columns(self.programs, batch)
        longest = int(np.diff(offsets).max(initial=0))
        needs_graph = len(self.machine.automata) > 3 or spec.run.strict_time
        work = new_work(longest if needs_graph else 0, self.machine)
        same = bool(self.orders.same.all())
        scratch = Scratch(
            work, new_ranks(len(self.orders.ordered), room, same), new_nodes(len(self.grids.order), room),
            np.zeros(COUNTS, np.int64),
            new_lists(self.edge_classes, room), new_sums(self.edge_classes, self.fields, room, lanes),
            new_jobs(self.edge_classes, room),
        )  # fmt: skip
        self.scratch_bytes = sum(a.nbytes for t in scratch for a in t if isinstance(a, np.ndarray))
        budget = Budget(spec.run.task_memory, longest)
        budget.hold("batch", batch.held, masks, within, values, keys, key_nulls, columns)
        budget.hold("sums", scratch)
        progress = np.zeros(kernel.PROGRESS, np.int64)
        progress[kernel.AT_WINDOW] = kernel.NO_WINDOW
        out = np.empty((1024 + lanes, 2), np.int64)
        out_words = np.empty((len(out), self.fields.words), np.uint64)
        out_floats = np.empty((len(out), self.fields.floats))
        trends = Trends(
            self.machine, self.edge_classes, self.orders, self.grids, self.fields, self.symbols,
            SELECTIONS[spec.run.selection], int(spec.run.strict_time),
        )  # fmt: skip
        search = new_search_state(1, max(len(spec.conditions.registers), 2))
        tests = Tests(self.conditions._replace(const_i=const_i), columns, search, spec.run.limit_steps)
        self.external.begin(batch, budget)
        self.external.look_at(search)
        events = Events(masks, values, keys, key_nulls, rows)
        while True:
            status = kernel.aggregate_trends(
                offsets, trends, events, windows, within, tests, scratch, progress, out, out_words, out_floats
            )
            if status != OUTPUT_FULL:
                break
            out, out_words, out_floats = (np.concatenate([a, np.empty_like(a)]) for a in (out, out_words, out_floats))
            budget.hold("output", out, out_words, out_floats)
        self.external.raise_failure(status)
        raise_status(status, spec.run)
        used = int(progress[kernel.USED])
        read = _Reader(self.record, out_words[:used], out_floats[:used])
        partials = []
        for a in spec.aggregates:
            type_ = spec.column_types[a.column] if a.column >= 0 else ""
            values_by_rank = ranked.get((a.column, a.function == "max"))
            partials.append(read.partial(a, type_, values_by_rank))
        return TrendTable(out[:used, 0], out[:used, 1], tuple(partials))

    def windows(self, offsets: Ints, time: Ints) -> tuple[Windows, int]:
        """Room for as many windows as are to share a walk, and the rows of the longest block of so many."""
        spec, lanes = self.spec, self.lanes
        while True:
            own = np.zeros(lanes, np.int64), np.zeros(lanes, np.int64)
            windows = Windows(time, spec.width, max(spec.slide, 1), *own)
            room = int(kernel.longest_block(offsets, windows, lanes))
            if lanes == 1 or sums_bytes(self.edge_classes, self.fields, room, lanes) <= MAX_BYTES:
                return windows, room
            lanes = (lanes + 1) // 2


class _Reader:
    """Reads aggregates from records."""

    def __init__(self, record: Record, words: Words, floats: npt.NDArray[np.float64]) -> None:
        self.record = record
        self.words = words
        self.floats = floats

    def partial(self, a: TrendAggregate, type_: str, by_rank: pa.Array | None) -> Partial:
        """``type_`` of the argument; ``by_rank``: what least and greatest values stand for."""
        maximum = a.function == "max"
        fields = fields_of(a, type_)
        at = [self.record.place(f, maximum) for f in fields]
        kind = fields[0].kind
        if kind == sums.LEAST:
            assert by_rank is not None
            rank = self.words[:, at[0]]
            return Partial(by_rank.take(pa.array(rank.astype(np.int64), mask=rank == sums.NOTHING)))
        if kind in (sums.COUNT_FLOAT, sums.LINEAR_FLOAT):
            return Partial(pa.array(self.floats[:, at[0]]))
        if kind in (sums.COUNT_EXACT, sums.LINEAR_EXACT):
            missing = self.words[:, at[1]] == sums.NOTHING if len(fields) > 1 else None
            high = self.words[:, at[0] + 2] if kind == sums.LINEAR_EXACT else None
            count = self.record.place(fields[0].__class__(sums.COUNT_EXACT))
            full = self.words[:, count + 1] >= sums.FULL
            scale = parse_type(a.type).scale
            if len(fields) > 2:
                return self.long_sum(at[0], at[2], full, missing, scale)
            return exact(self.words[:, at[0]], self.words[:, at[0] + 1], high, full, missing, scale)
        missing = self.words[:, at[-1]] == sums.NOTHING
        m, e = self.floats[:, at[0]], self.floats[:, at[0] + 1]
        value, exponent = pa.array(m, mask=missing), pa.array(e)
        if a.function == "sum":
            return Partial(value, exponents=exponent)
        n, f = self.floats[:, at[1]], self.floats[:, at[1] + 1]
        return Partial(value, exponents=exponent, weights=pa.array(n), weight_exponents=pa.array(f))

    def long_sum(self, low: int, high: int, full: Flags, missing: Flags | None, scale: int) -> Partial:
        """A sum whose low and high words were added up apart."""
        unknown = np.zeros(len(full), bool) if missing is None else missing
        low_sums, high_sums = self.integers(low), self.integers(high)
        values = [
            None if none else LARGEST + 1 if over else x + (y << 64)
            for x, y, over, none in zip(low_sums, high_sums, full, unknown, strict=True)
        ]
        return decimals(values, scale)

    def integers(self, at: int) -> list[int]:
        """Signed numbers of three words, the lowest first."""
        low, middle, high = (self.words[:, at + k].tolist() for k in range(3))
        signs = (self.words[:, at + 2] >> np.uint64(63)).tolist()
        return [x + (y << 64) + (z << 128) - (s << 192) for x, y, z, s in zip(low, middle, high, signs, strict=True)]


def exact(low: Words, middle: Words, high: Words | None, full: Flags, missing: Flags | None, scale: int) -> Partial:
    """Two or three words as DECIMAL(38, scale)."""
    signs = middle >= np.uint64(2**63) if high is not None else np.zeros(len(low), bool)
    fits = np.ones(len(low), bool)
    if high is not None:  # the upper words are the sign
        fits = np.where(signs, high == ~np.uint64(0), high == np.uint64(0))
    size_low = np.where(signs, ~low + np.uint64(1), low)
    size_high = np.where(signs, ~middle + (size_low == 0).astype(np.uint64), middle)
    fits &= (size_high < _TOO_LARGE_HIGH) | ((size_high == _TOO_LARGE_HIGH) & (size_low < _TOO_LARGE_LOW))
    overflows = ~fits | full
    nulls = overflows | missing if missing is not None else overflows
    buffer = np.empty((len(low), 2), np.uint64)
    buffer[:, 0], buffer[:, 1] = low, middle
    valid = np.packbits(~nulls, bitorder="little").tobytes()
    array = pa.Array.from_buffers(
        pa.decimal128(38, scale), len(low), [pa.py_buffer(valid), pa.py_buffer(buffer.tobytes())]
    )
    return Partial(array, overflows)


def decimals(values: Sequence[int | None], scale: int = 0) -> Partial:
    """Python's integers as DECIMAL(38, scale)."""
    overflows = np.array([v is not None and abs(v) > LARGEST for v in values], bool)
    mask = (1 << 64) - 1
    kept = [0 if v is None or o else v for v, o in zip(values, overflows, strict=True)]
    low = np.array([v & mask for v in kept], np.uint64)
    middle = np.array([v >> 64 & mask for v in kept], np.uint64)
    high = np.array([v >> 128 & mask for v in kept], np.uint64)
    missing = np.array([v is None for v in values], bool)
    return exact(low, middle, high, overflows, missing, scale)
