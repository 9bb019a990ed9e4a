"""Arguments of a call of one of sparkcep's table functions, with the place of what is at fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from sparkcep.errors import PatternAnalysisError, SparkCepError
from sparkcep.spark.exceptions import reason
from sparkcep.sql.statement import PatternOccurrence, Statement
from sparkcep.sql.table_functions import Call, plain_literal, read_call, relation_name


class CallArguments:
    """A call's arguments by their parameters, in a session.

    Args:
        evaluate: the value of a constant expression between two offsets of the statement.

    Raises:
        SparkCepError: as :func:`read_call`.
    """

    def __init__(
        self, spark: SparkSession, statement: Statement, form: PatternOccurrence, evaluate: Callable[[int, int], Any]
    ) -> None:
        self.spark = spark
        self.s = statement
        self.form = form
        self.evaluate = evaluate
        self.call: Call = read_call(statement, form)

    def name(self, parameter: str) -> tuple[str, ...] | None:
        """Parts of the name that an argument is; None for any other expression."""
        return relation_name(self.s, *self.call.arguments[parameter])

    def value(self, parameter: str) -> Any:
        """The value of an argument."""
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
        """CEP_TABLE_FUNCTION_ARGUMENT; the caller raises it."""
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
