"""Tables of the trends kernel: of a spec once per matcher, of a batch once per batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.exec.arrays import (
    Ints,
    float_values,
    int_values,
    order_decimals,
    ordered_ints,
    rank_strings,
    signed_words,
)
from sparkcep.exec.automaton import ACCEPT
from sparkcep.exec.batch import Batch
from sparkcep.exec.engines.trends.spec import EdgeClass, Granularity, Key, KeyPair, Order, TrendAggregate, TrendSpec
from sparkcep.exec.kernels.runs.graph_tables import Machine, Rows
from sparkcep.exec.kernels.trends import sums
from sparkcep.exec.kernels.trends import tables as kernel
from sparkcep.exec.kernels.trends.tables import EdgeClasses, Fields, Grids, Lists, Nodes, Orders, Ranks, Sums, Values
from sparkcep.expr.types import WORD_DIGITS, parse_type

_KINDS = {
    Granularity.STATE: kernel.STATE, Granularity.TREE: kernel.TREE, Granularity.GRID: kernel.GRID,
    Granularity.PAIRS: kernel.PAIRS,
}  # fmt: skip
_OUTCOMES = {
    "=": kernel.EQUAL, "<": kernel.LESS, "<=": kernel.LESS | kernel.EQUAL, ">": kernel.GREATER,
    ">=": kernel.GREATER | kernel.EQUAL,
}  # fmt: skip


def _ints(values: Iterable[int]) -> Ints:
    return np.array(list(values), np.int64)


# -- the pattern -------------------------------------------------------------------------------------------------------


def edge_class_tables(spec: TrendSpec, machine: Machine) -> EdgeClasses:
    """Classes in the order of their states, and what edges need of them."""
    automaton = spec.automaton
    classes = sorted(spec.classes, key=lambda c: c.state)
    of_edge = np.full(len(machine.target), -1, np.int64)
    bit_of_edge = np.full(len(machine.target), -1, np.int64)
    accept_bit = np.full(automaton.states, -1, np.int64)
    stored: list[int] = []
    deferred = [is_deferred(spec, c) for c in classes]
    for s in range(automaton.states):
        own = [k for k, c in enumerate(classes) if c.state == s]
        at_window_end = any(e.target == ACCEPT and e.guarded for e in automaton.edges[s])
        keeps = at_window_end or any(deferred[k] or classes[k].granularity is Granularity.PAIRS for k in own)
        stored.append(len([x for x in stored if x >= 0]) if keeps else -1)
        for k in own:
            for e in classes[k].edges:
                of_edge[machine.edge_start[s] + e] = k
    for s, bits in enumerate(spec.edge_bits):
        for e, bit in enumerate(bits):
            if automaton.edges[s][e].target == ACCEPT:
                accept_bit[s] = bit
            else:
                bit_of_edge[machine.edge_start[s] + e] = bit
    orders = tree_orders(spec)
    trees, grids = (
        [k for k, c in enumerate(classes) if c.granularity is kind] for kind in (Granularity.TREE, Granularity.GRID)
    )
    firsts = [machine.edge_start[c.state] + c.edges[0] for c in classes]
    starts = np.searchsorted([c.state for c in classes], np.arange(automaton.states + 1))
    tests, compared = [0], [0]
    for c in classes:
        tests.append(tests[-1] + len(c.tests))
        compared.append(compared[-1] + len(c.compared))
    columns = compared_pairs(spec)
    triples = [(*_key_columns(o.pair, columns), _OUTCOMES[o.operator]) for c in classes for o in c.compared]
    return EdgeClasses(
        of_edge, bit_of_edge, _ints(_KINDS[c.granularity] for c in classes), _ints(c.state for c in classes),
        machine.absent[firsts], machine.present[firsts], _ints(c.bit for c in classes),
        _ints(orders.index(c.order.orders[0]) if c.order is not None else -1 for c in classes),
        _ints((trees if k in trees else grids).index(k) if c.order is not None else -1 for k, c in enumerate(classes)),
        _ints(grid_orders(spec).index(c.order) if c.order in grid_orders(spec) else -1 for c in classes),
        np.array(deferred, np.uint8),
        _ints(tests), _ints([*(t for c in classes for t in c.tests), 0]), _ints(compared),
        _ints([*(x for t in triples for x in t), 0]), starts.astype(np.int64), _ints(stored), accept_bit,
    )  # fmt: skip


def is_deferred(spec: TrendSpec, c: EdgeClass) -> bool:
    """Whether what a class sums over is not simply all that came before."""
    edge = spec.automaton.edges[c.state][c.edges[0]]
    return bool(edge.absent or edge.present or spec.run.strict_time)


def tree_orders(spec: TrendSpec) -> list[Order]:
    """The orders that trees are kept in, and both of each grid, each once."""
    return list(dict.fromkeys(o for c in spec.classes if c.order is not None for o in c.order.orders))


def grid_orders(spec: TrendSpec) -> list[Order]:
    """The pairs of orders that grids are kept in, each once."""
    return list(dict.fromkeys(c.order for c in spec.classes if c.order is not None and c.order.second is not None))


def grid_tables(spec: TrendSpec) -> Grids:
    """Both orders of each grid by their numbers."""
    orders, pairs = tree_orders(spec), [o.orders for o in grid_orders(spec)]
    return Grids(_ints(orders.index(first) for first, _ in pairs), _ints(orders.index(second) for _, second in pairs))


def order_tables(orders: Sequence[Order], columns: Sequence[KeyPair]) -> Orders:
    """``columns``: the pairs whose keys are in the batch's table, pair k at 2 k and 2 k + 1."""
    starts = [0]
    keys: list[int] = []
    for o in orders:
        pairs = ([o.ordered] if o.ordered is not None else []) + list(o.equal)
        for pair in pairs:
            keys += _key_columns(pair, columns)
        starts.append(starts[-1] + len(pairs))
    return Orders(
        _ints(starts), _ints([*keys, 0]), np.array([o.ordered is not None for o in orders], np.uint8),
        np.array([o.operator in ("<=", ">=") for o in orders], np.uint8),
        np.array([o.operator in (">", ">=") for o in orders], np.uint8),
        np.array([all(p.before == p.after for p in _pairs(o)) for o in orders], np.uint8),
    )  # fmt: skip


