"""Matches over events with imprecise times: feasible signatures, found event by event.

A depth-first walk over the pattern's automaton. What is known of a run are bounds: the earliest tick at which its last
element can end, the latest one at which its first event can be, so that WITHIN can hold. Only runs that some world has
are extended (paper "Recognizing Patterns in Streams with Imprecise Timestamps", event-based evaluation); worlds and
points are never enumerated. Under SKIP TILL NEXT MATCH no event behind the next earliest last tick follows: some other
event has been taken by then in every world.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, inner, kernel
from sparkcep.exec.kernels.conditions import advance, retreat
from sparkcep.exec.kernels.rows.output import MAPPED_ROWS
from sparkcep.exec.kernels.runs.checks import passes
from sparkcep.exec.kernels.runs.graph import ACCEPT, next_rows, next_taken
from sparkcep.exec.kernels.runs.graph_tables import Partition, Strategy, Walk
from sparkcep.exec.kernels.runs.output import emit_run
from sparkcep.exec.kernels.runs.tables import Buffers, Emission
from sparkcep.exec.kernels.statuses import (
    FALSE,
    OK,
    OUTPUT_FULL,
    POOL_FULL,
    STACK_FULL,
    TOO_MANY_ROWS,
    TOO_MANY_STEPS,
    TRUE,
)
from sparkcep.exec.kernels.uncertain.confidence import (
    FAR,
    NO_BOUND,
    confidence,
    first_from,
    mass_at,
    mass_from_to,
    mass_upto,
)

#: What ``progress`` holds; USED, EMITTED and TRACED lie where runs/output.py wants them.
AT_PARTITION, SIGNATURES, MATCHES, DEAD_ENDS, STEPS, EMITTED, USED, TRACED = range(8)
PROGRESS = 8
#: A bound on a confidence may be this much too low.
_ROUNDING = 1e-9


@kernel
def match_uncertain(
    offsets, masks, machine, checks, query, events, every_row, traced, output, conditions, columns, max_steps,
    max_rows, most_matches, work, frames, stack, graph, elements, masses, search, shown, best, result, ticks, progress,
    out, trace, found, found_ticks,
):  # fmt: skip
    """Match every partition of a batch from ``progress[AT_PARTITION]`` on.

    Args:
        offsets, masks, machine, checks, work, frames, output, conditions, columns, search, shown, every_row, traced,
            most_matches, out, trace: as of runs.match_runs; ``masks`` in the order of ``events``.
        query, events, stack, graph, elements, masses: see tables.py.
        best: (k,) a heap of the k highest confidences so far, zeros at first: lower ones are not asked for. k = 0: all
            are.
        found: (n,) confidence of each row of ``out``. found_ticks: (n, 2) earliest and latest tick.

    Returns:
        A status; OUTPUT_FULL, POOL_FULL and STACK_FULL: call again with more room, for the whole partition.
    """
    for q in range(progress[AT_PARTITION], offsets.shape[0] - 1):
        base = offsets[q]
        rows = offsets[q + 1] - base
        used, traces = progress[USED], progress[TRACED]
        signatures, dead = progress[SIGNATURES], progress[DEAD_ENDS]
        progress[MATCHES] = progress[STEPS] = progress[EMITTED] = 0
        _prepare(base, rows, masks, machine, query, events, graph, work)
        status = _search(
            q, base, rows, machine, checks, query, events, every_row, traced, output, conditions, columns, max_steps,
            max_rows, most_matches, work, frames, stack, graph, elements, masses, search, shown, best, result, ticks,
            progress, out, trace, found, found_ticks,
        )  # fmt: skip
        if status != OK:
            progress[USED], progress[TRACED] = used, traces
            progress[SIGNATURES], progress[DEAD_ENDS] = signatures, dead
            return status
        progress[AT_PARTITION] = q + 1
    return OK


@inner
def _prepare(base, n, masks, machine, query, events, graph, work):
    """Fill ``graph``, and ``next_row`` of ``work``, for a partition."""
    next_rows(base, n, masks, machine, work)
    for k in range(n):
        graph.taken[k] = 0
    first, start = machine.automata[0], machine.automata[1]
    since = np.int64(0)
    for j in range(n):
        while since < j and events.low[base + since] < events.low[base + j] + 2 - events.widest:
            since += 1
        graph.since[j] = since
    bounded = query.within < NO_BOUND
    for s in range(first, start):
        graph.latest[s] = FAR if machine.accept_edge[s] >= 0 else -FAR
        if bounded:
            for j in range(n):
                taken = machine.accept_edge[s] >= 0 and work.next_row[machine.state_component[s], j] == j
                graph.end[s, j] = events.low[base + j] if taken else FAR
            _suffix(s, n, graph)
    # A completion without cycles is the easiest, so as many rounds as there are states are enough.
    changed = True
    while changed:
        changed = False
        for s in range(start - 1, first - 1, -1):
            latest = graph.latest[s]
            for e in range(machine.edge_start[s], machine.edge_start[s + 1]):
                t = machine.target[e]
                if t == ACCEPT or t == s or graph.latest[t] <= latest:
                    continue
                latest = max(latest, _latest(s, t, machine.component[e], base, n, machine, query, events, graph, work))
            if latest > graph.latest[s]:
                graph.latest[s] = latest
                changed = True
            if bounded and _ends(s, base, n, machine, query, events, graph, work):
                _suffix(s, n, graph)
                changed = True


@inner
def _latest(s, t, c, base, n, machine, query, events, graph, work):
    """The latest end of a run in state ``s`` from which it can go on to ``t``."""
    joins = query.sets[c] and machine.state_component[s] == c
    best = np.int64(-FAR)
    k = np.int64(work.next_row[c, 0])
    while k < n and events.low[base + k] <= graph.latest[t]:
        if joins:
            return graph.latest[t]
        best = max(best, min(events.high[base + k], graph.latest[t]) - 1)
        k = np.int64(work.next_row[c, k + 1])
    return best


@inner
def _ends(s, base, n, machine, query, events, graph, work):
    """Lower ``end`` of a state by what its edges lead to; returns whether anything changed."""
    changed = False
    own = machine.state_component[s]
    for e in range(machine.edge_start[s], machine.edge_start[s + 1]):
        t = machine.target[e]
        if t == ACCEPT or t == s:
            continue
        joins = query.sets[machine.component[e]] and own == machine.component[e]
        j = np.int64(work.next_row[own, 0])
        while j < n:
            reached = graph.least[t, j + 1 if joins else graph.since[j]]
            if reached < FAR:
                reached = max(reached, events.low[base + j])
                if reached < graph.end[s, j]:
                    graph.end[s, j] = reached
                    changed = True
            j = np.int64(work.next_row[own, j + 1])
    return changed


@inner
def _suffix(s, n, graph):
    graph.least[s, n] = FAR
    for j in range(n - 1, -1, -1):
        graph.least[s, j] = min(graph.end[s, j], graph.least[s, j + 1])


@inner
def _first_candidate(d, e, base, rows, machine, query, events, frames, stack, work):
    """The first event that an edge may take after frame ``d``, as far as its bounds tell."""
    c = machine.component[e]
    if d == 0:
        return np.int64(work.next_row[c, 0])
    joins = query.sets[c] and machine.state_component[frames.state[d]] == c
    tick = (stack.before[d] if joins else stack.low[d]) + 2 - events.widest
    after = np.int64(stack.event[d] - base + 1 if joins else 0)
    return np.int64(work.next_row[c, max(after, first_from(base, rows, tick, events))])


@inner
def _extends(d, e, k, base, machine, query, events, frames, stack, graph):
    """Bounds of the run that edge ``e`` makes of event ``k``, in frame ``d + 1``; returns whether some world may have
    it, and may complete it."""
    c = machine.component[e]
    low, high = events.low[base + k], events.high[base + k]
    joins = d > 0 and query.sets[c] and machine.state_component[frames.state[d]] == c
    before = stack.before[d] if joins else stack.low[d]
    if high <= before or graph.taken[k]:
        return False
    own = max(low, before + 1)
    element = stack.element[d] + 1
    if joins:
        own = max(own, stack.low[d])
        element -= 1
    first = min(stack.first[d], high - element + 1)
    target = machine.target[e]
    if own > graph.latest[target]:
        return False
    if query.within < NO_BOUND:
        if own - first > query.within or element - 1 > query.within:
            return False
        if graph.end[target, k] > first + query.within:
            return False
    stack.event[d + 1] = base + k
    stack.low[d + 1] = own
    stack.before[d + 1] = before
    stack.first[d + 1] = first
    stack.element[d + 1] = element
    stack.begin[d + 1] = stack.begin[d] if joins else d + 1
    stack.ready[d + 1] = 0
    return True


@inner
def _takes(d, e, k, base, rows, machine, checks, conditions, columns, work, frames, events, search):
    """Conditions that the match decides, on taking event ``k`` over an edge: a condition's result."""
    if checks.group_start[machine.group[e]] == checks.group_start[machine.group[e] + 1]:
        return TRUE
    c = machine.component[e]
    row = events.row[base + k]
    advance(c, row, base, conditions, columns, search)
    result = passes(
        machine.group[e],
        d,
        row,
        Partition(0, base, rows),
        Walk(Strategy(0, 0, 0, 0), machine, checks, conditions, columns, work, frames, search),
    )
    retreat(c, conditions, search)
    return result


