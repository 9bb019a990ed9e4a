"""The operator as transformWithState, which needs the RocksDB state store: other stateful operators may follow it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from sparkcep.exec.streaming.blobs import BUCKET, ROWS
from sparkcep.exec.streaming.body import StreamBody
from sparkcep.exec.streaming.history import STATE, WAKE


def transform(blobs: DataFrame, body: StreamBody[Any], output: str, initial: DataFrame | None) -> DataFrame:
    """Rows of bytes of each bucket through the operator. ``output``: DDL of its rows. ``initial``: states that buckets
    begin with, see history.py."""
    states = None if initial is None else initial.groupBy(BUCKET)
    return blobs.groupBy(BUCKET).transformWithState(BucketProcessor(body), output, "append", "EventTime", states)


class BucketProcessor(StatefulProcessor):
    """Calls of transformWithState; a bucket has one state and one timer."""

    def __init__(self, body: StreamBody[Any]) -> None:
        self.body = body

    def init(self, handle: StatefulProcessorHandle) -> None:
        """See StatefulProcessor."""
        self.handle = handle
        self.state = handle.getValueState("state", "state binary")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        """See StatefulProcessor."""
        yield from self.advance([bytes(row[ROWS]) for row in rows], timerValues)

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """See StatefulProcessor. In a query's first micro-batch, before the bucket's rows."""
        self.state.update((bytes(initialState[STATE]),))
        if initialState[WAKE] is not None:
            self.handle.registerTimer(max(initialState[WAKE], timerValues.getCurrentWatermarkInMs() + 1))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        """See StatefulProcessor."""
        yield from self.advance([], timerValues)

    def advance(self, new: Sequence[bytes], times: Any) -> Iterator[Row]:
        """Output of the bucket."""
        before = self.state.get() if self.state.exists() else None
        done = self.body.advance(None if before is None else bytes(before[0]), new, times.getCurrentWatermarkInMs())
        if done.state is not None:
            self.state.update((done.state,))
        for timer in list(self.handle.listTimers()):
            self.handle.deleteTimer(timer)
        if done.wake is not None:
            self.handle.registerTimer(done.wake)
        if done.row is not None:
            yield Row(**done.row)

    def close(self) -> None:
        """See StatefulProcessor."""
