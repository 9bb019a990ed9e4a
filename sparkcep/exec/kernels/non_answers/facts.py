"""The facts kernel: what a partition shows of a query itself, as bits that Spark adds up over the log."""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, kernel
from sparkcep.exec.kernels.conditions.codes import U


@kernel
def tell_facts(facts, given, following, out):
    """Facts of every partition of a batch.

    Args:
        facts, given: see tables.py; ``given.wanted`` is not read, and ``key`` and ``null`` where bounds are of times.
        following (rows + 1,): scratch.
        out (partitions, words) uint64: a bit for each component of whose type there is an event, then for each pair
            of types that is there in order, then for each bound that some pair of events meets.
    """
    types, masks = facts.types, given.masks
    for q in range(given.offsets.shape[0] - 1):
        base, rows = given.offsets[q], given.offsets[q + 1] - given.offsets[q]
        for w in range(out.shape[1]):
            out[q, w] = 0
        fact = 0
        for c in range(types.bit.shape[0]):
            if _first(c, base, rows, masks, types) < rows:
                _tell(q, fact, out)
            fact += 1
        for k in range(facts.pairs.shape[0] // 2):
            a = _first(facts.pairs[2 * k], base, rows, masks, types)
            if a < _last(facts.pairs[2 * k + 1], base, rows, masks, types):
                _tell(q, fact, out)
            fact += 1
        for k in range(facts.bounds.shape[0] // 5):
            if _met(k, base, rows, given, facts, following):
                _tell(q, fact, out)
            fact += 1


@inlined
def _tell(q, fact, out):
    out[q, fact // 63] |= np.uint64(1) << np.uint64(fact % 63)


@inlined
def _is(c, row, masks, types):
    bit = types.bit[U(c)]
    return bit < 0 or (masks[types.word[U(c)], row] >> np.uint64(max(bit, 0))) & np.uint64(1) != 0


@inlined
def _first(c, base, rows, masks, types):
    for j in range(rows):
        if _is(c, base + j, masks, types):
            return j
    return rows


@inlined
def _last(c, base, rows, masks, types):
    for j in range(rows - 1, -1, -1):
        if _is(c, base + j, masks, types):
            return j
    return np.int64(-1)


@inlined
def _met(k, base, rows, given, facts, following):
    """Whether two events in order meet a bound; O(rows)."""
    masks, key, null, tests, bounds = given.masks, given.key, given.null, facts.tests, facts.bounds
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
        following[j] = j if known and _is(b, base + j, masks, tests) else following[j + 1]
    at = np.int64(0)
    for i in range(rows):
        if (not by_position and null[base + i]) or not _is(a, base + i, masks, tests):
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
