"""Whether a run may take a row, or end: match-dependent conditions and negations, as soon as they can be decided."""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, inner, spliced
from sparkcep.exec.kernels.conditions.codes import U
from sparkcep.exec.kernels.runs.gaps import none_between
from sparkcep.exec.kernels.runs.graph import sees
from sparkcep.exec.kernels.runs.passes import passes
from sparkcep.exec.kernels.statuses import FALSE, TRUE

_NONE = np.uint64(0)
NEVER_DECIDED = 2**62


@spliced
def asks(e, machine, checks):
    """Whether an edge asks for more than its component: to find that it does not is cheaper than to call."""
    group = machine.group[U(e)]
    if checks.group_start[U(group)] < checks.group_start[U(group + 1)] or machine.dependent:
        return True
    return machine.absent[U(e)] | machine.present[U(e)] | machine.deferred[U(e)] != _NONE


@spliced
def takes(e, depth, row, partition, walk):
    """Whether an edge may take a row, which its registers have seen: its checks and dependent negations.

    Returns:
        TRUE, FALSE, or the status of the first condition that fails with an error.
    """
    machine = walk.machine
    result = passes(machine.group[U(e)], depth, row, partition, walk)
    if result != TRUE:
        return result
    at_once = depth > 0 or walk.strategy.leading
    closed = machine.absent[U(e)] & np.uint64(machine.dependent) if at_once else _NONE
    bits = closed | machine.deferred[U(e)]
    if bits:
        now, newly = _NONE, _NONE
        for x in range(machine.negation_group.shape[0] - 1):
            bit = np.uint64(1) << np.uint64(x)
            if bits & bit:
                since = decided_since(x, depth + 1, walk)
                if since == row:
                    newly |= bit
                elif since < row:
                    now |= bit & closed
        if now:
            i = walk.frames.row[U(depth)]
            result = none_between(now, depth + 1, i, row, walk.strategy.strict, partition, walk)
            if result != TRUE:
                return result
        if newly:
            return _deferred_hold(newly, depth + 1, partition, walk)
    return TRUE


@inner
def decided_since(x, depth, walk):
    """The row that was taken when all that a dependent negation waits for was there, or could not come any more.

    ``depth``: frames of the run. -1: it waits for nothing; NEVER_DECIDED: it waits still. O(what it waits for), and
    the run's length where something cannot come.
    """
    machine, frames, search = walk.machine, walk.frames, walk.search
    since = np.int64(-1)
    for k in range(machine.required_start[U(x)], machine.required_start[U(x + 1)]):
        g = machine.required[U(k)]
        if search.counts[U(g)] > 0:
            since = max(since, search.occurrences[U(g * search.rows)])
            continue
        d = depth
        while d > 0 and not machine.ahead[frames.state[U(d)], g]:
            d -= 1
        if d == depth:
            return np.int64(NEVER_DECIDED)
        since = max(since, frames.row[U(d + 1)])
    return since


@inner
def _deferred_hold(bits, depth, partition, walk):
    """Negations of all gaps so far, now that what their conditions read has been taken, or never will be.

    O(rows of the match x checks) for each negation.
    """
    frames = walk.frames
    for d in range(1 if walk.strategy.leading else 2, depth + 1):
        now = walk.machine.absent[U(frames.edge[U(d)])] & bits
        if now:
            i = frames.row[U(d - 1)]  # -1: before the first event
            j = frames.row[U(d)]
            result = none_between(now, depth, i, j, walk.strategy.strict, partition, walk)
            if result != TRUE:
                return result
    return TRUE


@inner
def accepts(accept, depth, start, partition, walk):
    """Whether a run may end here, over an accepting edge: conditions that its last variable leaves, negations before,
    after and undecided.

    Returns:
        TRUE, FALSE, or the status of the first condition that fails with an error.
    """
    machine, work, frames = walk.machine, walk.work, walk.frames
    last = frames.row[U(depth)]
    result = passes(machine.group[U(accept)], depth, last, partition, walk)
    if result != TRUE:
        return result
    dependent = np.uint64(machine.dependent)
    first_edge = frames.edge[1]
    # Before the first event: from the partition's start, or within the interval before the last event.
    before = np.int64(work.from_row[last]) - 1 if walk.strategy.use_within else np.int64(-1)
    absent, present = machine.absent[U(first_edge)], machine.present[U(first_edge)]
    if absent or present:
        if not sees(absent, present, before, start.row, work):
            return FALSE
        now = absent & dependent
        if now and not walk.strategy.leading:
            result = none_between(now, depth, before, start.row, walk.strategy.strict, partition, walk)
            if result != TRUE:
                return result
    # After the last one: to the partition's end, or within the interval after the first event.
    if not clear_behind(accept, last, start.limit, machine, work):
        return FALSE
    if machine.absent[U(accept)]:
        now = machine.absent[U(accept)] & dependent
        if now:
            result = none_between(now, depth, last, start.limit + 1, 0, partition, walk)
            if result != TRUE:
                return result
    waiting = _NONE
    for x in range(machine.negation_group.shape[0] - 1):
        bit = np.uint64(1) << np.uint64(x)
        if dependent & bit and decided_since(x, depth, walk) == NEVER_DECIDED:
            waiting |= bit
    if waiting:
        return _deferred_hold(waiting, depth, partition, walk)
    return TRUE


@inlined
def clear_behind(accept, last, limit, machine, work):
    """Whether the negations of an accepting edge hold behind the last event, up to row ``limit``."""
    absent, present = machine.absent[U(accept)], machine.present[U(accept)]
    x = 0
    while absent or present:
        sees = work.until[x, last + 1] > limit
        if (absent & np.uint64(1) and not sees) or (present & np.uint64(1) and sees):
            return False
        absent >>= np.uint64(1)
        present >>= np.uint64(1)
        x += 1
    return True
