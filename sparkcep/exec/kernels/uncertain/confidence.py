"""Confidence of a signature by dynamic programming over ticks.

The confidence is the sum over the signature's valid tick tuples of their probability, times the probability that no
other event lies where it would end the match: a negated event, or under SKIP TILL NEXT MATCH one that the run would
have taken before. Elements follow each other strictly; an element is an event or the set of a Kleene's members, of
which first and last tick count. An event that must stay out of one gap is a factor of that gap. One that must stay out
of several is placed explicitly, once, in what is left to it, so that all terms are positive: a confidence is zero
exactly where no world has the match.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, inner, spliced
from sparkcep.exec.kernels.conditions.aggregates import advance, retreat
from sparkcep.exec.kernels.conditions.codes import U
from sparkcep.exec.kernels.runs.passes import passes
from sparkcep.exec.kernels.statuses import FALSE, OK, POOL_FULL, TOO_MANY_SHARED, TRUE
from sparkcep.exec.kernels.uncertain.tables import Gap

FAR = 2**61
#: No WITHIN.
NO_BOUND = 2**60


@inlined
def mass_at(events, k, tick):
    """Probability that event ``k`` is at a tick."""
    low, high = events.low[k], events.high[k]
    if tick < low or tick > high:
        return 0.0
    if events.at[k] < 0:
        return 1.0 / (high - low + 1)
    return events.mass[events.at[k] + tick - low]


@inlined
def mass_upto(events, k, tick):
    """Probability that event ``k`` is at this tick or before it."""
    low, high = events.low[k], events.high[k]
    if tick < low:
        return 0.0
    if tick >= high:
        return 1.0
    if events.at[k] < 0:
        return (tick - low + 1) / (high - low + 1)
    return events.upto[events.at[k] + tick - low]


@inlined
def mass_since(events, k, tick):
    """Probability that event ``k`` is at this tick or behind it."""
    low, high = events.low[k], events.high[k]
    if tick > high:
        return 0.0
    if tick <= low:
        return 1.0
    if events.at[k] < 0:
        return (high - tick + 1) / (high - low + 1)
    return events.since[events.at[k] + tick - low]


@inlined
def mass_from_to(events, k, first, last):
    """Probability that event ``k`` is at one of the ticks from ``first`` to ``last``."""
    low, high = events.low[k], events.high[k]
    first = max(first, low)
    last = min(last, high)
    if first > last:
        return 0.0
    if events.at[k] < 0:
        return (last - first + 1) / (high - low + 1)
    if first == low:
        return events.upto[events.at[k] + last - low]
    return max(0.0, events.upto[events.at[k] + last - low] - events.upto[events.at[k] + first - 1 - low])


@inner
def _set_mass(events, stack, begin, end, first, last):
    """Probability that the members in these frames have this first and this last tick."""
    if first == last:
        mass = 1.0
        for d in range(begin, end + 1):
            mass *= mass_at(events, stack.event[d], first)
        return mass
    none, low, high, both = 1.0, 0.0, 0.0, 0.0
    for d in range(begin, end + 1):
        k = stack.event[d]
        at_first = mass_at(events, k, first)
        at_last = mass_at(events, k, last)
        inside = mass_from_to(events, k, first + 1, last - 1)
        both = both * (inside + at_first + at_last) + low * at_last + high * at_first
        low = low * (inside + at_first) + none * at_first
        high = high * (inside + at_last) + none * at_last
        none *= inside
    return both


@inner
def _bounds(depth, events, stack, elements):
    """Fill elements and the ranges of their ticks; returns their number."""
    count = stack.element[depth]
    d = 1
    low = -FAR
    for e in range(1, count + 1):
        elements.begin[e] = d
        k = stack.event[d]
        least_low, most_low, least_high, most_high = events.low[k], events.low[k], events.high[k], events.high[k]
        while d + 1 <= depth and stack.element[d + 1] == e:
            d += 1
            k = stack.event[d]
            least_low = min(least_low, events.low[k])
            most_low = max(most_low, events.low[k])
            least_high = min(least_high, events.high[k])
            most_high = max(most_high, events.high[k])
        elements.end[e] = d
        d += 1
        elements.first_low[e] = max(least_low, low + 1)
        elements.last_low[e] = max(most_low, low + 1)
        elements.first_high[e] = least_high
        elements.last_high[e] = most_high
        low = elements.last_low[e]
    high = FAR
    for e in range(count, 0, -1):
        elements.first_high[e] = min(elements.first_high[e], high - 1)
        elements.last_high[e] = min(elements.last_high[e], high - 1)
        high = elements.first_high[e]
    return count


@inlined
def _forbid(k, used, gap, base, events, graph, elements):
    """Add an event to what must stay out of a gap if it may lie in it; returns how much of ``forbidden`` is used."""
    if events.low[base + k] >= gap.upper or events.high[base + k] <= gap.lower:
        return used
    if graph.taken[k] or elements.mark[k] == gap.number + 1:
        return used
    elements.mark[k] = gap.number + 1
    elements.gaps[k] += 1
    elements.forbidden[used] = base + k
    return used + 1


@inner
def _ends_match(x, k, depth, partition, events, walk):
    """Whether event ``k`` is negation ``x``'s, by the conditions that tie it to the match, which is complete.

    Returns:
        TRUE, FALSE, or the status of the first condition that fails with an error.
    """
    machine = walk.machine
    if not np.uint64(machine.dependent) >> np.uint64(x) & np.uint64(1):
        return np.int64(TRUE)
    c = machine.automata[3 * (x + 1) + 2]
    row = events.row[partition.base + k]
    advance(c, row, partition.base, walk.conditions, walk.columns, walk.search)
    result = passes(machine.negation_group[U(x)], depth, row, partition, walk)
    retreat(c, walk.conditions, walk.search)
    return np.int64(result)


@inner
def _fill_gaps(count, depth, accept, partition, query, events, walk, room):
    """Fill what must stay out of which gap; returns a status and the number of events that have several.

    O(gaps x (negations x events around a gap + events listed)). ``mark`` and ``gaps`` are zeros before and after.
    """
    machine, frames, stack, elements = walk.machine, walk.frames, room.stack, room.terms.elements
    base, rows = partition.base, partition.rows
    used = np.int64(0)
    status = np.int64(OK)
    for g in range(count + 1):
        elements.gap[g] = used
        elements.several[g] = 0
        lower = elements.last_low[g] if g > 0 else np.int64(-FAR)
        upper = elements.first_high[g + 1] if g < count else np.int64(FAR)
        gap = Gap(g, lower, upper)
        edge = frames.edge[elements.begin[g + 1]] if g < count else accept
        if used > elements.forbidden.shape[0] - rows:
            status = np.int64(POOL_FULL)
            break
        status, used = _negated(gap, used, machine.absent[edge], depth, partition, events, walk, room)
        if status != OK:
            break
        if query.next and 0 < g < count:
            d = elements.end[g]
            for at in range(stack.listed[d], stack.listed[d + 1]):
                if not stack.next_ends[at]:
                    used = _forbid(stack.next_event[at], used, gap, base, events, room.graph, elements)
    elements.gap[count + 1] = used
    for n in range(used):
        elements.mark[elements.forbidden[n] - base] = 0
    if status != OK:
        for n in range(used):
            elements.gaps[elements.forbidden[n] - base] = 0
        return status, np.int64(0)
    shared = _share(count, base, elements)
    if shared > elements.shared.shape[0]:
        for row in range(rows):
            elements.mark[row] = 0
            elements.gaps[row] = 0
        return np.int64(TOO_MANY_SHARED), shared
    return status, shared


@spliced
def _negated(gap, used, absent, depth, partition, events, walk, room):
    """Have the events of negations ``absent`` stay out of a gap; returns a status and how much of ``forbidden`` is
    used."""
    machine, work, graph, elements = walk.machine, walk.work, room.graph, room.terms.elements
    base, rows = partition.base, partition.rows
    status = np.int64(OK)
    x = 0
    while absent:
        if absent & np.uint64(1):
            c = machine.automata[3 * (x + 1) + 2]
            k = np.int64(0)
            if gap.number > 0:
                # Widths differ, so an event that begins long before the gap may still reach into it.
                k = np.int64(first_from(base, rows, gap.lower + 2 - events.widest, events))
            k = np.int64(work.next_row[c, k])
            while k < rows and events.low[base + k] < gap.upper:
                ends = np.int64(FALSE)
                if events.high[base + k] > gap.lower and not graph.taken[k]:
                    ends = _ends_match(x, k, depth, partition, events, walk)
                if ends == TRUE:
                    used = _forbid(k, used, gap, base, events, graph, elements)
                elif ends != FALSE:
                    status = ends
                k = np.int64(work.next_row[c, k + 1])
        absent >>= np.uint64(1)
        x += 1
    return status, used


@spliced
def _share(count, base, elements):
    """Take what must stay out of several gaps from the gaps' lists to ``shared``, as far as there is room; returns how
    many these are. ``mark`` holds their place among the shared ones meanwhile."""
    shared = np.int64(0)
    most = elements.shared.shape[0]
    kept = np.int64(0)
    seen = np.int64(0)
    for g in range(count + 1):
        end = elements.gap[g + 1]
        elements.gap[g] = kept
        while seen < end:
            k = elements.forbidden[seen] - base
            if elements.gaps[k] > 1:
                if elements.mark[k] == 0:
                    if shared < most:
                        elements.shared[shared] = base + k
                    shared += 1
                    elements.mark[k] = shared
                if elements.mark[k] <= most:
                    elements.several[g] |= np.int64(1) << (elements.mark[k] - 1)
            else:
                elements.gaps[k] = 0
                elements.forbidden[kept] = base + k
                kept += 1
            seen += 1
    elements.gap[count + 1] = kept
    for n in range(min(shared, most)):
        elements.mark[elements.shared[n] - base] = 0
        elements.gaps[elements.shared[n] - base] = 0
    return shared


@inlined
def first_from(base, rows, tick, events):
    """The first event of a partition that begins at this tick or behind it."""
    low, high = np.int64(0), np.int64(rows)
    while low < high:
        middle = (low + high) >> 1
        if events.low[base + middle] < tick:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def _place(first, last, shared, closed, events, elements, masses):
    """Place shared events at the ticks ``first`` to ``last``, those of ``closed`` excepted, over ``moved``."""
    for n in range(shared):
        bit = np.int64(1) << n
        if closed & bit:
            continue
        mass = mass_from_to(events, elements.shared[n], first, last)
        if mass > 0.0:
            for s in range(np.int64(1) << shared):
                if not s & bit and masses.moved[s] > 0.0:
                    masses.moved[s | bit] += masses.moved[s] * mass
                    masses.moved_start[s | bit] = min(masses.moved_start[s | bit], masses.moved_start[s])


@inlined
def _clear(table, starts, states, ticks):
    for s in range(states):
        for t in range(ticks):
            table[s, t] = 0.0
            starts[s, t] = FAR


@inlined
def _load(table, starts, states, tick, weight, masses):
    """Put a column, weighted, into ``moved``."""
    some = False
    for s in range(states):
        value = table[s, tick] * weight
        masses.moved[s] = value
        masses.moved_start[s] = starts[s, tick] if value > 0.0 else FAR
        some |= value > 0.0
    return some


@inlined
def _store(table, starts, states, tick, masses):
    """Add ``moved`` to a column."""
    for s in range(states):
        if masses.moved[s] > 0.0:
            table[s, tick] += masses.moved[s]
            starts[s, tick] = min(starts[s, tick], masses.moved_start[s])


@inner
def _begin(low, high, shared, bounded, events, elements, masses):
    """Ticks of the first element's first event, with what lies before it."""
    states = np.int64(1) << shared
    _clear(masses.first, masses.first_start, states, elements.first_high[1] - elements.first_low[1] + 1)
    for tick in range(low, high + 1):
        weight = 1.0
        if not bounded:
            for at in range(elements.gap[0], elements.gap[1]):
                weight *= mass_since(events, elements.forbidden[at], tick)
        if weight > 0.0:
            for s in range(states):
                masses.moved[s] = 0.0
                masses.moved_start[s] = FAR
            masses.moved[0] = weight
            masses.moved_start[0] = tick
            _place(-FAR, tick - 1, shared, elements.several[0], events, elements, masses)
            _store(masses.first, masses.first_start, states, tick - elements.first_low[1], masses)


