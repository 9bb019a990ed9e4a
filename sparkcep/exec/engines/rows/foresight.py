"""What matching a partition will cost, so that a hopeless search ends after seconds and not at its limit.

A pattern whose conditions compare with the start row may have to search again from each start row. Once a partition has
taken ``TRIED_STEPS`` and gone on from several start rows, the matcher runs for a while from rows that are spread over
the rest: how far it comes from each says what the whole will take. A start row that is not left yet says nothing: its
match may take all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from sparkcep.errors import LimitError
from sparkcep.exec.arrays import Ints
from sparkcep.exec.kernels.rows import rows as kernel
from sparkcep.exec.kernels.statuses import TOO_MANY_STEPS
from sparkcep.settings import LIMIT_STEPS

#: Steps of a partition before anything is estimated, about a second, and so many times as many while fewer start rows
#: than PASSED are left behind; the estimate takes up to four times as many again.
TRIED_STEPS, TIMES, PASSED = 1 << 22, 4, 8
#: Places that are tried, and how far beyond the limit an estimate must be: it need not be exact.
PLACES, DOUBT = 16, 4


def estimated_steps(progress: Ints, rows: int, run: Callable[[Ints, int], int]) -> float:
    """Steps that a partition will take in all.

    Args:
        progress: where the partition stands, see kernels.rows; it is left alone. rows: of the partition.
        run: runs the kernel from a progress of its own, which it moves on, up to so many steps; gives its status.
    """
    at, taken = int(progress[kernel.AT_ROW]), int(progress[kernel.STEPS])
    total = float(taken)
    most = max(taken // (4 * PLACES), 2 * taken // max(1, at))
    ends = np.linspace(at, rows, PLACES + 1).astype(np.int64)
    for low, high in pairwise(ends):
        trial = progress.copy()
        trial[kernel.AT_ROW] = low
        stopped = run(trial, taken + most) == TOO_MANY_STEPS
        came = int(trial[kernel.AT_ROW]) - int(low)
        if trial[kernel.AT_PARTITION] == progress[kernel.AT_PARTITION] and came:  # else little is left, or unknown
            steps = most if stopped else int(trial[kernel.STEPS]) - taken
            total += steps * float(high - low) / came
    return total


def too_long(steps: float, limit: int, row: int, rows: int) -> LimitError:
    """The error of a partition that would take many times its limit."""
    return LimitError(
        "CEP_STEP_LIMIT",
        f"Matching one partition of {rows:,} rows would take about {steps:.0e} steps, by {PLACES} trials from row "
        f"{row + 1:,} on; the limit is {limit} ({LIMIT_STEPS.key}).",
        hint="make the conditions more selective, bound the quantifiers, add WITHIN, or raise the limit",
    )
