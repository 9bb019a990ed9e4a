"""States that a stream's buckets begin with: where a table's rows, as its first micro-batch, would have left them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sparkcep.exec.streaming.blobs import BUCKET, NEVER, ROWS, TIME, from_bytes, pack
from sparkcep.exec.streaming.body import StreamBody, timer
from sparkcep.query import PREFIX
from sparkcep.spark.shipping import shipped

#: Columns of a bucket's first state: its bytes, and the timer to register, in milliseconds.
STATE, WAKE = PREFIX + "state", PREFIX + "wake"
#: The watermark that the table's rows bring, in milliseconds.
_REACHED = PREFIX + "reached"


def initial_states(rows: DataFrame, body: StreamBody[Any], delay: int) -> DataFrame:
    """A row for each bucket: its number, its state, its timer.

    Args:
        rows: prepared ones of the table, at rest.
        delay: of the stream's watermark, in milliseconds.
    """
    timed = rows.where(F.col(TIME).isNotNull())
    reached = timed.agg((F.unix_millis(F.max(TIME)) - delay).alias(_REACHED))
    blobs = timed.mapInArrow(
        shipped(partial(pack, "history"), "sparkcep_pack"), f"{BUCKET} int, {ROWS} binary, {NEVER} timestamp"
    )
    return (
        blobs.select(BUCKET, ROWS)
        .crossJoin(F.broadcast(reached))
        .groupBy(BUCKET)
        .applyInArrow(_shipped(body), f"{BUCKET} int, {STATE} binary, {WAKE} bigint")
    )


def _shipped(body: StreamBody[Any]) -> Any:
    """The body as it is sent; Spark looks at how many arguments it takes."""
    run = shipped(FirstStep(body).run, "sparkcep_history")

    def first_states(table: pa.Table) -> pa.Table:
        return run(table)

    return first_states


class FirstStep:
    """The first step of a bucket, whose output nobody wants: what a table decides, a query over the table says."""

    def __init__(self, body: StreamBody[Any]) -> None:
        self.body = body

    def run(self, table: pa.Table) -> pa.Table:
        """(bucket, state, timer) of one bucket's rows; errors as BucketOperator.step."""
        watermark = table.column(_REACHED)[0].as_py()
        new = [from_bytes(blob.as_py())[0] for blob in table.column(ROWS)]
        done = self.body.operator.step(None, new, watermark * 1000)
        return pa.table(
            {
                BUCKET: table.column(BUCKET).slice(0, 1),
                STATE: pa.array([done.state], pa.binary()),
                WAKE: pa.array([timer(done, watermark)], pa.int64()),
            }
        )
