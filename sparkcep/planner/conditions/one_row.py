"""Operators over one row of the match, inside conditions that look at several: Spark computes them as columns."""

from __future__ import annotations

from dataclasses import replace

from sparkcep.exec.conditions.expressions import Call, Constant, Expression, Load, NavigationSlot
from sparkcep.planner.conditions.hoisting import Collector
from sparkcep.query import string_literal

#: What the kernel has no instruction for; NULL where an operand is.
_SPARKS = ("like", "concat")


def of_one_row(node: Expression, owner: Collector) -> Expression:
    """An expression whose `LIKE` and `||` over values of one row have become columns of that row.

    Where the row does not exist, its columns are NULL, as the operators over them would be.
    """
    if not isinstance(node, Call):
        return node
    if node.name in _SPARKS:
        slots = _slots(node, owner)
        if slots is not None and len({replace(slot, column=0) for slot in slots}) == 1:
            return owner.slot(replace(slots[0], column=owner.column(_sql(node, owner))))
    return replace(node, arguments=tuple(of_one_row(argument, owner) for argument in node.arguments))


def _slots(node: Expression, owner: Collector) -> list[NavigationSlot] | None:
    """The navigations that an expression reads; None where it is of more than columns, texts and such operators."""
    if isinstance(node, Constant):
        return [] if isinstance(node.value, str) else None
    if isinstance(node, Load):
        slot = owner.slots[node.slot]
        plain = isinstance(slot, NavigationSlot) and slot.argument is None and slot.column >= 0
        return [slot] if plain else None  # type: ignore[list-item]
    if not isinstance(node, Call) or node.name not in _SPARKS:
        return None
    found = [_slots(argument, owner) for argument in node.arguments]
    return None if None in found else [slot for slots in found for slot in slots or ()]


def _sql(node: Expression, owner: Collector) -> str:
    if isinstance(node, Constant):
        return string_literal(node.value).replace("{", "{{").replace("}", "}}")
    if isinstance(node, Load):
        slot = owner.slots[node.slot]
        assert isinstance(slot, NavigationSlot)
        return f"({owner.fields.texts[owner.columns[slot.column]]})"
    assert isinstance(node, Call)
    parts = [_sql(argument, owner) for argument in node.arguments]
    if node.name == "concat":
        return f"concat({', '.join(parts)})"
    escape = f" ESCAPE {string_literal(node.extra)}" if node.extra else ""
    return f"({parts[0]} LIKE {parts[1]}{escape})"
