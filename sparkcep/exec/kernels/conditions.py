"""Register machine with a small stack for match-dependent conditions.

An instruction is a row of eight integers: operation, argument, and two operands of three integers each (kind, a, b).
Operands name where a value lies (a column of the tested row, of a row navigated to, an aggregate, a constant, the
stack), so that `price > LAST(A.price)` is one instruction. Results go to the stack, except that a comparison with the
TEST bit ends the condition where it is false.

Values are int64 or float64 under SQL's three-valued logic. Integers stand for every ordered type that fits 64 bits
(integers, dates, timestamps, day-time intervals, booleans, scaled decimals, ranks of strings), so int64 never passes
through float64 unless the other operand is a double. Decimals of more than 18 digits have a second word, the high one
(kernels/decimals.py); an integer's is its sign.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from sparkcep.exec.kernels import decimals
from sparkcep.exec.kernels.caching import inlined, inner
from sparkcep.exec.kernels.statuses import FALSE, OVERFLOW, TRUE, ZERO_DIVISION

# Operations with two operands, then from LOAD on with one, then those that work on the top of the stack.
(
    COMPARE_I,  # argument: orders that hold (LESS, EQUAL, GREATER bits), TEST, NULLSAFE
    COMPARE_F,
    COMPARE_W,  # argument: and powers of ten that operands are multiplied by, RAISE_X and RAISE_Y bits up
    EXTREME_I,  # argument: LESS for the least, GREATER for the greatest of what is not NULL
    EXTREME_F,
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
    DECIMAL,  # argument: see decimals.pack
    LOAD,
    DOUBLE,  # of a decimal; argument: its scale
    FLOOR,  # of a double, as the next three; argument: bits of the result type
    CEILING,
    CUT,
    SQUARE_ROOT,
    TEST_TOP,
    SKIP_IF_FALSE,  # argument: instruction to go to when the top is false
    SKIP_IF_TRUE,
    SKIP_UNLESS_TRUE,  # the top is taken off in any case
    SKIP_IF_VALUE,  # a top that is NULL is taken off
    SKIP,
    EXTERNAL,  # argument: number of the test that is asked for outside; operands: the two rows it looks at, if so
    AND,
    OR,
    NOT,
    IS_NULL,
    NEG_I,
    NEG_F,
    NEG_W,
    ABS_I,
    ABS_F,
    ABS_W,
) = range(39)

LESS, EQUAL, GREATER, TEST, NULLSAFE = 1, 2, 4, 8, 16
RAISE_X, RAISE_Y = 8, 16

# Kinds of operands: FLOAT of them are doubles; WIDE are two words, of which a column, a constant or an aggregate has
# the high one at the next place.
FLOAT, WIDE = 1, 2
STACK_I, STACK_F, STACK_W = 0, 1, 2
ROW_I, ROW_F, ROW_W = 4, 5, 6  # a: rows from the tested one, b: column
NAVIGATED_I, NAVIGATED_F, NAVIGATED_W = 8, 9, 10  # a: navigation, b: column
CONST_I, CONST_F, CONST_W = 12, 13, 14  # a: index into constants
# a: aggregate, b: of how many of its register's last rows it is taken without
AGGREGATE_I, AGGREGATE_F, AGGREGATE_W = 16, 17, 18
COUNT_OF, AVERAGE_OF = 20, 21
MATCH_NUMBER, NULL = 24, 28

STACK = 128

# What has been answered outside for pairs of rows of the partition that begins at BASE: LENGTH of them, the first of
# rows FIRST_I and FIRST_J and each of the next ones by MOVE_I and MOVE_J further. HITS: how many of these were asked
# for. The pair that was asked for last is LAST, the one before it PREVIOUS.
(
    BASE, LENGTH, FIRST_I, FIRST_J, MOVE_I, MOVE_J, HITS, LAST_I, LAST_J, PREVIOUS_I, PREVIOUS_J, ASKED,
) = range(12)  # fmt: skip
#: Room for answers of one test, and one that has to be asked for by itself.
ANSWERS, UNANSWERED = 2048, 2

# AVERAGE adds up in float64, as Spark's avg does, also over integers. Kinds with the FLOAT bit are over double columns,
# with the WIDE bit over columns of two words. TOTAL is a sum of two words; the aggregate behind one that has two words
# is its HIGH one.
COUNT, SUM, MIN, MAX, AVERAGE, TOTAL, HIGH = 0, 4, 8, 12, 16, 20, 24
#: Number of values of a sum that has overflowed: under ANSI an error for whom reads it, else NULL.
POISONED = -1

# Numba lets signed indices count from the end, which costs as much as the access; unsigned ones do not.
U = np.uintp

_HALF = np.int64(1) << 31


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
def _multiply(x, y):
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
def _whole(op, value, bits, ansi):
    """A double as an integer: (TRUE or OVERFLOW, integer). Without ANSI mode as Java casts: NaN is 0, what does not fit
    the nearest."""
    if op == FLOOR:
        value = np.floor(value)
    elif op == CEILING:
        value = np.ceil(value)
    half = 2.0 ** (bits - 1)
    least, most = -np.int64(1) << (bits - 1), ~(-np.int64(1) << (bits - 1))
    # What fits once its fraction is gone: -half - 0.5 does, which a double of 64 bits cannot be.
    if -half - 1.0 < value < half or value == -half:
        return TRUE, np.int64(value)
    if ansi:
        return OVERFLOW, np.int64(0)
    return TRUE, np.int64(0) if value != value else (least if value < 0 else most)


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
def called(typingctx, address, condition, base, rows, number):
    """Call a C function by its address with four integers; it takes what it needs of the interpreter's lock."""

    def codegen(context, builder, signature, arguments):
        word = ir.IntType(64)
        function = builder.inttoptr(arguments[0], ir.FunctionType(word, [word] * 4).as_pointer())
        pairs = zip(arguments[1:], signature.args[1:], strict=True)
        return builder.call(function, [context.cast(builder, value, of, types.int64) for value, of in pairs])

    return types.int64(address, condition, base, rows, number), codegen


