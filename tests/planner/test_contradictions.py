"""Bounds of differences exclude each other exactly where no values meet them all."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from sparkcep.planner.conditions.contradictions import Most, excluded

NAMES = ["a", "b", "c"]
bounds = st.builds(
    lambda pair, most: Most(*pair, most), st.sampled_from(list(itertools.permutations(NAMES, 2))), st.integers(-3, 3)
)


@given(st.lists(bounds, max_size=7))
def test_cycles(given_bounds: list[Most]) -> None:
    """Values far apart by no more than all bounds together are enough to try."""
    met = any(
        all(values[NAMES.index(m.second)] - values[NAMES.index(m.first)] <= m.most for m in given_bounds)
        for values in ((0, b, c) for b in range(-9, 10) for c in range(-9, 10))
    )
    found = excluded(given_bounds, NAMES)
    assert bool(found) != met
    assert sum(m.most for m in found) < 0 or not found
    assert [m.second for m in found] == [m.first for m in [*found[1:], *found[:1]]]
