"""Which type Spark gives values of different types that meet in one operation.

Rules are those of Spark's `AnsiTypeCoercion` (with ANSI mode) and `TypeCoercion` (without), of texts beside other
types and of single precision beside integers. All other numbers are widened in exec/conditions/expressions.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sparkcep.exec.conditions.expressions import (
    BIGINT,
    DOUBLE,
    FLOAT,
    STRING,
    NotCompilable,
    Type,
    common_type,
)

#: Types of times, the narrowest first: Spark casts the narrower of two to the wider one (`findWiderDateTimeType`).
TIMES_BY_WIDTH = ("date", "timestamp_ntz", "timestamp")
#: What a text may be cast to, besides numbers.
_ATOMIC = (*TIMES_BY_WIDTH, "boolean")


def compared_as(kinds: Sequence[Type], ansi: bool) -> Type | None:
    """The type of a text, or a single, in a comparison of two values; None: each stays as it is.

    >>> from sparkcep.exec.conditions.expressions import INT
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