@inner
def answered(test, base, i, j, asked, answers):
    """What is known of a test of two rows: TRUE, FALSE, -1 for NULL, UNANSWERED."""
    at = test * ASKED
    asked[U(at + PREVIOUS_I)] = asked[U(at + LAST_I)]
    asked[U(at + PREVIOUS_J)] = asked[U(at + LAST_J)]
    asked[U(at + LAST_I)] = i
    asked[U(at + LAST_J)] = j
    if asked[U(at + BASE)] != base:
        return np.int64(UNANSWERED)
    k, m = i - asked[U(at + FIRST_I)], j - asked[U(at + FIRST_J)]
    n = k if asked[U(at + MOVE_I)] else m
    if n < 0 or n >= asked[U(at + LENGTH)] or k != n * asked[U(at + MOVE_I)] or m != n * asked[U(at + MOVE_J)]:
        return np.int64(UNANSWERED)
    asked[U(at + HITS)] += 1
    return np.int64(answers[U(test * ANSWERS + n)])


@inlined
def holds(label, row, base, rows, number, conditions, columns, search):
    """Test a label's condition on a row that its registers have seen: TRUE, FALSE (also for NULL), or an error.

    Runs instructions ``conditions.code_start[label]`` up to those of the next label, O(1) each. Invariant: entries
    up to ``top`` of the stack (``search.si``, ``sh``, ``sf``, ``sn``; STACK each) are the values of what has been
    evaluated and not used; a NULL's value is of no meaning, nor is ``sh`` of one that is not wide. A test that is NULL
    does not end the condition, as a later error must be told, but makes it FALSE.

    Args:
        row: the tested row, within the partition. base: the partition's first row in the columns. rows: those of the
            partition. number: what MATCH_NUMBER() is. conditions, columns, search: see tables.py.

    Returns:
        TRUE, FALSE, OVERFLOW or ZERO_DIVISION (both under ANSI only), CONDITION_FAILED.
    """
    code = conditions.code
    counts, si, sh, sf, sn = search.counts, search.si, search.sh, search.sf, search.sn
    top = -1
    unknown = False
    pc = conditions.code_start[U(label)]
    end = conditions.code_start[U(label + 1)]
    while pc < end:
        op, b = code[U(8 * pc)], code[U(8 * pc + 1)]
        at = 8 * pc
        pc += 1
        if op <= SQUARE_ROOT:
            yn, yi, yh, yf = False, np.int64(0), np.int64(0), 0.0
            xn, xi, xh, xf = False, np.int64(0), np.int64(0), 0.0
            side = 2 if op >= LOAD else 5  # y lies above x on the stack
            while side > 0:
                xn, xi, xf = False, np.int64(0), 0.0
                kind = code[U(at + side)]
                a = code[U(at + side + 1)]
                if kind <= STACK_W:
                    xn = sn[U(top)] != 0
                    xi = si[U(top)]
                    xf = sf[U(top)]
                    if kind == STACK_W:
                        xh = sh[U(top)]
                    top -= 1
                elif kind <= NAVIGATED_W:
                    if kind <= ROW_W:
                        where = row + a
                        if where >= rows:
                            where = np.int64(-1)
                    else:
                        where = navigate(a, conditions.navigations, 4, search, rows)
                    cell = U(code[U(at + side + 2)] * columns.rows + base + where)
                    if where < 0:
                        xn = True
                    elif kind & FLOAT:
                        xn = columns.float_nulls[cell] != 0
                        xf = columns.floats[cell]
                    else:
                        xn = columns.int_nulls[cell] != 0
                        xi = columns.ints[cell]
                        if kind & WIDE:
                            xh = columns.ints[cell + U(columns.rows)]
                elif kind == CONST_I:
                    xi = conditions.const_i[U(a)]
                elif kind == CONST_F:
                    xf = conditions.const_f[U(a)]
                elif kind == CONST_W:
                    xi = conditions.const_i[U(a)]
                    xh = conditions.const_i[U(a + 1)]
                elif kind <= AVERAGE_OF:
                    seen = counts[U(conditions.aggregates[U(3 * a + 1)])] - code[U(at + side + 2)]
                    seen = U(a * search.rows + seen)
                    n = search.agg_n[seen]
                    if n == POISONED and conditions.ansi:
                        return OVERFLOW
                    if kind == COUNT_OF:
                        xi = n
                    else:
                        xn = n <= 0
                        xi = search.agg_v[seen]
                        xf = search.agg_f[seen]
                        if kind & WIDE:
                            xh = search.agg_v[seen + U(search.rows)]
                        if kind == AVERAGE_OF and n > 0:
                            xf /= np.float64(n)
                elif kind == MATCH_NUMBER:
                    xi = number
                else:
                    xn = True
                if kind & FLOAT == 0:
                    xf = np.float64(xi)
                if kind & WIDE == 0:
                    xh = xi >> 63
                if side == 5:
                    yn, yi, yh, yf = xn, xi, xh, xf
                side -= 3
            if op <= COMPARE_W:
                if b & NULLSAFE and (xn or yn):
                    true = xn and yn
                    null = False
                else:
                    null = xn or yn
                    if op == COMPARE_I:
                        order = EQUAL if xi == yi else (LESS if xi < yi else GREATER)
                    elif op == COMPARE_W:
                        wide = decimals.order(xh, xi, b >> RAISE_X & 255, yh, yi, b >> RAISE_Y & 255, search.digits)
                        order = np.int64(1) << (wide + 1)
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
            sh[U(top)] = xh
            if op == LOAD:
                continue
            if op <= EXTREME_F:
                better = LESS if xi > yi else (GREATER if xi < yi else 0)  # what the second one is
                if op == EXTREME_F:
                    better = np.int64(1) << (_compare(yf, xf) + 1)
                if xn or (not yn and better == b):
                    si[U(top)] = yi
                    sf[U(top)] = yf
                    sn[U(top)] = 1 if yn else 0
                else:
                    sn[U(top)] = 0
                continue
            if xn or yn:
                continue
            if op == DOUBLE:
                sf[U(top)] = decimals.as_double(xh, xi, b, search.digits)
                continue
            if op == SQUARE_ROOT:
                sf[U(top)] = np.sqrt(xf)
                continue
            if op >= FLOOR:
                status, si[U(top)] = _whole(op, xf, b, conditions.ansi)
                if status != TRUE:
                    return status
                continue
            if op == DECIMAL:
                status, xh, xi = decimals.operate(b, xh, xi, yh, yi, search.digits)
                if status != TRUE:
                    if conditions.ansi:
                        return status
                    sn[U(top)] = 1
                si[U(top)] = xi
                sh[U(top)] = xh
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
                value, bad = _multiply(xi, yi)
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
        elif op == SKIP_UNLESS_TRUE:
            if sn[U(top)] or si[U(top)] == 0:
                pc = b
            top -= 1
        elif op == SKIP_IF_VALUE:
            if sn[U(top)]:
                top -= 1
            else:
                pc = b
        elif op == SKIP:
            pc = b
        elif op == EXTERNAL:
            status = np.int64(UNANSWERED)
            if code[U(at + 2)] == NAVIGATED_I:
                i = navigate(code[U(at + 3)], conditions.navigations, 4, search, rows)
                j = navigate(code[U(at + 6)], conditions.navigations, 4, search, rows)
                status = answered(b, base, i, j, conditions.asked, conditions.answers)
            if status == UNANSWERED:
                status = called(conditions.callback, b, base, rows, number)
            if status > TRUE:
                return status
            top += 1
            si[U(top)] = status
            sn[U(top)] = 1 if status < 0 else 0
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
        elif op == NEG_W or (op == ABS_W and sh[U(top)] < 0):
            si[U(top)] = -si[U(top)]
            sh[U(top)] = ~sh[U(top)] + (1 if si[U(top)] == 0 else 0)
        elif op == ABS_W:
            continue
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
    if kind == HIGH:
        return
    new = k * search.rows + search.counts[U(register)]
    old, new = U(new - 1), U(new)
    cell = U(column * columns.rows + row)
    n = search.agg_n[old]
    null = column >= 0 and (columns.float_nulls[cell] if kind & FLOAT else columns.int_nulls[cell]) != 0
    wide = kind & WIDE != 0 or kind == TOTAL
    high = U(search.rows)
    if null or n == POISONED:
        search.agg_n[new] = n
        search.agg_v[new] = search.agg_v[old]
        if wide:
            search.agg_v[new + high] = search.agg_v[old + high]
        return
    search.agg_n[new] = n + 1
    if kind <= COUNT + WIDE:
        return
    if wide:
        xi = columns.ints[cell]
        xh = columns.ints[cell + U(columns.rows)] if kind & WIDE else xi >> 63
        yi, yh = search.agg_v[old], search.agg_v[old + high]
        if n > 0:
            if kind >= TOTAL:
                status, xh, xi = decimals.operate(decimals.LONGEST_SUM, xh, xi, yh, yi, search.digits)
                if status != TRUE:
                    search.agg_n[new] = POISONED
            else:
                order = decimals.order(xh, xi, 0, yh, yi, 0, search.digits)
                if order == 0 or (order > 0) == (kind == MIN + WIDE):
                    xi, xh = yi, yh
        search.agg_v[new] = xi
        search.agg_v[new + high] = xh
        return
    if kind & FLOAT:
        x = columns.floats[cell]
        y = search.agg_f[old]
        if n > 0:
            if kind == SUM + FLOAT or kind == AVERAGE + FLOAT:
                x += y
            else:
                order = _compare(x, y)
                if order == 0 or (order > 0) == (kind == MIN + FLOAT):
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
