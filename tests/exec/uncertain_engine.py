"""An UncertainCase through the planner's tables and the kernel of imprecise time, without Spark."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.uncertain.matcher import UncertainMatcher, UncertainMatches
from sparkcep.exec.shape import batch_of
from sparkcep.planner.engines.uncertain.plan import UncertainPlan, UncertainPlanner
from sparkcep.planner.plan import PatternPlan
from sparkcep.query import PatternQuery, SortKey, Uncertainty, default_measures

from .reference_runs import Path
from .run_engine import SETTINGS, KernelSplit, field, mask_of_case
from .uncertain_worlds import Signatures, UncertainCase

COLUMNS = {"lo": "bigint", "hi": "bigint", "p": "array<double>", "t": "bigint", "e": "string", "v": "int"}


class UncertainKernelPlanner(KernelSplit, UncertainPlanner):
    pass


def analyze(items: Sequence[str]) -> list[tuple[str, str]]:
    """Types by the one column that an expression names."""
    found = [next((c for c in COLUMNS if re.search(rf"\b{c}\b", item)), "") for item in items]
    return [(name, COLUMNS.get(name, "boolean")) for name in found]


def plan_uncertain_case(case: UncertainCase, **changes: Any) -> PatternPlan[UncertainPlan]:
    """Raises PatternAnalysisError where the planner refuses the case. ``changes``: to the query."""
    run = case.run
    query = PatternQuery(
        columns=tuple(COLUMNS), partition_by=(), order_by=(SortKey("t"),), event_type="e", components=run.components,
        pattern=run.pattern, conditions=run.conditions, selection=run.selection, matches=run.matches,
        is_block=True, measures=default_measures("t", run.components),
        within=None if run.within is None else str(run.within),
        uncertainty=Uncertainty("lo", "hi", None, None, "p" if case.probable else None),
        confidence=case.confidence, identifiers=frozenset({"e", "v"}),
    )  # fmt: skip
    return plan_of(replace(query, **changes))


def plan_of(query: PatternQuery) -> PatternPlan[UncertainPlan]:
    """Raises PatternAnalysisError where the planner refuses the query."""
    return UncertainKernelPlanner(query, SETTINGS, analyze, lambda *a: None, list(COLUMNS.values())).plan()


def match_uncertain_case(
    case: UncertainCase, plan: PatternPlan[UncertainPlan], calls_back: CallsBack = CallsBack.WHERE_NEEDED
) -> UncertainMatches:
    mask = mask_of_case(case.run, plan)
    own = len(plan.engine.spec.run.conditions.column_types)
    fields = fields_of_case(
        case, [*(plan.input.fields.texts[i] for i in plan.input.shape.columns[:own]), "lo", "hi", "p"]
    )
    fields = fields[: len(plan.input.shape.columns)]
    batch = batch_of(np.array([0, len(mask)], np.int64), [mask, *fields], plan.input.shape)
    return UncertainMatcher(plan.engine.spec, calls_back).match(batch)


def fields_of_case(case: UncertainCase, texts: Sequence[str]) -> list[pa.Array]:
    """Prepared fields of all events, by their texts."""
    run = case.run
    values = {
        "t": pa.array(run.times, pa.int64()), "e": pa.array(run.types), "v": pa.array(run.values, pa.int32()),
        "lo": pa.array(case.low, pa.int64()),
        "hi": pa.array([a + len(m) - 1 for a, m in zip(case.low, case.mass, strict=True)], pa.int64()),
        "p": pa.array([list(m) for m in case.mass], pa.list_(pa.float64())),
    }  # fmt: skip
    plain = [t.strip("`") for t in texts]
    return [values[name] if name in values else field(t, values) for t, name in zip(texts, plain, strict=True)]


def run_uncertain_case(
    case: UncertainCase, most: int = 0, called_back: bool = False
) -> tuple[Signatures, frozenset[str]]:
    """Signatures as the worlds give them, and the components that are sets.

    ``most``: how many are asked for. ``called_back``: see run_case.
    """
    calls_back = CallsBack.ALWAYS if called_back else CallsBack.WHERE_NEEDED
    plan = plan_uncertain_case(case)
    spec = replace(plan.engine.spec, most=most)
    found = match_uncertain_case(case, replace(plan, engine=replace(plan.engine, spec=spec)), calls_back)
    names = plan.engine.spec.run.automaton.names
    return signatures_of(found, plan), frozenset(names[c] for c in plan.engine.spec.sets)


def signatures_of(found: UncertainMatches, plan: PatternPlan[UncertainPlan]) -> Signatures:
    names = plan.engine.spec.run.automaton.names
    events = [(names[c], int(row)) for c, row in found.trace]
    out: Signatures = {}
    for n, (a, b) in enumerate(itertools.pairwise([0, *found.out[:, -1].tolist()])):
        path: Path = tuple(events[a:b])
        assert path not in out, "a signature twice"
        out[path] = (float(found.confidence[n]), int(found.ticks[n, 0]), int(found.ticks[n, 1]))
    return out