@inner
def _list_next(
    d, base, rows, machine, checks, query, events, conditions, columns, work, frames, stack, graph, search
):  # fmt: skip
    """List what can extend the run up to the next earliest last tick; returns a status."""
    node = frames.state[d]
    low, high = machine.edge_start[node], machine.edge_start[node + 1]
    at = stack.listed[d]
    last_high = events.high[stack.event[d]]
    until = np.int64(FAR)
    if query.within < NO_BOUND:
        until = stack.first[d] + query.within
    k = first_from(base, rows, stack.low[d] + 2 - events.widest, events)
    k = next_taken(k, rows, low, high, machine, work)
    while k < rows and events.low[base + k] <= until:
        if events.high[base + k] > stack.low[d] and not graph.taken[k]:
            stays = False
            for e in range(low, high):
                if machine.target[e] == ACCEPT or work.next_row[machine.component[e], k] != k:
                    continue
                result = _takes(d, e, k, base, rows, machine, checks, conditions, columns, work, frames, events, search)
                if result == TRUE:
                    if at >= stack.next_event.shape[0]:
                        return POOL_FULL
                    stack.next_event[at] = k
                    stack.next_edge[at] = e
                    stack.next_ends[at] = machine.ends[e]
                    stays |= not machine.ends[e]
                    at += 1
                elif result != FALSE:
                    return result
            # In every world it is taken by then, or something before it.
            if stays and events.low[base + k] > last_high:
                until = min(until, events.high[base + k])
        k = next_taken(k + 1, rows, low, high, machine, work)
    stack.listed[d + 1] = at
    stack.cursor[d] = stack.listed[d]
    return OK


