"""The reasons kernel names the longest run and what stopped it as the definition does."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given

from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.non_answers.matcher import Reasons
from sparkcep.exec.engines.non_answers.spec import REASONS, Facts, RepairSpec
from sparkcep.exec.reference.reasons import ReasonSearch
from sparkcep.planner.engines.runs.plan import RunsPlan
from sparkcep.planner.plan import PatternPlan

from .run_engine import batch_of_case, plan_case
from .run_strategies import RunCase, run_cases


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
    assume(case.types and not plan.engine.spec.searched and not case.reference())
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
