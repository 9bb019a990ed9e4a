"""The reasons kernel: the longest run of a partition without a match, and what stopped it.

A depth-first walk like that of runs.py. Before it, one backward pass tells how many more events a node can take as far
as match-independent conditions go; what cannot become longer than the longest run so far is not walked.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, inner, kernel, spliced
from sparkcep.exec.kernels.conditions import U, advance, retreat
from sparkcep.exec.kernels.runs.checks import passes, takes
from sparkcep.exec.kernels.runs.graph import ACCEPT, prepare, sees
from sparkcep.exec.kernels.runs.graph_tables import Partition, Strategy, Walk
from sparkcep.exec.kernels.runs.progress import REACHED, STAYED, TAKEN
from sparkcep.exec.kernels.runs.runs import row_limit
from sparkcep.exec.kernels.runs.selections import NEXT, STRICT
from sparkcep.exec.kernels.statuses import FALSE, OK, OUTPUT_FULL, TOO_MANY_STEPS, TRUE

NO_EVENT, NO_SUCCESSOR, CONDITION, WINDOW, NEGATION = range(5)

#: What ``progress`` holds: the partition the kernel is at, how much of ``trace`` is used, steps in the partition, and
#: at REACHED what row_limit keeps.
AT_PARTITION, TRACED, STEPS = range(3)
#: Columns of ``out``: reason, component (-1: none), row of the event (-1: none), where its run ends in ``trace``.
REASON, COMPONENT, EVENT, END = range(4)

_NONE = np.uint64(0)


@kernel
def explain_partitions(
    offsets, wanted, masks, machine, checks, selection, use_within, strict, within, conditions, columns, type_word,
    type_bit, needed, max_steps, work, frames, search, ahead, best, progress, out, trace,
):  # fmt: skip
    """Why the partitions of ``wanted`` have no match.

    Args:
        offsets, masks, machine, checks, selection, use_within, strict, within, conditions, columns, max_steps, work,
        frames, search: as for match_runs. type_word, type_bit (components,): where the masks tell a component's type
        alone, bit -1: every event. needed: components that every match takes, in order.
        ahead (nodes, rows + 2): scratch. best (2, rows + 2): scratch, edge and row of each event of the longest run.
        out (partitions, 4), trace (m, 2): component and row of each event of the longest runs.

    Returns:
        A status; OUTPUT_FULL: call again with more room in ``trace``.
    """
    for q in range(progress[AT_PARTITION], offsets.shape[0] - 1):
        progress[AT_PARTITION] = q
        out[q, END] = progress[TRACED]
        if not wanted[q]:
            continue
        base, rows = offsets[q], offsets[q + 1] - offsets[q]
        if progress[TRACED] + rows > trace.shape[0]:
            return OUTPUT_FULL
        prepare(base, rows, masks, machine, strict, within, use_within, work)
        progress[REACHED] = -1
        progress[STEPS] = 0
        length = np.int64(0)
        before = np.int64(-2)
        for start in range(rows):
            limit = row_limit(start, Partition(q, base, rows), use_within, within, progress)
            if limit < start:
                continue
            if limit != before:
                _look_ahead(start, limit, machine, selection, work, ahead)
                before = limit
            if _reach(machine.automata[1], start, length, selection, machine, work, ahead) <= length:
                continue
            status = _walk(
                base, rows, start, limit, length, machine, checks, selection, use_within, strict, conditions, columns,
                max_steps, work, frames, search, ahead, best, progress,
            )  # fmt: skip
            if status < 0:
                return -status
            length = status
        for d in range(length):
            trace[progress[TRACED], 0] = machine.component[U(best[0, d])]
            trace[progress[TRACED], 1] = best[1, d]
            progress[TRACED] += 1
        out[q, END] = progress[TRACED]
        status = _explain(
            q, base, rows, length, masks, machine, checks, selection, use_within, strict, within, conditions, columns,
            type_word, type_bit, needed, work, frames, search, best, progress, out,
        )  # fmt: skip
        if status != OK:
            return status
    progress[AT_PARTITION] = offsets.shape[0] - 1
    return OK


@inner
def _look_ahead(start, limit, machine, selection, work, ahead):
    """Fill ``ahead`` for rows ``start`` to ``limit``: by node the most events of a run that takes this row (or, but for
    STRICT, a later one) in it."""
    nodes = machine.automata[1]
    for s in range(nodes):
        ahead[s, limit + 1] = 0
    for j in range(limit, start - 1, -1):
        for s in range(nodes):
            most = np.int32(0)
            if work.next_row[machine.state_component[U(s)], j] == j:
                most = np.int32(1 + _more(s, j, limit, selection, machine, work, ahead))
            if selection != STRICT:
                most = max(most, ahead[s, j + 1])
            ahead[s, j] = most


@inlined
def _more(s, j, limit, selection, machine, work, ahead):
    """The most events behind row ``j`` of a run that has taken it in node ``s``."""
    most = np.int64(0)
    following = np.int64(work.last_equal[j]) + 1
    if following > limit or (selection == STRICT and following > j + 1):
        return most
    for e in range(machine.edge_start[U(s)], machine.edge_start[U(s + 1)]):
        if machine.target[U(e)] != ACCEPT:
            most = max(most, np.int64(ahead[machine.target[U(e)], following]))
    return most


@inlined
def _reach(s, j, length, selection, machine, work, ahead):
    """The most events that a run which takes row ``j`` from node ``s`` has behind it, this one counted."""
    most = np.int64(0)
    for e in range(machine.edge_start[U(s)], machine.edge_start[U(s + 1)]):
        target = machine.target[U(e)]
        if target != ACCEPT and work.next_row[machine.component[U(e)], j] == j:
            most = max(most, np.int64(ahead[target, j]))
    return most


@inner
def _walk(
    base, rows, start, limit, length, machine, checks, selection, use_within, strict, conditions, columns, max_steps,
    work, frames, search, ahead, best, progress,
):  # fmt: skip
    """Look for a run from a start row that is longer than ``length``; it goes to ``best``.

    Invariant: frames 1 to ``depth`` hold a run whose events the registers have seen; what by ``ahead`` cannot become
    longer than ``length`` is not walked. As of runs.py, without acceptance.

    Returns:
        The length of the longest run; a negative number: minus a status that is an error.
    """
    for g in range(search.counts.shape[0]):
        search.counts[g] = 0
    checks.window[0] = limit
    for k in range(checks.prechecked_start.shape[0]):
        checks.prechecked_start[k] = 0
    depth = np.int64(0)
    start_node = machine.automata[1]
    frames.state[0], frames.row[0], frames.edge[0] = start_node, -1, 1
    frames.candidate[0], frames.cursor[0], frames.taken[0] = start, machine.edge_start[U(start_node)], 0
    while depth >= 0:
        progress[STEPS] += 1
        if progress[STEPS] > max_steps:
            return -TOO_MANY_STEPS
        node, i, j, e = frames.state[depth], frames.row[depth], frames.candidate[depth], frames.cursor[depth]
        high = machine.edge_start[U(node + 1)]
        if e >= high:
            # A row that some edge took is not skipped, but for one that ends a Kleene (NFAb's ignore-proceed).
            final = depth == 0 or selection == STRICT or (selection == NEXT and frames.taken[depth] >= STAYED)
            if not final:
                j = _next_row(node, j + 1, machine, work)
            if final or j > limit or depth + np.int64(_best_from(node, j, machine, ahead)) <= length:
                if depth > 0:
                    retreat(machine.state_component[U(node)], conditions, search)
                depth -= 1
                continue
            frames.candidate[depth], frames.cursor[depth] = j, machine.edge_start[U(node)]
            frames.taken[depth] = 0
            continue
        frames.cursor[depth] = e + 1
        target = machine.target[U(e)]
        if target == ACCEPT or j > limit or work.next_row[machine.component[U(e)], j] != j:
            continue
        # What comes before the first event is decided at the end.
        if depth > 0 and not sees(machine.absent[U(e)], machine.present[U(e)], i, j, work):
            continue
        more = _more(target, j, limit, selection, machine, work, ahead)
        longer = depth + 1 + more > length
        if not longer and selection != NEXT:
            continue
        component = machine.component[U(e)]
        advance(component, j, base, conditions, columns, search)
        frames.row[depth + 1], frames.edge[depth + 1], frames.state[depth + 1] = j, e, target
        result = takes(
            e,
            depth,
            j,
            Partition(0, base, rows),
            Walk(
                Strategy(selection, strict, use_within, max_steps),
                machine,
                checks,
                conditions,
                columns,
                work,
                frames,
                search,
            ),
        )
        if result == TRUE:
            frames.taken[depth] |= TAKEN if machine.ends[U(e)] else TAKEN | STAYED
            if longer:
                depth += 1
                if depth > length:
                    length = depth
                    for d in range(depth):
                        best[0, d], best[1, d] = frames.edge[d + 1], frames.row[d + 1]
                following = np.int64(work.last_equal[j]) + 1
                if selection == STRICT:
                    j = following if following == j + 1 else limit + 1
                else:
                    j = _next_row(target, following, machine, work)
                frames.candidate[depth], frames.cursor[depth] = j, machine.edge_start[U(target)]
                frames.taken[depth] = 0
                continue
        retreat(component, conditions, search)
        if result != TRUE and result != FALSE:
            return -result
    return length


@inlined
def _next_row(node, j, machine, work):
    """The first row from ``j`` on that some edge of a node can take."""
    first = np.int64(1) << 40
    for e in range(machine.edge_start[U(node)], machine.edge_start[U(node + 1)]):
        if machine.target[U(e)] != ACCEPT:
            row = np.int64(work.next_row[machine.component[U(e)], j])
            first = min(first, row)
    return first


@inlined
def _best_from(node, j, machine, ahead):
    """The most events that a run in a node can take from row ``j`` on."""
    most = np.int32(0)
    for e in range(machine.edge_start[U(node)], machine.edge_start[U(node + 1)]):
        if machine.target[U(e)] != ACCEPT:
            most = max(most, ahead[machine.target[U(e)], j])
    return most


@inner
def _explain(
    q, base, rows, length, masks, machine, checks, selection, use_within, strict, within, conditions, columns,
    type_word, type_bit, needed, work, frames, search, best, progress, out,
):  # fmt: skip
    """Fill ``out`` for a partition from its longest run, which is in ``best``; returns a status.

    In order (LANGUAGE, section 3, item 12): a needed type has no event; the run has all its events, and its end or a
    negation keeps it from being a match; the first event that could go on does not, for WITHIN, a condition or a
    negation; an event has the right type and not what it must be by itself; there is none behind the run.
    """
    out[q, COMPONENT], out[q, EVENT] = -1, -1
    for k in range(needed.shape[0]):
        if not _has_type(needed[k], base, 0, rows, masks, type_word, type_bit):
            out[q, REASON], out[q, COMPONENT] = NO_EVENT, needed[k]
            return OK
    node = machine.automata[1]
    for g in range(search.counts.shape[0]):
        search.counts[g] = 0
    frames.state[0], frames.row[0], frames.edge[0] = node, -1, 1
    for d in range(length):
        e = best[0, d]
        node = machine.target[U(e)]
        frames.edge[d + 1], frames.row[d + 1], frames.state[d + 1] = e, best[1, d], node
        advance(machine.component[U(e)], best[1, d], base, conditions, columns, search)
    last = frames.row[length]
    limit = rows - 1
    if length > 0:
        progress[REACHED] = -1
        limit = row_limit(best[1, 0], Partition(q, base, rows), use_within, within, progress)
        checks.window[0] = limit
    for k in range(checks.prechecked_start.shape[0]):
        checks.prechecked_start[k] = 0
    low, high = machine.edge_start[U(node)], machine.edge_start[U(node + 1)]
    if machine.accept_edge[U(node)] >= 0:
        return _explain_end(
            q, base, rows, machine.accept_edge[U(node)], length, last, limit, machine, checks, use_within, strict,
            conditions, columns, work, frames, search, out,
        )  # fmt: skip
    first = np.int64(0) if length == 0 else np.int64(work.last_equal[last]) + 1
    after = rows
    if selection == STRICT and length > 0:
        if first > last + 1:
            first = rows
        after = min(first + 1, rows)
    for j in range(first, after):
        for e in range(low, high):
            if machine.target[U(e)] == ACCEPT or work.next_row[machine.component[U(e)], j] != j:
                continue
            out[q, COMPONENT], out[q, EVENT] = machine.component[U(e)], j
            if length == 0:
                progress[REACHED] = -1
                limit = row_limit(j, Partition(q, base, rows), use_within, within, progress)
            if j > limit:
                out[q, REASON] = WINDOW
                return OK
            advance(machine.component[U(e)], j, base, conditions, columns, search)
            frames.row[length + 1], frames.edge[length + 1] = j, e
            frames.state[length + 1] = machine.target[U(e)]
            result = passes(
                machine.group[U(e)],
                length,
                j,
                Partition(0, base, rows),
                Walk(Strategy(0, 0, 0, 0), machine, checks, conditions, columns, work, frames, search),
            )
            out[q, REASON] = CONDITION
            if result == TRUE:
                out[q, REASON] = NEGATION
                result = _tell_blocker(
                    q, length + 1, 2, length + 1, base, rows, strict, machine, checks, conditions, columns, work,
                    frames, search, out,
                )  # fmt: skip
            retreat(machine.component[U(e)], conditions, search)
            return _status(result)
    for j in range(first, after):
        for e in range(low, high):
            c = machine.component[U(e)]
            if machine.target[U(e)] != ACCEPT and _has_type(c, base, j, j + 1, masks, type_word, type_bit):
                out[q, REASON], out[q, COMPONENT], out[q, EVENT] = CONDITION, c, j
                return OK
    out[q, REASON], out[q, EVENT] = NO_SUCCESSOR, last
    for e in range(low, high):
        if machine.target[U(e)] != ACCEPT:
            out[q, COMPONENT] = machine.component[U(e)]
            if not _has_type(machine.component[U(e)], base, 0, rows, masks, type_word, type_bit):
                out[q, REASON], out[q, EVENT] = NO_EVENT, -1
            break
    return OK


@inlined
def _status(result):
    return np.int64(OK) if result == TRUE or result == FALSE else np.int64(result)


@inlined
def _has_type(c, base, low, high, masks, type_word, type_bit):
    """Whether a row from ``low`` to ``high`` (exclusive) has a component's type."""
    bit = type_bit[U(c)]
    if bit < 0:
        return low < high
    for j in range(base + low, base + high):
        if (masks[type_word[U(c)], j] >> np.uint64(max(bit, 0))) & np.uint64(1):
            return True
    return False


