"""Intervals of one tick give what the ordinary engine gives under STRICT TIME, with confidence 1.

Where events share a tick there are two differences, both by definition: SKIP TILL NEXT MATCH takes all of them, as they
have no order, and members of a Kleene that is a set may share one.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given

from sparkcep.errors import PatternAnalysisError
from sparkcep.query import Selection

from .run_engine import run_case
from .uncertain_engine import plan_uncertain_case, run_uncertain_case
from .uncertain_worlds import UncertainCase, uncertain_cases


@given(uncertain_cases(certain=True, maximum_rows=10))
def test_certain_times(case: UncertainCase) -> None:
    case = replace(case, confidence=0.0)
    try:
        plan = plan_uncertain_case(case)
    except PatternAnalysisError:
        assume(False)
    if case.run.selection is Selection.NEXT or plan.engine.spec.sets:
        times = tuple(t + n for n, t in enumerate(case.run.times))
        case = replace(case, run=replace(case.run, times=times), low=times)
    found, _ = run_uncertain_case(case)
    wanted = run_case(replace(case.run, strict_time=True))
    assert set(found) == set(wanted)
    times = case.run.times
    assert all(f == (1.0, times[s[0][1]], times[s[-1][1]]) for s, f in found.items())
