"""Why a pattern has no rows: constants that the log does not hold, and how far the furthest partition came.

A mistyped event type is no error, and its answer is empty like any other. EXPLAIN ANALYZE and the shell ask here; what
is asked costs three aggregates over the input and, where there are no rows, one search for the longest run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sparkcep.errors import SparkCepError, lacks
from sparkcep.expr.types import TIMES, parse_type
from sparkcep.planner.conditions.symbols import compared_strings
from sparkcep.planner.engines.non_answers.plan import plan_non_answers
from sparkcep.query import PREFIX, SOURCE, NonAnswers, quote, string_literal, unescape
from sparkcep.session.analyzer import SparkAnalyzer
from sparkcep.session.inspection.ties import tied_rows
from sparkcep.session.relations import Relation, relation_sql

if TYPE_CHECKING:
    from sparkcep.session.rules.run import RuleSetResult

#: Most values of a column that a constant is compared with for its spelling.
MAX_VALUES = 10_000
#: A number without a unit, which is one of seconds where the ORDER BY key is a time.
_BARE_SECONDS = re.compile(r"([\d.]+)\b(?!\s*(?:s|sec|secs|seconds?)\b)", re.IGNORECASE)
_REASONS = {
    "no_event_of_type": "there is no event of {}'s type",
    "no_successor": "no later event could be {}",
    "condition_failed": "an event of {}'s type failed a condition",
    "window_exceeded": "{} came too late for WITHIN",
    "negation_blocked": "{}, which is negated, occurred",
}


def notes(analyzer: SparkAnalyzer, relation: Relation, has_rows: bool) -> list[str]:
    """Sentences about one pattern: constants its log lacks, where it ``has_rows`` not the longest run, and rows whose
    order their ORDER BY keys do not decide."""
    out = list(unknown_constants(analyzer, relation))
    if not has_rows and (reached := _furthest(analyzer, relation)):
        out.append(reached)
    if tied := tied_rows(analyzer, relation):
        out.append(tied)
    return out


def unknown_constants(analyzer: SparkAnalyzer, relation: Relation) -> Iterable[str]:
    """A sentence for each constant that conditions compare a column with and that no row of the input holds."""
    plan = relation.plan
    wanted = compared_strings(plan.input.tests, plan.input.fields, plan.input.column_types)
    constants = [(quote(column), value) for column, values in wanted.items() for value in values]
    for _, sentence in _lacking(constants, lambda items, behind: _rows(analyzer, relation, items, behind)):
        yield sentence


def unknown_rule_types(analyzer: SparkAnalyzer, rule_set: RuleSetResult) -> Iterable[str]:
    """A sentence for each event type that rules of a set name and that no row of the log has."""
    rules: dict[tuple[str, str], list[str]] = {}
    for plan in (shared.plan for shared in rule_set.passes):
        shape, fields = plan.input.shape, plan.input.fields
        for rule in plan.spec.rules:
            for pair in dict.fromkeys((fields.texts[shape.columns[t.of]], v) for t in rule.tests for v in t.types):
                rules.setdefault(pair, []).append(rule.name)

    def ask(items: str, behind: str) -> list[Any]:
        return analyzer.run(f"SELECT {items} FROM {{{SOURCE}}}{behind}", rule_set.set.call.source).collect()

    for pair, sentence in _lacking(list(rules), ask):
        yield f"rule {', '.join(rules[pair])}: {sentence}"


def _lacking(
    constants: Sequence[tuple[str, str]], ask: Callable[[str, str], list[Any]]
) -> Iterator[tuple[tuple[str, str], str]]:
    """Those of some pairs of a column's SQL and a text that no row has, with a sentence about each.

    Args:
        ask: rows of a SELECT over the log, from its items and what stands behind FROM.
    """
    if not constants:
        return
    tests = [f"coalesce(bool_or({column} = {string_literal(value)}), false)" for column, value in constants]
    (held,) = ask(", ".join(tests), "")
    spellings: dict[str, list[str]] = {}
    for (column, value), known in zip(constants, held, strict=True):
        if known:
            continue
        if column not in spellings:
            rows = ask(f"{column}, count(*) AS n", f" GROUP BY 1 ORDER BY n DESC, 1 LIMIT {MAX_VALUES}")
            spellings[column] = [text for text, _ in rows if text is not None]
        yield (
            (column, value),
            lacks(unescape(column.removeprefix("`").removesuffix("`").replace("``", "`")), value, spellings[column]),
        )


def _rows(analyzer: SparkAnalyzer, relation: Relation, items: str, behind: str = "") -> list[Any]:
    prefix = relation.plan.query.with_prefix
    return analyzer.run(f"{prefix}SELECT {items} FROM {{{SOURCE}}}{behind}", relation.given).collect()


def _furthest(analyzer: SparkAnalyzer, relation: Relation) -> str:
    """How much of the pattern its longest run has, and what it lacked; empty where it cannot be told."""
    plan = relation.plan
    if plan.engine.name in ("non_answers", "uncertain"):
        return ""
    try:
        sql = _longest_runs(analyzer, relation)
    except SparkCepError:
        return ""  # what has no longest run: patterns that may be empty, other ORDER BY keys
    row = analyzer.run(
        f"SELECT size(seen) AS reached, seen, reason, component, count(*) AS partitions FROM (SELECT *, "
        f"array_distinct(transform(run, e -> e.variable)) AS seen FROM {sql}) GROUP BY ALL "
        "ORDER BY reached DESC, reason = 'no_event_of_type', partitions DESC, reason, component LIMIT 1"
    ).collect()
    if not row:
        return "the input has no rows"
    reached, seen, reason, component, partitions = row[0]
    where = f"in {partitions:,} partition{'s' * (partitions != 1)}"
    if reason is None:
        return f"{where} the events are there in order, but the strategy takes others: SKIP TILL ANY MATCH finds them"
    why = _REASONS[reason].format(component)
    if reason == "window_exceeded" and (bare := _BARE_SECONDS.match(plan.query.text, plan.query.within_position)):
        why += f"; WITHIN {bare[1]} is {bare[1]} seconds" if plan.bound.within == f"INTERVAL {bare[1]} SECOND" else ""
    if not reached:
        return f"no partition has the first component; {where} {why}"
    return f"the longest partial matches have {', '.join(seen)}; {where} {why}"


def _longest_runs(analyzer: SparkAnalyzer, relation: Relation) -> str:
    """The relation of EXPLAIN NON ANSWERS of a pattern, with no shift allowed."""
    query, source = relation.plan.bound, relation.given
    order = query.order_by[0].expression if query.order_by else ""
    kind = parse_type(analyzer.analyze(query, source, [order])[0][1]).kind if order else ""
    step = {"date": "INTERVAL 1 DAY"}.get(kind, "INTERVAL 1 SECOND" if kind in TIMES else "1")
    no_shift = NonAnswers("0", step.replace("1", "0"), step)
    query = replace(
        query, has_return=False, trends=(), group_by=(), output=(), having=None, collapsed=False, omit_censored=False,
        slide=None, timed_out=False, limit=None, non_answers=no_shift, wanted=frozenset({"run", "reason", "component"}),
    )  # fmt: skip
    types = [f.dataType.simpleString() for f in source.schema.fields]
    planned = plan_non_answers(
        query, analyzer.settings, lambda items: analyzer.analyze(query, source, items), lambda *_: None, types
    )
    return relation_sql(analyzer, f"{PREFIX}{relation.name.removeprefix(PREFIX)}_runs", planned, source, None)
