"""The grouped map of trend aggregates, in the layouts of lists.py and rows.py.

Output columns: keys, the window's number ``__cep_w``, and for aggregate n what ``result_columns`` lists.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructField, StructType

from sparkcep.exec.rows import column, key_fields, needed_columns, record_batch, whole_partitions
from sparkcep.exec.shape import OperatorShape, batch_of
from sparkcep.exec.trend_enumeration import EnumeratingMatcher
from sparkcep.exec.trend_matcher import TrendMatcher, TrendTable
from sparkcep.exec.trend_spec import TrendSpec, result_columns
from sparkcep.query import PREFIX

_ROWS = PREFIX + "rows"


def match_trends(df: DataFrame, layout: str, shape: OperatorShape, spec: TrendSpec) -> DataFrame:
    """Run a spec over prepared rows; see operator.match."""
    return _lists(df, shape, spec) if layout == "lists" else _rows(df, shape, spec)


def _lists(df: DataFrame, shape: OperatorShape, spec: TrendSpec) -> DataFrame:
    inputs: list[str] = []
    for w in range(shape.masks):
        update = shape.mask_updates[w] if w < len(shape.mask_updates) else None
        inputs.append(
            f"{_ROWS}.{PREFIX}m{w}" if update is None else f"transform({_ROWS}, ({PREFIX}r, {PREFIX}i) -> {update})"
        )
    inputs += [f"{_ROWS}.{PREFIX}f{i}" for i in shape.kernel_fields]
    columns = ",".join(f"{n}:{t}" for n, t in result_columns(spec))
    found = F.arrow_udf(ListsTrends(shape, spec).run, f"array<struct<{columns}>>")  # type: ignore[attr-defined]
    keys = [f"{PREFIX}k{i}" for i in range(shape.keys)]
    matched = df.select(*keys, found(*(F.expr(i) for i in inputs)).alias(f"{PREFIX}found"))
    names = ", ".join(f"m.{n} AS {PREFIX}{n}" for n, _ in result_columns(spec))
    return matched.selectExpr(*keys, f"inline(transform({PREFIX}found, m -> struct({names})))")


def _rows(df: DataFrame, shape: OperatorShape, spec: TrendSpec) -> DataFrame:
    own = [StructField(PREFIX + n, DataType.fromDDL(t)) for n, t in result_columns(spec)]
    out = StructType([*key_fields(df, shape), *own])
    return df.select(*needed_columns(shape)).mapInArrow(RowsTrends(shape, spec).run, out)


def result_arrays(table: TrendTable, spec: TrendSpec) -> dict[str, pa.Array]:
    """The columns of ``result_columns``."""
    out = {"w": pa.array(np.ascontiguousarray(table.window))}
    for n, p in enumerate(table.partials):
        out[f"v{n}"] = p.values
        if p.exponents is not None:
            out[f"e{n}"] = p.exponents
        if p.weights is not None:
            out[f"n{n}"], out[f"f{n}"] = p.weights, p.weight_exponents
        if p.overflows is not None:
            out[f"o{n}"] = pa.array(p.overflows)
    assert list(out) == [n for n, _ in result_columns(spec)]
    return out


class _Trends:
    """What both layouts keep: the matcher is made on the executor, never pickled."""

    def __init__(self, shape: OperatorShape, spec: TrendSpec) -> None:
        self.shape = shape
        self.spec = spec
        self._matcher: TrendMatcher | EnumeratingMatcher | None = None

    def __getstate__(self) -> tuple[OperatorShape, TrendSpec]:
        return self.shape, self.spec

    def __setstate__(self, state: tuple[OperatorShape, TrendSpec]) -> None:
        self.__init__(*state)  # type: ignore[misc]

    @property
    def matcher(self) -> TrendMatcher | EnumeratingMatcher:
        if self._matcher is None:
            self._matcher = trend_matcher(self.spec)
        return self._matcher


def trend_matcher(spec: TrendSpec) -> TrendMatcher | EnumeratingMatcher:
    return EnumeratingMatcher(spec) if spec.enumerated else TrendMatcher(spec)


class ListsTrends(_Trends):
    """Body of the Arrow UDF of the lists layout."""

    def run(self, *lists: pa.Array) -> pa.Array:
        """List columns of a batch of partitions to a list of windows per partition."""
        arrays = [a.combine_chunks() if isinstance(a, pa.ChunkedArray) else a for a in lists]
        offsets = arrays[0].offsets.to_numpy().astype(np.int64)
        table = self.matcher.aggregate(batch_of(offsets - offsets[0], [a.flatten() for a in arrays], self.shape))
        borders = np.searchsorted(table.partition, np.arange(len(arrays[0]) + 1)).astype(np.int32)
        columns = result_arrays(table, self.spec)
        structs = pa.StructArray.from_arrays(list(columns.values()), names=list(columns))
        return pa.ListArray.from_arrays(pa.array(borders), structs)


class RowsTrends(_Trends):
    """Body of mapInArrow of the rows layout; partitions are aggregated whole."""

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in whole_partitions(batches, lambda b: b.column(b.schema.names.index(f"{PREFIX}m0")).to_numpy() < 0):
            yield self.aggregated(table)

    def aggregated(self, table: pa.Table) -> pa.RecordBatch:
        shape = self.shape
        masks = [column(table, f"m{w}").to_numpy().astype(np.int64) for w in range(shape.masks)]
        starts = np.flatnonzero(masks[0] < 0)
        masks[0][starts] = ~masks[0][starts]
        offsets = np.append(starts, table.num_rows).astype(np.int64)
        arrays = [pa.array(mask) for mask in masks] + [column(table, f"f{i}") for i in shape.kernel_fields]
        found = self.matcher.aggregate(batch_of(offsets, arrays, shape))
        of = pa.array(starts[found.partition])
        columns = {f"{PREFIX}k{i}": column(table, f"k{i}").take(of) for i in range(shape.keys)}
        columns |= {PREFIX + n: a for n, a in result_arrays(found, self.spec).items()}
        return record_batch(columns)
