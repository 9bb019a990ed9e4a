"""Sums over the events that precede one in an order, for windows one at a time: Fenwick trees, and counts alone."""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, spliced
from sparkcep.exec.kernels.conditions.codes import U
from sparkcep.exec.kernels.trends.grids import entering_both, standing_before_both
from sparkcep.exec.kernels.trends.sums import summed
from sparkcep.exec.kernels.trends.tables import AT, FIRST, GRID, PRECEDING, QUERY, RANK_WIDTH, STATE


@inlined
def standing_before(c, at, block, classes, scratch):
    """Where the tree that a row reads for class ``c`` begins (its record of rank p is at + p), and how many ranks
    are before the row."""
    row, o = scratch.ranks.row, classes.order[U(c)]
    tree = block.trees + classes.tree[U(c)] * scratch.lists.room - 1 + np.int64(row[U(o), U(RANK_WIDTH * at + QUERY)])
    return tree, np.int64(row[U(o), U(RANK_WIDTH * at + PRECEDING)])


@inlined
def entering(c, at, block, classes, scratch):
    """Where the tree that a row goes into begins, its rank, and the tree's size; a rank beyond it where it has
    none."""
    row, o = scratch.ranks.row, classes.order[U(c)]
    rank = np.int64(row[U(o), U(RANK_WIDTH * at + AT)])
    if rank < 0:
        return np.int64(0), np.int64(1), np.int64(0)
    first = np.int64(row[U(o), U(RANK_WIDTH * at + FIRST)])
    tree = block.trees + classes.tree[U(c)] * scratch.lists.room - 1 + first
    return tree, rank - first + 1, np.int64(scratch.ranks.size[U(o), U(first)])


@spliced
def walk_trees(block, trends, events, scratch):
    """One count alone, in doubles or exact: the record of number r is a double, or two words."""
    symbols, classes, bits = trends.symbols, trends.classes, events.masks[0]
    floats, words, exact = scratch.sums.floats, scratch.sums.words, not trends.fields.plain
    first = block.base + block.low
    for at in range(block.after - block.low):
        symbol = np.int64(bits[U(first + at)] & symbols.mask)
        low, high = symbols.start[U(symbol)], symbols.start[U(symbol + 1)]
        for n in range(low, high):
            count, x, y = symbols.begins[U(n)], np.uint64(symbols.begins[U(n)]), np.uint64(0)
            for q in range(symbols.source_start[U(n)], symbols.source_start[U(n + 1)]):
                c = np.int64(symbols.source[U(q)])
                if classes.kind[U(c)] == GRID:
                    for k in range(standing_before_both(c, at, block, classes, trends.grids, scratch)):
                        record = np.int64(scratch.nodes.path[U(k)])
                        if exact:
                            x, y = summed(x, y, 2 * record, words)
                        else:
                            count += floats[U(record)]
                    continue
                # A sum is read as a tree of one rank.
                tree, p = c - 1, np.int64(1)
                if classes.kind[U(c)] != STATE:
                    tree, p = standing_before(c, at, block, classes, scratch)
                if exact:
                    while p > 0:
                        x, y = summed(x, y, 2 * (tree + p), words)
                        p &= p - 1
                else:
                    while p > 0:
                        count += floats[U(tree + p)]
                        p &= p - 1
            _write(symbols.made[U(n)], exact, count, x, y, floats, words)
        for n in range(low, high):
            made = symbols.made[U(n)]
            for k in range(symbols.into_start[U(n)], symbols.into_start[U(n + 1)]):
                c = symbols.into[U(k)]
                if classes.kind[U(c)] == GRID:
                    for q in range(entering_both(c, at, block, classes, trends.grids, scratch)):
                        record = np.int64(scratch.nodes.path[U(q)])
                        _add(record - 1, np.int64(1), np.int64(1), made, exact, floats, words)
                    continue
                tree, p, size = c - 1, np.int64(1), np.int64(1)
                if classes.kind[U(c)] != STATE:
                    tree, p, size = entering(c, at, block, classes, scratch)
                _add(tree, p, size, made, exact, floats, words)
            if symbols.ends[U(n)]:
                _add(block.result - 1, np.int64(1), np.int64(1), made, exact, floats, words)


@inlined
def _write(record, exact, count, x, y, floats, words):
    if exact:
        words[U(2 * record)] = x
        words[U(2 * record + 1)] = y
    else:
        floats[U(record)] = count


@inlined
def _add(tree, p, size, of, exact, floats, words):
    """Add a record to those of a tree's ranks that cover rank ``p``."""
    if exact:
        while p <= size:
            x, y = summed(words[U(2 * of)], words[U(2 * of + 1)], 2 * (tree + p), words)
            words[U(2 * (tree + p))] = x
            words[U(2 * (tree + p) + 1)] = y
            p += p & -p
    else:
        count = floats[U(of)]
        while p <= size:
            floats[U(tree + p)] += count
            p += p & -p
