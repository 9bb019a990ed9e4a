"""Random row patterns for the property tests of the matchers; tests/exec/features.py counts what they hold."""

from __future__ import annotations

import functools

from hypothesis import strategies as st

from sparkcep.pattern import (
    Alternation,
    Anchor,
    Concatenation,
    Empty,
    Exclusion,
    Pattern,
    Permutation,
    Quantified,
    Variable,
)
from sparkcep.sql.clause.row_pattern import parse_row_pattern
from sparkcep.sql.lexicon import tokenize

NAMES = ("A", "B", "C")

#: Most variables of a random pattern.
MAX_LEAVES = 7
QUANTIFIERS = ((0, None), (0, None), (1, None), (1, None), (0, 1), (0, 1), (2, None), (0, 2), (1, 2), (2, 2), (1, 3))
#: Patterns in which preference decides much; the others are random.
SHAPES = """PERMUTE(A+, B, C); PERMUTE(A, B C??, B); PERMUTE(A | A A, B, C); PERMUTE(A*, B*, C); PERMUTE(A+?, B, C)
PERMUTE(PERMUTE(A, B), B?, C); PERMUTE(A, PERMUTE(B, C?)); PERMUTE(A{1,2}, B, A) C; (PERMUTE(A+, B))+ C
PERMUTE({- A+ -}, B, C); PERMUTE({- A -}, B+) C?; PERMUTE(A, B, C+){1,2}; PERMUTE(A?, B?, C?); PERMUTE((A B)+, A, B)
PERMUTE(A, B, A | B); PERMUTE(A+, B | C, A) B; ^ PERMUTE(A+, B) C* $; PERMUTE(A{2}, B, C+); PERMUTE(A, B, C, A+)
(A | B)+ C; A+ B+; A B*? C; (A+ B)+ A; A? B?? C; {- A -} B+ {- C -}; (A | A B) (B | C); ((A | B)+ C?)+"""


@functools.cache
def row_pattern(text: str, skips: bool = False) -> Pattern:
    """The pattern as MATCH_RECOGNIZE reads it; ``skips``: under a skip strategy."""
    return parse_row_pattern(text, tokenize(text), len(text), skips=skips)[0]


@functools.cache
def pinned(names: tuple[str, ...], anchors: bool) -> list[Pattern]:
    texts = [text.strip() for line in SHAPES.splitlines() for text in line.split(";")]
    return [row_pattern(text) for text in texts if names == NAMES and (anchors or not set(text) & set("^$"))]


@st.composite
def patterns(draw: st.DrawFn, names: tuple[str, ...] = NAMES, anchors: bool = True) -> Pattern:
    """Small row patterns with every construct."""

    def one_in(n: int) -> bool:
        return draw(st.integers(0, n - 1)) == n - 1

    def leaf() -> Pattern:
        kind = draw(st.integers(0, 11))
        if kind == 11:
            return Empty()
        if kind == 10 and anchors:
            return Anchor(draw(st.booleans()))
        return Variable(draw(st.sampled_from(names)))

    def grow(depth: int, room: int, loops: int) -> Pattern:
        """At most ``room`` leaves, in at most ``loops`` unbounded quantifiers around each other."""
        bounds = draw(st.sampled_from(QUANTIFIERS)) if draw(st.booleans()) else None
        if bounds is not None and bounds[1] is None:
            loops -= 1
            bounds = bounds if loops >= 0 else (0, 2)
        shapes = ["sequence", "sequence", "alternation", "permutation", "permutation", "leaf"]
        shape = "leaf" if depth == 0 or room == 1 else draw(st.sampled_from(shapes))
        node = leaf() if shape == "leaf" else several(shape, depth - 1, room, max(0, loops))
        if one_in(10):
            node = Exclusion(node)
        return node if bounds is None else Quantified(node, *bounds, not one_in(3))

    def several(shape: str, depth: int, room: int, loops: int) -> Pattern:
        parts = draw(st.sampled_from([n for n in (2, 2, 3, 3, 4) if n <= room]))
        items = []
        while parts > 1:
            own = draw(st.integers(1, max(1, min(3, room - parts + 1))))
            items.append(grow(depth, own, loops))
            room -= own
            parts -= 1
        items.append(grow(depth, room, loops))
        kinds = {"sequence": Concatenation, "alternation": Alternation, "permutation": Permutation}
        return kinds[shape](tuple(items))

    known = pinned(names, anchors)
    if known and one_in(4):
        return draw(st.sampled_from(known))
    room = draw(st.sampled_from(range(1, MAX_LEAVES + 1)))
    if room == 1:
        return grow(0, 1, 1)
    node = several(draw(st.sampled_from(["sequence", "sequence", "alternation", "permutation"])), 3, room, 2)
    if not anchors or draw(st.integers(0, 7)) < 6:
        return node
    first, last = draw(st.sampled_from([(True, False), (False, True), (True, True)]))
    ends = (Anchor(True),) * first, (Anchor(False),) * last
    return Concatenation((*ends[0], node, *ends[1]))
