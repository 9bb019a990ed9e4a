"""Rules that change the plan of a block, in their order: those of every block, and those of one that gives matches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sparkcep.pattern import repeats
from sparkcep.planner.engines.runs.plan import RunsPlan
from sparkcep.planner.engines.runs.steps import ONLY_TAKEN, taken_by_any
from sparkcep.planner.plan import Decision, PatternPlan
from sparkcep.planner.rules.key_join import key_join
from sparkcep.planner.rules.layout import hold_no_long_list, sort_in_rows, spread_matches
from sparkcep.planner.rules.rule import Rule, RuleContext, of_input
from sparkcep.query import Matches, SkipMode, quote, string_literal


def spread_multiplied(plan: PatternPlan[RunsPlan], context: RuleContext) -> tuple[PatternPlan[RunsPlan], None]:
    """Matches without WITHIN that may be many more than a partition's events go through rows."""
    query = plan.query
    every_run = query.matches is Matches.ALL and not query.collapsed and query.limit is None
    resumes_inside = query.matches is not Matches.ALL and query.skip.mode is not SkipMode.PAST_LAST_ROW
    if query.within is not None or not (every_run or resumes_inside) or not repeats(query.pattern):
        return plan, None
    given = spread_matches(plan.input, context, "a partition may have many more matches than events")
    return replace(plan, input=given), None


def number_types(plan: PatternPlan[Any], _: RuleContext) -> tuple[PatternPlan[Any], None]:
    """An event type that only orders the rows of a list goes as its number among those of the pattern: strings cost."""
    given, query, engine = plan.input, plan.query, plan.engine
    column = given.fields.column_of(query.event_type) if query.event_type is not None else None
    if column is None or given.column_types[column] != "string" or engine.filter_reason != ONLY_TAKEN:
        return plan, None
    place, shape = [given.fields.column_of(t) for t in given.fields.texts].index(column), given.shape
    read = {*(g.field for g in shape.gathers), *shape.kernel_fields, *(shape.trace or ())}
    if place in read or given.layout != "lists":
        return plan, None
    types = sorted({t for c in query.components for t in c.types}, key=str.encode)
    numbered = f"array_position(array({', '.join(map(string_literal, types))}), {quote(column)})"
    return replace(plan, input=replace(given, replaced={place: numbered})), None


def join_keys(plan: PatternPlan[RunsPlan], context: RuleContext) -> tuple[PatternPlan[RunsPlan], Decision | None]:
    """Events whose key no event of a rare component has are dropped; see :mod:`sparkcep.planner.rules.key_join`."""
    given, query, engine = plan.input, plan.query, plan.engine
    # Runs that time out are there without a partner, and the log's last event may be one without.
    shown = query.streaming or query.timed_out or query.omit_censored or query.collapsed
    if shown or given.pairs or engine.filter_reason != ONLY_TAKEN or not context.settings.join_prefilter:
        return plan, None
    found = key_join(
        query, engine.names, given.tests, engine.conditions,
        lambda text: given.column_types.get(given.fields.column_of(text) or "", ""),
        lambda tests: context.sampler(tests, given.partition_by or ["1"], None),
    )  # fmt: skip
    if found is None:
        return plan, None
    tests = [[*given.tests[k], found.kept] if k == found.code else given.tests[k] for k in range(len(engine.names))]
    joined = replace(given, key_join=found, filters=[*given.filters[:-1], taken_by_any(tests)])
    return replace(plan, input=joined), Decision("Key join", True, found.reason)


BLOCK_RULES: tuple[Rule[Any], ...] = (of_input(sort_in_rows), of_input(hold_no_long_list), number_types)
RULES: tuple[Rule[Any], ...] = (spread_multiplied, *BLOCK_RULES, join_keys)
