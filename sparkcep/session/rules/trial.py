"""What Spark refuses of many texts, and rules that fail over a log, found before they run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from sparkcep.errors import PatternAnalysisError
from sparkcep.planner.engines.shared.plan import SharedPlanner
from sparkcep.planner.plan import AnyPlan
from sparkcep.query import SOURCE
from sparkcep.session.analyzer import SparkAnalyzer
from sparkcep.session.messages.printed import is_sparks, short_message
from sparkcep.spark.exceptions import condition_of, sentence
from sparkcep.sql.rule_sets.binder import BoundRule

_Refusal = TypeVar("_Refusal", bound=Exception)


class Failed(Exception):
    """A job that failed: Spark's error class, empty where it has none, and its sentence."""

    def __init__(self, error: Exception) -> None:
        known = error if isinstance(error, PySparkException) else None
        self.error_class = condition_of(known) if known else ""
        self.sentence = sentence(known) if known else short_message(error).split("\n")[0].rpartition("driver): ")[2]
        super().__init__(self.sentence)

    def of_rule(self, bound: BoundRule, plan: AnyPlan, sql: str) -> PatternAnalysisError:
        """The error of a rule, at the condition whose SQL fails, if it is one; the caller notes it."""
        conditions = [c for own in plan.input.tests.values() for c in own if not c.shifts and c.sql() in sql]
        position = conditions[-1].position if conditions else bound.query.start
        hint = "put a condition before it that keeps such events out, or write try_cast, try_divide and the like"
        text = bound.query.text
        if self.error_class:
            return PatternAnalysisError(self.error_class, self.sentence, text=text, position=position, hint=hint)
        return PatternAnalysisError("CEP_RULE_FAILED", self.sentence, text=text, position=position, hint=hint)


def failed_rules(analyzer: SparkAnalyzer, log: DataFrame, planner: SharedPlanner) -> Mapping[str, tuple[str, Failed]]:
    """The rules of which a condition or a value of an event fails for some event of the log, which is read for it: by
    name, the first such SQL and why.

    Raises:
        pyspark.errors.PySparkException: the log itself cannot be read.
    """
    texts = {rule.name: planner.input.texts(rule) for rule in planner.rules}

    def ask(some: list[str]) -> None:
        items = ", ".join(f"max({text})" for text in some)
        try:
            analyzer.run(f"SELECT {items} FROM {{{SOURCE}}}", log).collect()
        except Exception as error:
            if not is_sparks(error):
                raise
            raise Failed(error) from None

    wrong = failing(list(dict.fromkeys(text for own in texts.values() for text in own)), ask, Failed)
    if wrong:
        analyzer.run(f"SELECT count(*) FROM {{{SOURCE}}}", log).collect()
    found = {name: next((text for text in own if text in wrong), "") for name, own in texts.items()}
    return {name: (text, wrong[text]) for name, text in found.items() if text}


def failing(texts: list[str], ask: Callable[[list[str]], None], kind: type[_Refusal]) -> dict[str, _Refusal]:
    """The texts that Spark refuses, which is asked for all together, and by halves where one is wrong.

    Args:
        kind: the exception by which it refuses.
    """
    if not texts:
        return {}
    try:
        ask(texts)
    except kind as error:
        if len(texts) == 1:
            return {texts[0]: error}
        half = len(texts) // 2
        return {**failing(texts[:half], ask, kind), **failing(texts[half:], ask, kind)}
    return {}
