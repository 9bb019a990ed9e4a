"""Dropping rows that only gap variables take changes no match: starts, ends and rows of all other variables stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.exec.engines.rows.program import compile_pattern
from sparkcep.pattern import Concatenation, Pattern, Quantified, Variable
from sparkcep.planner.rules.gap_elimination import transparent_gaps
from sparkcep.query import SkipMode

from ..exec.helpers import batch, found_matches, make_spec
from ..exec.reference_rows import reference_matches
from ..exec.strategies import patterns

A, B, C, X, Y = map(Variable, "ABCXY")
BITS = {"A": 0, "B": 1, "X": 2, "Y": 3}


def star(item: Pattern, greedy: bool = True) -> Pattern:
    return Quantified(item, 0, None, greedy)


SHAPES = (
    Concatenation((A, star(X), B)),
    Concatenation((A, star(X, False), B, star(Y), A)),
    Concatenation((A, star(X), Quantified(B, 0, 1), star(X), A)),
    Quantified(Concatenation((A, star(X), B)), 1, None),
    Concatenation((A, star(X), Quantified(Concatenation((B, star(X))), 1, None), A)),
)


def outline(matches: list[tuple[int, int, tuple[tuple[str, int, bool], ...]]], gaps: set[str], rows: list[int]):
    """What may be seen of matches; row numbers of the filtered log are mapped back."""
    return [
        (number, rows[start], rows[path[-1][1]], [(v, rows[r]) for v, r, _ in path if v not in gaps])
        if path
        else (number, rows[start])
        for number, start, path in matches
    ]


def check(pattern: Pattern, masks: list[int], skip: SkipMode) -> bool:
    """Compare with and without dropped rows; whether the rule applied."""
    program = compile_pattern(pattern)
    codes = [k for k, n in enumerate(program.names) if n in ("X", "Y")]
    gaps = {program.names[k] for k in transparent_gaps(program, codes)}
    if not gaps:
        return False
    others = [n for n in program.names if n not in gaps]
    conditions = {n: (lambda path, _, b=b: bool(masks[path[-1][1]] >> b & 1)) for n, b in BITS.items()}
    full = reference_matches(pattern, len(masks), conditions, skip)
    kept = [
        r
        for r, m in enumerate(masks)
        if any(m >> BITS[n] & 1 for n in others) or not all(m >> BITS[n] & 1 for n in gaps)
    ]
    found = found_matches(make_spec(pattern, BITS, skip=skip), batch([masks[r] for r in kept]))
    expected = [(m.number, m.start, m.path) for m in full]
    assert outline(found, gaps, kept) == outline(expected, gaps, list(range(len(masks))))
    return True


MASKS = st.lists(st.one_of(st.sampled_from([1, 2, 4, 12, 6, 5]), st.integers(0, 15)), max_size=9)
SKIPS = st.sampled_from([SkipMode.PAST_LAST_ROW, SkipMode.TO_NEXT_ROW])


@given(st.sampled_from(SHAPES), MASKS, SKIPS)
def test_shapes(pattern: Pattern, masks: list[int], skip: SkipMode) -> None:
    check(pattern, masks, skip)


@given(patterns(("A", "B", "X", "Y"), anchors=False), MASKS, SKIPS)
def test_random_patterns(pattern: Pattern, masks: list[int], skip: SkipMode) -> None:
    check(pattern, masks, skip)


@pytest.mark.parametrize(
    ("pattern", "applies"),
    [
        (SHAPES[0], True),
        (SHAPES[1], True),
        (SHAPES[4], True),
        # Repetition of A X* B wants the next A right behind B.
        (SHAPES[3], False),
        (Concatenation((A, star(X), Quantified(B, 1, None), star(X), A)), False),  # the Bs must be neighbours
        (Concatenation((A, star(X))), False),  # the gap ends the match
        (Concatenation((star(X), A)), False),  # the gap begins it
        (Concatenation((A, Quantified(X, 1, None), B)), False),  # at least one row between
        (Concatenation((A, B)), False),
        (Quantified(SHAPES[0], 0, 1), False),  # every row starts an empty match
    ],
)
def test_where_the_rule_applies(pattern: Pattern, applies: bool) -> None:
    program = compile_pattern(pattern)
    gaps = transparent_gaps(program, [k for k, n in enumerate(program.names) if n in ("X", "Y")])
    assert bool(gaps) is applies
