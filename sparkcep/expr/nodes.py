"""Match-dependent conditions as trees, and what they read of the match: its slots."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sparkcep.expr.types import Type
from sparkcep.query import OwnAggregate

LABEL_COLUMN = -1
#: The row's number in its partition.
ROW_COLUMN = -2


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal: ``value`` is the bool, int, float, str or Decimal that ``type`` has; None is NULL."""

    value: Any
    type: Type


@dataclass(frozen=True, slots=True)
class Load:
    """Value of a slot, by its place in the condition set's slots."""

    slot: int


@dataclass(frozen=True, slots=True)
class RowValue:
    """Inside an aggregate's or navigation's own argument: a column of the row at hand (LABEL_COLUMN: its label)."""

    column: int


@dataclass(frozen=True, slots=True)
class CurrentNumber:
    """MATCH_NUMBER()"""


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or function by its name in expr/functions.

    ``zone``: of an operator the session's time zone, where its operands may be times that the kernel does not combine.
    ``escape``: of LIKE. ``micros``: of TIMESTAMPDIFF, those of its unit. ``safe``: of a cast, whether it is TRY_CAST.
    ``to``: the type of a cast that only Spark has. ``field``: of a struct. ``parameters``: the numbers of a lambda's,
    or of the one that is meant.
    """

    name: str
    arguments: tuple[Expression, ...]
    zone: str = ""
    escape: str = dataclasses.field(default="", kw_only=True)
    micros: int = dataclasses.field(default=0, kw_only=True)
    safe: bool = dataclasses.field(default=False, kw_only=True)
    to: str = dataclasses.field(default="", kw_only=True)
    field: str = dataclasses.field(default="", kw_only=True)
    parameters: tuple[int, ...] = dataclasses.field(default=(), kw_only=True)


Expression: TypeAlias = Constant | Load | RowValue | CurrentNumber | Call


@dataclass(frozen=True, slots=True)
class NavigationSlot:
    """A navigation to a column (or, with ``argument``, to an expression over the row it points at).

    The row is ``logical`` rows from the first (``from_first``) or last one of a register, then ``physical`` rows of the
    partition further on, back where negative.
    """

    register: int
    from_first: bool
    logical: int
    physical: int
    column: int
    argument: Expression | None = None


@dataclass(frozen=True, slots=True)
class AggregateSlot:
    """An aggregate over the rows a register has seen; ``arguments`` empty for count(*).

    ``before``: without the last of them. ``own_aggregate``: where the function is a user's.
    """

    function: str
    register: int
    arguments: tuple[Expression, ...]
    distinct: bool = False
    filter: Expression | None = None
    before: bool = False
    own_aggregate: OwnAggregate | None = None


@dataclass(frozen=True, slots=True)
class NumberSlot:
    """MATCH_NUMBER()"""


ConditionSlot: TypeAlias = NavigationSlot | AggregateSlot | NumberSlot


def loads(node: Expression) -> Iterator[int]:
    """The slots that an expression reads."""
    if isinstance(node, Load):
        yield node.slot
    elif isinstance(node, Call):
        for argument in node.arguments:
            yield from loads(argument)


def columns_read(node: Expression, slots: Sequence[ConditionSlot]) -> frozenset[int]:
    """The columns that an expression reads, those of its slots' arguments included."""
    if isinstance(node, RowValue):
        return frozenset([node.column])
    inner: Sequence[Expression] = node.arguments if isinstance(node, Call) else ()
    found: frozenset[int] = frozenset()
    if isinstance(node, Load):
        slot = slots[node.slot]
        inner = expressions_of(slot)
        if isinstance(slot, NavigationSlot):
            found = frozenset([slot.column])
    return found.union(*(columns_read(n, slots) for n in inner))


def expressions_of(slot: ConditionSlot) -> tuple[Expression, ...]:
    """The expressions that a slot evaluates at rows."""
    if isinstance(slot, NavigationSlot):
        return () if slot.argument is None else (slot.argument,)
    if isinstance(slot, AggregateSlot):
        return (*slot.arguments, *(() if slot.filter is None else (slot.filter,)))
    return ()


COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "<=>")
