"""Collapsed matches (SASE++, section 5): one per start and end event, with all events that can lie between.

Per start row a forward sweep finds the (state, row) pairs that a run can reach; per end row a backward sweep keeps
those from which the end can be reached. O(rows reached x edges) per collapsed match, which is about its own size.
Conditions that a candidate satisfies or not whatever else is taken are tested on the way; the others are postponed to
whoever expands the match.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, kernel, spliced
from sparkcep.exec.kernels.conditions.aggregates import advance, retreat
from sparkcep.exec.kernels.conditions.codes import U
from sparkcep.exec.kernels.rows.output import (
    CURRENT,
    FIXED,
    FLAGS,
    LABEL,
    LAST_OF_MATCH,
    NUMBER,
    PARTITION,
    SELF,
    SLOT_WIDTH,
)
from sparkcep.exec.kernels.runs.checks import clear_behind
from sparkcep.exec.kernels.runs.graph import ACCEPT, next_taken, prepare, sees
from sparkcep.exec.kernels.runs.graph_tables import Partition, Start
from sparkcep.exec.kernels.runs.passes import passes
from sparkcep.exec.kernels.runs.progress import (
    AT_LAST,
    AT_PARTITION,
    AT_ROW,
    EMITTED,
    MATCHES,
    PREPARED,
    REACHED,
    STEPS,
    TRACED,
    USED,
)
from sparkcep.exec.kernels.runs.runs import row_limit
from sparkcep.exec.kernels.statuses import FALSE, OK, OUTPUT_FULL, TOO_MANY_ROWS, TOO_MANY_STEPS, TRUE


@kernel
def collapse_runs(emission, given, walk, sweeps, progress, buffers):
    """Collapsed matches of every partition of a batch under SKIP TILL ANY MATCH, from where ``progress`` stands.

    Args:
        emission, sweeps, buffers: see tables.py; ``Buffers.shown`` is not read. given, walk: see graph_tables.py.
        progress: (PROGRESS,) see progress.py; ``AT_LAST`` numbers the start's end to go on with.

    Returns:
        A status; OUTPUT_FULL: call again with more room.
    """
    strategy = walk.strategy
    partitions = given.offsets.shape[0] - 1
    for q in range(progress[AT_PARTITION], partitions):
        base = given.offsets[q]
        rows = given.offsets[q + 1] - base
        if not progress[PREPARED]:
            prepare(
                base, rows, given.masks, walk.machine, strategy.strict, given.within, strategy.use_within, walk.work
            )
            progress[PREPARED] = 1
            progress[REACHED] = -1
        partition = Partition(q, base, rows)
        for row in range(progress[AT_ROW], rows):
            progress[AT_ROW] = row
            if not _starts(row, walk.machine, walk.work):
                continue
            limit = row_limit(row, partition, strategy.use_within, given.within, progress)
            status = _collapse_start(Start(row, limit), partition, emission, walk, sweeps, progress, buffers)
            if status != OK:
                return status
            progress[AT_LAST] = 0
        progress[AT_PARTITION] = q + 1
        for k in (AT_ROW, MATCHES, AT_LAST, STEPS, EMITTED, PREPARED):
            progress[k] = 0
    return OK


@spliced
def _collapse_start(start, partition, emission, walk, sweeps, progress, buffers):
    """Emit the collapsed matches of a start row, end by end.

    Invariant: those of ends before number AT_LAST are in the buffers, so that it goes on there with more room.

    Returns:
        A status.
    """
    live, ends = sweeps.live, sweeps.ends
    per_end = walk.strategy.use_within and _leads(walk.machine)
    status, count = _forward(start, np.int64(-1), not per_end, partition, walk, sweeps)
    if status != OK:
        return status
    found = 0
    for k in range(count):
        if _ends(k, live[k], start.limit, walk, sweeps):
            ends[0, found] = k
            ends[1, found] = live[k]
            found += 1
    for n in range(progress[AT_LAST], found):
        last, end = np.int64(ends[0, n]), np.int64(ends[1, n])
        if per_end:
            # What must not come before depends on the end.
            before = np.int64(walk.work.from_row[end]) - 1
            status, count = _forward(Start(start.row, end), before, True, partition, walk, sweeps)
            if status != OK:
                return status
            last = count - 1
            if count == 0 or live[last] != end or not _ends(last, end, start.limit, walk, sweeps):
                continue
        progress[STEPS] += last + 1
        if progress[STEPS] > walk.strategy.max_steps:
            return TOO_MANY_STEPS
        used = progress[TRACED]
        if progress[USED] == buffers.out.shape[0]:
            used = np.int64(-1)
        elif emission.traced:
            used = _backward(last, start.limit, walk, sweeps, used, buffers.trace)
        if used < 0:
            progress[AT_LAST] = n
            return OUTPUT_FULL
        progress[TRACED] = used
        progress[MATCHES] += 1
        progress[EMITTED] += 1
        if progress[EMITTED] > emission.max_rows:
            return TOO_MANY_ROWS
        _emit(start.row, end, partition.number, emission.output.slots, progress, buffers.out)
    return OK


@spliced
def _emit(start, end, partition, slots, progress, out):
    """Append the output row of a collapsed match, for which there must be room; its candidates are in the trace."""
    at = progress[USED]
    out[at, PARTITION] = partition
    out[at, NUMBER] = progress[MATCHES]
    out[at, LABEL] = -1
    out[at, SELF] = end
    out[at, CURRENT] = end
    out[at, FLAGS] = LAST_OF_MATCH
    for s in range(slots.shape[0] // SLOT_WIDTH):
        out[at, FIXED + s] = start if slots[SLOT_WIDTH * s + 1] else end
    out[at, out.shape[1] - 1] = progress[TRACED]
    progress[USED] = at + 1


@inlined
def _starts(row, machine, work):
    node = machine.automata[1]
    for e in range(machine.edge_start[U(node)], machine.edge_start[U(node + 1)]):
        if work.next_row[machine.component[U(e)], row] == row:
            return True
    return False


@inlined
def _leads(machine):
    """Whether something must not (or must) come before the first event."""
    node = machine.automata[1]
    for e in range(machine.edge_start[U(node)], machine.edge_start[U(node + 1)]):
        if machine.absent[U(e)] or machine.present[U(e)]:
            return True
    return False


@inlined
def _reach(e, i, rows, machine, work):
    """The last row that may follow row ``i`` over an edge."""
    reach = np.int64(rows)
    absent = machine.absent[U(e)]
    x = 0
    while absent:
        if absent & np.uint64(1):
            reach = min(reach, np.int64(work.until[x, i + 1]))
        absent >>= np.uint64(1)
        x += 1
    return reach


@inlined
def _forward(start, before, guarded, partition, walk, sweeps):
    """Find the rows that a run from a start row can reach: ``live`` in order, their states in ``forward``.

    Invariant: ``seen[e, 0]`` is how far the counted rows see over edge e; counted are rows before the one at hand that
    lie at an earlier time. O(rows reached x edges).

    ``before``: the last row that is out of reach of a leading negation; ``guarded``: whether that is to be tested.
    Returns a status and how many rows there are.
    """
    machine, work, frames = walk.machine, walk.work, walk.frames
    forward, seen, live = sweeps.forward, sweeps.seen, sweeps.live
    node = machine.automata[1]
    edges = machine.edge_start[U(node)]
    for g in range(walk.search.counts.shape[0]):
        walk.search.counts[g] = 0
    for e in range(machine.edge_start[U(node + 1)]):
        seen[e, 0] = -1  # how far the rows that may come before see
    counted, count = np.int64(0), np.int64(0)  # rows before ``counted`` are in ``seen``
    frames.state[0] = node
    frames.edge[0] = 0
    j = np.int64(start.row)
    while j <= start.limit:
        while counted < count and work.last_equal[live[counted]] < j:
            _look_from(counted, partition.rows, machine, work, sweeps)
            counted += 1
        for s in range(node):
            forward[s, count] = 0
        found = False
        for s in range(node + 1):
            if (s == node) != (j == start.row):
                continue
            for e in range(machine.edge_start[U(s)], machine.edge_start[U(s + 1)]):
                target = machine.target[U(e)]
                if target == ACCEPT or work.next_row[machine.component[U(e)], j] != j or forward[target, count]:
                    continue
                if s < node:
                    if seen[e, 0] < j:
                        continue
                elif guarded and not sees(machine.absent[U(e)], machine.present[U(e)], before, j, work):
                    continue
                component = machine.component[U(e)]
                advance(component, j, partition.base, walk.conditions, walk.columns, walk.search)
                result = passes(machine.group[U(e)], 0, j, partition, walk)
                retreat(component, walk.conditions, walk.search)
                if result == TRUE:
                    forward[target, count] = 1
                    found = True
                elif result != FALSE:
                    return result, count
        if found:
            live[count] = j
            count += 1
        elif j == start.row:
            break
        if j == start.row:
            # The start event is what conditions of later candidates may look at.
            for s in range(node):
                if forward[s, 0]:
                    advance(
                        machine.state_component[U(s)], j, partition.base, walk.conditions, walk.columns, walk.search
                    )
                    break
        j = next_taken(j + 1, partition.rows, 0, edges, machine, work)
    return OK, count


@inlined
def _look_from(counted, rows, machine, work, sweeps):
    """Count what follows a live row over the edges of its states."""
    row = np.int64(sweeps.live[counted])
    for s in range(machine.automata[1]):
        if sweeps.forward[s, counted]:
            for e in range(machine.edge_start[U(s)], machine.edge_start[U(s + 1)]):
                if machine.target[U(e)] != ACCEPT:
                    sweeps.seen[e, 0] = max(sweeps.seen[e, 0], _reach(e, row, rows, machine, work))


@inlined
def _accepts(s, end, limit, machine, work):
    """Whether a run may end in state ``s`` at row ``end``."""
    accept = machine.accept_edge[U(s)]
    may_end = False
    while 0 <= accept < machine.edge_start[U(s + 1)] and machine.target[U(accept)] == ACCEPT:
        may_end |= clear_behind(accept, end, limit, machine, work)
        accept += 1
    return may_end


@inlined
def _ends(k, end, limit, walk, sweeps):
    """Whether a match may end at live row number ``k``, which is row ``end``."""
    found = False
    for s in range(walk.machine.automata[1]):
        found |= sweeps.forward[s, k] and _accepts(s, end, limit, walk.machine, walk.work)
    return found


@inlined
def _backward(last, limit, walk, sweeps, traced, trace):
    """Append the candidates of live rows up to number ``last``, the end, to ``trace``: those from which the end can be
    reached. O(rows reached x edges).

    Returns:
        How much of ``trace`` is used; -1 where there is no room.
    """
    machine, work = walk.machine, walk.work
    forward, backward, seen, live = sweeps.forward, sweeps.backward, sweeps.seen, sweeps.live
    components, states = machine.test_bit.shape[0], machine.automata[1]
    if traced + (last + 1) * components > trace.shape[0]:
        return np.int64(-1)
    for s in range(states):
        seen[s, 1] = -1  # the nearest counted row from which the end can be reached in this state
        backward[s, last] = forward[s, last] and _accepts(s, np.int64(live[last]), limit, machine, work)
    counted = last + 1
    n = np.int64(work.next_row.shape[1])
    for k in range(last - 1, -1, -1):
        j = np.int64(live[k])
        while counted > k + 1 and live[counted - 1] > work.last_equal[j]:
            counted -= 1
            for s in range(states):
                if backward[s, counted]:
                    seen[s, 1] = live[counted]
        for s in range(states):
            backward[s, k] = 0
            if not forward[s, k]:
                continue
            for e in range(machine.edge_start[U(s)], machine.edge_start[U(s + 1)]):
                target = machine.target[U(e)]
                if target != ACCEPT and seen[target, 1] >= 0 and seen[target, 1] <= _reach(e, j, n, machine, work):
                    backward[s, k] = 1
                    break
    for k in range(last + 1):
        for c in range(components):
            for s in range(states):
                if backward[s, k] and machine.state_component[U(s)] == c:
                    trace[traced, 0] = c
                    trace[traced, 1] = live[k]
                    traced += 1
                    break
    return traced
