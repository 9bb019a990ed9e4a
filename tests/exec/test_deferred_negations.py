"""When a negation is decided whose conditions read the match: as soon as all variables that they name have events."""

from __future__ import annotations

import pytest

from sparkcep.pattern import Negation, variables, walk
from sparkcep.query import Component, Matches, Selection

from .notation import tree
from .run_engine import run_case
from .run_strategies import Draft, RunCase, as_reference, draft, last, numbered

#: pattern, conditions (`C.v < A.v` of negated C), log of types with values, rows of the matches.
CASES = {
    "two runs that were equal but for the gap": ("A !C B D", "C<D", "A1 C0 A1 B1 D1", "2,3,4"),
    "each condition names another variable": ("A !C B D", "C<B C<D", "A1 C2 B3 D1", "0,2,3"),
    "both hold": ("A !C B D", "C<B C<D", "A1 C2 B3 D3", ""),
    "the first event of a Kleene decides": ("A !C B D+", "C<D", "A1 C2 B1 D1 D3", "0,2,3,4 0,2,3"),
    "an event before the gap decides": ("A (!C B | D) A", "C<A", "A1 C2 B1 A3", "0,2,3"),
    "an event before the gap kills": ("A (!C B | D) A", "C<A", "A3 C2 B1 A1", ""),
    "no event before the gap": ("(A | E) !C B A", "C<A", "E0 C2 B1 A3", ""),
    "nor a C that the one behind allows": ("(A | E) !C B A", "C<A", "E0 C2 B1 A1", "0,2,3"),
    "the last before the gap": ("A+ !C B A", "C<A", "A3 A1 C2 B1 A3", "0,1,3,4 1,3,4"),
    "one of two gaps": ("A !C B !C D A", "C<A", "A1 C0 B0 D0 A0", ""),
    "a negation within another undoes it": ("A !(C !D B)", "D<A", "A2 C0 D1 B0", "0"),
    "where its condition holds": ("A !(C !D B)", "D<A", "A1 C0 D1 B0", ""),
    "what never comes": ("A !C B D?", "C<D", "A1 C2 B1", ""),
}


def case(pattern: str, conditions: str, log: str, selection: Selection) -> RunCase:
    node = numbered(tree(pattern))
    negated = {name for n in walk(node) if isinstance(n, Negation) for name in variables(n)}
    components = tuple(Component(k, k[0], (k[0],), negated=k in negated) for k in variables(node))
    values = tuple(int(event[1]) for event in log.split())

    def keys(variable: str) -> tuple[str, ...]:
        return tuple(c.key for c in components if c.variable == variable)

    def bound(text: str) -> Draft:
        x, u = map(keys, text.split("<"))
        return draft(last(x), "<", last(u), x, required=(u,), awaited=(u,))

    drafts = [bound(text) for text in conditions.split()]
    return RunCase(
        node,
        components,
        tuple(event[0] for event in log.split()),
        values,
        tuple(range(len(values))),
        tuple(condition for _, condition in drafts),
        tuple(as_reference(comparison, condition, values) for comparison, condition in drafts),
        selection,
        Matches.ALL,
        None,
        False,
    )


@pytest.mark.parametrize("selection", [Selection.NEXT, Selection.ANY])
@pytest.mark.parametrize("name", CASES)
def test_decided(name: str, selection: Selection) -> None:
    pattern, conditions, log, expected = CASES[name]
    found = case(pattern, conditions, log, selection)
    if selection is Selection.NEXT:
        assert [",".join(str(row) for _, row in path) for path in found.reference()] == expected.split()
    assert run_case(found) == found.reference()
