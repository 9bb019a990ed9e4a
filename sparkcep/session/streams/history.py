"""The table that a pattern over a stream starts with."""

from __future__ import annotations

from typing import Protocol

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from sparkcep.errors import PatternAnalysisError
from sparkcep.exec.streaming.spark import WATERMARK
from sparkcep.planner.fields import Fields
from sparkcep.planner.plan import StreamInput
from sparkcep.query import SOURCE, PatternQuery, quote, unescape
from sparkcep.session.analyzer import SparkAnalyzer
from sparkcep.settings import STREAM_HISTORY

#: In Spark's plans. A filter with one goes into the scan of files, which Spark then cannot send with the operator.
_SUBQUERY = "scalar-subquery#"


class Streamed(Protocol):
    """A plan whose input may be a stream."""

    @property
    def stream(self) -> StreamInput | None:
        """What it has more where the input is one."""

    @property
    def query(self) -> PatternQuery:
        """Whose input it is."""

    def before(self) -> str:
        """The statement over ``{SOURCE}`` that gives the operator its rows."""


def history(analyzer: SparkAnalyzer, planned: Streamed, source: DataFrame) -> DataFrame | None:
    """Those rows of the table that matter, prepared as ``source``'s are; None where the stream starts with none.

    Raises:
        PatternAnalysisError: CEP_STREAMING_HISTORY.
    """
    stream = planned.stream
    if stream is None or not stream.history:
        return None
    query = planned.query
    fields = Fields(query.columns, analyzer.settings.case_sensitive)
    rows = _with_columns_of(source, _table(analyzer, query, stream.history), query, fields)
    if stream.lookback:
        time = query.order_by[0].expression
        # The watermark that the rows bring lies by its delay before the last one.
        delay = source.schema[fields.column_of(time) or time].metadata[WATERMARK] / 1000
        least = f"max({time}) - make_dt_interval(0, 0, 0, {delay:.3f}) - {stream.lookback}"
        # Asked now: in the plan it would be a subquery, see _SUBQUERY; and so files that are older are not opened.
        since = analyzer.run(f"SELECT unix_micros({least}) FROM {{{SOURCE}}}", rows).collect()[0][0]
        rows = rows.where(f"{unescape(time)} >= timestamp_micros({since or 0})")
    return analyzer.analyzed(planned.before(), rows)


def _table(analyzer: SparkAnalyzer, query: PatternQuery, name: str) -> DataFrame:
    try:
        rows = analyzer.spark.table(name)
        streaming = rows.isStreaming
    except AnalysisException:
        raise _unusable(query, f"there is no table or view {name}", f"RESET {STREAM_HISTORY.key}") from None
    if streaming:
        raise _unusable(query, f"{name} is a stream itself", "name a table that is at rest")
    plans = analyzer.run(f"EXPLAIN EXTENDED SELECT * FROM {{{SOURCE}}}", rows).collect()[0][0]
    if _SUBQUERY in plans:
        raise _unusable(
            query,
            f"{name} compares with a scalar subquery, which Spark cannot send along with a streaming operator",
            "write the view's rows to a table, and name that",
        )
    return rows


def _with_columns_of(source: DataFrame, rows: DataFrame, query: PatternQuery, fields: Fields) -> DataFrame:
    """Columns of the stream, by name."""
    of_table = Fields(rows.columns, fields.case_sensitive)
    types = {f.name: f.dataType.simpleString() for f in rows.schema.fields}
    columns, missing, other = [], [], []
    for name, type_ in ((f.name, f.dataType.simpleString()) for f in source.schema.fields):
        column = of_table.column_of(quote(name))
        if column is None:
            missing.append(name)
        elif types[column] != type_:
            other.append(f"{name} is {types[column]}, not {type_}")
        else:
            columns.append(rows[unescape(quote(column))].alias(name))
    if missing or other:
        lacking = [f"it has no column {', '.join(missing)}"] if missing else []
        raise _unusable(query, "; ".join(lacking + other), "name a view with the columns of the pattern's input")
    return rows.select(*columns)


def _unusable(query: PatternQuery, why: str, hint: str) -> PatternAnalysisError:
    return PatternAnalysisError(
        "CEP_STREAMING_HISTORY",
        f"A pattern over a stream cannot start with the rows of {STREAM_HISTORY.key}: {why}.",
        text=query.text or None,
        position=query.start,
        hint=hint,
    )
