"""Arithmetic and order of values as Spark has them: wrapped around or an error by ANSI mode, NaN above everything."""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels import decimals
from sparkcep.exec.kernels.caching import inlined, inner, spliced
from sparkcep.exec.kernels.conditions.codes import (
    ADD_F,
    ADD_I,
    CEILING,
    COMPARE_I,
    COMPARE_W,
    CUT,
    DIV_F,
    EQUAL,
    FLOOR,
    GREATER,
    IDIV_I,
    LESS,
    MOD_I,
    MUL_F,
    MUL_I,
    RAISE_X,
    RAISE_Y,
    SUB_F,
    SUB_I,
)
from sparkcep.exec.kernels.statuses import FALSE, OVERFLOW, TRUE, ZERO_DIVISION

_HALF = np.int64(1) << 31


@inner
def compare(a, b):
    """-1, 0 or 1 as a double is below, like or above another; Spark orders NaN above everything and equal to itself."""
    if a != a:
        return 0 if b != b else 1
    if b != b:
        return -1
    return -1 if a < b else (1 if a > b else 0)


@inner
def outside(value, bits):
    """Whether an integer does not fit into so many bits."""
    if bits == 64:
        return False
    half = np.int64(1) << (bits - 1)
    return value < -half or value >= half


@inner
def wrap(value, bits):
    """The integer that the low bits of another one are."""
    if bits == 64:
        return value
    shift = 64 - bits
    return (value << shift) >> shift


@inner
def multiply(x, y):
    """A product, wrapped around, and whether it does not fit. That `x * y // x` is `y` the compiler takes as given."""
    if -_HALF <= x < _HALF and -_HALF <= y < _HALF:
        return x * y, False
    negative, high, low = decimals.product(x, y)
    value, fits = np.int64(low), high == 0 and low >> np.uint64(63) == 0
    if negative:
        value = -value
        fits = high == 0 and value <= 0 and (value != 0 or low == 0)
    return value, not fits


@inner
def whole_of(op, value, bits, ansi):
    """A double as an integer: (TRUE or OVERFLOW, integer). Without ANSI mode as Java casts: NaN is 0, what does not fit
    the nearest. FLOOR and CEILING give 0 for NaN in ANSI mode, too."""
    if op == FLOOR:
        value = np.floor(value)
    elif op == CEILING:
        value = np.ceil(value)
    half = 2.0 ** (bits - 1)
    least, most = -np.int64(1) << (bits - 1), ~(-np.int64(1) << (bits - 1))
    # What fits once its fraction is gone: -half - 0.5 does, which a double of 64 bits cannot be.
    if -half - 1.0 < value < half or value == -half:
        return TRUE, np.int64(value)
    if ansi and (op == CUT or value == value):
        return OVERFLOW, np.int64(0)
    return TRUE, np.int64(0) if value != value else (least if value < 0 else most)


@spliced
def order_of(op, argument, x, y, digits):
    """How two values, each (integer, high word, double), are ordered: LESS, EQUAL or GREATER."""
    if op == COMPARE_I:
        return EQUAL if x[0] == y[0] else (LESS if x[0] < y[0] else GREATER)
    if op == COMPARE_W:
        raised_x, raised_y = argument >> RAISE_X & 255, argument >> RAISE_Y & 255
        return np.int64(1) << (decimals.order(x[1], x[0], raised_x, y[1], y[0], raised_y, digits) + 1)
    if x[2] < y[2]:
        return np.int64(LESS)
    if x[2] > y[2]:
        return np.int64(GREATER)
    return np.int64(1) << (compare(x[2], y[2]) + 1)


@spliced
def of_doubles(op, x, y, ansi):
    """ADD_F to MOD_F: (TRUE, FALSE for NULL, or ZERO_DIVISION; double)."""
    if op == ADD_F:
        return TRUE, x + y
    if op == SUB_F:
        return TRUE, x - y
    if op == MUL_F:
        return TRUE, x * y
    if y == 0.0:
        return ZERO_DIVISION if ansi else FALSE, y
    if op == DIV_F:
        return TRUE, x / y
    return TRUE, np.fmod(x, y)


@spliced
def of_integers(op, x, y, bits, ansi):
    """ADD_I to IDIV_I: (TRUE, FALSE for NULL, OVERFLOW or ZERO_DIVISION; integer of so many bits)."""
    bad = False
    if op == ADD_I:
        value = x + y
        bad = bool(((x ^ value) & (y ^ value)) < 0)
    elif op == SUB_I:
        value = x - y
        bad = bool(((x ^ y) & (x ^ value)) < 0)
    elif op == MUL_I:
        value, bad = multiply(x, y)
    elif y == 0:
        return ZERO_DIVISION if ansi else FALSE, y
    elif y == -1:
        value = np.int64(0) if op == MOD_I else -x
        bad = op == IDIV_I and x != 0 and value == x
    else:
        quotient = x // y  # rounds down; SQL rounds to zero
        if quotient * y != x and (x < 0) != (y < 0):
            quotient += 1
        value = quotient if op == IDIV_I else x - quotient * y
    return within(value, bad, bits, ansi)


@inlined
def within(value, bad, bits, ansi):
    """A result as an integer of so many bits: (TRUE or OVERFLOW, integer)."""
    if bad or outside(value, bits):
        if ansi:
            return OVERFLOW, value
        value = wrap(value, bits)
    return TRUE, value


@inlined
def negated(value, bits, ansi):
    """(TRUE or OVERFLOW, integer of so many bits)."""
    negative = -value
    return within(negative, bits == 64 and negative == value and negative != 0, bits, ansi)
