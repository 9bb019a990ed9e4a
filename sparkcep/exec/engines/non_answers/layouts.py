"""The grouped map of EXPLAIN NON ANSWERS, in the layouts of lists.py and rows.py.

Output, one row per partition without a match: keys, ``__cep_cost`` in steps, ``__cep_moves`` as array of (component
code ``c``, row ``r``, steps ``n``, ORDER BY key ``f``), codes ``__cep_reason`` and ``__cep_component``, the event's row
``__cep_row`` and ``__cep_time``, the longest run ``__cep_events`` as of run_layouts.py. With ``only_facts``: one row
per partition with the words ``__cep_w*``.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, LongType, StructField, StructType

from sparkcep.exec.arrays import Ints
from sparkcep.exec.engines.non_answers.matcher import Explained, FactTeller, NonAnswers
from sparkcep.exec.engines.non_answers.spec import RepairSpec
from sparkcep.exec.layouts.grouped import (
    ROWS,
    Body,
    as_lists,
    key_columns,
    list_batch,
    list_inputs,
    table_batch,
)
from sparkcep.exec.layouts.rows import column, int32, key_fields, needed_columns, record_batch
from sparkcep.exec.reports import FOUND, ListsReport, Matched, reported_type
from sparkcep.exec.shape import OperatorColumns
from sparkcep.query import ERROR, PREFIX


def explain_partitions(df: DataFrame, layout: str, shape: OperatorColumns, spec: RepairSpec) -> Matched:
    """Run a spec over prepared rows; see operator.match."""
    if spec.only_facts:
        return _facts(df, layout, shape, spec)
    return _lists(df, shape, spec) if layout == "lists" else _rows(df, shape, spec)


def time_field(shape: OperatorColumns) -> int:
    """Field of the ORDER BY key."""
    assert shape.trace is not None
    return shape.trace[0]


def _lists(df: DataFrame, shape: OperatorColumns, spec: RepairSpec) -> Matched:
    columns = (
        "cost:bigint,reason:int,component:int,row:int,moves:array<struct<c:int,r:int,n:bigint>>,"
        "run:array<struct<c:int,r:int>>"
    )
    body = NonAnswersBody(shape, spec).of_lists
    found = F.arrow_udf(ListsReport(body).run, reported_type(f"array<struct<{columns}>>"))  # type: ignore[attr-defined]
    keys = [f"{PREFIX}k{i}" for i in range(shape.keys)]
    matched = df.select(*keys, ROWS, found(*map(F.expr, list_inputs(shape))).alias(f"{PREFIX}found"))
    time = f"{PREFIX}f{time_field(shape)}"
    out = [f"m.{name} AS {PREFIX}{name}" for name in ("cost", "reason", "component", "row")]
    out += [
        f"get({ROWS}, m.row).{time} AS {PREFIX}time",
        f"transform(m.moves, e -> struct(e.c AS c, e.r AS r, e.n AS n, get({ROWS}, e.r).{time} AS f)) AS {PREFIX}moves",
        f"transform(m.run, e -> struct(e.c AS c, e.r AS r, get({ROWS}, e.r).{time} AS f{time_field(shape)})) "
        f"AS {PREFIX}events",
    ]
    return Matched(matched.selectExpr(*keys, f"inline(transform({FOUND}, m -> struct({', '.join(out)})))"))


def _rows(df: DataFrame, shape: OperatorColumns, spec: RepairSpec) -> Matched:
    time = time_field(shape)
    type_ = {f.name: f.dataType for f in df.schema.fields}[f"{PREFIX}f{time}"]
    event = [StructField("c", IntegerType()), StructField("r", IntegerType())]
    move = [*event, StructField("n", LongType()), StructField("f", type_)]
    fields = [
        *key_fields(df, shape), StructField(f"{PREFIX}cost", LongType()), StructField(f"{PREFIX}reason", IntegerType()),
        StructField(f"{PREFIX}component", IntegerType()), StructField(f"{PREFIX}row", IntegerType()),
        StructField(f"{PREFIX}time", type_), StructField(f"{PREFIX}moves", ArrayType(StructType(move))),
        StructField(f"{PREFIX}events", ArrayType(StructType([*event, StructField(f"f{time}", type_)]))),
    ]  # fmt: skip
    names = list(dict.fromkeys([*needed_columns(shape), f"{PREFIX}f{time}"]))
    return NonAnswersBody(shape, spec).mapped(df.select(*names), StructType(fields))


def _codes(values: Ints) -> pa.Array:
    """Codes or rows as int32; below zero is NULL."""
    return pa.array(np.ascontiguousarray(values), pa.int32(), mask=values < 0)


def _offsets(ends: Ints) -> pa.Array:
    return pa.array(np.append(0, ends).astype(np.int32))


class NonAnswersBody(Body[RepairSpec, NonAnswers]):
    """Each partition without a match a row."""

    def make(self) -> NonAnswers:
        return NonAnswers(self.spec)

    @staticmethod
    def columns(found: Explained) -> dict[str, pa.Array]:
        return {
            "cost": pa.array(found.cost, mask=found.cost < 0), "reason": _codes(found.reason),
            "component": _codes(found.component), "row": _codes(found.event),
        }  # fmt: skip

    @staticmethod
    def moves(found: Explained, more: dict[str, pa.Array]) -> pa.Array:
        m = found.moves
        columns = {"c": int32(m[:, 0]), "r": int32(m[:, 1]), "n": pa.array(np.ascontiguousarray(m[:, 2])), **more}
        structs = pa.StructArray.from_arrays(list(columns.values()), names=list(columns))
        return pa.ListArray.from_arrays(_offsets(found.move_ends), structs)

    @staticmethod
    def run_events(found: Explained, more: dict[str, pa.Array]) -> pa.Array:
        columns = {"c": int32(found.runs[:, 0]), "r": int32(found.runs[:, 1]), **more}
        structs = pa.StructArray.from_arrays(list(columns.values()), names=list(columns))
        return pa.ListArray.from_arrays(_offsets(found.run_ends), structs)

    def of_lists(self, *lists: pa.Array) -> pa.Array:
        """A list of at most one row per partition."""
        found = self.matcher.explain(list_batch(lists, self.shape))
        columns = {**self.columns(found), "moves": self.moves(found, {}), "run": self.run_events(found, {})}
        return as_lists(found.partition, len(lists[0]), columns)

    def of_table(self, table: pa.Table) -> pa.RecordBatch:
        batch = table_batch(table, self.shape)
        found = self.matcher.explain(batch)
        base = np.asarray(batch.offsets, np.int64)[found.partition]
        number = time_field(self.shape)
        times = column(table, f"f{number}")

        def at(rows: Ints, ends: Ints) -> pa.Array:
            return times.take(pa.array(rows + np.repeat(base, np.diff(np.append(0, ends)))))

        columns = key_columns(table, batch, found.partition, self.shape)
        columns |= {PREFIX + n: a for n, a in self.columns(found).items()}
        columns[f"{PREFIX}time"] = times.take(pa.array(base + found.event, pa.int64(), mask=found.event < 0))
        columns[f"{PREFIX}moves"] = self.moves(found, {"f": at(found.moves[:, 1], found.move_ends)})
        columns[f"{PREFIX}events"] = self.run_events(found, {f"f{number}": at(found.runs[:, 1], found.run_ends)})
        return record_batch(columns)


# -- facts -------------------------------------------------------------------------------------------------------------


def _facts(df: DataFrame, layout: str, shape: OperatorColumns, spec: RepairSpec) -> Matched:
    """Facts, and errors in a column: they are read by a subquery, and what Spark raises in one comes with its stack."""
    words = [f"w{w}" for w in range(spec.fact_words)]
    if layout != "lists":
        out = StructType([StructField(PREFIX + w, LongType()) for w in words])
        return FactsBody(shape, spec).mapped(df.select(*needed_columns(shape)), out)
    returns = reported_type(f"struct<{','.join(f'{w}:bigint' for w in words)}>")
    told = F.arrow_udf(ListsReport(FactsBody(shape, spec).of_lists).run, returns)  # type: ignore[attr-defined]
    found = df.select(told(*map(F.expr, list_inputs(shape))).alias("m"))
    return Matched(found.selectExpr(*(f"m.found.{w} AS {PREFIX}{w}" for w in words), f"m.error AS {ERROR}"))


class FactsBody(Body[RepairSpec, FactTeller]):
    """What the log says of the query, in bits; those of a batch's partitions are one row in the rows layout."""

    def make(self) -> FactTeller:
        return FactTeller(self.spec)

    def of_lists(self, *lists: pa.Array) -> pa.Array:
        """One struct per partition."""
        table = self.matcher.tell(list_batch(lists, self.shape))
        columns = {f"w{w}": pa.array(np.ascontiguousarray(table[:, w])) for w in range(table.shape[1])}
        return pa.StructArray.from_arrays(list(columns.values()), names=list(columns))

    def of_table(self, table: pa.Table) -> pa.RecordBatch:
        told = np.bitwise_or.reduce(self.matcher.tell(table_batch(table, self.shape)), axis=0)
        return record_batch({f"{PREFIX}w{w}": pa.array([int(word)]) for w, word in enumerate(told)})
