"""Predecessors one after the other, for edges that neither one sum nor a tree serves: the comparisons first, each over
all candidates that are left, without a branch that a processor could guess wrongly."""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, inner
from sparkcep.exec.kernels.conditions.codes import U
from sparkcep.exec.kernels.trends.tables import EQUAL, GREATER, LESS

_MIN, _MAX = np.int64(-(2**63)), np.int64(2**63 - 1)


@inlined
def _standing(k, after, classes, events):
    """The keys of events before that comparison ``k`` lets stand before a row, as the least and how many beyond it;
    the flag says that there are none."""
    b = classes.compare[U(3 * k + 1)] * events.rows + after
    y, outcomes = events.keys[U(b)], classes.compare[U(3 * k + 2)]
    none = events.key_nulls[U(b)] != 0
    low, high = _MIN, _MAX
    if not outcomes & LESS:
        none |= not outcomes & EQUAL and y == _MAX
        low = y if outcomes & EQUAL or none else y + 1
    if not outcomes & GREATER:
        none |= not outcomes & EQUAL and y == _MIN
        high = y if outcomes & EQUAL or none else y - 1
    return none, np.uint64(low), np.uint64(high) - np.uint64(low)


@inner
def compared_candidates(c, stored, begin, end, first, after, classes, events, lists):
    """Write those of a state's events ``lists.row[stored, begin:end]`` that all comparisons of class ``c`` let stand
    before a row into ``lists.candidates``, as places in that list; NULL compares with nothing.

    Args:
        first: the batch's row that rows of the list count from. after: the row of the batch.

    Returns:
        How many there are.
    """
    left = end - begin
    for n in range(left):
        lists.candidates[U(n)] = begin + n
    for k in range(classes.compare_start[U(c)], classes.compare_start[U(c + 1)]):
        none, low, span = _standing(k, after, classes, events)
        if none:
            return np.int64(0)
        a = classes.compare[U(3 * k)] * events.rows + first
        kept = np.int64(0)
        for n in range(left):
            place = lists.candidates[U(n)]
            row = U(a + lists.row[U(stored), U(place)])
            lists.candidates[U(kept)] = place
            kept += np.int64((np.uint64(events.keys[row]) - low <= span) & (events.key_nulls[row] == 0))
        left = kept
    return left
