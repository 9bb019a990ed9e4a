"""Rules that move an input from lists, one for each partition, to rows that a window sorts. They serve every engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from sparkcep.planner.input_plan import InputPlan
from sparkcep.planner.rules.rule import RuleContext
from sparkcep.planner.sampling import Sample, sample_kept
from sparkcep.planner.ties import YEAR_MONTH, is_orderable
from sparkcep.settings import LIST_BYTES

#: Partitions of this many rows are better sorted by a window than gathered into one list each.
LONG_PARTITION = 2000
#: The same where the matches of a partition may hold many times its rows.
MULTIPLIED = 100


def sort_in_rows(given: InputPlan, context: RuleContext) -> InputPlan:
    """What cannot be sorted inside a list is sorted by a window."""
    if given.layout == "rows":
        return given
    why = _unsortable(context.field_types())
    return with_layout(given, "rows", why) if why else given


def hold_no_long_list(given: InputPlan, context: RuleContext) -> InputPlan:
    """An input one of whose partitions is too long for a list goes through rows, where Spark sorts what memory cannot
    hold."""

    def is_too_long(sample: Sample) -> bool:
        return sample.largest_list(len(given.fields.texts)) > context.settings.list_bytes

    def why(sample: Sample | None) -> str:
        if sample is None or not is_too_long(sample):
            return ""
        return f"{sample.largest:.0%} of a sample's rows are of one partition, too many for a list of {LIST_BYTES.key}"

    return _in_rows(given, context, is_too_long, why)


def keep_lists_short(given: InputPlan, context: RuleContext) -> InputPlan:
    """Long partitions go through rows."""

    def why(sample: Sample | None) -> str:
        if sample is None or sample.partition_rows < LONG_PARTITION:
            return ""
        return f"long partitions, {sample.partition_rows:.0f} rows or more in a sample"

    return _in_rows(given, context, lambda every: every.most >= LONG_PARTITION, why)


def spread_matches(given: InputPlan, context: RuleContext, reason: str) -> InputPlan:
    """Matches that may hold many times the rows of their partition go through rows, for a reason of the engine's."""

    def why(sample: Sample | None) -> str:
        return reason if sample is None or sample.partition_rows >= MULTIPLIED else ""

    return _in_rows(given, context, lambda every: every.most >= MULTIPLIED, why)


def with_layout(given: InputPlan, layout: str, reason: str) -> InputPlan:
    """The input with another layout than lists."""
    return replace(given, layout=layout, layout_reason=reason, shape=replace(given.shape, mask_updates=()))


def _in_rows(
    given: InputPlan, context: RuleContext, matters: Callable[[Sample], bool], why: Callable[[Sample | None], str]
) -> InputPlan:
    """The input through rows, if a rule may choose the layout, Python takes the fields, and a sample of the rows that
    are kept is a reason. ``matters``: as of :func:`sample_kept`."""
    if given.layout != "lists" or not context.any_layout:
        return given
    reason = why(sample_kept(context.sampler, given.partition_by, given.filters, matters))
    return with_layout(given, "rows", reason) if reason and _fits_python(context.field_types()) else given


def _unsortable(types: Iterable[str]) -> str:
    """Why a list of rows with fields of these types cannot be sorted; empty where it can."""
    bad = next((t for t in types if not is_orderable(t)), None)
    return "" if bad is None else f"column of type {bad} cannot be sorted inside a list"


def _fits_python(types: Iterable[str]) -> bool:
    """Whether the rows layout can send fields of these types to Python."""
    return not any(t in YEAR_MONTH for t in types)
