"""Times of different types in one operation: Spark makes one of the other, and so do columns for the kernel.

Spark casts the narrower time to the wider one, a DATE to TIMESTAMP_NTZ and both to TIMESTAMP, in the session's time
zone (its `findWiderDateTimeType`). `datediff` takes dates, and a difference of times is one of local times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sparkcep.exec.conditions.expressions import COMPARISONS, Call, Expression, Load, NavigationSlot, Type
from sparkcep.planner.conditions.hoisting import Collector

#: Types of times, the narrowest first.
_BY_WIDTH = ("date", "timestamp_ntz", "timestamp")
_ALIKE = (*COMPARISONS, "in", "coalesce", "least", "greatest")


@dataclass(slots=True)
class TimeCasts:
    """Casts times in conditions as Spark does. ``kinds``: of the columns collected so far. ``made``: types of columns
    that were added, by their numbers."""

    owner: Collector
    kinds: Sequence[Type]
    made: dict[int, str] = field(default_factory=dict)

    def applied(self, node: Expression) -> Expression:
        """An expression whose times are of one type wherever they meet; columns of rows are cast, all else stays."""
        if not isinstance(node, Call):
            return node
        node = replace(node, arguments=tuple(map(self.applied, node.arguments)))
        places = _values(node) if node.name == "case" else list(range(len(node.arguments)))
        types = {self.type_of(node.arguments[k]) for k in places}
        if node.name == "datediff" and types <= set(_BY_WIDTH):
            return self.cast(node, places, "date")
        if not types <= set(_BY_WIDTH) or len(types) == 1:
            return node
        if node.name == "-":
            return replace(self.cast(node, places, "timestamp_ntz"), extra=None)
        if node.name == "case" or node.name in _ALIKE:
            return self.cast(node, places, _widest(types))
        return node

    def type_of(self, node: Expression) -> str:
        """The type of a value that can be cast here if it is a time; empty for others."""
        if isinstance(node, Call) and node.name in ("case", "coalesce", "least", "greatest"):
            places = _values(node) if node.name == "case" else range(len(node.arguments))
            types = {self.type_of(node.arguments[k]) for k in places}
            return types.pop() if len(types) == 1 else ""
        slot = self.slot(node)
        if slot is None:
            return ""
        return self.made.get(slot.column) or self.kinds[slot.column].kind

    def slot(self, node: Expression) -> NavigationSlot | None:
        """The navigation that a value is; None: it is no column's at a row."""
        slot = self.owner.slots[node.slot] if isinstance(node, Load) else None
        plain = isinstance(slot, NavigationSlot) and slot.argument is None and slot.column >= 0
        return slot if plain else None  # type: ignore[return-value]

    def cast(self, node: Call, places: Sequence[int], to: str) -> Call:
        """A call some of whose arguments, times all, are of a type."""
        arguments = list(node.arguments)
        for k in places:
            arguments[k] = self.as_type(arguments[k], to)
        return replace(node, arguments=tuple(arguments))

    def as_type(self, node: Expression, to: str) -> Expression:
        """A time as another type."""
        if self.type_of(node) == to:
            return node
        if isinstance(node, Call):
            return self.cast(node, _values(node) if node.name == "case" else range(len(node.arguments)), to)
        slot = self.slot(node)
        assert slot is not None
        text = self.owner.fields.texts[self.owner.columns[slot.column]]
        column = self.owner.column(f"CAST({text} AS {to.upper()})")
        self.made[column] = to
        return self.owner.slot(replace(slot, column=column))


def _values(case: Call) -> list[int]:
    """Places of what a CASE may be: condition, value, condition, value, ..., default."""
    last = len(case.arguments) - 1
    return [*range(1, last, 2), last]


def _widest(types: set[str]) -> str:
    return max(types, key=_BY_WIDTH.index)
