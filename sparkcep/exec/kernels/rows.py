"""The rows kernel: preferred matches of a position automaton under strict contiguity.

Per partition, one backward pass marks the (row, position) pairs from which a match can still be completed as far as
match-independent conditions tell; a forward walk then takes the first viable edge. Without match-dependent conditions
no step is ever undone, so the time is O(rows x positions) whatever the pattern. With them the walk backtracks on an
explicit stack.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import kernel
from sparkcep.exec.kernels.conditions import FALSE, STACK, TRUE, evaluate, navigate, push

ACCEPT = -1
AT_START, AT_END = 1, 2
NONE = np.int64(2**62)

OK, TOO_MANY_STEPS, TOO_MANY_ROWS, SKIP_TO_FIRST_ROW, SKIP_TARGET_ABSENT, OVERFLOW, ZERO_DIVISION = range(7)

PAST_LAST_ROW, TO_NEXT_ROW, TO_FIRST, TO_LAST = range(4)
ONE_ROW, SHOW_EMPTY, OMIT_EMPTY, WITH_UNMATCHED = range(4)

#: Columns of the output before the slots.
PARTITION, NUMBER, LABEL, SELF, CURRENT, FLAGS, FIXED = range(7)
EXCLUDED, LAST_OF_MATCH = 1, 2
#: Of matches by range: what is at this start is not a match but the status in LABEL.
FAILED = 4

#: Marks of rows for matches by range: no match can start, one can, matching ends before this row.
UNREACHED, REACHED, STOP = range(3)


@kernel
def _holds(label, row, masks, test_word, test_bit):
    bit = test_bit[label]
    return bit < 0 or (masks[test_word[label], row] >> np.uint64(bit)) & np.uint64(1) != 0


@kernel
def viability(base, rows, masks, test_word, test_bit, labels, followers, accepts, viable):
    """Fill ``viable`` (rows + 1, words): bit p of row r, a match can be completed by taking r at position p."""
    words = followers.shape[1]
    for w in range(words):
        viable[rows, w] = 0
    for r in range(rows - 1, -1, -1):
        for w in range(words):
            viable[r, w] = 0
        for p in range(labels.shape[0]):
            if not _holds(labels[p], base + r, masks, test_word, test_bit):
                continue
            good = accepts[p] == 1 or (accepts[p] == 2 and r == rows - 1)
            w = 0
            while not good and w < words:
                good = followers[p, w] & viable[r + 1, w] != 0
                w += 1
            if good:
                viable[r, p >> 6] |= np.uint64(1) << np.uint64(p & 63)


@kernel
def earliest_ends(base, rows, masks, test_word, test_bit, labels, edge_start, edge_target, accepts, ends):
    """Fill ``ends`` (rows + 1, positions): last row of the shortest completion that takes r at p, or NONE."""
    positions = labels.shape[0]
    for p in range(positions):
        ends[rows, p] = NONE
    for r in range(rows - 1, -1, -1):
        for p in range(positions):
            best = NONE
            if _holds(labels[p], base + r, masks, test_word, test_bit):
                if accepts[p] == 1 or (accepts[p] == 2 and r == rows - 1):
                    best = np.int64(r)
                else:
                    for e in range(edge_start[p], edge_start[p + 1]):
                        if edge_target[e] != ACCEPT:
                            best = min(best, ends[r + 1, edge_target[e]])
            ends[r, p] = best


@kernel
def _can_take(p, r, use_within, limit, viable, ends):
    if use_within:
        return ends[r, p] <= limit
    return (viable[r, p >> 6] >> np.uint64(p & 63)) & np.uint64(1) != 0


@kernel
def _find_independent(
    start, rows, edge_start, edge_target, edge_condition, positions, use_within, limit, viable, ends, path
):
    """Length of the preferred match from a start row, -1 when there is none."""
    state = positions
    length = 0
    while True:
        r = start + length
        chosen = np.int64(-2)
        for e in range(edge_start[state], edge_start[state + 1]):
            condition = edge_condition[e]
            if (condition & AT_START and r != 0) or (condition & AT_END and r != rows):
                continue
            target = edge_target[e]
            if target == ACCEPT:
                return length
            if r < rows and _can_take(target, r, use_within, limit, viable, ends):
                chosen = target
                break
        if chosen == -2:
            return -1
        path[length] = chosen
        state = chosen
        length += 1


@kernel
def _find_dependent(
    base, start, rows, number, labels, edge_start, edge_target, edge_condition, positions, use_within, limit, viable,
    ends, path, edge_at, membership, condition_of, condition_start, code, const_i, const_f, nav, agg, agg_i, agg_f,
    agg_n, ints, int_nulls, floats, float_nulls, occurrences, counts, ansi, si, sf, sn, steps, max_steps,
):  # fmt: skip
    """As _find_independent, testing match-dependent conditions and backtracking. Returns (length, status, steps)."""
    registers = membership.shape[0]
    for g in range(registers):
        counts[g] = 0
    length = 0
    state = positions
    edge_at[0] = edge_start[state]
    while True:
        steps += 1
        if steps > max_steps:
            return -1, TOO_MANY_STEPS, steps
        r = start + length
        if edge_at[length] >= edge_start[state + 1]:
            if length == 0:
                return -1, OK, steps
            length -= 1
            label = labels[path[length]]
            for g in range(registers):
                if membership[g, label]:
                    counts[g] -= 1
            state = path[length - 1] if length > 0 else positions
            continue
        e = edge_at[length]
        edge_at[length] += 1
        condition = edge_condition[e]
        if (condition & AT_START and r != 0) or (condition & AT_END and r != rows):
            continue
        target = edge_target[e]
        if target == ACCEPT:
            return length, OK, steps
        if r >= rows or not _can_take(target, r, use_within, limit, viable, ends):
            continue
        label = labels[target]
        for g in range(registers):
            if (
                membership[g, label]
                and push(
                    g, r, base, occurrences, counts, agg, agg_i, agg_f, agg_n, ints, int_nulls, floats, float_nulls
                )
                != FALSE
            ):
                return -1, OVERFLOW, steps
        c = condition_of[label]
        if c >= 0:
            result = evaluate(
                code, condition_start[c], condition_start[c + 1], base, rows, number, nav, occurrences, counts,
                ints, int_nulls, floats, float_nulls, const_i, const_f, agg, agg_i, agg_f, agg_n, ansi, si, sf, sn,
            )  # fmt: skip
            if result < 0:
                return -1, OVERFLOW if result == -1 else ZERO_DIVISION, steps
            if result != TRUE:
                for g in range(registers):
                    if membership[g, label]:
                        counts[g] -= 1
                continue
        path[length] = target
        state = target
        length += 1
        edge_at[length] = edge_start[state]


@kernel
def _grown(out, needed):
    if needed <= out.shape[0]:
        return out
    size = max(needed, 2 * out.shape[0])
    bigger = np.empty((size, out.shape[1]), np.int64)
    for r in range(out.shape[0]):  # plain loops compile several times faster than slices
        for c in range(out.shape[1]):
            bigger[r, c] = out[r, c]
    return bigger


@kernel
def _blank(out, at, partition, number, row):
    """An output row without a current row."""
    for c in range(out.shape[1]):
        out[at, c] = -1
    out[at, PARTITION] = partition
    out[at, NUMBER] = number
    out[at, SELF] = row
    out[at, FLAGS] = LAST_OF_MATCH


@kernel
def _slot_values(out, at, k, start, rows, length, path, labels, slots, running_only, occurrences, counts):
    """Resolve the slots of one output row; ``running_only`` 1: RUNNING ones, 0: FINAL ones."""
    for s in range(slots.shape[0]):
        if slots[s, 4] != running_only:
            continue
        row = navigate(s, slots, occurrences, counts, rows)
        if slots[s, 5] and row >= 0:
            inside = row - start
            row = labels[path[inside]] if 0 <= inside < length else np.int64(-1)
        out[at, FIXED + s] = row


@kernel
def emit_match(
    out, used, partition, number, start, length, rows, path, labels, excluded, mode, every_row, slot_membership, slots,
    occurrences, counts,
):  # fmt: skip
    """Append the output rows of one match; returns the buffer and how much of it is used."""
    registers = slot_membership.shape[0]
    if length == 0:
        if mode == OMIT_EMPTY:
            return out, used
        out = _grown(out, used + 1)
        _blank(out, used, partition, number, start)
        return out, used + 1
    emitted = length if every_row else 1
    out = _grown(out, used + emitted)
    first = used
    for g in range(registers):
        counts[g] = 0
    for k in range(length):
        label = labels[path[k]]
        for g in range(registers):
            if slot_membership[g, label]:
                occurrences[g, counts[g]] = start + k
                counts[g] += 1
        if every_row or k == length - 1:
            out[used, PARTITION] = partition
            out[used, NUMBER] = number
            out[used, LABEL] = label
            out[used, SELF] = start + k
            out[used, CURRENT] = start + k
            out[used, FLAGS] = (EXCLUDED if excluded[path[k]] else 0) | (LAST_OF_MATCH if k == length - 1 else 0)
            _slot_values(out, used, k, start, rows, length, path, labels, slots, 1, occurrences, counts)
            used += 1
    for at in range(first, used):
        _slot_values(out, at, length - 1, start, rows, length, path, labels, slots, 0, occurrences, counts)
    return out, used


@kernel
def emit_unmatched(out, used, partition, row):
    """Append a row that no match holds (WITH UNMATCHED ROWS)."""
    out = _grown(out, used + 1)
    _blank(out, used, partition, 0, row)
    return out, used + 1


@kernel
def emit_failure(out, used, partition, row, status):
    """Append what stands for a start row whose search failed (matches by range)."""
    out = _grown(out, used + 1)
    _blank(out, used, partition, row << 32, row)
    out[used, LABEL] = status
    out[used, FLAGS] = LAST_OF_MATCH | FAILED
    return out, used + 1


@kernel
def next_start(start, length, skip, targets, path, labels):
    """Where matching resumes and a status."""
    if length == 0 or skip == TO_NEXT_ROW:
        return start + 1, OK
    if skip == PAST_LAST_ROW:
        return start + length, OK
    found = -1
    for k in range(length):
        if targets[labels[path[k]]]:
            found = k
            if skip == TO_FIRST:
                break
    if found < 0:
        return start, SKIP_TARGET_ABSENT
    if found == 0:
        return start, SKIP_TO_FIRST_ROW
    return start + found, OK


@kernel
def match_partitions(
    offsets, masks, test_word, test_bit, labels, excluded, edge_start, edge_target, edge_condition, followers, accepts,
    use_within, within_key, within_bound, within_null, skip, targets, mode, every_row, slot_membership, slots,
    dependent, membership, condition_of, condition_start, code, const_i, const_f, nav, agg,
    ints, int_nulls, floats, float_nulls, ansi, max_steps, max_rows, marks,
):  # fmt: skip
    """Match every partition of a batch.

    Args:
        offsets: (partitions + 1,) row borders.
        masks: (words, rows) uint64, one bit per match-independent condition.
        within_key, within_bound: (rows,) ORDER BY key, key + interval. within_null: (2, rows), which of them is NULL.
        marks: empty; or, for matches by range, (rows,) REACHED where matching may resume, STOP at the first row that
            is another range's, else UNREACHED. All matches that can be reached are put out, whether or not one lies in
            another; their NUMBER is start << 32 | the row where matching resumes. An error becomes a FAILED row.

    Returns:
        (status, partition of the fault, output (n, FIXED + slots), n). Rows and slots count from the partition's start.
    """
    positions = labels.shape[0]
    words = followers.shape[1]
    partitions = offsets.shape[0] - 1
    ranged = marks.shape[0] > 0
    longest = 0
    for q in range(partitions):
        longest = max(longest, offsets[q + 1] - offsets[q])
    out = np.empty((1024, FIXED + slots.shape[0]), np.int64)
    used = 0
    viable = np.zeros((1 if use_within else longest + 1, words), np.uint64)
    ends = np.zeros((longest + 1 if use_within else 1, positions), np.int64)
    path = np.empty(longest + 1, np.int64)
    edge_at = np.empty(longest + 2 if dependent else 1, np.int64)
    occurrences = np.empty((max(membership.shape[0], slot_membership.shape[0]), longest + 1), np.int64)
    counts = np.zeros(max(membership.shape[0], slot_membership.shape[0]), np.int64)
    agg_i = np.zeros((agg.shape[0], longest + 2 if agg.shape[0] else 1), np.int64)
    agg_f = np.zeros(agg_i.shape, np.float64)
    agg_n = np.zeros(agg_i.shape, np.int64)
    si = np.zeros(STACK, np.int64)
    sf = np.zeros(STACK, np.float64)
    sn = np.zeros(STACK, np.uint8)
    for q in range(partitions):
        base = offsets[q]
        rows = offsets[q + 1] - base
        if use_within:
            earliest_ends(base, rows, masks, test_word, test_bit, labels, edge_start, edge_target, accepts, ends)
        else:
            viability(base, rows, masks, test_word, test_bit, labels, followers, accepts, viable)
        start = np.int64(0)
        number = np.int64(0)
        covered = np.int64(0)
        limit = np.int64(-1)
        reach = np.int64(-(2**63))
        steps = np.int64(0)
        emitted_before = used
        while start < rows:
            if ranged:
                if marks[base + start] == STOP:
                    break
                if marks[base + start] == UNREACHED:
                    start += 1
                    continue
            if use_within:
                # Keys ascend, but key + interval need not (months, DST, an interval that is a column).
                bound = within_bound[base + start]
                if within_null[0, base + start] or within_null[1, base + start]:
                    limit = start - 1
                else:
                    limit = start - 1 if bound < reach else max(limit, start - 1)
                    while (
                        limit + 1 < rows
                        and not within_null[0, base + limit + 1]
                        and (within_key[base + limit + 1] <= bound)
                    ):
                        limit += 1
                    reach = bound
            if dependent:
                length, status, steps = _find_dependent(
                    base, start, rows, number + 1, labels, edge_start, edge_target, edge_condition, positions,
                    use_within, limit, viable, ends, path, edge_at, membership, condition_of, condition_start, code,
                    const_i, const_f, nav, agg, agg_i, agg_f, agg_n, ints, int_nulls, floats, float_nulls,
                    occurrences, counts, ansi, si, sf, sn, steps, max_steps,
                )  # fmt: skip
                if status != OK:
                    if ranged and status != TOO_MANY_STEPS:
                        out, used = emit_failure(out, used, q, start, status)
                        start += 1
                        continue
                    return status, q, out, used
            else:
                length = _find_independent(
                    start, rows, edge_start, edge_target, edge_condition, positions, use_within, limit, viable, ends,
                    path,
                )  # fmt: skip
                steps += max(length, 1)
                if steps > max_steps:
                    return TOO_MANY_STEPS, q, out, used
            if length < 0:
                if mode == WITH_UNMATCHED and start >= covered:
                    out, used = emit_unmatched(out, used, q, start)
                start += 1
                if ranged and start < rows and marks[base + start] == UNREACHED:
                    marks[base + start] = REACHED
                continue
            number += 1
            first = used
            out, used = emit_match(
                out, used, q, number, start, length, rows, path, labels, excluded, mode, every_row, slot_membership,
                slots, occurrences, counts,
            )  # fmt: skip
            if not ranged and used - emitted_before > max_rows:
                return TOO_MANY_ROWS, q, out, used
            covered = max(covered, start + length)
            resume, status = next_start(start, length, skip, targets, path, labels)
            if ranged:
                for at in range(first, used):
                    out[at, NUMBER] = start << 32 | resume
                    if status != OK:
                        out[at, LABEL] = status
                        out[at, FLAGS] |= FAILED
                if status == OK and resume < rows and marks[base + resume] == UNREACHED:
                    marks[base + resume] = REACHED
                start += 1
                continue
            start = resume
            if status != OK:
                return status, q, out, used
    return OK, np.int64(0), out, used
