"""One window at a time where nothing but states and orders count: no negation, no other condition between events.

The same records as in trends.py, without their detours: what a row does depends only on which components can take it,
so that is tabulated.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, inner, spliced
from sparkcep.exec.kernels.conditions.codes import U
from sparkcep.exec.kernels.trends.grids import entering_both, standing_before_both
from sparkcep.exec.kernels.trends.sums import (
    COUNT_EXACT,
    COUNT_FLOAT,
    COUNT_SCALED,
    LEAST,
    LINEAR_EXACT,
    LINEAR_FLOAT,
    LINEAR_SCALED,
    NOTHING,
    add_wide,
    normal,
    scaled_add,
    summed,
    weighted,
)
from sparkcep.exec.kernels.trends.tables import GRID, STATE
from sparkcep.exec.kernels.trends.trees import entering, standing_before, walk_trees

#: Rows that are looked at before they are walked, small enough to stay in the cache.
CHUNK = 2048
_ZERO = np.uint64(0)


@inner
def walk_states(block, trends, events, scratch):
    """Add up the trends of a block. Every record begins as that of no trends."""
    symbols, fields, values, sums = trends.symbols, trends.fields, events.values, scratch.sums
    first, after = block.base + block.low, block.base + block.after
    exact = fields.kind.shape[0] == 1 and fields.kind[0] == COUNT_EXACT
    if symbols.trees and (fields.plain or exact):
        walk_trees(block, trends, events, scratch)
    elif exact:
        for low in range(first, after, CHUNK):
            high = min(low + CHUNK, after)
            if symbols.single.sources and not _has_several(low, high, symbols, events.masks[0]):
                _walk_single(low, high, symbols, events.masks[0], sums.words)
            else:
                _walk_counting(low, high, block.result, symbols, events.masks[0], sums.words)
    else:
        _walk(first, after, block, trends, events.rows, events.masks[0], values, scratch)
    for k in range(symbols.accepting.shape[0]):
        add_record(block.result, symbols.accepting[k], fields, sums)


@spliced
def _has_several(first, after, symbols, bits):
    """Whether a row can be taken by more than one state."""
    found = np.uint8(0)
    for row in range(first, after):
        found |= symbols.single.several[U(bits[U(row)] & symbols.mask)]
    return found != 0


@spliced
def _walk_single(first, after, symbols, bits, words):
    """COUNT(*) alone, a row is taken by one state at most: every row does as much as any other, so that nothing
    waits for a guess which symbol it is."""
    sources, targets = symbols.single.sources, symbols.single.targets
    for row in range(first, after):
        symbol = np.int64(bits[U(row)] & symbols.mask)
        x, y = symbols.single.begins[U(symbol)], _ZERO
        for q in range(symbol * sources, (symbol + 1) * sources):
            x, y = summed(x, y, 2 * np.int64(symbols.single.source[U(q)]), words)
        for k in range(symbol * targets, (symbol + 1) * targets):
            to = np.int64(symbols.single.target[U(k)])
            low, high = summed(x, y, 2 * to, words)
            words[U(2 * to)] = low
            words[U(2 * to + 1)] = high


@spliced
def _walk_counting(first, after, result, symbols, bits, words):
    """COUNT(*) alone, which most ask for: records of two words."""
    for row in range(first, after):
        symbol = np.int64(bits[U(row)] & symbols.mask)
        low, high = symbols.start[U(symbol)], symbols.start[U(symbol + 1)]
        for n in range(low, high):
            x, y = np.uint64(symbols.begins[U(n)]), _ZERO
            for q in range(symbols.source_start[U(n)], symbols.source_start[U(n + 1)]):
                x, y = summed(x, y, 2 * np.int64(symbols.source[U(q)]), words)
            words[U(2 * symbols.made[U(n)])] = x
            words[U(2 * symbols.made[U(n)] + 1)] = y
        for k in range(symbols.leave_start[U(symbol)], symbols.leave_start[U(symbol + 1)]):
            words[U(2 * symbols.leave[U(k)])] = _ZERO
            words[U(2 * symbols.leave[U(k)] + 1)] = _ZERO
        for n in range(low, high):
            for k in range(symbols.into_start[U(n)], symbols.into_start[U(n + 1)]):
                _count_in(symbols.into[U(k)], symbols.made[U(n)], words)
            if symbols.ends[U(n)]:
                _count_in(result, symbols.made[U(n)], words)


@inlined
def _count_in(to, of, words):
    low, high = summed(words[U(2 * of)], words[U(2 * of + 1)], 2 * to, words)
    words[U(2 * to)] = low
    words[U(2 * to + 1)] = high


@spliced
def _walk(first, after, block, trends, rows, bits, values, scratch):
    symbols, fields, sums, classes = trends.symbols, trends.fields, scratch.sums, trends.classes
    for row in range(first, after):
        symbol = np.int64(bits[U(row)] & symbols.mask)
        low, high = symbols.start[U(symbol)], symbols.start[U(symbol + 1)]
        for n in range(low, high):
            records, begin, end = symbols.source, symbols.source_start[U(n)], symbols.source_start[U(n + 1)]
            if symbols.trees:
                end = _before(begin, end, row - first, block, trends, scratch)
                records, begin = scratch.jobs, np.int64(0)
            _make(n, row, rows, records, begin, end, symbols, fields, values, sums)
        for k in range(symbols.leave_start[U(symbol)], symbols.leave_start[U(symbol + 1)]):
            of = symbols.leave[U(k)]
            for w in range(fields.words):
                sums.words[U(of * fields.words + w)] = fields.empty[U(w)]
            for w in range(fields.floats):
                sums.floats[U(of * fields.floats + w)] = 0.0
        for n in range(low, high):
            made = symbols.made[U(n)]
            for k in range(symbols.into_start[U(n)], symbols.into_start[U(n + 1)]):
                c = symbols.into[U(k)]
                if classes.kind[U(c)] == STATE:
                    add_record(c, made, fields, sums)
                elif classes.kind[U(c)] == GRID:
                    for q in range(entering_both(c, row - first, block, classes, trends.grids, scratch)):
                        add_record(np.int64(scratch.nodes.path[U(q)]), made, fields, sums)
                else:
                    tree, p, size = entering(c, row - first, block, classes, scratch)
                    while p <= size:
                        add_record(tree + p, made, fields, sums)
                        p += p & -p
            if symbols.ends[U(n)]:
                add_record(block.result, made, fields, sums)


@spliced
def _before(begin, end, at, block, trends, scratch):
    """Write what a row's sources come to into ``jobs``, one record after the other; returns how many."""
    symbols, classes, jobs = trends.symbols, trends.classes, scratch.jobs
    used = np.int64(0)
    for q in range(begin, end):
        c = np.int64(symbols.source[U(q)])
        if classes.kind[U(c)] == STATE:
            jobs[U(used)] = c
            used += 1
        elif classes.kind[U(c)] == GRID:
            for k in range(standing_before_both(c, at, block, classes, trends.grids, scratch)):
                jobs[U(used)] = scratch.nodes.path[U(k)]
                used += 1
        else:
            tree, p = standing_before(c, at, block, classes, scratch)
            while p > 0:
                jobs[U(used)] = tree + p
                used += 1
                p &= p - 1
    return used


