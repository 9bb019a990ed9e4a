"""The runs kernel gives the reference's matches, in its order, under every strategy."""

from __future__ import annotations

from hypothesis import given

from .run_engine import run_case
from .run_strategies import RunCase, run_cases


def check(case: RunCase) -> None:
    assert run_case(case) == case.reference()


@given(run_cases())
def test_any_case(case: RunCase) -> None:
    check(case)


@given(run_cases(maximum_conditions=0, nested_counts=True))
def test_patterns(case: RunCase) -> None:
    check(case)


@given(run_cases(negation=False))
def test_conditions(case: RunCase) -> None:
    check(case)


@given(run_cases(maximum_rows=6))
def test_the_search_for_what_the_kernel_lacks(case: RunCase) -> None:
    assert run_case(case, searched=True) == case.reference()
