"""Decimal arithmetic with Spark's results, for the register machine of conditions.

A decimal is its unscaled number, in two words: ``high`` int64 and ``low`` int64 with the bits of the lower 64. Spark's
operations are exact and then rounded half up to the scale of their type (DecimalPrecision, with loss of precision
allowed), so each is: multiply the operands by powers of ten, operate, drop digits, check the precision. Nearly all
numbers on the way are below 2**127 and stay in two words; the others take lists of 32-bit digits.
"""

from __future__ import annotations

import math

import numpy as np

from sparkcep.exec.kernels.caching import inner
from sparkcep.exec.kernels.statuses import OVERFLOW, TRUE, ZERO_DIVISION

ADD, SUBTRACT, MULTIPLY, DIVIDE, REMAINDER, FLOOR, CEILING = range(7)
#: The largest precision.
DIGITS = 38
#: 32-bit digits of a long number: 10**115, the largest dividend, has 383 bits. Four such numbers are held at a time.
LONG = 14
SCRATCH = 4 * LONG

_POWERS = [10**k for k in range(DIGITS + 1)]
_POWER_HIGH = np.array([p >> 64 for p in _POWERS], np.uint64)
_POWER_LOW = np.array([p & (2**64 - 1) for p in _POWERS], np.uint64)
#: Powers of ten that are doubles.
DOUBLE_POWERS = np.array([float(10**k) for k in range(23)])
#: The largest powers of ten that fit a word, and half of one.
_WORD, _HALF = 19, 9

_0, _1, _32, _63 = np.uint64(0), np.uint64(1), np.uint64(32), np.uint64(63)
_LOW = np.uint64(2**32 - 1)
_TEN = np.uint64(10)


def pack(operation: int, raise_x: int, raise_y: int, drop: int, precision: int) -> int:
    """The argument of an instruction: what is done, by which powers of ten the operands are multiplied before, how many
    digits are dropped after, and the precision of the result. FLOOR and CEILING have one operand and only drop digits.
    """
    return operation | raise_x << 4 | raise_y << 12 | drop << 20 | precision << 28


#: Of sums that go on.
LONGEST_SUM = pack(ADD, 0, 0, 0, DIGITS)

# -- two words, without a sign -----------------------------------------------------------------------------------------


@inner
def _next(hi, lo):
    lo += _1
    return hi + (_1 if lo == _0 else _0), lo


@inner
def _magnitude(high, low):
    """(negative, high, low) of a number with a sign."""
    hi, lo = np.uint64(high), np.uint64(low)
    if high < 0:
        hi, lo = _next(~hi, ~lo)
    return high < 0, hi, lo


@inner
def _signed(negative, hi, lo):
    if negative:
        hi, lo = _next(~hi, ~lo)
    return np.int64(hi), np.int64(lo)


@inner
def _product(x, y):
    """Two words, of two factors of one each."""
    x0, x1, y0, y1 = x & _LOW, x >> _32, y & _LOW, y >> _32
    p, q, r = x0 * y0, x0 * y1, x1 * y0
    middle = (p >> _32) + (q & _LOW) + (r & _LOW)
    return x1 * y1 + (q >> _32) + (r >> _32) + (middle >> _32), (p & _LOW) | (middle << _32)


@inner
def _times(hi, lo, factor):
    """(fits 127 bits, high, low)"""
    carry, low = _product(lo, factor)
    over, upper = _product(hi, factor)
    high = upper + carry
    return over == _0 and high >= upper and high >> _63 == _0, high, low


@inner
def _raised(hi, lo, power):
    """Multiplied by a power of ten: (fits 127 bits, high, low)"""
    fits = True
    while power > 0 and fits:
        step = min(power, _WORD)
        fits, hi, lo = _times(hi, lo, _POWER_LOW[step])
        power -= step
    return fits, hi, lo


@inner
def _less(xh, xl, yh, yl):
    return xh < yh or (xh == yh and xl < yl)


@inner
def _short_division(hi, lo, divisor):
    """By a divisor below 2**32: (high, low, remainder)"""
    q3 = (hi >> _32) // divisor
    r = ((hi >> _32) % divisor) << _32 | (hi & _LOW)
    q2, r = r // divisor, (r % divisor) << _32 | (lo >> _32)
    q1, r = r // divisor, (r % divisor) << _32 | (lo & _LOW)
    return q3 << _32 | q2, q1 << _32 | r // divisor, r % divisor


