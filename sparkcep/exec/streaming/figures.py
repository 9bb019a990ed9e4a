"""What the states of a stream's buckets hold, in figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.exec.engines.shared.released import COSTS
from sparkcep.exec.layouts.rows import column
from sparkcep.exec.ordering import groups_of
from sparkcep.exec.streaming.blobs import TIME
from sparkcep.exec.streaming.rule_names import RuleNames
from sparkcep.exec.streaming.state import OF_RULE, any_state
from sparkcep.query import PREFIX

TIMESTAMP = pa.timestamp("us", "UTC")
#: A bucket's figures. ``partitions``: those with rows, or of which something else is remembered; ``rows``: kept ones,
#: ``earliest`` and ``latest`` their times; ``matched_to``: the watermark up to which they were matched; ``wakes_at``:
#: when the bucket has something to do though no row comes; ``bytes``: of the state. ``rules``: of a rule set, what each
#: rule has found and cost in the bucket so far.
FIGURES = pa.schema(
    {
        "operator": pa.int32(), "bucket": pa.int32(), "partitions": pa.int64(), "rows": pa.int64(),
        "earliest": TIMESTAMP, "latest": TIMESTAMP, "matched_to": TIMESTAMP, "wakes_at": TIMESTAMP, "bytes": pa.int64(),
        "rules": pa.list_(pa.struct({"rule": pa.string(), **dict.fromkeys(COSTS, pa.int64())})),
    }
)  # fmt: skip


def state_figures(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Body of mapInArrow.

    Args:
        batches: the operator's number, the bucket's, its state, and the time at which it wakes.

    Raises:
        SparkCepError: CEP_STREAMING_STATE_CHANGED, of a later format.
    """
    for batch in batches:
        figures = [_figures(*(value.as_py() for value in row)) for row in zip(*batch.columns, strict=True)]
        yield pa.RecordBatch.from_pylist(figures, schema=FIGURES)


def _figures(operator: int, bucket: int, data: bytes, wakes_at: Any) -> dict[str, Any]:
    """A bucket's."""
    state = any_state(data)
    names = (name.removeprefix(PREFIX) for name in state.left.schema.names)
    keys = [name for name in names if name.startswith("k")]
    columns = [pa.concat_arrays([column(t, key) for t in (state.rows, state.left)]) for key in keys]
    partitions = groups_of(columns, state.rows.num_rows + state.left.num_rows)[1]
    times = pc.min_max(state.rows.column(TIME)).as_py()
    matched_to = pa.scalar(state.released, TIMESTAMP).as_py() if state.released > 0 else None
    return {
        "operator": operator, "bucket": bucket, "partitions": partitions, "rows": state.rows.num_rows,
        "earliest": times["min"], "latest": times["max"], "matched_to": matched_to, "wakes_at": wakes_at,
        "bytes": len(data), "rules": None if state.more is None else _rules(state.more, state.names),
    }  # fmt: skip


def _rules(more: pa.Table, names: bytes) -> list[dict[str, Any]]:
    """What each rule has cost."""
    known = RuleNames.from_bytes(names)
    columns = ["rule", *(f"v{n}" for n in range(len(COSTS)))]
    lines = more.filter(pc.equal(more.column("line"), OF_RULE)).select(columns).to_pylist()
    rules = known.names or known.rules
    return [{"rule": rules[rule]} | dict(zip(COSTS, costs, strict=True)) for rule, *costs in map(dict.values, lines)]
