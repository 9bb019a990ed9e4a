"""A plain sequence under SKIP TILL NEXT MATCH as a row pattern with gaps, which Spark's own aggregate can follow.

`SEQ(A a, B b, C c) MATCHES NON OVERLAPPING` (or FIRST), with conditions on single events only, takes the first A, the
first B behind it, the first C behind that. `(a g*? b g*? c) AFTER MATCH SKIP PAST LAST ROW` with an undefined g does
the same: a reluctant gap ends at the first event that fits, and if no C follows the first B, none follows a later one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sparkcep.pattern import Concatenation, Pattern, Quantified, Variable
from sparkcep.planner.engines.rows.plan import RowsPlan
from sparkcep.planner.engines.rows.planner import RowsPlanner
from sparkcep.planner.engines.runs.steps import row_conditions, type_test, typed_query
from sparkcep.planner.plan import Analyzer, PatternPlan
from sparkcep.planner.sampling import Sampler
from sparkcep.query import (
    PREFIX,
    Aggregate,
    Condition,
    Events,
    Matches,
    PatternQuery,
    Scalar,
    Selection,
    SkipMode,
    clause_components,
)
from sparkcep.settings import Settings

#: The variable that takes what lies between.
GAP = PREFIX + "gap"


def gap_sequence_plan(
    query: PatternQuery,
    settings: Settings,
    analyze: Analyzer,
    sample: Sampler,
    column_types: Sequence[str],
) -> PatternPlan[RowsPlan] | None:
    """The plan of a block as a row pattern, if it is a plain sequence that Spark can follow by itself.

    Args: as for :func:`sparkcep.planner.engines.runs.planner.plan_runs`.
    """
    names = _plain_sequence(query)
    if names is None or not (settings.fold and settings.gap_elimination and settings.layout == "auto"):
        return None
    conditions = _conditions(query)
    if {key for c in conditions for key in c.decided_by} != set(names):
        return None
    query = typed_query(query, analyze)
    pattern = with_gaps(names)
    clause = replace(
        query, pattern=pattern, components=clause_components(pattern), conditions=conditions, selection=Selection.STRICT
    )
    planned = RowsPlanner(clause, settings, analyze, sample, column_types).plan()
    return replace(planned, sequence=query) if planned.fold is not None else None


def with_gaps(names: Sequence[str]) -> Pattern:
    """Variables in order, with a reluctant gap between each two."""
    items: list[Pattern] = []
    for name in names:
        items += [Variable(name), Quantified(Variable(GAP), 0, None, False)]
    return Concatenation(tuple(items[:-1]))


def _plain_sequence(query: PatternQuery) -> list[str] | None:
    """Components of a plain sequence in order; None: it is something else."""
    items = query.pattern.items if isinstance(query.pattern, Concatenation) else ()
    if (
        len(items) < 2
        or not all(isinstance(i, Variable) for i in items)
        or query.selection is not Selection.NEXT
        or query.matches is Matches.ALL
        or query.collapsed or query.strict_time or query.trends or not query.has_return or query.omit_censored
        or query.within is not None or query.between is not None or query.equivalences or query.groups
        or query.skip.mode is not SkipMode.PAST_LAST_ROW or not query.partition_by
        or any(isinstance(s, (Events, Aggregate)) for m in query.measures for s in m.expression.slots)
    ):  # fmt: skip
        return None
    if any(row_conditions(c) is None for c in query.conditions):
        return None
    names = [i.name for i in items if isinstance(i, Variable)]
    return names if len(set(names)) == len(names) else None


def _conditions(query: PatternQuery) -> tuple[Condition, ...]:
    """What each component demands of one event, its type too."""
    out = []
    for component in query.components:
        if test := type_test(component, query.event_type):
            out.append(Condition(Scalar((test,), component.position), (component.key,)))
        out += [replace(c, decided_by=(component.key,)) for c in query.conditions if component.key in c.decided_by]
    return tuple(out)
