"""The body of a layout's user-defined function, and partitions as batches."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np

from sparkcep.exec.arrays import Ints
from sparkcep.exec.engine import Engine, Matcher
from sparkcep.exec.shape import OperatorColumns
from sparkcep.exec.statuses import too_many_events

S = TypeVar("S")


class Body(Generic[S]):
    """What is sent to executors. The matcher is made there at the first batch, never pickled."""

    def __init__(self, engine: Engine[S], shape: OperatorColumns, spec: S) -> None:
        self.engine = engine
        self.shape = shape
        self.spec = spec
        self.columns = engine.columns(spec, shape)
        self._matcher: Matcher | None = None

    def __reduce__(self) -> tuple[type, tuple[Engine[S], OperatorColumns, S]]:
        return type(self), (self.engine, self.shape, self.spec)

    @property
    def matcher(self) -> Matcher:
        """Made at the first use, on the executor: what it compiles is not pickled."""
        if self._matcher is None:
            self._matcher = self.engine.matcher(self.spec, self.shape)
        return self._matcher


def within_limit(offsets: Ints, shape: OperatorColumns) -> Ints:
    """The borders of partitions that are matched whole.

    Raises:
        LimitError: CEP_EVENT_LIMIT.
    """
    if np.diff(offsets).max(initial=0) > shape.limit_events:
        raise too_many_events(shape.limit_events)
    return offsets
