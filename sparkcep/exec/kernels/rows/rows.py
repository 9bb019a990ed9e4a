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
    EACH_ROW,
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
    packed_rows,
)
from sparkcep.exec.kernels.rows.search import AT_END, AT_START, find_dependent, find_independent
from sparkcep.exec.kernels.rows.tables import Match, Partition, Start
from sparkcep.exec.kernels.rows.viability import ACCEPT, NONE, earliest_ends, viability
from sparkcep.exec.kernels.statuses import (
    OK,
    OUTPUT_FULL,
    OVERFLOW,
    SKIP_TARGET_ABSENT,
    TOO_MANY_ROWS,
    TOO_MANY_STEPS,
    UNDECIDED,
    ZERO_DIVISION,
)

__all__ = [
    "ACCEPT",
    "AT_END",
    "AT_START",
    "CHANGED",
    "CURRENT",
    "DECIDED_BY_END",
    "EACH_ROW",
    "EXCLUDED",
    "FAILED",
    "FIXED",
    "FLAGS",
    "LABEL",
    "LAST_OF_MATCH",
    "MAPPED_ROWS",
    "MATCHING_OVER",
    "NONE",
    "NUMBER",
    "OF_BATCH",
    "OMIT_EMPTY",
    "ONE_ROW",
    "PARTITION",
    "PASSED_OVER",
    "PAST_LAST_ROW",
    "PROGRESS",
    "REACHED",
    "SELF",
    "SHOW_EMPTY",
    "STOP",
    "TO_FIRST",
    "TO_LAST",
    "TO_NEXT_ROW",
    "UNREACHED",
    "WITH_UNMATCHED",
    "earliest_ends",
    "emit_match",
    "emit_unmatched",
    "match_partitions",
    "next_start",
]  # fmt: skip


#: What ``progress`` holds: the partition and the row matching is at; of this partition the matches found, the row up to
#: which matches cover it, steps taken, rows that count to the limit, rows given back; how much of the output is used;
#: whether viability is filled in; how many rows of the partition came before those of the batch; of a stream, behind
#: how many matches SKIP went on elsewhere than it says.
AT_PARTITION, AT_ROW, MATCHES, COVERED, STEPS, EMITTED, UNDONE, USED, PREPARED, FIRST_ROW, CHANGED = range(11)
PROGRESS = 11
#: Those of them that are of a batch, not of a partition.
OF_BATCH = (AT_PARTITION, UNDONE, USED, PREPARED)

#: What becomes of start rows that rows to come could decide otherwise where no more are given: the partition's end
#: decides (there are none); matching is over; they are passed over, since each start row is matched by itself.
DECIDED_BY_END, MATCHING_OVER, PASSED_OVER = range(3)

#: Marks of rows for matches by range: no match can start, one can, matching ends before this row.
UNREACHED, REACHED, STOP = range(3)


