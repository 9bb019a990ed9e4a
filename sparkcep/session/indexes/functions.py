"""Run pattern_statistics and pattern_continuations where they stand in a statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from sparkcep import index
from sparkcep.errors import PatternAnalysisError, PatternIndexError, SparkCepError, streaming_unsupported
from sparkcep.index import statistics_queries
from sparkcep.spark.exceptions import reason
from sparkcep.sql.statement import PatternOccurrence, Statement
from sparkcep.sql.table_functions import Call, plain_literal, read_call, relation_name


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


class _Run:
    def __init__(
        self, spark: SparkSession, statement: Statement, form: PatternOccurrence, evaluate: Callable[[int, int], Any]
    ) -> None:
        self.spark = spark
        self.s = statement
        self.form = form
        self.evaluate = evaluate
        self.call: Call = read_call(statement, form)

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
        low, high = self.call.arguments["log"]
        parts = relation_name(self.s, low, high)
        if parts is not None:
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

    def value(self, parameter: str) -> Any:
        low, high = self.call.arguments[parameter]
        literal = plain_literal(self.s, low, high)
        if literal is not None:
            return literal
        try:
            return self.evaluate(self.s.tokens[low].start, self.s.tokens[high - 1].end)
        except SparkCepError:
            raise
        except AnalysisException as error:
            message = reason(error).split(";")[0]
            raise self.bad(
                parameter, f"The argument for {parameter} must be a constant: {message.rstrip('. ')}.",
                "mode => 'fast'" if parameter == "mode" else None,
            ) from None  # fmt: skip

    def bad(self, parameter: str, message: str, hint: str | None) -> PatternAnalysisError:
        return PatternAnalysisError(
            "CEP_TABLE_FUNCTION_ARGUMENT", message, text=self.s.text, position=self.place(parameter), hint=hint
        )

    def place(self, blame: str) -> int:
        """The offset of a parameter's argument; in a plain literal that of a part of the pattern."""
        parameter, _, offset = blame.partition(":")
        span = self.call.arguments.get(parameter)
        if span is None:
            return self.form.keyword.start
        start = self.s.tokens[span[0]].start
        return start + 1 + int(offset) if offset and plain_literal(self.s, *span) is not None else start
