"""Merging of equivalent runs: what one run has skipped, an equivalent one need not look at again."""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined
from sparkcep.exec.kernels.conditions.codes import U

#: Most values that conditions of a state may look at for its runs to be merged.
WORDS = 4
#: What is looked at: a register's first or last row (with an offset), how many rows it has (up to a number), an
#: aggregate's count and its value.
FIRST_ROW, LAST_ROW, SIZE, AGGREGATE_COUNT, AGGREGATE_VALUE = range(5)


@inlined
def looked_at(node, merging, conditions, search):
    """Fill ``merging.words`` with what the conditions of a state's edges look at now."""
    counts = search.counts
    for k in range(merging.low[node], merging.high[node]):
        kind = merging.reads[U(4 * k)]
        a, b = merging.reads[U(4 * k + 1)], merging.reads[U(4 * k + 2)]
        word = np.int64(-1)
        if kind == SIZE:
            word = min(counts[a], b)
        elif kind <= LAST_ROW:
            if b < counts[a]:
                place = b if kind == FIRST_ROW else counts[a] - 1 - b
                word = search.occurrences[U(a * search.rows + place)]
        else:
            at = a * search.rows + max(counts[conditions.aggregates[U(3 * a + 1)]] - b, 0)
            word = search.agg_n[U(at)] if kind == AGGREGATE_COUNT else search.agg_v[U(at)]
            if kind == AGGREGATE_VALUE and search.agg_n[U(at)] <= 0:
                word = np.int64(0)
        merging.words[k - merging.low[node]] = word


@inlined
def first_to_look_at(node, row, merging, conditions, search):
    """The first row that is not known to be skipped by a run in this state after ``row``; 0: all are unknown."""
    if not merging.on or merging.high[node] < merging.low[node] or merging.known[node, row, 0] == 0:
        return np.int64(0)
    looked_at(node, merging, conditions, search)
    for k in range(merging.high[node] - merging.low[node]):
        if merging.known[node, row, 1 + k] != merging.words[k]:
            return np.int64(0)
    return merging.known[node, row, 0]


@inlined
def remember(node, row, first, merging, conditions, search):
    """Note that a run in this state after ``row`` skips all rows before ``first``."""
    if not merging.on or merging.high[node] < merging.low[node]:
        return
    looked_at(node, merging, conditions, search)
    merging.known[node, row, 0] = first
    for k in range(merging.high[node] - merging.low[node]):
        merging.known[node, row, 1 + k] = merging.words[k]
