"""Event-based evaluation gives what enumerating all worlds gives."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sparkcep.errors import PatternAnalysisError
from sparkcep.pattern import Concatenation, Quantified, Variable
from sparkcep.query import Component, Matches, Selection, TestedAt

from .notation import tree
from .reference_runs import Path
from .run_strategies import RunCase, as_reference, two_variables
from .uncertain_engine import run_uncertain_case
from .uncertain_worlds import UncertainCase, canonical, uncertain_cases

#: Worlds are slow.
few = settings(max_examples=max(1, settings.default.max_examples // 4))


def orders_of_sets(path: Path, sets: frozenset[str]) -> Iterator[Path]:
    """The path with the members of its sets in every order (of at most four)."""
    groups = [list(group) for _, group in itertools.groupby(path, key=lambda taken: taken[0])]
    orders = [
        itertools.permutations(g) if g[0][0] in sets and len(g) <= 4 else [tuple(g)]  # more would take long
        for g in groups
    ]
    for chosen in itertools.product(*orders):
        yield tuple(itertools.chain(*chosen))


def conditions_hold(case: UncertainCase, path: Path) -> bool:
    """Whether every condition holds where it is tested along a path."""
    for n, (key, _) in enumerate([*path, (None, -1)]):
        before = path[n - 1][0] if n else None
        for c in case.run.references:
            taken = c.at is TestedAt.TAKE and key in c.decided_by
            left = c.at is TestedAt.LEAVE and before in c.decided_by and key not in c.decided_by
            if (taken or left) and not c.holds(path[: n + 1]):
                return False
    return True


def check(case: UncertainCase, called_back: bool = False) -> None:
    try:
        found, sets = run_uncertain_case(case, called_back=called_back)
    except PatternAnalysisError as error:
        assert error.error_class == "CEP_UNCERTAINTY", error
        assume(False)
    wanted = case.signatures(sets)
    for path in found:
        for other in orders_of_sets(path, sets):
            assert conditions_hold(case, other), f"{sets}: the order of a set's members counts in {path}"
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


@pytest.mark.compiled
@few
@given(uncertain_cases(selections=(Selection.NEXT,), negation=False, maximum_conditions=0))
def test_next(case: UncertainCase) -> None:
    check(case)


@few
@given(uncertain_cases(maximum_conditions=0))
def test_negation(case: UncertainCase) -> None:
    check(case)


@few
@given(uncertain_cases(untied=False))
def test_conditions(case: UncertainCase) -> None:
    check(case)


@few
@given(uncertain_cases(untied=False))
def test_conditions_that_the_kernel_calls_back_for(case: UncertainCase) -> None:
    check(case, called_back=True)


#: Negations, each of one event, at all places of a match.
NEGATED = (
    "A !X B", "A !X B C", "A+ !X B", "A !X B+", "!X A B", "A B !X", "A? !X B", "A !X (B | C)", "A !X B !Y C",
    "(A !X B)+",
)  # fmt: skip


@few
@given(st.data(), st.sampled_from(NEGATED))
def test_negations_tied_to_the_match(data: st.DataObject, shape: str) -> None:
    """Whether an event ends the match depends on the match's other events."""
    drawn = uncertain_cases(shape=tree(shape), untied=False, maximum_conditions=0)
    case = data.draw(drawn)
    conditions, references = [], []
    for x in [c.key for c in case.run.components if c.negated]:
        others = [c.key for c in case.run.components if c.key != x]
        found, condition = two_variables(data.draw, (x,), (data.draw(st.sampled_from(others)),), False)
        conditions.append(condition)
        references.append(as_reference(found, condition, case.run.values))
    check(replace(case, run=replace(case.run, conditions=tuple(conditions), references=tuple(references))))


@few
@given(uncertain_cases(), st.integers(1, 6))
def test_most_probable(case: UncertainCase, most: int) -> None:
    """What is dropped on the way is less probable than as many as are asked for."""
    try:
        every, _ = run_uncertain_case(case)
        some, _ = run_uncertain_case(case, most)
    except PatternAnalysisError as error:
        assert error.error_class == "CEP_UNCERTAINTY", error
        assume(False)
    assert some.items() <= every.items()
    ranked = sorted((found[0] for found in every.values()), reverse=True)[:most]
    assert sorted((found[0] for found in some.values()), reverse=True)[:most] == ranked


SETS = {"A B+ C": Quantified(Variable("B"), 1, None), "A B* C": Quantified(Variable("B"), 0, None)}


@few
@given(st.data(), st.sampled_from(list(SETS)))
def test_sets_with_conditions(data: st.DataObject, shape: str) -> None:
    """Patterns whose Kleene is a set under most conditions."""
    pattern = Concatenation((Variable("A"), SETS[shape], Variable("C")))
    check(data.draw(uncertain_cases(selections=(Selection.ANY,), shape=pattern, maximum_conditions=2)))


def test_ticks_of_no_probability_begin_nothing() -> None:
    """The first event is at 0 or 2; with the last one at 3 WITHIN 2 leaves 2 alone."""
    components = (Component("A", "A", ("A",)), Component("B", "B", ("B",)))
    pattern = Concatenation((Variable("A"), Variable("B")))
    run = RunCase(pattern, components, ("A", "B"), (0, 0), (0, 3), (), (), Selection.ANY, Matches.ALL, 2, False)
    case = UncertainCase(run, (0, 3), ((0.5, 0.0, 0.5), (1.0,)))
    assert run_uncertain_case(case)[0] == {(("A", 0), ("B", 1)): (0.5, 2, 3)}
    check(case)
