"""pattern_rules_catalogue: what rules say of themselves, as a relation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame

from sparkcep.errors import PatternAnalysisError, SparkCepError
from sparkcep.session.analyzer import SparkAnalyzer
from sparkcep.session.rules.call import named_rules
from sparkcep.sql.rewriter import Rewriter
from sparkcep.sql.rule_sets.metadata import CATALOGUE, read_metadata
from sparkcep.sql.statement import PatternOccurrence, Statement


def run_catalogue(
    analyzer: SparkAnalyzer, rewriter: Rewriter, statement: Statement, form: PatternOccurrence,
    evaluate: Callable[[int, int], Any],
) -> DataFrame:  # fmt: skip
    """A row for each rule that a call names, also for those that are not enabled.

    Args:
        evaluate: the value of a constant expression between two offsets of the statement.

    Raises:
        SparkCepError: CEP_RULES; CEP_RULE_METADATA, at its place in the rule's text.
    """
    rows = []
    for rule in named_rules(analyzer, rewriter, statement, form, evaluate):
        try:
            rows.append(read_metadata(rule).row(rule))
        except SparkCepError as error:
            sentence = f"Rule {rule.name}: {error.sentence}"
            raise PatternAnalysisError(
                error.error_class, sentence, text=error.text, position=error.position, hint=error.hint
            ) from None
    return analyzer.spark.createDataFrame(rows, CATALOGUE)
