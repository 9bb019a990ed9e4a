"""A TrendCase through the planner's tables and the trends kernel, without Spark, and by definition."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.trends.enumeration import EnumeratingMatcher
from sparkcep.exec.engines.trends.matcher import Partial, TrendMatcher
from sparkcep.exec.shape import batch_of
from sparkcep.planner.conditions.row_conditions import RowCondition
from sparkcep.planner.engines.trends.plan import TrendPlanner, TrendsPlan
from sparkcep.planner.engines.trends.sql import TrendSql
from sparkcep.planner.plan import PatternPlan
from sparkcep.planner.test_codes import is_component
from sparkcep.query import (
    TREND_VALUE,
    Condition,
    Equivalence,
    Matches,
    PatternQuery,
    RowExpression,
    Selection,
    SortKey,
    TestedAt,
    Trend,
    TrendExpression,
)

from .notation import tree
from .reference_runs import Path, ReferenceCondition
from .run_engine import COLUMNS, SETTINGS, analyze, field
from .run_strategies import SELECTIONS, RunCase, as_reference, draft, last, run_cases, scrambled
from .sql_values import sql_value

#: An aggregate: function, and the keys of the components whose events count (None for ``*``).
Aggregate = tuple[str, tuple[str, ...] | None]
Row = tuple[int, tuple[Any, ...]]


class KernelTrendPlanner(TrendPlanner):
    """Leaves every condition to the planner of edges, also those that are of one component."""

    def split_local(self, conditions: Sequence[Condition]) -> tuple[dict[int, list[RowCondition]], list[Condition]]:
        types = {k: [RowCondition(("type",))] for k, c in enumerate(self.query.components) if c.types}
        return types, list(conditions)


def plan_trend_case(case: TrendCase) -> PatternPlan[TrendsPlan]:
    run = case.run
    trends = []
    for n, (function, keys) in enumerate(case.aggregates):
        name, _, of = function.partition(" ")
        argument = RowExpression(("v",)) if of == "value" or not name.endswith("count") else None
        trends.append(Trend(f"x{n}", name, argument, keys or (), of == "distinct"))
    query = PatternQuery(
        columns=tuple(COLUMNS), partition_by=(), order_by=(SortKey("t"),), event_type="e", components=run.components,
        pattern=run.pattern, conditions=run.conditions,
        equivalences=tuple(Equivalence(RowExpression(("v",)), keys) for keys in case.same), selection=run.selection,
        matches=Matches.ALL, measures=(), is_block=True, strict_time=run.strict_time,
        within=None if case.width is None else str(case.width),
        slide=None if case.slide is None else str(case.slide), trends=tuple(trends),
        identifiers=frozenset({"e", "v"}), output=outputs(trends),
    )  # fmt: skip
    return plan_of(query.partitioned())


def plan_of(query: PatternQuery) -> PatternPlan[TrendsPlan]:
    return KernelTrendPlanner(query, SETTINGS, analyze, lambda *a: None, list(COLUMNS.values())).plan()


def outputs(trends: Sequence[Trend]) -> tuple[TrendExpression, ...]:
    """Each aggregate as a column."""
    return tuple(TrendExpression(t.name, f"{TREND_VALUE}{n}") for n, t in enumerate(trends))


def holds(conditions: Sequence[RowCondition], value: int | None) -> bool:
    """A test of one event, in Python."""
    row = {"v": value, "w": scrambled(value)}
    return all(sql_value(c.sql(), row) for c in conditions)


def batch_of_case(case: TrendCase, plan: PatternPlan[TrendsPlan]) -> Batch:
    run = case.run
    mask = np.zeros(len(run.types), np.int64)
    for code, bit in plan.input.bits.items():
        if is_component(code):
            own = [run.can_take(run.components[code].key, row) for row in range(len(mask))]
        else:
            own = [holds(plan.input.tests[code], value) for value in run.values]
        mask |= np.array(own, bool).astype(np.int64) << bit
    values = {"t": pa.array(run.times, pa.int64()), "e": pa.array(run.types), "v": pa.array(run.values, pa.int32())}
    values["w"] = pa.array([scrambled(v) for v in run.values], pa.int32())
    fields = [field(plan.input.fields.texts[i], values) for i in plan.input.shape.kernel_fields]
    return batch_of(np.array([0, len(mask)], np.int64), [pa.array(mask), *fields], plan.input.shape)


def run_trends(case: TrendCase, called_back: bool = False) -> list[Row]:
    """(window, values) in order of windows; ``called_back``: see run_case."""
    plan = plan_trend_case(case)
    spec = plan.engine.spec
    calls_back = CallsBack.ALWAYS if called_back else CallsBack.WHERE_NEEDED
    matcher = EnumeratingMatcher(spec) if spec.enumerated else TrendMatcher(spec, case.lanes, calls_back)
    table = matcher.aggregate(batch_of_case(case, plan))
    assert isinstance(plan.output, TrendSql)
    parts = [table.partials[t.parts[0]] for t in plan.output.trends]
    columns = [list(map(plain, as_values(p))) for p in parts]
    return [(int(w), tuple(c[n] for c in columns)) for n, w in enumerate(table.window)]


def as_values(p: Partial) -> list[Any]:
    values = p.values.to_pylist()
    if p.exponents is None:
        return values
    if p.weights is None:
        return [
            None if v is None else v * 2.0 ** (512 * e) for v, e in zip(values, p.exponents.to_pylist(), strict=True)
        ]
    assert p.weight_exponents is not None
    parts = zip(values, p.exponents.to_pylist(), p.weights.to_pylist(), p.weight_exponents.to_pylist(), strict=True)
    return [None if v is None else v / n * 2.0 ** (512 * (e - f)) for v, e, n, f in parts]


def plain(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 9)
    return int(value) if isinstance(value, Decimal) else value


@dataclass(frozen=True, repr=False)
class TrendCase:
    """A RunCase without WITHIN, its windows and its aggregates. ``same``: keys of components with one
    value. ``lanes``: windows that share a walk."""

    run: RunCase
    width: int | None
    slide: int | None
    aggregates: tuple[Aggregate, ...]
    same: tuple[tuple[str, ...], ...] = ()
    lanes: int = 16

    def __repr__(self) -> str:
        windows = "" if self.width is None else f"\n  windows of {self.width} every {self.slide or self.width}"
        return f"{self.run!r}{windows}\n  {self.aggregates} same {self.same} lanes {self.lanes}"

    def reference(self) -> list[Row]:
        """Aggregates over the enumerated matches of every window."""
        out = []
        for number, low, high in self.windows():
            run = self.run
            own = [n for n, t in enumerate(run.times) if low <= t < high]
            at = slice(own[0], own[-1] + 1) if own else slice(0, 0)
            values = run.values[at]
            part = replace(
                run, types=run.types[at], values=values, times=run.times[at],
                references=(*(shifted(c, at.start) for c in run.references), *self.equalities(values)),
            )  # fmt: skip
            matches = part.reference()
            if matches:
                out.append((number, tuple(plain(over(a, matches, values)) for a in self.aggregates)))
        return out

    def equalities(self, values: tuple[int | None, ...]) -> list[ReferenceCondition]:
        def test(keys: tuple[str, ...]) -> Any:
            def same(path: Path) -> bool:
                found = [values[row] for key, row in path if key in keys]
                return found[0] is not None and found[-1] == found[0]

            return same

        return [ReferenceCondition(keys, TestedAt.TAKE, test(keys), required=(keys,)) for keys in self.same]

    def windows(self) -> list[tuple[int, int, int]]:
        times = self.run.times
        if self.width is None:
            return [(0, 0, max(times, default=0) + 1)]
        slide = self.slide or self.width
        first, last = (min(times, default=0) - self.width) // slide, max(times, default=0) // slide
        return [(k, k * slide, k * slide + self.width) for k in range(first, last + 1)]


def shifted(c: ReferenceCondition, first: int) -> ReferenceCondition:
    """The condition for rows that are counted from a window's first."""

    def test(path: Path, *k: int) -> bool:
        return c.test(tuple((key, row + first) for key, row in path), *k)

    return replace(c, test=test)


