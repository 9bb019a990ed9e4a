"""What each rule of a set costs: the operator's rows, matched by every rule for nothing but figures."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import DoubleType, IntegerType, LongType, StructField, StructType

from sparkcep.exec.engines.shared.engine import SharedEngine
from sparkcep.exec.engines.shared.matcher import RuleCost, SharedMatcher
from sparkcep.exec.engines.shared.spec import SharedSpec
from sparkcep.exec.layouts.body import within_limit
from sparkcep.exec.layouts.rows import RowsBody, chunk_of, needed_columns, starts_partition, whole_partitions
from sparkcep.exec.reports import Matched, RowsReport, matched_rows
from sparkcep.exec.shape import OperatorColumns

_TYPES = {"rule": IntegerType(), "looked_at": LongType(), "matches": LongType(), "cpu_seconds": DoubleType()}
_COLUMNS = StructType([StructField(name, type_) for name, type_ in _TYPES.items()])
_SCHEMA = pa.schema(
    {"rule": pa.int32(), "looked_at": pa.int64(), "matches": pa.int64(), "cpu_seconds": pa.float64()}
)  # fmt: skip


def rule_costs(df: DataFrame, shape: OperatorColumns, spec: SharedSpec) -> Matched:
    """Figures of each rule, a row for each batch that it was matched over: its number, rows that it looked at, its
    matches, and seconds of the processor.

    Args:
        df: as of the rows layout, see operator.match.
    """
    body = _CostsBody(SharedEngine(), shape, spec)
    rows = df.select(*needed_columns(shape, body.columns))
    return matched_rows(rows, RowsReport(body.run, body.empty), _COLUMNS, "sparkcep_rule_costs")


class _CostsBody(RowsBody[SharedSpec]):
    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Figures of each batch."""
        matcher = self.matcher
        assert isinstance(matcher, SharedMatcher)
        for table in whole_partitions(batches, starts_partition, self.shape, self.shape.limit_events):
            chunk = chunk_of(table, self.shape)
            within_limit(chunk.batch.offsets, self.shape)
            yield _figures(list(matcher.costs(chunk.batch)))

    def empty(self, table: pa.Table) -> pa.RecordBatch:
        """No figures."""
        return _figures([])


def _figures(costs: list[RuleCost]) -> pa.RecordBatch:
    columns = list(zip(*costs, strict=True)) or [()] * len(_SCHEMA)
    return pa.RecordBatch.from_arrays(
        [pa.array(values, field.type) for values, field in zip(columns, _SCHEMA, strict=True)], schema=_SCHEMA
    )
