"""Run pattern_statistics and pattern_continuations where they stand in a statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from sparkcep import index
from sparkcep.errors import PatternIndexError, streaming_unsupported
from sparkcep.index import statistics_queries
from sparkcep.session.functions.call_arguments import CallArguments
from sparkcep.sql.statement import PatternOccurrence, Statement


def run_table_function(
    spark: SparkSession, statement: Statement, form: PatternOccurrence, evaluate: Callable[[int, int], Any]
) -> tuple[DataFrame, str]:
    """The rows of a call, and how they were found.

    Args:
        evaluate: the value of a constant expression between two offsets of the statement.

    Raises:
        SparkCepError: with the place of what is at fault.
    """
    return _Run(spark, statement, form, evaluate).result()


class _Run(CallArguments):
    def __init__(
        self, spark: SparkSession, statement: Statement, form: PatternOccurrence, evaluate: Callable[[int, int], Any]
    ) -> None:
        super().__init__(statement, form, evaluate)
        self.spark = spark

    def result(self) -> tuple[DataFrame, str]:
        log = self.log()
        pattern = self.value("pattern")
        if not isinstance(pattern, str):
            raise self.bad("pattern", f"The pattern is {pattern!r}; it must be a string.", "'A B C'")
        try:
            if self.call.function == "pattern_statistics":
                answer = statistics_queries.statistics(self.spark, log, pattern)
            else:
                more = {name: self.value(name) for name in ("mode", "k") if name in self.call.arguments}
                answer = statistics_queries.continuations(self.spark, log, pattern, **more)
        except PatternIndexError as error:
            if error.error_class == "CEP_INDEX_NOT_FOUND" and self.is_stream(log):
                raise streaming_unsupported("a table function over its log", self.s.text, self.place("log")) from None
            raise error.located(self.s.text, self.place(error.blame)) from None
        _ = answer.frame.schema  # Connect analyses lazily; errors belong here
        return answer.frame, f"{self.call.function}: {answer.how}"

    def is_stream(self, log: Any) -> bool:
        """Whether a log that no index is on is a streaming view."""
        try:
            return bool(log.kind == "table" and self.spark.table(str(log)).isStreaming)
        except AnalysisException:
            return False

    def log(self) -> Any:
        if (parts := self.name("log")) is not None:
            return index.source_of(parts)
        name = self.value("log")
        if not isinstance(name, str):
            raise self.bad(
                "log", f"The log is {name!r}; it must name a pattern index or a table.", "a name, or a string"
            )
        try:
            return index.parse_source(name)
        except PatternIndexError as error:
            raise error.located(self.s.text, self.place("log")) from None
