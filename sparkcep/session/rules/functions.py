"""Run pattern_rules, pattern_rule_errors and pattern_rule_costs where they stand in a statement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from sparkcep.errors import PatternAnalysisError, streaming_unsupported
from sparkcep.session.analyzer import SparkAnalyzer
from sparkcep.session.narrowing import Narrowing
from sparkcep.session.rules.call import read_rule_call
from sparkcep.session.rules.costs import costs_sql
from sparkcep.session.rules.run import RuleSet, RuleSetResult
from sparkcep.sql.rewriter import Rewriter
from sparkcep.sql.statement import RULE_COSTS, PatternOccurrence, Statement


def run_rule_set(
    analyzer: SparkAnalyzer,
    rewriter: Rewriter,
    statement: Statement,
    form: PatternOccurrence,
    evaluate: Callable[[int, int], Any],
    matched: Callable[[str, DataFrame], DataFrame],
    narrow: Narrowing | None = None,
) -> RuleSetResult:
    """A call of pattern_rules, pattern_rule_errors or pattern_rule_costs as a relation.

    Args:
        matched: the result of a statement with a pattern over ``{rows}``.
        narrow: leaves out rules, and partitions of the log.

    Raises:
        SparkCepError: of the call; CEP_RULES, no rule runs over a stream. What is wrong with a rule is in the set's
            report.
    """
    call = read_rule_call(analyzer, rewriter, statement, form, evaluate)
    if narrow is not None:
        call = replace(call, rules=narrow.rules(call.rules))
    rules = RuleSet(analyzer, call, matched, narrow=narrow)
    if rules.streams and form.keyword.upper == RULE_COSTS:
        hint = "name a table with a part of the stream's events"
        raise streaming_unsupported("pattern_rule_costs", statement.text, form.keyword.start, hint)
    rules.bind()
    if form.keyword.upper == RULE_COSTS:
        return RuleSetResult(costs_sql(rules), [], [], [], rules)
    found = rules.relation()
    if form.keyword.text.lower() == "pattern_rules":
        if rules.streams and not found.passes:  # a query without an operator would never have one
            raise PatternAnalysisError(
                "CEP_RULES", "None of the rules can run over the stream.", text=statement.text,
                position=form.keyword.start, hint="pattern_rule_errors with the same arguments says why",
            )  # fmt: skip
        return found
    return replace(found, sql=f"SELECT * FROM {rules.named('relation', rules.report())}", relations=[], passes=[])
