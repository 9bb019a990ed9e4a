"""The repair kernel: the cheapest shifts of events that make a sequence match (SIESTA, section 4.4).

A node is an event moved by some ticks; nodes of a partition are sorted by their new time. Dynamic programming over
(component, node) gives the least cost of what is left of the sequence, with time bounds between neighbours only. It
bounds a depth-first search from below that tests all the rest: bounds between components that are no neighbours,
events that are used once, gaps, and conditions that depend on the match. Where there is no rest, the first way down is
the answer.

Costs are ``ticks moved * (length + 1) + events moved``, so that the fewest moves decide between equal sums.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, inner, kernel, spliced
from sparkcep.exec.kernels.conditions.aggregates import advance, retreat
from sparkcep.exec.kernels.conditions.codes import U
from sparkcep.exec.kernels.non_answers.tables import FARTHEST, Goal
from sparkcep.exec.kernels.runs.graph_tables import Partition
from sparkcep.exec.kernels.runs.passes import passes
from sparkcep.exec.kernels.statuses import FALSE, NODES_FULL, OK, TOO_MANY_STEPS, TRUE

INFINITE = np.int64(1) << 61

#: What ``progress`` holds: the partition the kernel is at, the nodes that it has, and whether an event fits two places.
AT_PARTITION, NODES, SHARED = range(3)
PROGRESS = 3


@kernel
def repair_partitions(plan, given, walk, scratch, progress, repairs):
    """Repair the partitions of a batch that are wanted, from where ``progress`` stands.

    Args:
        plan, given, scratch, repairs: see tables.py. walk: see graph_tables.py; state p of the machine has taken the
            event of place p.
        progress: (PROGRESS,) see above; zeros at first.

    Returns:
        A status; NODES_FULL: call again with ``progress[NODES]`` places in ``scratch``.
    """
    length, limits = plan.sequence.length, plan.limits
    for q in range(progress[AT_PARTITION], given.offsets.shape[0] - 1):
        progress[AT_PARTITION] = q
        if not given.wanted[q]:
            continue
        partition = Partition(q, given.offsets[q], given.offsets[q + 1] - given.offsets[q])
        count = _fill_nodes(partition, given, plan.sequence, limits, scratch, progress)
        if count < 0:
            return NODES_FULL
        least = _suffixes(partition.base, count, given.masks, plan.sequence, limits, scratch)
        worst = limits.most_cost * (length + 1) + length
        if least > worst:
            continue
        easy = plan.sequence.chained and not progress[SHARED]
        # The bound from below is mostly the answer; what is above it is looked at only if it is not.
        for most in (least, worst):
            status = _search(Goal(count, most, easy), partition, plan, given, walk, scratch, repairs)
            if status != OK:
                return status
            if repairs.cost[q] >= 0 or least == worst:
                break
    progress[AT_PARTITION] = given.offsets.shape[0] - 1
    return OK


@inlined
def _fits(p, row, masks, sequence):
    """Whether the event in a row of the batch can stand at place ``p``, for what it is itself."""
    bit = sequence.bit[U(p)]
    return bit < 0 or (masks[sequence.word[U(p)], row] >> np.uint64(max(bit, 0))) & np.uint64(1) != 0


@inlined
def _of_use(row, given, sequence):
    """Whether an event can stand at some place, and be moved."""
    key, null = given.key, given.null
    if null[row] or key[row] > FARTHEST or key[row] < -FARTHEST:
        return False
    fitting = False
    for p in range(sequence.length):
        fitting |= _fits(p, row, given.masks, sequence)
    return fitting


@inner
def _fill_nodes(partition, given, sequence, limits, scratch, progress):
    """Nodes of a partition by time and row; how many, -1: more than there is room for. O(nodes x log ticks)."""
    q, base, rows = partition.number, partition.base, partition.rows
    used = np.int64(0)
    progress[SHARED] = 0
    for r in range(base, base + rows):
        used += _of_use(r, given, sequence)
        fitting = 0
        for p in range(sequence.length):
            fitting += _fits(p, r, given.masks, sequence)
        if fitting > 1:
            progress[SHARED] = 1
    ticks = 2 * limits.most_shift + 1
    count = used * ticks
    progress[NODES] = count
    if count > scratch.time.shape[0]:
        return np.int64(-1)
    at = np.int64(0)
    for r in range(base, base + rows):
        if _of_use(r, given, sequence):
            for s in range(ticks):
                shift = s - limits.most_shift
                time = given.key[r] + shift * limits.step
                inside = limits.earliest[q] <= time <= limits.latest[q]
                x = s * used + at
                scratch.time[x] = time
                scratch.row[x] = r - base
                scratch.shift[x] = shift if inside else limits.most_shift + 1
            at += 1
    # One run per shift, each in order: merge them.
    size = np.int64(used)
    while size < count:
        low = np.int64(0)
        while low < count:
            _merge(low, min(low + size, count), min(low + 2 * size, count), scratch)
            low += 2 * size
        for n in range(count):
            scratch.time[n] = scratch.other_time[n]
            scratch.row[n] = scratch.other_row[n]
            scratch.shift[n] = scratch.other_shift[n]
        size = np.int64(2 * size)
    return count


@inlined
def _merge(low, middle, high, scratch):
    a, b = low, middle
    time, row = scratch.time, scratch.row
    for x in range(low, high):
        first = b >= high or (a < middle and (time[a] < time[b] or (time[a] == time[b] and row[a] < row[b])))
        y = a if first else b
        scratch.other_time[x] = time[y]
        scratch.other_row[x] = row[y]
        scratch.other_shift[x] = scratch.shift[y]
        a += first
        b += not first


@inner
def _suffixes(base, count, masks, sequence, limits, scratch):
    """Fill ``cost``: per place and node the least cost of this place and those behind it; returns the least of all.

    O(places x nodes): a queue holds the minimum of a sliding window.
    """
    length = sequence.length
    time, queue, cost = scratch.time, scratch.queue, scratch.cost
    least = INFINITE
    for p in range(length - 1, -1, -1):
        low = high = coming = np.int64(0)
        near, far = np.int64(0), np.int64(0)
        if p + 1 < length:
            near, far = limits.least[p * length + p + 1], limits.most[p * length + p + 1]
        least = INFINITE
        for x in range(count):
            behind = np.int64(0)
            if p + 1 < length:
                # A queue of the nodes in the window, ascending in cost: its head is the cheapest.
                while coming < count and time[coming] <= time[x] + far:
                    value = cost[(p + 1) * count + coming]
                    while high > low and cost[(p + 1) * count + queue[high - 1]] >= value:
                        high -= 1
                    queue[high] = coming
                    high += 1
                    coming += 1
                while low < high and time[queue[low]] < time[x] + near:
                    low += 1
                behind = cost[(p + 1) * count + queue[low]] if low < high else INFINITE
            shift = np.int64(scratch.shift[x])
            own = INFINITE
            row = base + np.int64(scratch.row[x])
            if behind < INFINITE and shift <= limits.most_shift and _fits(p, row, masks, sequence):
                own = behind + abs(shift) * (length + 1) + (shift != 0)
            cost[p * count + x] = own
            least = min(least, own)
    return least


@inlined
def _first_at(time, count, scratch):
    """The first node that is not before a time."""
    low, high = np.int64(0), np.int64(count)
    while low < high:
        middle = (low + high) >> 1
        if scratch.time[middle] < time:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def _search(goal, partition, plan, given, walk, scratch, repairs):
    """Find the best repair of a partition that costs at most ``goal.most``; it goes to ``repairs``.

    Depth first over places, each place's nodes by time. Invariant: places below ``p`` have the nodes ``at``, whose rows
    differ and which satisfy all that can be decided of them; ``spent`` is their cost, and ``cost`` bounds what is to
    come from below. Exponential in the worst case, which ``max_steps`` ends.

    Returns:
        A status.
    """
    machine, frames, search = walk.machine, walk.frames, walk.search
    length, count, best = plan.sequence.length, goal.nodes, goal.most
    cost, at, last, spent = scratch.cost, scratch.at, scratch.last, scratch.spent
    has_best = False
    for g in range(search.counts.shape[0]):
        search.counts[g] = 0
    frames.state[0], frames.row[0], frames.edge[0] = length, -1, 1
    frames.taken[1] = 0
    steps = np.int64(0)
    p = np.int64(0)
    at[0], last[0], spent[0] = -1, count - 1, 0
    while p >= 0:
        steps += 1
        if steps > walk.strategy.max_steps:
            return TOO_MANY_STEPS
        if at[p] >= 0 and frames.taken[p + 1]:
            retreat(machine.state_component[U(p)], walk.conditions, search)
        frames.taken[p + 1] = 0
        x = at[p] + 1 if at[p] >= 0 else -at[p] - 1
        at[p] = x
        if x > last[p]:
            p -= 1
            continue
        bound = spent[p] + cost[p * count + x]
        if bound > best or (has_best and bound == best and not _is_before(p, x, length, scratch)):
            continue
        if _is_used(p, scratch):
            continue
        result = _takes(p, length, partition, walk, scratch)
        if result == FALSE:
            continue
        if result != TRUE:
            return result
        if not _gaps_hold(p, length, partition, plan.gaps, given, scratch):
            continue
        if p == length - 1:
            best = bound
            has_best = True
            _keep(best, length, partition.number, scratch, repairs)
            if goal.easy:
                return OK
            continue
        p += 1
        _next_place(p, count, length, plan.limits, scratch)
        frames.taken[p + 1] = 0
    return OK


@inlined
def _is_used(p, scratch):
    """Whether the event at a place has another one before it."""
    used = False
    for i in range(p):
        used |= scratch.row[scratch.at[i]] == scratch.row[scratch.at[p]]
    return used


@spliced
def _takes(p, length, partition, walk, scratch):
    """Take the event at a place, and test all that can be decided then: TRUE, FALSE, or the status of a condition that
    fails."""
    machine, frames = walk.machine, walk.frames
    row = np.int64(scratch.row[scratch.at[p]])
    advance(machine.state_component[U(p)], row, partition.base, walk.conditions, walk.columns, walk.search)
    frames.taken[p + 1] = 1
    frames.row[p + 1] = row
    frames.state[p + 1] = p
    edge = machine.edge_start[U(length if p == 0 else p - 1)]
    frames.edge[p + 1] = edge
    result = np.int64(passes(machine.group[U(edge)], p, row, partition, walk))
    if result == TRUE and p == length - 1:
        edge = machine.edge_start[U(p)]
        result = np.int64(passes(machine.group[U(edge)], p + 1, row, partition, walk))
    return result


@inlined
def _keep(best, length, partition, scratch, repairs):
    """Keep the nodes that all places have as the partition's best repair."""
    for i in range(length):
        x = scratch.at[i]
        scratch.best[i] = scratch.time[x]
        scratch.best[length + i] = scratch.row[x]
        repairs.row[partition * length + i] = scratch.row[x]
        repairs.shift[partition * length + i] = scratch.shift[x]
    repairs.cost[partition] = best // (length + 1)


