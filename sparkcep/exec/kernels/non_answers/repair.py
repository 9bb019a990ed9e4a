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

from sparkcep.exec.kernels.caching import inlined, inner, kernel
from sparkcep.exec.kernels.conditions import U, advance, retreat
from sparkcep.exec.kernels.non_answers.tables import FARTHEST
from sparkcep.exec.kernels.runs.checks import passes
from sparkcep.exec.kernels.runs.graph_tables import Partition, Strategy, Walk
from sparkcep.exec.kernels.statuses import FALSE, NODES_FULL, OK, TOO_MANY_STEPS, TRUE

INFINITE = np.int64(1) << 61

#: What ``progress`` holds: the partition the kernel is at, the nodes that it has, and whether an event fits two places.
AT_PARTITION, NODES, SHARED = range(3)
PROGRESS = 3


@kernel
def repair_partitions(
    offsets, wanted, masks, key, null, sequence, limits, gaps, machine, checks, conditions, columns, work, frames,
    search, max_steps, scratch, progress, found,
):  # fmt: skip
    """Repair the partitions of a batch that ``wanted`` (partitions,) asks for, from where ``progress`` stands.

    Args:
        offsets, masks: as for match_runs. key, null: (rows,) the ORDER BY key as int64, ascending, and whether it is
            NULL.
        sequence, limits, scratch, found: see tables.py. gaps (n * 4,): places i and j, the least and the most
            of the positions from i to j.
        machine, checks, conditions, columns, work, frames, search: see graph_tables.py and tables.py; state p of the
            machine has taken the event of place p. max_steps: steps of the search per partition.

    Returns:
        A status; NODES_FULL: call again with ``progress[NODES]`` places in ``scratch``.
    """
    length = sequence.length
    for q in range(progress[AT_PARTITION], offsets.shape[0] - 1):
        progress[AT_PARTITION] = q
        if not wanted[q]:
            continue
        base, rows = offsets[q], offsets[q + 1] - offsets[q]
        count = _fill_nodes(q, base, rows, masks, key, null, sequence, limits, scratch, progress)
        if count < 0:
            return NODES_FULL
        least = _suffixes(base, count, masks, sequence, limits, scratch)
        if least > limits.most_cost * (length + 1) + length:
            continue
        easy = sequence.chained and not progress[SHARED]
        worst = limits.most_cost * (length + 1) + length
        # The bound from below is mostly the answer; what is above it is looked at only if it is not.
        for most in (least, worst):
            status = _search(
                q, base, rows, count, key, null, most, easy, sequence, limits, gaps, machine, checks, conditions,
                columns, work, frames, search, max_steps, scratch, found,
            )  # fmt: skip
            if status != OK:
                return status
            if found.cost[q] >= 0 or least == worst:
                break
    progress[AT_PARTITION] = offsets.shape[0] - 1
    return OK


@inlined
def _fits(p, row, masks, sequence):
    """Whether the event in a row of the batch can stand at place ``p``, for what it is itself."""
    bit = sequence.bit[U(p)]
    return bit < 0 or (masks[sequence.word[U(p)], row] >> np.uint64(max(bit, 0))) & np.uint64(1) != 0


@inlined
def _of_use(row, masks, key, null, sequence):
    """Whether an event can stand at some place, and be moved."""
    if null[row] or key[row] > FARTHEST or key[row] < -FARTHEST:
        return False
    fitting = False
    for p in range(sequence.length):
        fitting |= _fits(p, row, masks, sequence)
    return fitting


