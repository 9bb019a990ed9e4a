"""Random patterns, logs and conditions for the property tests of the matchers."""

from __future__ import annotations

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

NAMES = ("A", "B", "C")

QUANTIFIERS = ((0, None), (1, None), (0, 1), (2, None), (0, 2), (1, 2), (2, 2), (1, 3))


def patterns(names: tuple[str, ...] = NAMES, anchors: bool = True) -> st.SearchStrategy[Pattern]:
    """Small row patterns with every construct."""
    leaves: list[st.SearchStrategy[Pattern]] = [st.sampled_from(names).map(Variable)] * 6
    leaves.append(st.just(Empty()))
    if anchors:
        leaves.append(st.booleans().map(Anchor))

    def grow(inner: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Pattern]:
        several = st.lists(inner, min_size=2, max_size=3).map(tuple)
        return st.one_of(
            several.map(Concatenation),
            several.map(Concatenation),
            several.map(Alternation),
            several.map(Permutation),
            inner.map(Exclusion),
            st.builds(
                lambda item, bounds, greedy: Quantified(item, *bounds, greedy),
                inner,
                st.sampled_from(QUANTIFIERS),
                st.booleans(),
            ),
        )

    return st.recursive(st.one_of(leaves), grow, max_leaves=6)
