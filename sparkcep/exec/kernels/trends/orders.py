"""Places of a block's rows in the trees of an order: sorted once, so that what precedes an event is a prefix.

What is sorted are words: a key in the upper bits, the entry that it belongs to in the lower ones. Where all keys of an
order fit beside the entry, one sort does; elsewhere it is as many bits at a time as fit.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, inner, spliced
from sparkcep.exec.kernels.conditions.codes import U
from sparkcep.exec.kernels.trends.tables import AT, FIRST, PRECEDING, QUERY, RANK_WIDTH

#: Fewer words than this are sorted by insertion.
FEW = 48
#: Bits of a digit: of few words the counts must be cheap to clear, of many the passes must be few.
MANY, FEW_BITS, MANY_BITS = 4096, 8, 11
#: Room for the counts of one digit.
COUNTS = 1 << MANY_BITS
#: Bits of a word that are used: shifting by all 64 is undefined.
WORD_BITS = 63
_SIGN, _ONE, _ZERO, _ALL = np.uint64(1 << 63), np.uint64(1), np.uint64(0), ~np.uint64(0)


@inner
def rank_rows(o, first, count, rows, orders, keys, nulls, counts, ranks):
    """Fill ``ranks`` of order ``o`` for ``count`` rows of the batch from ``first`` on.

    Args:
        keys, nulls: (columns * rows,) key columns as integers of their order. counts: (COUNTS,) scratch.
    """
    low, high = orders.start[o], orders.start[o + 1]
    turn = ~_SIGN if orders.flipped[o] else _SIGN
    n = _entries(o, low, high, first, count, rows, orders, nulls, ranks)
    entry_bits = _length(np.uint64(2 * count - 1))
    tree, top = _pack(o, low, high, n, entry_bits, first, count, rows, turn, orders, keys, ranks)
    at = np.int64(0)
    if top <= WORD_BITS:
        at = _sort(entry_bits, top, n, counts, ranks)
    else:
        for k in range(low, high):
            # Least significant first: the ordered pair is the first, equal ones make the trees.
            _sort_by(k, n, entry_bits, first, count, rows, turn, orders, keys, counts, ranks)
        _number(o, low, high, n, entry_bits, first, count, rows, turn, orders, keys, ranks)
        tree = WORD_BITS
    _walk(o, at, n, entry_bits, tree, count, orders, ranks)


@spliced
def _entries(o, low, high, first, count, rows, orders, nulls, ranks):
    """Entry i < count is row i as the event before, entry count + i as the one after; NULLs have none."""
    n = 0
    for side in range(1 if orders.same[o] else 2):
        for i in range(count):
            null = False
            for k in range(low, high):
                if nulls[U(orders.keys[U(2 * k + side)] * rows + first + i)]:
                    null = True
            if not null:
                ranks.entries[U(n)] = side * count + i
                n += 1
    for i in range(count):
        ranks.row[U(o), U(RANK_WIDTH * i + AT)] = -1
        ranks.row[U(o), U(RANK_WIDTH * i + PRECEDING)] = 0
    return n


@inlined
def _key(k, entry, first, count, rows, turn, orders, keys):
    """An entry's key as a word that sorts as its order does: ``turn`` tells rising from falling."""
    side = 1 if entry >= count else 0
    column = orders.keys[U(2 * k + side)]
    return np.uint64(keys[U(column * rows + first + entry - side * count)]) ^ turn


@inlined
def _length(value):
    """Bits that a number needs."""
    bits = np.int64(0)
    while value:
        value >>= _ONE
        bits += 1
    return bits


@inlined
def _extent(k, n, first, count, rows, turn, orders, keys, ranks):
    """The least key of a pair of columns, zeros below all differences, and how many bits are between."""
    least, most = _ALL, _ZERO
    for i in range(n):
        key = _key(k, np.int64(ranks.entries[U(i)]), first, count, rows, turn, orders, keys)
        least, most = min(least, key), max(most, key)
    differences = _ZERO
    for i in range(n):
        differences |= _key(k, np.int64(ranks.entries[U(i)]), first, count, rows, turn, orders, keys) - least
    zeros = np.int64(0)
    while differences and not (differences >> np.uint64(zeros)) & _ONE:
        zeros += 1
    return least, np.uint64(zeros), _length(differences >> np.uint64(zeros))


@spliced
def _pack(o, low, high, n, entry_bits, first, count, rows, turn, orders, keys, ranks):
    """Write the words of entries: their keys, the ordered one last, above the ``entry_bits`` of the entry.

    Returns:
        The bit at which the keys of trees begin, and that at which they end; beyond WORD_BITS there are no words.
    """
    for i in range(n):
        ranks.words[U(i)] = _ZERO
    tree, top = entry_bits, entry_bits
    for back in range(high - low):
        k = high - 1 - back
        least, zeros, bits = _extent(k, n, first, count, rows, turn, orders, keys, ranks)
        top += bits
        if top > WORD_BITS:
            break
        if k == low and orders.ordered[o]:
            tree += bits
        for i in range(n):
            key = _key(k, np.int64(ranks.entries[U(i)]), first, count, rows, turn, orders, keys)
            ranks.words[U(i)] = ranks.words[U(i)] << np.uint64(bits) | (key - least) >> zeros
    if top <= WORD_BITS:
        for i in range(n):
            ranks.words[U(i)] = ranks.words[U(i)] << np.uint64(entry_bits) | np.uint64(ranks.entries[U(i)])
    return tree, top


