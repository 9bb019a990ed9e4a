"""pattern_rules_catalogue: what rules say of themselves, as a relation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame

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
    rules = named_rules(analyzer, rewriter, statement, form, evaluate)
    return analyzer.spark.createDataFrame([read_metadata(rule).row(rule) for rule in rules], CATALOGUE)
