"""The runs kernel: matches under the event selection strategies, one start row after the other.

A depth-first walk over the event graph (graph.py) with an explicit stack. Under SKIP TILL ANY MATCH a step may lead to
every row from which a match can still be completed; under SKIP TILL NEXT MATCH to the first row that can extend the
run; under STRICT CONTIGUITY to the next one. Where components have strategies of their own, each edge has that of the
component it leads to. Conditions that depend on the match are tested as soon as they can be
decided. Matches come in order of preference, so the first of a start row is its preferred one.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, kernel, spliced
from sparkcep.exec.kernels.conditions.aggregates import advance, retreat
from sparkcep.exec.kernels.conditions.codes import U
from sparkcep.exec.kernels.rows.output import MAPPED_ROWS, TO_FIRST, TO_LAST, TO_NEXT_ROW
from sparkcep.exec.kernels.runs.checks import accepts, asks, takes
from sparkcep.exec.kernels.runs.graph import ACCEPT, prepare, sees
from sparkcep.exec.kernels.runs.graph_tables import Partition, Start
from sparkcep.exec.kernels.runs.merging import first_to_look_at, remember
from sparkcep.exec.kernels.runs.output import emit_run
from sparkcep.exec.kernels.runs.progress import (
    ACCEPTANCE,
    AT_PARTITION,
    AT_ROW,
    BEFORE_ACCEPTANCE,
    BEHIND_ACCEPTANCE,
    DEPTH,
    DONE,
    EMITTED,
    FULL,
    IDLE,
    MATCHES,
    PREPARED,
    REACHED,
    SEARCHING,
    STAYED,
    STEPS,
    TAKEN,
    TRACED,
    UNDER_WAY,
    USED,
)
from sparkcep.exec.kernels.runs.selections import ANY, BY_STEP, NEXT, STRICT
from sparkcep.exec.kernels.runs.timed_out import closest_run, mark_waiting
from sparkcep.exec.kernels.statuses import (
    FALSE,
    OK,
    OUTPUT_FULL,
    SKIP_TARGET_ABSENT,
    SKIP_TO_FIRST_ROW,
    STACK_FULL,
    TOO_MANY_ROWS,
    TOO_MANY_STEPS,
    TRUE,
)

_NONE = np.uint64(0)


@kernel
def match_runs(query, given, walk, room, progress, buffers):
    """Match every partition of a batch from where ``progress`` stands.

    Args:
        query, room, buffers: see tables.py. given, walk: see graph_tables.py.
        progress: (PROGRESS,) see progress.py; zeros at first.

    Returns:
        A status; OUTPUT_FULL: call again with more room, or with USED and TRACED at 0 once what is there is read;
        STACK_FULL: call again with more frames, and as many places in ``search`` and ``shown``.
    """
    strategy, merging = walk.strategy, room.merging
    partitions = given.offsets.shape[0] - 1
    start_node = walk.machine.automata[1]
    for q in range(progress[AT_PARTITION], partitions):
        base = given.offsets[q]
        rows = given.offsets[q + 1] - base
        if not progress[PREPARED]:
            prepare(
                base, rows, given.masks, walk.machine, strategy.strict, given.within, strategy.use_within, walk.work
            )
            if merging.on:
                for s in range(start_node):
                    for j in range(rows):
                        merging.known[s, j, 0] = 0
            progress[PREPARED] = 1
            progress[REACHED] = -1
        status = _match_partition(Partition(q, base, rows), query, given.within, walk, room, progress, buffers)
        if status != OK:
            return status
        progress[AT_PARTITION] = q + 1
        for k in (AT_ROW, MATCHES, STEPS, EMITTED, PREPARED, DEPTH, SEARCHING):
            progress[k] = 0
    return OK


@spliced
def _match_partition(partition, query, within, walk, room, progress, buffers):
    """Match a partition from start row to start row, as AFTER MATCH SKIP says; O(rows) beside the searches.

    Invariant: ``progress`` tells of all start rows before AT_ROW; of that one, where a search is UNDER_WAY or FULL, the
    frames hold it, so that it goes on where it was left.

    Returns:
        A status.
    """
    machine = walk.machine
    start_node = machine.automata[1]
    low, high = machine.edge_start[U(start_node)], machine.edge_start[U(start_node + 1)]
    row = progress[AT_ROW]
    while row < partition.rows:
        progress[AT_ROW] = row
        if not progress[SEARCHING]:
            # Without a component that takes it, a row starts nothing; jump to the next that does.
            following = np.int64(partition.rows)
            for e in range(low, high):
                following = min(following, np.int64(walk.work.next_row[machine.component[U(e)], row]))
            if following > row:
                row = following
                continue
        start = Start(row, row_limit(row, partition, walk.strategy.use_within, within, progress))
        walk.checks.window[0] = start.limit
        if not progress[SEARCHING]:
            _begin(start_node, walk.checks, walk.frames, walk.search, progress)
        status, found = _match_start(start, partition, query, walk, room, progress, buffers)
        if status != OK:
            return status
        if (query.first_only and found) or progress[MATCHES] >= query.most_matches:
            return OK
        if found and query.one_per_start:
            row, status = _after_match(row, query, query.emission.output.targets, machine, walk.frames, progress)
            if status != OK:
                return status
        else:
            row += 1
    return OK


@spliced
def _begin(start_node, checks, frames, search, progress):
    """Begin the search of a start row: nothing is taken, and the registers have seen nothing."""
    for k in range(checks.prechecked_start.shape[0]):
        checks.prechecked_start[k] = 0
    for g in range(search.counts.shape[0]):
        search.counts[g] = 0
    frames.state[0] = start_node
    frames.row[0] = -1
    frames.edge[0] = progress[MATCHES] + 1
    frames.candidate[0] = -1
    frames.phase[0] = BEFORE_ACCEPTANCE
    progress[DEPTH] = 0
    progress[SEARCHING] = UNDER_WAY


@spliced
def _match_start(start, partition, query, walk, room, progress, buffers):
    """Emit a start row's matches from where its search stands, or where it has none its run that timed out.

    Returns:
        A status, and how many matches were found now.
    """
    found = np.int64(0)
    while True:
        if progress[SEARCHING] != FULL:
            status = _search(start, partition, walk, room.merging, progress)
            if status != OK:
                return status, found
        depth = progress[DEPTH]
        if depth < 0:
            break
        if _is_full(depth, query.emission, progress, buffers):
            progress[SEARCHING] = FULL
            return OUTPUT_FULL, found
        progress[SEARCHING] = UNDER_WAY
        found += 1
        status = _emit(depth, partition, query.emission, walk.machine, walk.frames, progress, buffers)
        if status != OK:
            return status, found
        if query.one_per_start or progress[MATCHES] >= query.most_matches:
            break
    progress[SEARCHING] = IDLE
    status = OK
    if room.closest.on and found == 0 and start.limit >= start.row:
        status = _timed_out(start, partition, query.emission, walk, room.closest, progress, buffers)
    return status, found


@spliced
def _after_match(row, query, targets, machine, frames, progress):
    """Where matching goes on after the match of a start row, which the frames hold; and a status."""
    skip = query.skip
    if skip == TO_NEXT_ROW:
        return row + 1, OK
    if skip != TO_FIRST and skip != TO_LAST:
        return frames.row[progress[DEPTH]] + 1, OK
    target = np.int64(-1)
    for d in range(1, progress[DEPTH] + 1):
        if targets[machine.state_component[U(frames.state[d])]]:
            target = frames.row[d]
            if skip == TO_FIRST:
                break
    if target < 0:
        return frames.row[progress[DEPTH]] + 1, OK if query.or_past else SKIP_TARGET_ABSENT
    return target, SKIP_TO_FIRST_ROW if target == row else OK


@spliced
def _timed_out(start, partition, emission, walk, closest, progress, buffers):
    """Emit the run of a start row without a match that timed out, if there is one.

    Returns:
        A status; after OUTPUT_FULL the start row is searched again.
    """
    status = closest_run(start, partition, walk, closest, progress)
    depth = progress[DEPTH]
    if status != OK or depth < 0:
        return status
    if _is_full(depth, emission, progress, buffers):
        return OUTPUT_FULL
    before = progress[USED]
    status = _emit(depth, partition, emission, walk.machine, walk.frames, progress, buffers)
    mark_waiting(buffers.out, before, progress, closest)
    return status


@spliced
def _emit(depth, partition, emission, machine, frames, progress, buffers):
    """Append what frames 1 to ``depth`` hold as the partition's next match, for which there must be room.

    Returns:
        OK or TOO_MANY_ROWS.
    """
    progress[MATCHES] += 1
    before = progress[USED]
    emit_run(depth, partition, emission, machine, frames, progress, buffers)
    progress[EMITTED] += 1 if emission.every_row == MAPPED_ROWS else progress[USED] - before
    return TOO_MANY_ROWS if progress[EMITTED] > emission.max_rows else OK


@spliced
def _is_full(depth, emission, progress, buffers):
    """Whether there is no room for a match of so many events."""
    more = depth if emission.every_row else 1
    full = progress[USED] + more > buffers.out.shape[0]
    return full or (emission.traced and progress[TRACED] + depth > buffers.trace.shape[0])


@spliced
def row_limit(row, partition, use_within, within, progress):
    """The last row that a match from a start row may take."""
    base, rows = partition.base, partition.rows
    if not use_within:
        return rows - 1
    if within.null[0, base + row] or within.null[1, base + row]:
        return row - 1
    bound = within.bound[base + row]
    # Keys ascend, but key + interval need not (months, DST, an interval that is a column).
    reached = max(progress[REACHED], row - 1)
    if reached >= row and (within.null[0, base + reached] or within.key[base + reached] > bound):
        reached = row - 1
    while reached + 1 < rows and not within.null[0, base + reached + 1] and within.key[base + reached + 1] <= bound:
        reached += 1
    progress[REACHED] = reached
    return reached


@spliced
def _search(start, partition, walk, merging, progress):
    """Go on to the next match of a start row, in order of preference; ``progress[DEPTH]`` is then its length, or -1.

    Invariant: frames 1 to ``depth`` hold a run that satisfies all that can be decided of it and whose events the
    registers have seen; candidates, cursors and phases say what is left to try behind it. Each step tries one edge on
    one row, moves on to a row, or accepts; the runs walked may be exponentially many (SASE+, section 5).

    Returns:
        A status.
    """
    # In one piece: a part that is spliced in copies the tables of the walk; three of them take 4 s more to compile.
    machine, checks, work, frames = walk.machine, walk.checks, walk.work, walk.frames
    conditions, columns, search, strategy = walk.conditions, walk.columns, walk.search, walk.strategy
    selection, limit = strategy.selection, start.limit
    depth = progress[DEPTH]
    steps = progress[STEPS]
    while depth >= 0:
        steps += 1
        if steps > strategy.max_steps:
            return TOO_MANY_STEPS
        node = frames.state[U(depth)]
        low, high = machine.edge_start[U(node)], machine.edge_start[U(node + 1)]
        accept = machine.accept_edge[U(node)]
        j = frames.candidate[U(depth)]
        if frames.phase[U(depth)] == DONE:
            retreat(machine.state_component[U(node)], conditions, search)
            depth -= 1
            continue
        if frames.phase[U(depth)] == ACCEPTANCE:
            frames.phase[U(depth)] = BEHIND_ACCEPTANCE
            frames.candidate[U(depth)] = -1
            frames.taken[U(depth)] = 0
            if selection == BY_STEP:
                frames.fresh[U(depth)] = True
            end = accept
            while 0 <= end < high and machine.target[U(end)] == ACCEPT:
                result = np.int64(TRUE)
                opening = U(frames.edge[1])
                if asks(end, machine, checks) or machine.absent[opening] | machine.present[opening]:
                    result = accepts(end, depth, start, partition, walk)
                end += 1
                if end == high:
                    frames.phase[U(depth)] = DONE
                if result == TRUE:
                    progress[DEPTH] = depth
                    progress[STEPS] = steps
                    return OK
                if result != FALSE:
                    return result
            continue
        e = frames.cursor[U(depth)]
        i = frames.row[U(depth)]
        if j < 0 or e >= high:
            # Nothing before this row extends the run; 1 until a row does.
            searching = selection == NEXT and depth > 0 and frames.fresh[U(depth)]
            if searching and j >= 0 and frames.taken[U(depth)]:
                remember(node, i, j, merging, conditions, search)
                frames.fresh[U(depth)] = searching = False
            elif selection == BY_STEP and j >= 0 and frames.taken[U(depth)] >= STAYED:
                frames.fresh[U(depth)] = False
            if j >= 0 and _row_is_last(selection, depth, frames):
                j = limit + 1
            else:
                first = np.int64(0)
                if j < 0 and selection == NEXT and depth > 0:
                    first = first_to_look_at(node, i, merging, conditions, search)
                j = _next_candidate(depth, j, first, start, selection, machine, work, frames)
                if searching and j > limit:
                    remember(node, i, limit + 1, merging, conditions, search)
                    frames.fresh[U(depth)] = False
            if j > limit:
                # No row is left for these edges.
                if frames.phase[U(depth)] == BEFORE_ACCEPTANCE and accept >= 0:
                    frames.phase[U(depth)] = ACCEPTANCE
                    continue
                if depth > 0:
                    retreat(machine.state_component[U(node)], conditions, search)
                depth -= 1
                continue
            frames.candidate[U(depth)] = j
            frames.cursor[U(depth)] = low
            frames.taken[U(depth)] = 0
            continue
        if depth + 2 >= frames.state.shape[0]:
            progress[DEPTH] = depth
            progress[STEPS] = steps - 1
            return STACK_FULL
        frames.cursor[U(depth)] = e + 1
        if machine.target[U(e)] == ACCEPT:
            continue
        explored = accept < 0 or (e < accept) == (frames.phase[U(depth)] == BEFORE_ACCEPTANCE)
        component = machine.component[U(e)]
        # An event that such an edge can take is never ignored for another one.
        takes_next = selection == NEXT or (selection == BY_STEP and machine.steps[component] == NEXT)
        if not explored and not takes_next:
            continue
        if work.next_row[component, j] != j:
            continue
        target = machine.target[U(e)]
        viable = work.end[target, j] <= limit
        if not viable and not takes_next:
            continue
        if selection == BY_STEP and takes_next and depth > 0 and not frames.fresh[U(depth)]:
            continue
        open_start = depth == 0 and strategy.use_within  # what comes before is decided on accepting
        if not open_start and not sees(machine.absent[U(e)], machine.present[U(e)], i, j, work):
            continue
        advance(component, j, partition.base, conditions, columns, search)
        frames.row[U(depth + 1)] = j
        frames.edge[U(depth + 1)] = e
        frames.state[U(depth + 1)] = target
        result = np.int64(TRUE)
        if asks(e, machine, checks):
            result = takes(e, depth, j, partition, walk)
        if result == TRUE:
            if takes_next or selection != BY_STEP:
                frames.taken[U(depth)] |= TAKEN if machine.ends[U(e)] else TAKEN | STAYED
            if explored and viable:
                depth += 1
                frames.candidate[U(depth)] = -1
                # A state whose first way on is acceptance has no rows to look at before.
                at_once = machine.edge_start[U(target)] == machine.accept_edge[U(target)]
                frames.phase[U(depth)] = ACCEPTANCE if at_once else BEFORE_ACCEPTANCE
                frames.fresh[U(depth)] = True
                continue
        retreat(component, conditions, search)
        if result != TRUE and result != FALSE:
            return result
    progress[DEPTH] = -1
    progress[STEPS] = steps
    return OK


@spliced
def _row_is_last(selection, depth, frames):
    """Whether no row after the candidate may be taken instead of it."""
    if depth == 0 or selection == STRICT:
        return True
    return selection == NEXT and frames.taken[U(depth)] >= STAYED


@inlined
def _next_candidate(depth, j, known, start, selection, machine, work, frames):
    """The next row after ``j`` (-1: the first) that some edge may take; above the limit where there is none.

    ``known``: rows before this one need not be looked at.
    """
    limit = start.limit
    if depth == 0:
        return start.row if j < 0 else limit + 1
    node, i = frames.state[U(depth)], frames.row[U(depth)]
    if selection == STRICT:
        return i + 1 if j < 0 and work.last_equal[i] == i else limit + 1
    first = max(np.int64(work.last_equal[i]) + 1, known) if j < 0 else j + 1
    best = limit + 1
    accept = machine.accept_edge[U(node)]
    for e in range(machine.edge_start[U(node)], machine.edge_start[U(node + 1)]):
        if machine.target[U(e)] == ACCEPT:
            continue
        component = machine.component[U(e)]
        if selection == BY_STEP:
            step = machine.steps[component]
            if (step == NEXT and not frames.fresh[U(depth)]) or (step == STRICT and j >= 0):
                continue
        if selection == ANY and not (accept < 0 or (e < accept) == (frames.phase[U(depth)] == BEFORE_ACCEPTANCE)):
            continue
        target = machine.target[U(e)]
        if selection == ANY and work.earliest[target, first] > limit:
            continue
        at = np.int64(work.next_row[component, first])
        if at < best and sees(machine.absent[U(e)], _NONE, i, at, work):
            best = at
    return best
