"""Negations whose conditions depend on the match: whether the events between two rows of a run match one.

What a condition reads of a negation's events is in the registers while it is tested, as if the run had taken them: a
negation of several events is walked depth first, its events on the frames behind the run's.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inner, spliced
from sparkcep.exec.kernels.conditions.aggregates import advance, retreat
from sparkcep.exec.kernels.conditions.codes import U
from sparkcep.exec.kernels.runs.graph import ACCEPT, sees
from sparkcep.exec.kernels.runs.passes import passes
from sparkcep.exec.kernels.statuses import FALSE, TOO_MANY_STEPS, TRUE

_NONE = np.uint64(0)
#: A row, or a component, that there is none of.
NOWHERE = 2**40
WAITS, FILLED = 1, 2


@inner
def none_between(bits, depth, i, j, strict, partition, walk):
    """Whether no events between rows ``i`` and ``j`` match one of these dependent negations.

    ``depth``: frames taken before such an event.

    Returns:
        TRUE, FALSE, or the status of the first condition that fails with an error.
    """
    x = 0
    while bits:
        if bits & np.uint64(1):
            if walk.machine.automata[3 * (x + 1) + 2] >= 0:
                result = _one_between(x, depth, i, j, strict, partition, walk)
            else:
                result = first_match(x, depth, i, j, strict, True, partition, walk)[0]
            if result == TRUE:
                return FALSE
            if result != FALSE:
                return result
        bits >>= np.uint64(1)
        x += 1
    return TRUE


@spliced
def _one_between(x, depth, i, j, strict, partition, walk):
    """Whether an event between rows ``i`` and ``j`` is that of negation ``x``, which has one component. O(rows between
    x checks).

    Returns:
        TRUE, FALSE, or the status of the first condition that fails with an error.
    """
    machine, work = walk.machine, walk.work
    c = machine.automata[3 * (x + 1) + 2]
    k = np.int64(work.next_row[c, _behind(i, work)])
    while k < j and not (strict and work.last_equal[k] >= j):
        advance(c, k, partition.base, walk.conditions, walk.columns, walk.search)
        result = passes(machine.negation_group[U(x)], depth, k, partition, walk)
        retreat(c, walk.conditions, walk.search)
        if result != FALSE:
            return result
        k = np.int64(work.next_row[c, k + 1])
    return FALSE


@inner
def _behind(i, work):
    """The first row that may follow a row; -1: none is before it."""
    return (np.int64(work.last_equal[i]) if i >= 0 else np.int64(-1)) + 1


@inner
def first_match(x, depth, i, j, strict, any_, partition, walk):
    """The row between ``i`` and ``j`` with which events there first match negation ``x``, of several components.

    Depth first; an event may be left out, whatever comes (SKIP TILL ANY MATCH). What the frames above ``depth`` hold is
    lost. Invariant: their events are in the registers.

    Args:
        any_: whether the first match that is found will do.

    Returns:
        TRUE, FALSE, or the status of the first condition that fails with an error; the row.
    """
    machine, work, frames = walk.machine, walk.work, walk.frames
    start = machine.automata[3 * (x + 1) + 1]
    row = np.int64(NOWHERE)
    d = depth
    e, k = machine.edge_start[U(start)], np.int64(-1)
    status = np.int64(FALSE)
    steps = np.int64(0)
    while True:
        node = start if d == depth else frames.state[U(d)]
        last = i if d == depth else frames.row[U(d)]
        deeper = False
        while e < machine.edge_start[U(node + 1)]:
            accept = np.int64(-1)
            c = machine.component[U(e)]
            if machine.target[U(e)] == ACCEPT:
                accept = e
                result = np.int64(TRUE)
            else:
                k = np.int64(work.next_row[c, _behind(last, work) if k < 0 else k + 1])
                if k >= j or k > row or (strict and work.last_equal[k] >= j):
                    e, k = e + 1, np.int64(-1)
                    continue
                steps += 1
                if steps > walk.strategy.max_steps:
                    status = np.int64(TOO_MANY_STEPS)
                    break
                frames.edge[U(d + 1)], frames.row[U(d + 1)], frames.state[U(d + 1)] = e, k, machine.target[U(e)]
                advance(c, k, partition.base, walk.conditions, walk.columns, walk.search)
                result = passes(machine.group[U(e)], d, k, partition, walk)
            if result == TRUE:
                result = _free(accept, depth, d + (accept < 0), i, j, strict, partition, walk)
            if accept < 0 and result != TRUE:
                retreat(c, walk.conditions, walk.search)
            if result != TRUE and result != FALSE:
                status = result
                break
            if accept < 0 and result == TRUE:
                d += 1
                e, k = machine.edge_start[U(machine.target[U(e)])], np.int64(-1)
                deeper = True
                break
            if accept >= 0:
                if result == TRUE:
                    row, status = min(row, last), np.int64(TRUE)
                    if any_:
                        break
                e, k = e + 1, np.int64(-1)
        if deeper:
            continue
        # The frame behind the last event has no way left: go back by one, or by all.
        over = d == depth or (status != FALSE and (any_ or status != TRUE))
        low = depth if over else d - 1
        while d > low:
            e, k = frames.edge[U(d)], frames.row[U(d)]
            retreat(machine.component[U(e)], walk.conditions, walk.search)
            d -= 1
        if over:
            return status, row


@inner
def _free(accept, depth, d, i, j, strict, partition, walk):
    """Whether the negations within a negation leave its events so far, up to frame ``d``, as they are: those stepped
    over and those before that wait for what they name. On accepting all are decided that still wait.

    ``accept``: an accepting edge, -1: the event of frame ``d`` has just been taken.

    Returns:
        TRUE, FALSE, or the status of the first condition that fails with an error.
    """
    machine, frames = walk.machine, walk.frames
    row = frames.row[U(d)]
    for f in range(depth + 1, d + 1 if accept < 0 else d + 2):
        e = frames.edge[U(f)] if f <= d else accept
        before = frames.row[U(f - 1)] if f - 1 > depth else i
        until = frames.row[U(f)] if f <= d else j
        newest = f > d or (accept < 0 and f == d)
        if newest and not sees(machine.absent[U(e)], machine.present[U(e)], before, until, walk.work):
            return FALSE
        bits = machine.absent[U(e)] & np.uint64(machine.dependent)
        x = 0
        while bits:
            if bits & np.uint64(1):
                waits = _waits(x, row, walk)
                if accept < 0:
                    now = waits == FILLED or (newest and waits != WAITS)
                else:
                    now = newest or waits == WAITS
                if now:
                    result = _one_between(x, d, before, until, strict, partition, walk)
                    if result != FALSE:
                        return FALSE if result == TRUE else result
            bits >>= np.uint64(1)
            x += 1
    return TRUE


@inner
def _waits(x, row, walk):
    """What negation ``x`` waits for: WAITS where one of its registers is empty, FILLED where the last of them has been
    filled by a row that was just taken, else 0."""
    machine, search = walk.machine, walk.search
    filled = np.int64(0)
    for k in range(machine.required_start[U(x)], machine.required_start[U(x + 1)]):
        g = machine.required[U(k)]
        if search.counts[U(g)] == 0:
            return np.int64(WAITS)
        if search.occurrences[U(g * search.rows)] == row:
            filled = np.int64(FILLED)
    return filled
