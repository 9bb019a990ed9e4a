"""What collects the columns and slots of conditions, and where the values of its columns come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from sparkcep.expr.nodes import ConditionSlot, Expression, Load, NavigationSlot
from sparkcep.planner.fields import Fields
from sparkcep.query import Navigation, PatternQuery


class Collector(Protocol):
    """What collects the columns and slots of conditions; see MatchConditions."""

    query: PatternQuery
    labels: tuple[str, ...]
    fields: Fields
    column_types: Mapping[str, str]
    limit_pairs: int
    zone: str
    tested: tuple[str, ...]
    pairs: bool
    ansi: bool
    escaped_literals: bool
    prefers_interpreter: bool
    left_to_interpreter: bool
    slots: list[ConditionSlot]
    columns: list[int]
    types_of_fields: dict[int, str]

    def register(self, variables: tuple[str, ...] | None, each: bool = False) -> int:
        """Number of the register with the rows of some variables (None: all).

        ``each``: a register of its own, which a condition goes through row by row.
        """

    def variables(self, register: int) -> tuple[str, ...]:
        """The variables whose rows a register holds."""

    def column(self, text: str) -> int:
        """Number of the kernel column for an expression over one row."""

    def types(self) -> Sequence[str]:
        """Spark's types of the columns."""

    def slot(self, slot: ConditionSlot) -> Load:
        """A reference to a slot; equal slots are stored once."""

    def guarded(self, text: str, variables: tuple[str, ...] | None) -> str:
        """A row expression that is evaluated for no row that none of the variables can take, if it may fail there.

        ``variables``: None for the tested row.
        """

    def test(self, variables: tuple[str, ...]) -> str:
        """What a row must satisfy by itself to be of one of some variables; empty where that is nothing."""

    def is_accepted(self, text: str) -> bool:
        """Whether Spark analyses an expression over the input's rows."""

    def is_there(self, slot: Navigation) -> bool:
        """Whether a navigation points at a row wherever the condition that is being read is decided."""


def navigation_of(value: Expression, owner: Collector) -> NavigationSlot | None:
    """The navigation that a value is; None: it is no column's at a row."""
    slot = owner.slots[value.slot] if isinstance(value, Load) else None
    return slot if isinstance(slot, NavigationSlot) and slot.argument is None and slot.column >= 0 else None


def text_of(slot: NavigationSlot, owner: Collector) -> str:
    """The row expression that a navigation gives."""
    return owner.fields.texts[owner.columns[slot.column]]


def at_same_row(slot: NavigationSlot, text: str, owner: Collector) -> Load:
    """Another row expression where a navigation points."""
    return owner.slot(replace(slot, column=owner.column(text)))
