"""Values of different or foreign types in one operation: columns of rows become what the kernel can compare.

Spark casts the narrower of two times to the wider one, a DATE to TIMESTAMP_NTZ and both to TIMESTAMP, in the session's
time zone (its `findWiderDateTimeType`). `datediff` takes dates, and a difference of times is one of local times.
BINARY is compared by its digits, which have the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sparkcep.exec.conditions.expressions import COMPARISONS, Call, Expression, Load, NavigationSlot
from sparkcep.planner.conditions.hoisting import Collector

#: Types of times, the narrowest first.
_BY_WIDTH = ("date", "timestamp_ntz", "timestamp")
_ALIKE = (*COMPARISONS, "in", "coalesce", "least", "greatest")


@dataclass(slots=True)
class Comparable:
    """Conditions as the kernel can evaluate them. ``types``: Spark's, of the columns collected so far. ``made``: of
    columns that were added, by their numbers."""

    owner: Collector
    types: Sequence[str]
    made: dict[int, str] = field(default_factory=dict)

    def applied(self, node: Expression) -> Expression:
        """An expression whose values are of one type wherever they meet; all else stays."""
        if not isinstance(node, Call):
            return node
        node = replace(node, arguments=tuple(map(self.applied, node.arguments)))
        places = _values(node) if node.name == "case" else list(range(len(node.arguments)))
        types = {self.type_of(node.arguments[k]) for k in places}
        if types == {"binary"} and node.name in (*COMPARISONS, "in"):
            return self.replaced(node, places, lambda value: self.column(value, "hex({})", "string"))
        if not types <= set(_BY_WIDTH):
            return node
        if node.name == "datediff":
            return self.cast(node, places, "date")
        if len(types) == 1:
            return node
        if node.name == "-":
            return replace(self.cast(node, places, "timestamp_ntz"), extra=None)
        if node.name == "case" or node.name in _ALIKE:
            return self.cast(node, places, max(types, key=_BY_WIDTH.index))
        return node

    def type_of(self, node: Expression) -> str:
        """The type of a value that can be made another one here, a column's or one of several times'; empty for
        others."""
        if isinstance(node, Call) and node.name in ("case", "coalesce", "least", "greatest"):
            places = _values(node) if node.name == "case" else range(len(node.arguments))
            types = {self.type_of(node.arguments[k]) for k in places}
            return types.pop() if len(types) == 1 and types <= set(_BY_WIDTH) else ""
        slot = self.slot(node)
        if slot is None:
            return ""
        return self.made.get(slot.column) or self.types[slot.column]

    def slot(self, node: Expression) -> NavigationSlot | None:
        """The navigation that a value is; None: it is no column's at a row."""
        slot = self.owner.slots[node.slot] if isinstance(node, Load) else None
        plain = isinstance(slot, NavigationSlot) and slot.argument is None and slot.column >= 0
        return slot if plain else None  # type: ignore[return-value]

    def replaced(self, node: Call, places: Sequence[int], by: Callable[[Expression], Expression]) -> Call:
        """A call with other values for some of its arguments."""
        arguments = list(node.arguments)
        for k in places:
            arguments[k] = by(arguments[k])
        return replace(node, arguments=tuple(arguments))

    def cast(self, node: Call, places: Sequence[int], to: str) -> Call:
        """A call some of whose arguments, times all, are of a type."""
        return self.replaced(node, places, lambda value: self.as_type(value, to))

    def as_type(self, node: Expression, to: str) -> Expression:
        """A time as another type."""
        if self.type_of(node) == to:
            return node
        if isinstance(node, Call):
            return self.cast(node, _values(node) if node.name == "case" else range(len(node.arguments)), to)
        return self.column(node, f"CAST({{}} AS {to.upper()})", to)

    def column(self, node: Expression, form: str, type_: str) -> Load:
        """Another column's value at the row of a column's value. ``form``: of the text, with the column as `{}`."""
        slot = self.slot(node)
        assert slot is not None
        column = self.owner.column(form.replace("{}", self.owner.fields.texts[self.owner.columns[slot.column]]))
        self.made[column] = type_
        return self.owner.slot(replace(slot, column=column))


def _values(case: Call) -> list[int]:
    """Places of what a CASE may be: condition, value, condition, value, ..., default."""
    last = len(case.arguments) - 1
    return [*range(1, last, 2), last]