@inlined
def _next_place(p, count, length, limits, scratch):
    """Have place ``p`` look at the nodes that the bounds from all places before leave it."""
    time, at, spent = scratch.time, scratch.at, scratch.spent
    shift = np.int64(scratch.shift[at[p - 1]])
    spent[p] = spent[p - 1] + abs(shift) * (length + 1) + (shift != 0)
    low, high = -INFINITE * 2, INFINITE * 2
    for i in range(p):
        low = max(low, time[at[i]] + limits.least[i * length + p])
        high = min(high, time[at[i]] + limits.most[i * length + p])
    at[p] = -_first_at(low, count, scratch) - 1
    scratch.last[p] = _first_at(high + 1, count, scratch) - 1


@inlined
def _is_before(p, x, length, scratch):
    """Whether times so far, with node ``x`` at place ``p``, may lead to smaller times, or smaller rows of equal times,
    than those of the best repair."""
    for i in range(p + 1):
        own = scratch.time[x if i == p else scratch.at[i]]
        if own != scratch.best[i]:
            return own < scratch.best[i]
    if p + 1 < length:
        return True
    for i in range(length):
        own = np.int64(scratch.row[x if i == p else scratch.at[i]])
        if own != scratch.best[length + i]:
            return own < scratch.best[length + i]
    return False


