"""The runs kernel gives the reference's matches, in its order, under every strategy."""

from __future__ import annotations

from hypothesis import assume, given

from sparkcep.errors import PatternAnalysisError

from .run_engine import run_case
from .run_strategies import RunCase, run_cases

#: What the engine refuses by name.
REFUSED = {"CEP_UNSUPPORTED_NEGATION"}


def check(case: RunCase) -> None:
    try:
        found = run_case(case)
    except PatternAnalysisError as error:
        assert error.error_class in REFUSED
        assume(False)
    assert found == case.reference()


@given(run_cases())
def test_any_case(case: RunCase) -> None:
    check(case)


@given(run_cases(maximum_conditions=0, nested_counts=True))
def test_patterns(case: RunCase) -> None:
    check(case)


@given(run_cases(negation=False))
def test_conditions(case: RunCase) -> None:
    check(case)
