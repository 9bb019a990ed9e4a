"""Where matches by range may start, and which of them the partition as a whole has."""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import kernel
from sparkcep.exec.kernels.rows.rows import REACHED, STOP

#: Place of the row that carries how many rows are a range's own.
SUMMARY = -1


@kernel
def mark_ranges(offsets, keys, nulls, numbers, width, distance, marks, row_counts):
    """Mark where matching may resume in each range and where the rows of others begin.

    Args:
        offsets: (ranges + 1,) row borders.
        keys: (rows,) ascending in each range. nulls: (rows,) nonzero where the key is NULL.
        numbers: (ranges,) which range it is; of no meaning for that of the NULL keys.
        width, distance: of ranges and of WITHIN, in units of the keys.
        marks: (rows,) all UNREACHED; to change.
        row_counts: (ranges,) to fill: number of the range's own rows.
    """
    most = np.int64(2**63 - 1)
    least = -most - 1
    lowest = ~(most // width)
    for q in range(offsets.shape[0] - 1):
        base, end = offsets[q], offsets[q + 1]
        # No match from before can reach NULL keys or pass over them.
        null = nulls[base] != 0
        if null:
            last = reach = most
        elif numbers[q] < lowest:
            row_counts[q] = 0  # copies of rows near the smallest key, nothing else
            marks[base] = STOP
            continue
        elif numbers[q] == lowest:
            last = (lowest + 1) * width - 1
            reach = least  # no row comes before
        else:
            begin = numbers[q] * width
            last = most if begin > most - width else begin + width - 1
            reach = most if begin > most - distance else begin + distance
        row = base
        while row < end and keys[row] <= reach:
            marks[row] = REACHED
            row += 1
        # The row after the last one that a match from before can hold.
        if row < end:
            marks[row] = REACHED
        row = base
        while row < end and keys[row] <= last:
            row += 1
        row_counts[q] = row - base
        if row < end:
            marks[row] = STOP


@kernel
def select_chain(offsets, starts, resumes, numbers, origins):
    """Follow the matches of each partition: the next one is the first at or after where the one before resumes.

    Args:
        offsets: (partitions + 1,) borders of partitions in the other arrays.
        starts, resumes: (n,) of output rows by range and start, counted from the range's first row. Each range begins
            with a SUMMARY in starts and its number of own rows in resumes; rows of one match share their start.
        numbers: (n,) to fill: match numbers from 1, or 0 where the partition does not have the match.
        origins: (n,) to fill: place of the range's first row in the partition.
    """
    for q in range(offsets.shape[0] - 1):
        origin = own = resume = number = 0
        last = -1
        for i in range(offsets[q], offsets[q + 1]):
            numbers[i] = 0
            if starts[i] == SUMMARY:
                origin += own
                own = resumes[i]
                continue
            origins[i] = origin
            at = origin + starts[i]
            if at == last:
                numbers[i] = number
            elif at >= resume:
                last = at
                number += 1
                numbers[i] = number
                resume = origin + resumes[i]
