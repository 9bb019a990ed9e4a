"""The reasons kernel names the longest run and what stopped it as the definition does."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given

from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.non_answers.matcher import Reasons
from sparkcep.exec.engines.non_answers.spec import REASONS, Facts, RepairSpec
from sparkcep.pattern import Alternation, Concatenation, Negation, Permutation, Quantified, Variable, variables
from sparkcep.planner.engines.runs.plan import RunsPlan
from sparkcep.planner.plan import PatternPlan
from sparkcep.query import Component, Condition, Matches, Selection, TestedAt

from .reference_reasons import ReasonSearch, reference_reason
from .reference_runs import ReferenceCase, ReferenceCondition
from .run_engine import batch_of_case, plan_case
from .run_strategies import Comparison, RunCase, as_reference, last, run_cases
from .strategies import row_pattern


def spec_of(plan: PatternPlan[RunsPlan], needed: tuple[int, ...] = ()) -> RepairSpec:
    bits = tuple(plan.input.bits.get(c, -1) for c in range(len(plan.engine.spec.automaton.names)))
    return RepairSpec(plan.engine.spec, plan.input.bits, None, bits, needed, Facts((), (), -1), 0)


def told(engine: Reasons | ReasonSearch, case: RunCase, plan: PatternPlan[RunsPlan]) -> tuple[object, ...]:
    out, runs = engine.explain(batch_of_case(case, plan), np.ones(1, np.uint8))
    names = plan.engine.spec.automaton.names
    reason, component, event = out[0, :3].tolist()
    return (
        REASONS[reason], names[component] if component >= 0 else None, event,
        [(names[c], int(row)) for c, row in runs],
    )  # fmt: skip


def check(case: RunCase, calls_back: CallsBack = CallsBack.WHERE_NEEDED) -> None:
    plan = plan_case(case)
    assume(case.types and not case.reference())
    spec = spec_of(plan)
    assert told(Reasons(spec, calls_back), case, plan) == told(ReasonSearch(spec), case, plan)


@given(run_cases(negation=False))
def test_without_negation(case: RunCase) -> None:
    check(case)


@given(run_cases(maximum_conditions=0))
def test_without_conditions(case: RunCase) -> None:
    check(case)


@given(run_cases())
def test_any_case(case: RunCase) -> None:
    check(case)


@given(run_cases(negation=False))
def test_conditions_that_the_kernel_calls_back_for(case: RunCase) -> None:
    check(case, CallsBack.ALWAYS)


def test_of_several_negations_in_front_the_last_is_told_behind_which_no_way_is_left() -> None:
    """C2 first, then C* and the negation of A3, needs no A3 to be absent: A3 blocks the other order alone."""
    items = (
        Quantified(Variable("C"), 0, None, greedy=False),
        Negation(Quantified(Variable("A3"), 1, None)),
    )
    pattern = Concatenation(
        (
            Negation(Concatenation((Variable("A"), Variable("A2")))),
            Permutation((Concatenation(items), Quantified(Variable("C2"), 0, 1))),
        )
    )
    case = RunCase(
        pattern,
        (
            Component("A", "A", (), negated=True),
            Component("A2", "A2", (), negated=True),
            Component("C", "C", ("C",), kleene=True),
            Component("A3", "A3", ("A",), kleene=True, negated=True),
            Component("C2", "C2", ("C",)),
        ),
        ("A", "A", "C", "C", "C", "C", "C"), (0,) * 7, (0,) * 7, (), (), Selection.NEXT, Matches.ALL, None, False,
    )  # fmt: skip
    check(case)
    plan = plan_case(case)
    found = told(Reasons(spec_of(plan), CallsBack.WHERE_NEEDED), case, plan)
    assert found[:3] == ("negation_blocked", "A", 1)


def test_an_alternative_of_a_negation_is_decided_by_itself() -> None:
    """Of `!(c | d)` between b and x only c waits for a, which may come behind x: d ends the run before x."""
    a, b, c, d, x = map(Variable, "abcdx")
    pattern = Concatenation((b, Negation(Alternation((c, d))), x, Quantified(a, 0, 1)))
    row_of = {"b": 0, "c": 1, "d": 1, "x": 2}
    condition = ReferenceCondition(("c",), TestedAt.TAKE, lambda *_: True, awaited=(("a",),))
    case = ReferenceCase(
        3, lambda key, row: row_of.get(key) == row, [condition], Selection.NEXT, None, None, None, None
    )  # fmt: skip
    found = reference_reason(case, pattern, lambda key, row: row_of.get(key) == row, [])
    assert found.run == (("b", 0),)
    assert (found.code, found.component, found.event) == ("negation_blocked", "d", 1)


def test_a_negation_that_is_walked_leaves_the_frame_behind_the_run_as_it_is() -> None:
    """No X and Y of one value come before A; the N behind it is what blocks."""
    pattern = row_pattern("!(X Y) A !N", skips=True)
    names = variables(pattern)
    components = tuple(Component(name, name, (name,), negated=name != "A") for name in names)
    same = Comparison(last(("X",)), "=", last(("Y",)))
    condition = Condition(same.scalar, ("Y",), source=same.text)
    values, times = (1, 2, 0, 0), (0, 1, 2, 3)
    case = RunCase(
        pattern, components, tuple("XYAN"), values, times, (condition,), (as_reference(same, condition, values),),
        Selection.NEXT, Matches.ALL, 9, False,
    )  # fmt: skip
    plan = plan_case(case)
    assert told(Reasons(spec_of(plan)), case, plan) == ("negation_blocked", "N", 3, [("A", 2)])
    check(case)
