"""The runs kernel: matches under the event selection strategies, one start row after the other.

A depth-first walk over the event graph (graph.py) with an explicit stack. Under SKIP TILL ANY MATCH a step may lead to
every row from which a match can still be completed; under SKIP TILL NEXT MATCH to the first row that can extend the
run; under STRICT CONTIGUITY to the next one. Conditions that depend on the match are tested as soon as they can be
decided. Matches come in order of preference, so the first of a start row is its preferred one.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, kernel, spliced
from sparkcep.exec.kernels.conditions import U, advance, retreat
from sparkcep.exec.kernels.rows.output import MAPPED_ROWS, TO_FIRST, TO_LAST, TO_NEXT_ROW
from sparkcep.exec.kernels.runs.checks import accepts, asks, takes
from sparkcep.exec.kernels.runs.graph import ACCEPT, prepare, sees
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
from sparkcep.exec.kernels.runs.selections import ANY, NEXT, STRICT
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
def match_runs(
    offsets, masks, machine, checks, selection, one_per_start, skip, first_only, use_within, strict, within,
    every_row, traced, output, conditions, columns, max_steps, max_rows, most_matches, work, frames, merging, search,
    closest, shown, progress, out, trace,
):  # fmt: skip
    """Match every partition of a batch from where ``progress`` stands.

    Args:
        offsets: (partitions + 1,) row borders. masks: (words, rows) uint64, one bit per match-independent condition.
        machine, checks, within, work, frames, merging: see graph_tables.py.
        output, conditions, columns, search: see tables.py.
        selection: STRICT, NEXT or ANY. one_per_start: only the preferred match of a start row, after which matching
            goes on as ``skip`` says; else all matches of every start row. first_only: end with the first match.
        strict: whether time must grow strictly. traced: whether ``trace`` gets (component, row) of every event.
        closest: see graph_tables.py; a start row without a match then gives its run that timed out.
        shown: registers of the output's slots, as a search's state.
        every_row: see output.py. max_rows: of a partition; where all matches are wanted, matching may go on past it.
        most_matches: after so many matches a partition is left, as nobody asks for more.
        out: (n, FIXED + slots + 1); the last column is where the match's events end in ``trace`` (m, 2).

    Returns:
        A status; OUTPUT_FULL: call again with more room, or with USED and TRACED at 0 once what is there is read;
        STACK_FULL: call again with more frames, and as many places in ``search`` and ``shown``.
    """
    partitions = offsets.shape[0] - 1
    start_node = machine.automata[1]
    for q in range(progress[AT_PARTITION], partitions):
        base = offsets[q]
        rows = offsets[q + 1] - base
        if not progress[PREPARED]:
            prepare(base, rows, masks, machine, strict, within, use_within, work)
            if merging.on:
                for s in range(start_node):
                    for j in range(rows):
                        merging.known[s, j, 0] = 0
            progress[PREPARED] = 1
            progress[REACHED] = -1
        status = _match_partition(
            q, base, rows, machine, checks, selection, one_per_start, skip, first_only, use_within, strict, within,
            every_row, traced, output, conditions, columns, max_steps, max_rows, most_matches, work, frames,
            merging, search, closest, shown, progress, out, trace,
        )  # fmt: skip
        if status != OK:
            return status
        progress[AT_PARTITION] = q + 1
        for k in (AT_ROW, MATCHES, STEPS, EMITTED, PREPARED, DEPTH, SEARCHING):
            progress[k] = 0
    return OK


@spliced
def _match_partition(
    q, base, rows, machine, checks, selection, one_per_start, skip, first_only, use_within, strict, within,
    every_row, traced, output, conditions, columns, max_steps, max_rows, most_matches, work, frames, merging, search,
    closest, shown, progress, out, trace,
):  # fmt: skip
    """Match a partition from start row to start row; the arguments are those of ``match_runs``.

    Invariant: ``progress`` tells of all start rows before AT_ROW; of that one, where a search is UNDER_WAY or FULL, the
    frames hold it, so that it goes on where it was left.

    Returns:
        A status.
    """
    start_node = machine.automata[1]
    low, high = machine.edge_start[U(start_node)], machine.edge_start[U(start_node + 1)]
    start = progress[AT_ROW]
    while start < rows:
        progress[AT_ROW] = start
        if not progress[SEARCHING]:
            # Without a component that takes it, a row starts nothing; jump to the next that does.
            following = np.int64(rows)
            for e in range(low, high):
                following = min(following, np.int64(work.next_row[machine.component[U(e)], start]))
            if following > start:
                start = following
                continue
        limit = row_limit(base, rows, start, use_within, within, progress)
        found = np.int64(0)
        checks.window[0] = limit
        if not progress[SEARCHING]:
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
        while True:
            if progress[SEARCHING] != FULL:
                status = _search(
                    base, rows, start, limit, machine, checks, selection, use_within, strict, within, conditions,
                    columns, max_steps, work, frames, merging, search, progress,
                )  # fmt: skip
                if status != OK:
                    return status
            depth = progress[DEPTH]
            if depth < 0:
                break
            if _is_full(progress, out, trace, depth, every_row, traced):
                progress[SEARCHING] = FULL
                return OUTPUT_FULL
            progress[SEARCHING] = UNDER_WAY
            found += 1
            status = _emit(
                q, depth, rows, machine, every_row, traced, output, max_rows, frames, shown, progress, out, trace
            )
            if status != OK:
                return status
            if one_per_start or progress[MATCHES] >= most_matches:
                break
        progress[SEARCHING] = IDLE
        if closest.on and found == 0 and limit >= start:
            status = _timed_out(
                q, base, rows, start, limit, machine, checks, selection, strict, every_row, traced, output, conditions,
                columns, max_steps, max_rows, work, frames, search, closest, shown, progress, out, trace,
            )  # fmt: skip
            if status != OK:
                return status
        if first_only and found:
            return OK
        if progress[MATCHES] >= most_matches:
            return OK
        if found and one_per_start:
            last = frames.row[progress[DEPTH]]
            if skip == TO_NEXT_ROW:
                start += 1
            elif skip == TO_FIRST or skip == TO_LAST:
                target = np.int64(-1)
                for d in range(1, progress[DEPTH] + 1):
                    if output.targets[machine.state_component[U(frames.state[d])]]:
                        target = frames.row[d]
                        if skip == TO_FIRST:
                            break
                if target < 0:
                    return SKIP_TARGET_ABSENT
                if target == start:
                    return SKIP_TO_FIRST_ROW
                start = target
            else:
                start = last + 1
        else:
            start += 1
    return OK


@spliced
def _timed_out(
    q, base, rows, start, limit, machine, checks, selection, strict, every_row, traced, output, conditions, columns,
    max_steps, max_rows, work, frames, search, closest, shown, progress, out, trace,
):  # fmt: skip
    """Emit the run of a start row without a match that timed out, if there is one.

    Returns:
        A status; after OUTPUT_FULL the start row is searched again.
    """
    status = closest_run(
        base, rows, start, limit, machine, checks, selection, strict, conditions, columns, max_steps, work, frames,
        search, closest, progress,
    )  # fmt: skip
    depth = progress[DEPTH]
    if status != OK or depth < 0:
        return status
    if _is_full(progress, out, trace, depth, every_row, traced):
        return OUTPUT_FULL
    before = progress[USED]
    status = _emit(q, depth, rows, machine, every_row, traced, output, max_rows, frames, shown, progress, out, trace)
    mark_waiting(out, before, progress, closest)
    return status


@spliced
def _emit(q, depth, rows, machine, every_row, traced, output, max_rows, frames, shown, progress, out, trace):
    """Append what frames 1 to ``depth`` hold as the partition's next match, for which there must be room.

    Returns:
        OK or TOO_MANY_ROWS.
    """
    progress[MATCHES] += 1
    before = progress[USED]
    emit_run(q, progress[MATCHES], depth, rows, machine, every_row, traced, output, frames, shown, progress, out, trace)
    progress[EMITTED] += 1 if every_row == MAPPED_ROWS else progress[USED] - before
    return TOO_MANY_ROWS if progress[EMITTED] > max_rows else OK


@spliced
def _is_full(progress, out, trace, depth, every_row, traced):
    """Whether there is no room for a match of so many events."""
    more = depth if every_row else 1
    return progress[USED] + more > out.shape[0] or (traced and progress[TRACED] + depth > trace.shape[0])


@spliced
def row_limit(base, rows, start, use_within, within, progress):
    """The last row that a match from a start row may take."""
    if not use_within:
        return rows - 1
    if within.null[0, base + start] or within.null[1, base + start]:
        return start - 1
    bound = within.bound[base + start]
    # Keys ascend, but key + interval need not (months, DST, an interval that is a column).
    reached = max(progress[REACHED], start - 1)
    if reached >= start and (within.null[0, base + reached] or within.key[base + reached] > bound):
        reached = start - 1
    while reached + 1 < rows and not within.null[0, base + reached + 1] and within.key[base + reached + 1] <= bound:
        reached += 1
    progress[REACHED] = reached
    return reached


@spliced
def _search(
    base, rows, start, limit, machine, checks, selection, use_within, strict, within, conditions, columns, max_steps,
    work, frames, merging, search, progress,
):  # fmt: skip
    """Go on to the next match of a start row, in order of preference; ``progress[DEPTH]`` is then its length, or -1.

    Invariant: frames 1 to ``depth`` hold a run that satisfies all that can be decided of it and whose events the
    registers have seen; candidates, cursors and phases say what is left to try behind it. Each step tries one edge on
    one row, moves on to a row, or accepts; the runs walked may be exponentially many (SASE+, section 5).

    Returns:
        A status.
    """
    depth = progress[DEPTH]
    steps = progress[STEPS]
    while depth >= 0:
        steps += 1
        if steps > max_steps:
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
            end = accept
            while 0 <= end < high and machine.target[U(end)] == ACCEPT:
                result = np.int64(TRUE)
                opening = U(frames.edge[1])
                if asks(end, machine, checks) or machine.absent[opening] | machine.present[opening]:
                    result = accepts(
                        end, depth, base, rows, start, limit, machine, checks, use_within, strict, conditions, columns,
                        work, frames, search,
                    )  # fmt: skip
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
        if j < 0 or e >= high:
            # Nothing before this row extends the run; 1 until a row does.
            searching = selection == NEXT and depth > 0 and frames.fresh[U(depth)]
            if searching and j >= 0 and frames.taken[U(depth)]:
                remember(node, frames.row[U(depth)], j, merging, conditions, search)
                frames.fresh[U(depth)] = searching = False
            if j >= 0 and _row_is_last(selection, depth, frames):
                j = limit + 1
            else:
                first = np.int64(0)
                if j < 0 and selection == NEXT and depth > 0:
                    first = first_to_look_at(node, frames.row[U(depth)], merging, conditions, search)
                j = _next_candidate(depth, j, first, start, limit, low, high, selection, machine, work, frames)
                if searching and j > limit:
                    remember(node, frames.row[U(depth)], limit + 1, merging, conditions, search)
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
        if not explored and selection != NEXT:
            continue
        component = machine.component[U(e)]
        if work.next_row[component, j] != j:
            continue
        target = machine.target[U(e)]
        viable = work.end[target, j] <= limit
        if not viable and selection != NEXT:
            continue
        i = frames.row[U(depth)]
        open_start = depth == 0 and use_within  # what comes before is decided on accepting
        if not open_start and not sees(machine.absent[U(e)], machine.present[U(e)], i, j, work):
            continue
        advance(component, j, base, conditions, columns, search)
        frames.row[U(depth + 1)] = j
        frames.edge[U(depth + 1)] = e
        frames.state[U(depth + 1)] = target
        result = np.int64(TRUE)
        if asks(e, machine, checks):
            result = takes(e, depth, base, rows, j, machine, checks, strict, conditions, columns, work, frames,
                            search)  # fmt: skip
        if result == TRUE:
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
def _next_candidate(depth, j, known, start, limit, low, high, selection, machine, work, frames):
    """The next row that some edge may take; above ``limit`` where there is none."""
    i = frames.row[U(depth)]
    if depth == 0:
        return start if j < 0 else limit + 1
    if selection == STRICT:
        return i + 1 if j < 0 and work.last_equal[i] == i else limit + 1
    first = max(np.int64(work.last_equal[i]) + 1, known) if j < 0 else j + 1
    best = limit + 1
    accept = machine.accept_edge[U(frames.state[U(depth)])]
    for e in range(low, high):
        if machine.target[U(e)] == ACCEPT:
            continue
        if selection == ANY and not (accept < 0 or (e < accept) == (frames.phase[U(depth)] == BEFORE_ACCEPTANCE)):
            continue
        target = machine.target[U(e)]
        if selection == ANY and work.earliest[target, first] > limit:
            continue
        at = np.int64(work.next_row[machine.component[U(e)], first])
        if at < best and sees(machine.absent[U(e)], _NONE, i, at, work):
            best = at
    return best
