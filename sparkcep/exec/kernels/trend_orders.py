"""Places of a block's rows in the trees of an order: sorted once, so that what precedes an event is a prefix."""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, inner, spliced
from sparkcep.exec.kernels.conditions import U

#: Fewer entries than this are sorted by insertion.
FEW = 48
_SIGN = np.uint64(1 << 63)


@inner
def place(o, first, count, rows, orders, keys, nulls, counts, places):
    """Fill ``places`` of order ``o`` for ``count`` rows of the batch from ``first`` on.

    Args:
        keys, nulls: (columns * rows,) key columns as integers of their order. counts: (256,) scratch.
    """
    low, high = orders.start[o], orders.start[o + 1]
    entries = _entries(o, low, high, first, count, rows, orders, keys, nulls, places)
    for k in range(low, high):
        # Least significant first: the ordered pair is the first, equal ones make the trees.
        _sort(k, entries, first, count, rows, orders.flipped[o], orders, keys, counts, places)
    _walk(o, low, high, entries, first, count, rows, orders, keys, places)


@spliced
def _entries(o, low, high, first, count, rows, orders, keys, nulls, places):
    """Entry i < count is row i as the event before, entry count + i as the one after."""
    n = 0
    for side in range(1 if orders.same[o] else 2):
        for i in range(count):
            null = False
            for k in range(low, high):
                if nulls[U(orders.keys[U(2 * k + side)] * rows + first + i)]:
                    null = True
            if not null:
                places.entries[U(n)] = side * count + i
                n += 1
    for i in range(count):
        places.at[o, i] = -1
        places.preceding[o, i] = 0
    return n


@inlined
def _key(k, entry, first, count, rows, orders, keys):
    side = 1 if entry >= count else 0
    column = orders.keys[U(2 * k + side)]
    return np.uint64(keys[U(column * rows + first + entry - side * count)]) ^ _SIGN


@spliced
def _sort(k, n, first, count, rows, flipped, orders, keys, counts, places):
    """Sort entries by one pair of columns, keeping the order of equal ones."""
    if n == 0:
        return
    least, most = ~np.uint64(0), np.uint64(0)
    for i in range(n):
        key = _key(k, np.int64(places.entries[U(i)]), first, count, rows, orders, keys)
        if flipped:
            key = ~key
        places.keys[U(i)] = key
        least, most = min(least, key), max(most, key)
    if n < FEW:
        for i in range(1, n):
            key, entry = places.keys[U(i)], places.entries[U(i)]
            j = i
            while j > 0 and places.keys[U(j - 1)] > key:
                places.keys[U(j)] = places.keys[U(j - 1)]
                places.entries[U(j)] = places.entries[U(j - 1)]
                j -= 1
            places.keys[U(j)] = key
            places.entries[U(j)] = entry
        return
    span = most - least
    for digit in range(8):
        shift = np.uint64(8 * digit)
        if span >> shift:
            _pass(shift, n, least, counts, places)


@inner
def _pass(shift, n, least, counts, places):
    """One digit of a radix sort; ``places.keys`` has room for twice the entries."""
    for d in range(256):
        counts[d] = 0
    for i in range(n):
        counts[U((places.keys[U(i)] - least) >> shift & np.uint64(255))] += 1
    total = np.int64(0)
    for d in range(256):
        own = counts[d]
        counts[d] = total
        total += own
    half = places.keys.shape[0] // 2
    for i in range(n):
        key = places.keys[U(i)]
        bucket = U((key - least) >> shift & np.uint64(255))
        to = counts[bucket]
        counts[bucket] = to + 1
        places.keys[U(half + to)] = key
        places.other[U(to)] = places.entries[U(i)]
    for i in range(n):
        places.keys[U(i)] = places.keys[U(half + i)]
        places.entries[U(i)] = places.other[U(i)]


@spliced
def _walk(o, low, high, n, first, count, rows, orders, keys, places):
    """Number the places of each tree; a tree is a run of entries that agree in what must be equal."""
    both = orders.same[o] != 0
    equal_from = low + 1 if orders.ordered[o] else low
    used = np.int32(0)
    i = 0
    while i < n:
        head = np.int64(places.entries[U(i)])
        end = i + 1
        while end < n and _alike(equal_from, high, head, np.int64(places.entries[U(end)]), first, count, rows, orders,
                                 keys):  # fmt: skip
            end += 1
        start = used
        tie = i
        while tie < end:
            after = tie + 1
            if orders.ordered[o]:
                value = _key(low, np.int64(places.entries[U(tie)]), first, count, rows, orders, keys)
                while after < end and value == _key(low, np.int64(places.entries[U(after)]), first, count, rows, orders,
                                                    keys):  # fmt: skip
                    after += 1
            else:
                after = end
            before = used
            for x in range(tie, after):
                entry = places.entries[U(x)]
                if entry < count:
                    places.at[o, entry] = used if orders.ordered[o] else start
                    places.first[o, entry] = start
                    used += 1
            for x in range(tie, after):
                entry = places.entries[U(x)]
                if both or entry >= count:
                    row = entry if entry < count else entry - count
                    places.query[o, row] = start
                    if orders.ordered[o]:
                        places.preceding[o, row] = (used if orders.or_equal[o] else before) - start
                    else:
                        places.preceding[o, row] = 1 if used > start else 0
            tie = after
        size = used - start if orders.ordered[o] else np.int32(1)
        for x in range(i, end):
            entry = places.entries[U(x)]
            if entry < count:
                places.size[o, entry] = size
        i = end


@inlined
def _alike(low, high, a, b, first, count, rows, orders, keys):
    for k in range(low, high):
        if _key(k, a, first, count, rows, orders, keys) != _key(k, b, first, count, rows, orders, keys):
            return False
    return True
