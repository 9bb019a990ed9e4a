"""Run pattern_statistics and pattern_continuations where they stand in a statement."""

from __future__ import annotations

from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from sparkcep import index
from sparkcep.errors import PatternIndexError, streaming_unsupported
from sparkcep.index import statistics_queries
from sparkcep.session.functions.call_arguments import CallArguments


def run_table_function(arguments: CallArguments) -> tuple[DataFrame, str]:
    """The rows of a call, and how they were found.

    Raises:
        SparkCepError: with the place of what is at fault.
    """
    log, function = _log(arguments), arguments.call.function
    pattern = arguments.value("pattern")
    if not isinstance(pattern, str):
        raise arguments.bad("pattern", f"The pattern is {pattern!r}; it must be a string.", "'A B C'")
    try:
        if function == "pattern_statistics":
            answer = statistics_queries.statistics(arguments.spark, log, pattern)
        else:
            more = {name: arguments.value(name) for name in ("mode", "k") if name in arguments.call.arguments}
            answer = statistics_queries.continuations(arguments.spark, log, pattern, **more)
    except PatternIndexError as error:
        if error.error_class == "CEP_INDEX_NOT_FOUND" and _is_stream(arguments.spark, log):
            raise streaming_unsupported(
                "a table function over its log", arguments.s.text, arguments.place("log")
            ) from None
        raise error.located(arguments.s.text, arguments.place(error.blame)) from None
    _ = answer.frame.schema  # Connect analyses lazily; errors belong here
    return answer.frame, f"{function}: {answer.how}"


def _is_stream(spark: SparkSession, log: Any) -> bool:
    """Whether a log that no index is on is a streaming view."""
    try:
        return bool(log.kind == "table" and spark.table(str(log)).isStreaming)
    except AnalysisException:
        return False


def _log(arguments: CallArguments) -> Any:
    """The index or table that a call names."""
    if (parts := arguments.name("log")) is not None:
        return index.source_of(parts)
    name = arguments.value("log")
    if not isinstance(name, str):
        raise arguments.bad(
            "log", f"The log is {name!r}; it must name a pattern index or a table.", "a name, or a string"
        )
    try:
        return index.parse_source(name)
    except PatternIndexError as error:
        raise error.located(arguments.s.text, arguments.place("log")) from None
