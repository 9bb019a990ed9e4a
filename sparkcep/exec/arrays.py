"""Arrow arrays as the kernels want them: int64, float64, NULL flags, ranks of strings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]

#: Comparisons of arrays by Spark's operators.
ARROW_COMPARISONS: Mapping[str, Callable[..., pa.Array]] = MappingProxyType(
    {
        "=": pc.equal, "<>": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal,
    }
)  # fmt: skip


def int_values(array: pa.Array) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """An integer-like Arrow array as int64 and its NULL flags."""
    nulls = np.asarray(array.is_null().to_numpy(zero_copy_only=False), np.uint8)
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    elif pa.types.is_decimal(array.type):
        return np.ascontiguousarray(_words(array)[::2]), nulls
    elif pa.types.is_date32(array.type):
        array = array.view(pa.int32())
    elif pa.types.is_timestamp(array.type) or pa.types.is_duration(array.type) or pa.types.is_time64(array.type):
        array = array.view(pa.int64())
    if array.null_count:
        array = array.fill_null(0)
    return np.ascontiguousarray(array.to_numpy(zero_copy_only=False), np.int64), nulls


def _words(array: pa.Array) -> Ints:
    """The words of 128-bit decimals, the low one of each first."""
    words = np.frombuffer(array.buffers()[1], np.int64) if len(array) else np.zeros(0, np.int64)
    return words[2 * array.offset : 2 * (array.offset + len(array))]


def high_words(array: pa.Array) -> Ints:
    """The high words of 128-bit decimals."""
    return _words(array)[1::2]


def float_values(array: pa.Array) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]]:
    """A floating Arrow array as float64 and its NULL flags."""
    nulls = np.asarray(array.is_null().to_numpy(zero_copy_only=False), np.uint8)
    return np.asarray(array.fill_null(0.0).to_numpy(zero_copy_only=False), np.float64), nulls


def ordered_ints(array: pa.Array) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """Any WITHIN key as int64 in the same order; floats by the bits of IEEE 754."""
    if not pa.types.is_floating(array.type):
        return int_values(array)
    values, nulls = float_values(array)
    values = np.where(np.isnan(values), np.nan, values + 0.0)  # one zero, one NaN, above everything
    bits = values.view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits - 1, bits), nulls


def rank_strings(arrays: Sequence[pa.Array], constants: Sequence[str]) -> tuple[list[Ints], list[int]]:
    """Ranks of strings over all arrays and constants in Spark's binary order; equal strings share a rank."""
    whole = pa.chunked_array(
        [*(a.cast(pa.large_binary()) for a in arrays), pa.array([c.encode() for c in constants], pa.large_binary())]
    )
    codes = whole.combine_chunks().dictionary_encode()
    if isinstance(codes, pa.ChunkedArray):
        codes = codes.combine_chunks()
    words = codes.dictionary
    ranks = np.empty(len(words), np.int64)
    ranks[pc.sort_indices(words).to_numpy()] = np.arange(len(words))
    indices = codes.indices.fill_null(0).to_numpy(zero_copy_only=False)
    values = ranks[indices] if len(words) else np.zeros(len(indices), np.int64)
    out: list[Ints] = []
    at = 0
    for a in arrays:
        out.append(np.ascontiguousarray(values[at : at + len(a)]))
        at += len(a)
    return out, [int(v) for v in values[at:]]


def signed_words(array: pa.Array) -> tuple[Ints, Ints]:
    """128-bit decimals, unscaled, as two signed words: ``low + 2^64 * high``. Room for 38 digits; NULLs are any."""
    low = np.ascontiguousarray(_words(array)[::2])
    return low, high_words(array) + (low < 0)


def order_decimals(arrays: Sequence[pa.Array]) -> list[Ints]:
    """Decimals of one scale as int64 of the same order over all arrays: how far each is above the least one or, where
    that is more than 63 bits, its rank. NULLs are any."""
    ends = np.cumsum([len(a) for a in arrays])[:-1]
    high = np.concatenate([high_words(a) for a in arrays])
    low = np.concatenate([_words(a)[::2].view(np.uint64) for a in arrays])
    if not len(high):
        return np.split(high, ends)
    least, most = (int(h) for h in (high.min(), high.max()))
    if most - least <= 1:  # else more than 64 bits
        first, last = low[high == least].min(), low[high == most].max()
        if (most - least << 64) + int(last) - int(first) < 1 << 63:
            return np.split((low - first).view(np.int64), ends)
    order = np.lexsort((low, high))
    high, low = high[order], low[order]
    steps = np.ones(len(order), np.int64)
    steps[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.cumsum(steps)
    return np.split(ranks, ends)


def struct_lists(ends: Ints, columns: Mapping[str, pa.Array]) -> pa.ListArray:
    """Structs as one list for each output row or partition, the n-th of which ends before ``ends[n]``."""
    structs = pa.StructArray.from_arrays(list(columns.values()), names=list(columns))
    return pa.ListArray.from_arrays(pa.array(np.append(0, ends).astype(np.int32)), structs)


def int32(values: Ints | Rows) -> pa.Array:
    """Numbers as an Arrow int32 column.

    Raises:
        ArrowInvalid: a number has more than 32 bits.
    """
    return pa.array(np.ascontiguousarray(values)).cast(pa.int32())
