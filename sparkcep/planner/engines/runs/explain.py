"""The plan of a pattern under an event selection strategy as text: the very objects that run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkcep.exec.automaton import Automaton
from sparkcep.exec.engines.runs.spec import NO_LIMIT, Check, RunSpec
from sparkcep.pattern import render
from sparkcep.planner.conditions.consistency import consistency
from sparkcep.planner.engines.runs.collapse import first_component
from sparkcep.planner.engines.runs.plan import RunsPlan
from sparkcep.planner.explain_before import before_lines, decision_lines, filter_line, indent, layout_line, place_lines
from sparkcep.planner.plan import AnyPlan, EngineDefaults, PatternPlan
from sparkcep.query import Condition, Matches, PatternQuery, Selection, unescape


def explain_runs(plan: PatternPlan[RunsPlan]) -> list[str]:
    """Lines of the plan, without the SQL around the kernel."""
    engine = plan.engine
    lines = run_lines(plan, engine.spec)
    lines += check_lines(plan.query, engine.spec, engine, engine.conditions)
    if engine.collapse is not None:
        kept = "exact" if engine.collapse.exact else "not exact, candidates may make no match together"
        lines.append(f"  Collapsed: {len(engine.collapse.postponed)} conditions postponed; {kept}")
    return [*lines, layout_line(plan), *decision_lines(plan), filter_line(plan, engine.filter_reason)]


def run_lines(plan: AnyPlan, spec: RunSpec) -> list[str]:
    """The pattern, its automaton, and what Spark evaluates."""
    query = plan.query
    lines = [f"  Pattern: {render(query.pattern)}"]
    matches = query.which + (", COLLAPSED" if query.collapsed else "")
    lines.append(f"  Selection: {query.strategy}, {matches}{', STRICT TIME' if query.strict_time else ''}")
    if query.within is not None:
        lines.append(f"  Within: {unescape(query.within)} (inclusive)")
    if query.timed_out:
        lines.append("  Timed out: of start events without a match, the run that fewest events are missing from")
    if query.omit_censored:
        what = "whose trailing negation" if query.matches is Matches.ALL else "whose first event's WITHIN"
        lines.append(f"  Censored: matches {what} the log's last event does not decide are left out")
    if spec.most_matches < NO_LIMIT:
        lines.append(f"  Limit: a partition stops after {spec.most_matches} matches, as no more are needed")
    automaton = spec.automaton
    edges = sum(len(e) for e in automaton.edges)
    lines += [f"  Automaton: {automaton.states} states, {edges} edges", indent(automaton.describe(variables_of(query)))]
    return lines + before_lines(plan)


def variables_of(query: PatternQuery) -> Mapping[str, str]:
    """Variables as users write them, by component."""
    return {c.key: c.variable for c in query.components}


def check_lines(
    query: PatternQuery, spec: RunSpec, engine: EngineDefaults, conditions: Sequence[Condition]
) -> list[str]:
    """What the kernel evaluates."""
    lines = ["  Kernel evaluates while matching:"]
    if not spec.checks:
        lines.append("    nothing but the event graph")
    for check in spec.checks:
        class_text = ""
        if query.selection is Selection.ANY:  # subsets of candidates are enumerated
            class_text = condition_class(spec.automaton, conditions[check.number], check.span is not None)
        line, *more = check_line(check, query, spec, engine)
        lines += [line + class_text, *more]
    return lines


def check_line(check: Check, query: PatternQuery, spec: RunSpec, engine: EngineDefaults) -> list[str]:
    """When a condition is tested, and of which variables; where, if not in the kernel."""
    shown, names = variables_of(query), spec.automaton.names
    keys = "|".join(dict.fromkeys(shown[names[c]] for c in sorted(check.decided_by)))
    text = f"    {check.at.value} {keys}: {engine.described[check.number]}"
    return [text, *place_lines(engine.lacking, check.number)]


def condition_class(automaton: Automaton, condition: Condition, prechecked: bool) -> str:
    """The class of a condition (SASE++). ``prechecked``: whether it is tested before matches are enumerated."""
    first = first_component(automaton)
    key = automaton.names[first] if first >= 0 else ""
    return f" ({consistency(condition, key).value}{'; tested before matches are enumerated' if prechecked else ''})"
