"""The runs kernel gives the reference's matches, in its order, under every strategy."""

from __future__ import annotations

import pytest
from hypothesis import assume, given

from sparkcep.errors import LimitError, PatternAnalysisError
from sparkcep.pattern import Alternation, Concatenation, Negation, Quantified, Variable, variables, walk
from sparkcep.query import Component, Condition, Matches, Selection

from .run_engine import planned, query_of, run_case
from .run_strategies import Comparison, RunCase, as_reference, last, run_cases
from .strategies import row_pattern


def check(case: RunCase, called_back: bool = False) -> None:
    try:
        found = run_case(case, called_back)
    except LimitError as error:  # PERMUTE within PERMUTE
        assert error.error_class == "CEP_PROGRAM_TOO_LARGE"
        assume(False)
    assert found == case.reference()


@given(run_cases(clause=True))
def test_any_case(case: RunCase) -> None:
    check(case)


@given(run_cases(steps=True, clause=True))
def test_components_with_strategies_of_their_own(case: RunCase) -> None:
    check(case)


@given(run_cases(steps=True, maximum_conditions=0, clause=True))
def test_components_with_strategies_of_their_own_and_no_conditions(case: RunCase) -> None:
    check(case)


@given(run_cases(maximum_conditions=0, nested_counts=True, clause=True))
def test_patterns(case: RunCase) -> None:
    check(case)


@given(run_cases(negation=False, clause=True))
def test_conditions(case: RunCase) -> None:
    check(case)


@given(run_cases(clause=True))
def test_conditions_that_the_kernel_calls_back_for(case: RunCase) -> None:
    check(case, called_back=True)


def test_orders_of_permute_keep_their_ways_together() -> None:
    """In `PERMUTE(A+?, B, C)` one more A, of the order A B C, comes before C, of the order A C B."""
    pattern = row_pattern("PERMUTE(A+?, B, C)")
    components = (
        Component("A", "A", ("A", "D"), kleene=True),
        Component("B", "B", ("B",)),
        Component("C", "C", ("C", "D")),
    )
    rows = (0, 1, 2, 3)
    case = RunCase(
        pattern, components, ("A", "D", "B", "C"), rows, rows, (), (), Selection.NEXT, Matches.FIRST, None, False
    )
    assert case.reference() == [(("A", 0), ("A", 1), ("B", 2), ("C", 3))]
    check(case)


def test_a_variable_has_the_rank_of_its_first_place() -> None:
    """In `B? !A B*` a further B comes before the end, also where only the place that comes later can take it."""
    pattern = row_pattern("B? !A B*", skips=True)
    components = (Component("B", "B", (), kleene=True), Component("A", "A", (), negated=True))
    rows = (0, 0, 0)
    case = RunCase(pattern, components, ("A",) * 3, rows, rows, (), (), Selection.ANY, Matches.ALL, None, False)
    assert [tuple(row for _, row in path) for path in case.reference()] == [
        (0, 1, 2), (0, 1), (0, 2), (0,), (1, 2), (2,),
    ]  # fmt: skip
    check(case)


def test_a_kleene_that_takes_nothing_is_not_ended() -> None:
    """In `A ((A2 | A3*?)+? B)*?` a B that follows a B must be taken: it leaves no Kleene that was entered."""
    a, a2, a3, b = (Variable(name) for name in ("A", "A2", "A3", "B"))
    inner = Quantified(Alternation((a2, Quantified(a3, 0, None, False))), 1, None, False)
    pattern = Concatenation((a, Quantified(Concatenation((inner, b)), 0, None, False)))
    keys = ("A", "A2", "A3")
    components = (*(Component(key, "A", (), kleene=key == "A3") for key in keys), Component("B", "B", ()))
    lower = Comparison(last(keys), "<", last(("B",)))
    condition = Condition(lower.scalar, keys, required=(("B",),), source=lower.text)
    values = (0, 0, 0, 0, 0)
    check(
        RunCase(
            pattern, components, ("A",) * 5, values, values, (condition,), (as_reference(lower, condition, values),),
            Selection.NEXT, Matches.ALL, None, False,
        )
    )  # fmt: skip


def test_negations_decide_which_place_comes_first() -> None:
    """In `A | (A*? !B+ A*? A)*?` a way over the negation comes before one that takes A once more: if it is open."""
    a, b = Variable("A"), Variable("B")
    some = Quantified(a, 0, None, False)
    loop = Quantified(Concatenation((some, Negation(Quantified(b, 1, None)), some, a)), 0, None, False)
    components = (Component("A", "A", (), kleene=True), Component("B", "B", (), kleene=True, negated=True))
    rows = (0, 0, 0)
    case = RunCase(
        Alternation((a, loop)), components, ("A",) * 3, rows, rows, (), (), Selection.NEXT, Matches.ALL, None, False
    )
    assert [tuple(row for _, row in path) for path in case.reference()] == [
        (0,), (0, 1), (0, 1, 2), (1,), (1, 2), (2,),
    ]  # fmt: skip
    check(case)


def test_a_leading_negation_is_decided_with_the_first_event() -> None:
    """In `PERMUTE(B? !C, A{0,2}?)` what stands behind the negation has no say where an event before forbids it."""
    pattern = row_pattern("PERMUTE(B? !C, A{0,2}?)", skips=True)
    components = (
        Component("B", "B", ("B",)),
        Component("C", "C", (), negated=True),
        Component("A", "A", ("A",), kleene=True),
    )
    rows = (0, 1, 2, 3)
    case = RunCase(
        pattern, components, ("D", "A", "A", "B"), rows, rows, (), (), Selection.ANY, Matches.ALL, None, False
    )
    assert [tuple(row for _, row in path) for path in case.reference()] == [(1, 3), (1, 2, 3), (2, 3), (3,)]
    check(case)


@pytest.mark.parametrize(
    "text",
    [
        "PERMUTE((!(A2+) A*? B*?)*?, A) !(A3+)",  # a leading negation is decided at once: its place does not rank A
        "A | A | (!(A2+) A* B*?){1,2}?",  # the second B comes first where no A2 forbids it, and only there
    ],
)
@pytest.mark.parametrize("selection", [Selection.NEXT, Selection.ANY])
def test_preference_among_places_that_negations_close(text: str, selection: Selection) -> None:
    pattern = row_pattern(text, skips=True)
    negated = {name for node in walk(pattern) if isinstance(node, Negation) for name in variables(node)}
    components = tuple(Component(k, k, (), kleene=True, negated=k in negated) for k in variables(pattern))
    rows = (0, 0, 0)
    check(RunCase(pattern, components, ("A",) * 3, rows, rows, (), (), selection, Matches.ALL, None, False))


@pytest.mark.parametrize("within", [None, 1, 2])
def test_a_leading_negation_under_within_among_places(within: int | None) -> None:
    """Whether the second A is the first component is known at the match's end, as WITHIN counts from there."""
    pattern = row_pattern("A*? !B A? !B", skips=True)
    names = variables(pattern)
    components = tuple(Component(k, k, (k[0],), kleene=True, negated=k[0] == "B") for k in names)
    log, times = tuple("AABAA"), (0, 0, 0, 1, 2)
    case = RunCase(pattern, components, log, (0,) * 5, times, (), (), Selection.NEXT, Matches.ALL, within, True)
    if within is None:
        check(case)
        return
    with pytest.raises(PatternAnalysisError, match="a leading negation that decides at which of its places"):
        planned(query_of(case))
