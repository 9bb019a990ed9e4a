"""Output rows of matches, and where matching goes on after one."""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, inner, kernel
from sparkcep.exec.kernels.conditions.operands import navigate
from sparkcep.exec.kernels.statuses import OK, SKIP_TARGET_ABSENT, SKIP_TO_FIRST_ROW

PAST_LAST_ROW, TO_NEXT_ROW, TO_FIRST, TO_LAST = range(4)
#: What is emitted; EACH_ROW: a row for each row of the partition, with what is matched from there (a window).
ONE_ROW, SHOW_EMPTY, OMIT_EMPTY, WITH_UNMATCHED, EACH_ROW = range(5)

#: Columns of the output before the slots.
PARTITION, NUMBER, LABEL, SELF, CURRENT, FLAGS, FIXED = range(7)
EXCLUDED, LAST_OF_MATCH = 1, 2
#: Of matches by range: what is at this start is not a match but the status in LABEL.
FAILED = 4
#: Of a run that timed out: the code of the component it lacked plus one, times this.
WAITING = 256

SLOT_WIDTH = 6

#: Of matches by range, NUMBER holds the row where the match starts and, in its lower ROW_BITS, that where matching
#: resumes. Both count from the range's first row; engines/rows/ranges.py refuses ranges of more than MAX_RANGE_ROWS.
ROW_BITS = 32
MAX_RANGE_ROWS = 2**31 - 1

#: ``every_row``: one row for each match; one for each of its events, as aggregates over the match want them; those that
#: the result shows. The limit counts what the result shows.
LAST_ROW, MAPPED_ROWS, SHOWN_ROWS = range(3)


@inner
def _blank(out, at, partition, number, row):
    """An output row without a current row."""
    for c in range(out.shape[1]):
        out[at, c] = -1
    out[at, PARTITION] = partition
    out[at, NUMBER] = number
    out[at, SELF] = row
    out[at, FLAGS] = LAST_OF_MATCH


@inner
def _slot_values(out, at, running, match, automaton, slots, search):
    """Resolve the slots of one output row: those that are RUNNING, or those that are FINAL."""
    for s in range(slots.shape[0] // SLOT_WIDTH):
        if slots[SLOT_WIDTH * s + 4] != running:
            continue
        row = navigate(s, slots, SLOT_WIDTH, search, match.rows)
        if slots[SLOT_WIDTH * s + 5] and row >= 0:
            inside = row - match.start
            row = automaton.labels[search.path[inside]] if 0 <= inside < match.length else np.int64(-1)
        out[at, FIXED + s] = row


@kernel
def emit_match(out, used, match, automaton, emission, search):
    """Append the output rows of one match, for which there must be room; O(length x (registers + slots)).

    With EACH_ROW their SELF is the match's start, the row that they are the output of.

    Args:
        out: (n, FIXED + slots), of which ``used`` rows are. match, emission: see tables.py. search: the match is its
            ``path``; its registers are those of the slots afterwards.

    Returns:
        How many rows of ``out`` are used.
    """
    labels, counts, output = automaton.labels, search.counts, emission.output
    start, length = match.start, match.length
    registers = output.membership.shape[0]
    if length == 0:
        if emission.mode == OMIT_EMPTY:
            return used
        _blank(out, used, match.partition, match.number, start)
        return used + 1
    first = used
    for g in range(registers):
        counts[g] = 0
    for k in range(length):
        position = search.path[k]
        label = labels[position]
        for g in range(registers):
            if output.membership[g, label]:
                search.occurrences[g * search.rows + counts[g]] = start + k
                counts[g] += 1
        # Rows before the match proper are no rows of it.
        if (emission.rows and label != emission.gap) or k == length - 1:
            out[used, PARTITION] = match.partition
            out[used, NUMBER] = match.number
            out[used, LABEL] = label
            out[used, SELF] = start if emission.mode == EACH_ROW else start + k
            out[used, CURRENT] = start + k
            flags = EXCLUDED if automaton.excluded[position] else 0
            out[used, FLAGS] = flags | (LAST_OF_MATCH if k == length - 1 else 0)
            _slot_values(out, used, 1, match, automaton, output.slots, search)
            used += 1
    for at in range(first, used):
        _slot_values(out, at, 0, match, automaton, output.slots, search)
    return used


@kernel
def emit_unmatched(out, used, partition, row):
    """Append a row that no match holds (WITH UNMATCHED ROWS) or begins with (EACH_ROW); there must be room."""
    _blank(out, used, partition, np.int64(0), row)
    return used + 1


@inlined
def packed_rows(start, resume):
    """NUMBER of a match by range."""
    return start << ROW_BITS | resume


@kernel
def emit_failure(out, used, partition, row, status):
    """Append what stands for a start row whose search failed (matches by range), for which there must be room."""
    _blank(out, used, partition, packed_rows(row, 0), row)
    out[used, LABEL] = status
    out[used, FLAGS] = LAST_OF_MATCH | FAILED
    return used + 1


@kernel
def next_start(start, length, skip, targets, path, labels, gap):
    """Where matching resumes after a match, and a status.

    Args:
        skip: PAST_LAST_ROW, TO_NEXT_ROW, TO_FIRST or TO_LAST. targets: (labels,) whether it is to be skipped to.
        path: the match's positions. labels: of each position. gap: label of the rows that stand before the match
            proper (SEEK), -1 for none.

    Returns:
        (row, status): OK, SKIP_TARGET_ABSENT or SKIP_TO_FIRST_ROW.
    """
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
    if found == 0 or labels[path[found - 1]] == gap:
        return start, SKIP_TO_FIRST_ROW
    return start + found, OK
