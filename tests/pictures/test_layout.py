"""Nothing that is drawn leaves the picture or lies on what it does not belong to."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkcep.pattern import (
    Alternation,
    Anchor,
    Concatenation,
    Empty,
    Exclusion,
    Negation,
    Pattern,
    Permutation,
    Quantified,
    Variable,
    variables,
    walk,
)
from sparkcep.pictures.layout import Box, Named, draw_pattern, quantifier_text

LEAVES = st.sampled_from(["A", "B", "a_long_name_of_a_variable"]).map(Variable) | st.sampled_from(
    [Empty(), Anchor(True), Anchor(False)]
)


def grow(inner: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Pattern]:
    some = st.lists(inner, min_size=2, max_size=3).map(tuple)
    bounds = st.sampled_from([(0, None), (1, None), (0, 1), (2, 3), (2, None), (4, 4)])
    return st.one_of(
        some.map(Concatenation),
        some.map(Alternation),
        some.map(Permutation),
        inner.map(Exclusion),
        inner.map(Negation),
        st.builds(lambda i, b, g: Quantified(i, *b, g), inner, bounds, st.booleans()),
    )


PATTERNS = st.recursive(LEAVES, grow, max_leaves=8)
FRAMES = ("frame", "forbidden")


def apart(one: Box, other: Box) -> bool:
    return (
        one.x + one.width <= other.x
        or other.x + other.width <= one.x
        or one.y + one.height <= other.y
        or other.y + other.height <= one.y
    )


def inside(one: Box, other: Box) -> bool:
    return (
        other.x <= one.x
        and one.x + one.width <= other.x + other.width
        and other.y <= one.y
        and one.y + one.height <= other.y + other.height
    )


@given(PATTERNS)
@settings(max_examples=150)
def test_boxes_do_not_overlap(pattern: Pattern) -> None:
    out = draw_pattern(pattern, {})
    whole = Box(0, 0, out.width, out.height, "frame")
    assert all(inside(b, whole) for b in out.boxes)
    for one, other in combinations(out.boxes, 2):
        framed = (one.kind in FRAMES and inside(other, one)) or (other.kind in FRAMES and inside(one, other))
        assert framed or apart(one, other)
    for line in out.lines:
        assert all(-0.01 <= x <= out.width + 0.01 and -0.01 <= y <= out.height + 0.01 for x, y in line.points)
    assert all(0 <= t.x <= out.width and 0 <= t.y <= out.height for t in out.texts)


@given(PATTERNS)
@settings(max_examples=50)
def test_everything_is_drawn(pattern: Pattern) -> None:
    out = draw_pattern(pattern, {name: Named(name.lower(), "type") for name in variables(pattern)})
    leaves = [n for n in walk(pattern) if isinstance(n, Variable)]
    drawn = [b.label.name for b in out.boxes if b.kind in ("component", "negated")]
    assert sorted(drawn) == sorted(n.name.lower() for n in leaves)
    assert sum(b.kind == "forbidden" for b in out.boxes) == sum(isinstance(n, Negation) for n in walk(pattern))
    quantified = [quantifier_text(n) for n in walk(pattern) if isinstance(n, Quantified)]
    assert set(quantified) <= {t.text for t in out.texts}
    # A line goes back where something may be repeated, and past what may be left out.
    repeats = [n for n in walk(pattern) if isinstance(n, Quantified) and n.maximum != 1]
    optional = [n for n in walk(pattern) if isinstance(n, Quantified) and n.minimum == 0]
    assert sum(line.kind == "back" for line in out.lines) == len(repeats)
    assert sum(line.kind == "past" for line in out.lines) == len(optional)


@pytest.mark.parametrize(
    ("low", "high", "greedy", "text"),
    [
        (0, None, True, "* any number"),
        (1, None, False, "+ one or more, as few as possible"),
        (0, 1, True, "? optional"),
        (3, 3, True, "3 times"),
        (2, None, True, "2 or more"),
        (0, 4, True, "0 to 4 times"),
    ],
)
def test_quantifiers(low: int, high: int | None, greedy: bool, text: str) -> None:
    assert quantifier_text(Quantified(Variable("A"), low, high, greedy)) == text
