"""Rules that change the plan of a row pattern, in their order."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from sparkcep.pattern import repeats
from sparkcep.planner.conditions.symbols import alphabet
from sparkcep.planner.engines.rows.plan import RowsPlan
from sparkcep.planner.plan import Decision, PatternPlan
from sparkcep.planner.rules.fold import can_fold
from sparkcep.planner.rules.folded import FoldPlan
from sparkcep.planner.rules.gap_elimination import GapElimination, gap_elimination
from sparkcep.planner.rules.join_prefilter import Prefilter, prefilter
from sparkcep.planner.rules.layout import hold_no_long_list, keep_lists_short, sort_in_rows, spread_matches, with_layout
from sparkcep.planner.rules.range_splitting import RangeSplitting, range_splitting
from sparkcep.planner.rules.rule import Rule, RuleContext, of_input
from sparkcep.query import Matches, SkipMode, unescape
from sparkcep.settings import GAP_ELIMINATION, JOIN_PREFILTER, RANGE_SPLITTING

Plan: TypeAlias = PatternPlan[RowsPlan]


def eliminate_gaps(plan: Plan, context: RuleContext) -> tuple[Plan, Decision]:
    """Rows that only skip are filtered out; see :mod:`sparkcep.planner.rules.gap_elimination`."""
    gaps = _gaps(plan, context)
    filters = (*plan.input.filters, gaps.keep) if gaps.keep else plan.input.filters
    plan = replace(plan, input=replace(plan.input, filters=filters), engine=replace(plan.engine, gaps=gaps))
    kept = (f"rows kept: {unescape(gaps.keep)}",) if gaps.keep else ()
    return plan, Decision("Gap elimination", bool(gaps.keep), gaps.reason, kept)


def fold_in_spark(plan: Plan, context: RuleContext) -> tuple[Plan, None]:
    """A pattern that needs one state per partition is followed by Spark; see :mod:`sparkcep.planner.rules.fold`."""
    gaps = plan.engine.gaps
    folds = context.settings.fold and context.any_layout and gaps is not None
    if gaps is None or not folds or plan.input.layout != "lists" or not can_fold(gaps.machine, plan.engine.spec):
        return plan, None
    reason = "the pattern is a sequence with gaps, which Spark follows by itself"
    return replace(plan, input=with_layout(plan.input, "fold", reason)), None


def spread_overlapping(plan: Plan, context: RuleContext) -> tuple[Plan, None]:
    """Matches that overlap, of any length, go through rows where aggregates look at all their rows."""
    query = plan.query
    overlap = query.skip.mode is not SkipMode.PAST_LAST_ROW and repeats(query.pattern)
    unbounded = plan.engine.measures.has_aggregates and plan.input.shape.within is None
    if not (unbounded and overlap):
        return plan, None
    given = spread_matches(plan.input, context, "aggregates over matches that overlap, of any length")
    return replace(plan, input=given), None


def filter_partitions(plan: Plan, context: RuleContext) -> tuple[Plan, Decision]:
    """Partitions that lack what every match takes are dropped; see :mod:`sparkcep.planner.rules.join_prefilter`."""
    found = _mandatory(plan, context)
    if plan.input.layout == "fold":
        found = Prefilter((), "the fold itself is as cheap")
    elif plan.input.layout == "rows":
        sample = context.sample(plan.input, found.tests) if found.needed else None
        found = found.decided(plan.input.partition_by, sample)
    given = replace(plan.input, prefilter=found if found.needed else None)
    return replace(plan, input=given), Decision("Join prefilter", bool(found.needed), found.reason)


def split_ranges(plan: Plan, context: RuleContext) -> tuple[Plan, Decision]:
    """One partition is matched in parallel; see :mod:`sparkcep.planner.rules.range_splitting`."""
    found = _ranges(plan, context)
    shape = replace(plan.input.shape, ranges=found.ranges)
    plan = replace(plan, input=replace(plan.input, shape=shape))
    return plan, Decision("Range splitting", found.ranges is not None, found.reason)


def plan_fold(plan: Plan, _: RuleContext) -> tuple[Plan, None]:
    """The statement that folds, from what the rules have left of the input."""
    gaps = plan.engine.gaps
    if plan.input.layout != "fold" or gaps is None:
        return plan, None
    assert gaps.machine is not None and gaps.alphabet is not None
    first_only = plan.query.matches is Matches.FIRST
    fold = FoldPlan(plan.input, gaps.machine, gaps.alphabet, plan.engine.spec, plan.engine.measures, first_only)
    return replace(plan, fold=fold), None


RULES: tuple[Rule[RowsPlan], ...] = (
    eliminate_gaps,
    of_input(hold_no_long_list),
    fold_in_spark,
    of_input(sort_in_rows),
    of_input(keep_lists_short),
    spread_overlapping,
    filter_partitions,
    split_ranges,
    plan_fold,
)


def _gaps(plan: Plan, context: RuleContext) -> GapElimination:
    if not context.settings.gap_elimination:
        return GapElimination("", f"{GAP_ELIMINATION.key} = false")
    given, engine = plan.input, plan.engine
    dependent = engine.spec.conditions.conditions
    symbols = None
    if not dependent and not any(c.shifts for own in given.tests.values() for c in own):
        symbols = alphabet(len(engine.names), given.tests, given.fields, given.column_types)
    slots = [(s, engine.outputs.slot_registers[s.register]) for s in engine.outputs.slots]
    return gap_elimination(plan.query, engine.spec.program, given.tests, dependent, symbols, slots)


def _mandatory(plan: Plan, context: RuleContext) -> Prefilter:
    """Variables that every match takes, with their tests."""
    if not context.settings.join_prefilter:
        return Prefilter((), f"{JOIN_PREFILTER.key} = false")
    return prefilter(plan.query.pattern, plan.engine.names, plan.input.tests, plan.query.nullable_match)


def _ranges(plan: Plan, context: RuleContext) -> RangeSplitting:
    given, engine = plan.input, plan.engine
    if given.layout != "rows":
        return RangeSplitting(None, f"the {given.layout} layout keeps partitions whole")
    if not context.settings.range_splitting:
        return RangeSplitting(None, f"{RANGE_SPLITTING.key} = false")
    if plan.query.omit_censored:
        return RangeSplitting(None, "OMIT CENSORED MATCHES looks at the partition's end")
    within = given.shape.within
    return range_splitting(
        plan.query, engine.spec.program, given.tests, engine.spec.conditions, engine.outputs.slots,
        within.distance if within is not None else None,
    )  # fmt: skip