@inner
def _division(xh, xl, yh, yl):
    """(quotient, remainder), of two words each; the divisor is below 2**127."""
    if yh == _0 and yl <= _LOW:
        qh, ql, r = _short_division(xh, xl, yl)
        return qh, ql, _0, r
    if xh == _0 and yh == _0:
        return _0, xl // yl, _0, xl % yl
    qh, ql, rh, rl = _0, _0, _0, _0
    for _ in range(128):
        rh, rl = rh << _1 | rl >> _63, rl << _1 | xh >> _63
        xh, xl = xh << _1 | xl >> _63, xl << _1
        qh, ql = qh << _1 | ql >> _63, ql << _1
        if not _less(rh, rl, yh, yl):
            rh, rl = rh - yh - (_1 if rl < yl else _0), rl - yl
            ql |= _1
    return qh, ql, rh, rl


@inner
def _truncated(hi, lo, digits):
    """(high, low, whether any of the digits dropped was not 0)"""
    exact = True
    while digits > 0:
        step = min(digits, _HALF)
        hi, lo, rest = _short_division(hi, lo, _POWER_LOW[step])
        exact = exact and rest == _0
        digits -= step
    return hi, lo, not exact


@inner
def _dropped(hi, lo, digits):
    """Without its last digits, rounded half up: what the first of those digits is decides."""
    if digits == 0:
        return hi, lo
    hi, lo, _ = _truncated(hi, lo, digits - 1)
    hi, lo, last = _short_division(hi, lo, _TEN)
    if last >= np.uint64(5):
        hi, lo = _next(hi, lo)
    return hi, lo


@inner
def _sum(negative, xh, xl, subtracted, yh, yl):
    """Of two numbers with signs apart: (fits 127 bits, negative, high, low)"""
    if negative == subtracted:
        low = xl + yl
        high = xh + yh + (_1 if low < xl else _0)
        return high >> _63 == _0, negative, high, low
    if _less(xh, xl, yh, yl):
        return True, subtracted, yh - xh - (_1 if yl < xl else _0), yl - xl
    return True, negative, xh - yh - (_1 if xl < yl else _0), xl - yl


@inner
def _in_two_words(operation, xn, xh, xl, raise_x, yn, yh, yl, raise_y, drop):
    """(fits, negative, high, low): the result before its precision is checked, where all on the way fits 127 bits."""
    x_fits, xh, xl = _raised(xh, xl, raise_x)
    y_fits, yh, yl = _raised(yh, yl, raise_y)
    negative, hi, lo = xn != yn, _0, _0
    if not (x_fits and y_fits):
        return False, negative, hi, lo
    fits = True
    if operation <= SUBTRACT:
        fits, negative, hi, lo = _sum(xn, xh, xl, yn != (operation == SUBTRACT), yh, yl)
    elif operation == MULTIPLY:
        if xh == _0:
            fits, hi, lo = _times(yh, yl, xl)
        elif yh == _0:
            fits, hi, lo = _times(xh, xl, yl)
        else:
            fits = False
    else:
        hi, lo, rh, rl = _division(xh, xl, yh, yl)
        if operation == REMAINDER:
            negative, hi, lo = xn, rh, rl
        elif not _less(rh, rl, yh - rh - (_1 if yl < rl else _0), yl - rl):  # at least a half
            hi, lo = _next(hi, lo)
    hi, lo = _dropped(hi, lo, drop)
    return fits, negative, hi, lo


@inner
def product(x, y):
    """(negative, high, low) of the product of two integers of 64 bits."""
    xn, _, xl = _magnitude(x >> 63, x)
    yn, _, yl = _magnitude(y >> 63, y)
    high, low = _product(xl, yl)
    return xn != yn, high, low


# -- long numbers: 32-bit digits in a row, the lowest first ------------------------------------------------------------


@inner
def _lay(long, at, hi, lo):
    for k in range(LONG):
        long[at + k] = _0
    long[at], long[at + 1], long[at + 2], long[at + 3] = lo & _LOW, lo >> _32, hi & _LOW, hi >> _32