def over(a: Aggregate, matches: Sequence[Path], values: tuple[int | None, ...]) -> Any:
    """Two-step aggregation."""
    function, keys = a
    if function == "count distinct":
        return len({tuple(row for _, row in m) for m in matches})
    if keys is None:
        return float(len(matches)) if function == "approx_count" else len(matches)
    rows = [row for m in matches for key, row in m if key in keys]
    if function == "count value":
        return len([row for row in rows if values[row] is not None])
    if function.endswith("count"):
        return float(len(rows)) if function == "approx_count" else len(rows)
    known = [v for row in rows if (v := values[row]) is not None]
    if not known:
        return None
    return {"sum": sum, "min": min, "max": max, "avg": lambda x: sum(x) / len(x)}[function](known)


@st.composite
def trend_cases(draw: st.DrawFn, distinct: bool = False, **run: Any) -> TrendCase:
    """Cases with several aggregates at once."""
    case = draw(run_cases(matches=(Matches.ALL,), selections=SELECTIONS, **run))
    positive = [c.key for c in case.components if not c.negated]
    functions = st.sampled_from(["count", "try_count", "approx_count", "count value", "sum", "min", "max", "avg"])
    found: list[Aggregate] = [("count", None)]
    for function in draw(st.lists(functions, max_size=4)):
        keys = tuple(draw(st.lists(st.sampled_from(positive), min_size=1, unique=True)))
        found.append((function, None if function.endswith("count") and draw(st.booleans()) else keys))
    if distinct:
        found.append(("count distinct", None))
    width = draw(st.one_of(st.none(), st.integers(1, 8)))
    slide = None if width is None else draw(st.one_of(st.none(), st.integers(1, 5)))
    lanes = draw(st.sampled_from([1, 2, 16]))
    return TrendCase(replace(case, within=None), width, slide, tuple(found), lanes=lanes)


