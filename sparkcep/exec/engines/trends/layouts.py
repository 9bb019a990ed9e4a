"""The grouped map of trend aggregates, in the layouts of lists.py and rows.py.

Output columns: keys, the window's number ``__cep_w``, and for aggregate n what ``result_columns`` lists.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructField, StructType

from sparkcep.exec.engines.trends.conjunction import ConjunctionMatcher
from sparkcep.exec.engines.trends.enumeration import EnumeratingMatcher
from sparkcep.exec.engines.trends.matcher import TrendMatcher, TrendTable
from sparkcep.exec.engines.trends.spec import TrendSpec, result_columns
from sparkcep.exec.layouts.grouped import (
    Body,
    as_lists,
    key_columns,
    list_batch,
    list_inputs,
    table_batch,
)
from sparkcep.exec.layouts.rows import key_fields, needed_columns, record_batch
from sparkcep.exec.reports import FOUND, ListsReport, Matched, reported_type
from sparkcep.exec.shape import OperatorColumns
from sparkcep.query import PREFIX

Matcher = TrendMatcher | EnumeratingMatcher | ConjunctionMatcher


def match_trends(df: DataFrame, layout: str, shape: OperatorColumns, spec: TrendSpec) -> Matched:
    """Run a spec over prepared rows; see operator.match."""
    return _lists(df, shape, spec) if layout == "lists" else _rows(df, shape, spec)


def _lists(df: DataFrame, shape: OperatorColumns, spec: TrendSpec) -> Matched:
    columns = ",".join(f"{PREFIX}{n}:{t}" for n, t in result_columns(spec))
    body = TrendBody(shape, spec).of_lists
    found = F.arrow_udf(ListsReport(body).run, reported_type(f"array<struct<{columns}>>"))  # type: ignore[attr-defined]
    keys = [f"{PREFIX}k{i}" for i in range(shape.keys)]
    matched = df.select(*keys, found(*map(F.expr, list_inputs(shape))).alias(f"{PREFIX}found"))
    return Matched(matched.selectExpr(*keys, f"inline(coalesce({FOUND}, array()))"))


def _rows(df: DataFrame, shape: OperatorColumns, spec: TrendSpec) -> Matched:
    own = [StructField(PREFIX + n, DataType.fromDDL(t)) for n, t in result_columns(spec)]
    out = StructType([*key_fields(df, shape), *own])
    return TrendBody(shape, spec).mapped(df.select(*needed_columns(shape)), out)


def result_arrays(table: TrendTable, spec: TrendSpec) -> dict[str, pa.Array]:
    """The columns of ``result_columns``, by the names that Spark sees."""
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
    return {PREFIX + n: values for n, values in out.items()}


def trend_matcher(spec: TrendSpec) -> Matcher:
    if spec.parts:
        return ConjunctionMatcher(spec)
    return EnumeratingMatcher(spec) if spec.enumerated else TrendMatcher(spec)


class TrendBody(Body[TrendSpec, Matcher]):
    """Each window of a partition a row."""

    def make(self) -> Matcher:
        return trend_matcher(self.spec)

    def of_lists(self, *lists: pa.Array) -> pa.Array:
        """A list of windows per partition."""
        table = self.matcher.aggregate(list_batch(lists, self.shape))
        return as_lists(table.partition, len(lists[0]), result_arrays(table, self.spec))

    def of_table(self, table: pa.Table) -> pa.RecordBatch:
        batch = table_batch(table, self.shape)
        found = self.matcher.aggregate(batch)
        columns = key_columns(table, batch, found.partition, self.shape)
        return record_batch(columns | result_arrays(found, self.spec))
