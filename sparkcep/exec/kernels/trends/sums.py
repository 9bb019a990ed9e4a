"""What is added up over trends, as records of a few words for each window.

Adding two records merges two sets of trends; taking an event appends it to each trend of a record.

====================  =======================================================================================
COUNT_FLOAT           trends, as a double
LINEAR_FLOAT          sum over trends of their events' values, as a double
COUNT_SCALED          trends, as (m, e): m * 2^(512 e), which never overflows
LINEAR_SCALED         the same sum, as (m, e)
COUNT_EXACT           trends, 128 bits; stays at ``FULL`` beyond 2^127
LINEAR_EXACT          the same sum, 192 bits in two's complement: room for FULL times any int64
LEAST                 the least value of all events of all trends; ``NOTHING`` without one
====================  =======================================================================================
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, inner, spliced
from sparkcep.exec.kernels.conditions.codes import U

COUNT_FLOAT, LINEAR_FLOAT, COUNT_SCALED, LINEAR_SCALED, COUNT_EXACT, LINEAR_EXACT, LEAST = range(7)
#: Words of a field, by kind; up to LINEAR_SCALED in the pool of doubles.
WIDTHS = (1, 1, 2, 2, 2, 3, 1)

#: High word of a count that is too large. Two of them add up without a carry.
FULL = np.uint64(2**63 - 1)
NOTHING = np.uint64(2**63 - 1)

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_LARGE, _SMALL = 2.0**256, 2.0**-256
_UP, _DOWN = 2.0**512, 2.0**-512


@inlined
def wipe(first, after, fields, sums):
    """Make records ``first`` to ``after`` (exclusive) those of no trends."""
    lanes = sums.lanes
    for r in range(first, after):
        for w in range(fields.empty.shape[0]):
            at = (r * fields.words + w) * lanes
            for lane in range(lanes):
                sums.words[U(at + lane)] = fields.empty[U(w)]
    for at in range(first * fields.floats * lanes, after * fields.floats * lanes):
        sums.floats[U(at)] = 0.0


@inner
def clear(first, after, fields, sums):
    """As ``wipe``, for rare use: a call costs as much as a short record."""
    wipe(first, after, fields, sums)


@inlined
def scaled_add(m, e, n, f):
    """The sum of ``m`` and ``n``, scaled by ``e`` and ``f`` powers of the base, in the same form."""
    if n == 0.0:
        return m, e
    if m == 0.0:
        return n, f
    if e != f:
        if e < f:
            m, e, n, f = n, f, m, e
        if e - f > 1.0:
            return m, e
        n *= _DOWN
    return normal(m + n, e)


@inlined
def normal(m, e):
    """The same number with its mantissa in range, where it is neither 0 nor infinite."""
    while abs(m) >= _LARGE and abs(m) < np.inf:
        m *= _DOWN
        e += 1.0
    while 0.0 < abs(m) < _SMALL:
        m *= _UP
        e -= 1.0
    return m, e


@inlined
def add_all(jobs, first, after, low, high, fields, sums):
    """Add record ``jobs[2 n + 1]`` to record ``jobs[2 n]``, for n from ``first`` on, in lanes ``low`` to ``high``."""
    lanes = sums.lanes
    words, floats = sums.words, sums.floats
    for k in range(fields.kind.shape[0]):
        kind = fields.kind[U(k)]
        offset = fields.offset[U(k)]
        width = fields.floats if kind <= LINEAR_SCALED else fields.words
        for n in range(first, after):
            a = (np.int64(jobs[U(2 * n)]) * width + offset) * lanes
            b = (np.int64(jobs[U(2 * n + 1)]) * width + offset) * lanes
            if kind <= LINEAR_FLOAT:
                for lane in range(low, high):
                    floats[U(a + lane)] += floats[U(b + lane)]
            elif kind <= LINEAR_SCALED:
                for lane in range(low, high):
                    i, j = a + lane, b + lane
                    m, e = scaled_add(floats[U(i)], floats[U(i + lanes)], floats[U(j)], floats[U(j + lanes)])
                    floats[U(i)] = m
                    floats[U(i + lanes)] = e
            elif kind == COUNT_EXACT:
                for lane in range(low, high):
                    i, j = a + lane, b + lane
                    total = words[U(i)] + words[U(j)]
                    carry = _ONE if total < words[U(i)] else _ZERO
                    words[U(i)] = total
                    above = words[U(i + lanes)] + words[U(j + lanes)] + carry
                    words[U(i + lanes)] = above if above < FULL else FULL
            elif kind == LINEAR_EXACT:
                for lane in range(low, high):
                    i, j = a + lane, b + lane
                    add_wide(i, lanes, words[U(j)], words[U(j + lanes)], words[U(j + 2 * lanes)], words)
            else:
                for lane in range(low, high):
                    words[U(a + lane)] = min(words[U(a + lane)], words[U(b + lane)])


@inner
def add_jobs(jobs, first, after, low, high, fields, sums):
    """As ``add_all``, for rare use."""
    add_all(jobs, first, after, low, high, fields, sums)


@inlined
def add(to, of, low, high, jobs, fields, sums):
    """Add one record to another, for rare use; the last job is kept free for it."""
    last = jobs.shape[0] // 2 - 1
    jobs[2 * last] = to
    jobs[2 * last + 1] = of
    add_jobs(jobs, last, last + 1, low, high, fields, sums)


@inlined
def summed(x, y, at, words):
    """An exact count and that of the two words ``at``; it stays at FULL beyond 2^127."""
    low = x + words[U(at)]
    high = y + words[U(at + 1)] + (_ONE if low < x else _ZERO)
    return low, high if high < FULL else FULL


@inlined
def add_wide(i, lanes, low, middle, high, words):
    """Add three words, the lowest first, to number ``i`` of ``words``, whose words are ``lanes`` apart."""
    x = words[U(i)] + low
    carry = _ONE if x < low else _ZERO
    y = words[U(i + lanes)] + middle
    more = _ONE if y < middle else _ZERO
    y += carry
    if y < carry:
        more = _ONE
    words[U(i)] = x
    words[U(i + lanes)] = y
    words[U(i + 2 * lanes)] += high + more


@inlined
def _times(a, b):
    """Low and high word of a product."""
    a0, a1 = a & _LOW, a >> _HALF
    b0, b1 = b & _LOW, b >> _HALF
    low = a0 * b0
    cross = a1 * b0 + (low >> _HALF)
    other = a0 * b1 + (cross & _LOW)
    return (other << _HALF) | (low & _LOW), a1 * b1 + (cross >> _HALF) + (other >> _HALF)


@inlined
def weighted(i, lanes, low, high, x, words):
    """Add a count (two words) times ``x`` to a sum of three words."""
    size = np.uint64(x) if x >= 0 else _ZERO - np.uint64(x)
    p, carried = _times(low, size)
    q, r = _times(high, size)
    q += carried
    if q < carried:
        r += _ONE
    if x < 0:
        p = ~p + _ONE
        q = ~q + (_ONE if p == _ZERO else _ZERO)
        r = ~r + (_ONE if p == _ZERO and q == _ZERO else _ZERO)
    add_wide(i, lanes, p, q, r, words)


@inlined
def is_empty(record, lane, fields, sums):
    """Whether a record has no trends; its first field is a count."""
    if fields.kind[0] <= LINEAR_SCALED:
        return sums.floats[U((record * fields.floats + fields.offset[0]) * sums.lanes + lane)] == 0.0
    at = (record * fields.words + fields.offset[0]) * sums.lanes + lane
    return sums.words[U(at)] == _ZERO and sums.words[U(at + sums.lanes)] == _ZERO


@spliced
def begin(record, lane, fields, sums):
    """Add the trend of no events."""
    lanes = sums.lanes
    for k in range(fields.kind.shape[0]):
        kind = fields.kind[U(k)]
        if kind == COUNT_FLOAT:
            sums.floats[(record * fields.floats + fields.offset[U(k)]) * lanes + lane] += 1.0
        elif kind == COUNT_SCALED:
            i = (record * fields.floats + fields.offset[U(k)]) * lanes + lane
            m, e = scaled_add(sums.floats[U(i)], sums.floats[U(i + lanes)], 1.0, 0.0)
            sums.floats[U(i)] = m
            sums.floats[U(i + lanes)] = e
        elif kind == COUNT_EXACT:
            i = (record * fields.words + fields.offset[U(k)]) * lanes + lane
            sums.words[U(i)] += _ONE
            if sums.words[U(i)] == _ZERO:
                above = sums.words[U(i + lanes)] + _ONE
                sums.words[U(i + lanes)] = above if above < FULL else FULL


@spliced
def take(record, row, rows, component, low, high, fields, values, sums):
    """Append an event (``row`` of ``rows``) taken as ``component`` to each trend of a record."""
    lanes = sums.lanes
    words, floats = sums.words, sums.floats
    count = fields.kind.shape[0]
    components = fields.member.shape[0] // count
    for k in range(count):
        kind = fields.kind[U(k)]
        if not fields.member[U(k * components + component)]:
            continue
        nulls, column = fields.nulls[U(k)], fields.value[U(k)]
        if nulls >= 0 and values.nulls[U(nulls * rows + row)]:
            continue
        if kind <= LINEAR_SCALED:
            a = (record * fields.floats + fields.offset[U(k)]) * lanes
            c = (record * fields.floats + fields.weight[U(k)]) * lanes
            x = values.floats[U(column * rows + row)] if column >= 0 else 1.0
            if kind == LINEAR_FLOAT:
                for lane in range(low, high):
                    floats[U(a + lane)] += floats[U(c + lane)] * x
            elif kind == LINEAR_SCALED:
                n, f = normal(x, 0.0)
                for lane in range(low, high):
                    i = a + lane
                    if floats[U(c + lane)] == 0.0:
                        continue
                    p, g = normal(floats[U(c + lane)] * n, floats[U(c + lanes + lane)] + f)
                    m, e = scaled_add(floats[U(i)], floats[U(i + lanes)], p, g)
                    floats[U(i)] = m
                    floats[U(i + lanes)] = e
            continue
        a = (record * fields.words + fields.offset[U(k)]) * lanes
        if kind == LINEAR_EXACT:
            v = values.ints[U(column * rows + row)] if column >= 0 else np.int64(1)
            c = (record * fields.words + fields.weight[U(k)]) * lanes
            for lane in range(low, high):
                weighted(a + lane, lanes, words[U(c + lane)], words[U(c + lanes + lane)], v, words)
        elif kind == LEAST:
            w = np.uint64(values.ints[U(column * rows + row)]) if column >= 0 else _ZERO
            for lane in range(low, high):
                if w < words[U(a + lane)] and not is_empty(record, lane, fields, sums):
                    words[U(a + lane)] = w
