"""Rows of a log through the streaming operator, without Spark: any split, any disorder, rebuilt from its bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from sparkcep.exec.arrays import Ints
from sparkcep.exec.engine import MatchTable
from sparkcep.exec.engines.by_spec import ENGINES
from sparkcep.exec.layouts.output import arrays, record_batch
from sparkcep.exec.shape import OperatorColumns, batch_of
from sparkcep.exec.streaming.blobs import TIME, from_bytes, to_bytes
from sparkcep.exec.streaming.state import read_state
from sparkcep.exec.streaming.step import BucketOperator, StreamPlan
from sparkcep.query import PREFIX

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Arrival:
    """How a log comes: rows in this order, in batches of these sizes, none more than ``delay`` behind a later one;
    ``restarts``: behind which batches the operator is made anew."""

    order: list[int]
    sizes: list[int]
    delay: int
    restarts: list[bool]


@st.composite
def arrivals(draw: st.DrawFn, times: Sequence[int]) -> Arrival:
    """Of rows with these times."""
    delay = draw(st.integers(0, 6))
    lags = [draw(st.integers(0, delay)) for _ in times]
    order = sorted(range(len(times)), key=lambda n: (times[n] + lags[n], n))
    sizes = draw(st.lists(st.integers(0, 4), max_size=12))
    return Arrival(order, sizes, delay, [draw(st.booleans()) for _ in range(len(sizes) + 1)])


def micro_batches(arrival: Arrival) -> list[list[int]]:
    """Row numbers of each batch; some are empty."""
    out, at = [], 0
    for size in arrival.sizes:
        out.append(arrival.order[at : at + size])
        at += size
    return [*out, arrival.order[at:]]


def streamed(
    log: pa.Table, shape: OperatorColumns, spec: Any, plan: StreamPlan, arrival: Arrival, end: int,
    check: Any = None,
) -> Rows:  # fmt: skip
    """All output rows of a log that comes like this.

    Args:
        log: prepared rows with their time as an integer. end: the last watermark.
        check: is called behind each step with the watermark and the rows so far.
    """
    engine = ENGINES[type(spec)]
    operator = BucketOperator(engine, shape, spec, plan)
    state: bytes | None = None
    out: Rows = []
    watermark, seen, wake = -1, -1, None
    times = log.column(TIME).to_pylist()
    for numbers, restart in zip(micro_batches(arrival), arrival.restarts, strict=True):
        if restart:
            operator = BucketOperator(engine, shape, spec, plan)
        new = [from_bytes(to_bytes(log.take(pa.array(numbers, pa.int64()))))[0]] if numbers else []
        # Spark calls a bucket that has new rows, or whose time has come.
        if new or (wake is not None and wake <= watermark):
            step = operator.step(state, new, watermark)
            assert step.late == step.untimed == 0
            state, wake = step.state, step.wake
            assert wake is None or wake > watermark
            out += step.rows.to_pylist() if step.rows is not None else []
            if check is not None:
                check(watermark, out)
        seen = max([seen, *(times[n] for n in numbers)])
        watermark = max(watermark, seen - arrival.delay - 1)
    if wake is not None:
        out += _finished(operator, state, wake, end)
    return out


def _finished(operator: Any, state: bytes | None, wake: int | None, end: int) -> Rows:
    """What comes when the watermark rises to the end, wherever the operator wants to be woken. What WITHIN bounds is
    cleared then."""
    out: Rows = []
    while wake is not None and wake <= end:
        step = operator.step(state, [], wake)
        assert step.wake is None or step.wake > wake
        state, wake = step.state, step.wake
        out += step.rows.to_pylist() if step.rows is not None else []
    # Rows that PREV looks back at stay with the partition.
    matcher = operator.matcher
    looks = max(
        getattr(getattr(matcher, "inner", None), "behind", 0), getattr(getattr(matcher, "stream", None), "behind", 0)
    )
    bounded = operator.shape.within is not None and matcher.bounded and not looks
    if wake is None and state is not None and bounded:
        assert read_state(state, operator.plan.meaning).rows.num_rows == 0
    return out


def batched(log: pa.Table, order: Ints, shape: OperatorColumns, spec: Any) -> Rows:
    """Output rows of the same log at rest. ``order``: of its rows, by partition; the key is ``__cep_k0``."""
    table = log.take(pa.array(order, pa.int64()))
    keys = table.column(PREFIX + "k0").to_numpy()
    starts = np.flatnonzero(np.diff(keys, prepend=-1)) if len(keys) else np.zeros(0, np.int64)
    offsets = np.append(starts, len(keys)).astype(np.int64)

    def field(n: int) -> pa.Array:
        return table.column(f"{PREFIX}f{n}").combine_chunks()

    masks = [table.column(f"{PREFIX}m{w}").combine_chunks() for w in range(shape.masks)]
    engine = ENGINES[type(spec)]
    found: MatchTable = engine.matcher(spec, shape).match(
        batch_of(offsets, [*masks, *(field(n) for n in shape.kernel_fields)], shape)
    )
    values = arrays(engine.columns(spec, shape), found, offsets[found.partition], field)
    of = table.column(PREFIX + "k0").combine_chunks().take(pa.array(offsets[:-1])).take(pa.array(found.partition))
    return record_batch({PREFIX + "k0": of} | values).to_pylist()