@inner
def _through(e, cap, shared, events, stack, elements, masses):
    """From an element's first tick to its last one."""
    states = np.int64(1) << shared
    low, high = elements.last_low[e], min(elements.last_high[e], cap)
    _clear(masses.last, masses.last_start, states, elements.last_high[e] - low + 1)
    single = elements.begin[e] == elements.end[e]
    if single and shared == 0:
        k = stack.event[elements.begin[e]]
        share = 1.0 / (events.high[k] - events.low[k] + 1)
        uniform = events.at[k] < 0
        mass, until = masses.first[0], masses.last[0]
        since, start = masses.first_start[0], masses.last_start[0]
        for tick in range(high - low + 1):
            until[U(tick)] = mass[U(tick)] * (share if uniform else mass_at(events, k, low + tick))
            start[U(tick)] = since[U(tick)]
        return
    for first in range(elements.first_low[e], min(elements.first_high[e], cap) + 1):
        for last in range(first if single else max(first, low), (first if single else high) + 1):
            if single:
                weight = mass_at(events, stack.event[elements.begin[e]], first)
            else:
                weight = _set_mass(events, stack, elements.begin[e], elements.end[e], first, last)
            at = first - elements.first_low[e]
            if weight > 0.0 and _load(masses.first, masses.first_start, states, at, weight, masses):
                if shared:
                    _place(first, last, shared, 0, events, elements, masses)
                _store(masses.last, masses.last_start, states, last - low, masses)


