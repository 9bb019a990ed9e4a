"""The pattern plan as text: the very objects that run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sparkcep.planner.engines.non_answers.explain import explain_non_answers
from sparkcep.planner.engines.rows.explain import explain_rows
from sparkcep.planner.engines.runs.explain import explain_runs
from sparkcep.planner.engines.trends.explain import explain_trends
from sparkcep.planner.engines.uncertain.explain import explain_uncertain
from sparkcep.planner.explain_before import indent
from sparkcep.planner.plan import AnyPlan, PatternPlan
from sparkcep.query import PREFIX, unescape

#: What each engine says of its plan.
_ENGINES: Mapping[str, Callable[[PatternPlan[Any]], list[str]]] = MappingProxyType(
    {
        "rows": explain_rows,
        "runs": explain_runs,
        "trends": explain_trends,
        "uncertain": explain_uncertain,
        "non_answers": explain_non_answers,
    }
)


#: Spark's names of the stateful operators.
_OPERATORS = {"state": "applyInPandasWithState", "transform": "transformWithState"}


def explain_plan(
    plan: AnyPlan, name: str, index: Sequence[str], warnings: Sequence[str] = (), *, shared: bool = False
) -> str:
    """One pattern plan.

    Args:
        name: how Spark's plan calls its relation.
        index: how an index is used, or why not. warnings: what is probably wrong with the query itself.
        shared: whether other patterns read the same prepared rows.
    """
    lines = [f"Pattern relation {name}", *(f"  Warning: {warning}" for warning in warnings)]
    lines += [f"  Note: {note}" for note in plan.query.notes]
    lines += _ENGINES[plan.engine.name](plan)
    if plan.input.layout == "rows" and plan.query.partition_predicate:
        lines.append(f"  Key predicates: {unescape(plan.query.partition_predicate)}")
    if plan.stream is not None:
        lines += ["  Stream:", f"    emitted: {plan.stream.decided}", f"    kept: {plan.stream.kept}"]
        if plan.stream.history:
            since = f"rows up to {plan.stream.lookback} before its last event's" if plan.stream.lookback else "all rows"
            lines += [f"    starts with: {plan.stream.history}, {since}"]
        lines += [f"    operator: {_OPERATORS[plan.stream.operator]}"]
        lines += ["    dropped and counted: rows later than the watermark, rows without a time"]
    lines += [f"  Index: {index[0]}", *(f"    {line}" for line in index[1:])]
    lines += ["  SQL before: shared"] if shared else ["  SQL before:", indent(unescape(plan.before()))]
    if plan.fold is not None:
        lines += ["  SQL of the whole relation:", indent(unescape(plan.fold.sql()))]
    else:
        lines += ["  SQL after:", indent(unescape(plan.output.sql()))]
    return "\n".join(lines).replace(PREFIX, "_")
