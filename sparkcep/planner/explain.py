"""The pattern plan as text: the very objects that run."""

from __future__ import annotations

from collections.abc import Sequence

from sparkcep.exec.engines.runs.spec import NO_LIMIT
from sparkcep.pattern import render
from sparkcep.planner.conditions.consistency import consistency
from sparkcep.planner.engines.non_answers.explain import explain_non_answers
from sparkcep.planner.engines.non_answers.plan import NonAnswersPlan
from sparkcep.planner.engines.runs.collapse import first_component
from sparkcep.planner.engines.runs.plan import RunPlan
from sparkcep.planner.engines.trends.explain import explain_trends
from sparkcep.planner.engines.trends.plan import TrendPlan
from sparkcep.planner.engines.uncertain.plan import UncertainPlan
from sparkcep.planner.explain_before import before_lines, indent
from sparkcep.planner.plan import PatternPlan
from sparkcep.planner.rules.gap_sequence import GapSequencePlan
from sparkcep.query import PREFIX, Selection, unescape


def explain_plan(plan: PatternPlan, name: str, index: Sequence[str]) -> str:
    """One pattern plan.

    Args:
        name: how Spark's plan calls its relation.
        index: how an index is used, or why not.
    """
    if isinstance(plan, TrendPlan):
        return "\n".join([*explain_trends(plan, name), *_index(index), *_sql(plan)]).replace(PREFIX, "_")
    if isinstance(plan, NonAnswersPlan):
        return "\n".join([*explain_non_answers(plan, name), *_index(index), *_sql(plan)]).replace(PREFIX, "_")
    if isinstance(plan, RunPlan):
        return explain_run(plan, name, index)
    query, spec = plan.query, plan.spec
    lines = [f"Pattern relation {name}"]
    if isinstance(plan, GapSequencePlan):
        block = plan.block
        lines.append(f"  Block: {render(block.pattern)}, {block.selection.value}, {block.matches.value}; run as:")
    lines.append(f"  Pattern: {render(query.pattern)}")
    skip = query.skip.mode.value + (f" {query.skip.target}" if query.skip.target else "")
    lines.append(f"  Selection: STRICT CONTIGUITY, {query.rows_per_match.value}, AFTER MATCH {skip}")
    if query.within is not None:
        lines.append(f"  Within: {unescape(query.within)} (inclusive)")
    states = f"{plan.program.positions} positions, {len(plan.program.edge_target)} edges"
    lines += [f"  Program: {states}", indent(plan.program.describe())]
    lines += before_lines(plan)
    free = [
        n
        for k, n in enumerate(plan.program.names)
        if k not in spec.condition_bits and k not in plan.dependent.conditions
    ]
    if free:
        lines.append(f"    always true: {', '.join(free)}")
    lines.append("  Kernel evaluates while matching:")
    if not plan.dependent.conditions:
        lines.append("    nothing; matching is linear in the rows")
    for label, texts in plan.dependent.descriptions.items():
        lines.append(f"    {plan.program.names[label]} AS {' AND '.join(t.strip() for t in texts)}")
    if plan.interpreted_because:
        lines.append(f"    by the interpreter (slow), since the kernel has no {plan.interpreted_because}")
    elif plan.dependent.conditions:
        lines.append("    by compiled condition programs")
    lines.append(f"  Layout: {plan.layout} ({plan.layout_reason})")
    lines.append(f"  Gap elimination: {'yes' if plan.gaps.keep else 'no'}, {plan.gaps.reason}")
    if plan.gaps.keep:
        lines.append(f"    rows kept: {unescape(plan.gaps.keep)}")
    lines.append(f"  Join prefilter: {'yes' if plan.prefilter.needed else 'no'}, {plan.prefilter.reason}")
    lines.append(f"  Range splitting: {'yes' if plan.splitting.ranges else 'no'}, {plan.splitting.reason}")
    if plan.layout == "rows" and query.partition_predicate:
        lines.append(f"  Key predicates: {unescape(query.partition_predicate)}")
    dropped = [m.name for m in query.measures if plan.measures.is_unwanted(m)]
    if dropped:
        lines.append(f"  Column pruning: nobody asks for {', '.join(dropped)}")
    lines += [*_index(index), *_sql(plan)]
    return "\n".join(lines).replace(PREFIX, "_")


