"""Day-time intervals times and over numbers, as the interpreter has them: halves of microseconds away from zero."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction
from typing import Any

from sparkcep.expr.local_times import INTERVAL, Operation
from sparkcep.expr.numbers import DivisionByZero, Overflow
from sparkcep.expr.types import Type

_MICROSECOND = dt.timedelta(microseconds=1)
_FACTORS = ("int", "decimal", "double", "float")


def scaled(name: str, x: Type, y: Type) -> Operation | None:
    """`interval * number`, `number * interval` or `interval / number`; None where these are not the operands.

    A quotient by a decimal is not here: Spark rounds it to the digits of its type before.
    """
    if name == "*" and x.kind in _FACTORS and y.kind == "interval":
        return (lambda u, v: _times(v, u)), INTERVAL
    if x.kind != "interval":
        return None
    if name == "*" and y.kind in _FACTORS:
        return _times, INTERVAL
    return (_over, INTERVAL) if name == "/" and y.kind in ("int", "double", "float") else None


def _times(interval: dt.timedelta, number: Any) -> dt.timedelta:
    micros = interval // _MICROSECOND
    # A product with a double is one, which is rounded before it is one of microseconds.
    return _rounded(_exact(micros * number) if isinstance(number, float) else micros * _exact(number))


def _over(interval: dt.timedelta, number: Any) -> dt.timedelta:
    """Raises DivisionByZero with and without ANSI mode."""
    if number == 0:
        raise DivisionByZero
    if isinstance(number, float):
        return _rounded(_exact((interval // _MICROSECOND) / number))
    return _rounded(Fraction(interval // _MICROSECOND) / number)


def _exact(number: Any) -> Fraction:
    """Raises Overflow for NaN and the infinities."""
    try:
        return Fraction(number)
    except (ValueError, OverflowError):
        raise Overflow from None


def _rounded(micros: Fraction) -> dt.timedelta:
    whole = math.floor(abs(micros) + Fraction(1, 2)) * (1 if micros >= 0 else -1)
    if not -(2**63) <= whole < 2**63:
        raise Overflow
    return whole * _MICROSECOND
