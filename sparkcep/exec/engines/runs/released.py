"""Runs over the released rows of a stream: searched again over the rows that WITHIN reaches back to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sparkcep.exec.arrays import Ints, Rows, ordered_ints
from sparkcep.exec.batch import Batch
from sparkcep.exec.engine import Released, ReleasedDefaults
from sparkcep.exec.engines.runs.matcher import RunMatcher
from sparkcep.exec.engines.runs.output import run_table
from sparkcep.exec.engines.runs.spec import RunSpec
from sparkcep.exec.kernels.rows.output import FIXED, FLAGS, NUMBER, PARTITION, WAITING
from sparkcep.exec.kernels.rows.rows import AT_ROW, FIRST_ROW, MATCHES
from sparkcep.exec.shape import OperatorColumns
from sparkcep.query import SkipMode

#: Microseconds by which adding an interval and taking it away again may miss.
_MONTHS_OFF = 4 * 86_400_000_000

Mask = npt.NDArray[np.bool_]


class RunsReleased(ReleasedDefaults):
    """Matches between two watermarks.

    A match whose last event is released cannot change any more, unless a trailing negation waits for WITHIN to pass
    from its first event, or it must be the one that is preferred of its start event, which is certain by then. So all
    matches of the rows that are kept are found again, and those are emitted whose moment lies between the watermarks;
    of one match for each start event, those whose chain AFTER MATCH SKIP makes from where it was left.

    Matches are numbered as they are emitted: of one step by their moment, then as in batch.
    """

    bounded = True

    def __init__(self, spec: RunSpec, shape: OperatorColumns) -> None:
        assert spec.stream is not None
        # Whichever start events SKIP will visit, their matches do not depend on it.
        own = replace(spec, skip=SkipMode.TO_NEXT_ROW, first_only=False) if spec.one_per_start else spec
        self.inner = RunMatcher(own)
        self.spec = spec
        self.stream = spec.stream
        self.shape = shape
        #: Whether a match waits for the bound of its first event.
        self.waits = spec.one_per_start or spec.stream.closes
        self.closes = self.waits or spec.timed_out

    def match_released(self, batch: Batch, times: Ints, left: Ints, released: int, watermark: int) -> Released:
        """See :class:`ReleasedMatcher`."""
        out, trace, drop, changed = self.kernel_output(batch, times, left, released, watermark)
        return Released(run_table(out, trace, self.shape), drop, changed)

    def kernel_output(
        self, batch: Batch, times: Ints, left: Ints, released: int, watermark: int
    ) -> tuple[Ints, Rows, Ints, int]:
        """Output rows and events as the kernel gives them; how many rows nothing depends on any more, and how often
        SKIP went on elsewhere. Arguments as for :meth:`match_released`."""
        assert batch.within is not None
        bounds = ordered_ints(batch.within[1])[0]
        offsets = np.asarray(batch.offsets, np.int64)
        out, trace = self.inner.match(batch)
        heads = match_heads(out)
        starts = offsets[out[heads, PARTITION]] + out[heads, FIXED + self.stream.first]
        ends = offsets[out[heads, PARTITION]] + out[heads, FIXED + self.stream.last]
        # A run that timed out is certain when its window is over.
        late = out[heads, FLAGS] >= WAITING
        moments = bounds[starts] if self.waits else np.where(late, bounds[starts], times[ends])
        changed = 0
        if self.spec.one_per_start:
            wanted, changed = self.chain(out[heads], moments, left, released, watermark)
        else:
            wanted = (moments > released) & (moments <= watermark)
        _, found, trace = emitted(out, trace, self.spec.traced, heads, wanted, moments, left)
        drop = self.drop(bounds, times, offsets, left, watermark)
        left[:, AT_ROW] = np.maximum(0, left[:, AT_ROW] - drop)
        left[:, FIRST_ROW] += drop
        return found, trace, drop, changed

    def chain(self, matches: Ints, moments: Ints, left: Ints, released: int, watermark: int) -> tuple[Mask, int]:
        """Which preferred matches AFTER MATCH SKIP comes to, as far as that is certain; and how many of them do not say
        where it goes on. ``left`` is set to where it does."""
        wanted = np.zeros(len(matches), bool)
        changed = 0
        at = left[:, AT_ROW].tolist()
        done = left[:, MATCHES] > 0 if self.spec.first_only else np.zeros(len(left), bool)
        for n, match in enumerate(matches):
            q, start = match[PARTITION], match[FIXED + self.stream.first]
            if moments[n] > watermark:
                done[q] = True  # whichever match comes next depends on this one
            # What was certain before was emitted or there was none, whatever is found of the rows that are still here.
            if start < at[q] or done[q] or moments[n] <= released:
                continue
            wanted[n] = True
            if match[FLAGS] >= WAITING:
                at[q] = int(start) + 1
                continue
            done[q] = self.spec.first_only
            at[q], certain = self.next_start(match, int(start))
            changed += not certain
        left[:, AT_ROW] = at
        return wanted, changed

    def next_start(self, match: Ints, start: int) -> tuple[int, bool]:
        """Where matching goes on, and whether that is where SKIP says; a start again would come back for ever."""
        past = int(match[FIXED + self.stream.last]) + 1
        if self.spec.skip is SkipMode.PAST_LAST_ROW:
            return past, True
        if self.spec.skip is SkipMode.TO_NEXT_ROW:
            return start + 1, True
        target = int(match[FIXED + self.stream.target])
        if target < 0:
            return past, self.spec.skip_or_past
        return (target, True) if target > start else (start + 1, False)

    def drop(self, bounds: Ints, times: Ints, offsets: Ints, left: Ints, watermark: int) -> Ints:
        """(partitions,) how many first rows no match to come can begin with, hold or look at."""
        # A leading negation looks WITHIN back from the last event of a match, which is not before the first one that
        # is still to be decided. An interval of months forth and back again may be some days off.
        within = self.shape.within
        slack = 0 if within is None or within.distance is not None else _MONTHS_OFF
        ahead = bounds > watermark
        if self.spec.one_per_start and not self.stream.looks_back and not self.stream.behind:
            ahead &= np.arange(len(bounds)) >= np.repeat(offsets[:-1] + left[:, AT_ROW], np.diff(offsets))
        drop = np.empty(len(left), np.int64)
        places = np.flatnonzero(ahead)
        following = np.searchsorted(places, offsets[:-1])
        for q in range(len(left)):
            first = places[following[q]] if following[q] < len(places) else offsets[q + 1]
            first = min(first, offsets[q + 1])
            if self.stream.looks_back:
                reach = min(times[first], watermark + 1) if first < offsets[q + 1] else watermark + 1
                first = offsets[q] + int(np.argmax(np.append(bounds[offsets[q] : first] + slack >= reach, True)))
            drop[q] = first - offsets[q]
        return np.maximum(0, drop - self.stream.behind)


def match_heads(out: Ints) -> Ints:
    """Places of the first output row of each match."""
    if len(out) == 0:
        return np.zeros(0, np.int64)
    changes = (np.diff(out[:, PARTITION]) != 0) | (np.diff(out[:, NUMBER]) != 0)
    return np.append(0, np.flatnonzero(changes) + 1)


def emitted(
    out: Ints, trace: Rows, traced: bool, heads: Ints, wanted: Mask, moments: Ints, left: Ints
) -> tuple[Ints, Ints, Rows]:
    """Output rows of the wanted matches, by partition and moment: their places, and they and their events, numbered.

    Args:
        out, trace: as the kernel gives them. traced: whether it gives events. heads: see :func:`match_heads`.
        moments: of each match, the watermark that decides it.
        left: where each partition was left; is told how many matches there are.
    """
    sizes = np.diff(np.append(heads, len(out)))
    parts = out[heads, PARTITION]
    order = np.lexsort((np.arange(len(heads)), moments, parts))
    order = order[wanted[order]]
    own = parts[order]
    first = np.flatnonzero(np.diff(own, prepend=-1)) if len(own) else np.zeros(0, np.int64)
    counts = np.diff(np.append(first, len(own)))
    numbers = np.arange(len(own)) - np.repeat(first, counts) + 1 + left[own, MATCHES]
    left[own[first], MATCHES] += counts
    rows = _ranges(heads[order], sizes[order])
    found = out[rows]
    found[:, NUMBER] = np.repeat(numbers, sizes[order])
    if traced:
        begins = np.append(0, out[:, -1])[:-1]
        lengths = out[rows, -1] - begins[rows]
        trace = np.asarray(trace)[_ranges(begins[rows], lengths)]
        found[:, -1] = np.cumsum(lengths)
    return rows, found, trace


def _ranges(starts: Ints, sizes: Ints) -> Ints:
    """Numbers from each start on, so many."""
    ends: Ints = np.cumsum(sizes)
    out: Ints = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(starts - (ends - sizes), sizes)
    return out
