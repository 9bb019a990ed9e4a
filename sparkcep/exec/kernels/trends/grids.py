"""Sums over the events that precede one in two orders at once: a Fenwick tree over the first order's ranks, each node
of which is a Fenwick tree over the second order's ranks of its events (range trees; Bentley 1979, Fenwick 1994).

All keys of a block are known before its first event is taken, so a node holds its own events' ranks, sorted, and needs
as many records as it has events: n log n in all. What precedes an event is log n nodes, and log n records of each.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, inner
from sparkcep.exec.kernels.conditions.codes import U
from sparkcep.exec.kernels.trends.tables import AT, FIRST, PRECEDING, QUERY, RANK_WIDTH


@inner
def lay_out(g, count, grids, scratch):
    """Make the nodes of grid ``g`` for the ``count`` rows of a block, whose ranks in both orders are known: node p of a
    tree has the ranks from p - (p & -p) on."""
    x, y = scratch.ranks.row[U(grids.order[g])], scratch.ranks.row[U(grids.second[g])]
    size, nodes = scratch.ranks.size[U(grids.order[g])], scratch.nodes
    known = np.int64(0)
    for i in range(count):
        nodes.by_second[U(i)] = -1
        nodes.filled[U(g), U(i)] = 0
        if x[U(RANK_WIDTH * i + AT)] >= 0:
            known += 1
    total = np.int64(0)
    tree = np.int64(0)
    while tree < known:
        for p in range(1, size[U(tree)] + 1):
            nodes.start[U(g), U(tree + p - 1)] = total
            total += p & -p
        tree += size[U(tree)]
    nodes.used[U(g)] = total
    for i in range(count):
        rank = y[U(RANK_WIDTH * i + AT)]
        if rank >= 0:
            nodes.by_second[U(rank)] = i
    for rank in range(count):
        own = np.int64(nodes.by_second[U(rank)])
        if own < 0 or x[U(RANK_WIDTH * own + AT)] < 0:
            continue
        tree = np.int64(x[U(RANK_WIDTH * own + FIRST)])
        p = x[U(RANK_WIDTH * own + AT)] - tree + 1
        while p <= size[U(tree)]:
            node = U(tree + p - 1)
            filled = nodes.filled[U(g), node]
            nodes.rank[U(g), U(nodes.start[U(g), node] + filled)] = rank
            nodes.filled[U(g), node] = filled + 1
            p += p & -p


@inlined
def _below(g, start, filled, rank, nodes):
    """How many of a node's events have a lower rank in the second order."""
    low, high = np.int64(0), np.int64(filled)
    while low < high:
        middle = (low + high) >> 1
        if nodes.rank[U(g), U(start + middle)] < rank:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _first_record(c, block, classes, scratch):
    return block.grids + classes.tree[U(c)] * scratch.nodes.room


@inner
def standing_before_both(c, at, block, classes, grids, scratch):
    """Write the records that class ``c`` holds of what precedes a row in both orders into ``nodes.path``; returns how
    many."""
    g, nodes, row = classes.grid[U(c)], scratch.nodes, scratch.ranks.row
    x, y = U(grids.order[g]), U(grids.second[g])
    records = _first_record(c, block, classes, scratch)
    tree, p = np.int64(row[x, U(RANK_WIDTH * at + QUERY)]), np.int64(row[x, U(RANK_WIDTH * at + PRECEDING)])
    below = np.int64(row[y, U(RANK_WIDTH * at + PRECEDING)])
    used = np.int64(0)
    while p > 0 and below > 0:
        node = U(tree + p - 1)
        start = np.int64(nodes.start[U(g), node])
        q = _below(g, start, nodes.filled[U(g), node], below, nodes)
        while q > 0:
            nodes.path[U(used)] = records + start + q - 1
            used += 1
            q &= q - 1
        p &= p - 1
    return used


@inner
def entering_both(c, at, block, classes, grids, scratch):
    """Write the records of class ``c`` that a row becomes part of into ``nodes.path``; returns how many: none where a
    key is NULL."""
    g, nodes, row = classes.grid[U(c)], scratch.nodes, scratch.ranks.row
    x, y = U(grids.order[g]), U(grids.second[g])
    records = _first_record(c, block, classes, scratch)
    used = np.int64(0)
    rank = np.int64(row[y, U(RANK_WIDTH * at + AT)])
    if row[x, U(RANK_WIDTH * at + AT)] < 0 or rank < 0:
        return used
    tree = np.int64(row[x, U(RANK_WIDTH * at + FIRST)])
    p, size = row[x, U(RANK_WIDTH * at + AT)] - tree + 1, np.int64(scratch.ranks.size[x, U(tree)])
    while p <= size:
        node = U(tree + p - 1)
        start, filled = np.int64(nodes.start[U(g), node]), np.int64(nodes.filled[U(g), node])
        q = _below(g, start, filled, rank, nodes) + 1
        while q <= filled:
            nodes.path[U(used)] = records + start + q - 1
            used += 1
            q += q & -q
        p += p & -p
    return used
