"""Which type Spark gives values of different types that meet in one operation.

Rules are those of Spark's `AnsiTypeCoercion` (with ANSI mode) and `TypeCoercion` (without).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from sparkcep.expr.types import BIGINT, DAYS, DOUBLE, FLOAT, INT, NULL, STRING, NotCompilable, Type

#: Types of times, the narrowest first: Spark casts the narrower of two to the wider one (`findWiderDateTimeType`).
TIMES_BY_WIDTH = ("date", "timestamp_ntz", "timestamp")
#: What a text may be cast to, besides numbers.
_ATOMIC = (*TIMES_BY_WIDTH, "boolean")
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}


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
    if x.kind == "null" or y.kind == "null":  # which is of the type that is beside it
        known = y if x.kind == "null" else x
        if known == NULL:
            return DOUBLE
        return arithmetic_type(name, known, known, ansi) if known.is_numeric else known
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


# -- texts beside other types, singles beside integers -----------------------------------------------------------------


def compared_as(kinds: Sequence[Type], ansi: bool) -> Type | None:
    """The type of a text, or a single, in a comparison of two values; None: each stays as it is.

    >>> from sparkcep.expr.types import INT
    >>> compared_as([STRING, INT], ansi=True).shown, compared_as([STRING, INT], ansi=False).shown
    ('bigint', 'int')
    """
    if (other := _beside_text(kinds)) is None:
        return FLOAT if _is_single_precision(kinds, ansi) else None
    if other.kind in _ATOMIC:
        return other
    if not other.is_numeric:
        return None
    if ansi:
        return BIGINT if other.kind == "int" else DOUBLE
    return DOUBLE if other.kind == "decimal" else other


def combined_as(name: str, kinds: Sequence[Type], ansi: bool) -> Type | None:
    """The type of a text, or a single, in an arithmetic operation; None: each stays as it is, or Spark has no such."""
    if all(k.kind == "string" for k in kinds):
        return None if (ansi and len(kinds) == 2) or name == "div" else DOUBLE
    if (other := _beside_text(kinds)) is None:
        return FLOAT if name not in ("/", "div") and _is_single_precision(kinds, ansi) else None
    if name == "-" and ansi and other.kind in TIMES_BY_WIDTH:
        return other
    if not other.is_numeric or (name == "div" and (not ansi or other.kind != "int")):
        return None
    return BIGINT if ansi and other.kind == "int" else DOUBLE


def alternative_as(name: str, kinds: Sequence[Type], ansi: bool) -> Type | None:
    """The type of texts, or of singles, among alternatives, as those of CASE and IN; None: each stays as it is.

    With ANSI mode types are widened one after the other, texts first; without it all become texts.
    """
    others = [k for k in kinds if k.kind not in ("string", "null")]
    if not others or len(others) == len([k for k in kinds if k.kind != "null"]):
        return FLOAT if _is_single_precision(kinds, ansi) else None
    if name in ("least", "greatest"):
        return None
    if not ansi:
        return STRING if all(k.is_numeric or k.kind in TIMES_BY_WIDTH for k in others) else None
    common = STRING
    for kind in others:
        pair = [common, kind]
        wider = compared_as(pair, ansi) if "string" in (common.kind, kind.kind) else _widened(pair, ansi)
        if wider is None:
            return None
        common = wider
    return common


def wider_time(kinds: Iterable[str]) -> str:
    """The type that times of some types are compared as, by its name."""
    return max(kinds, key=TIMES_BY_WIDTH.index)


def _beside_text(kinds: Sequence[Type]) -> Type | None:
    """The other type of two of which one is a text's."""
    others = [k for k in kinds if k.kind != "string"]
    return others[0] if len(kinds) == 2 and len(others) == 1 else None


def _is_single_precision(kinds: Iterable[Type], ansi: bool) -> bool:
    """Whether integers become singles, which they do not with ANSI mode."""
    return not ansi and {k.kind for k in kinds if k.kind != "null"} == {"int", "float"}


def _widened(kinds: Sequence[Type], ansi: bool) -> Type | None:
    if all(k.kind in TIMES_BY_WIDTH for k in kinds):
        return Type(wider_time(k.kind for k in kinds))
    try:
        return common_type(kinds, ansi)
    except NotCompilable:
        return None
