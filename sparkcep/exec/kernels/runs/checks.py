"""Whether a run may take a row, or end: match-dependent conditions and negations, as soon as they can be decided."""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, inner, spliced
from sparkcep.exec.kernels.conditions.aggregates import advance, retreat
from sparkcep.exec.kernels.conditions.codes import U
from sparkcep.exec.kernels.conditions.machine import holds
from sparkcep.exec.kernels.runs.graph import sees
from sparkcep.exec.kernels.runs.spans import NEVER, SAFE, precheck
from sparkcep.exec.kernels.statuses import FALSE, TRUE

CHECK_WIDTH = 10

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


@inner
def none_between(bits, depth, i, j, strict, partition, walk):
    """Whether no event between rows ``i`` and ``j`` is one of these dependent negations' (one component each).

    ``depth``: frames taken before such an event. O(rows between x checks) for each negation.

    Returns:
        TRUE, FALSE, or the status of the first condition that fails with an error.
    """
    machine, work = walk.machine, walk.work
    x = 0
    while bits:
        if bits & np.uint64(1):
            c = machine.automata[3 * (x + 1) + 2]
            k = np.int64(work.next_row[c, (np.int64(work.last_equal[i]) if i >= 0 else np.int64(-1)) + 1])
            while k < j and not (strict and work.last_equal[k] >= j):
                advance(c, k, partition.base, walk.conditions, walk.columns, walk.search)
                result = passes(machine.negation_group[U(x)], depth, k, partition, walk)
                retreat(c, walk.conditions, walk.search)
                if result == TRUE:
                    return FALSE
                if result != FALSE:
                    return result
                k = np.int64(work.next_row[c, k + 1])
        bits >>= np.uint64(1)
        x += 1
    return TRUE


@inner
def passes(group, depth, row, partition, walk):
    """Test a group of checks on a row that its registers have seen, each as soon as it can be decided.

    ``depth``: frames taken before the row. A check with a register to go through is tested for each of its events.

    Returns:
        TRUE, FALSE, or the status of the first check that fails with an error.
    """
    checks, conditions, columns, frames, search = walk.checks, walk.conditions, walk.columns, walk.frames, walk.search
    base, rows = partition.base, partition.rows
    counts = search.counts
    for k in range(checks.group_start[U(group)], checks.group_start[U(group + 1)]):
        at = U(CHECK_WIDTH * k)
        program = checks.checks[at]
        count = counts[U(checks.checks[at + U(1)])]
        minimum = checks.checks[at + U(2)]
        if count < minimum or (checks.checks[at + U(3)] and count > 1):
            continue
        none = checks.checks[at + U(9)]
        vacuous = none >= 0 and counts[U(max(none, 0))] > 0
        for r in range(checks.checks[at + U(5)], checks.checks[at + U(6)]):
            vacuous |= counts[U(checks.required[U(r)])] == 0
        low, high = checks.checks[at + U(7)], checks.checks[at + U(8)]
        if low < high:
            vacuous = True
            before = walk.machine.state_component[U(frames.state[U(depth)])] if depth > 0 else np.int64(-1)
            for r in range(low, high):
                if checks.after[U(r)] == before:
                    vacuous = False
        if vacuous:
            continue
        known = precheck(program, row, base, checks, columns, walk.work, frames)
        if known == SAFE:
            continue
        if known == NEVER:
            return FALSE
        # Without a register to go through, or with an empty one, the first round is the only one.
        each = checks.checks[at + U(4)]
        register = U(max(each, 0))
        whole = counts[register]
        seen = min(max(minimum, 1), whole) if each >= 0 else whole
        while seen <= whole:
            counts[register] = seen
            result = holds(program, row, base, rows, frames.edge[0], conditions, columns, search)
            if result != TRUE:
                counts[register] = whole
                return result
            seen += 1
        counts[register] = whole
    return TRUE
