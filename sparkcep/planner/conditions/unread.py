"""What conditions read no longer, once operators over one row have become columns: their operands' slots and columns.

Each column that goes to Python costs time for each row, a text more than all else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sparkcep.expr.nodes import (
    AggregateSlot,
    Call,
    ConditionSlot,
    Expression,
    Load,
    NavigationSlot,
    RowValue,
    columns_read,
    expressions_of,
    loads,
)


@dataclass(frozen=True, slots=True)
class Read:
    """Slots and columns that trees read, by their numbers so far; the values are their new ones."""

    slots: Mapping[int, int]
    columns: Mapping[int, int]

    def tree(self, node: Expression) -> Expression:
        """A tree over the new numbers."""
        if isinstance(node, Load):
            return Load(self.slots[node.slot])
        if isinstance(node, RowValue):
            return RowValue(self.column(node.column))
        if isinstance(node, Call):
            return replace(node, arguments=tuple(map(self.tree, node.arguments)))
        return node

    def slot(self, slot: ConditionSlot) -> ConditionSlot:
        """A slot over the new numbers."""
        if isinstance(slot, NavigationSlot):
            argument = None if slot.argument is None else self.tree(slot.argument)
            return replace(slot, column=self.column(slot.column), argument=argument)
        if isinstance(slot, AggregateSlot):
            condition = None if slot.filter is None else self.tree(slot.filter)
            return replace(slot, arguments=tuple(map(self.tree, slot.arguments)), filter=condition)
        return slot

    def column(self, number: int) -> int:
        """A column's new number. What is no column (a row's number, its label) keeps its negative one."""
        return self.columns.get(number, number)


def read_by(trees: Iterable[Expression], slots: Sequence[ConditionSlot]) -> Read:
    """What trees read of these slots and of the columns, numbered anew without gaps, in the same order."""
    trees = list(trees)
    seen: set[int] = set()
    left = [s for tree in trees for s in loads(tree)]
    while left:
        number = left.pop()
        if number not in seen:
            seen.add(number)
            left += [s for inner in expressions_of(slots[number]) for s in loads(inner)]
    columns = sorted({c for tree in trees for c in columns_read(tree, slots) if c >= 0})
    return Read(
        {number: k for k, number in enumerate(sorted(seen))}, {number: k for k, number in enumerate(columns)}
    )  # fmt: skip