@kernel
def match_partitions(query, given, room, progress, out):
    """Match every partition of a batch from where ``progress`` stands; O(rows x positions) without match-dependent
    conditions.

    Where the batch's last partition is open, matching ends before the first row whose outcome may depend on what is to
    come; ``progress`` says which. Of a stream every partition is open and goes on from its own line of ``given.left``,
    where it is left again; a start row whose bound of WITHIN the watermark has reached sees no more rows. With
    ``query.undecided`` (OMIT CENSORED MATCHES) every partition is open as well, though no more rows are given: what
    they could change is left out.

    Args:
        query, given, room: see tables.py.
        progress: (PROGRESS,) see above. At first all zeros, or where an earlier batch has left its last partition.
        out: (n, FIXED + slots) output rows; rows and slots count from the partition's first row in the batch. For
            matches by range all are emitted that can be reached, whether or not one lies in another; their NUMBER is
            ``packed_rows``. An error becomes a FAILED row.

    Returns:
        A status; OUTPUT_FULL: call again with a larger ``out``, or with USED at 0 once what is there is read.
    """
    partitions = given.offsets.shape[0] - 1
    streams = given.left.shape[0] > 0
    for q in range(progress[AT_PARTITION], partitions):
        base = given.offsets[q]
        rows = given.offsets[q + 1] - base
        goes_on = streams or (given.is_open != 0 and q == partitions - 1)
        is_open = goes_on or query.undecided != DECIDED_BY_END
        if not progress[PREPARED]:
            if streams:
                for k in (AT_ROW, MATCHES, COVERED, STEPS, EMITTED, FIRST_ROW, CHANGED):
                    progress[k] = given.left[q, k]
            if query.use_within:
                earliest_ends(base, rows, is_open, given.masks, query.automaton, room.ends)
            else:
                viability(base, rows, is_open, given.masks, query.automaton, room.viable)
            progress[PREPARED] = 1
        origin = np.int64(0) if progress[FIRST_ROW] == 0 else np.int64(-1)
        open_row = rows - query.ahead if is_open else NONE
        partition = Partition(q, base, rows, origin, open_row, is_open, goes_on, given.first_epoch + q)
        status = _match_partition(partition, query, given, room, progress, out)
        if status != OK:
            return status
        progress[AT_PARTITION] = q + 1
        if streams:
            for k in (AT_ROW, MATCHES, COVERED, STEPS, EMITTED, FIRST_ROW, CHANGED):
                given.left[q, k] = progress[k]
        if streams or not goes_on:
            for k in (AT_ROW, MATCHES, COVERED, STEPS, EMITTED, UNDONE, PREPARED, FIRST_ROW):
                progress[k] = 0
    return OK


@inlined
def _match_partition(partition, query, given, room, progress, out):
    """Match a partition from start row to start row, as AFTER MATCH SKIP says.

    Invariant: ``progress`` tells of all start rows before AT_ROW and of no other, so that the row may be searched again
    where its output has no room (OUTPUT_FULL) or more rows of the partition are needed (OK before its end).

    Returns:
        A status.
    """
    base, rows = partition.base, partition.rows
    marks, search, emission = given.marks, room.search, query.emission
    ranged = marks.shape[0] > 0
    each = emission.mode == EACH_ROW
    _empty(search.counts)
    start = progress[AT_ROW]
    reached, reach, limit = start - 1, np.int64(-(2**63)), rows
    steps, used = progress[STEPS], progress[USED]
    while start < rows:
        if ranged:
            if marks[base + start] == STOP:
                break
            if marks[base + start] == UNREACHED:
                start += 1
                continue
        progress[AT_ROW] = start
        seen = partition
        if query.use_within:
            reached, reach = _within_reach(start, reached, reach, partition, given.within)
            # Rows up to the watermark have all come: none is to come that WITHIN would let the match take.
            closes = partition.is_open and (given.left.shape[0] > 0 or not partition.goes_on)
            if closes and given.within.bound[base + start] <= given.watermark:
                # Neighbours that conditions look at may still come.
                unknown = partition.open_row if query.undecided != DECIDED_BY_END and query.ahead > 0 else NONE
                seen = Partition(partition.number, base, rows, partition.origin, unknown, False, False, partition.epoch)
            limit = reached + 1 if seen.is_open and reached == rows - 1 else reached
        length, status, steps = _find(start, limit, steps, seen, query, given.columns, room, progress)
        if ranged and status != OK and status != TOO_MANY_STEPS:
            if used == out.shape[0]:
                return OUTPUT_FULL
            used = emit_failure(out, used, partition.number, start, status)
            progress[USED] = used
            _empty(search.counts)
            start += 1
            continue
        if status == UNDECIDED and query.undecided == PASSED_OVER and not partition.goes_on:
            _empty(search.counts)
            start += 1
            continue
        if status != OK:
            return OK if status == UNDECIDED else status
        # Behind a match there are at most as many skipped rows as it has.
        skipped = length if each and length > 0 else 0
        if used + (length if emission.rows and length > 0 else 1) + skipped > out.shape[0]:
            return OUTPUT_FULL
        progress[STEPS] = steps
        before = used
        if length >= 0:
            progress[MATCHES] += 1
            match = Match(partition.number, progress[MATCHES], start, length, rows)
            used = emit_match(out, used, match, query.automaton, emission, search)
            _empty(search.counts)
            progress[COVERED] = max(progress[COVERED], start + length)
            targets, labels = emission.output.targets, query.automaton.labels
            resume, status = next_start(start, length, emission.skip, targets, search.path, labels, emission.gap)
            if given.left.shape[0] > 0 and status != OK:
                # The error would come back whenever the stream is started again.
                resume = start + max(length, 1) if status == SKIP_TARGET_ABSENT else start + 1
                status = OK
                progress[CHANGED] += 1
            if ranged:
                _emit_range(start, resume, status, before, used, out)
                if status == OK:
                    _reach(marks, base + resume, base + rows)
                status = OK
                start += 1
            else:
                if each and status == OK:
                    for row in range(start + 1, resume):
                        used = emit_unmatched(out, used, partition.number, row)
                start = resume
        else:
            if each or (emission.mode == WITH_UNMATCHED and start >= progress[COVERED]):
                used = emit_unmatched(out, used, partition.number, start)
            start += 1
            if ranged:
                _reach(marks, base + start, base + rows)
        progress[USED] = used
        if each:
            progress[EMITTED] += 1 if length > 0 else 0
        else:
            progress[EMITTED] += min(used - before, 1) if emission.rows == MAPPED_ROWS else used - before
        if progress[EMITTED] > query.max_rows and not ranged:
            return TOO_MANY_ROWS
        if status != OK:
            return status
    progress[AT_ROW] = start
    return OK