def _index(lines: Sequence[str]) -> list[str]:
    return [f"  Index: {lines[0]}", *(f"    {line}" for line in lines[1:])]


def _sql(plan: PatternPlan) -> list[str]:
    lines = ["  SQL before:", indent(unescape(plan.before()))]
    if plan.layout == "fold":
        lines += ["  SQL of the whole relation:", indent(unescape(plan.folded()))]
    else:
        lines += ["  SQL after:", indent(unescape(plan.measures.sql()))]
    return lines


def _consistency(plan: RunPlan, number: int) -> str:
    """The class of a condition where subsets of candidates are enumerated."""
    if plan.block.selection is not Selection.ANY:
        return ""
    first = first_component(plan.run_spec.automaton)
    key = plan.run_spec.automaton.names[first] if first >= 0 else ""
    judged = "; judged before matches are enumerated" if plan.run_spec.checks[number].span is not None else ""
    return f" ({consistency(plan.conditions[number], key).value}{judged})"


def explain_run(plan: RunPlan, name: str, index: Sequence[str]) -> str:
    """The plan of a pattern under an event selection strategy."""
    block, spec = plan.block, plan.run_spec
    shown = {c.key: c.variable for c in block.components}
    lines = [f"Pattern relation {name}", f"  Pattern: {render(block.pattern)}"]
    matches = block.matches.value + (", COLLAPSED" if block.collapsed else "")
    lines.append(f"  Selection: {block.selection.value}, {matches}{', STRICT TIME' if block.strict_time else ''}")
    if plan.query.within is not None:
        lines.append(f"  Within: {unescape(plan.query.within)} (inclusive)")
    if block.omit_censored:
        lines.append("  Censored: matches whose trailing negation the log's last event does not decide are left out")
    if spec.most_matches < NO_LIMIT:
        lines.append(f"  Limit: a partition stops after {spec.most_matches} matches, no more are asked for")
    automaton = spec.automaton
    edges = sum(len(e) for e in automaton.edges)
    lines += [f"  Automaton: {automaton.states} states, {edges} edges", indent(automaton.describe(shown))]
    lines += before_lines(plan)
    lines.append("  Kernel evaluates while matching:")
    if not spec.checks:
        lines.append("    nothing but the event graph")
    for check in spec.checks:
        keys = "|".join(dict.fromkeys(shown[automaton.names[c]] for c in sorted(check.decided_by)))
        text = " AND ".join(t.strip() for t in plan.dependent.descriptions[check.number])
        lines.append(f"    {check.at.value} {keys}: {text}{_consistency(plan, check.number)}")
    if isinstance(plan, UncertainPlan):
        lines += ["  Uncertainty: " + plan.notes[0], *(f"    {note}" for note in plan.notes[1:])]
    if plan.interpreted_because:
        lines.append(f"    by the reference search (slow), since the kernel has no {plan.interpreted_because}")
    if plan.collapse is not None:
        kept = "exact" if plan.collapse.exact else "not exact, candidates may make no match together"
        lines.append(f"  Collapsed: {len(plan.collapse.postponed)} conditions postponed; {kept}")
    lines.append(f"  Layout: {plan.layout} ({plan.layout_reason})")
    lines.append(f"  Filter first: {'; '.join(unescape(f) for f in plan.filters) or 'no'}, {plan.gaps.reason}")
    lines += [*_index(index), *_sql(plan)]
    return "\n".join(lines).replace(PREFIX, "_")
