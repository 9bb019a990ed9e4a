"""Plan a block of trend aggregates."""

from __future__ import annotations

from collections.abc import Sequence

from sparkcep.pattern import Conjunction
from sparkcep.planner.engines.trends.conjunction import ConjunctionPlanner
from sparkcep.planner.engines.trends.plan import TrendPlanner, TrendsPlan, refuse_uncertainty
from sparkcep.planner.plan import Analyzer, PatternPlan
from sparkcep.planner.sampling import Sampler
from sparkcep.query import PatternQuery
from sparkcep.settings import Settings


def plan_trends(
    query: PatternQuery, settings: Settings, analyze: Analyzer, sample: Sampler, column_types: Sequence[str]
) -> PatternPlan[TrendsPlan]:
    """Plan one bound block of trend aggregates; see :class:`TrendPlanner` and :class:`ConjunctionPlanner`."""
    refuse_uncertainty(query)
    planner = ConjunctionPlanner if isinstance(query.pattern, Conjunction) else TrendPlanner
    return planner(query, settings, analyze, sample, column_types).plan()
