"""One window at a time where nothing but the state counts: no negation, no condition between events.

The same records as in trends.py, without their detours: what a row does depends only on which components can take it,
so that is tabulated.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, inner, spliced
from sparkcep.exec.kernels.conditions import U
from sparkcep.exec.kernels.trend_sums import (
    COUNT_EXACT,
    COUNT_FLOAT,
    COUNT_SCALED,
    FULL,
    LEAST,
    LINEAR_EXACT,
    LINEAR_FLOAT,
    LINEAR_SCALED,
    NOTHING,
    add_wide,
    normal,
    scaled_add,
    weighted,
)

_ZERO, _ONE = np.uint64(0), np.uint64(1)


@inner
def walk_states(first, after, result, rows, letters, bits, fields, values, sums):
    """Add up the trends of rows ``first`` to ``after`` of the batch; ``bits``: the rows' condition bits.

    Every record begins as that of no trends.
    """
    if fields.kind.shape[0] == 1 and fields.kind[0] == COUNT_EXACT:
        _walk_counting(first, after, result, letters, bits, sums.words)
    else:
        _walk(first, after, result, rows, letters, bits, fields, values, sums)
    for k in range(letters.accepting.shape[0]):
        add_record(result, letters.accepting[k], fields, sums)


@spliced
def _walk_counting(first, after, result, letters, bits, words):
    """COUNT(*) alone, which most ask for: records of two words."""
    for row in range(first, after):
        letter = np.int64(bits[U(row)] & letters.mask)
        low, high = letters.start[U(letter)], letters.start[U(letter + 1)]
        leaves = letters.leave_start[U(letter)] < letters.leave_start[U(letter + 1)]
        if high == low + 1 and not leaves:
            # Most rows: nothing else reads what is changed, so nothing need be written down in between.
            x, y = _standing(low, letters, words)
            _count(low, x, y, result, letters, words)
            continue
        for n in range(low, high):
            x, y = _standing(n, letters, words)
            made = 2 * letters.made[U(n)]
            words[U(made)] = x
            words[U(made + 1)] = y
        for k in range(letters.leave_start[U(letter)], letters.leave_start[U(letter + 1)]):
            words[U(2 * letters.leave[U(k)])] = _ZERO
            words[U(2 * letters.leave[U(k)] + 1)] = _ZERO
        for n in range(low, high):
            _count(n, words[U(2 * letters.made[U(n)])], words[U(2 * letters.made[U(n)] + 1)], result, letters, words)


@inlined
def _standing(n, letters, words):
    """How many trends a state's event makes of those that stand before it."""
    x, y = np.uint64(letters.begins[U(n)]), _ZERO
    for q in range(letters.source_start[U(n)], letters.source_start[U(n + 1)]):
        of = 2 * letters.source[U(q)]
        x += words[U(of)]
        y += words[U(of + 1)] + (_ONE if x < words[U(of)] else _ZERO)
        y = y if y < FULL else FULL
    return x, y


@inlined
def _count(n, x, y, result, letters, words):
    if letters.into[U(n)] >= 0:
        _count_in(2 * letters.into[U(n)], x, y, words)
    if letters.ends[U(n)]:
        _count_in(2 * result, x, y, words)


@inlined
def _count_in(at, x, y, words):
    low = words[U(at)] + x
    high = words[U(at + 1)] + y + (_ONE if low < x else _ZERO)
    words[U(at)] = low
    words[U(at + 1)] = high if high < FULL else FULL


@spliced
def _walk(first, after, result, rows, letters, bits, fields, values, sums):
    for row in range(first, after):
        letter = np.int64(bits[U(row)] & letters.mask)
        low, high = letters.start[U(letter)], letters.start[U(letter + 1)]
        for n in range(low, high):
            _make(n, row, rows, letters, fields, values, sums)
        for k in range(letters.leave_start[U(letter)], letters.leave_start[U(letter + 1)]):
            of = letters.leave[U(k)]
            for w in range(fields.words):
                sums.words[U(of * fields.words + w)] = fields.empty[U(w)]
            for w in range(fields.floats):
                sums.floats[U(of * fields.floats + w)] = 0.0
        for n in range(low, high):
            if letters.into[U(n)] >= 0:
                add_record(letters.into[U(n)], letters.made[U(n)], fields, sums)
            if letters.ends[U(n)]:
                add_record(result, letters.made[U(n)], fields, sums)


