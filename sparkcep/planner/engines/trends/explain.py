"""The plan of trend aggregates as text: the very objects that run."""

from __future__ import annotations

from collections.abc import Mapping

from sparkcep.exec.automaton import ACCEPT
from sparkcep.exec.engines.trends.matcher import LANES
from sparkcep.exec.engines.trends.spec import EdgeClass, Granularity, KeyPair, Part
from sparkcep.pattern import render
from sparkcep.planner.engines.runs.explain import variables_of
from sparkcep.planner.engines.trends.linear import key_texts
from sparkcep.planner.engines.trends.plan import TrendsPlan
from sparkcep.planner.engines.trends.sql import TrendSql
from sparkcep.planner.explain_before import before_lines, filter_line, layout_line
from sparkcep.planner.plan import PatternPlan
from sparkcep.planner.test_codes import is_component, part_of
from sparkcep.query import Selection, unescape


def explain_trends(plan: PatternPlan[TrendsPlan]) -> list[str]:
    """Lines of the plan, without the SQL around the kernel."""
    query, spec = plan.query, plan.engine.spec
    shown = variables_of(query)
    lines = [f"  Pattern: {render(query.pattern)}"]
    lines.append(f"  Selection: {query.selection.value}{', STRICT TIME' if query.strict_time else ''}")
    if spec.windowed:
        overlapping = -(-spec.width // spec.slide)
        lines.append(
            f"  Windows: {unescape(query.within or '')} every {unescape(query.slide or query.within or '')}, "
            f"{overlapping} over each event, up to {min(overlapping, LANES)} in one walk"
        )
    automaton = spec.automaton
    edges = sum(len(e) for e in automaton.edges)
    lines.append(f"  Automaton: {automaton.states} states, {edges} edges")
    lines += ["    " + line for line in automaton.describe(shown).splitlines()]
    tested = {k: of_part(k, plan) for k in plan.input.bits}
    lines += before_lines(plan, tested)
    if spec.parts:
        lines.append("  AND: trends of both sides and those that are both, counted apart; then pairs of two trends")
    if plan.engine.slow_because:
        lines.append(f"  Conditions: {plan.engine.slow_because}")
    if spec.enumerated:
        lines.append(f"  Granularity: trends are constructed, up to spark.sparkcep.limit.matches: {spec.enumerated}")
    else:
        lines.append("  Granularity: no trend is constructed; what stands before an event is")
        for part in spec.parts or (Part(spec, 0, 0, len(plan.input.shape.columns)),):
            lines += [f"    {granularity(plan, part, c, shown)}" for c in part.spec.classes]
    lines.append(f"  Aggregates: {', '.join(unescape(t.name) for t in query.trends)}")
    groups = ", ".join(unescape(k.expression) for k in query.group_by)
    lines.append(f"  Spark evaluates after: partial results by {groups or '(one group)'}" + ", window" * spec.windowed)
    if query.having is not None and isinstance(plan.output, TrendSql):
        lines.append(f"    having {plan.output.as_written(unescape(query.having.text))}")
    return [*lines, layout_line(plan), filter_line(plan, plan.engine.filter_reason)]


def of_part(code: int, plan: PatternPlan[TrendsPlan]) -> str:
    """What a test is of."""
    number, own = part_of(code)
    if not is_component(own):
        return "of single edges"
    parts = plan.engine.spec.parts
    return parts[number].spec.automaton.names[own] if parts else plan.engine.spec.automaton.names[own]


def granularity(plan: PatternPlan[TrendsPlan], part: Part, c: EdgeClass, shown: Mapping[str, str]) -> str:
    """How one class of edges is read."""
    automaton, texts = part.spec.automaton, plan.input.fields.texts
    columns = plan.input.shape.columns[part.first_column : part.after_column]

    def state(number: int) -> str:
        key = automaton.names[automaton.components[number]]
        return f"{shown.get(key, key)}.{number}"

    edges = [automaton.edges[c.state][e] for e in c.edges]
    targets = ", ".join(dict.fromkeys(state(e.target) for e in edges if e.target != ACCEPT))
    text = f"{state(c.state)} -> {targets}: "
    if plan.query.selection is Selection.STRICT:
        return text + "the event right before"
    text += c.granularity.value

    def compared(pair: KeyPair, operator: str) -> str:
        sides = ((unescape(texts[columns[key.column]]), key, part.spec.column_types[key.column]) for key in pair.keys)
        before, after = key_texts(*sides)
        return f"{before} {operator} next {after}"

    if c.order is not None:
        conditions = [compared(p, "=") for p in c.order.equal]
        if c.order.ordered is not None:
            conditions.append(compared(c.order.ordered, c.order.operator))
        if c.order.second is not None:
            conditions.append(compared(c.order.second, c.order.second_operator))
        text += f" over {' AND '.join(conditions)}"
    if c.granularity is Granularity.PAIRS and part.first_column == 0:
        found = [compared(o.pair, o.operator) for o in c.compared]
        found += [plan.engine.described[t] for t in c.tests]
        text += f", tested: {' AND '.join(found)}" if found else ", as what one takes along is lost to the others"
    return text
