"""Rows in the order that Spark sorts them, and partition keys as Spark groups them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sparkcep.exec.arrays import Ints, high_words, int_values, ordered_ints, rank_strings

Key = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class SortField:
    """A prepared field that rows are sorted by."""

    field: int
    ascending: bool = True
    nulls_first: bool = True


def sort_keys(array: pa.Array, ascending: bool = True, nulls_first: bool = True) -> list[Key]:
    """Arrays of integers, the most significant first, that sort as Spark sorts the values: NaN is the greatest number,
    0.0 equals -0.0, strings by their bytes, structs by their fields, arrays by their items and then their length."""
    values = [v if ascending else ~v for v in _values(array)]
    if array.null_count == 0:
        return values
    nulls = np.asarray(array.is_null().to_numpy(zero_copy_only=False))
    for v in values:
        v[nulls] = 0
    return [~nulls if nulls_first else nulls, *values]


def order_of(keys: Sequence[Key], rows: int) -> Ints:
    """(rows,) which row comes first, second ...; equal ones as they stand."""
    if not keys:
        return np.arange(rows)
    return np.lexsort(list(reversed(keys)))


def groups_of(columns: Sequence[pa.Array], rows: int) -> tuple[Ints, int]:
    """(rows,) the number of each row's group of equal values, as GROUP BY has them, and how many groups there are."""
    keys = [k for column in columns for k in sort_keys(column)]
    if not keys:
        return np.zeros(rows, np.int64), min(rows, 1)
    if rows == 0:
        return np.zeros(0, np.int64), 0
    order = order_of(keys, rows)
    first = np.zeros(rows, bool)
    first[0] = True
    for key in keys:
        ordered = key[order]
        first[1:] |= ordered[1:] != ordered[:-1]
    groups = np.empty(rows, np.int64)
    groups[order] = np.cumsum(first) - 1
    return groups, int(first.sum())


def _values(array: pa.Array) -> list[Key]:
    """Writeable keys of the values; of no meaning where they are NULL."""
    kind = array.type
    if pa.types.is_null(kind):
        return [np.zeros(len(array), np.int64)]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or _is_binary(kind):
        return [rank_strings([array], [])[0][0]]
    if pa.types.is_decimal(kind):
        return [high_words(array).copy(), int_values(array)[0].view(np.uint64).copy()]
    if pa.types.is_struct(kind):
        # A field of a NULL struct is NULL as well; flatten() says so.
        return [k for child in array.flatten() for k in sort_keys(child)]
    if pa.types.is_nested(kind):
        return [_list_ranks(array)]
    return [np.array(ordered_ints(array)[0], np.int64)]


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _list_ranks(array: pa.Array) -> Ints:
    """Ranks of lists: their items' ranks as bytes compare as the lists do."""
    items = groups_of([array.values], len(array.values))[0].astype(">i8").tobytes()
    bounds = array.offsets.to_numpy() * 8
    values = [items[begin:end] for begin, end in pairwise(bounds)]
    rank = {value: n for n, value in enumerate(sorted(set(values)))}
    return np.array([rank[v] for v in values], np.int64)