@inner
def _sum_up_to(d, tick, events, stack):
    """Probability of the run in frame ``d`` with its last element ended at this tick or before."""
    if d == 0:
        return 1.0
    if tick < stack.low[d]:
        return 0.0
    return stack.sums[d, min(tick, _top(d, events, stack)) - stack.low[d]]


@inner
def _top(d, events, stack):
    top = events.high[stack.event[d]]
    for m in range(stack.begin[d], d):
        top = max(top, events.high[stack.event[m]])
    return top


@inner
def _sum(d, events, stack):
    """Fill ``sums`` of a frame, as if nothing were to be kept out of gaps; returns the probability of the run."""
    begin = stack.begin[d]
    before = begin - 1
    low, top = stack.low[d], _top(d, events, stack)
    total = 0.0
    if begin == d:
        k = stack.event[d]
        if before == 0:
            for tick in range(low, top + 1):
                stack.sums[d, tick - low] = mass_upto(events, k, tick)
            return 1.0
        at_low, at_top = stack.low[before], _top(before, events, stack)
        for tick in range(low, top + 1):
            earlier = stack.sums[before, min(tick - 1, at_top) - at_low]
            total += mass_at(events, k, tick) * earlier
            stack.sums[d, tick - low] = total
        return total
    for tick in range(low, top + 1):
        total = 0.0
        if before == 0:
            total = 1.0
            for m in range(begin, d + 1):
                total *= mass_upto(events, stack.event[m], tick)
        else:
            earlier = 0.0
            for last in range(stack.low[before], min(tick - 1, _top(before, events, stack)) + 1):
                reached = _sum_up_to(before, last, events, stack)
                product = reached - earlier
                earlier = reached
                if product > 0.0:
                    for m in range(begin, d + 1):
                        k = stack.event[m]
                        product *= max(0.0, mass_upto(events, k, tick) - mass_upto(events, k, last))
                    total += product
        stack.sums[d, tick - low] = total
    return total


