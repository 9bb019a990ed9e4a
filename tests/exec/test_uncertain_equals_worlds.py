"""Event-based evaluation gives what enumerating all worlds gives."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings

from sparkcep.block import Selection
from sparkcep.errors import PatternAnalysisError

from .uncertain_engine import run_uncertain_case
from .uncertain_worlds import UncertainCase, canonical, uncertain_cases

#: Worlds are slow.
few = settings(max_examples=max(1, settings.default.max_examples // 4))


def check(case: UncertainCase) -> None:
    try:
        found, sets = run_uncertain_case(case)
    except PatternAnalysisError as error:
        assert error.error_class == "CEP_UNCERTAINTY", error
        assume(False)
    wanted = case.signatures(sets)
    found = {canonical(path, sets): values for path, values in found.items()}
    if case.confidence:  # what lies at the threshold to a rounding error may be on either side
        near = {s for s, (p, _, _) in {**wanted, **found}.items() if abs(p - case.confidence) < 1e-9}
        found = {s: f for s, f in found.items() if s not in near}
        wanted = {s: f for s, f in wanted.items() if s not in near}
    assert set(found) == set(wanted)
    for signature, (confidence, low, high) in wanted.items():
        assert found[signature][0] == pytest.approx(confidence, abs=1e-9), signature
        assert found[signature][1:] == (low, high), signature


@few
@given(uncertain_cases(selections=(Selection.ANY,), negation=False, maximum_conditions=0))
def test_any(case: UncertainCase) -> None:
    check(case)


@few
@given(uncertain_cases(selections=(Selection.NEXT,), negation=False, maximum_conditions=0))
def test_next(case: UncertainCase) -> None:
    check(case)


@few
@given(uncertain_cases(maximum_conditions=0))
def test_negation(case: UncertainCase) -> None:
    check(case)


@few
@given(uncertain_cases())
def test_conditions(case: UncertainCase) -> None:
    check(case)