@inner
def _fill_nodes(q, base, rows, masks, key, null, sequence, limits, scratch, progress):
    """Nodes of a partition by time and row; how many, -1: more than there is room for."""
    used = np.int64(0)
    progress[SHARED] = 0
    for r in range(base, base + rows):
        used += _of_use(r, masks, key, null, sequence)
        fitting = 0
        for p in range(sequence.length):
            fitting += _fits(p, r, masks, sequence)
        if fitting > 1:
            progress[SHARED] = 1
    ticks = 2 * limits.most_shift + 1
    count = used * ticks
    progress[NODES] = count
    if count > scratch.time.shape[0]:
        return np.int64(-1)
    at = np.int64(0)
    for r in range(base, base + rows):
        if _of_use(r, masks, key, null, sequence):
            for s in range(ticks):
                shift = s - limits.most_shift
                time = key[r] + shift * limits.step
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
def _search(
    q, base, rows, count, key, null, best, easy, sequence, limits, gaps, machine, checks, conditions, columns, work,
    frames, search, max_steps, scratch, found,
):  # fmt: skip
    """Find the best repair of a partition that costs at most ``best``; it goes to ``found``.

    Depth first over places, each place's nodes by time. Invariant: places below ``p`` have the nodes ``at``, whose rows
    differ and which satisfy all that can be decided of them; ``spent`` is their cost, and ``cost`` bounds what is to
    come from below. Exponential in the worst case, which ``max_steps`` ends. ``easy``: the first one found is the best.

    Returns:
        A status.
    """
    length = sequence.length
    time, cost, at, last, spent = scratch.time, scratch.cost, scratch.at, scratch.last, scratch.spent
    has_best = False
    for g in range(search.counts.shape[0]):
        search.counts[g] = 0
    frames.state[0], frames.row[0], frames.edge[0] = length, -1, 1
    steps = np.int64(0)
    p = np.int64(0)
    at[0], last[0], spent[0] = -1, count - 1, 0
    while p >= 0:
        steps += 1
        if steps > max_steps:
            return TOO_MANY_STEPS
        if at[p] >= 0 and frames.taken[p + 1]:
            retreat(machine.state_component[U(p)], conditions, search)
        frames.taken[p + 1] = 0
        x = at[p] + 1 if at[p] >= 0 else -at[p] - 1
        at[p] = x
        if x > last[p]:
            p -= 1
            continue
        bound = spent[p] + cost[p * count + x]
        if bound > best:
            continue
        if has_best and bound == best and not _is_before(p, x, length, scratch):
            continue
        row = np.int64(scratch.row[x])
        used = False
        for i in range(p):
            used |= scratch.row[at[i]] == row
        if used:
            continue
        advance(machine.state_component[U(p)], row, base, conditions, columns, search)
        frames.taken[p + 1] = 1
        frames.row[p + 1] = row
        frames.state[p + 1] = p
        edge = machine.edge_start[U(length if p == 0 else p - 1)]
        frames.edge[p + 1] = edge
        result = passes(
            machine.group[U(edge)],
            p,
            row,
            Partition(0, base, rows),
            Walk(Strategy(0, 0, 0, 0), machine, checks, conditions, columns, work, frames, search),
        )
        if result == TRUE and p == length - 1:
            edge = machine.edge_start[U(p)]
            result = passes(
                machine.group[U(edge)],
                p + 1,
                row,
                Partition(0, base, rows),
                Walk(Strategy(0, 0, 0, 0), machine, checks, conditions, columns, work, frames, search),
            )
        if result == FALSE:
            continue
        if result != TRUE:
            return result
        if not _gaps_hold(p, base, rows, key, null, length, gaps, scratch):
            continue
        if p == length - 1:
            best = bound
            has_best = True
            for i in range(length):
                scratch.best[i] = time[at[i]]
                scratch.best[length + i] = scratch.row[at[i]]
                found.row[q * length + i] = scratch.row[at[i]]
                found.shift[q * length + i] = scratch.shift[at[i]]
            found.cost[q] = best // (length + 1)
            if easy:
                return OK
            continue
        shift = np.int64(scratch.shift[x])
        p += 1
        spent[p] = spent[p - 1] + abs(shift) * (length + 1) + (shift != 0)
        low, high = -INFINITE * 2, INFINITE * 2
        for i in range(p):
            low = max(low, time[at[i]] + limits.least[i * length + p])
            high = min(high, time[at[i]] + limits.most[i * length + p])
        at[p] = -_first_at(low, count, scratch) - 1
        last[p] = _first_at(high + 1, count, scratch) - 1
        frames.taken[p + 1] = 0
    return OK


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
def _gaps_hold(p, base, rows, key, null, length, gaps, scratch):
    """Whether gaps that end at place ``p`` can still hold: positions count all events in the order of new times.

    Events at one time stay in the order they had. While later places have no event, so many may leave each gap.
    """
    for k in range(gaps.shape[0] // 4):
        i, j = gaps[4 * k], gaps[4 * k + 1]
        if j > p:
            continue
        first, after = _rank(i, base, rows, key, null, scratch), _rank(j, base, rows, key, null, scratch)
        inside = after - first
        for c in range(p + 1):
            row = np.int64(scratch.row[scratch.at[c]])
            inside -= first <= row < after
        gap = j - i + inside
        if gap < gaps[4 * k + 2] or gap - (length - 1 - p) > gaps[4 * k + 3]:
            return False
    return True


@inlined
def _rank(p, base, rows, key, null, scratch):
    """How many of the events, as they were, are before place ``p``'s at its new time."""
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
