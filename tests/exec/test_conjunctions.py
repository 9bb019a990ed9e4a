"""Counts of AND(P, Q) equal pairs of trends that the reference enumerates for each side."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import assume, given
from hypothesis import strategies as st

from sparkcep.errors import PatternAnalysisError
from sparkcep.exec.batch import Batch
from sparkcep.exec.engines.trends.engine import trend_matcher
from sparkcep.exec.masks import BITS_PER_WORD
from sparkcep.exec.shape import batch_of
from sparkcep.pattern import Conjunction, Pattern, Variable, children
from sparkcep.planner.engines.trends.conjunction import ConjunctionPlanner
from sparkcep.planner.engines.trends.plan import TrendsPlan
from sparkcep.planner.plan import PatternPlan
from sparkcep.query import Matches, PatternQuery, Selection, SortKey, Trend

from .notation import tree
from .run_engine import COLUMNS, SETTINGS, analyze
from .run_strategies import RunCase, run_cases
from .trend_engine import KernelTrendPlanner, TrendCase, outputs, plain, trend_cases

TRENDS = (Trend("n", "count", None, ()), Trend("x", "approx_count", None, ()))
#: Sides whose components differ in type, so that no trend need be constructed.
CLEAR = ["A+", "A B", "A+ B", "(A B)+", "(A | B)+", "A !C B", "A+ !C", "!D A B+", "A B? C", "(A+ !D B)+", "B+"]


class KernelConjunctionPlanner(ConjunctionPlanner, KernelTrendPlanner):
    side = KernelTrendPlanner


def renamed(pattern: Pattern, prefix: str) -> Pattern:
    """The pattern with a prefix before all keys."""
    changed: Any = pattern
    if isinstance(pattern, Variable):
        return Variable(prefix + pattern.name)
    if hasattr(pattern, "item"):
        return replace(changed, item=renamed(changed.item, prefix))
    return replace(changed, items=tuple(renamed(i, prefix) for i in children(pattern)))


def planned(left: RunCase, right: RunCase, case: TrendCase) -> PatternPlan[TrendsPlan]:
    sides = ((left, "l"), (right, "r"))
    patterns = tuple(renamed(run.pattern, p) for run, p in sides)
    query = PatternQuery(
        columns=tuple(COLUMNS), partition_by=(), order_by=(SortKey("t"),), event_type="e",
        components=tuple(replace(c, key=p + c.key) for run, p in sides for c in run.components),
        pattern=Conjunction((patterns[0], patterns[1]), 0), conditions=(), measures=(), is_block=True,
        selection=left.selection, matches=Matches.ALL, strict_time=left.strict_time,
        within=None if case.width is None else str(case.width),
        slide=None if case.slide is None else str(case.slide), trends=TRENDS,
        identifiers=frozenset({"e", "v"}), output=outputs(TRENDS),
    )  # fmt: skip
    return KernelConjunctionPlanner(query, SETTINGS, analyze, lambda *a: None, list(COLUMNS.values())).plan()


def batch_for(plan: PatternPlan[TrendsPlan], left: RunCase, right: RunCase) -> Batch:
    """Rows with the tests of all parts; a pair is taken where both its components are."""
    rows = len(left.types)
    words = [np.zeros(rows, np.int64) for _ in range(plan.input.shape.masks)]
    for part in plan.engine.spec.parts:
        for code, bit in part.spec.condition_bits.items():
            keys = part.spec.automaton.names[code].split("&")
            takes = [all((left if k[0] == "l" else right).can_take(k[1:], row) for k in keys) for row in range(rows)]
            word, place = divmod(bit, BITS_PER_WORD)
            words[part.first_mask + word] |= np.array(takes, bool).astype(np.int64) << place
    times = {"t": pa.array(left.times, pa.int64())}
    fields = [times[analyze([plan.input.fields.texts[i]])[0][0]] for i in plan.input.shape.kernel_fields]
    return batch_of(np.array([0, rows], np.int64), [*map(pa.array, words), *fields], plan.input.shape)


def sequences(run: RunCase, low: int, high: int) -> set[tuple[int, ...]]:
    """Trends of a window, as rows."""
    own = [n for n, t in enumerate(run.times) if low <= t < high]
    at = slice(own[0], own[-1] + 1) if own else slice(0, 0)
    part = replace(run, types=run.types[at], values=run.values[at], times=run.times[at])
    return {tuple(row for _, row in match) for match in part.reference()}


def check(left: RunCase, right: RunCase, case: TrendCase) -> str:
    """Returns why trends were constructed, if they were."""
    try:
        plan = planned(left, right, case)
    except PatternAnalysisError as error:
        assert error.error_class == "CEP_UNSUPPORTED_NEGATION"
        assume(False)
    table = trend_matcher(plan.engine.spec).aggregate(batch_for(plan, left, right))
    counts, near = (list(map(plain, p.values.to_pylist())) for p in table.partials)
    expected = {}
    for n, low, high in case.windows():
        both = itertools.product(sequences(left, low, high), sequences(right, low, high))
        expected[n] = len({frozenset(p) for p in both if p[0] != p[1]})
    assert dict(zip(table.window.tolist(), counts, strict=True)) == {n: c for n, c in expected.items() if c}
    assert near == [float(c) for c in counts]
    return plan.engine.spec.enumerated


def over_log_of(left: RunCase, other: RunCase) -> RunCase:
    return replace(left, pattern=other.pattern, components=other.components)


@given(trend_cases(maximum_conditions=0), run_cases(maximum_conditions=0, matches=(Matches.ALL,)))
def test_any_patterns(case: TrendCase, other: RunCase) -> None:
    left = replace(case.run, within=None)
    check(left, over_log_of(left, other), case)


@given(st.data(), st.sampled_from(CLEAR), st.sampled_from(CLEAR))
def test_counted_without_construction(data: st.DataObject, one: str, other: str) -> None:
    case = data.draw(trend_cases(maximum_conditions=0, shape=tree(one)))
    right = data.draw(run_cases(maximum_conditions=0, matches=(Matches.ALL,), shape=tree(other)))
    left = replace(case.run, within=None, selection=Selection.ANY)
    clear = all(c.types == (c.key[0],) for c in (*left.components, *right.components))
    reason = check(left, over_log_of(left, right), case)
    assert not (clear and reason)
