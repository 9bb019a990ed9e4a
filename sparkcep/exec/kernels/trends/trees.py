"""Sums over the events that precede one in an order, for windows one at a time: Fenwick trees, and counts alone."""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, spliced
from sparkcep.exec.kernels.conditions import U
from sparkcep.exec.kernels.trends.sums import summed
from sparkcep.exec.kernels.trends.tables import AT, FIRST, PLACE, PRECEDING, QUERY, STATE


@inlined
def standing_before(c, at, block, ways, scratch):
    """Where the tree that a row reads for class ``c`` begins (its record of place p is at + p), and how many places
    are before the row."""
    row, o = scratch.places.row, ways.order[U(c)]
    tree = block.trees + ways.tree[U(c)] * scratch.lists.room - 1 + np.int64(row[U(o), U(PLACE * at + QUERY)])
    return tree, np.int64(row[U(o), U(PLACE * at + PRECEDING)])


@inlined
def entering(c, at, block, ways, scratch):
    """Where the tree that a row goes into begins, its place, and the tree's size; a place beyond it where it has
    none."""
    row, o = scratch.places.row, ways.order[U(c)]
    place = np.int64(row[U(o), U(PLACE * at + AT)])
    if place < 0:
        return np.int64(0), np.int64(1), np.int64(0)
    first = np.int64(row[U(o), U(PLACE * at + FIRST)])
    tree = block.trees + ways.tree[U(c)] * scratch.lists.room - 1 + first
    return tree, place - first + 1, np.int64(scratch.places.size[U(o), U(first)])


@spliced
def walk_trees(block, trends, events, scratch):
    """One count alone, in doubles or exact: the record of number r is a double, or two words."""
    letters, ways, bits = trends.letters, trends.ways, events.masks[0]
    floats, words, exact = scratch.sums.floats, scratch.sums.words, not trends.fields.plain
    first = block.base + block.low
    for at in range(block.after - block.low):
        letter = np.int64(bits[U(first + at)] & letters.mask)
        low, high = letters.start[U(letter)], letters.start[U(letter + 1)]
        for n in range(low, high):
            count, x, y = letters.begins[U(n)], np.uint64(letters.begins[U(n)]), np.uint64(0)
            for q in range(letters.source_start[U(n)], letters.source_start[U(n + 1)]):
                c = np.int64(letters.source[U(q)])
                # A sum is read as a tree of one place.
                tree, p = c - 1, np.int64(1)
                if ways.kind[U(c)] != STATE:
                    tree, p = standing_before(c, at, block, ways, scratch)
                if exact:
                    while p > 0:
                        x, y = summed(x, y, 2 * (tree + p), words)
                        p &= p - 1
                else:
                    while p > 0:
                        count += floats[U(tree + p)]
                        p &= p - 1
            _write(letters.made[U(n)], exact, count, x, y, floats, words)
        for n in range(low, high):
            made = letters.made[U(n)]
            for k in range(letters.into_start[U(n)], letters.into_start[U(n + 1)]):
                c = letters.into[U(k)]
                tree, p, size = c - 1, np.int64(1), np.int64(1)
                if ways.kind[U(c)] != STATE:
                    tree, p, size = entering(c, at, block, ways, scratch)
                _add(tree, p, size, made, exact, floats, words)
            if letters.ends[U(n)]:
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
    """Add a record to those of a tree's places that cover place ``p``."""
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
