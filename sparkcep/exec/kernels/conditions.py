"""Register machine with a small stack for match-dependent conditions.

An instruction is a row of eight integers: operation, argument, and two operands of three integers each (kind, a, b).
Operands name where a value lies (a column of the tested row, of a row navigated to, an aggregate, a constant, the
stack), so that `price > LAST(A.price)` is one instruction. Results go to the stack, except that a comparison with the
TEST bit ends the condition where it is false.

Values are int64 or float64 under SQL's three-valued logic. Integers stand for every ordered type that fits 64 bits
(integers, dates, timestamps, day-time intervals, booleans, scaled decimals, ranks of strings), so int64 never passes
through float64 unless the other operand is a double.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, inner
from sparkcep.exec.kernels.statuses import FALSE, OVERFLOW, TRUE, ZERO_DIVISION

# Operations with two operands, then LOAD with one, then those that work on the top of the stack.
(
    COMPARE_I,  # argument: orders that hold (LESS, EQUAL, GREATER bits), TEST, NULLSAFE
    COMPARE_F,
    ADD_I,  # argument: bits of the result type
    SUB_I,
    MUL_I,
    MOD_I,
    IDIV_I,
    ADD_F,
    SUB_F,
    MUL_F,
    DIV_F,
    MOD_F,
    LOAD,
    TEST_TOP,
    SKIP_IF_FALSE,  # argument: instruction to go to when the top is false
    SKIP_IF_TRUE,
    AND,
    OR,
    NOT,
    IS_NULL,
    NEG_I,
    NEG_F,
    ABS_I,
    ABS_F,
) = range(24)

LESS, EQUAL, GREATER, TEST, NULLSAFE = 1, 2, 4, 8, 16

# Kinds of operands; odd ones are doubles.
STACK_I, STACK_F = 0, 1
ROW_I, ROW_F = 2, 3  # a: rows from the tested one, b: column
NAVIGATED_I, NAVIGATED_F = 4, 5  # a: navigation, b: column
CONST_I, CONST_F = 6, 7  # a: index into constants
# a: aggregate, b: of how many of its register's last rows it is taken without
AGGREGATE_I, AGGREGATE_F = 8, 9
COUNT_OF, AVERAGE_OF = 10, 11
MATCH_NUMBER, NULL = 12, 14

STACK = 128

# AVERAGE adds up in float64, as Spark's avg does, also over integers. ``_F`` kinds are over double columns.
COUNT, SUM, MIN, MAX, AVERAGE = 0, 2, 4, 6, 8
#: Number of values of a sum that has overflowed under ANSI: an error for whom reads it.
POISONED = -1

# Numba lets signed indices count from the end, which costs as much as the access; unsigned ones do not.
U = np.uintp

_LOWEST = np.int64(-9223372036854775808)


@inner
def _compare(a, b):
    # Spark orders NaN above everything and equal to itself.
    if a != a:
        return 0 if b != b else 1
    if b != b:
        return -1
    return -1 if a < b else (1 if a > b else 0)


@inner
def _outside(value, bits):
    if bits == 64:
        return False
    half = np.int64(1) << (bits - 1)
    return value < -half or value >= half


@inner
def _wrap(value, bits):
    if bits == 64:
        return value
    shift = 64 - bits
    return (value << shift) >> shift


@inner
def navigate(k, navigations, width, search, rows):
    """Row (within the partition) that row ``k`` of a table points at, or -1.

    The table, ``width`` wide, starts with register, whether from its first row, logical and physical offset.
    """
    at = k * width
    register = navigations[U(at)]
    logical = navigations[U(at + 2)]
    count = search.counts[U(register)]
    if logical >= count:
        return np.int64(-1)
    place = logical if navigations[U(at + 1)] else count - 1 - logical
    row = search.occurrences[U(register * search.rows + place)] + navigations[U(at + 3)]
    return row if 0 <= row < rows else np.int64(-1)


@inlined
def holds(label, row, base, rows, number, conditions, columns, search):
    """Test a label's condition on a row that its registers have seen: TRUE, FALSE (also for NULL), or an error.

    Runs instructions ``conditions.code_start[label]`` up to those of the next label, O(1) each. Invariant: entries
    up to ``top`` of the stack (``search.si``, ``sf``, ``sn``; STACK each) are the values of what has been evaluated and
    not used; a NULL's value is of no meaning. A test that is NULL does not end the condition, as a later error must
    be told, but makes it FALSE.

    Args:
        row: the tested row, within the partition. base: the partition's first row in the columns. rows: those of the
            partition. number: what MATCH_NUMBER() is. conditions, columns, search: see tables.py.

    Returns:
        TRUE, FALSE, OVERFLOW or ZERO_DIVISION (both under ANSI only).
    """
    code = conditions.code
    counts, si, sf, sn = search.counts, search.si, search.sf, search.sn
    top = -1
    unknown = False
    pc = conditions.code_start[U(label)]
    end = conditions.code_start[U(label + 1)]
    while pc < end:
        op, b = code[U(8 * pc)], code[U(8 * pc + 1)]
        at = 8 * pc
        pc += 1
        if op <= LOAD:
            yn, yi, yf = False, np.int64(0), 0.0
            xn, xi, xf = False, np.int64(0), 0.0
            side = 2 if op == LOAD else 5  # y lies above x on the stack
            while side > 0:
                xn, xi, xf = False, np.int64(0), 0.0
                kind = code[U(at + side)]
                a = code[U(at + side + 1)]
                if kind <= STACK_F:
                    xn = sn[U(top)] != 0
                    xi = si[U(top)]
                    xf = sf[U(top)]
                    top -= 1
                elif kind <= NAVIGATED_F:
                    if kind <= ROW_F:
                        where = row + a
                        if where >= rows:
                            where = np.int64(-1)
                    else:
                        where = navigate(a, conditions.navigations, 4, search, rows)
                    cell = U(code[U(at + side + 2)] * columns.rows + base + where)
                    if where < 0:
                        xn = True
                    elif kind & 1:
                        xn = columns.float_nulls[cell] != 0
                        xf = columns.floats[cell]
                    else:
                        xn = columns.int_nulls[cell] != 0
                        xi = columns.ints[cell]
                elif kind == CONST_I:
                    xi = conditions.const_i[U(a)]
                elif kind == CONST_F:
                    xf = conditions.const_f[U(a)]
                elif kind <= AVERAGE_OF:
                    seen = counts[U(conditions.aggregates[U(3 * a + 1)])] - code[U(at + side + 2)]
                    seen = U(a * search.rows + seen)
                    n = search.agg_n[seen]
                    if n == POISONED:
                        return OVERFLOW
                    if kind == COUNT_OF:
                        xi = n
                    else:
                        xn = n == 0
                        xi = search.agg_v[seen]
                        xf = search.agg_f[seen]
                        if kind == AVERAGE_OF and n > 0:
                            xf /= np.float64(n)
                elif kind == MATCH_NUMBER:
                    xi = number
                else:
                    xn = True
                if kind & 1 == 0:
                    xf = np.float64(xi)
                if side == 5:
                    yn, yi, yf = xn, xi, xf
                side -= 3
            if op <= COMPARE_F:
                if b & NULLSAFE and (xn or yn):
                    true = xn and yn
                    null = False
                else:
                    null = xn or yn
                    if op == COMPARE_I:
                        order = EQUAL if xi == yi else (LESS if xi < yi else GREATER)
                    elif xf < yf:
                        order = LESS
                    elif xf > yf:
                        order = GREATER
                    else:
                        order = np.int64(1) << (_compare(xf, yf) + 1)
                    true = b & order != 0
                if b & TEST:
                    if null:
                        unknown = True
                    elif not true:
                        return FALSE
                    continue
                top += 1
                sn[U(top)] = 1 if null else 0
                si[U(top)] = 1 if true else 0
                continue
            top += 1
            sn[U(top)] = 1 if xn or yn else 0
            si[U(top)] = xi
            sf[U(top)] = xf
            if op == LOAD or xn or yn:
                continue
            if op >= ADD_F:
                if op == ADD_F:
                    sf[U(top)] = xf + yf
                elif op == SUB_F:
                    sf[U(top)] = xf - yf
                elif op == MUL_F:
                    sf[U(top)] = xf * yf
                elif yf == 0.0:
                    if conditions.ansi:
                        return ZERO_DIVISION
                    sn[U(top)] = 1
                elif op == DIV_F:
                    sf[U(top)] = xf / yf
                else:
                    sf[U(top)] = np.fmod(xf, yf)
                continue
            bad = False
            if op == ADD_I:
                value = xi + yi
                bad = bool(((xi ^ value) & (yi ^ value)) < 0)
            elif op == SUB_I:
                value = xi - yi
                bad = bool(((xi ^ yi) & (xi ^ value)) < 0)
            elif op == MUL_I:
                value = xi * yi
                if xi != 0:
                    bad = (xi == -1 and yi == _LOWEST) or (yi == -1 and xi == _LOWEST) or (value // xi != yi)
            elif yi == 0:
                if conditions.ansi:
                    return ZERO_DIVISION
                sn[U(top)] = 1
                continue
            elif yi == -1:
                value = np.int64(0) if op == MOD_I else -xi
                bad = op == IDIV_I and xi != 0 and value == xi
            else:
                quotient = xi // yi  # rounds down; SQL rounds to zero
                if quotient * yi != xi and (xi < 0) != (yi < 0):
                    quotient += 1
                value = quotient if op == IDIV_I else xi - quotient * yi
            if bad or _outside(value, b):
                if conditions.ansi:
                    return OVERFLOW
                value = _wrap(value, b)
            si[U(top)] = value
        elif op == TEST_TOP:
            if sn[U(top)]:
                unknown = True
            elif si[U(top)] == 0:
                return FALSE
            top -= 1
        elif op <= SKIP_IF_TRUE:
            if sn[U(top)] == 0 and (si[U(top)] != 0) == (op == SKIP_IF_TRUE):
                pc = b
        elif op <= OR:
            # AND: false decides; OR: true decides.
            decisive = 0 if op == AND else 1
            top -= 1
            if (sn[U(top)] == 0 and si[U(top)] == decisive) or (sn[U(top + 1)] == 0 and si[U(top + 1)] == decisive):
                si[U(top)] = decisive
                sn[U(top)] = 0
            else:
                sn[U(top)] |= sn[U(top + 1)]
                si[U(top)] = 1 - decisive
        elif op == NOT:
            si[U(top)] = 1 - si[U(top)]
        elif op == IS_NULL:
            si[U(top)] = sn[U(top)]
            sn[U(top)] = 0
        elif op == NEG_F:
            sf[U(top)] = -sf[U(top)]
        elif op == ABS_F:
            sf[U(top)] = abs(sf[U(top)])
        elif sn[U(top)] == 0 and (op == NEG_I or si[U(top)] < 0):
            value = -si[U(top)]
            if _outside(value, b) or (b == 64 and value == si[U(top)] and value != 0):
                if conditions.ansi:
                    return OVERFLOW
                value = _wrap(value, b)
            si[U(top)] = value
    return FALSE if unknown else TRUE


@inlined
def advance(position, row, base, conditions, columns, search):
    """Let the registers that conditions read from this position on see a row, and advance their aggregates."""
    counts = search.counts
    for j in range(conditions.register_low[U(position)], conditions.register_high[U(position)]):
        register = conditions.registers[U(j)]
        count = counts[U(register)]
        search.occurrences[U(register * search.rows + count)] = row
        counts[U(register)] = count + 1
    for j in range(conditions.fold_low[U(position)], conditions.fold_high[U(position)]):
        _fold(conditions.folds[U(j)], base + row, conditions, columns, search)


@inlined
def _fold(k, row, conditions, columns, search):
    """Advance aggregate ``k`` by a row of the batch that its register has just seen."""
    kind = conditions.aggregates[U(3 * k)]
    register = conditions.aggregates[U(3 * k + 1)]
    column = conditions.aggregates[U(3 * k + 2)]
    new = k * search.rows + search.counts[U(register)]
    old, new = U(new - 1), U(new)
    cell = U(column * columns.rows + row)
    n = search.agg_n[old]
    null = column >= 0 and (columns.float_nulls[cell] if kind & 1 else columns.int_nulls[cell]) != 0
    if null or n == POISONED:
        search.agg_n[new] = n
        search.agg_v[new] = search.agg_v[old]
        return
    search.agg_n[new] = n + 1
    if kind <= COUNT + 1:
        return
    if kind & 1:
        x = columns.floats[cell]
        y = search.agg_f[old]
        if n > 0:
            if kind == SUM + 1 or kind == AVERAGE + 1:
                x += y
            else:
                order = _compare(x, y)
                if order == 0 or (order > 0) == (kind == MIN + 1):
                    x = y
        search.agg_f[new] = x
        return
    v = columns.ints[cell]
    w = search.agg_v[old]
    if kind == AVERAGE:
        x = np.float64(v)
        search.agg_f[new] = search.agg_f[old] + x if n > 0 else x
        return
    if n > 0:
        if kind == SUM:
            total = v + w
            if ((v ^ total) & (w ^ total)) < 0 and conditions.ansi:
                search.agg_n[new] = POISONED
            v = total
        elif (v > w) == (kind == MIN):
            v = w
    search.agg_v[new] = v


@inlined
def retreat(position, conditions, search):
    """Undo ``advance``."""
    for j in range(conditions.register_low[U(position)], conditions.register_high[U(position)]):
        search.counts[U(conditions.registers[U(j)])] -= 1
