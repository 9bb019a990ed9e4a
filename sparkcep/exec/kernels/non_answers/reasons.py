"""The reasons kernel: the longest run of a partition without a match, and what stopped it.

A depth-first walk like that of runs.py. Before it, one backward pass tells how many more events a node can take as far
as match-independent conditions go; what cannot become longer than the longest run so far is not walked.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, inner, kernel, spliced
from sparkcep.exec.kernels.conditions.aggregates import advance, retreat
from sparkcep.exec.kernels.conditions.codes import U
from sparkcep.exec.kernels.runs.checks import NEVER_DECIDED, decided_since, takes
from sparkcep.exec.kernels.runs.gaps import NOWHERE, first_match
from sparkcep.exec.kernels.runs.graph import ACCEPT, prepare, sees
from sparkcep.exec.kernels.runs.graph_tables import Partition, Start
from sparkcep.exec.kernels.runs.passes import passes
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
def explain_partitions(given, question, walk, longest, progress, reasons):
    """Why partitions have no match.

    Args:
        given, walk: see graph_tables.py. question, longest, reasons: see tables.py.
        progress: see above; zeros at first.

    Returns:
        A status; OUTPUT_FULL: call again with more room in ``reasons.trace``.
    """
    strategy, out, trace = walk.strategy, reasons.out, reasons.trace
    for q in range(progress[AT_PARTITION], given.offsets.shape[0] - 1):
        progress[AT_PARTITION] = q
        out[q, END] = progress[TRACED]
        if not question.wanted[q]:
            continue
        base, rows = given.offsets[q], given.offsets[q + 1] - given.offsets[q]
        if progress[TRACED] + rows > trace.shape[0]:
            return OUTPUT_FULL
        prepare(base, rows, given.masks, walk.machine, strategy.strict, given.within, strategy.use_within, walk.work)
        progress[REACHED] = -1
        progress[STEPS] = 0
        partition = Partition(q, base, rows)
        status, length = _longest_run(partition, given.within, walk, longest, progress)
        if status != OK:
            return status
        for d in range(length):
            trace[progress[TRACED], 0] = walk.machine.component[U(longest.best[0, d])]
            trace[progress[TRACED], 1] = longest.best[1, d]
            progress[TRACED] += 1
        out[q, END] = progress[TRACED]
        status = _explain(length, partition, given, question, walk, longest.best, progress, out)
        if status != OK:
            return status
    progress[AT_PARTITION] = given.offsets.shape[0] - 1
    return OK


@spliced
def _longest_run(partition, within, walk, longest, progress):
    """Find a partition's longest run, start row by start row; it goes to ``best``. Returns a status and its length."""
    machine, work, ahead, selection = walk.machine, walk.work, longest.ahead, walk.strategy.selection
    length = np.int64(0)
    before = np.int64(-2)
    for row in range(partition.rows):
        limit = row_limit(row, partition, walk.strategy.use_within, within, progress)
        if limit < row:
            continue
        if limit != before:
            _look_ahead(row, limit, machine, selection, work, ahead)
            before = limit
        if _reach(machine.automata[1], row, length, selection, machine, work, ahead) <= length:
            continue
        found = _walk(Start(row, limit), length, partition, walk, longest, progress)
        if found < 0:
            return -found, length
        length = found
    return np.int64(OK), length


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
def _walk(start, length, partition, walk, longest, progress):
    """Look for a run from a start row that is longer than ``length``; it goes to ``longest.best``.

    Invariant: frames 1 to ``depth`` hold a run whose events the registers have seen; what by ``ahead`` cannot become
    longer than ``length`` is not walked. As of runs.py, without acceptance; exponential in the worst case.

    Returns:
        The length of the longest run; a negative number: minus a status that is an error.
    """
    machine, frames = walk.machine, walk.frames
    start_node = machine.automata[1]
    _begin(start_node, walk.checks, frames, walk.search)
    walk.checks.window[0] = start.limit
    frames.candidate[0], frames.cursor[0], frames.taken[0] = start.row, machine.edge_start[U(start_node)], 0
    depth = np.int64(0)
    while depth >= 0:
        progress[STEPS] += 1
        if progress[STEPS] > walk.strategy.max_steps:
            return -TOO_MANY_STEPS
        if frames.cursor[depth] >= machine.edge_start[U(frames.state[depth] + 1)]:
            if not _move_on(depth, length, start.limit, walk, longest.ahead):
                if depth > 0:
                    retreat(machine.state_component[U(frames.state[depth])], walk.conditions, walk.search)
                depth -= 1
            continue
        result = _try_edge(depth, length, start.limit, partition, walk, longest.ahead)
        if result == TRUE:
            depth += 1
            if depth > length:
                length = depth
                for d in range(depth):
                    longest.best[0, d], longest.best[1, d] = frames.edge[d + 1], frames.row[d + 1]
        elif result != FALSE:
            return -result
    return length


