"""OperatorColumns: which prepared columns a matcher reads, and which columns come out of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sparkcep.exec.arrays import Ints, ordered_ints
from sparkcep.exec.batch import NOTHING_REACHED, Batch
from sparkcep.exec.kernels.rows import rows as kernel
from sparkcep.settings import CHUNK_BYTES, LIMIT_EVENTS
from sparkcep.spark.task_memory import UNTOLD

#: Rows a gather can take its value from, beside slots (0, 1, ...).
CURRENT_ROW, SELF_ROW = -1, -2

FIXED_COLUMNS = (("number", kernel.NUMBER), ("code", kernel.LABEL), ("self", kernel.SELF), ("flags", kernel.FLAGS))


@dataclass(frozen=True, slots=True)
class Gather:
    """An output value: field ``field`` at row ``row`` (a slot's number, CURRENT_ROW or SELF_ROW)."""

    row: int
    field: int

    @property
    def place(self) -> int:
        """Column of the kernel's output that holds the row."""
        return {CURRENT_ROW: kernel.CURRENT, SELF_ROW: kernel.SELF}.get(self.row, kernel.FIXED + self.row)


@dataclass(frozen=True, slots=True)
class Within:
    """Fields of the ORDER BY key and of key plus interval; or a fixed ``distance`` in the kernel's units of the key.

    ``lower``: field of key minus interval, which only a leading negation under WITHIN needs. ``end``: field of the
    key of the log's last row, the same in each row, where it matters how far the log goes.
    """

    key: int
    bound: int | None
    distance: int | None
    lower: int | None = None
    end: int | None = None

    def bounds(self, keys: pa.Array, sign: int = 1) -> pa.Array:
        """Keys plus (minus) the fixed distance, as int64; the last int64 where there is no room."""
        values, nulls = ordered_ints(keys)
        distance = self.distance or 0
        least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
        moved = np.minimum(values, most - distance) + distance
        if sign < 0:
            moved = np.maximum(values, least + distance) - distance
        return pa.array(moved, mask=nulls.astype(bool))


@dataclass(frozen=True, slots=True)
class Ranges:
    """Ranges of the WITHIN key: range n has keys from ``n * width`` and copies of rows up to ``distance`` behind it.

    In the kernel's units of the key. ``nulls_first``: where the range of NULL keys stands.
    """

    width: int
    distance: int
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class OutputSlot:
    """A value that measures need of each output row: a row of the partition, or (``label``) a row's label.

    ``register`` numbers the set of variables navigated over.
    """

    register: int
    from_first: bool
    logical: int
    physical: int
    running: bool
    label: bool


@dataclass(frozen=True, slots=True)
class OperatorColumns:
    """Which prepared columns go where.

    ``keys``, ``masks``: how many partition keys and mask words there are. ``gathers``: fields at rows of the match that
    measures read. ``columns``: fields that match-dependent conditions load. ``labels``: slots that hold labels.
    ``mask_updates``: lists layout only, per mask word the lambda body that finishes conditions with PREV or NEXT.
    ``ranges``: rows layout only, how partitions are cut into ranges. ``trace``: of runs, fields that go out for each
    event of a match; None where its events do not. ``limit_events``: of a partition that is matched whole.
    ``chunk_bytes``: rows layout only, of rows that are matched, or go out, at once. ``task_memory``: bytes that rows of
    a batch may take.
    """

    keys: int
    masks: int
    columns: tuple[int, ...]
    within: Within | None
    gathers: tuple[Gather, ...]
    labels: tuple[int, ...]
    mask_updates: tuple[str | None, ...] = ()
    ranges: Ranges | None = None
    trace: tuple[int, ...] | None = None
    limit_events: int = int(LIMIT_EVENTS.default)
    chunk_bytes: int = int(CHUNK_BYTES.default)
    task_memory: int = UNTOLD

    @property
    def kernel_fields(self) -> tuple[int, ...]:
        """Fields the kernel reads: condition columns, then those of WITHIN."""
        if self.within is None:
            return self.columns
        more = [f for f in (self.within.bound, self.within.lower, self.within.end) if f is not None]
        return (*self.columns, self.within.key, *more)

    @property
    def places(self) -> tuple[int, ...]:
        """Columns of the kernel's output that are needed outside."""
        fixed = [p for _, p in FIXED_COLUMNS]
        return tuple(
            dict.fromkeys([*fixed, *(kernel.FIXED + s for s in self.labels), *(g.place for g in self.gathers)])
        )


def batch_of(offsets: Ints, arrays: list[pa.Array], shape: OperatorColumns, held: int = 0) -> Batch:
    """A batch from mask arrays followed by kernel fields. ``held``: bytes of all that is held of the rows."""
    masks, fields = arrays[: shape.masks], arrays[shape.masks :]
    columns, rest = fields[: len(shape.columns)], fields[len(shape.columns) :]
    within: tuple[pa.Array, ...] | None = None
    reached = NOTHING_REACHED
    if shape.within is not None:
        if shape.within.end is not None:
            *rest, end = rest
            if len(end) and end[0].is_valid:  # rows of its time may still come
                reached = max(int(ordered_ints(end[:1])[0][0]) - 1, NOTHING_REACHED)
        if shape.within.bound is None:
            within = (rest[0], shape.within.bounds(rest[0]), shape.within.bounds(rest[0], -1))
        else:
            within = (rest[0], rest[1], rest[2] if len(rest) > 2 else rest[1])
    return Batch(offsets, masks, columns, within, held=held, reached=reached)