@inner
def _gaps_hold(p, length, partition, gaps, given, scratch):
    """Whether gaps that end at place ``p`` can still hold: positions count all events in the order of new times.

    Events at one time stay in the order they had. While later places have no event, so many may leave each gap.
    """
    for k in range(gaps.shape[0] // 4):
        i, j = gaps[4 * k], gaps[4 * k + 1]
        if j > p:
            continue
        first, after = _rank(i, partition, given, scratch), _rank(j, partition, given, scratch)
        inside = after - first
        for c in range(p + 1):
            row = np.int64(scratch.row[scratch.at[c]])
            inside -= first <= row < after
        gap = j - i + inside
        if gap < gaps[4 * k + 2] or gap - (length - 1 - p) > gaps[4 * k + 3]:
            return False
    return True


@inlined
def _rank(p, partition, given, scratch):
    """How many of the events, as they were, are before place ``p``'s at its new time; O(log rows)."""
    base, rows, key, null = partition.base, partition.rows, given.key, given.null
    time, row = scratch.time[scratch.at[p]], np.int64(scratch.row[scratch.at[p]])
    low, high = np.int64(0), rows
    while low < high:
        middle = (low + high) >> 1
        own = key[base + middle]
        # NULL keys are all before or all behind the others.
        by_row = null[base + middle] or own == time
        if (middle < row) if by_row else (own < time):
            low = middle + 1
        else:
            high = middle
    return low
