"""The operator of a stream behind one of Spark's stateful operators, which holds nothing but bytes."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.state import GroupStateTimeout
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType, TimestampType

from sparkcep.errors import SparkCepError
from sparkcep.exec.engine import StreamingEngine
from sparkcep.exec.layouts.output import struct_fields
from sparkcep.exec.layouts.rows import key_fields
from sparkcep.exec.reports import Matched
from sparkcep.exec.shape import OperatorColumns
from sparkcep.exec.streaming.blobs import BUCKET, NEVER, ROWS, TIME, WANTED, Unpack, from_bytes, pack, to_bytes
from sparkcep.exec.streaming.collected import collected_fields, partial_fields
from sparkcep.exec.streaming.step import BucketOperator, Step, StreamPlan, kept_columns
from sparkcep.query import ERROR, PREFIX
from sparkcep.shipping import shipped

S = TypeVar("S")
#: Metadata of a column that has a watermark.
WATERMARK = "spark.watermarkDelayMs"
#: What a step says of rows it dropped, as columns of the operator's output.
COUNTS = ("late", "untimed", "changed")

#: Operators of a worker, the last ones used, by what they were made from: a worker serves many micro-batches.
_OPERATORS: dict[bytes, BucketOperator[Any]] = {}
_MOST_OPERATORS = 4


def match_stream(
    df: DataFrame, engine: StreamingEngine[S], shape: OperatorColumns, spec: S, plan: StreamPlan, name: str
) -> Matched:
    """Run an engine over a stream of prepared rows.

    Args:
        df: keys ``__cep_k*``, masks ``__cep_m*``, fields ``__cep_f*``, the time ``__cep_t`` with its watermark and the
            bucket of the row's partition, ``__cep_bucket``.
        name: of the metrics of dropped rows among a query's observed ones.
    """
    columns = engine.columns(spec, shape)
    types = {f.name: f.dataType for f in df.schema.fields}
    metadata = df.schema[TIME].metadata
    needed = [BUCKET, WANTED, *kept_columns(shape, columns, plan)]
    packed = StructType(
        [StructField(BUCKET, IntegerType()), StructField(ROWS, BinaryType()),
         StructField(NEVER, TimestampType(), True, metadata)]
    )  # fmt: skip
    blobs = df.select(*needed).mapInArrow(shipped(pack, "sparkcep_pack"), packed)
    counted = ", ".join(f"{count} bigint" for count in COUNTS)
    stepped = blobs.groupBy(BUCKET).applyInPandasWithState(
        _shipped_state(StreamBody(engine, shape, spec, plan)),
        f"{ROWS} binary, {ERROR} string, {counted}",
        "state binary",
        "append",
        GroupStateTimeout.EventTimeTimeout,
    )
    keys = key_fields(df, shape)
    fields = struct_fields(columns, types)
    fields += collected_fields(fields, plan.collected) if plan.collected else []
    if plan.groups is not None:
        of_groups = [StructField(f"{PREFIX}g{n}", keys[k].dataType) for n, k in enumerate(plan.groups)]
        keys, fields = [], partial_fields(fields, of_groups)
    out = StructType([*keys, *fields, StructField(ERROR, StringType())])
    observed = stepped.observe(name, *(_total(count) for count in COUNTS))
    rows = observed.select(ROWS, ERROR).mapInArrow(
        shipped(Unpack(to_arrow_schema(out, timezone="UTC")).run, "sparkcep_unpack"), out
    )
    return Matched(rows, tuple(f.name for f in out.fields[:-1]))


def _total(count: str) -> Column:
    return F.coalesce(F.sum(count), F.lit(0)).alias(count)


class StreamBody(Generic[S]):
    """Body of the stateful operator: one call for each bucket of a micro-batch. The operator is made on the executor,
    never pickled; a worker, which serves many micro-batches, keeps the last ones."""

    def __init__(self, engine: StreamingEngine[S], shape: OperatorColumns, spec: S, plan: StreamPlan) -> None:
        self.made_from = engine, shape, spec, plan
        self._operator: BucketOperator[S] | None = None

    def __reduce__(self) -> tuple[type, tuple[StreamingEngine[S], OperatorColumns, S, StreamPlan]]:
        return type(self), self.made_from

    @property
    def operator(self) -> BucketOperator[S]:
        """Made at the first use in a worker."""
        if self._operator is None:
            key = pickle.dumps(self.made_from)
            known = _OPERATORS.pop(key) if key in _OPERATORS else BucketOperator(*self.made_from)
            self._operator = _OPERATORS[key] = known
            while len(_OPERATORS) > _MOST_OPERATORS:
                del _OPERATORS[next(iter(_OPERATORS))]
        return self._operator

    def run(self, key: tuple[Any, ...], frames: Iterator[Any], state: Any) -> Iterator[Any]:
        """Output of one bucket; see applyInPandasWithState."""
        import pandas as pd  # type: ignore[import-untyped]  # in which Spark wants rows

        watermark = state.getCurrentWatermarkMs()
        new = [] if state.hasTimedOut else [from_bytes(v)[0] for frame in frames for v in frame[ROWS]]
        before = bytes(state.get[0]) if state.exists else None
        try:
            done = self.operator.step(before, new, watermark * 1000)
        except SparkCepError as error:
            # Raised behind the operator, so that the batch fails and no state is kept of it.
            yield pd.DataFrame({ROWS: [None], ERROR: [str(error)]} | {count: [0] for count in COUNTS})
            return
        if done.state is not None:
            state.update((done.state,))
        if done.wake is not None:
            # Spark calls back when the watermark is above this.
            state.setTimeoutTimestamp(max(-(-done.wake // 1000) - 1, watermark + 1))
        counts = report(done)
        if done.rows is not None or any(counts.values()):
            rows = None if done.rows is None else to_bytes(pa.Table.from_batches([done.rows]))
            yield pd.DataFrame({ROWS: [rows], ERROR: [None]} | {name: [n] for name, n in counts.items()})


def report(done: Step) -> Mapping[str, int]:
    """What was dropped, by name; in the log as well."""
    counts = {name: getattr(done, name) for name in COUNTS}
    if any(counts.values()):
        logging.getLogger("sparkcep").warning(
            "%d late rows and %d rows without a time dropped, %d matches without the row that SKIP names",
            *counts.values(),
        )
    return counts


def _shipped_state(body: StreamBody[S]) -> Callable[..., Any]:
    """The body as it is sent; Spark looks at how many arguments it takes."""
    run = shipped(body.run, "sparkcep_stream")

    def stream(key: Any, frames: Any, state: Any) -> Any:
        return run(key, frames, state)

    return stream
