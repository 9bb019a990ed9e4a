"""The grouped map of the event selection strategies, in the layouts of lists.py and rows.py.

The output columns are the same, and where they are wanted ``__cep_events``: for each match an array of its events as
(component code ``c``, row of the partition ``r``, traced fields ``f*``).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, LongType, StructField, StructType

from sparkcep.exec.arrays import Ints
from sparkcep.exec.kernels import rows as kernel
from sparkcep.exec.rows import column, int32, key_fields, match_fields, needed_columns, record_batch, whole_partitions
from sparkcep.exec.run_matcher import RunMatcher
from sparkcep.exec.run_search import RunSearch
from sparkcep.exec.run_spec import RunSpec
from sparkcep.exec.shape import FIXED_COLUMNS, OperatorShape, batch_of
from sparkcep.query import PREFIX

_ROWS = PREFIX + "rows"
EVENTS = PREFIX + "events"


def match_runs(df: DataFrame, layout: str, shape: OperatorShape, spec: RunSpec) -> DataFrame:
    """Run a spec over prepared rows; see operator.match."""
    return _lists(df, shape, spec) if layout == "lists" else _rows(df, shape, spec)


def _lists(df: DataFrame, shape: OperatorShape, spec: RunSpec) -> DataFrame:
    inputs: list[str] = []
    for w in range(shape.masks):
        update = shape.mask_updates[w] if w < len(shape.mask_updates) else None
        inputs.append(
            f"{_ROWS}.{PREFIX}m{w}" if update is None else f"transform({_ROWS}, ({PREFIX}r, {PREFIX}i) -> {update})"
        )
    inputs += [f"{_ROWS}.{PREFIX}f{i}" for i in shape.kernel_fields]
    names = [f"c{p}:int" for p in shape.places] + ["e:array<struct<c:int,r:int>>"] * (shape.trace is not None)
    found = F.arrow_udf(ListsRuns(shape, spec).run, f"array<struct<{','.join(names)}>>")  # type: ignore[attr-defined]
    keys = [f"{PREFIX}k{i}" for i in range(shape.keys)]
    matched = df.select(*keys, _ROWS, found(*(F.expr(i) for i in inputs)).alias(f"{PREFIX}found"))
    out = [f"m.c{place} AS {PREFIX}{name}" for name, place in FIXED_COLUMNS]
    out += [f"m.c{kernel.FIXED + s} AS {PREFIX}l{s}" for s in shape.labels]
    out += [f"get({_ROWS}, m.c{g.place}).{PREFIX}f{g.field} AS {PREFIX}g{n}" for n, g in enumerate(shape.gathers)]
    if shape.trace is not None:
        fields = "".join(f", get({_ROWS}, e.r).{PREFIX}f{f} AS f{f}" for f in shape.trace)
        out.append(f"transform(m.e, e -> struct(e.c AS c, e.r AS r{fields})) AS {EVENTS}")
    return matched.selectExpr(*keys, f"inline(transform({PREFIX}found, m -> struct({', '.join(out)})))")


class _Runs:
    """What both layouts keep: the matcher is made on the executor, never pickled."""

    def __init__(self, shape: OperatorShape, spec: RunSpec) -> None:
        self.shape = shape
        self.spec = spec
        self._matcher: RunMatcher | RunSearch | None = None

    def __getstate__(self) -> tuple[OperatorShape, RunSpec]:
        return self.shape, self.spec

    def __setstate__(self, state: tuple[OperatorShape, RunSpec]) -> None:
        self.__init__(*state)  # type: ignore[misc]

    @property
    def matcher(self) -> RunMatcher | RunSearch:
        if self._matcher is None:
            self._matcher = RunSearch(self.spec) if self.spec.searched else RunMatcher(self.spec)
        return self._matcher


class ListsRuns(_Runs):
    """Body of the Arrow UDF of the lists layout."""

    def run(self, *lists: pa.Array) -> pa.Array:
        """List columns of a batch of partitions to a list of matches per partition."""
        arrays = [a.combine_chunks() if isinstance(a, pa.ChunkedArray) else a for a in lists]
        offsets = arrays[0].offsets.to_numpy().astype(np.int64)
        batch = batch_of(offsets - offsets[0], [a.flatten() for a in arrays], self.shape)
        table, trace = self.matcher.match(batch)
        borders = np.searchsorted(table[:, kernel.PARTITION], np.arange(len(arrays[0]) + 1)).astype(np.int32)
        children = [int32(table[:, p]) for p in self.shape.places]
        names = [f"c{p}" for p in self.shape.places]
        if self.shape.trace is not None:
            events = pa.StructArray.from_arrays([int32(trace[:, 0]), int32(trace[:, 1])], names=["c", "r"])
            children.append(pa.ListArray.from_arrays(_event_offsets(table), events))
            names.append("e")
        return pa.ListArray.from_arrays(pa.array(borders), pa.StructArray.from_arrays(children, names=names))


def _event_offsets(table: Ints) -> pa.Array:
    return pa.array(np.append(0, table[:, -1]).astype(np.int32))


def _rows(df: DataFrame, shape: OperatorShape, spec: RunSpec) -> DataFrame:
    fields = [*key_fields(df, shape), StructField(f"{PREFIX}number", LongType()), *match_fields(df, shape)]
    names = needed_columns(shape)
    if shape.trace is not None:
        types = {f.name: f.dataType for f in df.schema.fields}
        event = [StructField("c", IntegerType()), StructField("r", IntegerType())]
        event += [StructField(f"f{f}", types[f"{PREFIX}f{f}"]) for f in shape.trace]
        fields.append(StructField(EVENTS, ArrayType(StructType(event))))
        names = list(dict.fromkeys([*names, *(f"{PREFIX}f{f}" for f in shape.trace)]))
    return df.select(*names).mapInArrow(RowsRuns(shape, spec).run, StructType(fields))


class RowsRuns(_Runs):
    """Body of mapInArrow of the rows layout; partitions are matched whole."""

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in whole_partitions(batches, lambda b: b.column(b.schema.names.index(f"{PREFIX}m0")).to_numpy() < 0):
            yield self.matched(table)

    def matched(self, table: pa.Table) -> pa.RecordBatch:
        shape = self.shape
        masks = [column(table, f"m{w}").to_numpy().astype(np.int64) for w in range(shape.masks)]
        starts = np.flatnonzero(masks[0] < 0)
        masks[0][starts] = ~masks[0][starts]
        offsets = np.append(starts, table.num_rows).astype(np.int64)
        arrays = [pa.array(mask) for mask in masks] + [column(table, f"f{i}") for i in shape.kernel_fields]
        found, trace = self.matcher.match(batch_of(offsets, arrays, shape))
        of = pa.array(starts[found[:, kernel.PARTITION]])
        columns = {f"{PREFIX}k{i}": column(table, f"k{i}").take(of) for i in range(shape.keys)}
        columns[f"{PREFIX}number"] = pa.array(np.ascontiguousarray(found[:, kernel.NUMBER]))
        columns |= {PREFIX + name: int32(found[:, p]) for name, p in FIXED_COLUMNS if name != "number"}
        columns |= {f"{PREFIX}l{s}": int32(found[:, kernel.FIXED + s]) for s in shape.labels}
        base = offsets[found[:, kernel.PARTITION]]
        for n, g in enumerate(shape.gathers):
            rows = found[:, g.place]
            at = pa.array(base + rows, pa.int64(), mask=rows < 0)
            columns[f"{PREFIX}g{n}"] = column(table, f"f{g.field}").take(at)
        if shape.trace is not None:
            lengths = np.diff(np.append(0, found[:, -1]))
            at = pa.array(trace[:, 1] + np.repeat(base, lengths))
            children = [int32(trace[:, 0]), int32(trace[:, 1])]
            children += [column(table, f"f{f}").take(at) for f in shape.trace]
            events = pa.StructArray.from_arrays(children, names=["c", "r", *(f"f{f}" for f in shape.trace)])
            columns[EVENTS] = pa.ListArray.from_arrays(_event_offsets(found), events)
        return record_batch(columns)
