"""What match-independent conditions alone decide: from which (row, position) a match can still be completed.

Rows after an open end are unknown: whatever would need them may be.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inner, kernel
from sparkcep.exec.kernels.conditions.codes import U

ACCEPT = -1
NONE = np.int64(2**62)


@inner
def _holds(label, row, masks, automaton):
    bit = automaton.test_bit[U(label)]
    return bit < 0 or (masks[U(automaton.test_word[U(label)]), U(row)] >> np.uint64(bit)) & np.uint64(1) != 0


@inner
def viability(base, rows, is_open, masks, automaton, viable):
    """Fill ``viable`` (rows + 1, words): bit p of row r, a match can be completed by taking r at position p."""
    followers, accepts, labels = automaton.followers, automaton.accepts, automaton.labels
    words = followers.shape[1]
    for w in range(words):
        viable[U(rows), U(w)] = ~np.uint64(0) if is_open else np.uint64(0)
    for r in range(rows - 1, -1, -1):
        p = 0
        for w in range(words):
            taken = np.uint64(0)
            bit = np.uint64(1)
            stop = min(p + 64, labels.shape[0])
            while p < stop:
                if _holds(labels[U(p)], base + r, masks, automaton):
                    good = accepts[U(p)] == 1 or (accepts[U(p)] == 2 and r == rows - 1)
                    v = 0
                    while not good and v < words:
                        good = followers[U(p), U(v)] & viable[U(r + 1), U(v)] != 0
                        v += 1
                    if good:
                        taken |= bit
                bit <<= np.uint64(1)
                p += 1
            viable[U(r), U(w)] = taken


@kernel
def earliest_ends(base, rows, is_open, masks, automaton, ends):
    """Fill ``ends`` (rows + 1, positions): last row of the shortest completion that takes r at p, or NONE.

    Completions across an open end end at row ``rows``.
    """
    edge_start, edge_target = automaton.edge_start, automaton.edge_target
    accepts, labels = automaton.accepts, automaton.labels
    positions = labels.shape[0]
    for p in range(positions):
        ends[U(rows), U(p)] = rows if is_open else NONE
    for r in range(rows - 1, -1, -1):
        for p in range(positions):
            best = NONE
            if _holds(labels[U(p)], base + r, masks, automaton):
                if accepts[U(p)] == 1 or (accepts[U(p)] == 2 and r == rows - 1):
                    best = np.int64(r)
                else:
                    for e in range(edge_start[U(p)], edge_start[U(p + 1)]):
                        if edge_target[U(e)] != ACCEPT and ends[U(r + 1), U(edge_target[U(e)])] < best:
                            best = ends[U(r + 1), U(edge_target[U(e)])]
            ends[U(r), U(p)] = best


@inner
def can_take(p, r, use_within, limit, viable, ends):
    """Whether a match that takes row r at position p can be completed, by row ``limit`` under WITHIN."""
    if use_within:
        return ends[U(r), U(p)] <= limit
    return (viable[U(r), U(p >> 6)] >> np.uint64(p & 63)) & np.uint64(1) != 0
