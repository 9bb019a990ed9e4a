"""Matches over events with imprecise times: feasible signatures, found event by event.

A depth-first walk over the pattern's automaton. What is known of a run are bounds: the earliest tick at which its last
element can end, the latest one at which its first event can be, so that WITHIN can hold. Only runs that some world has
are extended (paper "Recognizing Patterns in Streams with Imprecise Timestamps", event-based evaluation); worlds and
points are never enumerated. Under SKIP TILL NEXT MATCH no event behind the next earliest last tick follows: some other
event has been taken by then in every world.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, inner, kernel, spliced
from sparkcep.exec.kernels.conditions.aggregates import advance, retreat
from sparkcep.exec.kernels.rows.output import MAPPED_ROWS
from sparkcep.exec.kernels.runs.graph import ACCEPT, next_rows, next_taken
from sparkcep.exec.kernels.runs.graph_tables import Partition
from sparkcep.exec.kernels.runs.output import emit_run
from sparkcep.exec.kernels.runs.passes import passes
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
def match_uncertain(query, given, walk, room, progress, outcome):
    """Match every partition of a batch from ``progress[AT_PARTITION]`` on.

    Args:
        query, given, room, outcome: see tables.py. walk: see graph_tables.py; of its strategy ``max_steps`` counts.
        progress: (PROGRESS,) see above; zeros at first.

    Returns:
        A status; OUTPUT_FULL, POOL_FULL and STACK_FULL: call again with more room, for the whole partition.
    """
    for q in range(progress[AT_PARTITION], given.offsets.shape[0] - 1):
        base = given.offsets[q]
        partition = Partition(q, base, given.offsets[q + 1] - base)
        used, traces = progress[USED], progress[TRACED]
        signatures, dead = progress[SIGNATURES], progress[DEAD_ENDS]
        progress[MATCHES] = progress[STEPS] = progress[EMITTED] = 0
        next_rows(base, partition.rows, given.masks, walk.machine, walk.work)
        _prepare(partition, walk.machine, query, given.events, room.graph, walk.work)
        status = _search(partition, query, given.events, walk, room, progress, outcome)
        if status != OK:
            progress[USED], progress[TRACED] = used, traces
            progress[SIGNATURES], progress[DEAD_ENDS] = signatures, dead
            return status
        progress[AT_PARTITION] = q + 1
    return OK


@inner
def _prepare(partition, machine, query, events, graph, work):
    """Fill ``graph`` for a partition, of which ``next_row`` is filled; O(rounds x edges x rows), rounds up to the
    states."""
    base, n = partition.base, partition.rows
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
                latest = max(latest, _latest(s, e, partition, machine, query, events, graph, work))
            if latest > graph.latest[s]:
                graph.latest[s] = latest
                changed = True
            if bounded and _ends(s, partition, machine, query, events, graph, work):
                _suffix(s, n, graph)
                changed = True


@inner
def _latest(s, e, partition, machine, query, events, graph, work):
    """The latest end of a run in state ``s`` from which it can go on over an edge."""
    base, n = partition.base, partition.rows
    t, c = machine.target[e], machine.component[e]
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
def _ends(s, partition, machine, query, events, graph, work):
    """Lower ``end`` of a state by what its edges lead to; returns whether anything changed."""
    base, n = partition.base, partition.rows
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


@spliced
def _first_candidate(d, e, partition, query, events, walk, stack):
    """The first event that an edge may take after frame ``d``, as far as its bounds tell."""
    machine, work = walk.machine, walk.work
    c = machine.component[e]
    if d == 0:
        return np.int64(work.next_row[c, 0])
    joins = query.sets[c] and machine.state_component[walk.frames.state[d]] == c
    tick = (stack.before[d] if joins else stack.low[d]) + 2 - events.widest
    after = np.int64(stack.event[d] - partition.base + 1 if joins else 0)
    return np.int64(work.next_row[c, max(after, first_from(partition.base, partition.rows, tick, events))])


@spliced
def _extends(d, e, k, partition, query, events, walk, room):
    """Bounds of the run that edge ``e`` makes of event ``k``, in frame ``d + 1``; returns whether some world may have
    it, and may complete it."""
    machine, stack, graph = walk.machine, room.stack, room.graph
    c, at = machine.component[e], partition.base + k
    high = events.high[at]
    joins = d > 0 and query.sets[c] and machine.state_component[walk.frames.state[d]] == c
    before = stack.before[d] if joins else stack.low[d]
    if high <= before or graph.taken[k]:
        return False
    own = max(events.low[at], before + 1)
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
    stack.event[d + 1] = at
    stack.low[d + 1] = own
    stack.before[d + 1] = before
    stack.first[d + 1] = first
    stack.element[d + 1] = element
    stack.begin[d + 1] = stack.begin[d] if joins else d + 1
    stack.ready[d + 1] = 0
    return True


@inner
def _takes(d, e, k, partition, events, walk):
    """Conditions that the match decides, on taking event ``k`` over an edge: a condition's result."""
    machine, checks = walk.machine, walk.checks
    if checks.group_start[machine.group[e]] == checks.group_start[machine.group[e] + 1]:
        return TRUE
    c = machine.component[e]
    row = events.row[partition.base + k]
    advance(c, row, partition.base, walk.conditions, walk.columns, walk.search)
    result = passes(machine.group[e], d, row, partition, walk)
    retreat(c, walk.conditions, walk.search)
    return result


