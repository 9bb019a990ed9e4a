"""Aggregates over trends: a row for each window of a partition that has a trend."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.engine import Matcher, MatchTable, OutputColumn, Value
from sparkcep.exec.engines.runs.engine import tiny_batch, tiny_spec
from sparkcep.exec.engines.trends.conjunction import ConjunctionMatcher
from sparkcep.exec.engines.trends.enumeration import EnumeratingMatcher
from sparkcep.exec.engines.trends.matcher import TrendMatcher, TrendTable
from sparkcep.exec.engines.trends.released import TrendsReleased
from sparkcep.exec.engines.trends.spec import EdgeClass, Granularity, TrendAggregate, TrendSpec, result_columns
from sparkcep.exec.shape import OperatorColumns


class TrendsEngine:
    """The window's number ``w``, and for aggregate n what ``result_columns`` lists."""

    name = "trends"

    def columns(self, spec: TrendSpec, shape: OperatorColumns) -> tuple[OutputColumn, ...]:
        """See :class:`Engine`."""
        return tuple(Value(name, type_) for name, type_ in result_columns(spec))

    def matcher(self, spec: TrendSpec, shape: OperatorColumns) -> TrendTables:
        """See :class:`Engine`."""
        return TrendTables(spec)

    def released(self, spec: TrendSpec, shape: OperatorColumns) -> TrendsReleased:
        """See :class:`StreamingEngine`."""
        return TrendsReleased(spec, TrendTables(spec))

    def needs(self, spec: TrendSpec, shape: OperatorColumns) -> tuple[str, ...]:
        """See :class:`Engine`."""
        return ("runs",) if spec.enumerated else ("trends",)

    def warm_ups(self) -> Mapping[str, Callable[[], None]]:
        """See :class:`Engine`."""
        return {"trends": _warm_up}


def trend_matcher(spec: TrendSpec) -> TrendMatcher | EnumeratingMatcher | ConjunctionMatcher:
    """The matcher that a spec wants: of two sides, of constructed trends, or of sums."""
    if spec.parts:
        return ConjunctionMatcher(spec)
    return EnumeratingMatcher(spec) if spec.enumerated else TrendMatcher(spec)


class TrendTables(Matcher):
    """Aggregates as columns."""

    def __init__(self, spec: TrendSpec) -> None:
        self.inner = trend_matcher(spec)

    def match(self, batch: Batch) -> MatchTable:
        """See :class:`Matcher`."""
        found = self.inner.aggregate(batch)
        return MatchTable(found.partition, result_arrays(found))


def result_arrays(table: TrendTable) -> dict[str, pa.Array]:
    """The columns of ``result_columns``."""
    out = {"w": pa.array(np.ascontiguousarray(table.window))}
    for n, p in enumerate(table.partials):
        out[f"v{n}"] = p.values
        if p.exponents is not None:
            out[f"e{n}"] = p.exponents
        if p.weights is not None:
            out[f"n{n}"], out[f"f{n}"] = p.weights, p.weight_exponents
        if p.overflows is not None:
            out[f"o{n}"] = pa.array(p.overflows)
    return out


def _warm_up() -> None:
    loops = EdgeClass(0, (0,), Granularity.STATE)
    count = TrendAggregate("count", -1, frozenset(), "decimal(38,0)")
    spec = TrendSpec(tiny_spec(), {}, ((-1, -1), (-1,)), (loops,), ConditionSet(), (count,), ())
    TrendMatcher(spec).aggregate(tiny_batch())
