"""Uncertain matches over the released rows of a stream: found again over the events that may still change one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sparkcep.exec.arrays import Ints, ordered_ints
from sparkcep.exec.batch import Batch
from sparkcep.exec.engine import Released, ReleasedDefaults
from sparkcep.exec.engines.runs.released import emitted, match_heads
from sparkcep.exec.engines.uncertain.matcher import UncertainMatcher, UncertainMatches
from sparkcep.exec.engines.uncertain.output import uncertain_table
from sparkcep.exec.engines.uncertain.spec import UncertainSpec
from sparkcep.exec.kernels.rows.output import PARTITION
from sparkcep.exec.kernels.rows.rows import FIRST_ROW
from sparkcep.exec.shape import OperatorColumns

_NEVER = np.iinfo(np.int64).max


class UncertainReleased(ReleasedDefaults):
    """Matches between two watermarks.

    Only events that come may change a confidence, and only one that may lie between the events of the match, or in the
    range of its negations. A row's bound is the watermark at which all events are there that may lie up to WITHIN
    behind its last tick; its ``ends``, that at which all are there that may lie before its last tick. A match is
    emitted once its last event ended; with a trailing negation, when the first of its events' bounds is reached; where
    nothing must stay out, with the last of its rows. These moments depend on the events of the match alone, so that it
    has the same one in each step.
    """

    def __init__(self, spec: UncertainSpec, shape: OperatorColumns) -> None:
        assert spec.stream is not None and spec.within is not None
        self.inner = UncertainMatcher(spec)
        self.shape = shape
        self.stream = spec.stream
        #: Whether an event that comes may lower the confidence of a match whose events have come.
        self.closes = spec.keeps_out
        self.within = spec.within
        self.has_sets = bool(spec.sets)

    def ends(self, bounds: Ints) -> Ints:
        """(rows,) the watermarks at which all events are there that may lie before the last ticks of rows."""
        ends: Ints = bounds - (self.within + 1) * self.stream.step
        return ends

    def due(self, times: Ints, bounds: Ints | None, released: int, watermark: int) -> npt.NDArray[np.bool_]:
        """See :class:`ReleasedMatcher`: also where a row ended."""
        assert bounds is not None
        due = super().due(times, bounds, released, watermark)
        ends = self.ends(bounds)
        return due | ((ends > released) & (ends <= watermark)) if self.closes else due

    def wake(self, times: Ints, bounds: Ints | None, watermark: int) -> int | None:
        """See :class:`ReleasedMatcher`."""
        assert bounds is not None
        return super().wake(times, np.append(bounds, self.ends(bounds)) if self.closes else bounds, watermark)

    def match_released(self, batch: Batch, times: Ints, left: Ints, released: int, watermark: int) -> Released:
        """See :class:`ReleasedMatcher`."""
        assert batch.within is not None
        bounds = ordered_ints(batch.within[1])[0]
        matches = self.inner.match(batch)
        heads = match_heads(matches.out)
        moments = self.moments(matches, heads, np.asarray(batch.offsets, np.int64), times, bounds)
        wanted = (moments > released) & (moments <= watermark)
        rows, out, trace = emitted(matches.out, matches.trace, True, heads, wanted, moments, left)
        matches = replace(matches, out=out, trace=trace, confidence=matches.confidence[rows], ticks=matches.ticks[rows])
        drop = self.drop(batch, bounds, watermark)
        left[:, FIRST_ROW] += drop
        return Released(uncertain_table(matches, self.shape), drop)

    def moments(self, matches: UncertainMatches, heads: Ints, offsets: Ints, times: Ints, bounds: Ints) -> Ints:
        """(matches,) the watermarks that decide matches."""
        if not len(heads):
            return np.zeros(0, np.int64)
        last = matches.out[np.append(heads[1:], len(matches.out)) - 1, -1]
        first = np.append(0, last[:-1])
        rows = np.repeat(offsets[matches.out[heads, PARTITION]], last - first) + np.asarray(matches.trace)[:, 1]
        all_there: Ints = np.maximum.reduceat(times[rows], first)
        if not self.closes:
            return all_there
        bound = np.minimum.reduceat(bounds[rows], first)
        if not self.stream.closes:
            ends = self.ends(bounds)[rows]
            # Members of a set stand in no order.
            bound = np.minimum(bound, np.maximum.reduceat(ends, first) if self.has_sets else ends[last - 1])
        return np.maximum(all_there, bound)

    def drop(self, batch: Batch, bounds: Ints, watermark: int) -> Ints:
        """(partitions,) how many first rows can neither be in a match to come nor change its confidence."""
        offsets = np.asarray(batch.offsets, np.int64)
        low, high = self.inner.ticks(batch)
        open_ = bounds > watermark
        kept = open_
        if self.closes and len(low):
            # An event that cannot be in a match to come may lie between such events.
            least = np.minimum.reduceat(np.where(open_, low, _NEVER), offsets[:-1])
            back = self.within if self.stream.looks_back else 0
            kept = open_ | (high >= np.repeat(least - back, np.diff(offsets)))
        places = np.flatnonzero(kept)
        following = np.append(places, len(kept))[np.searchsorted(places, offsets[:-1])]
        drop: Ints = np.minimum(following, offsets[1:]) - offsets[:-1]
        return drop