@inlined
def _within_reach(start, reached, reach, partition, within):
    """The last row that WITHIN lets a match from ``start`` take, and its bound; ``reached`` and ``reach``: those of the
    start row before, so that a partition is walked once where bounds ascend."""
    base = partition.base
    # Keys ascend, but key + interval need not (months, DST, an interval that is a column).
    bound = within.bound[base + start]
    if within.null[0, base + start] or within.null[1, base + start]:
        return start - 1, reach
    reached = start - 1 if bound < reach else max(reached, start - 1)
    while (
        reached + 1 < partition.rows
        and not within.null[0, base + reached + 1]
        and within.key[base + reached + 1] <= bound
    ):
        reached += 1
    return reached, bound


@inlined
def _find(start, limit, steps, partition, query, columns, room, progress):
    """The preferred match from a start row: (length, status, steps), -1 where there is none."""
    begin = Start(start, limit, progress[MATCHES] + 1)
    if query.dependent:
        length, status, steps, progress[UNDONE] = find_dependent(
            begin, steps, progress[UNDONE], partition, query, columns, room
        )
    else:
        length, status = find_independent(begin, partition, query, room)
        steps += max(length, 1)
        if status == OK and steps > query.max_steps:
            status = TOO_MANY_STEPS
    # The rows to come may tell that a condition that failed is never to be evaluated; slots may look at them.
    failed = status == OVERFLOW or status == ZERO_DIVISION
    looks_ahead = status == OK and length > 0 and start + length + query.output_ahead > partition.rows
    open_end = partition.is_open or query.undecided != DECIDED_BY_END
    if (failed and partition.goes_on) or (looks_ahead and open_end):
        status = UNDECIDED
    return length, status, steps


@inlined
def _emit_range(start, resume, status, before, used, out):
    """Turn the output rows of a match, ``before`` to ``used``, into those of a match by range."""
    for at in range(before, used):
        out[at, NUMBER] = packed_rows(start, resume)
        if status != OK:
            out[at, LABEL] = status
            out[at, FLAGS] |= FAILED


@inlined
def _reach(marks, row, end):
    if row < end and marks[row] == UNREACHED:
        marks[row] = REACHED


@inlined
def _empty(counts):
    for g in range(counts.shape[0]):
        counts[g] = 0
