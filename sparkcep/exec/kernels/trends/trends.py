"""The trends kernel: aggregates over all matches of a partition's windows, none of which is constructed.

Sums over trends are propagated along the automaton, row by row (GRETA, section 4). The automaton is deterministic over
components, so each match is one path and counted once. What stands before an event is read as its class of edges says:
one sum per state; a Fenwick tree over the order of an edge condition; one over two of them (grids.py); or one
predecessor after the other, tested.

Windows that overlap share the walk: a record holds a sum for each window of a block, and a block is as many windows as
``sums.lanes``. Blocks know nothing of each other. Negation is by definition 1 of the paper, over what graph.py computes
of a partition: an event may be followed as far as it sees (``until``), which never recedes, so the events that a class
sums over are always a range of rows.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, inner, kernel, spliced
from sparkcep.exec.kernels.conditions.codes import U
from sparkcep.exec.kernels.conditions.machine import holds
from sparkcep.exec.kernels.runs.graph import prepare_negations, sees
from sparkcep.exec.kernels.runs.selections import NEXT, STRICT
from sparkcep.exec.kernels.statuses import FALSE, OK, OUTPUT_FULL, TOO_MANY_STEPS, TRUE
from sparkcep.exec.kernels.trends.grids import entering_both, lay_out, standing_before_both
from sparkcep.exec.kernels.trends.orders import rank_rows
from sparkcep.exec.kernels.trends.pairs import compared_candidates
from sparkcep.exec.kernels.trends.states import walk_states
from sparkcep.exec.kernels.trends.sums import add, add_all, add_jobs, begin, clear, is_empty, take, wipe
from sparkcep.exec.kernels.trends.tables import GRID, PAIRS, SPECIAL, STATE, TREE, Block
from sparkcep.exec.kernels.trends.trees import entering, standing_before

#: What ``progress`` holds: the partition and row it is at, the first window that is not done, records emitted, whether
#: the partition is prepared, predecessors tested in it.
AT_PARTITION, AT_ROW, AT_WINDOW, USED, PREPARED, STEPS = range(6)
PROGRESS = 6
NO_WINDOW = -(2**63)

_NONE = np.uint64(0)


@kernel
def longest_block(offsets, windows, lanes):
    """Rows of the longest block of any partition."""
    longest = np.int64(0)
    for q in range(offsets.shape[0] - 1):
        base, n = offsets[q], offsets[q + 1] - offsets[q]
        row, following = np.int64(0), np.int64(NO_WINDOW)
        while row < n:
            row, after, first = next_block(base, n, row, following, lanes, windows)
            longest = max(longest, after - row)
            following = first + lanes
            if windows.width == 0:
                break
    return longest


@inner
def next_block(base, n, row, following, lanes, windows):
    """The rows of the next block and its first window, which is ``following`` or later.

    Returns:
        First row, last row + 1, window; the first row is ``n`` where nothing is left.
    """
    if windows.width == 0:
        return row, n, np.int64(0)
    slide, width = np.int64(windows.slide), np.int64(windows.width)
    while row < n:
        time = windows.time[base + row]
        first = max((time - width) // slide + 1, following)
        if first <= time // slide:
            end = (first + lanes - 1) * slide + width
            after = row + 1
            while after < n and windows.time[base + after] < end:
                after += 1
            return row, after, first
        row += 1
    return n, n, following


@kernel
def aggregate_trends(offsets, trends, events, windows, within, tests, scratch, progress, out, out_words, out_floats):
    """Aggregate over every partition of a batch from where ``progress`` stands.

    Args:
        offsets: (partitions + 1,) row borders. within: the ORDER BY key, see graph_tables.py.
        trends, events, windows, tests, scratch: see tables.py.
        out: (n, 2) partition and window, with ``out_words`` and ``out_floats`` (n, width) a record each.

    Returns:
        A status; OUTPUT_FULL: call again with more room.
    """
    lanes = scratch.sums.lanes
    negations = trends.machine.automata.shape[0] // 3 - 1
    for q in range(progress[AT_PARTITION], offsets.shape[0] - 1):
        base = offsets[q]
        n = offsets[q + 1] - base
        if not progress[PREPARED]:
            progress[PREPARED] = 1
            progress[AT_ROW] = 0
            progress[AT_WINDOW] = NO_WINDOW
            progress[STEPS] = 0
            if negations or trends.strict:
                prepare_negations(base, n, events.masks, trends.machine, trends.strict, within, scratch.work)
        while progress[AT_ROW] < n:
            if progress[USED] + lanes > out.shape[0]:
                return OUTPUT_FULL
            low, after, window = next_block(base, n, progress[AT_ROW], progress[AT_WINDOW], lanes, windows)
            if low < n:
                status = _block(base, low, after, window, trends, events, windows, tests, scratch, progress)
                if status != OK:
                    return status
                _emit(q, window, trends, windows, scratch, progress, out, out_words, out_floats)
            progress[AT_ROW] = n if windows.width == 0 else low
            progress[AT_WINDOW] = window + lanes
        progress[AT_PARTITION] = q + 1
        progress[PREPARED] = 0
    return OK


@spliced
def _emit(q, window, trends, windows, scratch, progress, out, out_words, out_floats):
    """One row for each window of a block that has trends."""
    fields, sums = trends.fields, scratch.sums
    result = trends.classes.kind.shape[0] + trends.machine.automata[1]
    for lane in range(sums.lanes):
        if windows.first[lane] >= 0 and not is_empty(result, lane, fields, sums):
            at = progress[USED]
            out[at, 0] = q
            out[at, 1] = window + lane
            for w in range(fields.words):
                out_words[at, w] = sums.words[(result * fields.words + w) * sums.lanes + lane]
            for w in range(fields.floats):
                out_floats[at, w] = sums.floats[(result * fields.floats + w) * sums.lanes + lane]
            progress[USED] = at + 1


@inlined
def _has(bit, row, masks):
    """Whether a row's condition holds; no condition (-1) always does."""
    if bit < 0:
        return True
    return (masks[U(bit // 63), U(row)] >> np.uint64(bit % 63)) & np.uint64(1) != _NONE


@inlined
def _taken(c, row, machine, masks):
    bit = machine.test_bit[U(c)]
    if bit < 0:
        return True
    return (masks[U(machine.test_word[U(c)]), U(row)] >> np.uint64(bit)) & np.uint64(1) != _NONE


@inner
def _block(base, low, after, window, trends, events, windows, tests, scratch, progress):
    """Aggregate over the windows of a block, rows ``low`` to ``after`` of the partition."""
    classes, fields, lists, sums = trends.classes, trends.fields, scratch.lists, scratch.sums
    states = trends.machine.automata[1]
    class_count = classes.kind.shape[0]
    trees = 0
    for o in range(trends.orders.ordered.shape[0]):
        rank_rows(
            o, base + low, after - low, events.rows, trends.orders, events.keys, events.key_nulls, scratch.counts,
            scratch.ranks,
        )  # fmt: skip
    for g in range(trends.grids.order.shape[0]):
        lay_out(g, after - low, trends.grids, scratch)
    made, result, grids = class_count, class_count + states, 0
    clear(0, result + SPECIAL, fields, sums)
    for c in range(class_count):
        trees += classes.kind[c] == TREE
    first_grid = result + SPECIAL + trees * lists.room
    for c in range(class_count):
        lists.low[c] = low
        lists.high[c] = low
        if classes.kind[c] == TREE:
            tree = result + SPECIAL + classes.tree[c] * lists.room
            clear(tree, tree + after - low, fields, sums)
        elif classes.kind[c] == GRID:
            records = first_grid + classes.tree[c] * scratch.nodes.room
            clear(records, records + scratch.nodes.used[classes.grid[c]], fields, sums)
            grids += 1
    block = Block(
        base, low, after, made, result, result + SPECIAL, first_grid, first_grid + grids * scratch.nodes.room
    )  # fmt: skip
    for k in range(lists.length.shape[0]):
        lists.length[k] = 0
    for lane in range(sums.lanes):
        windows.first[lane] = -1
        windows.last[lane] = after - 1
    open_from, open_to = np.int64(0), np.int64(0)
    if windows.width == 0:
        open_to += 1
        windows.first[0] = low
    if trends.symbols.used:
        walk_states(block, trends, events, scratch)
        windows.first[0] = low
        return OK
    visible = low  # rows below may be followed by the row at hand
    for j in range(low, after):
        if windows.width:
            time = windows.time[base + j]
            while open_to < sums.lanes and time >= (window + open_to) * windows.slide:
                windows.first[open_to] = j
                open_to += 1
            while open_from < open_to and time >= (window + open_from) * windows.slide + windows.width:
                windows.last[open_from] = j - 1
                open_from += 1
        if not trends.strict or j == low or scratch.work.last_equal[j - 1] == j - 1:
            visible = j
        status = _row(j, visible, open_from, open_to, block, trends, events, windows, tests, scratch, progress)
        if status != OK:
            return status
    _late_results(block, trends, events, windows, scratch)
    return OK


@spliced
def _row(j, visible, open_from, open_to, block, trends, events, windows, tests, scratch, progress):
    """Let a row be taken by every component that can, after every event that it may follow."""
    status = OK
    for phase in range(2):  # first what the row reads, then what it changes
        if phase == 0:
            _begin(j, open_from, open_to, block, trends, events, windows, scratch)
            used = _read(j, visible, open_from, open_to, block, trends, events, tests, scratch, progress)
            if used < 0:
                status, used = -used, 0
        else:
            used = _change(j, open_from, open_to, block, trends, events, scratch)
        add_all(scratch.jobs, 0, used, open_from, open_to, trends.fields, scratch.sums)
    return status


@spliced
def _begin(j, open_from, open_to, block, trends, events, windows, scratch):
    """Trends that begin with the row."""
    machine, classes, fields = trends.machine, trends.classes, trends.fields
    lists, sums = scratch.lists, scratch.sums
    row = block.base + j
    states = machine.automata[1]
    for s in range(states):
        lists.touched[U(s)] = 0
    for e in range(machine.edge_start[U(states)], machine.edge_start[U(states + 1)]):
        taken = _taken(machine.component[U(e)], row, machine, events.masks)
        if taken and _has(classes.edge_bit[U(e)], row, events.masks):
            target = machine.target[U(e)]
            to = block.made + target
            if not lists.touched[U(target)]:
                lists.touched[U(target)] = 1
                wipe(to, to + 1, fields, sums)
            absent, present = machine.absent[U(e)], machine.present[U(e)]
            for lane in range(open_from, open_to):
                if sees(absent, present, windows.first[U(lane)] - 1, j, scratch.work):
                    begin(to, lane, fields, sums)


@spliced
def _read(j, visible, open_from, open_to, block, trends, events, tests, scratch, progress):
    """Trends that go on with the row: what of each state's sums it may follow.

    Returns:
        How many jobs there are; a negative status where a test fails.
    """
    machine, classes, fields = trends.machine, trends.classes, trends.fields
    lists, sums, jobs = scratch.lists, scratch.sums, scratch.jobs
    row, at = block.base + j, j - block.low
    used, failed = 0, 0
    for s in range(machine.automata[1]):
        first, after = classes.class_start[U(s)], classes.class_start[U(s + 1)]
        if first == after:
            continue
        # Under SKIP TILL NEXT: whether what stands in the state may still skip the row, and whether some of it may not.
        stays, marked = True, False
        for e in range(machine.edge_start[U(s)], machine.edge_start[U(s + 1)]):
            c = classes.edge_class[U(e)]
            if c < 0 or not _taken(machine.component[U(e)], row, machine, events.masks):
                continue
            if not _has(classes.edge_bit[U(e)], row, events.masks):
                continue
            target = machine.target[U(e)]
            to = block.made + target
            if not lists.touched[U(target)]:
                lists.touched[U(target)] = 1
                wipe(to, to + 1, fields, sums)
            kind = classes.kind[U(c)]
            if kind == PAIRS:
                found = _pairs(
                    e, c, to, j, visible, open_from, open_to, block, trends, events, tests, scratch, progress
                )
                if found < 0:
                    failed = found
                marked |= found == 1
                continue
            if classes.deferred[U(c)]:
                _synchronise(c, j, visible, block, trends, events, scratch)
            if kind == STATE:
                jobs[U(2 * used)] = to
                jobs[U(2 * used + 1)] = c
                used += 1
                stays &= machine.ends[U(e)] != 0
                continue
            if kind == GRID:
                for k in range(standing_before_both(c, at, block, classes, trends.grids, scratch)):
                    jobs[U(2 * used)] = to
                    jobs[U(2 * used + 1)] = scratch.nodes.path[U(k)]
                    used += 1
                continue
            tree, p = standing_before(c, at, block, classes, scratch)
            if fields.plain and sums.lanes == 1:
                total = 0.0
                while p > 0:
                    total += sums.floats[U(tree + p)]
                    p &= p - 1
                sums.floats[U(to)] += total
            while p > 0:
                jobs[U(2 * used)] = to
                jobs[U(2 * used + 1)] = tree + p
                used += 1
                p &= p - 1
        if trends.selection == NEXT:
            if not stays:
                add_jobs(jobs, 0, used, open_from, open_to, fields, sums)
                used = 0
                # All that stood here was taken along; what comes later in the same instant is not in yet.
                clear(first, after, fields, sums)
            if marked:
                _drop_marked(classes.stored[U(s)], lists)
    return failed if failed < 0 else used


@spliced
def _change(j, open_from, open_to, block, trends, events, scratch):
    """Append the row to the trends that it goes on with, and make them part of what later rows read.

    Returns:
        How many jobs there are.
    """
    machine, classes, fields = trends.machine, trends.classes, trends.fields
    lists, sums, jobs = scratch.lists, scratch.sums, scratch.jobs
    row, at = block.base + j, j - block.low
    used = 0
    for t in range(machine.automata[1]):
        stored = classes.stored[U(t)]
        if not lists.touched[U(t)]:
            if stored >= 0:
                lists.has[stored, at] = 0
            continue
        to = block.made + t
        component = machine.state_component[U(t)]
        take(to, row, events.rows, component, open_from, open_to, fields, events.values, sums)
        accept = machine.accept_edge[U(t)]
        at_once = accept >= 0 and not machine.absent[U(accept)] and not machine.present[U(accept)]
        if at_once and _has(classes.accept_bit[U(t)], row, events.masks):
            jobs[U(2 * used)] = block.result
            jobs[U(2 * used + 1)] = to
            used += 1
        if stored >= 0:
            single = block.single + stored * lists.room + at
            wipe(single, single + 1, fields, sums)
            jobs[U(2 * used)] = single
            jobs[U(2 * used + 1)] = to
            used += 1
            lists.has[stored, at] = 1
            last = lists.length[stored]
            lists.row[stored, last] = at
            lists.marked[stored, last] = 0
            lists.length[stored] = last + 1
        for c in range(classes.class_start[U(t)], classes.class_start[U(t + 1)]):
            if classes.deferred[U(c)] or classes.kind[U(c)] == PAIRS or not _has(classes.bit[U(c)], row, events.masks):
                continue
            if classes.kind[U(c)] == STATE:
                jobs[U(2 * used)] = c
                jobs[U(2 * used + 1)] = to
                used += 1
                continue
            if classes.kind[U(c)] == GRID:
                for k in range(entering_both(c, at, block, classes, trends.grids, scratch)):
                    jobs[U(2 * used)] = scratch.nodes.path[U(k)]
                    jobs[U(2 * used + 1)] = to
                    used += 1
                continue
            tree, p, size = entering(c, at, block, classes, scratch)
            if fields.plain and sums.lanes == 1:
                own = sums.floats[U(to)]
                while p <= size:
                    sums.floats[U(tree + p)] += own
                    p += p & -p
            while p <= size:
                jobs[U(2 * used)] = tree + p
                jobs[U(2 * used + 1)] = to
                used += 1
                p += p & -p
    return used


@inner
def _drop_marked(stored, lists):
    kept = 0
    for k in range(lists.length[stored]):
        if not lists.marked[stored, k]:
            lists.row[stored, kept] = lists.row[stored, k]
            lists.marked[stored, kept] = 0
            kept += 1
    lists.length[stored] = kept


@inner
def _insert(c, record, at, block, trends, scratch):
    """Make a record part of a class's sum, for rare use; row ``at`` counts within the block."""
    classes, fields, lanes = trends.classes, trends.fields, scratch.sums.lanes
    if classes.kind[U(c)] == STATE:
        add(c, record, 0, lanes, scratch.jobs, fields, scratch.sums)
        return
    if classes.kind[U(c)] == GRID:
        for k in range(entering_both(c, at, block, classes, trends.grids, scratch)):
            add(np.int64(scratch.nodes.path[U(k)]), record, 0, lanes, scratch.jobs, fields, scratch.sums)
        return
    tree, p, size = entering(c, at, block, classes, scratch)
    while p <= size:
        add(tree + p, record, 0, lanes, scratch.jobs, fields, scratch.sums)
        p += p & -p


@inner
def _synchronise(c, j, visible, block, trends, events, scratch):
    """Bring a deferred class's sum up to row ``j``: rows below ``visible`` may be in it, those out of sight may not."""
    classes, work, lists = trends.classes, scratch.work, scratch.lists
    absent, present = classes.absent[U(c)], classes.present[U(c)]
    from_row, to_row = lists.low[c], lists.high[c]
    stored = classes.stored[U(classes.state[U(c)])]
    low = block.low
    single = block.single + stored * lists.room - low
    while from_row < j and not sees(absent, _NONE, from_row, j, work):
        from_row += 1
    if from_row > lists.low[c] and to_row > lists.low[c]:
        # What is left is added up anew: least values cannot be taken out of a sum.
        _empty(c, to_row, block, trends, scratch)
        for i in range(from_row, to_row):
            if lists.has[stored, i - low] and _has(classes.bit[U(c)], block.base + i, events.masks):
                _insert(c, single + i, i - low, block, trends, scratch)
    while to_row < visible and sees(_NONE, present, to_row, j, work):
        taken = to_row >= from_row and lists.has[stored, to_row - low]
        if taken and _has(classes.bit[U(c)], block.base + to_row, events.masks):
            _insert(c, single + to_row, to_row - low, block, trends, scratch)
        to_row += 1
    lists.low[c] = from_row
    lists.high[c] = max(to_row, from_row)


@spliced
def _empty(c, to_row, block, trends, scratch):
    """Take everything out of a class's sum."""
    classes, fields, sums = trends.classes, trends.fields, scratch.sums
    if classes.kind[U(c)] == STATE:
        clear(c, c + 1, fields, sums)
    elif classes.kind[U(c)] == GRID:
        for at in range(scratch.lists.low[c] - block.low, to_row - block.low):
            for k in range(entering_both(c, at, block, classes, trends.grids, scratch)):
                record = np.int64(scratch.nodes.path[U(k)])
                clear(record, record + 1, fields, sums)
    else:
        for at in range(scratch.lists.low[c] - block.low, to_row - block.low):
            tree, p, size = entering(c, at, block, classes, scratch)
            while p <= size:
                clear(tree + p, tree + p + 1, fields, sums)
                p += p & -p


@inner
def _pairs(e, c, to, j, visible, open_from, open_to, block, trends, events, tests, scratch, progress):
    """Add to record ``to`` every event of the class's state that row ``j`` may follow over edge ``e``.

    Returns:
        1 where one may not be followed any more, else 0; a negative status where a test fails.
    """
    machine, classes, lists, search = trends.machine, trends.classes, scratch.lists, tests.search
    stored = classes.stored[U(classes.state[U(c)])]
    single = block.single + stored * lists.room
    found = 0
    search.counts[0] = 1
    search.counts[1] = 1
    search.occurrences[U(search.rows)] = j
    end = lists.length[stored]
    while end > 0 and block.low + lists.row[stored, end - 1] >= visible:
        end -= 1
    begin = np.int64(0)
    if trends.selection == STRICT:
        begin = max(end - 1, begin)
        while begin < end and block.low + lists.row[stored, begin] < j - 1:
            begin += 1
    progress[STEPS] += end - begin
    if progress[STEPS] > tests.max_steps:
        return -TOO_MANY_STEPS
    first = block.base + block.low
    for n in range(compared_candidates(c, stored, begin, end, first, block.base + j, classes, events, lists)):
        k = np.int64(lists.candidates[U(n)])
        at = np.int64(lists.row[stored, k])
        i = block.low + at
        if not _has(classes.bit[U(c)], block.base + i, events.masks):
            continue
        if not sees(machine.absent[U(e)], machine.present[U(e)], i, j, scratch.work):
            continue
        held = np.int64(TRUE)
        search.occurrences[0] = i
        for t in range(classes.test_start[U(c)], classes.test_start[U(c + 1)]):
            program, rows = classes.tests[U(t)], events.rows - block.base
            held = np.int64(holds(program, j, block.base, rows, 0, tests.conditions, tests.columns, search))
            if held != TRUE:
                break
        if held == FALSE:
            continue
        if held != TRUE:
            return -held
        if trends.fields.plain and scratch.sums.lanes == 1:
            scratch.sums.floats[U(to)] += scratch.sums.floats[U(single + at)]
        else:
            add(to, single + at, open_from, open_to, scratch.jobs, trends.fields, scratch.sums)
        if trends.selection == NEXT and not machine.ends[U(e)]:
            lists.marked[stored, k] = 1
            found = 1
    return found


@spliced
def _late_results(block, trends, events, windows, scratch):
    """Trends that end where a negation follows: known when their windows are over."""
    machine, classes, lists, sums = trends.machine, trends.classes, scratch.lists, scratch.sums
    for s in range(machine.automata[1]):
        accept = machine.accept_edge[s]
        if accept < 0 or (not machine.absent[accept] and not machine.present[accept]):
            continue
        stored = classes.stored[s]
        single = block.single + stored * lists.room - block.low
        for lane in range(sums.lanes):
            if windows.first[lane] < 0:
                continue
            last = windows.last[lane]
            for i in range(windows.first[lane], last + 1):
                ends = lists.has[stored, i - block.low] and _has(classes.accept_bit[s], block.base + i, events.masks)
                if ends and sees(machine.absent[accept], machine.present[accept], i, last + 1, scratch.work):
                    add(block.result, single + i, lane, lane + 1, scratch.jobs, trends.fields, sums)