def _pairs(o: Order) -> tuple[KeyPair, ...]:
    return o.equal if o.ordered is None else (o.ordered, *o.equal)


def compared_pairs(spec: TrendSpec) -> list[KeyPair]:
    """The pairs of columns that are compared as integers."""
    of_pairs = (o.pair for c in spec.classes for o in c.compared)
    return list(dict.fromkeys([*(p for o in tree_orders(spec) for p in _pairs(o)), *of_pairs]))


def _key_columns(pair: KeyPair, columns: Sequence[KeyPair]) -> tuple[int, int]:
    """Where both sides are in the table of ``key_columns``."""
    at = columns.index(pair)
    return 2 * at, 2 * at + (pair.before != pair.after)


def key_columns(pairs: Sequence[KeyPair], batch: Batch) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """(2 * pairs * rows,) both sides of each pair as integers of one order, and NULL flags."""
    rows = int(batch.offsets[-1])
    keys = np.zeros((2 * max(len(pairs), 1), rows if pairs else 1), np.int64)
    nulls = np.zeros(keys.shape, np.uint8)
    for k, pair in enumerate(pairs):
        both = list(dict.fromkeys(pair.keys))
        sides = [batch.columns[key.column] for key in both]
        if not all(key.is_plain for key in both):
            found = _linear_keys(both, sides)
        elif any(pa.types.is_floating(a.type) for a in sides):
            found = [ordered_ints(a.cast(pa.float64())) for a in sides]
        elif any(is_text(a.type) or is_long(a.type) for a in sides):
            ranks = rank_strings(sides, ())[0] if is_text(sides[0].type) else order_decimals(sides)
            found = [(r, np.asarray(a.is_null(), np.uint8)) for r, a in zip(ranks, sides, strict=True)]
        else:
            found = [int_values(a) for a in sides]
        for side, (values, null) in enumerate(found):
            keys[2 * k + side], nulls[2 * k + side] = values, null
    return keys.ravel(), nulls.ravel()


