"""ROUND and BROUND of doubles as Spark has them: of the shortest decimal that reads back as the double.

That decimal is never written. A double x is rounded to so many places by where ``x * 10**(places + 1)``, held exactly
in two doubles (Dekker 1971, "A floating-point technique for extending the available precision"), lies beside the next
tie, an integer that ends in 5. It is at the tie where the tie reads back as x: where it is at most half a gap between
doubles away.
"""

from __future__ import annotations

import math

import numpy as np

from sparkcep.exec.kernels.caching import inner
from sparkcep.exec.kernels.conditions.codes import U
from sparkcep.exec.kernels.decimals import DOUBLE_POWERS

#: Most places behind the point: ten to the power of one more is a double.
PLACES = 21
#: Bit of a ROUND instruction's argument that says how ties are rounded, beside the places.
HALF_EVEN = 1 << 8
_SPLIT = 134217729.0  # 2**27 + 1


@inner
def rounded(value, places, half_even):
    """A double rounded to 0 to PLACES places, ties away from zero or to the even neighbour. O(1).

    Zero is never negative, as in Java's BigDecimal; what has no decimals beyond the places, NaN and infinities stay.
    """
    x = abs(value)
    if value == 0.0:
        return 0.0
    if not x < 2.0**52:
        return value
    scale = DOUBLE_POWERS[U(places + 1)]
    product = x * scale
    if product < 1.0:
        return 0.0
    if product >= 1e17:  # all of the 17 digits that any double has
        return value
    high, low = _halves(x)
    scale_high, scale_low = _halves(scale)
    error = ((high * scale_high - product) + high * scale_low + low * scale_high) + low * scale_low

    # A product of 2**53 or more is an integer, and its error may be several.
    whole, error_whole = np.int64(product), np.rint(error)
    fraction = product - np.float64(whole)
    whole += np.int64(error_whole)
    result = whole // 10
    tie = result * 10 + 5
    beyond = (np.float64(whole - tie) + fraction) + (error - error_whole)  # the tie; exact where that matters
    # Half of the gaps to the doubles above and below, which a tie between is rounded to the even one by a reader.
    above = (np.nextafter(x, np.inf) - x) * 0.5 * scale
    below = (x - np.nextafter(x, 0.0)) * 0.5 * scale
    if above < 0.5:
        gap = below if beyond > 0.0 else above
        at_tie = abs(beyond) < gap or (abs(beyond) == gap and _is_even(x))
        up = beyond > 0.0
    else:
        # Decimals with one place more are at least as close as doubles: the shortest has no more than the places, or
        # is the closest one with that place.
        if abs(beyond + 5.0) <= below or abs(5.0 - beyond) <= above:
            return value
        away = np.rint(beyond)
        if abs(beyond - away) == 0.5:
            away = -1.0 if beyond < 0.0 else 1.0  # the tie ends in 5: its neighbours are the even ones
        at_tie, up = away == 0.0, away > 0.0
    if at_tie:
        up = not half_even or result % 2 == 1
    if up:
        result += 1
    out = np.float64(result) / DOUBLE_POWERS[U(places)]
    return -out if value < 0.0 and result != 0 else out


@inner
def _halves(x):
    """Two doubles of at most 26 bits each whose sum is a double below 2**996 (Veltkamp)."""
    shifted = x * _SPLIT
    high = shifted - (shifted - x)
    return high, x - high


@inner
def _is_even(x):
    """Whether the last bit of a positive double's fraction is 0."""
    fraction, _ = math.frexp(x)
    return np.int64(fraction * 2.0**53) % 2 == 0