@inner
def _across(e, cap, shared, events, elements, masses):
    """From an element's last tick to the first tick of the next one."""
    states = np.int64(1) << shared
    low, high = elements.last_low[e], min(elements.last_high[e], cap)
    to, to_high = elements.first_low[e + 1], min(elements.first_high[e + 1], cap)
    _clear(masses.first, masses.first_start, states, elements.first_high[e + 1] - to + 1)
    if shared == 0 and elements.gap[e] == elements.gap[e + 1]:
        total = 0.0
        start = np.int64(FAR)
        at = low
        for tick in range(to, to_high + 1):
            while at < tick and at <= high:
                total += masses.last[0, at - low]
                if masses.last[0, at - low] > 0.0:
                    start = min(start, masses.last_start[0, at - low])
                at += 1
            masses.first[0, tick - to] = total
            masses.first_start[0, tick - to] = start
        return
    for last in range(low, high + 1):
        for tick in range(max(to, last + 1), to_high + 1):
            weight = 1.0
            for at in range(elements.gap[e], elements.gap[e + 1]):
                k = elements.forbidden[at]
                weight *= mass_upto(events, k, last) + mass_since(events, k, tick)
            if weight > 0.0 and _load(masses.last, masses.last_start, states, last - low, weight, masses):
                if shared:
                    _place(last + 1, tick - 1, shared, elements.several[e], events, elements, masses)
                _store(masses.first, masses.first_start, states, tick - to, masses)


