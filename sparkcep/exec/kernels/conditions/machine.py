"""Register machine with a small stack for match-dependent conditions.

Values are int64 or float64 under SQL's three-valued logic. Integers stand for every ordered type that fits 64 bits
(integers, dates, timestamps, day-time intervals, booleans, scaled decimals, ranks of strings), so int64 never passes
through float64 unless the other operand is a double. Decimals of more than 18 digits have a second word, the high one
(kernels/decimals.py); an integer's is its sign.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels import decimals
from sparkcep.exec.kernels.caching import inlined, inner, spliced
from sparkcep.exec.kernels.conditions.arithmetic import compare, negated, of_doubles, of_integers, order_of, whole_of
from sparkcep.exec.kernels.conditions.codes import (
    ABS_F,
    ABS_W,
    ADD_F,
    AND,
    COMPARE_W,
    DECIMAL,
    DIV_F,
    DOUBLE,
    EXTERNAL,
    EXTREME_F,
    EXTREME_I,
    FLOOR,
    FUNCTION,
    FUNCTION_2,
    GREATER,
    IDIV_I,
    IS_NULL,
    LESS,
    LOAD,
    MOD_F,
    MOD_I,
    NEG_F,
    NEG_I,
    NEG_W,
    NOT,
    NULLSAFE,
    OR,
    ROUND,
    SINGLE,
    SKIP,
    SKIP_IF_TRUE,
    SKIP_IF_VALUE,
    SKIP_UNLESS_TRUE,
    STACK_W,
    TEST,
    TEST_TOP,
    U,
)
from sparkcep.exec.kernels.conditions.functions import function_value
from sparkcep.exec.kernels.conditions.operands import Tested, operand, outside_test
from sparkcep.exec.kernels.conditions.rounding import HALF_EVEN, rounded
from sparkcep.exec.kernels.statuses import FALSE, TRUE


@inlined
def holds(label, row, base, rows, number, conditions, columns, search):
    """Test a label's condition on a row that its registers have seen: TRUE, FALSE (also for NULL), or an error.

    Runs instructions ``conditions.code_start[label]`` up to those of the next label, O(1) each. Invariant: entries
    up to ``top`` of the stack (``search.si``, ``sh``, ``sf``, ``sn``; STACK each) are the values of what has been
    evaluated and not used; a NULL's value is of no meaning, nor is ``sh`` of one that is not wide. ``sn`` is 0 for a
    value, 1 for NULL, and else the status of an error, which is told once a truth value depends on it: `x + 1 / 0` is
    NULL where x is. A test that is NULL does not end the condition, as a later error must be told, but makes it FALSE.

    Args:
        row: the tested row, within the partition. base: the partition's first row in the columns. rows: those of the
            partition. number: what MATCH_NUMBER() is. conditions, columns, search: see tables.py.

    Returns:
        TRUE, FALSE, OVERFLOW or ZERO_DIVISION (both under ANSI only), CONDITION_FAILED.
    """
    code, ansi = conditions.code, conditions.ansi
    tested = Tested(row, base, rows, number)
    top = -1
    unknown = False
    pc = conditions.code_start[U(label)]
    end = conditions.code_start[U(label + 1)]
    while pc < end:
        op, argument = code[U(8 * pc)], code[U(8 * pc + 1)]
        at = 8 * pc
        pc += 1
        if op <= FUNCTION:
            xs, xn, xi, xh, xf = np.int64(TRUE), False, np.int64(0), np.int64(0), 0.0
            ys, yn, yi, yh, yf = np.int64(TRUE), False, np.int64(0), np.int64(0), 0.0
            side = 2 if op >= LOAD else 5  # y lies above x on the stack
            while side > 0:
                xs, xn, xi, xh, xf = operand(at + side, top, tested, conditions, columns, search)
                if code[U(at + side)] <= STACK_W:
                    top -= 1
                if side == 5:
                    ys, yn, yi, yh, yf = xs, xn, xi, xh, xf
                side -= 3
            if xs != TRUE or ys != TRUE:
                status = _failure(op, argument, xs, xn, ys, yn)
                if op > COMPARE_W or not argument & TEST:
                    top += 1
                    search.sn[U(top)] = status
                elif status != TRUE:
                    return status
                else:
                    unknown = True
                continue
            if op <= COMPARE_W:
                if argument & NULLSAFE and (xn or yn):
                    true = xn and yn
                    null = False
                else:
                    null = xn or yn
                    true = argument & order_of(op, argument, (xi, xh, xf), (yi, yh, yf), search.digits) != 0
                if argument & TEST:
                    if null:
                        unknown = True
                    elif not true:
                        return FALSE
                    continue
                top += 1
                search.sn[U(top)] = 1 if null else 0
                search.si[U(top)] = 1 if true else 0
                continue
            top += 1
            if op == EXTREME_I or op == EXTREME_F:
                if xn or (not yn and _second(op, argument, xi, xf, yi, yf)):
                    xn, xi, xf = yn, yi, yf
                yn = False
            search.sn[U(top)] = 1 if xn or yn else 0
            search.si[U(top)] = xi
            search.sf[U(top)] = xf
            search.sh[U(top)] = xh
            if op <= EXTREME_F or op == LOAD or xn or yn:
                continue
            status = _compute(op, argument, top, (xi, xh, xf), (yi, yh, yf), ansi, conditions.functions, search)
            if status != TRUE:
                search.sn[U(top)] = status
        elif op <= SKIP_UNLESS_TRUE and search.sn[U(top)] > TRUE:
            return np.int64(search.sn[U(top)])
        elif op == TEST_TOP:
            if search.sn[U(top)]:
                unknown = True
            elif search.si[U(top)] == 0:
                return FALSE
            top -= 1
        elif op <= OR:
            top -= 1
            _connect(op, top, search)
        elif op <= IS_NULL or op > EXTERNAL:
            status = _change_top(op, argument, top, ansi, search)
            if status != TRUE:
                search.sn[U(top)] = status
        elif op <= SKIP:
            pc, top = _skip(op, argument, pc, top, search)
        else:
            status = outside_test(at, argument, tested, conditions, search)
            if status > TRUE:
                return status
            top += 1
            search.si[U(top)] = status
            search.sn[U(top)] = 1 if status < 0 else 0
    return FALSE if unknown else TRUE


@inner
def _failure(op, argument, xs, xn, ys, yn):
    """What comes of two operands of which one is an error: 1 for NULL, or the error's status.

    Spark evaluates the second of two values unless the first one is NULL; that of a division is the divisor.
    """
    if op == EXTREME_I or op == EXTREME_F or (op <= COMPARE_W and argument & NULLSAFE):
        return xs if xs != TRUE else ys
    if op == MOD_I or op == IDIV_I or op == DIV_F or op == MOD_F or (op == DECIMAL and decimals.divides(argument)):
        xs, xn, ys, yn = ys, yn, xs, xn
    if xn:
        return np.int64(1)
    return xs if xs != TRUE else ys


@spliced
def _second(op, wanted, xi, xf, yi, yf):
    """Whether the second of two values is the least or greatest; as LESS or GREATER says."""
    if op == EXTREME_F:
        return np.int64(1) << (compare(yf, xf) + 1) == wanted
    return wanted == (LESS if xi > yi else (GREATER if xi < yi else 0))


@spliced
def _compute(op, argument, top, x, y, ansi, functions, search):
    """Put the result of two values, each (integer, high word, double) and not NULL, on the stack's top, where the
    first is: TRUE or an error's status."""
    if op == DOUBLE:
        search.sf[U(top)] = decimals.as_double(x[1], x[0], argument, search.digits)
        return TRUE
    if op == SINGLE:
        search.sf[U(top)] = np.float64(np.float32(x[2]))
        return TRUE
    if op == ROUND:
        search.sf[U(top)] = rounded(x[2], argument & HALF_EVEN - 1, argument & HALF_EVEN)
        return TRUE
    if op == FUNCTION or op == FUNCTION_2:
        status, search.sf[U(top)] = function_value(argument, x[2], y[2], functions)
        if status == FALSE:
            search.sn[U(top)] = 1
        return TRUE
    if op >= FLOOR:
        status, search.si[U(top)] = whole_of(op, x[2], argument, ansi)
        return status
    if op == DECIMAL:
        status, high, low = decimals.operate(argument, x[1], x[0], y[1], y[0], search.digits)
        search.si[U(top)] = low
        search.sh[U(top)] = high
        if status != TRUE and not ansi:
            search.sn[U(top)] = 1
            return TRUE
        return status
    if op >= ADD_F:
        status, search.sf[U(top)] = of_doubles(op, x[2], y[2], ansi)
    else:
        status, search.si[U(top)] = of_integers(op, x[0], y[0], argument, ansi)
    if status == FALSE:
        search.sn[U(top)] = 1
        return TRUE
    return status


