"""Match-dependent conditions as a small typed expression tree, and Spark's typing rules for it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sparkcep.query import OwnAggregate

LABEL_COLUMN = -1
#: The row's number in its partition.
ROW_COLUMN = -2
#: Digits of the decimals that one word of 64 bits holds.
WORD_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Type:
    """A Spark type as far as conditions care. ``kind``: int (``size`` bits), double, float, boolean, string, date,
    timestamp, timestamp_ntz, interval (day-time), decimal (``size`` precision, ``scale``), array (of
    ``element``), map (of ``key`` to ``element``), struct (of ``fields``), null, or other, of which Spark's ``name`` is
    kept for errors."""

    kind: str
    size: int = 0
    scale: int = 0
    element: Type | None = None
    key: Type | None = None
    fields: tuple[tuple[str, Type], ...] = ()
    name: str = ""

    @property
    def shown(self) -> str:
        """As errors say it."""
        if self.kind == "int":
            return {8: "tinyint", 16: "smallint", 64: "bigint"}.get(self.size, "int")
        return self.name or self.kind

    @property
    def sql(self) -> str:
        """As SQL writes it, of a type that is one value."""
        if self.kind == "decimal":
            return f"DECIMAL({self.size},{self.scale})"
        return self.shown.upper()

    @property
    def is_integer_like(self) -> bool:
        """Whether the kernel holds it as int64 as it stands."""
        return self.kind in ("int", "boolean", "date", "timestamp", "timestamp_ntz", "interval")

    @property
    def is_wide(self) -> bool:
        """Whether it is a decimal whose values take two words."""
        return self.kind == "decimal" and self.size > WORD_DIGITS

    @property
    def is_single(self) -> bool:
        """Whether it is one value: neither of several ones, nor of a type that conditions do not know."""
        return self.kind not in ("array", "map", "struct", "other")

    @property
    def is_floating(self) -> bool:
        """Whether it is a number of double or single precision."""
        return self.kind in ("double", "float")

    @property
    def is_numeric(self) -> bool:
        """Whether it is a number; intervals, dates and times are not."""
        return self.kind in ("int", "double", "float", "decimal")


INT, BIGINT = Type("int", 32), Type("int", 64)
#: A day-time interval of whole days; a date plus one is a date.
DAYS = Type("interval", scale=1)
DOUBLE, FLOAT = Type("double"), Type("float")
BOOLEAN, STRING, NULL = Type("boolean"), Type("string"), Type("null")

_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}


#: Kinds of points in time.
TIMES = ("date", "timestamp", "timestamp_ntz")


def parse_type(text: str) -> Type:
    """A type from Spark's ``simpleString``."""
    if text in _BITS:
        return Type("int", _BITS[text])
    if text.startswith("decimal("):
        precision, scale = text[8:-1].split(",")
        return Type("decimal", int(precision), int(scale))
    if text in ("double", "float", "boolean", "string", "date", "timestamp", "timestamp_ntz"):
        return Type(text)
    if text.startswith(("varchar(", "char(")):
        return STRING
    if text == "interval day":
        return DAYS
    if text.startswith("interval ") and "month" not in text and "year" not in text:
        return Type("interval")
    if text.startswith("array<"):
        return Type("array", element=parse_type(text[6:-1]))
    if text.startswith("map<"):
        sides = _split(text[4:-1])
        if len(sides) == 2:
            return Type("map", key=parse_type(sides[0]), element=parse_type(sides[1]))
    if text.startswith("struct<"):
        found = [_FIELD.fullmatch(part) for part in _split(text[7:-1])]
        if any(f is None for f in found):
            return Type("other", name=text)
        return Type("struct", fields=tuple((f[1], parse_type(f[2])) for f in found if f is not None))
    if text in ("void", "null"):
        return NULL
    return Type("other", name=text)


#: A struct's field; a name with a sign of the notation is none that can be told apart.
_FIELD = re.compile(r"([^<>(),:]+):(.+)", re.DOTALL)


def _split(text: str) -> list[str]:
    """Parts of a type's notation between the commas outside of its brackets."""
    out, depth = [""], 0
    for c in text:
        depth += (c in "<(") - (c in ">)")
        if c == "," and depth == 0:
            out.append("")
        else:
            out[-1] += c
    return out