@inner
def _fill_rows(d, low, events, stack):
    """Fill ``rows`` of a frame that ends an element, from those of the element before; ``low``: the first event's
    earliest tick."""
    begin = stack.begin[d]
    before = begin - 1
    bottom, top = stack.low[d], _top(d, events, stack)
    for a in range(stack.first[d] - low + 1):
        total = 0.0
        for tick in range(bottom, top + 1):
            if before == 0:
                total = 1.0
                for m in range(begin, d + 1):
                    total *= mass_from_to(events, stack.event[m], low + a, tick)
            elif begin == d:
                total += mass_at(events, stack.event[d], tick) * _row_up_to(before, a, tick - 1, events, stack)
            else:
                total = 0.0
                known = 0.0
                for last in range(stack.low[before], min(tick - 1, _top(before, events, stack)) + 1):
                    reached = _row_up_to(before, a, last, events, stack)
                    product = reached - known
                    known = reached
                    if product > 0.0:
                        for m in range(begin, d + 1):
                            product *= mass_from_to(events, stack.event[m], last + 1, tick)
                        total += product
            stack.rows[d - 1, a, tick - bottom] = total
    stack.ready[d] = 1


@inlined
def _row_up_to(d, a, tick, events, stack):
    """As ``_sum_up_to``, of ``rows``; the tick is not before the frame's first."""
    return stack.rows[d - 1, a, min(tick, _top(d, events, stack)) - stack.low[d]]


@inner
def _sum_within(d, low, within, events, stack):
    """Probability of the run in frame ``d``, whose last event is an element of its own, where WITHIN binds.

    A last event at tick t asks for a first event at t - WITHIN or later: one sum over the last event's ticks.
    """
    before = d - 1
    for m in range(1, d):
        if stack.begin[m + 1] == m + 1 and not stack.ready[m]:
            _fill_rows(m, low, events, stack)
    k = stack.event[d]
    total = 0.0
    for tick in range(stack.low[d], min(events.high[k], stack.first[d] + within) + 1):
        a = max(np.int64(0), tick - within - low)
        total += mass_at(events, k, tick) * _row_up_to(before, a, tick - 1, events, stack)
    return total


@inner
def _worth(
    d, accept, base, rows, machine, checks, conditions, columns, events, query, frames, stack, graph, work, elements,
    masses, search, result, ticks,
):  # fmt: skip
    """Confidence and range of the run in frame ``d`` that accepts; returns a status."""
    if query.plain:
        low, high = events.low[stack.event[1]], _top(d, events, stack)
        for m in range(2, d + 1):
            if stack.element[m] > 1:
                break
            low = min(low, events.low[stack.event[m]])
        if high - low <= query.within:
            result[0] = stack.sums[d, high - stack.low[d]]
            ticks[0], ticks[1] = low, high
            return OK
        if stack.begin[d] == d and 1 < d <= stack.rows.shape[0]:
            result[0] = _sum_within(d, low, query.within, events, stack)
            ticks[0], ticks[1] = max(low, stack.low[d] - query.within), min(high, stack.first[d] + query.within)
            return OK
    return confidence(
        d, accept, base, rows, machine, checks, conditions, columns, events, query, frames, stack, graph, work,
        elements, masses, search, result, ticks,
    )  # fmt: skip


@inlined
def _least(query, best):
    """The confidence that a match needs."""
    return max(query.threshold, best[0]) if best.shape[0] else query.threshold


@inner
def _rank(confidence, best):
    """Put a confidence in the place of the least one of a heap, if it is higher."""
    size = best.shape[0]
    if size == 0 or confidence <= best[0]:
        return
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and best[child + 1] < best[child]:
            child += 1
        if best[child] >= confidence:
            break
        best[at] = best[child]
        at = child
    best[at] = confidence


