"""Aggregates over trends of a stream: of each window once, when the watermark reaches its end."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sparkcep.exec.arrays import Ints
from sparkcep.exec.batch import Batch
from sparkcep.exec.engine import MatchTable, Released
from sparkcep.exec.engines.trends.spec import TrendSpec
from sparkcep.exec.kernels.rows.rows import FIRST_ROW


class BatchMatcher(Protocol):
    """What aggregates over whole partitions."""

    def match(self, batch: Batch) -> MatchTable:
        """Aggregates of each partition and window."""


class TrendsReleased:
    """Windows share work as in batch. What belongs to no window that is still open is dropped.

    Window k holds the times from ``k * slide`` up to, and without, ``k * slide + width``.
    """

    bounded = False
    closes = True

    def __init__(self, spec: TrendSpec, inner: BatchMatcher) -> None:
        self.inner = inner
        self.width, self.slide = spec.width, spec.slide

    def due(self, times: Ints, bounds: Ints | None, released: int, watermark: int) -> npt.NDArray[np.bool_]:
        """See :class:`ReleasedMatcher`: a window that holds the row ends between the watermarks."""
        return self.first_end(times, released) <= np.minimum(self.last_end(times), watermark)

    def wake(self, times: Ints, bounds: Ints | None, watermark: int) -> int | None:
        """See :class:`ReleasedMatcher`: when the next window ends."""
        ends = self.first_end(times, watermark)
        ends = ends[ends <= self.last_end(times)]
        return int(ends.min()) if len(ends) else None

    def first_end(self, times: Ints, after: int) -> Ints:
        """Of windows that hold a time, the first end above ``after``; it may be that of a window that does not."""
        above = np.maximum(times, after)
        ends: Ints = ((above - self.width) // self.slide + 1) * self.slide + self.width
        return ends

    def last_end(self, times: Ints) -> Ints:
        """The last end of the windows that hold a time."""
        ends: Ints = times // self.slide * self.slide + self.width
        return ends

    def match_released(self, batch: Batch, times: Ints, left: Ints, released: int, watermark: int) -> Released:
        """See :class:`ReleasedMatcher`."""
        offsets = np.asarray(batch.offsets, np.int64)
        last_close = (watermark - self.width) // self.slide * self.slide + self.width
        found = self.inner.match(_before(batch, offsets, times < last_close))
        ends = found.columns["w"].to_numpy() * self.slide + self.width
        wanted = np.flatnonzero((ends > released) & (ends <= watermark))
        at = pa.array(wanted)
        table = MatchTable(found.partition[wanted], {name: v.take(at) for name, v in found.columns.items()})
        over = self.last_end(times) <= watermark
        drop = np.add.reduceat(over, offsets[:-1]).astype(np.int64) if len(over) else np.zeros(0, np.int64)
        left[:, FIRST_ROW] += drop
        return Released(table, drop)


def _before(batch: Batch, offsets: Ints, chosen: npt.NDArray[np.bool_]) -> Batch:
    """A batch without the rows behind those chosen; partitions stay, some of no rows."""
    if chosen.all():
        return batch
    counts = np.add.reduceat(chosen, offsets[:-1]).astype(np.int64)
    mask = pa.array(chosen)
    within = None if batch.within is None else tuple(a.filter(mask) for a in batch.within)
    return Batch(
        np.append(0, np.cumsum(counts)).astype(np.int64),
        [m.filter(mask) for m in batch.masks],
        [c.filter(mask) for c in batch.columns],
        within,
    )
