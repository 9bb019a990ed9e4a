"""The conditions of one pattern that depend on the match. Picklable, no Spark, no SQL."""

from __future__ import annotations

from dataclasses import dataclass, field

from sparkcep.expr.nodes import ConditionSlot, Expression, NumberSlot
from sparkcep.expr.types import Type


@dataclass(frozen=True, slots=True)
class ConditionSet:
    """Match-dependent conditions by variable code, the slots they load and the kernel columns' types.

    Of runs (engines/runs) they go by number: ``tested`` has the components of which the row that condition k is tested
    on is one (none on leaving), ``each`` the registers that a condition over every event of a variable goes through.
    ``calls_back``: the kernel calls the interpreter for some of them.
    """

    conditions: dict[int, Expression] = field(default_factory=dict)
    slots: tuple[ConditionSlot, ...] = ()
    column_types: tuple[Type, ...] = ()
    registers: tuple[frozenset[int], ...] = ()
    calls_back: bool = False
    tested: tuple[frozenset[int], ...] = ()
    each: frozenset[int] = frozenset()

    @property
    def numbered(self) -> bool:
        """Whether some read MATCH_NUMBER()."""
        return any(isinstance(slot, NumberSlot) for slot in self.slots)