# -- the tree ----------------------------------------------------------------------------------------------------------


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
    """An operator or function by lower-case name.

    ``extra``: of an operator the session's time zone, where its operands may be times that the kernel does not combine.
    """

    name: str
    arguments: tuple[Expression, ...]
    extra: Any = None


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

    ``before``: without the last of them. ``own``: where the function is a user's.
    """

    function: str
    register: int
    arguments: tuple[Expression, ...]
    distinct: bool = False
    filter: Expression | None = None
    before: bool = False
    own: OwnAggregate | None = None


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


class NotCompilable(Exception):
    """Conditions, or their instruction programs, cannot express it; the message says what."""


# -- types -------------------------------------------------------------------------------------------------------------

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "<=>")


def as_decimal(type_: Type) -> Type:
    """The decimal type that Spark widens an integer to."""
    return Type("decimal", _DIGITS[type_.size], 0) if type_.kind == "int" else type_


def average_type(kind: Type) -> Type:
    """Type of the average of decimals."""
    return Type("decimal", min(38, kind.size + 4), min(38, kind.scale + 4))


def decimal_among(kinds: Sequence[Type]) -> bool:
    """Whether types are compared as decimals."""
    exact = all(k.kind in ("int", "decimal", "null") for k in kinds)
    return exact and any(k.kind == "decimal" for k in kinds)


def wider_decimal(x: Type, y: Type) -> Type:
    """The type that two decimals are compared as: where it would have more than 38 digits, Spark gives up those behind
    the point, so that values are rounded."""
    scale = max(x.scale, y.scale)
    size = scale + max(x.size - x.scale, y.size - y.scale)
    return Type("decimal", size, scale) if size <= 38 else Type("decimal", 38, max(0, scale - size + 38))


def common_type(kinds: Sequence[Type], ansi: bool = True) -> Type:
    """Common type of alternatives (CASE, COALESCE, IN): equal kinds, or numbers widened.

    Raises:
        NotCompilable: there is none.
    """
    known = [k for k in kinds if k.kind != "null"]
    if not known:
        return NULL
    if all(k == known[0] for k in known):
        return known[0]
    if all(k.kind == "int" for k in known):
        return max(known, key=lambda k: k.size)
    if all(k.is_numeric for k in known) and any(k.is_floating for k in known):
        if {k.kind for k in known} == {"int", "float"}:
            _check_float(INT, FLOAT, ansi)
        return DOUBLE
    if all(k.kind in ("int", "decimal") for k in known):
        return functools.reduce(wider_decimal, map(as_decimal, known))
    raise NotCompilable("alternatives of types " + ", ".join(k.shown for k in known))


def gives_up_digits(name: str, x: Type, y: Type) -> bool:
    """Whether the exact result of an arithmetic operator over decimals has more digits than a decimal."""
    return _exact_digits(name, as_decimal(x), as_decimal(y))[0] > 38


def _exact_digits(name: str, a: Type, b: Type) -> tuple[int, int]:
    """Precision and scale of an arithmetic operator's exact result over decimals: more than a decimal has, maybe."""
    if name == "*":
        return a.size + b.size + 1, a.scale + b.scale
    if name == "/":
        scale = max(6, a.scale + b.size + 1)
        return a.size - a.scale + b.scale + scale, scale
    scale = max(a.scale, b.scale)
    if name == "%":
        return min(a.size - a.scale, b.size - b.scale) + scale, scale
    return max(a.size - a.scale, b.size - b.scale) + scale + 1, scale


def _bounded(precision: int, scale: int) -> Type:
    if precision > 38:  # with spark.sql.decimalOperations.allowPrecisionLoss; without it see gives_up_digits
        digits = precision - scale
        scale = max(38 - digits, min(scale, 6))
        precision = 38
    return Type("decimal", precision, scale)


def arithmetic_type(name: str, x: Type, y: Type, ansi: bool = True) -> Type:
    """Spark's result type of an arithmetic operator.

    Raises:
        NotCompilable: operand types that conditions do not combine.
    """
    if x.kind == "null" or y.kind == "null":
        return y if x.kind == "null" else x
    if x.is_numeric and y.is_numeric:
        if "double" in (x.kind, y.kind):
            return DOUBLE
        if name == "div" and "float" in (x.kind, y.kind):
            raise NotCompilable("div over float")
        if x.kind == y.kind == "float":
            return DOUBLE if name == "/" else x
        if "float" in (x.kind, y.kind):
            if name != "/":
                _check_float(x, y, ansi)
            return DOUBLE
        if x.kind == y.kind == "int":
            if name == "div":
                return BIGINT
            return DOUBLE if name == "/" else Type("int", max(x.size, y.size))
        if name in ("+", "-", "*", "/", "%"):
            return _bounded(*_exact_digits(name, as_decimal(x), as_decimal(y)))
    if name == "-" and x.kind == y.kind and x.kind in ("date", "timestamp_ntz"):
        return DAYS if x.kind == "date" else Type("interval")
    if name in ("+", "-") and x.kind in ("timestamp_ntz", "interval") and y.kind == "interval":
        return x
    if name == "+" and x.kind == "interval" and y.kind == "timestamp_ntz":
        return y
    if name in ("+", "-") and x.kind == "date" and y == DAYS:
        return x
    if name == "+" and x == DAYS and y.kind == "date":
        return y
    raise NotCompilable(f"{x.shown} {name} {y.shown}")


def _check_float(x: Type, y: Type, ansi: bool) -> None:
    """Without ANSI mode an integer beside a float becomes a float, of which two roundings would be needed here."""
    if not ansi and "int" in (x.kind, y.kind):
        raise NotCompilable("float beside an integer; cast to double")


def _check_elements(name: str, x: Type, y: Type, ansi: bool) -> None:
    """Elements of arrays are only widened where nothing can be lost (Spark's `findTightestCommonType`): a decimal is
    compared with one of its type, or with an integer that it holds."""
    if x != y and "decimal" in (x.kind, y.kind) and "null" not in (x.kind, y.kind):
        decimal, other = (x, y) if x.kind == "decimal" else (y, x)
        if other.kind != "int" or decimal.size - decimal.scale < as_decimal(other).size:
            raise NotCompilable(f"array<{x.shown}> {name} array<{y.shown}>")
    check_comparable(name, x, y, ansi)


def check_comparable(name: str, x: Type, y: Type, ansi: bool = True) -> None:
    """Raises NotCompilable unless conditions compare the two types as Spark does."""
    if "float" in (x.kind, y.kind):
        _check_float(x, y, ansi)
    if "null" in (x.kind, y.kind) or (x.is_numeric and y.is_numeric) or (x.kind == y.kind and x.is_single):
        return
    if x.kind == y.kind == "array":
        _check_elements(name, x.element or NULL, y.element or NULL, ansi)
        return
    if x.kind == y.kind == "struct" and x == y:
        for _, kind in x.fields:
            check_comparable(name, kind, kind, ansi)
        return
    raise NotCompilable(f"{x.shown} {name} {y.shown}")
