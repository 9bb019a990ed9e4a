"""Scalar functions that conditions evaluate in Python, with Spark's types, rounding, overflow and places in strings.

What is not here has no exact counterpart: texts of doubles are Java's.
"""

from __future__ import annotations

import calendar
import ctypes
import datetime as dt
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import Any

from sparkcep.exec.kernels.conditions import functions
from sparkcep.exec.kernels.statuses import TRUE
from sparkcep.expr.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    Type,
)

#: A quotient of decimals of 38 digits has up to 77 digits before its point, and 38 places that are kept.
DECIMALS = Context(prec=120, rounding=ROUND_HALF_UP)
_DATE = Type("date")


class Overflow(Exception):
    """ARITHMETIC_OVERFLOW while matching."""


class DivisionByZero(Exception):
    """DIVIDE_BY_ZERO while matching."""


def single(value: float) -> float:
    """A double rounded to single precision.

    Sums, differences and products of singles, computed in double precision, are right after this one rounding.
    """
    return ctypes.c_float(value).value


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers that fit a type. ``ansi``: what does not is an error (else NULL, or wrapped)."""

    ansi: bool

    def integer(self, value: int, bits: int) -> int:
        """The value in so many bits, two's complement, if it fits; else it wraps without ANSI.

        Raises:
            Overflow: under ANSI.
        """
        half = 1 << (bits - 1)
        if -half <= value < half:
            return value
        if self.ansi:
            raise Overflow
        return (value + half) % (2 * half) - half

    def cut(self, value: Any, bits: int) -> int:
        """A number without its fraction. Without ANSI mode as Java casts: NaN is 0, what does not fit the nearest."""
        if self.ansi:
            if not math.isfinite(value):
                raise Overflow
            return self.integer(int(value), bits)
        half = 1 << (bits - 1)
        if math.isnan(value):
            return 0
        return half - 1 if value >= half else -half if value < -half else int(value)

    def decimal(self, value: Decimal, kind: Type) -> Decimal | None:
        """The value rounded to the type's scale; NULL without ANSI where it has too many digits.

        Raises:
            Overflow: under ANSI.
        """
        out = value.quantize(Decimal(1).scaleb(-kind.scale), context=DECIMALS)
        if out.adjusted() >= kind.size - kind.scale and out != 0:
            if self.ansi:
                raise Overflow
            return None
        return out if out else abs(out)  # there is no -0.00


# -- strings: places count characters from 1 ---------------------------------------------------------------------------


def substring(text: str, start: int, length: int = 2**31) -> str:
    """Spark's: positions from 1, negative ones from the end; 0 is as 1."""
    low = start - 1 if start > 0 else (len(text) + start if start < 0 else 0)
    high = low + length
    return text[max(low, 0) : high] if high > max(low, 0) else ""


def levenshtein(a: str, b: str) -> int:
    """Edit distance in characters.

    Differences between neighbouring cells of a column of the table are bits of two whole numbers, so that a character
    of the shorter text costs a dozen operations on them (Myers 1999, as Hyyrö 2001 writes it).
    """
    if len(a) < len(b):
        a, b = b, a
    same: dict[str, int] = {}
    bit = 1
    for c in a:
        same[c] = same.get(c, 0) | bit
        bit <<= 1
    every, last = bit - 1, bit >> 1
    up, down, distance = every, 0, len(a)
    for c in b:
        here = same.get(c, 0)
        vertical = here | down
        horizontal = (((here & up) + up) ^ up) | here
        rising, falling = down | (every & ~(horizontal | up)), up & horizontal
        if rising & last:
            distance += 1
        elif falling & last:
            distance -= 1
        rising = rising << 1 | 1
        up = (falling << 1 | (every & ~(vertical | rising))) & every
        down = rising & vertical & every
    return distance


