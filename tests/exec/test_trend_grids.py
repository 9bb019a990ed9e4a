"""Sums over two orders equal those over one predecessor after the other, on streams longer than the reference takes."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from sparkcep.exec.engines.trends.matcher import TrendMatcher
from sparkcep.exec.engines.trends.spec import Compared, EdgeClass, Granularity
from sparkcep.query import Component, Condition, Matches, Selection

from .notation import tree
from .run_strategies import RunCase, draft, last
from .trend_engine import TrendCase, as_values, batch_of_case, plan_trend_case

A, B, C = (Component(k, k, (k,), k != "C") for k in "ABC")
NOT_C = replace(C, negated=True)


def step(operator: str, scrambled: bool, of: str = "A", then: str = "A") -> Condition:
    before = last((of,), int(of == then), scrambled=scrambled)
    return draft(before, operator, last((then,), scrambled=scrambled), (then,), after=(of,))[1]


def by_pairs(c: EdgeClass) -> EdgeClass:
    """The same class, its comparisons tested."""
    if c.granularity is not Granularity.GRID:
        return c
    assert c.order is not None
    found = [Compared(p, "=") for p in c.order.equal]
    for order in c.order.orders:
        assert order.ordered is not None
        found.append(Compared(order.ordered, order.operator))
    return replace(c, granularity=Granularity.PAIRS, order=None, compared=tuple(found))


@pytest.mark.parametrize("strict_time", [False, True])
@pytest.mark.parametrize(("width", "slide"), [(None, None), (60, 60), (60, 7)])
@pytest.mark.parametrize(
    ("pattern", "conditions"),
    [
        ("A+", (step("<", False), step(">=", True))),
        ("A+", (step("<=", False), step("<", True))),
        ("A+ !C B", (step(">", False), step(">=", True), step("<", False, "A", "B"), step("<=", True, "A", "B"))),
        ("(A+ B? C)+", (step(">", False), step("<=", True), step("<", False, "C", "A"), step(">", True, "C", "A"))),
    ],
)
def test_equals_predecessor_by_predecessor(
    pattern: str, conditions: tuple[Condition, ...], width: int | None, slide: int | None, strict_time: bool
) -> None:
    draw = random.Random(f"{pattern} {width} {slide} {strict_time}")
    n = 300
    values = tuple(draw.choice([None, draw.randrange(-50, 50), draw.randrange(2**20)]) for _ in range(n))
    times = sorted(draw.randrange(n) for _ in range(n))
    components = tuple(NOT_C if c.key == "C" and "!" in pattern else c for c in (A, B, C) if c.key in pattern)
    run = RunCase(
        tree(pattern), components, tuple(draw.choices("AAABC", k=n)), values, tuple(times), conditions, (),
        Selection.ANY, Matches.ALL, None, strict_time,
    )  # fmt: skip
    aggregates = (("try_count", None), ("min", ("A",)), ("sum", ("A",)))
    case = TrendCase(run, width, slide, aggregates)
    plan = plan_trend_case(case)
    spec = plan.engine.spec
    assert Granularity.GRID in {c.granularity for c in spec.classes}
    found = []
    for one in (spec, replace(spec, classes=tuple(by_pairs(c) for c in spec.classes))):
        table = TrendMatcher(one).aggregate(batch_of_case(case, plan))
        found.append((table.window.tolist(), [as_values(p) for p in table.partials]))
    assert found[0] == found[1]
    assert found[0][0]