@inner
def _raise_long(long, at, power):
    while power > 0:
        step = min(power, _HALF)
        carry = _0
        for k in range(LONG):
            value = long[at + k] * _POWER_LOW[step] + carry
            long[at + k] = value & _LOW
            carry = value >> _32
        power -= step


@inner
def _lower_long(long, at, power):
    """Divided by ten to the power, at most 9; the remainder."""
    rest = _0
    for k in range(LONG - 1, -1, -1):
        value = rest << _32 | long[at + k]
        long[at + k] = value // _POWER_LOW[power]
        rest = value % _POWER_LOW[power]
    return rest


@inner
def _compare_long(long, x, y):
    for k in range(LONG - 1, -1, -1):
        if long[x + k] != long[y + k]:
            return -1 if long[x + k] < long[y + k] else 1
    return 0


@inner
def _add_long(long, x, y):
    """x += y"""
    carry = _0
    for k in range(LONG):
        value = long[x + k] + long[y + k] + carry
        long[x + k] = value & _LOW
        carry = value >> _32


@inner
def _subtract_long(long, x, y):
    """x -= y, which is not larger"""
    borrow = _0
    for k in range(LONG):
        value = long[x + k] - long[y + k] - borrow
        long[x + k] = value & _LOW
        borrow = value >> _63


@inner
def _double_long(long, at, bit):
    """Shifted by one bit, with a new lowest one; the bit that falls out."""
    for k in range(LONG):
        value = long[at + k] << _1 | bit
        long[at + k] = value & _LOW
        bit = value >> _32
    return bit


@inner
def _divide_long(long, x, y, rest):
    """x becomes the quotient, ``rest`` the remainder."""
    _lay(long, rest, _0, _0)
    for _ in range(32 * LONG):
        _double_long(long, rest, _double_long(long, x, _0))
        if _compare_long(long, rest, y) >= 0:
            _subtract_long(long, rest, y)
            long[x] |= _1


@inner
def _in_long_numbers(operation, xn, xh, xl, raise_x, yn, yh, yl, raise_y, drop, long):
    """As ``_in_two_words``, of any size; does not fit: the result has more than 127 bits."""
    x, y, rest, product = 0, LONG, 2 * LONG, 3 * LONG
    _lay(long, x, xh, xl)
    _lay(long, y, yh, yl)
    _raise_long(long, x, raise_x)
    _raise_long(long, y, raise_y)
    negative = xn != yn
    if operation <= SUBTRACT:
        yn = yn != (operation == SUBTRACT)
        negative = xn
        if xn == yn:
            _add_long(long, x, y)
        elif _compare_long(long, x, y) >= 0:
            _subtract_long(long, x, y)
        else:
            negative = yn
            _subtract_long(long, y, x)
            x = y
    elif operation == MULTIPLY:
        _lay(long, product, _0, _0)
        for i in range(4):
            carry = _0
            for k in range(LONG - i):
                value = long[product + i + k] + long[x + k] * long[y + i] + carry
                long[product + i + k] = value & _LOW
                carry = value >> _32
        x = product
    else:
        _divide_long(long, x, y, rest)
        if operation == REMAINDER:
            negative, x = xn, rest
        else:
            _double_long(long, rest, _0)
            if _compare_long(long, rest, y) >= 0:
                _lay(long, rest, _0, _1)
                _add_long(long, x, rest)
    if drop > 0:
        drop -= 1
        while drop > 0:
            _lower_long(long, x, min(drop, _HALF))
            drop -= min(drop, _HALF)
        if _lower_long(long, x, 1) >= np.uint64(5):
            one = rest if x == y else y
            _lay(long, one, _0, _1)
            _add_long(long, x, one)
    fits = long[x + 3] >> np.uint64(31) == _0
    for k in range(4, LONG):
        fits = fits and long[x + k] == _0
    return fits, negative, long[x + 3] << _32 | long[x + 2], long[x + 1] << _32 | long[x]


# -- operations --------------------------------------------------------------------------------------------------------


@inner
def divides(packed):
    """Whether an operation is a division or its remainder."""
    operation = packed & 15
    return operation == DIVIDE or operation == REMAINDER