@spliced
def _make(n, row, rows, records, low, high, symbols, fields, values, sums):
    """What a state's event makes of ``records[low:high]``, all that stands before it."""
    words, floats = sums.words, sums.floats
    made = symbols.made[U(n)]
    for k in range(fields.kind.shape[0]):
        kind, offset = fields.kind[U(k)], fields.offset[U(k)]
        counted = symbols.member[U(n * fields.kind.shape[0] + k)] != 0
        if counted and fields.nulls[U(k)] >= 0:
            counted = values.nulls[U(fields.nulls[U(k)] * rows + row)] == 0
        column = fields.value[U(k)]
        if kind <= LINEAR_SCALED:
            at = made * fields.floats + offset
            m = symbols.begins[U(n)] if kind == COUNT_FLOAT or kind == COUNT_SCALED else 0.0
            if kind == COUNT_FLOAT or kind == LINEAR_FLOAT:
                for q in range(low, high):
                    m += floats[U(np.int64(records[U(q)]) * fields.floats + offset)]
                if counted and kind == LINEAR_FLOAT:
                    m += floats[U(made * fields.floats + fields.weight[U(k)])]
                floats[U(at)] = m
                continue
            e = 0.0
            for q in range(low, high):
                of = np.int64(records[U(q)]) * fields.floats + offset
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
            x, y = np.uint64(symbols.begins[U(n)]), _ZERO
            for q in range(low, high):
                x, y = summed(x, y, np.int64(records[U(q)]) * fields.words + offset, words)
            words[U(at)] = x
            words[U(at + 1)] = y
        elif kind == LINEAR_EXACT:
            words[U(at)] = _ZERO
            words[U(at + 1)] = _ZERO
            words[U(at + 2)] = _ZERO
            for q in range(low, high):
                of = np.int64(records[U(q)]) * fields.words + offset
                add_wide(at, 1, words[U(of)], words[U(of + 1)], words[U(of + 2)], words)
            if counted:
                count = made * fields.words + fields.weight[U(k)]
                v = values.ints[U(column * rows + row)] if column >= 0 else np.int64(1)
                weighted(at, 1, words[U(count)], words[U(count + 1)], v, words)
        else:
            least = NOTHING
            for q in range(low, high):
                least = min(least, words[U(np.int64(records[U(q)]) * fields.words + offset)])
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
    """Add the sums of record ``of`` to those of record ``to``."""
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
            x, y = summed(words[U(a)], words[U(a + 1)], b, words)
            words[U(a)] = x
            words[U(a + 1)] = y
        elif kind == LEAST:
            words[U(a)] = min(words[U(a)], words[U(b)])
        else:
            add_wide(a, 1, words[U(b)], words[U(b + 1)], words[U(b + 2)], words)