@inner
def _list_next(d, partition, query, events, walk, stack, graph):
    """List what can extend the run up to the next earliest last tick; O(events up to it x edges).

    Returns:
        A status.
    """
    machine, work, frames = walk.machine, walk.work, walk.frames
    base, rows = partition.base, partition.rows
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
                result = _takes(d, e, k, partition, events, walk)
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
def _worth(d, accept, partition, query, events, walk, room):
    """Confidence and ticks of the run in frame ``d`` that accepts, in ``room.terms``; returns a status."""
    stack, result, ticks = room.stack, room.terms.result, room.terms.ticks
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
    return confidence(d, accept, partition, query, events, walk, room)


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
def _search(partition, query, events, walk, room, progress, outcome):
    """Find the feasible signatures of a partition, and emit those whose confidence is high enough.

    Invariant: frames 1 to ``d`` hold a run that some world has and may complete, with its bounds in ``stack``; its
    events are ``taken``, and the registers have seen them. Exponential in the worst case, as there may be so many
    signatures; ``max_steps`` ends it.

    Returns:
        A status.
    """
    machine, frames, stack = walk.machine, walk.frames, room.stack
    _begin(machine, frames, stack, walk.search)
    summed = query.plain or query.threshold > 0.0 or room.best.shape[0] > 0
    steps = 0
    d = 0
    while d >= 0:
        steps += 1
        if steps > walk.strategy.max_steps:
            return TOO_MANY_STEPS
        if query.next and d > 0:
            e, k = _next_listed(d, partition.rows, stack)
        else:
            e, k = _next_event(d, partition, query, events, walk, stack, room.graph)
        if k >= partition.rows:
            if d > 0:
                room.graph.taken[stack.event[d] - partition.base] = 0
                if frames.taken[d] == progress[SIGNATURES]:
                    progress[DEAD_ENDS] += 1
                retreat(machine.state_component[frames.state[d]], walk.conditions, walk.search)
            d -= 1
            continue
        if d + 3 >= stack.event.shape[0]:
            return STACK_FULL
        if not _extends(d, e, k, partition, query, events, walk, room):
            progress[DEAD_ENDS] += 1
            continue
        if not (query.next and d > 0):
            taken = _takes(d, e, k, partition, events, walk)
            if taken == FALSE:
                continue
            if taken != TRUE:
                return taken
        if summed and _sum(d + 1, events, stack) < _least(query, room.best) * (1.0 - _ROUNDING):
            continue
        d += 1
        frames.taken[d] = progress[SIGNATURES]  # a dead end adds none
        _take(d, e, k, partition.base, events, walk, room)
        if query.next:
            status = _list_next(d, partition, query, events, walk, stack, room.graph)
            if status != OK:
                return status
        status = _accept(d, partition, query, events, walk, room, progress, outcome)
        if status != OK:
            return status
        if progress[MATCHES] >= query.most_matches:
            return OK
        progress[STEPS] = steps
    return OK


@spliced
def _begin(machine, frames, stack, search):
    """Begin the search of a partition: nothing is taken, and the registers have seen nothing."""
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


