"""Rules that change the plan of a row pattern, in their order. Each takes a plan and gives one, and says what it did.

The model is a query optimizer's list of rewrites: a rule looks at the plan that the rules before it have left, and at
what it may ask of the session.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from sparkcep.pattern import repeats
from sparkcep.planner.conditions.symbols import alphabet
from sparkcep.planner.engines.rows.plan import RowsPlan
from sparkcep.planner.layouts import fits_python, is_long, kept_multiply, kept_too_long, may_be_long, unsortable
from sparkcep.planner.plan import Decision, PatternPlan
from sparkcep.planner.rules.fold import can_fold
from sparkcep.planner.rules.folded import FoldPlan
from sparkcep.planner.rules.gap_elimination import GapElimination, gap_elimination
from sparkcep.planner.rules.join_prefilter import Prefilter, prefilter
from sparkcep.planner.rules.range_splitting import RangeSplitting, range_splitting
from sparkcep.planner.sampling import Sample, Sampler, sample_kept
from sparkcep.query import Matches, SkipMode, unescape
from sparkcep.settings import GAP_ELIMINATION, JOIN_PREFILTER, RANGE_SPLITTING, Settings

Plan: TypeAlias = PatternPlan[RowsPlan]


@dataclass(frozen=True, slots=True)
class RuleContext:
    """What rules may look at beside the plan. ``sampler``: asks the first rows of a large input;
    ``field_types``: Spark types of the plan's fields, of which Spark may have to be asked."""

    settings: Settings
    sampler: Sampler
    field_types: Callable[[], Sequence[str]]

    @property
    def any_layout(self) -> bool:
        """Whether a rule may choose the layout: the setting exec.layout demands none."""
        return self.settings.layout == "auto"

    def sample(self, plan: Plan, tests: Sequence[str]) -> Sample | None:
        """Some rows that the plan keeps of a large input; None where no partition can be told from another."""
        keys = [k.expression for k in plan.query.partition_by]
        return self.sampler(tests, keys, plan.input.filters) if keys else None


Rule: TypeAlias = Callable[[Plan, RuleContext], tuple[Plan, Decision | None]]


def apply_rules(plan: Plan, context: RuleContext) -> Plan:
    """The plan behind all rules, with their decisions."""
    decisions = []
    for rule in RULES:
        plan, decision = rule(plan, context)
        if decision is not None:
            decisions.append(decision)
    return replace(plan, decisions=(*plan.decisions, *decisions))


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
    return _with_layout(plan, "fold", "the pattern is a sequence with gaps, which Spark follows by itself"), None


def sort_in_rows(plan: Plan, context: RuleContext) -> tuple[Plan, None]:
    """What cannot be sorted inside a list is sorted by a window."""
    if plan.input.layout == "rows":
        return plan, None
    why = unsortable(context.field_types())
    return (_with_layout(plan, "rows", why) if why else plan), None


def hold_no_long_list(plan: Plan, context: RuleContext) -> tuple[Plan, None]:
    """An input one of whose partitions is too long for a list goes through rows, where Spark sorts what memory cannot
    hold."""
    if plan.input.layout != "lists" or not context.any_layout:
        return plan, None
    keys, fields = [k.expression for k in plan.query.partition_by], len(plan.input.fields.texts)
    reason = kept_too_long(context.sampler, keys, plan.input.filters, fields, context.settings)
    return (_with_layout(plan, "rows", reason) if reason and fits_python(context.field_types()) else plan), None


def keep_lists_short(plan: Plan, context: RuleContext) -> tuple[Plan, None]:
    """Long partitions, and matches that may hold many times the rows of theirs, go through rows."""
    if plan.input.layout != "lists" or not context.any_layout:
        return plan, None
    keys, filters = [k.expression for k in plan.query.partition_by], plan.input.filters
    sample = sample_kept(context.sampler, keys, filters, may_be_long)
    if sample is not None and is_long(sample) and fits_python(context.field_types()):
        reason = f"long partitions, {sample.partition_rows:.0f} rows or more in a sample"
        return _with_layout(plan, "rows", reason), None
    query = plan.query
    overlap = query.skip.mode is not SkipMode.PAST_LAST_ROW and repeats(query.pattern)
    unbounded = plan.engine.measures.has_aggregates and plan.input.shape.within is None
    if unbounded and overlap and kept_multiply(context.sampler, keys, filters) and fits_python(context.field_types()):
        return _with_layout(plan, "rows", "aggregates over matches that overlap, of any length"), None
    return plan, None


def filter_partitions(plan: Plan, context: RuleContext) -> tuple[Plan, Decision]:
    """Partitions that lack what every match takes are dropped; see :mod:`sparkcep.planner.rules.join_prefilter`."""
    found = _mandatory(plan, context)
    if plan.input.layout == "fold":
        found = Prefilter((), "the fold itself is as cheap")
    elif plan.input.layout == "rows":
        keys = [k.expression for k in plan.query.partition_by]
        found = found.decided(keys, context.sample(plan, found.tests) if found.needed else None)
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


RULES: tuple[Rule, ...] = (
    eliminate_gaps,
    hold_no_long_list,
    fold_in_spark,
    sort_in_rows,
    keep_lists_short,
    filter_partitions,
    split_ranges,
    plan_fold,
)


def _with_layout(plan: Plan, layout: str, reason: str) -> Plan:
    """The plan with another layout than lists."""
    shape = replace(plan.input.shape, mask_updates=())
    return replace(plan, input=replace(plan.input, layout=layout, layout_reason=reason, shape=shape))


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
