"""The plan of a block with UNCERTAINTY as text: the very objects that run."""

from __future__ import annotations

from sparkcep.planner.engines.runs.explain import check_lines, run_lines
from sparkcep.planner.engines.uncertain.plan import UncertainPlan
from sparkcep.planner.explain_before import filter_line, layout_line
from sparkcep.planner.plan import PatternPlan


def explain_uncertain(plan: PatternPlan[UncertainPlan]) -> list[str]:
    """Lines of the plan, without the SQL around the kernel."""
    engine = plan.engine
    lines = run_lines(plan, engine.spec.run)
    lines += check_lines(plan.query, engine.spec.run, engine, engine.conditions)
    first, *more = engine.notes
    lines += [f"  Uncertainty: {first}", *(f"    {note}" for note in more)]
    return [*lines, layout_line(plan), filter_line(plan, engine.filter_reason)]
