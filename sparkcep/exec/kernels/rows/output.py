"""Output rows of matches, and where matching goes on after one."""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inner, kernel
from sparkcep.exec.kernels.conditions import navigate
from sparkcep.exec.kernels.statuses import OK, SKIP_TARGET_ABSENT, SKIP_TO_FIRST_ROW

PAST_LAST_ROW, TO_NEXT_ROW, TO_FIRST, TO_LAST = range(4)
ONE_ROW, SHOW_EMPTY, OMIT_EMPTY, WITH_UNMATCHED = range(4)

#: Columns of the output before the slots.
PARTITION, NUMBER, LABEL, SELF, CURRENT, FLAGS, FIXED = range(7)
EXCLUDED, LAST_OF_MATCH = 1, 2
#: Of matches by range: what is at this start is not a match but the status in LABEL.
FAILED = 4

SLOT_WIDTH = 6

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
def _slot_values(out, at, start, rows, length, automaton, slots, running, search):
    """Resolve the slots of one output row: those that are RUNNING, or those that are FINAL."""
    for s in range(slots.shape[0] // SLOT_WIDTH):
        if slots[SLOT_WIDTH * s + 4] != running:
            continue
        row = navigate(s, slots, SLOT_WIDTH, search, rows)
        if slots[SLOT_WIDTH * s + 5] and row >= 0:
            inside = row - start
            row = automaton.labels[search.path[inside]] if 0 <= inside < length else np.int64(-1)
        out[at, FIXED + s] = row


@kernel
def emit_match(out, used, partition, number, start, length, rows, automaton, mode, every_row, output, search):
    """Append the output rows of one match, for which there must be room; returns how much of the buffer is used.

    The match is ``search.path``; the registers are those of the slots afterwards.
    """
    labels, counts = automaton.labels, search.counts
    registers = output.membership.shape[0]
    if length == 0:
        if mode == OMIT_EMPTY:
            return used
        _blank(out, used, partition, number, start)
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
        if every_row or k == length - 1:
            out[used, PARTITION] = partition
            out[used, NUMBER] = number
            out[used, LABEL] = label
            out[used, SELF] = start + k
            out[used, CURRENT] = start + k
            flags = EXCLUDED if automaton.excluded[position] else 0
            out[used, FLAGS] = flags | (LAST_OF_MATCH if k == length - 1 else 0)
            _slot_values(out, used, start, rows, length, automaton, output.slots, 1, search)
            used += 1
    for at in range(first, used):
        _slot_values(out, at, start, rows, length, automaton, output.slots, 0, search)
    return used


@kernel
def emit_unmatched(out, used, partition, row):
    """Append a row that no match holds (WITH UNMATCHED ROWS), for which there must be room."""
    _blank(out, used, partition, np.int64(0), row)
    return used + 1


@kernel
def emit_failure(out, used, partition, row, status):
    """Append what stands for a start row whose search failed (matches by range), for which there must be room."""
    _blank(out, used, partition, row << 32, row)
    out[used, LABEL] = status
    out[used, FLAGS] = LAST_OF_MATCH | FAILED
    return used + 1


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
