"""Which engine a bound query goes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sparkcep.planner.engines.non_answers.plan import plan_non_answers
from sparkcep.planner.engines.rows.planner import plan_rows
from sparkcep.planner.engines.runs.planner import plan_runs
from sparkcep.planner.engines.trends.choice import plan_trends
from sparkcep.planner.engines.uncertain.plan import plan_uncertain
from sparkcep.planner.plan import Analyzer, AnyPlan
from sparkcep.planner.rules.gap_sequence import gap_sequence_plan
from sparkcep.planner.sampling import Sampler
from sparkcep.query import PatternQuery, Selection
from sparkcep.settings import Settings


def make_plan(
    query: PatternQuery, settings: Settings, analyze: Analyzer, sample: Sampler, column_types: Sequence[str]
) -> AnyPlan:
    """Plan one bound clause or block.

    Args:
        query: what was bound.
        settings: the session's.
        analyze: types of expressions over the input.
        sample: asks the first rows of a large input; None where they cannot be had.
        column_types: Spark types of the input's columns.

    Raises:
        PatternAnalysisError, LimitError: of the engine's planner.
    """
    return replace(_plan(query, settings, analyze, sample, column_types), original=query)


def _plan(
    query: PatternQuery, settings: Settings, analyze: Analyzer, sample: Sampler, column_types: Sequence[str]
) -> AnyPlan:
    """See :func:`make_plan`."""
    if query.trends and query.non_answers is None:
        return plan_trends(query, settings, analyze, sample, column_types)
    if query.non_answers is not None:
        return plan_non_answers(query, settings, analyze, sample, column_types)
    if query.uncertainty is not None:
        return plan_uncertain(query, settings, analyze, sample, column_types)
    if not query.is_block and query.selection is Selection.STRICT:
        return plan_rows(query, settings, analyze, sample, column_types)
    sequence = (
        gap_sequence_plan(query, settings, analyze, sample, column_types)
        if query.is_block and not query.streaming
        else None
    )
    return sequence or plan_runs(query, settings, analyze, sample, column_types)
