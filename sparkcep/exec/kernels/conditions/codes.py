"""Instructions of the machine for conditions, kinds of their operands, and tables of what is answered outside.

An instruction is a row of eight integers: operation, argument, and two operands of three integers each (kind, a, b).
Operands name where a value lies (a column of the tested row, of a row navigated to, an aggregate, a constant, the
stack), so that `price > LAST(A.price)` is one instruction. Results go to the stack, except that a comparison with the
TEST bit ends the condition where it is false.
"""

from __future__ import annotations

import numpy as np

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
    FUNCTION_2,  # of two doubles; argument: which one, see functions.py
    LOAD,
    DOUBLE,  # of a decimal; argument: its scale
    SINGLE,  # a double rounded to single precision
    ROUND,  # a double; argument: places, and HALF_EVEN (rounding.py)
    FLOOR,  # of a double, as the next three; argument: bits of the result type
    CEILING,
    CUT,
    FUNCTION,  # of a double; argument: which one
    TEST_TOP,  # from here to SKIP_UNLESS_TRUE: an error on the top is the condition's
    AND,
    OR,
    NOT,
    IS_NULL,
    SKIP_IF_FALSE,  # argument: instruction to go to when the top is false
    SKIP_IF_TRUE,
    SKIP_UNLESS_TRUE,  # the top is taken off in any case
    SKIP_IF_VALUE,  # a top that is NULL is taken off
    SKIP,
    EXTERNAL,  # argument: number of the test that is asked for outside; operands: the two rows it looks at, if so
    NEG_I,
    NEG_F,
    NEG_W,
    ABS_I,
    ABS_F,
    ABS_W,
) = range(42)

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
    BASE, LENGTH, FIRST_I, FIRST_J, MOVE_I, MOVE_J, HITS, LAST_I, LAST_J, PREVIOUS_I, PREVIOUS_J, REQUEST,
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
