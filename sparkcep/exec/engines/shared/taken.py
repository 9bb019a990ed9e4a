"""The events that matches of one rule took, from the engine that its pattern is for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from sparkcep.exec.arrays import Ints
from sparkcep.exec.batch import Batch
from sparkcep.exec.engines.rows.matcher import Matcher
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.engines.runs.matcher import RunMatcher
from sparkcep.exec.engines.runs.search import RunSearch
from sparkcep.exec.engines.runs.spec import RunSpec
from sparkcep.exec.kernels.rows.output import CURRENT, FLAGS, LABEL, LAST_OF_MATCH, NUMBER, PARTITION


class Taken(NamedTuple):
    """Matches and their events. ``partition``, ``number``, ``ends`` (matches,): of the batch, of the match in it, and
    where its events end in the others. ``code``, ``row``, ``of`` (events,): component, row and partition."""

    partition: Ints
    number: Ints
    ends: Ints
    code: Ints
    row: Ints
    of: Ints


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
        out = self.inner.match(batch)
        rows = out[out[:, CURRENT] >= 0]
        ends = np.flatnonzero(rows[:, FLAGS] & LAST_OF_MATCH) + 1
        last = rows[ends - 1]
        return Taken(last[:, PARTITION], last[:, NUMBER], ends, rows[:, LABEL], rows[:, CURRENT], rows[:, PARTITION])


class TakenByRuns:
    """See :class:`Takes`: of a pattern under a strategy."""

    name: ClassVar[str] = "runs"

    def __init__(self, spec: RunSpec) -> None:
        self.inner = RunSearch(spec) if spec.searched else RunMatcher(spec)

    def match(self, batch: Batch) -> Taken:
        """See :class:`Takes`."""
        last, trace = self.inner.match(batch)
        ends = np.ascontiguousarray(last[:, -1])
        of = np.repeat(last[:, PARTITION], np.diff(ends, prepend=0))
        return Taken(
            last[:, PARTITION], last[:, NUMBER], ends, trace[:, 0].astype(np.int64), trace[:, 1].astype(np.int64), of
        )


#: By the type of a rule's pattern.
TAKES: Mapping[type, type[TakenByRows] | type[TakenByRuns]] = MappingProxyType(
    {MatchSpec: TakenByRows, RunSpec: TakenByRuns}
)
