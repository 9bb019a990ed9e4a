"""Batch: rows of partitions as a matcher takes them, and Resume: where a partition that goes on was left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sparkcep.exec.arrays import Ints

#: Most rows to gather before matching whole partitions, and most output rows of a record batch, where rows are narrow.
CHUNK = 200_000
#: A time before that of any row.
NOTHING_REACHED = -(2**63)


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of partitions, in order.

    ``offsets`` (partitions + 1,): row borders. ``masks``: int64 arrays of condition bits. ``columns``: kernel columns.
    ``within``: ORDER BY key and key plus interval, of one type; for runs also key minus interval.
    ``marks`` (rows,) uint8: for matches by range, where
    matching may resume; see kernels.rows. ``held``: bytes of all of the rows' columns, of which these are some.
    ``reached``: in units of the kernel's bound of WITHIN, the time up to which all rows of the log are known.
    """

    offsets: Ints
    masks: Sequence[pa.Array]
    columns: Sequence[pa.Array] = ()
    within: tuple[pa.Array, ...] | None = None
    marks: npt.NDArray[np.uint8] | None = None
    held: int = 0
    reached: int = NOTHING_REACHED


@dataclass(frozen=True, slots=True)
class Resume:
    """Where matching was left in a partition that goes on.

    To go on, give the rows of its chunk from ``drop`` on again, followed by more; where it turns out to have ended, by
    none, though no row may be left. ``row`` and ``covered`` count within
    the chunk to come: nothing is decided from ``row`` on, and matches cover rows before ``covered``. ``first_row`` is
    how many rows of the partition come before that chunk. ``matches``, ``steps`` and ``emitted``: matches found, steps
    taken and rows emitted so far.
    """

    drop: int
    first_row: int
    row: int
    covered: int
    matches: int
    steps: int
    emitted: int
