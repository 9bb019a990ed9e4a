"""The grouped map of imprecise time, in the layouts of lists.py and rows.py.

The output columns are those of run_layouts.py, and a match's confidence and the ticks it may begin and end at.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DoubleType, IntegerType, LongType, StructField, StructType

from sparkcep.exec.grouped import (
    ROWS,
    OnExecutor,
    as_lists,
    key_columns,
    list_batch,
    list_inputs,
    partitions_of,
    table_batch,
)
from sparkcep.exec.kernels import rows as kernel
from sparkcep.exec.rows import column, int32, key_fields, match_fields, needed_columns, record_batch
from sparkcep.exec.run_layouts import EVENTS, event_offsets
from sparkcep.exec.shape import FIXED_COLUMNS, OperatorShape
from sparkcep.exec.uncertain_matcher import Found, UncertainMatcher
from sparkcep.exec.uncertain_spec import UncertainSpec
from sparkcep.query import PREFIX

#: Columns of each match, with their types.
OWN = (("confidence", "double"), ("first_tick", "bigint"), ("last_tick", "bigint"))


def match_uncertain(df: DataFrame, layout: str, shape: OperatorShape, spec: UncertainSpec) -> DataFrame:
    """Run a spec over prepared rows; see operator.match."""
    return _lists(df, shape, spec) if layout == "lists" else _rows(df, shape, spec)


def _own(found: Found) -> dict[str, pa.Array]:
    ticks = np.ascontiguousarray(found.ticks.T)
    return {"confidence": pa.array(found.confidence), "first_tick": pa.array(ticks[0]), "last_tick": pa.array(ticks[1])}


def _lists(df: DataFrame, shape: OperatorShape, spec: UncertainSpec) -> DataFrame:
    names = [f"c{p}:int" for p in shape.places] + [f"{n}:{t}" for n, t in OWN]
    names += ["e:array<struct<c:int,r:int>>"] * (shape.trace is not None)
    found = F.arrow_udf(ListsUncertain(shape, spec).run, f"array<struct<{','.join(names)}>>")  # type: ignore[attr-defined]
    keys = [f"{PREFIX}k{i}" for i in range(shape.keys)]
    matched = df.select(*keys, ROWS, found(*map(F.expr, list_inputs(shape))).alias(f"{PREFIX}found"))
    out = [f"m.c{place} AS {PREFIX}{name}" for name, place in FIXED_COLUMNS]
    out += [f"m.{name} AS {PREFIX}{name}" for name, _ in OWN]
    out += [f"m.c{kernel.FIXED + s} AS {PREFIX}l{s}" for s in shape.labels]
    out += [f"get({ROWS}, m.c{g.place}).{PREFIX}f{g.field} AS {PREFIX}g{n}" for n, g in enumerate(shape.gathers)]
    if shape.trace is not None:
        fields = "".join(f", get({ROWS}, e.r).{PREFIX}f{f} AS f{f}" for f in shape.trace)
        out.append(f"transform(m.e, e -> struct(e.c AS c, e.r AS r{fields})) AS {EVENTS}")
    return matched.selectExpr(*keys, f"inline(transform({PREFIX}found, m -> struct({', '.join(out)})))")


class _Uncertain(OnExecutor[UncertainSpec, UncertainMatcher]):
    def make(self) -> UncertainMatcher:
        return UncertainMatcher(self.spec)


class ListsUncertain(_Uncertain):
    """Body of the Arrow UDF of the lists layout."""

    def run(self, *lists: pa.Array) -> pa.Array:
        """List columns of a batch of partitions to a list of matches per partition."""
        found = self.matcher.match(list_batch(lists, self.shape))
        columns = {f"c{p}": int32(found.out[:, p]) for p in self.shape.places} | _own(found)
        if self.shape.trace is not None:
            events = pa.StructArray.from_arrays([int32(found.trace[:, 0]), int32(found.trace[:, 1])], names=["c", "r"])
            columns["e"] = pa.ListArray.from_arrays(event_offsets(found.out), events)
        return as_lists(found.out[:, kernel.PARTITION], len(lists[0]), columns)


def _rows(df: DataFrame, shape: OperatorShape, spec: UncertainSpec) -> DataFrame:
    fields = [*key_fields(df, shape), StructField(f"{PREFIX}number", LongType()), *match_fields(df, shape)]
    fields += [StructField(PREFIX + n, DoubleType() if t == "double" else LongType()) for n, t in OWN]
    names = needed_columns(shape)
    if shape.trace is not None:
        types = {f.name: f.dataType for f in df.schema.fields}
        event = [StructField("c", IntegerType()), StructField("r", IntegerType())]
        event += [StructField(f"f{f}", types[f"{PREFIX}f{f}"]) for f in shape.trace]
        fields.append(StructField(EVENTS, ArrayType(StructType(event))))
        names = list(dict.fromkeys([*names, *(f"{PREFIX}f{f}" for f in shape.trace)]))
    return df.select(*names).mapInArrow(RowsUncertain(shape, spec).run, StructType(fields))


class RowsUncertain(_Uncertain):
    """Body of mapInArrow of the rows layout; partitions are matched whole."""

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in partitions_of(batches):
            yield self.matched(table)

    def matched(self, table: pa.Table) -> pa.RecordBatch:
        shape = self.shape
        batch = table_batch(table, shape)
        whole = self.matcher.match(batch)
        found, trace = whole.out, whole.trace
        columns = key_columns(table, batch, found[:, kernel.PARTITION], shape)
        columns[f"{PREFIX}number"] = pa.array(np.ascontiguousarray(found[:, kernel.NUMBER]))
        columns |= {PREFIX + name: int32(found[:, p]) for name, p in FIXED_COLUMNS if name != "number"}
        columns |= {f"{PREFIX}l{s}": int32(found[:, kernel.FIXED + s]) for s in shape.labels}
        base = batch.offsets[found[:, kernel.PARTITION]]
        for n, g in enumerate(shape.gathers):
            rows = found[:, g.place]
            at = pa.array(base + rows, pa.int64(), mask=rows < 0)
            columns[f"{PREFIX}g{n}"] = column(table, f"f{g.field}").take(at)
        columns |= {PREFIX + name: values for name, values in _own(whole).items()}
        if shape.trace is not None:
            lengths = np.diff(np.append(0, found[:, -1]))
            at = pa.array(trace[:, 1] + np.repeat(base, lengths))
            children = [int32(trace[:, 0]), int32(trace[:, 1])]
            children += [column(table, f"f{f}").take(at) for f in shape.trace]
            events = pa.StructArray.from_arrays(children, names=["c", "r", *(f"f{f}" for f in shape.trace)])
            columns[EVENTS] = pa.ListArray.from_arrays(event_offsets(found), events)
        return record_batch(columns)
