"""ROUND and BROUND of doubles in the kernel, against decimals that are written out."""

from __future__ import annotations

import math
import struct
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal

from hypothesis import example, given
from hypothesis import strategies as st
from numba import njit

from sparkcep.exec.kernels.conditions import rounding

WIDE = Context(prec=400)


@njit
def rounded(value, places, half_even):  # type: ignore[no-untyped-def]
    return rounding.rounded(value, places, half_even)


def expected(value: float, places: int, half_even: bool) -> float:
    """The shortest decimal that reads back as the value, rounded and read."""
    if not math.isfinite(value):
        return value
    number = Decimal(repr(value))
    if number.as_tuple().exponent < -places:  # type: ignore[operator]
        number = number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN if half_even else ROUND_HALF_UP, WIDE)
    return float(number) or 0.0


def near(digits: int, place: int, steps: int) -> float:
    """A tie, as the double that is nearest to it or some doubles away."""
    value = (digits * 10 + 5) / 10.0**place
    for _ in range(abs(steps)):
        value = math.nextafter(value, math.inf if steps > 0 else -math.inf)
    return value


ties = st.builds(near, st.integers(-(10**15), 10**15), st.integers(1, 22), st.integers(-2, 2))
short = st.builds(lambda digits, place: digits / 10.0**place, st.integers(-(10**7), 10**7), st.integers(0, 8))
powers = st.builds(lambda n, d: math.ldexp(1.0 + d, n), st.integers(-70, 60), st.sampled_from([0.0, 2**-52, -(2**-53)]))
values = st.one_of(st.floats(), ties, ties, short, powers, st.floats(-1e6, 1e6))


@given(values, st.integers(0, rounding.PLACES), st.booleans())
@example(2.675, 2, False)  # below the tie that it is written as
@example(-0.0, 1, False)
@example(-0.04, 1, False)
@example(0.5, 0, True)
@example(1.0000000000000002, 15, False)
@example(-423.38345920984557, 13, False)  # 17 digits, whose product with ten to the 14 has an error of several units
@example(9.264599853668749e-07, 21, True)
@example(0.98765432109876543, 16, False)
@example(4503599627370495.5, 0, False)
@example(5e-324, 21, False)
@example(1.7976931348623157e308, 21, False)
def test_rounds_what_is_written(value: float, places: int, half_even: bool) -> None:
    found = rounded(value, places, half_even)
    wanted = expected(value, places, half_even)
    assert struct.pack("d", found) == struct.pack("d", wanted) or (math.isnan(found) and math.isnan(wanted))


def test_places_before_the_last() -> None:
    """Every place behind the point up to that of the last digit, of numbers of 15 to 17 digits."""
    for n in range(2_000):
        value = (1 + n * 7_919) / 7_907.0
        for places in range(rounding.PLACES + 1):
            for half_even in (False, True):
                assert rounded(value, places, half_even) == expected(value, places, half_even), (value, places)