def _linear_keys(keys: Sequence[Key], columns: Sequence[pa.Array]) -> list[tuple[Ints, npt.NDArray[np.uint8]]]:
    """Sides that are made of columns of one word, as integers of one order, and NULL flags."""
    # What stands in the place of a NULL may be anything, and too large for a factor.
    found = [(np.where(null, 0, values), null) for values, null in map(int_values, columns)]
    if all(_fits(key, values) for key, (values, _) in zip(keys, found, strict=True)):
        return [(values * key.factor + key.summand, null) for key, (values, null) in zip(keys, found, strict=True)]
    wide = [_wide(key, values) for key, (values, _) in zip(keys, found, strict=True)]
    return [(values, null) for values, (_, null) in zip(order_decimals(wide), found, strict=True)]


def _fits(key: Key, values: Ints) -> bool:
    """Whether all of a side's values have one word."""
    ends = (values.min(), values.max()) if len(values) else ()
    most = max([1, *(abs(int(end)) for end in ends)])  # the factor itself is to be a word, too
    return most * abs(key.factor) + abs(key.summand) < 1 << 63


def _wide(key: Key, values: Ints) -> pa.Array:
    """A side's values as decimals of 38 digits, which it has at most."""
    numbers = pa.array(values).cast(pa.decimal256(19, 0))
    factor, summand = (pa.scalar(Decimal(n), pa.decimal256(38, 0)) for n in (key.factor, key.summand))
    return pc.add(pc.multiply(numbers, factor), summand).cast(pa.decimal128(38, 0))


def is_long(type_: pa.DataType) -> bool:
    """Whether a column holds decimals of more than one word."""
    return bool(pa.types.is_decimal(type_)) and type_.precision > WORD_DIGITS


def is_text(type_: pa.DataType) -> bool:
    """Whether a column holds strings."""
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


# -- what is added up --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record. ``column``: kernel column, -1 for one per event; ``known``: column that must not be NULL.
    ``word``: which of ``signed_words`` is added up of decimals that are longer than one."""

    kind: int
    column: int = -1
    known: int = -1
    components: frozenset[int] = frozenset()
    word: int = 0


_EXACT, _SCALED, _FLOAT = Field(sums.COUNT_EXACT), Field(sums.COUNT_SCALED), Field(sums.COUNT_FLOAT)
_COUNT_OF = {sums.LINEAR_EXACT: _EXACT, sums.LINEAR_SCALED: _SCALED, sums.LINEAR_FLOAT: _FLOAT}


def fields_of(a: TrendAggregate, type_: str) -> tuple[Field, ...]:
    """The fields that an aggregate is read from; ``type_``: of its argument."""
    column, components = a.column, a.components
    if a.function in ("count", "try_count"):
        return (Field(sums.LINEAR_EXACT, -1, column, components) if components else _EXACT,)
    if a.function == "approx_count":
        return (Field(sums.LINEAR_FLOAT, -1, column, components) if components else _FLOAT,)
    if a.function in ("min", "max"):
        return (Field(sums.LEAST, column, column, components),)
    known = Field(sums.LEAST, -1, column, components)
    if a.function == "sum" and parse_type(type_).kind in ("int", "decimal"):
        words = 2 if parse_type(type_).kind == "decimal" and parse_type(type_).size > WORD_DIGITS else 1
        first, *more = (Field(sums.LINEAR_EXACT, column, column, components, w) for w in range(words))
        return (first, known, *more)
    if a.function == "sum":
        return (Field(sums.LINEAR_SCALED, column, column, components), known)
    return (
        Field(sums.LINEAR_SCALED, column, column, components),
        Field(sums.LINEAR_SCALED, -1, column, components),
        known,
    )


#: What a value column holds: kernel column, kind of its field, whether for a maximum, which word.
Valued = tuple[int, int, bool, int]


class Record:
    """The fields of a spec's aggregates, equal ones once, a count first."""

    def __init__(self, spec: TrendSpec) -> None:
        self.of = [
            tuple((f, a.function == "max") for f in fields_of(a, spec.column_types[a.column] if a.column >= 0 else ""))
            for a in spec.aggregates
        ]
        wanted = list(dict.fromkeys(f for fs in self.of for f in fs))
        needed = [(_COUNT_OF[f.kind], False) for f, _ in wanted if f.kind in _COUNT_OF]
        counts = [(f, m) for f, m in [*wanted, *needed] if f in (_EXACT, _SCALED, _FLOAT)]
        self.fields = list(dict.fromkeys([*(counts or [(_FLOAT, False)]), *needed, *wanted]))
        self.offsets: list[int] = []
        used = {True: 0, False: 0}
        for f, _ in self.fields:
            floats = f.kind <= sums.LINEAR_SCALED
            self.offsets.append(used[floats])
            used[floats] += sums.WIDTHS[f.kind]
        self.floats, self.words = used[True], used[False]
        self.components = len(spec.automaton.names)

    def place(self, field: Field, maximum: bool = False) -> int:
        """Offset of a field in its pool."""
        return self.offsets[self.fields.index((field, maximum))]

    def tables(self) -> tuple[Fields, list[Valued], list[int]]:
        """The kernel's table, and what its value and NULL columns hold."""
        valued: list[Valued] = []
        known: list[int] = []
        rows: list[tuple[int, int, int]] = []
        for f, maximum in self.fields:
            value = null = -1
            if f.column >= 0:
                item = (f.column, f.kind, maximum, f.word)
                if item not in valued:
                    valued.append(item)
                value = valued.index(item)
            if f.known >= 0:
                if f.known not in known:
                    known.append(f.known)
                null = known.index(f.known)
            count = self.place(_COUNT_OF[f.kind]) if f.kind in _COUNT_OF else 0
            rows.append((value, null, count))
        member = [[k in f.components for k in range(self.components)] for f, _ in self.fields]
        empty = np.zeros(self.words, np.uint64)
        for (f, _), offset in zip(self.fields, self.offsets, strict=True):
            if f.kind == sums.LEAST:
                empty[offset] = sums.NOTHING
        table = Fields(
            _ints(f.kind for f, _ in self.fields), _ints(self.offsets), _ints(r[0] for r in rows),
            _ints(r[1] for r in rows), _ints(r[2] for r in rows), np.array(member, np.uint8).ravel(), self.words,
            self.floats, empty, int([f.kind for f, _ in self.fields] == [sums.COUNT_FLOAT]),
        )  # fmt: skip
        return table, valued, known


