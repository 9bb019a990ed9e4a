"""Spark's numbers as Python has them: what fits a type, and how it is rounded."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from sparkcep.expr.types import Type

#: A quotient of decimals of 38 digits has up to 77 digits before its point, and 38 places that are kept.
DECIMALS = Context(prec=120, rounding=ROUND_HALF_UP)


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
