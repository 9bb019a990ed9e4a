"""Collapsed matches (SASE++, section 5): one per start and end event, with all events that can lie between.

Per start row a forward sweep finds the (state, row) pairs that a run can reach; per end row a backward sweep keeps
those from which the end can be reached. O(rows reached x edges) per collapsed match, which is about its own size.
Conditions that a candidate satisfies or not whatever else is taken are tested on the way; the others are postponed to
whoever expands the match.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, kernel
from sparkcep.exec.kernels.conditions import U, advance, retreat
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
from sparkcep.exec.kernels.runs.checks import clear_behind, passes
from sparkcep.exec.kernels.runs.graph import ACCEPT, next_taken, prepare, sees
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
def collapse_runs(
    offsets, masks, machine, checks, use_within, strict, within, traced, output, conditions, columns, max_steps,
    max_rows, work, frames, search, forward, backward, seen, reached, progress, out, trace,
):  # fmt: skip
    """Collapsed matches of every partition of a batch under SKIP TILL ANY MATCH, from where ``progress`` stands.

    Args:
        forward, backward: (nodes, rows + 1) scratch. seen: (edges, 2) scratch. reached: (3, rows + 1) scratch.
        The rest: as for runs.match_runs; ``AT_LAST`` in ``progress`` numbers the start's end to go on with.

    Returns:
        A status; OUTPUT_FULL: call again with more room.
    """
    partitions = offsets.shape[0] - 1
    for q in range(progress[AT_PARTITION], partitions):
        base = offsets[q]
        rows = offsets[q + 1] - base
        if not progress[PREPARED]:
            prepare(base, rows, masks, machine, strict, within, use_within, work)
            progress[PREPARED] = 1
            progress[REACHED] = -1
        per_end = use_within and _leads(machine)
        for start in range(progress[AT_ROW], rows):
            progress[AT_ROW] = start
            if not _starts(start, machine, work):
                continue
            limit = row_limit(base, rows, start, use_within, within, progress)
            status, count = _forward(
                base, rows, start, limit, np.int64(-1), machine, checks, conditions, columns, work, frames, search,
                forward, seen, reached[0], not per_end,
            )  # fmt: skip
            if status != OK:
                return status
            ends = 0
            for k in range(count):
                if _ends(k, reached[0, k], limit, machine, work, forward):
                    reached[1, ends] = k
                    reached[2, ends] = reached[0, k]
                    ends += 1
            for n in range(progress[AT_LAST], ends):
                last, end = np.int64(reached[1, n]), np.int64(reached[2, n])
                if per_end:
                    # What must not come before depends on the end.
                    status, count = _forward(
                        base, rows, start, end, np.int64(work.from_row[end]) - 1, machine, checks, conditions, columns,
                        work, frames, search, forward, seen, reached[0], True,
                    )  # fmt: skip
                    if status != OK:
                        return status
                    last = count - 1
                    if count == 0 or reached[0, last] != end or not _ends(last, end, limit, machine, work, forward):
                        continue
                progress[STEPS] += last + 1
                if progress[STEPS] > max_steps:
                    return TOO_MANY_STEPS
                if progress[USED] == out.shape[0]:
                    progress[AT_LAST] = n
                    return OUTPUT_FULL
                used = progress[TRACED]
                if traced:
                    used = _backward(last, limit, machine, work, forward, backward, seen, reached[0], used, trace)
                if used < 0:
                    progress[AT_LAST] = n
                    return OUTPUT_FULL
                progress[TRACED] = used
                progress[MATCHES] += 1
                progress[EMITTED] += 1
                if progress[EMITTED] > max_rows:
                    return TOO_MANY_ROWS
                at = progress[USED]
                out[at, PARTITION] = q
                out[at, NUMBER] = progress[MATCHES]
                out[at, LABEL] = -1
                out[at, SELF] = end
                out[at, CURRENT] = end
                out[at, FLAGS] = LAST_OF_MATCH
                for s in range(output.slots.shape[0] // SLOT_WIDTH):
                    out[at, FIXED + s] = start if output.slots[SLOT_WIDTH * s + 1] else end
                out[at, out.shape[1] - 1] = used
                progress[USED] = at + 1
            progress[AT_LAST] = 0
        progress[AT_PARTITION] = q + 1
        for k in (AT_ROW, MATCHES, AT_LAST, STEPS, EMITTED, PREPARED):
            progress[k] = 0
    return OK


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
def _forward(
    base, rows, start, limit, before, machine, checks, conditions, columns, work, frames, search, forward, seen, live,
    guarded,
):  # fmt: skip
    """Find the rows that a run from ``start`` can reach: ``live`` in order, their states in ``forward``.

    Invariant: ``seen[e, 0]`` is how far the counted rows see over edge e; counted are rows before the one at hand that
    lie at an earlier time. O(rows reached x edges).

    ``before``: the last row that is out of reach of a leading negation; ``guarded``: whether that is to be tested.
    Returns a status and how many rows there are.
    """
    node = machine.automata[1]
    edges = machine.edge_start[U(node)]
    for g in range(search.counts.shape[0]):
        search.counts[g] = 0
    for e in range(machine.edge_start[U(node + 1)]):
        seen[e, 0] = -1  # how far the rows that may come before see
    counted, count = np.int64(0), np.int64(0)  # rows before ``counted`` are in ``seen``
    frames.state[0] = node
    frames.edge[0] = 0
    j = np.int64(start)
    while j <= limit:
        while counted < count and work.last_equal[live[counted]] < j:
            row = np.int64(live[counted])
            for s in range(node):
                if forward[s, counted]:
                    for e in range(machine.edge_start[U(s)], machine.edge_start[U(s + 1)]):
                        if machine.target[U(e)] != ACCEPT:
                            seen[e, 0] = max(seen[e, 0], _reach(e, row, rows, machine, work))
            counted += 1
        for s in range(node):
            forward[s, count] = 0
        found = False
        for s in range(node + 1):
            if (s == node) != (j == start):
                continue
            for e in range(machine.edge_start[U(s)], machine.edge_start[U(s + 1)]):
                target = machine.target[U(e)]
                if target == ACCEPT or work.next_row[machine.component[U(e)], j] != j:
                    continue
                if j > start and seen[e, 0] < j:
                    continue
                if forward[target, count]:
                    continue
                if (
                    j == start
                    and guarded
                    and not sees(machine.absent[U(e)], machine.present[U(e)], before, start, work)
                ):
                    continue
                component = machine.component[U(e)]
                advance(component, j, base, conditions, columns, search)
                result = passes(machine.group[U(e)], 0, j, base, rows, machine, checks, conditions, columns, work,
                                frames, search)  # fmt: skip
                retreat(component, conditions, search)
                if result == TRUE:
                    forward[target, count] = 1
                    found = True
                elif result != FALSE:
                    return result, count
        if found:
            live[count] = j
            count += 1
        elif j == start:
            break
        if j == start:
            # The start event is what conditions of later candidates may look at.
            for s in range(node):
                if forward[s, 0]:
                    advance(machine.state_component[U(s)], j, base, conditions, columns, search)
                    break
        j = next_taken(j + 1, rows, 0, edges, machine, work)
    return OK, count


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
def _ends(k, end, limit, machine, work, forward):
    """Whether a match may end at live row number ``k``, which is row ``end``."""
    found = False
    for s in range(machine.automata[1]):
        found |= forward[s, k] and _accepts(s, end, limit, machine, work)
    return found


@inlined
def _backward(last, limit, machine, work, forward, backward, seen, live, traced, trace):
    """Append the candidates of live rows up to number ``last``, the end, to ``trace``: those from which the end can be
    reached. O(rows reached x edges).

    Returns:
        How much of ``trace`` is used; -1 where there is no room.
    """
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
