"""The run of a start row that came closest to a match before its window ended: MATCHES ... WITH TIMED OUT.

A run times out where its start row has no match and it could still go on when WITHIN has passed: no event it had to
take was left, and no negation stands between its last event and the next. Of those, the one that fewest events are
missing from is shown; among equals the preferred one (docs/patterns.md).
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, inner, spliced
from sparkcep.exec.kernels.conditions.aggregates import advance, retreat
from sparkcep.exec.kernels.conditions.codes import U
from sparkcep.exec.kernels.rows.output import FLAGS, WAITING
from sparkcep.exec.kernels.runs.checks import asks, decided_since, takes
from sparkcep.exec.kernels.runs.gaps import none_between
from sparkcep.exec.kernels.runs.graph import ACCEPT, sees
from sparkcep.exec.kernels.runs.progress import DEPTH, STAYED, STEPS, TAKEN, USED
from sparkcep.exec.kernels.runs.selections import NEXT, STRICT
from sparkcep.exec.kernels.statuses import FALSE, OK, STACK_FULL, TOO_MANY_STEPS, TRUE

_NONE = np.uint64(0)
#: More events than any pattern asks for.
NO_RUN = 2**31 - 1


@inner
def closest_run(start, partition, walk, closest, progress):
    """Search a start row's runs that time out for the one that is closest to a match.

    Frames 1 to ``progress[DEPTH]`` hold it then, -1 where there is none, and ``closest.waiting`` the component that it
    lacks next. Runs are walked depth first in order of preference, without asking whether a match can be completed; the
    walk ends with the first run that no other can come closer than (``_least_missing``). Like the search for matches it
    may otherwise have to look at exponentially many.

    Invariant: frames 1 to ``depth`` hold a run whose events the registers have seen; ``closest`` holds the best of the
    runs that were given back.

    Returns:
        A status; after STACK_FULL the start row is searched again.
    """
    machine, frames, counts = walk.machine, walk.frames, walk.search.counts
    attainable = _least_missing(start, machine, walk.work, closest)
    best, length = np.int64(NO_RUN), np.int64(-1)
    for g in range(counts.shape[0]):
        counts[g] = 0
    frames.candidate[0] = -1
    depth = np.int64(0)
    steps = progress[STEPS]
    status = np.int64(OK)
    while depth >= 0 and best > attainable:
        steps += 1
        if steps > walk.strategy.max_steps:
            status = np.int64(TOO_MANY_STEPS)
            break
        node = frames.state[U(depth)]
        if frames.candidate[U(depth)] < 0 or frames.cursor[U(depth)] >= machine.edge_start[U(node + 1)]:
            j, stands = _next_row(depth, start, walk.strategy.selection, machine, walk.work, frames)
            if j <= start.limit:
                frames.candidate[U(depth)] = j
                frames.cursor[U(depth)] = machine.edge_start[U(node)]
                frames.taken[U(depth)] = 0
                continue
            if stands:
                missing = _missing(depth, start.limit, partition, walk, closest)
                if missing < 0:
                    status = -missing
                    break
                if missing < best:
                    best, length = missing, depth
                    _keep(depth, frames, closest)
            if depth > 0:
                retreat(machine.state_component[U(node)], walk.conditions, walk.search)
            depth -= 1
        elif depth + 2 >= frames.state.shape[0]:
            progress[DEPTH] = depth
            return STACK_FULL
        else:
            result = _try_edge(depth, partition, walk)
            if result == TRUE:
                depth += 1
            elif result != FALSE:
                status = result
                break
    progress[STEPS] = steps
    for d in range(1, length + 1):
        frames.state[d] = closest.state[d]
        frames.row[d] = closest.row[d]
    progress[DEPTH] = length
    return status


@spliced
def _keep(depth, frames, closest):
    """Keep a run as the closest so far, with what it waits for."""
    closest.waiting[0] = closest.waiting[1]
    for d in range(1, depth + 1):
        closest.state[d] = frames.state[d]
        closest.row[d] = frames.row[d]


@spliced
def _try_edge(depth, partition, walk):
    """Try a run's next edge on its row; what it takes is in the frame behind.

    Returns:
        TRUE, FALSE, or the status of a condition that fails.
    """
    machine, work, frames = walk.machine, walk.work, walk.frames
    e, j = frames.cursor[U(depth)], frames.candidate[U(depth)]
    frames.cursor[U(depth)] = e + 1
    target, component = machine.target[U(e)], machine.component[U(e)]
    if target == ACCEPT or work.next_row[component, j] != j:
        return np.int64(FALSE)
    # A leading negation looks back from where the match ends, and these do not end.
    if depth > 0 and not sees(machine.absent[U(e)], machine.present[U(e)], frames.row[U(depth)], j, work):
        return np.int64(FALSE)
    advance(component, j, partition.base, walk.conditions, walk.columns, walk.search)
    frames.row[U(depth + 1)] = j
    frames.edge[U(depth + 1)] = e
    frames.state[U(depth + 1)] = target
    result = np.int64(TRUE)
    if asks(e, machine, walk.checks):
        result = np.int64(takes(e, depth, j, partition, walk))
    if result == TRUE:
        frames.taken[U(depth)] |= TAKEN if machine.ends[U(e)] else TAKEN | STAYED
        frames.candidate[U(depth + 1)] = -1
    else:
        retreat(component, walk.conditions, walk.search)
    return result


@inner
def _least_missing(start, machine, work, closest):
    """The fewest events that a run from a start row may lack, as far as match-independent conditions tell.

    O(states x edges x rounds); a round brings every state's earliest row nearer to where it can be.
    """
    start_node = machine.automata[1]
    for s in range(start_node):
        closest.reached[s] = start.limit + 1
    changed = True
    while changed:
        changed = False
        for s in range(start_node + 1):
            if s < start_node and closest.reached[s] > start.limit:
                continue
            after = start.row if s == start_node else closest.reached[s] + 1
            for e in range(machine.edge_start[U(s)], machine.edge_start[U(s + 1)]):
                target = machine.target[U(e)]
                if target != ACCEPT:
                    j = np.int64(work.next_row[machine.component[U(e)], after])
                    if j < closest.reached[target] and (s < start_node or j == start.row):
                        closest.reached[target] = j
                        changed = True
    least = np.int64(NO_RUN)
    for s in range(start_node):
        if closest.reached[s] <= start.limit:
            # Where a run may end it has done so, or lacks one event at least.
            least = min(least, max(np.int64(closest.missing[s]), np.int64(1)))
    return least


@inlined
def _next_row(depth, start, selection, machine, work, frames):
    """The next row to look at, above the limit where there is none; and whether the run stands there to the end."""
    limit = start.limit
    j = frames.candidate[U(depth)]
    if depth == 0:
        return (start.row if j < 0 else limit + 1), False
    node, i = frames.state[U(depth)], frames.row[U(depth)]
    if selection == STRICT:
        if i == limit:
            return limit + 1, True
        return (i + 1 if j < 0 and work.last_equal[i] == i else limit + 1), False
    if selection == NEXT and j >= 0 and frames.taken[U(depth)] >= STAYED:
        return limit + 1, False
    first = np.int64(work.last_equal[i]) + 1 if j < 0 else j + 1
    best = limit + 1
    if first <= limit:
        for e in range(machine.edge_start[U(node)], machine.edge_start[U(node + 1)]):
            if machine.target[U(e)] != ACCEPT:
                at = np.int64(work.next_row[machine.component[U(e)], first])
                if at < best and sees(machine.absent[U(e)], _NONE, i, at, work):
                    best = at
    return best, True


@inner
def _missing(depth, limit, partition, walk, closest):
    """How many events a run lacks that stands at its window's end; ``closest.waiting[1]`` is the component of the next.

    Returns:
        NO_RUN where negations leave it no way on; less than 0: the negative status of a condition that fails.
    """
    machine, frames = walk.machine, walk.frames
    best = np.int64(NO_RUN)
    node, i = frames.state[U(depth)], frames.row[U(depth)]
    for e in range(machine.edge_start[U(node)], machine.edge_start[U(node + 1)]):
        target = machine.target[U(e)]
        if target == ACCEPT or 1 + closest.missing[target] >= best:
            continue
        if not sees(machine.absent[U(e)], machine.present[U(e)], i, limit + 1, walk.work):
            continue
        decided = _NONE
        dependent = machine.absent[U(e)] & np.uint64(machine.dependent)
        for x in range(machine.negation_group.shape[0] - 1):
            bit = np.uint64(1) << np.uint64(x)
            if dependent & bit and decided_since(x, depth, walk) <= i:
                decided |= bit
        if decided:
            result = none_between(decided, depth, i, limit + 1, 0, partition, walk)
            if result == FALSE:
                continue
            if result != TRUE:
                return -result
        best = 1 + closest.missing[target]
        closest.waiting[1] = machine.component[U(e)]
    return best


@inlined
def mark_waiting(out, first, progress, closest):
    """Note in the output rows from ``first`` on that their run waited for a component."""
    for at in range(first, progress[USED]):
        out[at, FLAGS] |= (closest.waiting[0] + 1) * WAITING
