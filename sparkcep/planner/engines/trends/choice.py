"""Plan a block of trend aggregates."""

from __future__ import annotations

from collections.abc import Sequence

from sparkcep.block import BlockQuery
from sparkcep.pattern import Conjunction
from sparkcep.planner.block_clause import typed_block
from sparkcep.planner.engines.trends.conjunction import ConjunctionPlanner
from sparkcep.planner.engines.trends.plan import TrendPlanner, TrendsPlan, grouped_block, refuse_uncertainty
from sparkcep.planner.plan import Analyzer, PatternPlan
from sparkcep.settings import Settings


def plan_trends(
    block: BlockQuery, settings: Settings, analyze: Analyzer, column_types: Sequence[str]
) -> PatternPlan[TrendsPlan]:
    """Plan one bound block of trend aggregates; see :class:`TrendPlanner` and :class:`ConjunctionPlanner`."""
    refuse_uncertainty(block)
    keyed, query, hidden = typed_block(grouped_block(block), analyze)
    if isinstance(keyed.pattern, Conjunction):
        return ConjunctionPlanner(keyed, query, hidden, settings, analyze, column_types).plan()
    return TrendPlanner(keyed, query, hidden, settings, analyze, lambda *_: None, column_types).plan()