#: Patterns with events that follow each other in many ways.
SHAPES = """A+; A+ B; (A+ B)+; A+ B+; A B+ A; A (B | A)+; A+ !C B+; !C A+; A+ !C; (A+ !C B)+; A+ !(C D) B
A+ !(C !D B) A; A{2,} B; (A | B)+ C; A? B+; A+ A; !(C A) A+ B; A+ !(B C)"""


@st.composite
def adjacent_cases(draw: st.DrawFn) -> TrendCase:
    """Cases whose conditions relate neighbours in the trend, most of them under SKIP TILL ANY MATCH."""
    pattern = tree(draw(st.sampled_from([s.strip() for s in re.split("[;\n]", SHAPES)])))
    case = draw(trend_cases(maximum_conditions=0, shape=pattern))
    positive = [c.key for c in case.run.components if not c.negated]
    drafts = []
    for n in range(draw(st.integers(1, 3))):
        u, w = draw(st.sampled_from(positive)), draw(st.sampled_from(positive))
        both = {"scrambled": n == 1 or (n == 2 and draw(st.booleans()))}
        before = last((u,), 1, **both) if u == w else last((u,), **both)
        operators = st.sampled_from(["<", ">", "<=", ">=", "=", "<", ">", "<>"])
        drafts.append(draft(before, draw(operators), last((w,), **both), (w,), after=(u,)))
    conditions = tuple(c for _, c in drafts)
    references = tuple(as_reference(comparison, c, case.run.values) for comparison, c in drafts)
    selection = draw(st.sampled_from([Selection.ANY, Selection.ANY, Selection.ANY, *SELECTIONS]))
    return replace(case, run=replace(case.run, conditions=conditions, references=references, selection=selection))
