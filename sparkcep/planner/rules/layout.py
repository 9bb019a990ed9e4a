"""Rules that move an input from lists, one for each partition, to rows that a window sorts. They serve every engine."""

from __future__ import annotations

from dataclasses import replace

from sparkcep.planner.input_plan import InputPlan
from sparkcep.planner.layouts import fits_python, is_long, kept_multiply, kept_too_long, may_be_long, unsortable
from sparkcep.planner.rules.rule import RuleContext
from sparkcep.planner.sampling import sample_kept


def with_layout(given: InputPlan, layout: str, reason: str) -> InputPlan:
    """The input with another layout than lists."""
    return replace(given, layout=layout, layout_reason=reason, shape=replace(given.shape, mask_updates=()))


def sort_in_rows(given: InputPlan, context: RuleContext) -> InputPlan:
    """What cannot be sorted inside a list is sorted by a window."""
    if given.layout == "rows":
        return given
    why = unsortable(context.field_types())
    return with_layout(given, "rows", why) if why else given


def hold_no_long_list(given: InputPlan, context: RuleContext) -> InputPlan:
    """An input one of whose partitions is too long for a list goes through rows, where Spark sorts what memory cannot
    hold."""
    if given.layout != "lists" or not context.any_layout:
        return given
    fields = len(given.fields.texts)
    reason = kept_too_long(context.sampler, given.partition_by, given.filters, fields, context.settings)
    return with_layout(given, "rows", reason) if reason and fits_python(context.field_types()) else given


def keep_lists_short(given: InputPlan, context: RuleContext) -> InputPlan:
    """Long partitions go through rows."""
    if given.layout != "lists" or not context.any_layout:
        return given
    sample = sample_kept(context.sampler, given.partition_by, given.filters, may_be_long)
    if sample is None or not is_long(sample) or not fits_python(context.field_types()):
        return given
    return with_layout(given, "rows", f"long partitions, {sample.partition_rows:.0f} rows or more in a sample")


def spread_matches(given: InputPlan, context: RuleContext, reason: str) -> InputPlan:
    """Matches that may hold many times the rows of their partition go through rows, for a reason of the engine's."""
    if given.layout != "lists" or not context.any_layout:
        return given
    many = kept_multiply(context.sampler, given.partition_by, given.filters) and fits_python(context.field_types())
    return with_layout(given, "rows", reason) if many else given
