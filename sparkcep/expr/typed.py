"""Parts of conditions with the types that Spark gives them, and what each does to values."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sparkcep.expr.aggregates import Fold
from sparkcep.expr.nodes import AggregateSlot, Call, NavigationSlot
from sparkcep.expr.types import Type


class Form(enum.Enum):
    """How a part of a condition is evaluated.

    WIDENED: a value as one of the type that values beside it have, by ``apply``, NULL where it is. STRICT: NULL where
    an argument is, beside which those behind it are not evaluated; STRICT_ALL: but all arguments are;
    STRICT_BACKWARDS: but the last argument is evaluated first. LISTED: a function of all values, NULLs among them. AND
    and OR in three values; CASE: condition, value, condition, value, ..., default; IN: a value, then the list.
    """

    CONSTANT = enum.auto()
    COLUMN = enum.auto()
    NUMBER = enum.auto()
    PARAMETER = enum.auto()
    NAVIGATION = enum.auto()
    AGGREGATE = enum.auto()
    WIDENED = enum.auto()
    STRICT = enum.auto()
    STRICT_ALL = enum.auto()
    STRICT_BACKWARDS = enum.auto()
    LISTED = enum.auto()
    AND = enum.auto()
    OR = enum.auto()
    CASE = enum.auto()
    COALESCE = enum.auto()
    IN = enum.auto()
    WITH_LAMBDAS = enum.auto()


@dataclass(frozen=True, slots=True)
class Typed:
    """A part of a condition.

    ``apply``: what it does to values. ``call``: the operator or function that it is. ``value``: a constant's.
    ``number``: a column's or a parameter's. ``slot``: a navigation's or an aggregate's, the latter's with its ``fold``.
    ``parameters``: of a function with lambdas the numbers of theirs.
    """

    form: Form
    type: Type
    arguments: tuple[Typed, ...] = ()
    apply: Callable[..., Any] | None = None
    call: Call | None = None
    value: Any = None
    number: int = 0
    slot: NavigationSlot | AggregateSlot | None = None
    fold: Fold | None = None
    parameters: tuple[tuple[int, ...], ...] = ()

    @property
    def name(self) -> str:
        """Of an operator or function; empty for anything else."""
        return "" if self.call is None else self.call.name

    @property
    def unwidened(self) -> Typed:
        """The value that was widened, if it was; else the part as it is."""
        return self.arguments[0] if self.form is Form.WIDENED else self

    @property
    def beside_decimal(self) -> Type:
        """A number's type beside a decimal: an integer literal is a decimal of just its digits."""
        if self.form is not Form.CONSTANT or self.type.kind != "int" or self.value is None:
            return self.type
        return Type("decimal", len(str(abs(self.value))), 0)
