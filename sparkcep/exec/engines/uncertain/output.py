"""Output columns of uncertain matches: those of runs, and what is known of a match's probability and time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sparkcep.exec.arrays import Ints
from sparkcep.exec.engine import MatchTable
from sparkcep.exec.engines.runs.output import run_table
from sparkcep.exec.engines.uncertain.matcher import UncertainMatches
from sparkcep.exec.kernels.rows.output import NUMBER, PARTITION
from sparkcep.exec.shape import OperatorColumns


def uncertain_table(matches: UncertainMatches, shape: OperatorColumns, **more: pa.Array) -> MatchTable:
    """What the matcher found, as columns. ``more``: other columns."""
    first, last = np.ascontiguousarray(matches.ticks.T)
    return run_table(
        matches.out, matches.trace, shape, confidence=pa.array(matches.confidence), first_tick=pa.array(first),
        last_tick=pa.array(last), **more,
    )  # fmt: skip


def places(out: Ints) -> Ints:
    """Where each output row stands among those of its match, from 0; a match's rows lie together, in its order."""
    rows = np.arange(len(out))
    begins = np.append(True, np.diff(out[:, [PARTITION, NUMBER]], axis=0).any(axis=1))[: len(out)]
    return rows - np.maximum.accumulate(np.where(begins, rows, 0))
