"""Rows that many rules ask about: which of them are of a type, and which satisfy a condition, each told once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.exec.arrays import ARROW_COMPARISONS, Ints, float_values, int_values
from sparkcep.exec.batch import Batch
from sparkcep.exec.engines.shared.spec import Comparison, ComponentTest
from sparkcep.exec.masks import BITS_PER_WORD
from sparkcep.exec.ordering import order_of, sort_keys

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A column of texts as numbers: ``codes`` (rows,) into ``words``, -1 for NULL."""

    codes: Ints
    words: pa.Array


@dataclass(frozen=True, slots=True)
class Grouped:
    """Rows by what is in a column. ``rows``: ascending for each code, those of code c from ``starts[c]`` to
    ``starts[c + 1]``; ``code_of``: by word."""

    rows: Ints
    starts: Ints
    code_of: dict[str, int]


@dataclass(frozen=True, slots=True)
class Order:
    """A rule's own order of a batch. ``row``: which row stands at each place, ``place``: where each row stands."""

    row: Ints
    place: Ints


@dataclass
class SharedRows:
    """A batch of partitions, and what is known of its rows so far."""

    batch: Batch
    order_keys: tuple[int, ...]
    encoded_columns: dict[int, Encoded] = field(default_factory=dict)
    grouped_columns: dict[int, Grouped] = field(default_factory=dict)
    tested: dict[object, Ints] = field(default_factory=dict)
    orders: dict[tuple[int, ...], Order | None] = field(default_factory=dict)
    values: dict[int, tuple[npt.NDArray[np.generic], Flags]] = field(default_factory=dict)
    tied: Ints | None = None

    def __post_init__(self) -> None:
        self.offsets: Ints = np.asarray(self.batch.offsets, np.int64)
        self.rows = int(self.offsets[-1])
        #: (rows,) the partition of each row.
        self.partition: Ints = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        self.masks = [np.asarray(m.to_numpy(zero_copy_only=False), np.int64) for m in self.batch.masks]

    def all_rows(self) -> Ints:
        """0, 1, ..."""
        return np.arange(self.rows, dtype=np.int64)

    # -- conditions of one row -------------------------------------------------------------------------------------

    def passing(self, test: ComponentTest) -> Ints:
        """The rows that satisfy a test, ascending; told once for all rules that ask."""
        if test not in self.tested:
            rows = self.typed(test.of, test.types) if test.types else self.all_rows()
            for bit in test.bits:
                word, place = divmod(bit, BITS_PER_WORD)
                rows = rows[(self.masks[word][rows] >> np.int64(place)) & 1 == 1]
            for comparison in test.comparisons:
                rows = rows[self.compared(comparison, rows)]
            self.tested[test] = rows
        return self.tested[test]

    def typed(self, column: int, types: tuple[str, ...]) -> Ints:
        """Rows of some event types, ascending."""
        if (column, types) not in self.tested:
            by = self.grouped(column)
            codes = [by.code_of[t] for t in types if t in by.code_of]
            parts = [by.rows[by.starts[c] : by.starts[c + 1]] for c in codes]
            rows = parts[0] if len(parts) == 1 else np.sort(np.concatenate([np.zeros(0, np.int64), *parts]))
            self.tested[column, types] = rows
        return self.tested[column, types]

    def encoded(self, column: int) -> Encoded:
        """A column of texts as numbers."""
        if column not in self.encoded_columns:
            whole = self.batch.columns[column].dictionary_encode()
            codes = np.asarray(whole.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
            self.encoded_columns[column] = Encoded(codes, whole.dictionary)
        return self.encoded_columns[column]

    def grouped(self, column: int) -> Grouped:
        """A column's rows by its texts."""
        if column not in self.grouped_columns:
            of = self.encoded(column)
            words = len(of.words)
            # Sixteen bits are sorted by their digits, in time that grows with the rows alone.
            narrow = of.codes.astype(np.int16) if words < 2**15 else of.codes
            rows = np.argsort(narrow, kind="stable").astype(np.int64)
            starts = np.searchsorted(of.codes[rows], np.arange(words + 1))
            code_of = {word: code for code, word in enumerate(of.words.to_pylist())}
            self.grouped_columns[column] = Grouped(rows, starts, code_of)
        return self.grouped_columns[column]

    def compared(self, test: Comparison, rows: Ints) -> Flags:
        """Which of some rows satisfy a comparison."""
        array = self.batch.columns[test.column]
        if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
            of = self.encoded(test.column)
            holds = np.append(_texts(of.words, test), False)  # NULL is the last
            found: Flags = holds[of.codes[rows]]
            return found
        if test.column not in self.values:
            is_float = pa.types.is_floating(array.type)
            numbers = float_values(array) if is_float else int_values(array)
            self.values[test.column] = numbers[0], numbers[1].astype(bool)
        values, is_null = self.values[test.column]
        return _numbers(values[rows], test) & ~is_null[rows]

    # -- order -----------------------------------------------------------------------------------------------------

    def order(self, ties: tuple[int, ...] | None) -> Order | None:
        """The order in which rows of equal keys go by some columns; None where the rows have it already."""
        if ties is None:
            return None
        if ties not in self.orders:
            self.orders[ties] = self.ordered(ties)
        return self.orders[ties]

    def ordered(self, ties: tuple[int, ...]) -> Order | None:
        """See :meth:`order`."""
        groups = self.tie_groups()
        tied = np.flatnonzero(np.bincount(groups, minlength=1)[groups] > 1) if self.rows else np.zeros(0, np.int64)
        if not len(tied):
            return None
        columns = [self.batch.columns[c].take(pa.array(tied)) for c in ties]
        by = order_of([groups[tied], *(k for column in columns for k in sort_keys(column))], len(tied))
        if np.array_equal(by, np.arange(len(tied))):
            return None
        row = self.all_rows()
        row[tied] = tied[by]
        place = np.empty_like(row)
        place[row] = self.all_rows()
        return Order(row, place)

    def tie_groups(self) -> Ints:
        """(rows,) numbers of groups of neighbours in one partition whose keys are equal."""
        if self.tied is None:
            new = np.zeros(self.rows, bool)
            new[self.offsets[:-1][self.offsets[:-1] < self.rows]] = True
            for column in self.order_keys:
                for key in sort_keys(self.batch.columns[column]):
                    new[1:] |= key[1:] != key[:-1]
            self.tied = np.cumsum(new) - 1
        return self.tied


def _texts(words: pa.Array, test: Comparison) -> Flags:
    """Which words satisfy a comparison, by bytes as Spark compares."""
    if test.operator == "in":
        found = pc.is_in(words, pa.array(test.values, words.type))
    else:
        value = pa.scalar(str(test.values[0]).encode(), pa.large_binary())
        found = ARROW_COMPARISONS[test.operator](words.cast(pa.large_binary()), value)
    return np.asarray(found.to_numpy(zero_copy_only=False), bool)


def _numbers(values: npt.NDArray[np.generic], test: Comparison) -> Flags:
    """Which numbers satisfy a comparison; NaN is above all others, as Spark has it."""
    value = np.asarray(test.values[0], values.dtype)
    if test.operator == "in":
        return np.isin(values, np.asarray(test.values, values.dtype))
    found: dict[str, Callable[[], Flags]] = {
        "=": lambda: values == value, "<>": lambda: values != value, "<": lambda: values < value,
        "<=": lambda: values <= value, ">": lambda: ~(values <= value), ">=": lambda: ~(values < value),
    }  # fmt: skip
    return found[test.operator]()