def _pad(text: str, length: int, pad: str, left: bool) -> str:
    missing = length - len(text)
    if missing <= 0 or not pad:
        return text[: max(length, 0)]
    padding = (pad * (missing // len(pad) + 1))[:missing]
    return padding + text if left else text + padding


def _translate(text: str, old: str, new: str) -> str:
    table: dict[int, str | None] = {}
    for k, c in enumerate(old):
        table.setdefault(ord(c), new[k] if k < len(new) else None)
    return text.translate(table)


def _substring_index(text: str, delimiter: str, count: int) -> str:
    """Occurrences of the delimiter may overlap, counted from the front as from the end."""
    if not delimiter or not count:
        return ""
    at = -1 if count > 0 else len(text) - len(delimiter) + 1
    for _ in range(abs(count)):
        at = text.find(delimiter, at + 1) if count > 0 else text.rfind(delimiter, 0, max(at - 1 + len(delimiter), 0))
        if at < 0:
            return text
    return text[:at] if count > 0 else text[at + len(delimiter) :]


# -- dates -------------------------------------------------------------------------------------------------------------


def out_of_calendar() -> ValueError:
    """Of a date or time that Spark has and Python has not; the caller raises it."""
    return ValueError("a date or time before 0001-01-01 or after 9999-12-31, UTC")


def _days_later(day: dt.date, days: int) -> dt.date:
    try:
        return day + dt.timedelta(days=days)
    except OverflowError:
        raise out_of_calendar() from None


def _months_later(day: dt.date, months: int) -> dt.date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not dt.MINYEAR <= year <= dt.MAXYEAR:
        raise out_of_calendar()
    return day.replace(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def _last_day(day: dt.date) -> dt.date:
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


# -- numbers -----------------------------------------------------------------------------------------------------------


def _mathematical(number: int, x: float, y: float = 0.0) -> float | None:
    """A function that the kernel has; NULL where a logarithm is."""
    status, value = functions.value_of(number, x, y, functions.ADDRESSES)
    return float(value) if status == TRUE else None


#: Name -> forms: kinds of the arguments (s string, i int of at most 32 bits, d date, n any number as a double), the
#: result's type and the function. All are NULL where an argument is.
_FORMS: dict[str, tuple[tuple[str, Type, Callable[..., Any]], ...]] = {
    "lower": (("s", STRING, str.lower),),
    "upper": (("s", STRING, str.upper),),
    "trim": (("s", STRING, lambda v: v.strip(" ")),),
    "ltrim": (("s", STRING, lambda v: v.lstrip(" ")),),
    "rtrim": (("s", STRING, lambda v: v.rstrip(" ")),),
    "length": (("s", INT, len),),
    "char_length": (("s", INT, len),),
    "octet_length": (("s", INT, lambda v: len(v.encode())),),
    "bit_length": (("s", INT, lambda v: 8 * len(v.encode())),),
    "reverse": (("s", STRING, lambda v: v[::-1]),),
    "repeat": (("si", STRING, lambda v, n: v * n),),
    "levenshtein": (("ss", INT, levenshtein),),
    "substring": (("si", STRING, substring), ("sii", STRING, substring)),
    "left": (("si", STRING, lambda v, n: v[: max(n, 0)]),),
    "right": (("si", STRING, lambda v, n: v[-n:] if n > 0 else ""),),
    "replace": (
        ("ss", STRING, lambda v, old: v.replace(old, "") if old else v),
        ("sss", STRING, lambda v, old, new: v.replace(old, new) if old else v),
    ),
    "instr": (("ss", INT, lambda v, part: v.find(part) + 1),),
    "locate": (("ss", INT, lambda part, v: v.find(part) + 1),),
    "startswith": (("ss", BOOLEAN, str.startswith),),
    "endswith": (("ss", BOOLEAN, str.endswith),),
    "contains": (("ss", BOOLEAN, lambda v, part: part in v),),
    "lpad": (
        ("si", STRING, lambda v, n: _pad(v, n, " ", True)),
        ("sis", STRING, lambda v, n, pad: _pad(v, n, pad, True)),
    ),
    "rpad": (
        ("si", STRING, lambda v, n: _pad(v, n, " ", False)),
        ("sis", STRING, lambda v, n, pad: _pad(v, n, pad, False)),
    ),
    "translate": (("sss", STRING, _translate),),
    "substring_index": (("ssi", STRING, _substring_index),),
    "datediff": (("dd", INT, lambda v, w: (v - w).days),),
    "date_add": (("di", _DATE, _days_later),),
    "date_sub": (("di", _DATE, lambda v, n: _days_later(v, -n)),),
    "add_months": (("di", _DATE, _months_later),),
    "last_day": (("d", _DATE, _last_day),),
    "year": (("d", INT, lambda v: v.year),),
    "quarter": (("d", INT, lambda v: (v.month + 2) // 3),),
    "month": (("d", INT, lambda v: v.month),),
    "day": (("d", INT, lambda v: v.day),),
    "weekday": (("d", INT, dt.date.weekday),),
    "dayofweek": (("d", INT, lambda v: v.isoweekday() % 7 + 1),),
    "dayofyear": (("d", INT, lambda v: v.timetuple().tm_yday),),
    "weekofyear": (("d", INT, lambda v: v.isocalendar().week),),
}
_FORMS |= {name: (("n", DOUBLE, functools.partial(_mathematical, n)),) for name, n in functions.NAMES.items()}
_FORMS |= {name: (("nn", DOUBLE, functools.partial(_mathematical, n)),) for name, n in functions.NAMES_OF_TWO.items()}
_FORMS["log"] += _FORMS["ln"]
_OTHERS = """round bround floor ceil isnan concat_ws size cardinality array_size map_keys map_values get arrays_overlap
array_intersect array_except array_union"""
_OWN_SYNTAX = ("lower", "upper", "trim", "datediff")
_SYNONYMS = {
    "character_length": "char_length", "len": "length", "substr": "substring", "dateadd": "date_add",
    "dayofmonth": "day", "signum": "sign", "power": "pow", "ceiling": "ceil", "mod": "%", "float": "cast_float",
    "int": "cast_int", "string": "cast_string",
}  # fmt: skip
#: What may be written in a condition beside the names that have a syntax of their own -> the name here.
FUNCTIONS = {name: name for name in (*_FORMS, *_OTHERS.split()) if name not in _OWN_SYNTAX} | _SYNONYMS


def scalar_function(
    name: str, kinds: Sequence[Type], constants: Sequence[Any], numbers: Numbers
) -> tuple[Callable[..., Any], Type] | None:
    """A function of values that are not NULL, and the type of its result; None where it is not here.

    Args:
        constants: values of arguments that are constants, None for others.
    """
    for letters, kind, function in _FORMS.get(name, ()):
        if len(letters) == len(kinds) and all(map(_fits, kinds, letters)):
            return _of_doubles(function) if letters in ("n", "nn") else function, kind
    first = kinds[0] if kinds else Type("null")
    if name in ("round", "bround"):
        return _rounding(name, kinds, constants, numbers)
    if name in ("floor", "ceil") and len(kinds) == 1:
        return _whole(name, first, numbers)
    if name in ("cast_float", "cast_double") and first.is_numeric:
        return (float, DOUBLE) if name == "cast_double" else (_single, FLOAT)
    if name in ("cast_int", "cast_bigint"):
        return _to_integer(first, 32 if name == "cast_int" else 64, numbers)
    if name == "cast_string" and first.kind in ("int", "string", "boolean", "date"):
        return _text, STRING
    return None


def _single(value: Any) -> float:
    if isinstance(value, int):  # what a double cannot hold is rounded to odd, so that rounding again is right
        value = (value >> 11 | (value & 2047 != 0)) << 11 if abs(value) >> 53 else value
    return single(float(value))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _of_doubles(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: function(*map(float, values))


def _fits(kind: Type, letter: str) -> bool:
    if kind.kind == "null":
        return True
    if letter == "i":
        return kind.kind == "int" and kind.size <= 32
    return kind.is_numeric if letter == "n" else kind.kind == {"s": "string", "d": "date"}[letter]


def rounded_type(kind: Type, places: int) -> Type:
    """Type of a decimal that is rounded to so many digits behind the point, before it where negative."""
    whole = kind.size - kind.scale + 1
    scale = min(kind.scale, places) if places >= 0 else 0
    return Type("decimal", min(38, whole + scale if places >= 0 else max(whole, 1 - places)), scale)


def _rounding(
    name: str, kinds: Sequence[Type], constants: Sequence[Any], numbers: Numbers
) -> tuple[Callable[..., Any], Type] | None:
    kind = kinds[0]
    places = constants[1] if len(kinds) == 2 else 0
    if len(kinds) > 2 or not kind.is_numeric or isinstance(places, bool) or not isinstance(places, int):
        return None
    if abs(places) > 38:
        return None
    rounding = ROUND_HALF_UP if name == "round" else ROUND_HALF_EVEN
    unit = Decimal(1).scaleb(-places)

    def rounded(value: Decimal) -> Decimal:
        return value.quantize(unit, rounding, DECIMALS) if value.as_tuple().exponent < -places else value  # type: ignore[operator]

    if kind.kind == "int":
        return (lambda v, *_: numbers.integer(int(rounded(Decimal(v))), kind.size)), kind
    if kind.kind == "decimal":
        result = rounded_type(kind, places)
        return (lambda v, *_: numbers.decimal(rounded(v), result)), result

    def floating(value: float, *_: Any) -> float:
        if not math.isfinite(value):
            return value
        # The shortest decimal that reads back as the value, as Java writes it.
        out = float(rounded(Decimal(repr(value)))) or 0.0
        return single(out) if kind.kind == "float" else out

    return floating, kind


def whole_type(kind: Type) -> Type:
    """The type of FLOOR and CEIL of a decimal: its own without places, else with room for a carry."""
    return kind if kind.scale == 0 else Type("decimal", min(38, kind.size - kind.scale + 1), 0)


def _whole(name: str, kind: Type, numbers: Numbers) -> tuple[Callable[..., Any], Type] | None:
    if kind.kind == "int":
        return int, BIGINT
    if kind.kind == "decimal":
        result = whole_type(kind)
        rounding = ROUND_FLOOR if name == "floor" else ROUND_CEILING
        return (lambda v: numbers.decimal(v.quantize(Decimal(1), rounding, DECIMALS), result)), result
    if not kind.is_floating:
        return None
    whole = math.floor if name == "floor" else math.ceil

    def of_double(v: float) -> int:
        if math.isnan(v):
            return 0  # in ANSI mode, too, where a cast fails
        return numbers.cut(whole(v) if math.isfinite(v) else v, 64)

    return of_double, BIGINT


def _to_integer(kind: Type, bits: int, numbers: Numbers) -> tuple[Callable[..., Any], Type] | None:
    result = Type("int", bits)
    if kind.kind in ("int", "boolean"):
        return (lambda v: numbers.integer(int(v), bits)), result
    if kind.kind not in ("double", "float", "decimal") or (kind.kind == "decimal" and not numbers.ansi):
        return None

    return (lambda v: numbers.cut(v, bits)), result