@spliced
def _explain_end(
    q, base, rows, accept, length, last, limit, machine, checks, use_within, strict, conditions, columns, work, frames,
    search, out,
):  # fmt: skip
    """What keeps a run that has all its events from being a match."""
    out[q, COMPONENT], out[q, EVENT] = machine.state_component[U(frames.state[length])], last
    result = passes(
        machine.group[U(accept)],
        length,
        last,
        Partition(0, base, rows),
        Walk(Strategy(0, 0, 0, 0), machine, checks, conditions, columns, work, frames, search),
    )
    if result != TRUE:
        out[q, REASON] = CONDITION
        return _status(result)
    out[q, REASON] = NEGATION
    frames.row[0] = np.int64(work.from_row[last]) - 1 if use_within else np.int64(-1)
    frames.edge[length + 1], frames.row[length + 1] = accept, limit + 1
    result = _tell_blocker(
        q, length, 1, length + 1, base, rows, strict, machine, checks, conditions, columns, work, frames, search, out
    )
    frames.row[0] = -1
    return _status(result)


@inner
def _tell_blocker(
    q, depth, low, end, base, rows, strict, machine, checks, conditions, columns, work, frames, search, out
):
    """The first event with which a negation has a match before the event of a frame ``low`` to ``end``, and the least
    component of that negation that can take it. ``depth``: frames whose events are taken."""
    first = np.int64(1) << 40
    component = np.int64(-1)
    for d in range(low, end + 1):
        i, j = frames.row[U(d - 1)], frames.row[U(d)]
        closed = d <= depth
        after = np.int64(0) if i < 0 else np.int64(work.last_equal[i]) + 1
        if d == 1:  # where it begins is no event of the match
            after = i + 1
        bits = machine.absent[U(frames.edge[U(d)])]
        x = 0
        while bits:
            if bits & np.uint64(1):
                if (machine.dependent >> x) & 1:
                    c = machine.automata[3 * (x + 1) + 2]
                    k = np.int64(work.next_row[c, after])
                    while k < j and k <= first and not (closed and strict and work.last_equal[k] >= j):
                        advance(c, k, base, conditions, columns, search)
                        result = passes(
                            machine.negation_group[U(x)],
                            depth,
                            k,
                            Partition(0, base, rows),
                            Walk(Strategy(0, 0, 0, 0), machine, checks, conditions, columns, work, frames, search),
                        )
                        retreat(c, conditions, search)
                        if result == TRUE:
                            if k < first or c < component:
                                component = c
                            first = k
                            break
                        if result != FALSE:
                            return np.int64(result)
                        k = np.int64(work.next_row[c, k + 1])
                else:
                    k = _first_end(x, after, j, machine, work)
                    if k < j and not (closed and work.last_equal[k] >= j) and k <= first:
                        c = _taking(x, k, machine, work)
                        if k < first or c < component:
                            component = c
                        first = k
            bits >>= np.uint64(1)
            x += 1
    out[q, COMPONENT], out[q, EVENT] = component, first if component >= 0 else -1
    return np.int64(TRUE)


@inlined
def _first_end(x, low, high, machine, work):
    """The row at which the first match of a negation that begins between rows is complete."""
    start = machine.automata[3 * (x + 1) + 1]
    end = np.int64(high)
    for k in range(low, high):
        for e in range(machine.edge_start[U(start)], machine.edge_start[U(start + 1)]):
            if machine.target[U(e)] != ACCEPT and work.next_row[machine.component[U(e)], k] == k:
                end = min(end, np.int64(work.end[machine.target[U(e)], k]))
    return end


@inlined
def _taking(x, row, machine, work):
    """The least component of a negation that can take a row."""
    found = np.int64(1) << 40
    for s in range(machine.automata[3 * (x + 1)], machine.automata[3 * (x + 1) + 1]):
        c = machine.state_component[U(s)]
        if work.next_row[c, row] == row:
            found = min(found, c)
    return found