@spliced
def _make(n, row, rows, letters, fields, values, sums):
    """What a state's event makes of all that stands before it."""
    words, floats = sums.words, sums.floats
    made = letters.made[U(n)]
    low, high = letters.source_start[U(n)], letters.source_start[U(n + 1)]
    for k in range(fields.kind.shape[0]):
        kind, offset = fields.kind[U(k)], fields.offset[U(k)]
        counted = letters.member[U(n * fields.kind.shape[0] + k)] != 0
        if counted and fields.nulls[U(k)] >= 0:
            counted = values.nulls[U(fields.nulls[U(k)] * rows + row)] == 0
        column = fields.value[U(k)]
        if kind <= LINEAR_SCALED:
            at = made * fields.floats + offset
            m = letters.begins[U(n)] if kind == COUNT_FLOAT or kind == COUNT_SCALED else 0.0
            if kind == COUNT_FLOAT or kind == LINEAR_FLOAT:
                for q in range(low, high):
                    m += floats[U(letters.source[U(q)] * fields.floats + offset)]
                if counted and kind == LINEAR_FLOAT:
                    m += floats[U(made * fields.floats + fields.weight[U(k)])]
                floats[U(at)] = m
                continue
            e = 0.0
            for q in range(low, high):
                of = letters.source[U(q)] * fields.floats + offset
                m, e = scaled_add(m, e, floats[U(of)], floats[U(of + 1)])
            if counted and kind == LINEAR_SCALED:
                count = made * fields.floats + fields.weight[U(k)]
                p, g = normal(values.floats[U(column * rows + row)] if column >= 0 else 1.0, 0.0)
                p, g = normal(floats[U(count)] * p, floats[U(count + 1)] + g)
                m, e = scaled_add(m, e, p, g)
            floats[U(at)] = m
            floats[U(at + 1)] = e
            continue
        at = made * fields.words + offset
        if kind == COUNT_EXACT:
            x, y = np.uint64(letters.begins[U(n)]), _ZERO
            for q in range(low, high):
                of = letters.source[U(q)] * fields.words + offset
                x += words[U(of)]
                y += words[U(of + 1)] + (_ONE if x < words[U(of)] else _ZERO)
                y = y if y < FULL else FULL
            words[U(at)] = x
            words[U(at + 1)] = y
        elif kind == LINEAR_EXACT:
            words[U(at)] = _ZERO
            words[U(at + 1)] = _ZERO
            words[U(at + 2)] = _ZERO
            for q in range(low, high):
                of = letters.source[U(q)] * fields.words + offset
                add_wide(at, 1, words[U(of)], words[U(of + 1)], words[U(of + 2)], words)
            if counted:
                count = made * fields.words + fields.weight[U(k)]
                v = values.ints[U(column * rows + row)] if column >= 0 else np.int64(1)
                weighted(at, 1, words[U(count)], words[U(count + 1)], v, words)
        else:
            least = NOTHING
            for q in range(low, high):
                least = min(least, words[U(letters.source[U(q)] * fields.words + offset)])
            if counted and not _empty(made, fields, sums):
                own = np.uint64(values.ints[U(column * rows + row)]) if column >= 0 else _ZERO
                least = min(least, own)
            words[U(at)] = least


@inlined
def _empty(record, fields, sums):
    """Whether a record has no trends; its first field is a count."""
    if fields.kind[0] <= LINEAR_SCALED:
        return sums.floats[U(record * fields.floats + fields.offset[0])] == 0.0
    at = record * fields.words + fields.offset[0]
    return sums.words[U(at)] == _ZERO and sums.words[U(at + 1)] == _ZERO


@inlined
def add_record(to, of, fields, sums):
    words, floats = sums.words, sums.floats
    for k in range(fields.kind.shape[0]):
        kind, offset = fields.kind[U(k)], fields.offset[U(k)]
        if kind <= LINEAR_SCALED:
            a, b = to * fields.floats + offset, of * fields.floats + offset
            if kind == COUNT_FLOAT or kind == LINEAR_FLOAT:
                floats[U(a)] += floats[U(b)]
            else:
                m, e = scaled_add(floats[U(a)], floats[U(a + 1)], floats[U(b)], floats[U(b + 1)])
                floats[U(a)] = m
                floats[U(a + 1)] = e
            continue
        a, b = to * fields.words + offset, of * fields.words + offset
        if kind == COUNT_EXACT:
            x = words[U(a)] + words[U(b)]
            y = words[U(a + 1)] + words[U(b + 1)] + (_ONE if x < words[U(b)] else _ZERO)
            words[U(a)] = x
            words[U(a + 1)] = y if y < FULL else FULL
        elif kind == LEAST:
            words[U(a)] = min(words[U(a)], words[U(b)])
        else:
            add_wide(a, 1, words[U(b)], words[U(b + 1)], words[U(b + 2)], words)
