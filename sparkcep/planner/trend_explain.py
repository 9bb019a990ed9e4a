"""The plan of trend aggregates as text: the very objects that run."""

from __future__ import annotations

from sparkcep.exec.automaton import ACCEPT
from sparkcep.exec.trend_matcher import LANES
from sparkcep.exec.trend_spec import EdgeClass, Granularity
from sparkcep.pattern import render
from sparkcep.planner.explain_before import before_lines
from sparkcep.planner.fields import unescape
from sparkcep.planner.trend_plan import EDGE_TESTS, TrendPlan
from sparkcep.query import Selection


def explain_trends(plan: TrendPlan, name: str) -> list[str]:
    """Lines of the plan, without the SQL around the kernel."""
    block, spec = plan.block, plan.trend_spec
    shown = {c.key: c.variable for c in block.components}
    lines = [f"Pattern relation {name}", f"  Pattern: {render(block.pattern)}"]
    lines.append(f"  Selection: {block.selection.value}{', STRICT TIME' if block.strict_time else ''}")
    if spec.windowed:
        overlapping = -(-spec.width // spec.slide)
        lines.append(
            f"  Windows: {unescape(block.within or '')} every {unescape(block.slide or block.within or '')}, "
            f"{overlapping} over each event, {min(overlapping, LANES)} in one walk"
        )
    automaton = spec.automaton
    edges = sum(len(e) for e in automaton.edges)
    lines.append(f"  Automaton: {automaton.states} states, {edges} edges")
    lines += ["    " + line for line in automaton.describe(shown).splitlines()]
    tested = {k: "of single edges" if k >= EDGE_TESTS else automaton.names[k] for k in plan.bits}
    lines += before_lines(plan, tested)
    if spec.enumerated:
        lines.append(f"  Granularity: trends are constructed, up to spark.sparkcep.limit.matches: {spec.enumerated}")
    else:
        lines.append("  Granularity: no trend is constructed; what stands before an event is")
        lines += [f"    {line}" for c in spec.classes for line in [granularity(plan, c, shown)]]
    groups = ", ".join(unescape(k.expression) for k in block.group_by)
    lines.append(f"  Spark evaluates after: partial results by {groups or '(one group)'}" + ", window" * spec.windowed)
    lines.append(f"  Layout: {plan.layout} ({plan.layout_reason})")
    lines.append(f"  Filter first: {'; '.join(unescape(f) for f in plan.filters) or 'no'}, {plan.gaps.reason}")
    return lines


def granularity(plan: TrendPlan, c: EdgeClass, shown: dict[str, str]) -> str:
    """How one class of edges is read."""
    automaton, texts = plan.trend_spec.automaton, plan.fields.texts
    columns = plan.shape.columns

    def state(number: int) -> str:
        key = automaton.names[automaton.components[number]]
        return f"{shown.get(key, key)}.{number}"

    edges = [automaton.edges[c.state][e] for e in c.edges]
    targets = ", ".join(dict.fromkeys(state(e.target) for e in edges if e.target != ACCEPT))
    text = f"{state(c.state)} -> {targets}: "
    if plan.block.selection is Selection.STRICT:
        return text + "the event right before"
    text += c.granularity.value
    if c.order is not None:
        pairs = [(p, "=") for p in c.order.equal]
        if c.order.ordered is not None:
            pairs.append((c.order.ordered, c.order.operator))
        conditions = [
            f"{unescape(texts[columns[p.before]])} {operator} next {unescape(texts[columns[p.after]])}"
            for p, operator in pairs
        ]
        text += f" over {' AND '.join(conditions)}"
    if c.granularity is Granularity.PAIRS:
        found = [" AND ".join(plan.dependent.descriptions[t]).strip() for t in c.tests]
        text += f", tested: {' AND '.join(found)}" if found else ", as what one takes along is lost to the others"
    return text