@inner
def _weigh(e, events, elements, masses):
    """What the forbidden events of gap ``e`` leave of it, by last tick before and first tick behind it."""
    low, to = elements.last_low[e], elements.first_low[e + 1]
    size = elements.first_high[e + 1] - to + 1
    behind = masses.first[0]
    for last in range(low, elements.last_high[e] + 1):
        weights = masses.weights[e - 1, last - low]
        for tick in range(size):
            weights[U(tick)] = 1.0
    for at in range(elements.gap[e], elements.gap[e + 1]):
        k = elements.forbidden[at]
        for tick in range(size):
            behind[U(tick)] = mass_since(events, k, to + tick)
        for last in range(low, elements.last_high[e] + 1):
            before = mass_upto(events, k, last)
            weights = masses.weights[e - 1, last - low]
            for tick in range(max(to, last + 1) - to, size):
                weights[U(tick)] *= before + behind[U(tick)]


@inner
def _across_weighed(e, alone, cap, elements, masses):
    """As ``_across`` without shared events, with the weights of the gap; ``alone``: the first tick that leads there, if
    there is but one, else -FAR."""
    low, high = elements.last_low[e], min(elements.last_high[e], cap)
    to, to_high = elements.first_low[e + 1], min(elements.first_high[e + 1], cap)
    _clear(masses.first, masses.first_start, 1, elements.first_high[e + 1] - to + 1)
    reached, starts = masses.first[0], masses.first_start[0]
    for last in range(low, high + 1):
        mass = masses.last[0, last - low]
        if mass > 0.0:
            weights = masses.weights[e - 1, last - low]
            begin = max(to, last + 1) - to
            for tick in range(begin, to_high - to + 1):
                reached[U(tick)] += mass * weights[U(tick)]
            if alone == -FAR:
                start = masses.last_start[0, last - low]
                for tick in range(begin, to_high - to + 1):
                    if weights[U(tick)] > 0.0:
                        starts[U(tick)] = min(starts[U(tick)], start)
    if alone != -FAR:
        for tick in range(to_high - to + 1):
            starts[U(tick)] = alone