def value_columns(
    valued: Sequence[Valued], known: Sequence[int], batch: Batch
) -> tuple[Values, dict[tuple[int, bool], pa.Array]]:
    """Columns as fields read them, and for least and greatest values, which are ranks, the values by rank (by
    kernel column, and whether it is for a maximum)."""
    rows = int(batch.offsets[-1])
    ints = np.zeros((max(len(valued), 1), rows if valued else 1), np.int64)
    floats = np.zeros((max(len(valued), 1), rows if any(k == sums.LINEAR_SCALED for _, k, _, _ in valued) else 1))
    nulls = np.zeros((max(len(known), 1), rows if known else 1), np.uint8)
    ranked: dict[tuple[int, bool], pa.Array] = {}
    for at, item in enumerate(valued):
        column, kind, maximum, word = item
        array = batch.columns[column]
        if kind == sums.LEAST:
            ints[at], ranked[column, maximum] = ranks(array, maximum)
        elif kind == sums.LINEAR_SCALED:
            floats[at] = float_values(array.cast(pa.float64()))[0]
        elif is_long(array.type):
            ints[at] = signed_words(array)[word]
        else:
            ints[at] = int_values(array)[0]
    for at, column in enumerate(known):
        nulls[at] = np.asarray(batch.columns[column].is_null().to_numpy(zero_copy_only=False), np.uint8)
    return Values(ints.ravel(), floats.ravel(), nulls.ravel()), ranked


def ranks(array: pa.Array, maximum: bool) -> tuple[Ints, pa.Array]:
    """Ranks of values (from the greatest down for a maximum), and the values by rank."""
    if not pa.types.is_floating(array.type):
        codes = array.dictionary_encode()
        ascending = pc.sort_indices(codes.dictionary)
        rank_of = np.empty(len(ascending), np.int64)
        rank_of[ascending.to_numpy()] = np.arange(len(ascending))
        found = codes.indices.fill_null(0).to_numpy(zero_copy_only=False)
        own = rank_of[found] if len(rank_of) else np.zeros(len(array), np.int64)
        words = codes.dictionary.take(ascending)
        return (len(words) - 1 - own, words.take(pa.array(np.arange(len(words))[::-1]))) if maximum else (own, words)
    # NaN is above everything and all NaNs are one value, as in Spark.
    values, nulls = ordered_ints(array)
    known = np.flatnonzero(nulls == 0)
    found, firsts, inverse = np.unique(values[known], return_index=True, return_inverse=True)
    out = np.zeros(len(values), np.int64)
    out[known] = len(found) - 1 - inverse if maximum else inverse
    return out, array.take(pa.array(known[firsts][::-1] if maximum else known[firsts]))


