"""The events that matches of one rule took, from the engine that its pattern is for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from sparkcep.exec.arrays import Ints, Rows
from sparkcep.exec.batch import Batch
from sparkcep.exec.engines.rows.matcher import Matcher
from sparkcep.exec.engines.rows.released import RowsReleased
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.engines.runs.matcher import RunMatcher
from sparkcep.exec.engines.runs.released import RunsReleased
from sparkcep.exec.engines.runs.spec import RunSpec
from sparkcep.exec.kernels.rows.output import CURRENT, FLAGS, LABEL, LAST_OF_MATCH, NUMBER, PARTITION
from sparkcep.exec.shape import OperatorColumns, Within


class Taken(NamedTuple):
    """Matches and their events. ``partition``, ``number``, ``ends`` (matches,): of the batch, of the match in it, and
    where its events end in the others. ``code``, ``row``, ``of`` (events,): component, row and partition."""

    partition: Ints
    number: Ints
    ends: Ints
    code: Ints
    row: Ints
    of: Ints


def taken_by_rows(out: Ints) -> Taken:
    """Of the rows kernel's output, a row for each event."""
    rows = out[out[:, CURRENT] >= 0]
    ends = np.flatnonzero(rows[:, FLAGS] & LAST_OF_MATCH) + 1
    last = rows[ends - 1]
    return Taken(last[:, PARTITION], last[:, NUMBER], ends, rows[:, LABEL], rows[:, CURRENT], rows[:, PARTITION])


def taken_by_runs(last: Ints, trace: Rows) -> Taken:
    """Of the runs kernel's output: a row for each match, whose events are in ``trace``."""
    ends = np.ascontiguousarray(last[:, -1])
    of = np.repeat(last[:, PARTITION], np.diff(ends, prepend=0))
    return Taken(
        last[:, PARTITION], last[:, NUMBER], ends, trace[:, 0].astype(np.int64), trace[:, 1].astype(np.int64), of
    )


class Takes(Protocol):
    """Matches batches. ``name``: of the engine whose kernels it runs."""

    name: ClassVar[str]

    def match(self, batch: Batch) -> Taken:
        """All matches of a batch of whole partitions.

        Raises:
            SparkCepError: what goes wrong while rows are matched; LimitError where a limit is passed.
        """


class TakenByRows:
    """See :class:`Takes`: of a row pattern."""

    name: ClassVar[str] = "rows"

    def __init__(self, spec: MatchSpec) -> None:
        self.inner = Matcher(spec)

    def match(self, batch: Batch) -> Taken:
        """See :class:`Takes`."""
        return taken_by_rows(self.inner.match(batch))


class TakenByRuns:
    """See :class:`Takes`: of a pattern under a strategy."""

    name: ClassVar[str] = "runs"

    def __init__(self, spec: RunSpec) -> None:
        self.inner = RunMatcher(spec)

    def match(self, batch: Batch) -> Taken:
        """See :class:`Takes`."""
        return taken_by_runs(*self.inner.match(batch))


class ReleasedTaken(NamedTuple):
    """What a step of a stream takes. ``drop`` (partitions,): how many first rows nothing depends on any more;
    ``changed``: matches behind which SKIP went on elsewhere than it says."""

    taken: Taken
    drop: Ints
    changed: int


class TakesReleased(Protocol):
    """Matches the rows of a stream up to its watermark. ``free``: matches do not depend on those before, and nothing
    is looked at before their first event: what WITHIN has passed is of no interest, whatever was matched. ``closes``:
    whether something may be decided when WITHIN has passed, though no row comes."""

    free: bool
    closes: bool

    def step(self, batch: Batch, times: Ints, left: Ints, released: int, watermark: int) -> ReleasedTaken:
        """Arguments and errors as for :meth:`ReleasedMatcher.match_released`."""


class ReleasedByRows:
    """See :class:`TakesReleased`: of a row pattern."""

    free = False
    closes = True

    def __init__(self, spec: MatchSpec, fixed: bool) -> None:
        self.inner = RowsReleased(spec, NO_OUTPUT if fixed else NO_FIXED_OUTPUT)

    def step(self, batch: Batch, times: Ints, left: Ints, released: int, watermark: int) -> ReleasedTaken:
        """See :class:`TakesReleased`."""
        out, drop, changed = self.inner.kernel_output(batch, left, watermark)
        return ReleasedTaken(taken_by_rows(out), drop, changed)


class ReleasedByRuns:
    """See :class:`TakesReleased`: of a pattern under a strategy. ``fixed``: whether WITHIN has one length."""

    def __init__(self, spec: RunSpec, fixed: bool) -> None:
        assert spec.stream is not None
        self.inner = RunsReleased(spec, NO_OUTPUT if fixed else NO_FIXED_OUTPUT)
        self.free = not (spec.one_per_start or spec.stream.looks_back)
        self.closes = self.inner.closes

    def step(self, batch: Batch, times: Ints, left: Ints, released: int, watermark: int) -> ReleasedTaken:
        """See :class:`TakesReleased`."""
        out, trace, drop, changed = self.inner.kernel_output(batch, times, left, released, watermark)
        return ReleasedTaken(taken_by_runs(out, trace), drop, changed)


#: The shape of what puts nothing out itself; its distance stands for any that is fixed.
NO_OUTPUT = OperatorColumns(0, 1, (), Within(0, None, 0), (), ())
#: The same, where the length of WITHIN depends on clocks.
NO_FIXED_OUTPUT = OperatorColumns(0, 1, (), Within(0, 0, None), (), ())

#: By the type of a rule's pattern.
TAKES: Mapping[type, type[TakenByRows] | type[TakenByRuns]] = MappingProxyType(
    {MatchSpec: TakenByRows, RunSpec: TakenByRuns}
)
#: The same over a stream.
RELEASED: Mapping[type, type[ReleasedByRows] | type[ReleasedByRuns]] = MappingProxyType(
    {MatchSpec: ReleasedByRows, RunSpec: ReleasedByRuns}
)