@inner
def operate(packed, xh, xl, yh, yl, long):
    """One operation of two decimals: (TRUE, OVERFLOW or ZERO_DIVISION; high; low).

    Args:
        packed: see :func:`pack`. long: (SCRATCH,) uint64.
    """
    operation, drop, precision = packed & 15, packed >> 20 & 255, packed >> 28 & 255
    raise_x, raise_y = packed >> 4 & 255, packed >> 12 & 255
    xn, xh, xl = _magnitude(xh, xl)
    yn, yh, yl = _magnitude(yh, yl)
    if operation >= FLOOR:
        hi, lo, more = _truncated(xh, xl, drop)
        if more and xn == (operation == FLOOR):
            hi, lo = _next(hi, lo)
        high, low = _signed(xn, hi, lo)
        return TRUE, high, low
    if operation >= DIVIDE and yh == _0 and yl == _0:
        return ZERO_DIVISION, np.int64(0), np.int64(0)
    fits, negative, hi, lo = _in_two_words(operation, xn, xh, xl, raise_x, yn, yh, yl, raise_y, drop)
    if not fits:
        fits, negative, hi, lo = _in_long_numbers(operation, xn, xh, xl, raise_x, yn, yh, yl, raise_y, drop, long)
    if not fits or not _less(hi, lo, _POWER_HIGH[precision], _POWER_LOW[precision]):
        return OVERFLOW, np.int64(0), np.int64(0)
    high, low = _signed(negative, hi, lo)
    return TRUE, high, low


@inner
def order(xh, xl, raise_x, yh, yl, raise_y, long):
    """-1, 0 or 1: two decimals compared once each is multiplied by a power of ten."""
    xn, xh, xl = _magnitude(xh, xl)
    yn, yh, yl = _magnitude(yh, yl)
    if xn != yn:
        return -1 if xn else 1  # there is no negative zero
    x_fits, hi, lo = _raised(xh, xl, raise_x)
    y_fits, k, m = _raised(yh, yl, raise_y)
    if x_fits and y_fits:
        found = -1 if _less(hi, lo, k, m) else (1 if _less(k, m, hi, lo) else 0)
    else:
        _lay(long, 0, xh, xl)
        _lay(long, LONG, yh, yl)
        _raise_long(long, 0, raise_x)
        _raise_long(long, LONG, raise_y)
        found = _compare_long(long, 0, LONG)
    return -found if xn else found


@inner
def as_double(high, low, scale, long):
    """The double nearest to a decimal, the even one of two."""
    negative, hi, lo = _magnitude(high, low)
    if hi == _0 and lo == _0:
        return 0.0
    if hi == _0 and lo <= np.uint64(2**53) and scale < len(DOUBLE_POWERS):
        value = np.float64(lo) / DOUBLE_POWERS[scale]
        return -value if negative else value
    # A quotient of 65 or 66 bits, whatever the numbers' sizes, and whether anything remains.
    x, y, rest = 0, LONG, 2 * LONG
    _lay(long, x, hi, lo)
    _lay(long, y, _0, _1)
    _raise_long(long, y, scale)
    shift = 65 - _bits(long, x) + _bits(long, y)
    for _ in range(abs(shift)):
        _double_long(long, x if shift > 0 else y, _0)
    _divide_long(long, x, y, rest)
    _lay(long, y, _0, _0)
    remains = _compare_long(long, rest, y) != 0
    extra = _bits(long, x) - 64
    upper = long[x + 2] << np.uint64(64 - extra) | (long[x + 1] << _32 | long[x]) >> np.uint64(extra)
    remains = remains or long[x] & ((_1 << np.uint64(extra)) - _1) != _0
    mantissa, below, half = upper >> np.uint64(11), upper & np.uint64(2047), np.uint64(1024)
    if below > half or (below == half and (remains or mantissa & _1 != _0)):
        mantissa += _1
    value = math.ldexp(np.float64(mantissa), 11 + extra - shift)
    return -value if negative else value


@inner
def _bits(long, at):
    """Length of a long number that is not zero."""
    for k in range(LONG - 1, -1, -1):
        if long[at + k] != _0:
            digit, bits = long[at + k], 0
            while digit != _0:
                digit >>= _1
                bits += 1
            return 32 * k + bits
    return 0