# -- room --------------------------------------------------------------------------------------------------------------


def new_ranks(orders: int, rows: int, same: bool) -> Ranks:
    """Room for blocks of so many rows; nothing where there are no orders."""
    shape = (max(orders, 1), rows if orders else 1)
    entries = (1 if same else 2) * shape[1]
    return Ranks(
        np.empty((shape[0], kernel.RANK_WIDTH * shape[1]), np.int32), np.empty(shape, np.int32),
        np.empty(2 * entries, np.uint64), np.empty(entries, np.int32),
    )  # fmt: skip


def grid_room(rows: int) -> int:
    """Events of all nodes of a grid over so many rows at most: node p of a tree of all of them has p & -p."""
    return sum((rows // 2**k - rows // 2 ** (k + 1)) * 2**k for k in range(rows.bit_length()))


def new_nodes(grids: int, rows: int) -> Nodes:
    """Room for blocks of so many rows; nothing where there are no grids."""
    rows = rows if grids else 0
    room, shape = grid_room(rows), (max(grids, 1), max(rows, 1))
    return Nodes(
        np.empty(shape, np.int64), np.empty(shape, np.int32), np.empty((shape[0], max(room, 1)), np.int32),
        np.empty(shape[1], np.int32), np.empty((rows.bit_length() + 1) ** 2, np.int32), np.zeros(shape[0], np.int64),
        room,
    )  # fmt: skip


def new_lists(edge_classes: EdgeClasses, rows: int) -> Lists:
    """Room for lists of predecessors of a block of so many rows."""
    stored = int((edge_classes.stored >= 0).sum())
    shape = (stored, rows) if stored else (1, 1)
    classes = max(len(edge_classes.kind), 1)
    return Lists(
        np.empty(shape, np.int32), np.empty(shape[1], np.int32), np.zeros(shape, np.uint8),
        np.zeros(shape[0], np.int64), np.zeros(shape, np.uint8), np.zeros(classes, np.int64),
        np.zeros(classes, np.int64), np.zeros(len(edge_classes.stored), np.uint8), rows,
    )  # fmt: skip


def _records(edge_classes: EdgeClasses, rows: int) -> int:
    """One record per class and state, a few, one per row of a block for each tree and each stored state, and one per
    event of a grid's nodes."""
    trees, grids = (int((edge_classes.kind == kind).sum()) for kind in (kernel.TREE, kernel.GRID))
    stored = int((edge_classes.stored >= 0).sum())
    by_row = (trees + stored) * rows + grids * grid_room(rows)
    return len(edge_classes.kind) + len(edge_classes.stored) + kernel.SPECIAL + by_row


def sums_bytes(edge_classes: EdgeClasses, fields: Fields, rows: int, lanes: int) -> int:
    """Bytes of the sums of a block of so many rows and windows."""
    return _records(edge_classes, rows) * (fields.words + fields.floats) * lanes * 8


def new_sums(edge_classes: EdgeClasses, fields: Fields, rows: int, lanes: int) -> Sums:
    """Records of a block of so many rows and windows."""
    records = _records(edge_classes, rows)
    return Sums(
        np.empty(max(records * fields.words * lanes, 1), np.uint64),
        np.empty(max(records * fields.floats * lanes, 1)),
        lanes,
    )


def new_jobs(edge_classes: EdgeClasses, rows: int) -> Rows:
    """Room for what one row reads (a path per edge) or changes (a path per class, two records per state), and one."""
    path = max(rows, 1).bit_length() + 1
    if (edge_classes.kind == kernel.GRID).any():
        path *= path
    edges, classes, states = len(edge_classes.edge_class), len(edge_classes.kind), len(edge_classes.stored)
    return np.empty(2 * (path * (edges + classes) + 2 * states + 1), np.int32)
