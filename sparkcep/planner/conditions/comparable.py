"""Values of different or foreign types in one operation: columns of rows become what the kernel can compare.

Spark casts the narrower of two times to the wider one, a DATE to TIMESTAMP_NTZ and both to TIMESTAMP, in the session's
time zone (its `findWiderDateTimeType`). `datediff` takes dates, and a difference of times is one of local times.
BINARY is compared by its digits, which have the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sparkcep.exec.conditions.expressions import COMPARISONS, Call, Expression, Load
from sparkcep.planner.conditions.hoisting import Collector, at_same_row, navigation_of, text_of

#: Types of times, the narrowest first.
_BY_WIDTH = ("date", "timestamp_ntz", "timestamp")
_ALTERNATIVES = ("case", "coalesce", "least", "greatest")


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
        places = _values(node)
        types = self.types_at(node, places)
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
        if node.name in (*COMPARISONS, "in", *_ALTERNATIVES):
            return self.cast(node, places, max(types, key=_BY_WIDTH.index))
        return node

    def type_of(self, node: Expression) -> str:
        """The type of a value that can be made another one here, a column's or one of several times'; empty for
        others."""
        if isinstance(node, Call) and node.name in _ALTERNATIVES:
            types = self.types_at(node, _values(node))
            return types.pop() if len(types) == 1 and types <= set(_BY_WIDTH) else ""
        slot = navigation_of(node, self.owner)
        if slot is None:
            return ""
        return self.made.get(slot.column) or self.types[slot.column]

    def types_at(self, node: Call, places: Sequence[int]) -> set[str]:
        """The types of some arguments of a call."""
        return {self.type_of(node.arguments[k]) for k in places}

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
            return self.cast(node, _values(node), to)
        return self.column(node, f"CAST({{}} AS {to.upper()})", to)

    def column(self, node: Expression, form: str, type_: str) -> Load:
        """Another column's value at the row of a column's value. ``form``: of the text, with the column as `{}`."""
        slot = navigation_of(node, self.owner)
        assert slot is not None
        text = form.replace("{}", text_of(slot, self.owner))
        self.made[self.owner.column(text)] = type_
        return at_same_row(slot, text, self.owner)


def _values(call: Call) -> list[int]:
    """Places of a call's values: all, but for CASE, which has condition, value, condition, value, ..., default."""
    last = len(call.arguments) - 1
    return [*range(1, last, 2), last] if call.name == "case" else list(range(last + 1))