@spliced
def _begin(start_node, checks, frames, search):
    """Begin a run: nothing is taken, and the registers have seen nothing."""
    for g in range(search.counts.shape[0]):
        search.counts[g] = 0
    for k in range(checks.prechecked_start.shape[0]):
        checks.prechecked_start[k] = 0
    frames.state[0], frames.row[0], frames.edge[0] = start_node, -1, 1


@spliced
def _move_on(depth, length, limit, walk, ahead):
    """Have a run that has tried its row's edges look at the next row; returns whether that may make it longer."""
    frames, selection = walk.frames, walk.strategy.selection
    node = frames.state[depth]
    # A row that some edge took is not skipped, but for one that ends a Kleene (NFAb's ignore-proceed).
    if depth == 0 or selection == STRICT or (selection == NEXT and frames.taken[depth] >= STAYED):
        return False
    j = _next_row(node, frames.candidate[depth] + 1, walk.machine, walk.work)
    if j > limit or depth + np.int64(_best_from(node, j, walk.machine, ahead)) <= length:
        return False
    frames.candidate[depth], frames.cursor[depth] = j, walk.machine.edge_start[U(node)]
    frames.taken[depth] = 0
    return True


@spliced
def _try_edge(depth, length, limit, partition, walk, ahead):
    """Try a run's next edge on its row; what it takes is in the frame behind, with the row to look at next.

    Returns:
        TRUE: that run is to be walked; FALSE: it is not, or the edge cannot take the row; or the status of a condition
        that fails.
    """
    machine, work, frames, selection = walk.machine, walk.work, walk.frames, walk.strategy.selection
    i, j, e = frames.row[depth], frames.candidate[depth], frames.cursor[depth]
    frames.cursor[depth] = e + 1
    target, component = machine.target[U(e)], machine.component[U(e)]
    if target == ACCEPT or j > limit or work.next_row[component, j] != j:
        return np.int64(FALSE)
    # What comes before the first event is decided at the end.
    if depth > 0 and not sees(machine.absent[U(e)], machine.present[U(e)], i, j, work):
        return np.int64(FALSE)
    longer = depth + 1 + _more(target, j, limit, selection, machine, work, ahead) > length
    if not longer and selection != NEXT:
        return np.int64(FALSE)
    advance(component, j, partition.base, walk.conditions, walk.columns, walk.search)
    frames.row[depth + 1], frames.edge[depth + 1], frames.state[depth + 1] = j, e, target
    result = np.int64(takes(e, depth, j, partition, walk))
    if result == TRUE:
        frames.taken[depth] |= TAKEN if machine.ends[U(e)] else TAKEN | STAYED
        if longer:
            following = np.int64(work.last_equal[j]) + 1
            if selection == STRICT:
                j = following if following == j + 1 else limit + 1
            else:
                j = _next_row(target, following, machine, work)
            frames.candidate[depth + 1], frames.cursor[depth + 1] = j, machine.edge_start[U(target)]
            frames.taken[depth + 1] = 0
            return result
        result = np.int64(FALSE)
    retreat(component, walk.conditions, walk.search)
    return result


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
def _explain(length, partition, given, question, walk, best, progress, out):
    """Fill ``out`` for a partition from its longest run, which is in ``best``; returns a status.

    In order (LANGUAGE, section 3, item 12): a needed type has no event; the run has all its events, and its end or a
    negation keeps it from being a match; the first event that could go on does not, for WITHIN, a condition or a
    negation; an event has the right type and not what it must be by itself; there is none behind the run.
    O(events x edges), and what negations ask for.
    """
    machine, frames = walk.machine, walk.frames
    q, base, rows = partition.number, partition.base, partition.rows
    out[q, COMPONENT], out[q, EVENT] = -1, -1
    for k in range(question.needed.shape[0]):
        if not _has_type(question.needed[k], base, 0, rows, given.masks, question.types):
            out[q, REASON], out[q, COMPONENT] = NO_EVENT, question.needed[k]
            return np.int64(OK)
    node = machine.automata[1]
    _begin(node, walk.checks, frames, walk.search)
    for d in range(length):
        e = best[0, d]
        node = machine.target[U(e)]
        frames.edge[d + 1], frames.row[d + 1], frames.state[d + 1] = e, best[1, d], node
        advance(machine.component[U(e)], best[1, d], base, walk.conditions, walk.columns, walk.search)
    limit = rows - 1
    if length > 0:
        progress[REACHED] = -1
        limit = row_limit(best[1, 0], partition, walk.strategy.use_within, given.within, progress)
        walk.checks.window[0] = limit
    accept = machine.accept_edge[U(node)]
    if accept >= 0:
        return _explain_end(accept, length, limit, partition, walk, out)
    first, after = _rows_behind(length, rows, walk)
    for j in range(first, after):
        for e in range(machine.edge_start[U(node)], machine.edge_start[U(node + 1)]):
            if machine.target[U(e)] != ACCEPT and walk.work.next_row[machine.component[U(e)], j] == j:
                if length == 0:
                    progress[REACHED] = -1
                    limit = row_limit(j, partition, walk.strategy.use_within, given.within, progress)
                return _refuse(e, length, Start(j, limit), partition, walk, out)
    for j in range(first, after):
        for e in range(machine.edge_start[U(node)], machine.edge_start[U(node + 1)]):
            c = machine.component[U(e)]
            if machine.target[U(e)] != ACCEPT and _has_type(c, base, j, j + 1, given.masks, question.types):
                out[q, REASON], out[q, COMPONENT], out[q, EVENT] = CONDITION, c, j
                return np.int64(OK)
    out[q, REASON], out[q, EVENT] = NO_SUCCESSOR, frames.row[length]
    for e in range(machine.edge_start[U(node)], machine.edge_start[U(node + 1)]):
        if machine.target[U(e)] != ACCEPT:
            out[q, COMPONENT] = machine.component[U(e)]
            if not _has_type(machine.component[U(e)], base, 0, rows, given.masks, question.types):
                out[q, REASON], out[q, EVENT] = NO_EVENT, -1
            break
    return np.int64(OK)