@inner
def _close(e, events, stack, elements, masses):
    """Make the weights of gap ``e`` the probability that the one event behind it, the last, is at a tick or before."""
    low, to = elements.last_low[e], elements.first_low[e + 1]
    size = elements.first_high[e + 1] - to + 1
    k = stack.event[elements.begin[e + 1]]
    share = masses.first[0]
    for tick in range(size):
        share[U(tick)] = mass_at(events, k, to + tick)
    for last in range(low, elements.last_high[e] + 1):
        weights, latest = masses.weights[e - 1, last - low], masses.latest[last - low]
        total, at = 0.0, np.int64(-FAR)
        for tick in range(size):
            if to + tick > last:
                value = weights[U(tick)] * share[U(tick)]
                if value > 0.0:
                    at = to + tick
                total += value
            weights[U(tick)] = total
            latest[U(tick)] = at


@inlined
def _closed(e, first, cap, elements, masses, result, ticks):
    """Add up the matches from one first tick whose last event is within reach, with what ``_close`` made."""
    low, high = elements.last_low[e], min(elements.last_high[e], cap)
    tick = min(elements.first_high[e + 1], cap) - elements.first_low[e + 1]
    if tick < 0:
        return
    for last in range(low, high + 1):
        mass = masses.last[0, last - low]
        if mass > 0.0 and masses.latest[last - low, tick] != -FAR:
            result[0] += mass * masses.weights[e - 1, last - low, tick]
            ticks[0] = min(ticks[0], first)
            ticks[1] = max(ticks[1], masses.latest[last - low, tick])


