"""The rows kernel: preferred matches of a position automaton under strict contiguity.

Per partition, one backward pass marks the (row, position) pairs from which a match can still be completed as far as
match-independent conditions tell; a forward walk then takes the first viable edge. Without match-dependent conditions
no step is ever undone, so the time is O(rows x positions) whatever the pattern. With them the walk backtracks on an
explicit stack.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, kernel
from sparkcep.exec.kernels.rows.output import (
    CURRENT,
    EXCLUDED,
    FAILED,
    FIXED,
    FLAGS,
    LABEL,
    LAST_OF_MATCH,
    MAPPED_ROWS,
    NUMBER,
    OMIT_EMPTY,
    ONE_ROW,
    PARTITION,
    PAST_LAST_ROW,
    SELF,
    SHOW_EMPTY,
    TO_FIRST,
    TO_LAST,
    TO_NEXT_ROW,
    WITH_UNMATCHED,
    emit_failure,
    emit_match,
    emit_unmatched,
    next_start,
)
from sparkcep.exec.kernels.rows.search import AT_END, AT_START, find_dependent, find_independent
from sparkcep.exec.kernels.rows.viability import ACCEPT, NONE, earliest_ends, viability
from sparkcep.exec.kernels.statuses import (
    OK,
    OUTPUT_FULL,
    OVERFLOW,
    TOO_MANY_ROWS,
    TOO_MANY_STEPS,
    UNDECIDED,
    ZERO_DIVISION,
)

__all__ = [
    "ACCEPT", "AT_END", "AT_START", "CURRENT", "EXCLUDED", "FAILED", "FIXED", "FLAGS", "LABEL", "LAST_OF_MATCH",
    "MAPPED_ROWS", "NONE", "NUMBER", "OMIT_EMPTY", "ONE_ROW", "PARTITION", "PAST_LAST_ROW", "REACHED", "SELF",
    "SHOW_EMPTY", "STOP", "TO_FIRST", "TO_LAST", "TO_NEXT_ROW", "UNREACHED", "WITH_UNMATCHED", "earliest_ends",
    "emit_match", "emit_unmatched", "match_partitions", "next_start",
]  # fmt: skip


#: What ``progress`` holds: the partition and the row matching is at; of this partition the matches found, the row up to
#: which matches cover it, steps taken, rows that count to the limit, rows given back; how much of the output is used;
#: whether viability is filled in; how many rows of the partition came before those of the batch.
AT_PARTITION, AT_ROW, MATCHES, COVERED, STEPS, EMITTED, UNDONE, USED, PREPARED, FIRST_ROW = range(10)

#: Marks of rows for matches by range: no match can start, one can, matching ends before this row.
UNREACHED, REACHED, STOP = range(3)


@kernel
def match_partitions(
    offsets, masks, automaton, use_within, within, skip, mode, every_row, output, dependent, conditions, columns,
    max_steps, max_rows, viable, ends, search, memo, first_epoch, is_open, ahead, output_ahead,
    progress, out, marks,
):  # fmt: skip
    """Match every partition of a batch from where ``progress`` stands.

    Args:
        offsets: (partitions + 1,) row borders.
        masks: (words, rows) uint64, one bit per match-independent condition.
        automaton, within, output, conditions, columns, trail: see tables.py.
        memo: see tables.py. first_epoch: what stands for the first partition there, above those of earlier calls.
        viable: (rows of the longest partition + 1, words), without WITHIN. ends: (as many, positions), with WITHIN.
        is_open: whether the last partition goes on in a later batch. Matching then ends before the first row whose
            outcome may depend on what is to come; ``progress`` says which.
        ahead, output_ahead: how many rows after the tested row, after a match, conditions and slots look at.
        progress: (10,) see above. At first all zeros, or where an earlier batch has left its last partition.
        out: (n, FIXED + slots) output rows; rows and slots count from the partition's first row in the batch.
        marks: empty; or, for matches by range, (rows,) REACHED where matching may resume, STOP at the first row that
            is another range's, else UNREACHED. All matches that can be reached are put out, whether or not one lies in
            another; their NUMBER is start << 32 | the row where matching resumes. An error becomes a FAILED row.

    Returns:
        A status; OUTPUT_FULL: call again with a larger ``out``, or with USED at 0 once what is there is read.
    """
    partitions = offsets.shape[0] - 1
    for q in range(progress[AT_PARTITION], partitions):
        base = offsets[q]
        rows = offsets[q + 1] - base
        open_here = is_open and q == partitions - 1
        if not progress[PREPARED]:
            if use_within:
                earliest_ends(base, rows, open_here, masks, automaton, ends)
            else:
                viability(base, rows, open_here, masks, automaton, viable)
            progress[PREPARED] = 1
        status = _match_partition(
            q, base, rows, open_here, automaton, use_within, within, skip, mode, every_row, output, dependent,
            conditions, columns, max_steps, max_rows, viable, ends, search, memo, first_epoch, ahead, output_ahead,
            progress, out, marks,
        )  # fmt: skip
        if status != OK:
            return status
        progress[AT_PARTITION] = q + 1
        if not open_here:
            for k in (AT_ROW, MATCHES, COVERED, STEPS, EMITTED, UNDONE, PREPARED, FIRST_ROW):
                progress[k] = 0
    return OK


@inlined
def _match_partition(
    q, base, rows, open_here, automaton, use_within, within, skip, mode, every_row, output, dependent, conditions,
    columns, max_steps, max_rows, viable, ends, search, memo, first_epoch, ahead, output_ahead, progress, out,
    marks,
):  # fmt: skip
    ranged = marks.shape[0] > 0
    _empty(search.counts)
    start = progress[AT_ROW]
    reached = start - 1
    reach = np.int64(-(2**63))
    limit = rows
    steps = progress[STEPS]
    used = progress[USED]
    origin = np.int64(0) if progress[FIRST_ROW] == 0 else np.int64(-1)
    open_row = rows - ahead if open_here else NONE
    while start < rows:
        if ranged:
            if marks[base + start] == STOP:
                break
            if marks[base + start] == UNREACHED:
                start += 1
                continue
        progress[AT_ROW] = start
        if use_within:
            # Keys ascend, but key + interval need not (months, DST, an interval that is a column).
            bound = within.bound[base + start]
            if within.null[0, base + start] or within.null[1, base + start]:
                reached = start - 1
            else:
                reached = start - 1 if bound < reach else max(reached, start - 1)
                while (
                    reached + 1 < rows
                    and not within.null[0, base + reached + 1]
                    and (within.key[base + reached + 1] <= bound)
                ):
                    reached += 1
                reach = bound
            limit = reached + 1 if open_here and reached == rows - 1 else reached
        if dependent:
            length, status, steps, progress[UNDONE] = find_dependent(
                first_epoch + q, base, start, rows, origin, open_row, progress[MATCHES] + 1, automaton, use_within,
                limit, viable, ends, conditions, columns, search, memo, steps, max_steps, progress[UNDONE],
            )  # fmt: skip
        else:
            length, status = find_independent(
                start, rows, origin, open_row, automaton, use_within, limit, viable, ends, search.path
            )  # fmt: skip
            steps += max(length, 1)
            if status == OK and steps > max_steps:
                status = TOO_MANY_STEPS
        # The rows to come may tell that a condition that failed is never to be evaluated.
        if open_here and (status == OVERFLOW or status == ZERO_DIVISION):
            status = UNDECIDED
        if ranged and status != OK and status != TOO_MANY_STEPS:
            if used == out.shape[0]:
                return OUTPUT_FULL
            used = emit_failure(out, used, q, start, status)
            progress[USED] = used
            _empty(search.counts)
            start += 1
            continue
        if open_here and status == OK and length > 0 and start + length + output_ahead > rows:
            status = UNDECIDED  # slots look at rows to come
        if status != OK:
            return OK if status == UNDECIDED else status
        if used + (length if every_row and length > 0 else 1) > out.shape[0]:
            return OUTPUT_FULL
        progress[STEPS] = steps
        before = used
        if length >= 0:
            progress[MATCHES] += 1
            used = emit_match(
                out, used, q, progress[MATCHES], start, length, rows, automaton, mode, every_row, output, search
            )  # fmt: skip
            _empty(search.counts)
            progress[COVERED] = max(progress[COVERED], start + length)
            resume, status = next_start(start, length, skip, output.targets, search.path, automaton.labels)
            if ranged:
                for at in range(before, used):
                    out[at, NUMBER] = start << 32 | resume
                    if status != OK:
                        out[at, LABEL] = status
                        out[at, FLAGS] |= FAILED
                if status == OK:
                    _reach(marks, base + resume, base + rows)
                status = OK
                start += 1
            else:
                start = resume
        else:
            if mode == WITH_UNMATCHED and start >= progress[COVERED]:
                used = emit_unmatched(out, used, q, start)
            start += 1
            if ranged:
                _reach(marks, base + start, base + rows)
        progress[USED] = used
        progress[EMITTED] += min(used - before, 1) if every_row == MAPPED_ROWS else used - before
        if progress[EMITTED] > max_rows and not ranged:
            return TOO_MANY_ROWS
        if status != OK:
            return status
    progress[AT_ROW] = start
    return OK


@inlined
def _reach(marks, row, end):
    if row < end and marks[row] == UNREACHED:
        marks[row] = REACHED


@inlined
def _empty(counts):
    for g in range(counts.shape[0]):
        counts[g] = 0