@spliced
def _skip(op, argument, pc, top, search):
    """Where the condition goes on by the stack's top, and where the stack ends then."""
    if op <= SKIP_IF_TRUE:
        if search.sn[U(top)] == 0 and (search.si[U(top)] != 0) == (op == SKIP_IF_TRUE):
            pc = argument
    elif op == SKIP_UNLESS_TRUE:
        if search.sn[U(top)] or search.si[U(top)] == 0:
            pc = argument
        top -= 1
    elif op == SKIP_IF_VALUE:
        if search.sn[U(top)] == TRUE:  # an error is passed on as a value is
            top -= 1
        else:
            pc = argument
    else:
        pc = argument
    return pc, top


@spliced
def _connect(op, top, search):
    """AND or OR of a value and the one above it, in its place."""
    decisive = 0 if op == AND else 1
    si, sn = search.si, search.sn
    if (sn[U(top)] == 0 and si[U(top)] == decisive) or (sn[U(top + 1)] == 0 and si[U(top + 1)] == decisive):
        si[U(top)] = decisive
        sn[U(top)] = 0
    else:
        sn[U(top)] |= sn[U(top + 1)]
        si[U(top)] = 1 - decisive


@spliced
def _change_top(op, argument, top, ansi, search):
    """NOT, IS_NULL, negation and absolute value of the stack's top: TRUE or OVERFLOW."""
    si, sh, sf, sn = search.si, search.sh, search.sf, search.sn
    if op == NOT:
        si[U(top)] = 1 - si[U(top)]
    elif op == IS_NULL:
        si[U(top)] = sn[U(top)]
        sn[U(top)] = 0
    elif op == NEG_F:
        sf[U(top)] = -sf[U(top)]
    elif op == ABS_F:
        sf[U(top)] = abs(sf[U(top)])
    elif op == NEG_W or (op == ABS_W and sh[U(top)] < 0):
        si[U(top)] = -si[U(top)]
        sh[U(top)] = ~sh[U(top)] + (1 if si[U(top)] == 0 else 0)
    elif op != ABS_W and sn[U(top)] == 0 and (op == NEG_I or si[U(top)] < 0):
        status, si[U(top)] = negated(si[U(top)], argument, ansi)
        return status
    return TRUE
