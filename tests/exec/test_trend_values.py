"""Exact, scaled and approximate aggregates where counts are huge."""

from __future__ import annotations

import math

import pytest

from sparkcep.exec.engines.trends import matcher as trend_matcher
from sparkcep.exec.engines.trends.matcher import LARGEST, TrendMatcher
from sparkcep.query import Component, Matches, Selection

from .notation import tree
from .run_strategies import RunCase, draft, last
from .trend_engine import Aggregate, TrendCase, as_values, batch_of_case, plan_trend_case


def partials(values: list[int | None], *aggregates: Aggregate) -> list[tuple[object, bool]]:
    """Values of A+ over events that are all A, and whether they overflow."""
    n = len(values)
    run = RunCase(
        tree("A+"), (Component("A", "A", ("A",), True),), ("A",) * n, tuple(values), tuple(range(n)), (), (),
        Selection.ANY, Matches.ALL, None, False,
    )  # fmt: skip
    case = TrendCase(run, None, None, aggregates)
    plan = plan_trend_case(case)
    table = TrendMatcher(plan.engine.spec).aggregate(batch_of_case(case, plan))
    return [(as_values(p)[0], p.overflows is not None and bool(p.overflows[0])) for p in table.partials]


@pytest.mark.parametrize("n", [1, 63, 64, 65, 100, 126])
def test_counts_are_exact(n: int) -> None:
    events, trends = partials([1] * n, ("count", ("A",)), ("count", None))
    assert trends == (2**n - 1, False)
    assert events == ((n * 2 ** (n - 1), False) if n * 2 ** (n - 1) <= LARGEST else (None, True))


@pytest.mark.parametrize("n", [127, 128, 129, 1000, 5000])
def test_too_many_trends(n: int) -> None:
    count, tried, approximate, average = partials(
        [3, 5] * (n // 2) + [4] * (n % 2), ("count", None), ("try_count", None), ("approx_count", None), ("avg", ("A",))
    )
    assert count == tried == (None, True)
    assert approximate[0] == (2.0**n - 1 if n < 1024 else math.inf)
    assert average[0] == pytest.approx(4)


@pytest.mark.parametrize(
    "values", [[-3, 7, 2] * 30, [2**62, -(2**62), 5] * 12, [-(2**63), 2**63 - 1], [None, 4, -9] * 20]
)
def test_sums_are_exact(values: list[int | None]) -> None:
    values = [v if v is None or abs(v) < 2**31 else max(min(v, 2**31 - 1), -(2**31)) for v in values]
    total, least, most, average = partials(values, ("sum", ("A",)), ("min", ("A",)), ("max", ("A",)), ("avg", ("A",)))
    known = [v for v in values if v is not None]
    wanted = sum(known) * 2 ** (len(values) - 1)
    assert total == (wanted, False)
    assert (least[0], most[0]) == (min(known), max(known))
    assert average[0] == pytest.approx(sum(known) / len(known))


def test_nothing_known() -> None:
    found = partials([None, None], ("sum", ("A",)), ("min", ("A",)), ("avg", ("A",)), ("count", None))
    assert found == [(None, False), (None, False), (None, False), (3, False)]


def falls(n: int, width: int | None, slide: int | None) -> TrendCase:
    """Exact counts of trends of n falling values, one event a second."""
    condition = draft(last(("A",), 1), ">", last(("A",)), ("A",), after=("A",))[1]
    run = RunCase(
        tree("A+"), (Component("A", "A", ("A",), True),), ("A",) * n, tuple(k * 7919 % n for k in range(n)),
        tuple(range(n)), (condition,), (), Selection.ANY, Matches.ALL, None, False,
    )  # fmt: skip
    return TrendCase(run, width, slide, (("try_count", None),))


@pytest.mark.compiled
@pytest.mark.parametrize(("width", "slide"), [(None, None), (600, 600), (600, 10)])
def test_memory_is_bounded(width: int | None, slide: int | None) -> None:
    """At most 100 bytes an event and window, with an ordered condition and exact counts."""
    n = 3000
    case = falls(n, width, slide)
    plan = plan_trend_case(case)
    matcher = TrendMatcher(plan.engine.spec)
    matcher.aggregate(batch_of_case(case, plan))
    assert matcher.scratch_bytes <= 100 * n * ((width or 1) // (slide or 1))


@pytest.mark.compiled
def test_fewer_windows_share_a_walk_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    case = falls(500, 60, 2)
    plan = plan_trend_case(case)
    batch = batch_of_case(case, plan)
    found, bytes_ = [], []
    for most in (trend_matcher.MAX_BYTES, 5_000, 1):
        monkeypatch.setattr(trend_matcher, "MAX_BYTES", most)
        matcher = TrendMatcher(plan.engine.spec)
        table = matcher.aggregate(batch)
        found.append((table.window.tolist(), table.partials[0].values.to_pylist()))
        bytes_.append(matcher.scratch_bytes)
    assert found[0] == found[1] == found[2]
    assert len(found[0][0]) == 279
    assert bytes_[0] > 2 * bytes_[1] > 2 * bytes_[2]
