"""What the grouped map's layouts share, whatever is matched: columns in, partitions as batches, lists out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from sparkcep.exec.arrays import Ints
from sparkcep.exec.batch import Batch
from sparkcep.exec.layouts.rows import column, whole_partitions
from sparkcep.exec.reports import Matched, RowsReport, matched_rows
from sparkcep.exec.shape import OperatorColumns, batch_of
from sparkcep.exec.statuses import too_many_events
from sparkcep.query import PREFIX

ROWS = PREFIX + "rows"
S = TypeVar("S")
M = TypeVar("M")


class OnExecutor(Generic[S, M]):
    """The body of a user-defined function. Its matcher is made on the executor at the first batch, never pickled."""

    def __init__(self, shape: OperatorColumns, spec: S) -> None:
        self.shape = shape
        self.spec = spec
        self._matcher: M | None = None

    def __getstate__(self) -> tuple[OperatorColumns, S]:
        return self.shape, self.spec

    def __setstate__(self, state: tuple[OperatorColumns, S]) -> None:
        self.__init__(*state)  # type: ignore[misc]

    def make(self) -> M:
        """The matcher of the spec."""
        raise NotImplementedError

    @property
    def matcher(self) -> M:
        if self._matcher is None:
            self._matcher = self.make()
        return self._matcher


class Body(OnExecutor[S, M], Generic[S, M]):
    """The functions of both layouts."""

    def of_lists(self, *lists: pa.Array) -> pa.Array:
        """Body of the Arrow UDF of the lists layout: list columns of partitions to one value per partition."""
        raise NotImplementedError

    def of_table(self, table: pa.Table) -> pa.RecordBatch:
        """Output rows of whole partitions."""
        raise NotImplementedError

    def of_rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Body of mapInArrow of the rows layout; no partition is cut."""
        for table in partitions_of(batches, self.shape):
            yield self.of_table(table)

    def mapped(self, df: DataFrame, out: StructType) -> Matched:
        """The rows layout's output."""
        return matched_rows(df, RowsReport(self.of_rows, self.of_table), out)


def _within_limit(offsets: Ints, shape: OperatorColumns) -> Ints:
    if np.diff(offsets).max(initial=0) > shape.limit_events:
        raise too_many_events(shape.limit_events)
    return offsets


# -- lists layout ------------------------------------------------------------------------------------------------------


def list_inputs(shape: OperatorColumns) -> list[str]:
    """SQL of the lists that the kernel reads, from one row per partition."""
    out: list[str] = []
    for w in range(shape.masks):
        update = shape.mask_updates[w] if w < len(shape.mask_updates) else None
        out.append(
            f"{ROWS}.{PREFIX}m{w}" if update is None else f"transform({ROWS}, ({PREFIX}r, {PREFIX}i) -> {update})"
        )
    return [*out, *(f"{ROWS}.{PREFIX}f{i}" for i in shape.kernel_fields)]


def list_batch(lists: tuple[pa.Array, ...], shape: OperatorColumns) -> Batch:
    """Those lists as a batch of partitions."""
    arrays = [a.combine_chunks() if isinstance(a, pa.ChunkedArray) else a for a in lists]
    offsets = arrays[0].offsets.to_numpy().astype(np.int64)
    return batch_of(_within_limit(offsets - offsets[0], shape), [a.flatten() for a in arrays], shape)


def as_lists(partition: Ints, partitions: int, columns: dict[str, pa.Array]) -> pa.Array:
    """Output rows, in the order of their partitions, as one list of structs per partition."""
    borders = np.searchsorted(partition, np.arange(partitions + 1)).astype(np.int32)
    structs = pa.StructArray.from_arrays(list(columns.values()), names=list(columns))
    return pa.ListArray.from_arrays(pa.array(borders), structs)


# -- rows layout -------------------------------------------------------------------------------------------------------


def partitions_of(batches: Iterator[pa.RecordBatch], shape: OperatorColumns) -> Iterator[pa.Table]:
    """The stream in tables of whole partitions; the first row of each has its mask inverted."""
    return whole_partitions(
        batches, lambda b: b.column(b.schema.names.index(f"{PREFIX}m0")).to_numpy() < 0, shape.limit_events
    )


def table_batch(table: pa.Table, shape: OperatorColumns) -> Batch:
    """Whole partitions as a batch."""
    masks = [column(table, f"m{w}").to_numpy().astype(np.int64) for w in range(shape.masks)]
    starts = np.flatnonzero(masks[0] < 0)
    masks[0][starts] = ~masks[0][starts]
    offsets = _within_limit(np.append(starts, table.num_rows).astype(np.int64), shape)
    return batch_of(offsets, [*map(pa.array, masks), *(column(table, f"f{i}") for i in shape.kernel_fields)], shape)


def key_columns(table: pa.Table, batch: Batch, partition: Ints, shape: OperatorColumns) -> dict[str, pa.Array]:
    """Keys of output rows, which are those of their partitions' first rows."""
    of = pa.array(batch.offsets[partition])
    return {f"{PREFIX}k{i}": column(table, f"k{i}").take(of) for i in range(shape.keys)}
