"""The operator as applyInPandasWithState, which any state store serves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.state import GroupStateTimeout

from sparkcep.exec.streaming.blobs import BUCKET, ROWS
from sparkcep.exec.streaming.body import StreamBody
from sparkcep.spark.shipping import shipped


def with_state(blobs: DataFrame, body: StreamBody[Any], output: str, initial: DataFrame | None) -> DataFrame:
    """Rows of bytes of each bucket through the operator. ``output``: DDL of its rows. ``initial``: none, which the
    planner sees to: this operator begins without a state."""
    assert initial is None
    return blobs.groupBy(BUCKET).applyInPandasWithState(
        _shipped(body), output, "state binary", "append", GroupStateTimeout.EventTimeTimeout
    )


def _shipped(body: StreamBody[Any]) -> Callable[..., Any]:
    """The body as it is sent; Spark looks at how many arguments it takes."""
    run = shipped(WithState(body).run, "sparkcep_stream")

    def stream(key: Any, frames: Any, state: Any) -> Any:
        return run(key, frames, state)

    return stream


class WithState:
    """A call of applyInPandasWithState."""

    def __init__(self, body: StreamBody[Any]) -> None:
        self.body = body

    def run(self, key: tuple[Any, ...], frames: Iterator[Any], state: Any) -> Iterator[Any]:
        """Output of one bucket."""
        import pandas as pd  # type: ignore[import-untyped]  # in which Spark wants rows

        new = [] if state.hasTimedOut else [bytes(v) for frame in frames for v in frame[ROWS]]
        before = bytes(state.get[0]) if state.exists else None
        done = self.body.advance(before, new, state.getCurrentWatermarkMs())
        if done.state is not None:
            state.update((done.state,))
        if done.wake is not None:
            state.setTimeoutTimestamp(done.wake)
        if done.row is not None:
            yield pd.DataFrame({name: [value] for name, value in done.row.items()})
