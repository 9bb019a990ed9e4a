"""The plan of EXPLAIN NON ANSWERS as text: the very objects that run."""

from __future__ import annotations

from sparkcep.exec.engines.non_answers.spec import REASONS, Bound
from sparkcep.exec.engines.non_answers.tables import closed_bounds, is_chained
from sparkcep.pattern import render
from sparkcep.planner.engines.non_answers.plan import NonAnswersPlan
from sparkcep.planner.engines.non_answers.sql import fact_texts
from sparkcep.planner.engines.runs.explain import check_line, variables_of
from sparkcep.planner.explain_before import before_lines, filter_line, layout_line
from sparkcep.planner.plan import PatternPlan
from sparkcep.planner.test_codes import typed_component
from sparkcep.query import unescape


def explain_non_answers(plan: PatternPlan[NonAnswersPlan]) -> list[str]:
    """Lines of the plan, without the SQL around the kernel."""
    query, spec = plan.query, plan.engine.spec
    names = spec.run.automaton.names
    shown = variables_of(query)
    clause = query.non_answers
    assert clause is not None
    arguments = ", ".join(unescape(t).strip() for t in (clause.cost, clause.uncertainty, clause.step))
    lines = [f"  Pattern: {render(query.pattern)}"]
    lines.append(f"  Explain non-answers: ({arguments}); one row for each partition without a match")
    strict = ", STRICT TIME" if query.strict_time else ""
    lines.append(f"  Selection: {query.selection.value}{strict}; a partition's first match is enough to leave it out")
    if plan.query.within is not None:
        lines.append(f"  Within: {unescape(plan.query.within)} (inclusive)")
    typed = {code: typed_component(code) for code in plan.input.bits}
    tested = {c: shown[names[c]] if of is None else f"the type of {shown[names[of]]}" for c, of in typed.items()}
    lines += before_lines(plan, tested)
    lines.append("  Kernel evaluates:")
    lines += [line for check in spec.run.checks for line in check_line(check, query, spec.run, plan.engine)]
    lines += _repair(plan)
    reasons = f"of the longest run of each partition that is not repaired: {', '.join(REASONS)}"
    lines.append(f"  Reasons: {'not requested' if spec.repairs_only else reasons}")
    questions = sum(1 for t in fact_texts(query, spec) if t)
    asks = plan.engine.warns
    lines.append(f"  Warnings: {f'{questions} questions to the whole log' if asks else 'not requested'}")
    return [*lines, layout_line(plan), filter_line(plan, plan.engine.filter_reason)]


def _repair(plan: PatternPlan[NonAnswersPlan]) -> list[str]:
    repair = plan.engine.spec.repair
    if repair is None:
        return [f"  Repair: no, {plan.engine.unrepaired}"]
    length = len(repair.places)
    least, most = closed_bounds(length, repair.bounds)
    tested = [k for k in range(len(plan.engine.conditions)) if k not in repair.timed]
    gaps = any(b.gap for b in repair.bounds)
    searched = [
        what
        for what, found in (
            ("bounds between components that are no neighbours", not is_chained(length, least, most)),
            ("gaps", gaps),
            ("conditions between events", bool(tested)),
        )
        if found
    ]
    how = "dynamic programming over (component, event, tick)"
    if searched:
        how += f", which bounds a search for {', '.join(searched)}"
    lines = [
        f"  Repair: {how}",
        f"    at most {repair.most_cost} steps in all and {repair.most_shift} per event, up to "
        f"spark.sparkcep.limit.repairNodes = {plan.engine.spec.limit_nodes} places of a partition",
    ]
    names = [plan.query.component(plan.engine.spec.run.automaton.names[c]).variable for c in repair.places]
    return lines + [f"    {bound_text(b, names)}" for b in repair.bounds]


def bound_text(b: Bound, names: list[str]) -> str:
    """A bound as `2 <= positions from A to B <= 5  (what the user wrote)`."""
    low = f"{b.least} <= " if b.least is not None else ""
    high = f" <= {b.most}" if b.most is not None else ""
    what = "positions" if b.gap else "time"
    return f"{low}{what} from {names[b.first]} to {names[b.second]}{high}  ({b.source})"