@spliced
def _next_listed(d, rows, stack):
    """The next event that extends a run under SKIP TILL NEXT MATCH, with the edge that takes it; ``rows``: none."""
    e, k = np.int64(-1), np.int64(rows)
    if stack.cursor[d] < stack.listed[d + 1]:
        e, k = stack.next_edge[stack.cursor[d]], stack.next_event[stack.cursor[d]]
        stack.cursor[d] += 1
    return e, k


@spliced
def _next_event(d, partition, query, events, walk, stack, graph):
    """The next event to try, as far as its interval tells, with the edge that takes it; ``rows``: none."""
    machine, base, rows = walk.machine, partition.base, partition.rows
    e, k = np.int64(-1), np.int64(rows)
    end = machine.edge_start[walk.frames.state[d] + 1]
    while stack.edge[d] < end:
        e = stack.edge[d]
        if machine.target[e] != ACCEPT:
            if stack.cursor[d] < 0:
                k = _first_candidate(d, e, partition, query, events, walk, stack)
            else:
                k = np.int64(walk.work.next_row[machine.component[e], stack.cursor[d] + 1])
            if k < rows:
                last = graph.latest[machine.target[e]]
                if query.within < NO_BOUND and d > 0:
                    last = min(last, stack.first[d] + query.within)
                if events.low[base + k] <= last:
                    break
        k = np.int64(rows)
        stack.edge[d] += 1
        stack.cursor[d] = -1
    stack.cursor[d] = k
    return e, k


@spliced
def _take(d, e, k, base, events, walk, room):
    """Take event ``k`` over an edge into frame ``d``, whose bounds are known."""
    machine, frames, stack = walk.machine, walk.frames, room.stack
    node, row = machine.target[e], events.row[base + k]
    frames.state[d] = node
    frames.row[d] = row
    frames.edge[d] = e
    stack.edge[d] = machine.edge_start[node]
    stack.cursor[d] = -1
    room.graph.taken[k] = 1
    advance(machine.component[e], row, base, walk.conditions, walk.columns, walk.search)


@spliced
def _accept(d, partition, query, events, walk, room, progress, outcome):
    """Emit what the run in frame ``d`` is where it may end and its confidence is high enough.

    Returns:
        A status.
    """
    machine, frames = walk.machine, walk.frames
    node = frames.state[d]
    accept = machine.accept_edge[node]
    while 0 <= accept < machine.edge_start[node + 1] and machine.target[accept] == ACCEPT:
        left = passes(machine.group[accept], d, frames.row[d], partition, walk)
        if left != TRUE and left != FALSE:
            return left
        if left == TRUE:
            status = _worth(d, accept, partition, query, events, walk, room)
            if status != OK:
                return status
            progress[SIGNATURES] += 1
            worth = room.terms.result[0]
            if worth > 0.0 and worth >= _least(query, room.best):
                status = _emit(d, partition, machine, frames, room.terms, progress, outcome)
                if status != OK:
                    return status
                _rank(worth, room.best)
                if progress[MATCHES] >= query.most_matches:
                    return OK
        accept += 1
    return OK


@spliced
def _emit(d, partition, machine, frames, terms, progress, outcome):
    """Append what frames 1 to ``d`` hold as the partition's next match, with its confidence and its ticks.

    Returns:
        OK, OUTPUT_FULL or TOO_MANY_ROWS.
    """
    emission, buffers = outcome.emission, outcome.buffers
    before = progress[USED]
    if before + (d if emission.every_row else 1) > buffers.out.shape[0]:
        return OUTPUT_FULL
    if emission.traced and progress[TRACED] + d > buffers.trace.shape[0]:
        return OUTPUT_FULL
    progress[MATCHES] += 1
    emit_run(d, partition, emission, machine, frames, progress, buffers)
    for at in range(before, progress[USED]):
        outcome.confidence[at] = min(terms.result[0], 1.0)
        outcome.ticks[at, 0], outcome.ticks[at, 1] = terms.ticks[0], terms.ticks[1]
    progress[EMITTED] += 1 if emission.every_row == MAPPED_ROWS else progress[USED] - before
    return TOO_MANY_ROWS if progress[EMITTED] > emission.max_rows else OK