@spliced
def _rows_behind(length, rows, walk):
    """The rows that could go on with a run: the first, and the one behind the last."""
    if length == 0:
        return np.int64(0), np.int64(rows)
    last = walk.frames.row[length]
    first = np.int64(walk.work.last_equal[last]) + 1
    if walk.strategy.selection != STRICT:
        return first, np.int64(rows)
    if first > last + 1:
        first = np.int64(rows)
    return first, np.int64(min(first + 1, rows))


@spliced
def _refuse(e, length, at, partition, walk, out):
    """Say why a run does not go on over an edge with row ``at``, which its component can take; returns a status."""
    machine, frames = walk.machine, walk.frames
    q, j = partition.number, at.row
    out[q, COMPONENT], out[q, EVENT] = machine.component[U(e)], j
    if j > at.limit:
        out[q, REASON] = WINDOW
        return np.int64(OK)
    advance(machine.component[U(e)], j, partition.base, walk.conditions, walk.columns, walk.search)
    frames.row[length + 1], frames.edge[length + 1] = j, e
    frames.state[length + 1] = machine.target[U(e)]
    result = np.int64(passes(machine.group[U(e)], length, j, partition, walk))
    out[q, REASON] = CONDITION
    if result == TRUE:
        out[q, REASON] = NEGATION
        result = _tell_blocker(length + 1, 2, length + 1, partition, walk, out)
    retreat(machine.component[U(e)], walk.conditions, walk.search)
    return _status(result)


@inlined
def _status(result):
    return np.int64(OK) if result == TRUE or result == FALSE else np.int64(result)


@inlined
def _has_type(c, base, low, high, masks, types):
    """Whether a row from ``low`` to ``high`` (exclusive) has a component's type."""
    bit = types.bit[U(c)]
    if bit < 0:
        return low < high
    for j in range(base + low, base + high):
        if (masks[types.word[U(c)], j] >> np.uint64(max(bit, 0))) & np.uint64(1):
            return True
    return False


@spliced
def _explain_end(accept, length, limit, partition, walk, out):
    """Say what keeps a run that has all its events from being a match; returns a status."""
    machine, frames, q = walk.machine, walk.frames, partition.number
    last = frames.row[length]
    out[q, COMPONENT], out[q, EVENT] = machine.state_component[U(frames.state[length])], last
    result = np.int64(passes(machine.group[U(accept)], length, last, partition, walk))
    if result != TRUE:
        out[q, REASON] = CONDITION
        return _status(result)
    out[q, REASON] = NEGATION
    frames.row[0] = np.int64(walk.work.from_row[last]) - 1 if walk.strategy.use_within else np.int64(-1)
    frames.row[length + 1] = limit + 1
    result = _tell_last_blocker(length, partition, walk, out)
    frames.row[0] = -1
    return _status(result)


