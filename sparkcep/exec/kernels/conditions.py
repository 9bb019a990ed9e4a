"""Stack machine for match-dependent conditions.

A condition is a run of instructions ``(op, a, b)`` over int64 and float64 values with SQL's three-valued logic. Integer
values stand for every ordered type that fits 64 bits (integers, dates, timestamps, day-time intervals, booleans, scaled
decimals, ranks of strings), so int64 never passes through float64.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import kernel

(
    LOAD_I,  # a: navigation, b: int column
    LOAD_F,  # a: navigation, b: float column
    CONST_I,  # a: index into integer constants
    CONST_F,  # a: index into float constants
    NULL,
    MATCH_NUMBER,
    AGG_I,  # a: aggregate
    AGG_F,
    AGG_COUNT,
    TO_FLOAT,
    NEG_I,
    NEG_F,
    ADD_I,  # b: bits of the result type
    SUB_I,
    MUL_I,
    MOD_I,
    IDIV_I,
    ADD_F,
    SUB_F,
    MUL_F,
    DIV_F,
    MOD_F,
    EQ_I,
    NE_I,
    LT_I,
    LE_I,
    GT_I,
    GE_I,
    EQ_F,
    NE_F,
    LT_F,
    LE_F,
    GT_F,
    GE_F,
    NULLSAFE_I,
    NULLSAFE_F,
    AND,
    OR,
    NOT,
    IS_NULL,
    ABS_I,
    ABS_F,
    SKIP_IF_FALSE,  # a: instruction to go to when the top is false
    SKIP_IF_TRUE,
) = range(44)

STACK = 128
FALSE, TRUE, OVERFLOW, ZERO_DIVISION = 0, 1, -1, -2

# AVERAGE adds up in float64, as Spark's avg does, also over integers.
COUNT, SUM, MIN, MAX, AVERAGE = range(5)


@kernel
def _compare(a, b):
    # Spark orders NaN above everything and equal to itself.
    if a != a:
        return 0 if b != b else 1
    if b != b:
        return -1
    return -1 if a < b else (1 if a > b else 0)


@kernel
def _outside(value, bits):
    if bits == 64:
        return False
    half = np.int64(1) << (bits - 1)
    return value < -half or value >= half


@kernel
def _wrap(value, bits):
    if bits == 64:
        return value
    shift = 64 - bits
    return (value << shift) >> shift


@kernel
def navigate(k, nav, occurrences, counts, rows):
    """Row (within the partition) that navigation ``k`` points at, or -1."""
    register, from_first, logical, physical = nav[k, 0], nav[k, 1], nav[k, 2], nav[k, 3]
    count = counts[register]
    at = logical if from_first else count - 1 - logical
    if at < 0 or at >= count:
        return np.int64(-1)
    row = occurrences[register, at] + physical
    if row < 0 or row >= rows:
        return np.int64(-1)
    return row


@kernel
def evaluate(
    code, low, high, base, rows, number, nav, occurrences, counts,
    ints, int_nulls, floats, float_nulls, const_i, const_f,
    agg, agg_i, agg_f, agg_n, ansi, si, sf, sn,
):  # fmt: skip
    """Run instructions ``low`` to ``high``: TRUE, FALSE (also for NULL), OVERFLOW or ZERO_DIVISION.

    ``base`` is the partition's first row in the column arrays; ``occurrences`` (registers, rows) and ``counts`` hold
    the rows each register has seen; ``agg_*`` are running aggregates by number of rows their register has seen.
    """
    top = -1
    pc = low
    while pc < high:
        op, a, b = code[pc, 0], code[pc, 1], code[pc, 2]
        pc += 1
        if op <= LOAD_F:
            row = navigate(a, nav, occurrences, counts, rows)
            top += 1
            if row < 0:
                sn[top] = 1
            elif op == LOAD_I:
                sn[top] = int_nulls[b, base + row]
                si[top] = ints[b, base + row]
            else:
                sn[top] = float_nulls[b, base + row]
                sf[top] = floats[b, base + row]
        elif op <= MATCH_NUMBER:
            top += 1
            sn[top] = 1 if op == NULL else 0
            if op == CONST_I:
                si[top] = const_i[a]
            elif op == CONST_F:
                sf[top] = const_f[a]
            elif op == MATCH_NUMBER:
                si[top] = number
        elif op <= AGG_COUNT:
            top += 1
            seen = counts[agg[a, 1]]
            sn[top] = 0
            if op == AGG_COUNT:
                si[top] = agg_n[a, seen]
            else:
                sn[top] = 1 if agg_n[a, seen] == 0 else 0
                si[top] = agg_i[a, seen]
                sf[top] = agg_f[a, seen]
        elif op == TO_FLOAT:
            sf[top] = np.float64(si[top])
        elif op == NOT:
            si[top] = 1 - si[top]
        elif op == IS_NULL:
            si[top] = sn[top]
            sn[top] = 0
        elif op == NEG_F:
            sf[top] = -sf[top]
        elif op == ABS_F:
            sf[top] = abs(sf[top])
        elif op == NEG_I or op == ABS_I:
            if sn[top] == 0 and (op == NEG_I or si[top] < 0):
                value = -si[top]
                if _outside(value, b) or (b == 64 and value == si[top] and value != 0):
                    if ansi:
                        return OVERFLOW
                    value = _wrap(value, b)
                si[top] = value
        elif op == SKIP_IF_FALSE:
            if sn[top] == 0 and si[top] == 0:
                pc = a
        elif op == SKIP_IF_TRUE:
            if sn[top] == 0 and si[top] != 0:
                pc = a
        else:
            top -= 1
            xn, yn = sn[top], sn[top + 1]
            if op == AND:
                if (xn == 0 and si[top] == 0) or (yn == 0 and si[top + 1] == 0):
                    si[top] = 0
                    sn[top] = 0
                else:
                    sn[top] = 1 if xn or yn else 0
                    si[top] = 1
                continue
            if op == OR:
                if (xn == 0 and si[top] != 0) or (yn == 0 and si[top + 1] != 0):
                    si[top] = 1
                    sn[top] = 0
                else:
                    sn[top] = 1 if xn or yn else 0
                    si[top] = 0
                continue
            if op == NULLSAFE_I or op == NULLSAFE_F:
                if xn or yn:
                    si[top] = 1 if xn and yn else 0
                elif op == NULLSAFE_I:
                    si[top] = 1 if si[top] == si[top + 1] else 0
                else:
                    si[top] = 1 if _compare(sf[top], sf[top + 1]) == 0 else 0
                sn[top] = 0
                continue
            if xn or yn:
                sn[top] = 1
                continue
            if op >= EQ_I and op <= GE_F:
                if op <= GE_I:
                    x, y = si[top], si[top + 1]
                    order = -1 if x < y else (1 if x > y else 0)
                    op += EQ_F - EQ_I
                else:
                    order = _compare(sf[top], sf[top + 1])
                if op == EQ_F:
                    holds = order == 0
                elif op == NE_F:
                    holds = order != 0
                elif op == LT_F:
                    holds = order < 0
                elif op == LE_F:
                    holds = order <= 0
                elif op == GT_F:
                    holds = order > 0
                else:
                    holds = order >= 0
                si[top] = 1 if holds else 0
            elif op >= ADD_F:
                x, y = sf[top], sf[top + 1]
                if op == ADD_F:
                    sf[top] = x + y
                elif op == SUB_F:
                    sf[top] = x - y
                elif op == MUL_F:
                    sf[top] = x * y
                elif y == 0.0:
                    if ansi:
                        return ZERO_DIVISION
                    sn[top] = 1
                elif op == DIV_F:
                    sf[top] = x / y
                else:
                    sf[top] = np.fmod(x, y)
            else:
                x, y = si[top], si[top + 1]
                bad = False
                if op == ADD_I:
                    value = x + y
                    bad = ((x ^ value) & (y ^ value)) < 0
                elif op == SUB_I:
                    value = x - y
                    bad = ((x ^ y) & (x ^ value)) < 0
                elif op == MUL_I:
                    value = x * y
                    if x != 0:
                        low64 = np.int64(-9223372036854775808)
                        bad = (x == -1 and y == low64) or (y == -1 and x == low64) or (value // x != y)
                elif y == 0:
                    if ansi:
                        return ZERO_DIVISION
                    sn[top] = 1
                    continue
                elif y == -1:
                    value = np.int64(0) if op == MOD_I else -x
                    bad = op == IDIV_I and x != 0 and value == x
                else:
                    quotient = abs(x) // abs(y) if x != np.int64(-9223372036854775808) else x // y
                    if x == np.int64(-9223372036854775808):
                        quotient = x // y + (1 if x % y != 0 else 0)
                    elif (x < 0) != (y < 0):
                        quotient = -quotient
                    value = quotient if op == IDIV_I else x - quotient * y
                if bad or _outside(value, b):
                    if ansi:
                        return OVERFLOW
                    value = _wrap(value, b)
                si[top] = value
    return TRUE if sn[0] == 0 and si[0] != 0 else FALSE


@kernel
def push(register, row, base, occurrences, counts, agg, agg_i, agg_f, agg_n, ints, int_nulls, floats, float_nulls):
    """Let a register see a row and advance the aggregates over it; FALSE, or OVERFLOW of a sum."""
    count = counts[register]
    occurrences[register, count] = row
    counts[register] = count + 1
    for k in range(agg.shape[0]):
        if agg[k, 1] != register:
            continue
        kind, column, is_float = agg[k, 0], agg[k, 2], agg[k, 3]
        agg_n[k, count + 1] = agg_n[k, count]
        agg_i[k, count + 1] = agg_i[k, count]
        agg_f[k, count + 1] = agg_f[k, count]
        if column >= 0:
            null = float_nulls[column, base + row] if is_float else int_nulls[column, base + row]
            if null:
                continue
        first = agg_n[k, count] == 0
        agg_n[k, count + 1] += 1
        if kind == COUNT:
            continue
        if is_float:
            x = floats[column, base + row]
            y = agg_f[k, count]
            if first:
                agg_f[k, count + 1] = x
            elif kind in (SUM, AVERAGE):
                agg_f[k, count + 1] = y + x
            elif (kind == MIN and _compare(x, y) < 0) or (kind == MAX and _compare(x, y) > 0):
                agg_f[k, count + 1] = x
        else:
            v = ints[column, base + row]
            w = agg_i[k, count]
            if kind == AVERAGE:
                agg_f[k, count + 1] = (0.0 if first else agg_f[k, count]) + np.float64(v)
            elif first:
                agg_i[k, count + 1] = v
            elif kind == SUM:
                total = w + v
                agg_i[k, count + 1] = total
                if ((v ^ total) & (w ^ total)) < 0 and agg[k, 4]:
                    return OVERFLOW
            elif (kind == MIN and v < w) or (kind == MAX and v > w):
                agg_i[k, count + 1] = v
    return FALSE
