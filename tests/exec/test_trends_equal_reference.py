"""Aggregates over trends equal two-step aggregation over the reference's matches, window by window."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from sparkcep.errors import PatternAnalysisError
from sparkcep.query import Selection

from .trend_engine import TrendCase, adjacent_cases, run_trends, trend_cases

#: What the engine refuses by name.
REFUSED = {"CEP_UNSUPPORTED_NEGATION"}


def check(case: TrendCase, called_back: bool = False) -> None:
    try:
        found = run_trends(case, called_back)
    except PatternAnalysisError as error:
        assert error.error_class in REFUSED
        assume(False)
    assert found == case.reference()


@given(trend_cases())
def test_any_case(case: TrendCase) -> None:
    check(case)


@given(trend_cases(maximum_conditions=0, nested_counts=True, reluctant=False))
def test_patterns(case: TrendCase) -> None:
    check(case)


@given(trend_cases(distinct=True, maximum_conditions=1))
def test_sequences_of_events(case: TrendCase) -> None:
    check(case)


@given(trend_cases(negation=False, maximum_conditions=0), st.data())
def test_equivalences(case: TrendCase, data: st.DataObject) -> None:
    keys = [c.key for c in case.run.components]
    same = data.draw(st.lists(st.sampled_from(keys), min_size=1, unique=True))
    check(replace(case, same=(tuple(same),)))


@given(trend_cases(maximum_conditions=0))
def test_every_event_after_the_other(case: TrendCase) -> None:
    check(replace(case, run=replace(case.run, selection=Selection.STRICT)))


@given(adjacent_cases())
def test_conditions_on_neighbours(case: TrendCase) -> None:
    check(case)


@given(adjacent_cases())
def test_conditions_that_the_kernel_calls_back_for(case: TrendCase) -> None:
    selection = Selection.NEXT if case.run.selection is Selection.ANY else case.run.selection  # tests pairs
    check(replace(case, run=replace(case.run, selection=selection)), called_back=True)
