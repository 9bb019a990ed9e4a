"""Row patterns over the released rows of a stream."""

from __future__ import annotations

import numpy as np

from sparkcep.exec.arrays import Ints
from sparkcep.exec.batch import Batch
from sparkcep.exec.engine import Released, ReleasedDefaults
from sparkcep.exec.engines.rows.matcher import Matcher
from sparkcep.exec.engines.rows.output import match_table
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.kernels.rows import rows as kernel
from sparkcep.exec.shape import OperatorColumns


class RowsReleased(ReleasedDefaults):
    """Goes on at the first start row that was undecided. What stands before it, less what PREV looks back at, is
    dropped.

    No slot of the output may look behind the match, and no condition behind what a match takes after its row: the
    planner refuses both, since the row may never come.
    """

    def __init__(self, spec: MatchSpec, shape: OperatorColumns) -> None:
        self.inner = Matcher(spec)
        self.inner.output_ahead = 0
        self.shape = shape
        self.bounded = spec.use_within

    def match_released(self, batch: Batch, times: Ints, left: Ints, released: int, watermark: int) -> Released:
        """See :class:`ReleasedMatcher`. Steps and rows count to their limits from zero in each step."""
        out, drop, changed = self.kernel_output(batch, left, watermark)
        return Released(match_table(out, self.shape), drop, changed)

    def kernel_output(self, batch: Batch, left: Ints, watermark: int) -> tuple[Ints, Ints, int]:
        """Output rows as the kernel gives them; how many rows nothing depends on any more, and how often SKIP went on
        elsewhere. Arguments as for :meth:`match_released`."""
        left[:, [kernel.STEPS, kernel.EMITTED, kernel.CHANGED]] = 0
        out = self.inner.match_released(batch, left, watermark)
        drop = np.maximum(0, left[:, kernel.AT_ROW] - self.inner.behind)
        left[:, kernel.AT_ROW] -= drop
        left[:, kernel.COVERED] = np.maximum(0, left[:, kernel.COVERED] - drop)
        left[:, kernel.FIRST_ROW] += drop
        return out, drop, int(left[:, kernel.CHANGED].sum())
