"""Partitions cut into ranges of the sort key, where WITHIN is a fixed distance of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.engines.rows.program import Program
from sparkcep.exec.shape import OutputSlot, Ranges
from sparkcep.expr.nodes import AggregateSlot, Call, CurrentNumber, Expression, NavigationSlot
from sparkcep.planner.conditions.row_conditions import RowCondition
from sparkcep.planner.lengths import kernel_units
from sparkcep.query import PREFIX, PatternQuery

#: Width of a range in distances of WITHIN: rows within one distance behind a range are copied.
WIDTH = 16


@dataclass(frozen=True, slots=True)
class RangeSplitting:
    """How partitions are cut (None: not at all), and why."""

    ranges: Ranges | None
    reason: str


def range_splitting(
    query: PatternQuery,
    program: Program,
    local: Mapping[int, Sequence[RowCondition]],
    conditions: ConditionSet,
    slots: list[OutputSlot],
    distance: int | None,
) -> RangeSplitting:
    """Whether the matches that start in a range can be told from the range and the rows one distance behind it."""
    if query.within is None:
        return RangeSplitting(None, "there is no WITHIN")
    if distance is None or distance * WIDTH >= 2**62:
        return RangeSplitting(None, "WITHIN is not a fixed distance of the ORDER BY key")
    if query.rows_per_match.has_columns:
        return RangeSplitting(None, query.rows_per_match.value)
    if program.edge_condition.any():
        return RangeSplitting(None, "^ or $ in the pattern")
    for label, own in local.items():
        if any(c.shifts for c in own):
            return RangeSplitting(None, f"PREV or NEXT in the condition of {program.names[label]}")
    if conditions.calls_back:
        return RangeSplitting(None, "conditions run in the interpreter")
    offsets = [s.physical for s in conditions.slots if isinstance(s, NavigationSlot)] + [o.physical for o in slots]
    if any(offsets):
        return RangeSplitting(None, "PREV or NEXT of a row of the match")
    if conditions.numbered or any(isinstance(e, CurrentNumber) for e in _expressions(conditions)):
        return RangeSplitting(None, "a condition uses MATCH_NUMBER")
    width = WIDTH * max(distance, 1)
    first = query.order_by[0].nulls_first
    return RangeSplitting(Ranges(width, distance, first), f"ranges of {WIDTH} times WITHIN, overlapping by one")


def _expressions(conditions: ConditionSet) -> Iterator[Expression]:
    stack: list[Expression] = list(conditions.conditions.values())
    for slot in conditions.slots:
        if isinstance(slot, NavigationSlot) and slot.argument is not None:
            stack.append(slot.argument)
        elif isinstance(slot, AggregateSlot):
            stack += [*slot.arguments, *([slot.filter] if slot.filter is not None else [])]
    while stack:
        at = stack.pop()
        yield at
        if isinstance(at, Call):
            stack.extend(at.arguments)


def ranged_source(source: str, key: str, type_: str, ranges: Ranges, where: str) -> str:
    """The input with each row once per range that needs it, the range's number in ``__cep_range``."""
    at = PREFIX + "at"
    # Rounds down for negative keys too, and cannot overflow.
    number = f"CASE WHEN {at} >= 0 THEN {at} div {ranges.width}L ELSE ~(~{at} div {ranges.width}L) END"
    copied = f"pmod({at}, {ranges.width}L) <= {ranges.distance}L"
    placed = f"SELECT *, {kernel_units(key, type_)} AS {at} FROM {source}{where}"
    numbered = f"SELECT *, {number} AS {PREFIX}own FROM ({placed})"
    both = f"array({PREFIX}own - 1L, {PREFIX}own)"
    return (
        f"(SELECT *, explode(CASE WHEN {copied} THEN {both} ELSE array({PREFIX}own) END) AS {PREFIX}range "
        f"FROM ({numbered}))"
    )
