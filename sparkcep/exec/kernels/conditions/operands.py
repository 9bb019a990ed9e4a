"""Where operands of conditions come from: rows of the match, aggregates, constants, and what is answered outside."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from sparkcep.exec.kernels.caching import inner, spliced
from sparkcep.exec.kernels.conditions.codes import (
    ANSWERS,
    AVERAGE_OF,
    BASE,
    CONST_F,
    CONST_I,
    CONST_W,
    COUNT_OF,
    FIRST_I,
    FIRST_J,
    FLOAT,
    HITS,
    LAST_I,
    LAST_J,
    LENGTH,
    MATCH_NUMBER,
    MOVE_I,
    MOVE_J,
    NAVIGATED_I,
    NAVIGATED_W,
    POISONED,
    PREVIOUS_I,
    PREVIOUS_J,
    REQUEST,
    ROW_W,
    STACK_W,
    UNANSWERED,
    WIDE,
    U,
)
from sparkcep.exec.kernels.statuses import OVERFLOW, TRUE


class Tested(NamedTuple):
    """The row that a condition is tested on."""

    row: int  # within the partition
    base: int  # the partition's first row in the columns
    rows: int  # those of the partition
    number: int  # what MATCH_NUMBER() is


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


@intrinsic
def _called(typingctx, address, condition, base, rows, number):
    """Call a C function by its address with four integers; it takes what it needs of the interpreter's lock."""

    def codegen(context, builder, signature, arguments):
        word = ir.IntType(64)
        function = builder.inttoptr(arguments[0], ir.FunctionType(word, [word] * 4).as_pointer())
        pairs = zip(arguments[1:], signature.args[1:], strict=True)
        return builder.call(function, [context.cast(builder, value, of, types.int64) for value, of in pairs])

    return types.int64(address, condition, base, rows, number), codegen


def _called_by_python(address, *integers):
    """As ``_called`` where Numba's compiler is switched off."""
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4)(int(address))(*map(int, integers))


called = _called_by_python if config.DISABLE_JIT else _called


@inner
def answered(test, base, i, j, requests, answers):
    """What is known of a test of two rows: TRUE, FALSE, -1 for NULL, UNANSWERED."""
    at = test * REQUEST
    requests[U(at + PREVIOUS_I)] = requests[U(at + LAST_I)]
    requests[U(at + PREVIOUS_J)] = requests[U(at + LAST_J)]
    requests[U(at + LAST_I)] = i
    requests[U(at + LAST_J)] = j
    if requests[U(at + BASE)] != base:
        return np.int64(UNANSWERED)
    k, m = i - requests[U(at + FIRST_I)], j - requests[U(at + FIRST_J)]
    n = k if requests[U(at + MOVE_I)] else m
    if n < 0 or n >= requests[U(at + LENGTH)] or k != n * requests[U(at + MOVE_I)] or m != n * requests[U(at + MOVE_J)]:
        return np.int64(UNANSWERED)
    requests[U(at + HITS)] += 1
    return np.int64(answers[U(test * ANSWERS + n)])


@spliced
def outside_test(at, test, tested, conditions, search):
    """What a test says that the machine cannot evaluate: TRUE, FALSE, -1 for NULL, CONDITION_FAILED.

    Answers for pairs of rows may be there; else the interpreter is called.
    """
    code = conditions.code
    status = np.int64(UNANSWERED)
    if code[U(at + 2)] == NAVIGATED_I:
        i = navigate(code[U(at + 3)], conditions.navigations, 4, search, tested.rows)
        j = navigate(code[U(at + 6)], conditions.navigations, 4, search, tested.rows)
        status = answered(test, tested.base, i, j, conditions.requests, conditions.answers)
    if status == UNANSWERED:
        status = called(conditions.callback, test, tested.base, tested.rows, tested.number)
    return status


@spliced
def operand(at, top, tested, conditions, columns, search):
    """The operand at a place of the code: (TRUE or an error's status, whether NULL, integer, its high word, double)."""
    kind, a = conditions.code[U(at)], conditions.code[U(at + 1)]
    null, whole, high, real = False, np.int64(0), np.int64(0), 0.0
    if kind <= STACK_W:
        failure = search.sn[U(top)]
        if failure > TRUE:
            return np.int64(failure), null, whole, high, real
        null = failure != 0
        whole = search.si[U(top)]
        real = search.sf[U(top)]
        if kind == STACK_W:
            high = search.sh[U(top)]
    elif kind <= NAVIGATED_W:
        if kind <= ROW_W:
            where = tested.row + a
            if where >= tested.rows:
                where = np.int64(-1)
        else:
            where = navigate(a, conditions.navigations, 4, search, tested.rows)
        cell = U(conditions.code[U(at + 2)] * columns.rows + tested.base + where)
        if where < 0:
            null = True
        elif kind & FLOAT:
            null = columns.float_nulls[cell] != 0
            real = columns.floats[cell]
        else:
            null = columns.int_nulls[cell] != 0
            whole = columns.ints[cell]
            if kind & WIDE:
                high = columns.ints[cell + U(columns.rows)]
    elif kind == CONST_I:
        whole = conditions.const_i[U(a)]
    elif kind == CONST_F:
        real = conditions.const_f[U(a)]
    elif kind == CONST_W:
        whole = conditions.const_i[U(a)]
        high = conditions.const_i[U(a + 1)]
    elif kind <= AVERAGE_OF:
        seen = search.counts[U(conditions.aggregates[U(3 * a + 1)])] - conditions.code[U(at + 2)]
        cell = U(a * search.rows + seen)
        n = search.agg_n[cell]
        if n == POISONED and conditions.ansi:
            return np.int64(OVERFLOW), null, whole, high, real
        if kind == COUNT_OF:
            whole = n
        else:
            null = n <= 0
            whole = search.agg_v[cell]
            real = search.agg_f[cell]
            if kind & WIDE:
                high = search.agg_v[cell + U(search.rows)]
            if kind == AVERAGE_OF and n > 0:
                real /= np.float64(n)
    elif kind == MATCH_NUMBER:
        whole = tested.number
    else:
        null = True
    if kind & FLOAT == 0:
        real = np.float64(whole)
    if kind & WIDE == 0:
        high = whole >> 63
    return np.int64(TRUE), null, whole, high, real
