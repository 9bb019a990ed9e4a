"""The operator of a stream behind one of Spark's stateful operators, which holds nothing but bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType, TimestampType

from sparkcep.exec.engine import StreamingEngine
from sparkcep.exec.layouts.output import struct_fields
from sparkcep.exec.layouts.rows import key_fields
from sparkcep.exec.reports import Matched
from sparkcep.exec.shape import OperatorColumns
from sparkcep.exec.streaming.blobs import BUCKET, NEVER, ROW, ROWS, TIME, WANTED, Unpack, pack
from sparkcep.exec.streaming.body import COUNTS, StreamBody
from sparkcep.exec.streaming.collected import collected_fields, partial_fields
from sparkcep.exec.streaming.history import initial_states
from sparkcep.exec.streaming.step import StreamPlan, kept_columns
from sparkcep.exec.streaming.with_state import with_state
from sparkcep.query import ERROR, PREFIX
from sparkcep.spark.shipping import shipped

S = TypeVar("S")
#: Metadata of a column that has a watermark.
WATERMARK = "spark.watermarkDelayMs"


def _operator(name: str) -> Callable[[DataFrame, StreamBody[Any], str, DataFrame | None], DataFrame]:
    """Spark's stateful operator that holds ours, by the name that the setting gives it."""
    if name == "state":
        return with_state
    from sparkcep.exec.streaming.transform import transform  # needs Spark 4.1

    return transform


def match_stream(
    df: DataFrame,
    engine: StreamingEngine[S],
    shape: OperatorColumns,
    spec: S,
    plan: StreamPlan,
    name: str,
    operator: str,
    end: str,
    history: DataFrame | None = None,
) -> Matched:
    """Run an engine over a stream of prepared rows.

    Args:
        df: keys ``__cep_k*``, masks ``__cep_m*``, fields ``__cep_f*``, the time ``__cep_t`` with its watermark and the
            bucket of the row's partition, ``__cep_bucket``.
        name: of the metrics of dropped rows among a query's observed ones.
        operator: a value of spark.sparkcep.streaming.operator.
        end: the output column with the time at which a row is decided, empty where there is none. It carries the
            watermark on.
        history: prepared rows that come before the stream's, at rest.
    """
    columns = engine.columns(spec, shape)
    types = {f.name: f.dataType for f in df.schema.fields}
    metadata = df.schema[TIME].metadata
    needed = [BUCKET, WANTED, *kept_columns(shape, columns, plan), *([ROW] if plan.late_rows else [])]
    packed = StructType(
        [StructField(BUCKET, IntegerType()), StructField(ROWS, BinaryType()),
         StructField(NEVER, TimestampType(), True, metadata)]
    )  # fmt: skip
    blobs = df.select(*needed).mapInArrow(shipped(partial(pack, name), "sparkcep_pack", operator), packed)
    if plan.rules is not None:
        kept = df.select(*kept_columns(shape, columns, plan)).schema
        plan = replace(plan, columns=to_arrow_schema(kept, timezone="UTC"))
    counted = ", ".join(f"{count} bigint" for count in COUNTS)
    body = StreamBody(engine, shape, spec, plan)
    states = None if history is None else initial_states(history.select(*needed), body, metadata[WATERMARK])
    stepped = _operator(operator)(blobs, body, f"{ROWS} binary, {ERROR} string, {counted}", states)
    keys = key_fields(df, shape)
    fields = struct_fields(columns, types)
    fields += collected_fields(fields, plan.collected) if plan.collected else []
    if plan.groups is not None:
        of_groups = [StructField(f"{PREFIX}g{n}", keys[k].dataType) for n, k in enumerate(plan.groups)]
        keys, fields = [], partial_fields(fields, of_groups)
    fields = [StructField(f.name, f.dataType, True, metadata) if f.name == end else f for f in fields]
    out = StructType([*keys, *fields, StructField(ERROR, StringType())])
    observed = stepped.observe(name, *(_total(count) for count in COUNTS))
    rows = observed.select(ROWS, ERROR).mapInArrow(
        shipped(Unpack(to_arrow_schema(out, timezone="UTC")).run, "sparkcep_unpack"), out
    )
    return Matched(rows, tuple(f.name for f in out.fields[:-1]))


def _total(count: str) -> Column:
    return F.coalesce(F.sum(count), F.lit(0)).alias(count)
