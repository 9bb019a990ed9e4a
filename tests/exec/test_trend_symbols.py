"""Rows that do what a table says give what the general walk gives, on streams longer than the reference can take."""

from __future__ import annotations

import random

import pytest

from sparkcep.exec.engines.trends.matcher import TrendMatcher
from sparkcep.exec.engines.trends.symbols import NO_SYMBOLS
from sparkcep.query import Component, Matches, Selection

from .notation import tree
from .run_strategies import RunCase, draft, last
from .trend_engine import Aggregate, TrendCase, as_values, batch_of_case, plan_trend_case

A, B, C = (Component(k, k, (k,), k != "C") for k in "ABC")
FALLS = draft(last(("A",), 1), ">", last(("A",)), ("A",), after=("A",))[1]
RISES = draft(last(("A",)), "<=", last(("B",)), ("B",), after=("A",))[1]
SWAPS = draft(last(("A",), 1, scrambled=True), "<=", last(("A",), scrambled=True), ("A",), after=("A",))[1]
SAME = draft(last(("A",), 1), "=", last(("A",)), ("A",), after=("A",))[1]


@pytest.mark.parametrize(
    "aggregates",
    [
        [("try_count", None)], [("approx_count", None)], [("try_count", None), ("min", ("A",)), ("avg", ("A",))],
        [("approx_count", ("A",)), ("sum", ("A",))],
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("pattern", "conditions", "selection"),
    [
        ("A+", (), Selection.ANY), ("A+", (FALLS,), Selection.ANY), ("A+", (SAME,), Selection.ANY),
        ("A+", (FALLS, SWAPS), Selection.ANY), ("(A+ B? C)+", (FALLS, RISES, SWAPS), Selection.ANY),
        ("(A+ B)+", (), Selection.ANY), ("(A+ B)+", (FALLS,), Selection.ANY), ("(A+ B)+", (RISES,), Selection.ANY),
        ("(A+ B? C)+", (FALLS, RISES), Selection.ANY), ("A B* C", (), Selection.NEXT), ("(A+ B)+", (), Selection.NEXT),
    ],
)  # fmt: skip
@pytest.mark.parametrize("types", ["AB", "ABCX"])
def test_letters(
    types: str, pattern: str, conditions: tuple[object, ...], selection: Selection, aggregates: list[Aggregate]
) -> None:
    draw = random.Random(f"{types} {pattern} {aggregates}")
    n = 400
    values = tuple(draw.choice([None, draw.randrange(-50, 50), draw.randrange(2**31)]) for _ in range(n))
    components = tuple(c for c in (A, B, C) if c.key in pattern)
    run = RunCase(
        tree(pattern), components, tuple(draw.choices(types, k=n)), values, tuple(range(n)), conditions, (),
        selection, Matches.ALL, None, False,
    )  # fmt: skip
    for width in (None, 60):
        case = TrendCase(run, width, width, tuple(aggregates))
        plan = plan_trend_case(case)
        batch, found = batch_of_case(case, plan), []
        for general in (False, True):
            matcher = TrendMatcher(plan.engine.spec)
            assert matcher.symbols.used
            assert bool(matcher.symbols.trees) == bool(conditions)
            if general:
                matcher.symbols = NO_SYMBOLS
            table = matcher.aggregate(batch)
            found.append((table.window.tolist(), [as_values(p) for p in table.partials]))
        assert found[0][0] == found[1][0]
        assert found[0][0] or types == "AB"  # nothing ends without C
        for (function, _), own, walked in zip(aggregates, *(columns for _, columns in found), strict=True):
            rounded = function in ("avg", "approx_count")
            assert own == (pytest.approx(walked, rel=1e-9, nan_ok=True) if rounded else walked)