@inner
def _search(
    q, base, rows, machine, checks, query, events, every_row, traced, output, conditions, columns, max_steps, max_rows,
    most_matches, work, frames, stack, graph, elements, masses, search, shown, best, result, ticks, progress, out,
    trace, found, found_ticks,
):  # fmt: skip
    """Find the feasible signatures of a partition, and emit those whose confidence is high enough.

    Invariant: frames 1 to ``d`` hold a run that some world has and may complete, with its bounds in ``stack``; its
    events are ``taken``, and the registers have seen them. Exponential in the worst case, as there may be so many
    signatures; ``max_steps`` ends it. The arguments are those of ``match_uncertain``.

    Returns:
        A status.
    """
    for g in range(search.counts.shape[0]):
        search.counts[g] = 0
    start = machine.automata[1]
    frames.state[0] = start
    frames.row[0] = -1
    frames.edge[0] = 1
    stack.low[0] = stack.before[0] = -FAR
    stack.first[0] = FAR
    stack.element[0] = stack.begin[0] = 0
    stack.listed[0] = stack.listed[1] = 0
    stack.edge[0] = machine.edge_start[start]
    stack.cursor[0] = -1
    summed = query.plain or query.threshold > 0.0 or best.shape[0] > 0
    steps = 0
    d = 0
    while d >= 0:
        steps += 1
        if steps > max_steps:
            return TOO_MANY_STEPS
        node = frames.state[d]
        # The next event to try, and the edge that takes it.
        e = np.int64(-1)
        k = np.int64(rows)
        if query.next and d > 0:
            if stack.cursor[d] < stack.listed[d + 1]:
                e = stack.next_edge[stack.cursor[d]]
                k = stack.next_event[stack.cursor[d]]
                stack.cursor[d] += 1
        else:
            end = machine.edge_start[node + 1]
            while stack.edge[d] < end:
                e = stack.edge[d]
                if machine.target[e] != ACCEPT:
                    if stack.cursor[d] < 0:
                        k = _first_candidate(d, e, base, rows, machine, query, events, frames, stack, work)
                    else:
                        k = np.int64(work.next_row[machine.component[e], stack.cursor[d] + 1])
                    if k < rows:
                        low = events.low[base + k]
                        last = graph.latest[machine.target[e]]
                        if query.within < NO_BOUND and d > 0:
                            last = min(last, stack.first[d] + query.within)
                        if low <= last:
                            break
                k = np.int64(rows)
                stack.edge[d] += 1
                stack.cursor[d] = -1
            stack.cursor[d] = k
        if k >= rows:
            if d > 0:
                graph.taken[stack.event[d] - base] = 0
                if frames.taken[d] == progress[SIGNATURES]:
                    progress[DEAD_ENDS] += 1
                retreat(machine.state_component[node], conditions, search)
            d -= 1
            continue
        if d + 3 >= stack.event.shape[0]:
            return STACK_FULL
        if not _extends(d, e, k, base, machine, query, events, frames, stack, graph):
            progress[DEAD_ENDS] += 1
            continue
        if not (query.next and d > 0):
            taken = _takes(d, e, k, base, rows, machine, checks, conditions, columns, work, frames, events, search)
            if taken == FALSE:
                continue
            if taken != TRUE:
                return taken
        if summed and _sum(d + 1, events, stack) < _least(query, best) * (1.0 - _ROUNDING):
            continue
        d += 1
        node = machine.target[e]
        row = events.row[base + k]
        frames.state[d] = node
        frames.row[d] = row
        frames.edge[d] = e
        frames.taken[d] = progress[SIGNATURES]  # a dead end adds none
        stack.edge[d] = machine.edge_start[node]
        stack.cursor[d] = -1
        graph.taken[k] = 1
        advance(machine.component[e], row, base, conditions, columns, search)
        if query.next:
            status = _list_next(
                d, base, rows, machine, checks, query, events, conditions, columns, work, frames, stack, graph, search
            )  # fmt: skip
            if status != OK:
                return status
        accept = machine.accept_edge[node]
        while 0 <= accept < machine.edge_start[node + 1] and machine.target[accept] == ACCEPT:
            left = passes(
                machine.group[accept],
                d,
                row,
                Partition(0, base, rows),
                Walk(Strategy(0, 0, 0, 0), machine, checks, conditions, columns, work, frames, search),
            )
            if left != TRUE and left != FALSE:
                return left
            if left == TRUE:
                status = _worth(
                    d, accept, base, rows, machine, checks, conditions, columns, events, query, frames, stack, graph,
                    work, elements, masses, search, result, ticks,
                )  # fmt: skip
                if status != OK:
                    return status
                progress[SIGNATURES] += 1
                if result[0] > 0.0 and result[0] >= _least(query, best):
                    more = d if every_row else 1
                    if progress[USED] + more > out.shape[0] or (traced and progress[TRACED] + d > trace.shape[0]):
                        return OUTPUT_FULL
                    progress[MATCHES] += 1
                    _rank(result[0], best)
                    before = progress[USED]
                    emission = Emission(output, every_row, traced, max_rows)
                    buffers = Buffers(out, trace, shown)
                    emit_run(d, Partition(q, base, rows), emission, machine, frames, progress, buffers)
                    for at in range(before, progress[USED]):
                        found[at] = min(result[0], 1.0)
                        found_ticks[at, 0], found_ticks[at, 1] = ticks[0], ticks[1]
                    progress[EMITTED] += 1 if every_row == MAPPED_ROWS else progress[USED] - before
                    if progress[EMITTED] > max_rows:
                        return TOO_MANY_ROWS
                    if progress[MATCHES] >= most_matches:
                        return OK
            accept += 1
        progress[STEPS] = steps
    return OK
