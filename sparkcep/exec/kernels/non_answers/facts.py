"""The facts kernel: what a partition shows of a query itself, as bits that Spark adds up over the log."""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, kernel
from sparkcep.exec.kernels.conditions import U


@kernel
def tell_facts(offsets, masks, key, null, type_word, type_bit, own_word, own_bit, pairs, bounds, following, out):
    """Facts of every partition of a batch.

    Args:
        offsets, masks: as for match_runs. key, null: (rows,) the ORDER BY key, ascending, where bounds are of times.
        type_word, type_bit (components,): where the masks tell a component's type; own_word, own_bit: and all that it
            must be by itself; bit -1: every event.
        pairs (n * 2,): components. bounds (n * 5,): two components, least and most, whether it is of positions.
        following (rows + 1,): scratch.
        out (partitions, words) uint64: a bit for each component of whose type there is an event, then for each pair
            of types that is there in order, then for each bound that some pair of events meets.
    """
    components = type_bit.shape[0]
    for q in range(offsets.shape[0] - 1):
        base, rows = offsets[q], offsets[q + 1] - offsets[q]
        for w in range(out.shape[1]):
            out[q, w] = 0
        fact = 0
        for c in range(components):
            if _first(c, base, rows, masks, type_word, type_bit) < rows:
                _tell(q, fact, out)
            fact += 1
        for k in range(pairs.shape[0] // 2):
            a = _first(pairs[2 * k], base, rows, masks, type_word, type_bit)
            if a < _last(pairs[2 * k + 1], base, rows, masks, type_word, type_bit):
                _tell(q, fact, out)
            fact += 1
        for k in range(bounds.shape[0] // 5):
            if _met(k, base, rows, masks, key, null, own_word, own_bit, bounds, following):
                _tell(q, fact, out)
            fact += 1


@inlined
def _tell(q, fact, out):
    out[q, fact // 63] |= np.uint64(1) << np.uint64(fact % 63)


@inlined
def _is(c, row, masks, word, bit):
    return bit[U(c)] < 0 or (masks[word[U(c)], row] >> np.uint64(max(bit[U(c)], 0))) & np.uint64(1) != 0


@inlined
def _first(c, base, rows, masks, word, bit):
    for j in range(rows):
        if _is(c, base + j, masks, word, bit):
            return j
    return rows


@inlined
def _last(c, base, rows, masks, word, bit):
    for j in range(rows - 1, -1, -1):
        if _is(c, base + j, masks, word, bit):
            return j
    return np.int64(-1)


@inlined
def _met(k, base, rows, masks, key, null, word, bit, bounds, following):
    """Whether two events in order meet a bound."""
    a, b, least, most, by_position = (
        bounds[5 * k],
        bounds[5 * k + 1],
        bounds[5 * k + 2],
        bounds[5 * k + 3],
        bounds[5 * k + 4],
    )
    following[rows] = rows
    for j in range(rows - 1, -1, -1):
        known = by_position or not null[base + j]
        following[j] = j if known and _is(b, base + j, masks, word, bit) else following[j + 1]
    at = np.int64(0)
    for i in range(rows):
        if (not by_position and null[base + i]) or not _is(a, base + i, masks, word, bit):
            continue
        at = max(at, np.int64(i + 1))
        if by_position:
            at = max(at, np.int64(i + least))
        else:
            while at < rows and (null[base + at] or key[base + at] - key[base + i] < least):
                at += 1
        if at >= rows:
            return False
        j = following[at]
        if j < rows and (j - i if by_position else key[base + j] - key[base + i]) <= most:
            return True
    return False
