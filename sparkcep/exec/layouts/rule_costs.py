"""What each rule of a set costs: the operator's rows, matched by every rule for nothing but figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from sparkcep.exec.engines.shared.engine import SharedEngine
from sparkcep.exec.engines.shared.matcher import RuleCost, SharedMatcher
from sparkcep.exec.engines.shared.spec import SharedSpec
from sparkcep.exec.layouts.rows import RowsBody, needed_columns
from sparkcep.exec.reports import Matched, RowsReport, matched_rows
from sparkcep.exec.shape import OperatorColumns

_FIGURES = pa.schema(
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
    return matched_rows(rows, RowsReport(body.run, body.empty), from_arrow_schema(_FIGURES), "sparkcep_rule_costs")


class _CostsBody(RowsBody[SharedSpec]):
    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Figures of each batch."""
        matcher = self.matcher
        assert isinstance(matcher, SharedMatcher)
        for chunk in self.whole_chunks(batches):
            yield _figures(matcher.costs(chunk.batch))

    def empty(self, table: pa.Table) -> pa.RecordBatch:
        """No figures."""
        return _figures(())


def _figures(costs: Iterable[RuleCost]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([cost._asdict() for cost in costs], schema=_FIGURES)