@inner
def _finish(e, first, cap, bounded, within, shared, events, terms):
    """Add up the last element's ticks, with what lies behind it, and within WITHIN of the match.

    O(ticks x 2^shared x (events of the first and the last gap)).
    """
    elements, masses, result, ticks = terms.elements, terms.masses, terms.result, terms.ticks
    states = np.int64(1) << shared
    low = elements.last_low[e]
    for last in range(low, min(elements.last_high[e], cap) + 1):
        for s in range(states):
            value = masses.last[s, last - low]
            if value <= 0.0:
                continue
            for at in range(elements.gap[e], elements.gap[e + 1]):
                k = elements.forbidden[at]
                allowed = mass_upto(events, k, last)
                if bounded:
                    allowed += mass_since(events, k, first + within + 1)
                value *= allowed
            if bounded:
                for at in range(elements.gap[0], elements.gap[1]):
                    k = elements.forbidden[at]
                    value *= mass_since(events, k, first) + mass_upto(events, k, last - within - 1)
            for n in range(shared):
                bit = np.int64(1) << n
                if not s & bit:
                    k = elements.shared[n]
                    allowed = 0.0
                    if not elements.several[e] & bit:
                        allowed = mass_since(events, k, last + 1)
                    elif bounded:
                        allowed = mass_since(events, k, first + within + 1)
                    if bounded and elements.several[0] & bit:
                        allowed += mass_upto(events, k, last - within - 1)
                    value *= allowed
            if value > 0.0:
                result[0] += value
                ticks[0] = min(ticks[0], masses.last_start[s, last - low])
                ticks[1] = max(ticks[1], last)


@inner
def confidence(depth, accept, partition, query, events, walk, room):
    """The confidence of the run in frames 1 to ``depth`` that accepts over an edge, and its ticks: ``room.terms``.

    Dynamic programming (module docstring): O(elements x ticks^2 x 2^shared), times the first ticks that WITHIN tells
    apart.

    Returns:
        A status.
    """
    terms = room.terms
    terms.result[0] = 0.0
    terms.ticks[0], terms.ticks[1] = FAR, -FAR
    count = _bounds(depth, events, room.stack, terms.elements)
    status, shared = _fill_gaps(count, depth, accept, partition, query, events, walk, room)
    if status == OK:
        _sum_up(count, shared, query.within, events, room.stack, terms)
    return status


@spliced
def _sum_up(count, shared, within, events, stack, terms):
    """Add up the confidence of a signature's elements whose gaps are filled.

    Invariant: before element e, ``masses.first`` has the probability of all before it, by its first tick.
    """
    elements, masses = terms.elements, terms.masses
    low, high = elements.first_low[1], elements.first_high[1]
    outside = elements.gap[0] < elements.gap[1] or elements.gap[count] < elements.gap[count + 1]
    outside |= elements.several[0] != 0 or elements.several[count] != 0
    bounded = within < NO_BOUND and outside
    # First ticks from which every last tick is within reach go together, the others one by one.
    together = low
    if bounded:
        together = high + 1
    elif within < NO_BOUND:
        together = max(low, min(high + 1, elements.last_high[count] - within))
    weighed = shared == 0 and count - 1 <= masses.weights.shape[0]
    if weighed:
        for e in range(1, count):
            if elements.gap[e] < elements.gap[e + 1]:
                _weigh(e, events, elements, masses)
    closing = weighed and together > low and not bounded and count > 1
    closing = closing and elements.begin[count] == elements.end[count]
    closing = closing and elements.gap[count - 1] < elements.gap[count]
    if closing:
        _close(count - 1, events, stack, elements, masses)
        together = high + 1
    for first in range(low, min(together, high) + 1):
        alone = first < together
        cap = first + within if alone else np.int64(FAR)
        _begin(first, first if alone else high, shared, bounded, events, elements, masses)
        for e in range(1, count + 1):
            _through(e, cap, shared, events, stack, elements, masses)
            if closing and e == count - 1:
                break
            if e < count and weighed and elements.gap[e] < elements.gap[e + 1]:
                _across_weighed(e, first if alone else np.int64(-FAR), cap, elements, masses)
            elif e < count:
                _across(e, cap, shared, events, elements, masses)
        if closing:
            _closed(count - 1, first, cap, elements, masses, terms.result, terms.ticks)
        else:
            _finish(count, first, cap, bounded, within, shared, events, terms)