@inner
def _sort(low, high, n, counts, ranks):
    """Sort the first ``n`` words by their bits from ``low`` to ``high``, keeping the order of equal ones.

    Returns:
        Where the sorted words begin: there is room for twice as many.
    """
    words = ranks.words
    if n < FEW:
        shift = np.uint64(low)
        for i in range(1, n):
            word = words[U(i)]
            j = i
            while j > 0 and words[U(j - 1)] >> shift > word >> shift:
                words[U(j)] = words[U(j - 1)]
                j -= 1
            words[U(j)] = word
        return np.int64(0)
    widest = FEW_BITS if n < MANY else MANY_BITS
    passes = (high - low + widest - 1) // widest
    at, to = np.int64(0), np.int64(words.shape[0] // 2)
    for p in range(passes):
        begin, end = low + (high - low) * p // passes, low + (high - low) * (p + 1) // passes
        shift, mask = np.uint64(begin), (_ONE << np.uint64(end - begin)) - _ONE
        for d in range(1 << (end - begin)):
            counts[U(d)] = 0
        for i in range(n):
            counts[U(words[U(at + i)] >> shift & mask)] += 1
        total = to
        for d in range(1 << (end - begin)):
            size = counts[U(d)]
            counts[U(d)] = total
            total += size
        for i in range(n):
            word = words[U(at + i)]
            bucket = U(word >> shift & mask)
            words[U(counts[bucket])] = word
            counts[bucket] += 1
        at, to = to, at
    return at


@spliced
def _sort_by(k, n, entry_bits, first, count, rows, turn, orders, keys, counts, ranks):
    """Sort entries by one pair of columns, keeping the order of equal ones."""
    least, zeros, bits = _extent(k, n, first, count, rows, turn, orders, keys, ranks)
    mask = (_ONE << np.uint64(entry_bits)) - _ONE
    done = np.int64(0)
    while done < bits:
        more = min(bits - done, WORD_BITS - entry_bits)
        digits = (_ONE << np.uint64(more)) - _ONE
        for i in range(n):
            entry = np.int64(ranks.entries[U(i)])
            key = _key(k, entry, first, count, rows, turn, orders, keys)
            key = (key - least) >> zeros >> np.uint64(done) & digits
            ranks.words[U(i)] = key << np.uint64(entry_bits) | np.uint64(entry)
        at = _sort(entry_bits, entry_bits + more, n, counts, ranks)
        for i in range(n):
            ranks.entries[U(i)] = ranks.words[U(at + i)] & mask
        done += more


@spliced
def _number(o, low, high, n, entry_bits, first, count, rows, turn, orders, keys, ranks):
    """Write words of sorted entries: numbers that grow with their keys, on top a bit that changes with their trees."""
    equal_from = low + 1 if orders.ordered[o] else low
    tree, tie, before = _ZERO, _ZERO, np.int64(0)
    for i in range(n):
        entry = np.int64(ranks.entries[U(i)])
        if i and not _alike(low, high, before, entry, first, count, rows, turn, orders, keys):
            tie += _ONE
            if not _alike(equal_from, high, before, entry, first, count, rows, turn, orders, keys):
                tree ^= _SIGN
        ranks.words[U(i)] = tree | tie << np.uint64(entry_bits) | np.uint64(entry)
        before = entry


@inlined
def _alike(low, high, a, b, first, count, rows, turn, orders, keys):
    for k in range(low, high):
        one = _key(k, a, first, count, rows, turn, orders, keys)
        if one != _key(k, b, first, count, rows, turn, orders, keys):
            return False
    return True


@spliced
def _walk(o, base, n, entry_bits, tree, count, orders, ranks):
    """Number the ranks of each tree. Words from ``base`` on agree above ``tree`` in what must be equal; above
    ``entry_bits`` those of events that the order does not tell apart."""
    words, row = ranks.words, ranks.row
    one_side = orders.same[o] != 0
    tree_shift, tie_shift, mask = np.uint64(tree), np.uint64(entry_bits), (_ONE << np.uint64(entry_bits)) - _ONE
    used = np.int32(0)
    i = base
    while i < base + n:
        start, tree_word = used, words[U(i)] >> tree_shift
        while i < base + n and words[U(i)] >> tree_shift == tree_word:
            before, tie, tie_word = used, i, words[U(i)] >> tie_shift
            while i < base + n and words[U(i)] >> tie_shift == tie_word:
                entry = np.int64(words[U(i)] & mask)
                if entry < count:
                    row[U(o), U(RANK_WIDTH * entry + AT)] = used if orders.ordered[o] else start
                    row[U(o), U(RANK_WIDTH * entry + FIRST)] = start
                    used += 1
                i += 1
            preceding = np.int32(used if orders.or_equal[o] else before) - start
            if not orders.ordered[o]:
                preceding = np.int32(1 if used > start else 0)
            for x in range(tie, i):
                entry = np.int64(words[U(x)] & mask)
                if one_side or entry >= count:
                    entry -= 0 if one_side else count
                    row[U(o), U(RANK_WIDTH * entry + QUERY)] = start
                    row[U(o), U(RANK_WIDTH * entry + PRECEDING)] = preceding
        if used > start:
            ranks.size[o, start] = used - start if orders.ordered[o] else np.int32(1)
