"""What the states of a stream's buckets hold, in figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.exec.layouts.rows import column
from sparkcep.exec.ordering import groups_of
from sparkcep.exec.streaming.blobs import TIME
from sparkcep.exec.streaming.state import any_state
from sparkcep.query import PREFIX

#: A bucket's figures. ``partitions``: those with rows, or of which something else is remembered; ``rows``: kept ones,
#: ``earliest`` and ``latest`` their times; ``matched_to``: the watermark up to which they were matched; ``wakes_at``:
#: when the bucket has something to do though no row comes; ``bytes``: of the state.
FIGURES = (
    "operator int, bucket int, partitions bigint, rows bigint, earliest timestamp, latest timestamp, "
    "matched_to timestamp, wakes_at timestamp, bytes bigint"
)
_TIME = pa.timestamp("us", "UTC")


def state_figures(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Body of mapInArrow.

    Args:
        batches: the operator's number, the bucket's, its state, and the time at which it wakes.

    Raises:
        SparkCepError: CEP_STREAMING_STATE_CHANGED, of a later format.
    """
    for batch in batches:
        rows = [_figures(*(value.as_py() for value in row)) for row in zip(*batch.columns, strict=True)]
        names = [item.split()[0] for item in FIGURES.split(", ")]
        types = [pa.int32()] * 2 + [pa.int64()] * 2 + [_TIME] * 4 + [pa.int64()]
        columns = zip(*rows, strict=True) if rows else [[] for _ in types]
        yield pa.RecordBatch.from_arrays(
            [pa.array(list(values), type_) for values, type_ in zip(columns, types, strict=True)], names=names
        )


def _figures(operator: int, bucket: int, data: bytes, wakes_at: Any) -> tuple[Any, ...]:
    """A bucket's, in their order."""
    state = any_state(data)
    names = (name.removeprefix(PREFIX) for name in state.left.schema.names)
    keys = [name for name in names if name.startswith("k")]
    columns = [pa.concat_arrays([column(t, key) for t in (state.rows, state.left)]) for key in keys]
    partitions = groups_of(columns, state.rows.num_rows + state.left.num_rows)[1]
    times = pc.min_max(state.rows.column(TIME)).as_py()
    matched_to = pa.scalar(state.released, _TIME).as_py() if state.released > 0 else None
    return (
        operator, bucket, partitions, state.rows.num_rows, times["min"], times["max"], matched_to, wakes_at, len(data)
    )  # fmt: skip