@spliced
def _tell_last_blocker(length, partition, walk, out):
    """Of the ways on which a run can begin, which differ in negations before its first event, each has a first event
    that blocks it; tell the last of these, behind which no way is left. Returns TRUE, or the status of a condition that
    fails."""
    machine, frames, q = walk.machine, walk.frames, partition.number
    node = machine.automata[1]
    first, component, event = frames.edge[1], np.int64(-1), np.int64(-1)
    for e in range(machine.edge_start[U(node)], machine.edge_start[U(node + 1)]):
        if machine.target[U(e)] == ACCEPT or machine.component[U(e)] != machine.component[U(first)]:
            continue
        if not _retrace(e, length, walk):
            continue
        result = np.int64(_tell_blocker(length, 1, length + 1, partition, walk, out))
        if result != TRUE:
            return result
        if out[q, EVENT] > event:
            component, event = out[q, COMPONENT], out[q, EVENT]
    out[q, COMPONENT], out[q, EVENT] = component, event
    return np.int64(TRUE)


@inlined
def _retrace(e, length, walk):
    """Have the frames hold the same run with another first edge, and its end; returns whether there is one."""
    machine, frames = walk.machine, walk.frames
    for d in range(1, length + 1):
        if d > 1:
            e = _same_step(frames.state[d - 1], d, walk)
        if e < 0:
            return False
        frames.edge[d], frames.state[d] = e, machine.target[U(e)]
    accept = machine.accept_edge[U(frames.state[length])]
    frames.edge[length + 1] = accept
    return accept >= 0


@inlined
def _same_step(node, d, walk):
    """The edge on which a node takes what frame ``d`` has taken, -1: none."""
    machine, frames, work = walk.machine, walk.frames, walk.work
    component = machine.component[U(frames.edge[d])]
    for e in range(machine.edge_start[U(node)], machine.edge_start[U(node + 1)]):
        fits = machine.target[U(e)] != ACCEPT and machine.component[U(e)] == component
        if fits and sees(machine.absent[U(e)], machine.present[U(e)], frames.row[d - 1], frames.row[d], work):
            return np.int64(e)
    return np.int64(-1)


@inner
def _tell_blocker(depth, low, end, partition, walk, out):
    """The first event with which a negation has a match before the event of a frame ``low`` to ``end``, and the least
    component of that negation that can take it. ``depth``: frames whose events are taken; where ``end`` is none of them
    the run ends there, else a negation that waits for other events forbids nothing yet.

    O(negations x rows between x checks). Returns TRUE, or the status of a condition that fails.
    """
    machine, work, frames, strict = walk.machine, walk.work, walk.frames, walk.strategy.strict
    base, q = partition.base, partition.number
    first = np.int64(NOWHERE)
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
                dependent = (machine.dependent >> x) & 1
                found = np.int64(NOWHERE)
                if dependent and end == depth and decided_since(x, depth, walk) == NEVER_DECIDED:
                    pass
                elif dependent and machine.automata[3 * (x + 1) + 2] < 0:
                    # Which walks on frames behind the run's, of which ``end`` may be one.
                    row, edge = frames.row[U(end)], frames.edge[U(end)]
                    result, found = first_match(x, depth, after - 1, j, closed and strict, False, partition, walk)
                    frames.row[U(end)], frames.edge[U(end)] = row, edge
                    if result != TRUE and result != FALSE:
                        return np.int64(result)
                elif dependent:
                    c = machine.automata[3 * (x + 1) + 2]
                    k = np.int64(work.next_row[c, after])
                    while k < j and k <= first and not (closed and strict and work.last_equal[k] >= j):
                        advance(c, k, base, walk.conditions, walk.columns, walk.search)
                        result = passes(machine.negation_group[U(x)], depth, k, partition, walk)
                        retreat(c, walk.conditions, walk.search)
                        if result == TRUE:
                            found = k
                            break
                        if result != FALSE:
                            return np.int64(result)
                        k = np.int64(work.next_row[c, k + 1])
                else:
                    k = _first_end(x, after, j, machine, work)
                    if k < j and not (closed and work.last_equal[k] >= j):
                        found = k
                if found < NOWHERE and found <= first:
                    c = _taking(x, found, machine, work)
                    if found < first or c < component:
                        component = c
                    first = found
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
    found = np.int64(NOWHERE)
    for s in range(machine.automata[3 * (x + 1)], machine.automata[3 * (x + 1) + 1]):
        c = machine.state_component[U(s)]
        if work.next_row[c, row] == row:
            found = min(found, c)
    return found
