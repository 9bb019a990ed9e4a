"""A RunCase through the planner's tables and the runs kernel, without Spark."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import reject

from sparkcep.errors import PatternAnalysisError
from sparkcep.exec.arrays import Ints, Rows
from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.runs.matcher import RunMatcher
from sparkcep.exec.shape import batch_of
from sparkcep.planner.conditions.match_conditions import MatchConditions
from sparkcep.planner.conditions.row_conditions import RowCondition
from sparkcep.planner.engines.runs.plan import RunsPlan
from sparkcep.planner.engines.runs.planner import RunPlanner
from sparkcep.planner.engines.runs.steps import BlockPlanner
from sparkcep.planner.plan import PatternPlan
from sparkcep.query import Condition, PatternQuery, SortKey, default_measures
from sparkcep.settings import read

from .reference_runs import Path
from .run_strategies import RunCase, scrambled
from .sql_values import sql_value

COLUMNS = {"t": "bigint", "e": "string", "v": "int", "w": "int"}
SETTINGS = read(lambda key, default=None: default)


class KernelSplit(BlockPlanner):
    """Leaves every condition to the kernel, also those that Spark would test."""

    def split(self) -> tuple[dict[int, list[RowCondition]], MatchConditions, list[Condition]]:
        types = {k: [RowCondition(("type",))] for k, c in enumerate(self.query.components) if c.types}
        dependent = self.match_conditions({})
        for number, condition in enumerate(self.query.conditions):
            dependent.add(number, condition.scalar)
        return types, dependent, list(self.query.conditions)


class KernelPlanner(KernelSplit, RunPlanner):
    pass


def analyze(items: Sequence[str]) -> list[tuple[str, str]]:
    """Types by the one column that an expression names; without one it is a truth value."""
    found = [next((c for c in COLUMNS if re.search(rf"\b{c}\b", item)), "") for item in items]
    return [(name, COLUMNS.get(name, "boolean")) for name in found]


def field(text: str, columns: Mapping[str, pa.Array]) -> pa.Array:
    """A prepared field, which Spark would compute."""
    if text in columns:
        return columns[text]
    name = analyze([text])[0][0]
    rows = zip(*(column.to_pylist() for column in columns.values()), strict=True)
    values = [sql_value(text, dict(zip(columns, row, strict=True))) for row in rows]
    return pa.array(values, columns[name].type if name else pa.bool_())


def query_of(case: RunCase, **changes: Any) -> PatternQuery:
    fields: dict[str, Any] = {
        "columns": tuple(COLUMNS), "partition_by": (), "order_by": (SortKey("t"),), "event_type": "e",
        "components": case.components, "pattern": case.pattern, "conditions": case.conditions,
        "selection": case.selection, "matches": case.matches, "is_block": True, "strict_time": case.strict_time,
        "within": None if case.within is None else str(case.within),
        "measures": default_measures("t", case.components), "identifiers": frozenset({"e", "v"}),
    }  # fmt: skip
    return PatternQuery(**{**fields, **changes})


def plan_case(case: RunCase, **changes: Any) -> PatternPlan[RunsPlan]:
    return plan_of(query_of(case, **changes))


def plan_of(query: PatternQuery) -> PatternPlan[RunsPlan]:
    """A plan; of a pattern that is refused, a random one, the example is passed over."""
    try:
        return planned(query)
    except PatternAnalysisError as error:
        if error.error_class != "CEP_UNSUPPORTED_PATTERN":
            raise
        reject()


def planned(query: PatternQuery) -> PatternPlan[RunsPlan]:
    return KernelPlanner(query, SETTINGS, analyze, lambda *a: None, list(COLUMNS.values())).plan()


def mask_of_case(case: RunCase, plan: PatternPlan[RunsPlan]) -> pa.Array:
    """Which components take each event, by its type."""
    mask = np.zeros(len(case.types), np.int64)
    for component, bit in plan.input.bits.items():
        takes = [case.can_take(case.components[component].key, row) for row in range(len(mask))]
        mask |= np.array(takes, bool).astype(np.int64) << bit
    return pa.array(mask)


def fields_of_case(case: RunCase, plan: PatternPlan[RunsPlan]) -> list[pa.Array]:
    """The prepared fields of all events, by number."""
    values = {"t": pa.array(case.times, pa.int64()), "e": pa.array(case.types), "v": pa.array(case.values, pa.int32())}
    values["w"] = pa.array([scrambled(v) for v in case.values], pa.int32())
    return [field(text, values) for text in plan.input.fields.texts]


def batch_of_case(case: RunCase, plan: PatternPlan[RunsPlan]) -> Batch:
    mask, fields = mask_of_case(case, plan), fields_of_case(case, plan)
    kernel_fields = [fields[i] for i in plan.input.shape.kernel_fields]
    return batch_of(np.array([0, len(mask)], np.int64), [mask, *kernel_fields], plan.input.shape)


def run_case(case: RunCase, called_back: bool = False) -> list[Path]:
    """Matches as the reference gives them; ``called_back``: all conditions that depend on the match are evaluated by
    the interpreter, which the kernel calls."""
    plan = plan_case(case)
    matcher = RunMatcher(plan.engine.spec, CallsBack.ALWAYS if called_back else CallsBack.WHERE_NEEDED)
    return paths(plan, *matcher.match(batch_of_case(case, plan)))


def paths(plan: PatternPlan[RunsPlan], out: Ints, trace: Rows) -> list[Path]:
    """What a matcher found."""
    names = plan.engine.spec.automaton.names
    events = [(names[c], int(row)) for c, row in trace]
    ends = [0, *out[:, -1].tolist()]
    return [tuple(events[a:b]) for a, b in itertools.pairwise(ends)]
