"""Compiled conditions give what the interpreter gives: NULL, NaN, mixed types, overflow, guarded errors."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.errors import SparkCepError
from sparkcep.exec.conditions.expressions import (
    BIGINT,
    DOUBLE,
    INT,
    AggregateSlot,
    Call,
    Constant,
    Expression,
    Load,
    NavigationSlot,
    NumberSlot,
    RowValue,
)
from sparkcep.exec.engines.rows.spec import ConditionSet
from sparkcep.pattern import Alternation, Concatenation, Quantified, Variable

from .helpers import batch, found_matches, make_spec

A, B = Variable("A"), Variable("B")
SOME = Quantified(Alternation((A, B)), 1, None)
FLOATS, INTS = 0, 1
REGISTERS = (frozenset([0]), frozenset([1]), frozenset([0, 1]))
LARGE = 2**63 - 1

SLOTS = (
    NavigationSlot(2, False, 0, 0, FLOATS),
    NavigationSlot(0, False, 0, 0, FLOATS),
    NavigationSlot(1, True, 0, -1, FLOATS),
    NavigationSlot(2, False, 0, 0, INTS),
    NavigationSlot(0, True, 1, 0, INTS),
    NavigationSlot(2, False, 0, 1, INTS),
    NumberSlot(),
    *(AggregateSlot(f, 2, (RowValue(c),)) for f in ("min", "max", "count") for c in (FLOATS, INTS)),
    AggregateSlot("avg", 0, (RowValue(INTS),)),
    AggregateSlot("count", 1, ()),
)

floats = st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.0, -1.5, float("nan"), float("inf")]))
ints = st.one_of(st.none(), st.sampled_from([0, 1, -1, 2, LARGE, LARGE - 1, -LARGE - 1]))
leaves = st.one_of(
    st.integers(0, len(SLOTS) - 1).map(Load),
    st.sampled_from([Constant(1, INT), Constant(0, INT), Constant(1.0, DOUBLE), Constant(None, BIGINT)]),
)
numbers = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda f, a, b: Call(f, (a, b)), st.sampled_from(["+", "-", "*", "/", "%"]), inner, inner),
        st.builds(lambda f, a: Call(f, (a,)), st.sampled_from(["negate", "abs"]), inner),
    ),
    max_leaves=3,
)
tests = st.one_of(
    st.builds(
        lambda f, a, b: Call(f, (a, b)), st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"]), numbers, numbers
    ),
    numbers.map(lambda a: Call("isnull", (a,))),
)
conditions = st.recursive(
    tests,
    lambda inner: st.one_of(
        st.builds(lambda f, a, b: Call(f, (a, b)), st.sampled_from(["and", "or"]), inner, inner),
        inner.map(lambda a: Call("not", (a,))),
    ),
    max_leaves=4,
)


def outcome(conditions: dict[int, Expression], rows, ansi: bool, interpreted: bool):
    """Matches, or the condition of the error."""
    columns = [pa.array([f for f, _ in rows], pa.float64()), pa.array([i for _, i in rows], pa.int64())]
    dependent = ConditionSet(conditions, SLOTS, (DOUBLE, BIGINT), REGISTERS, interpreted)
    try:
        return found_matches(make_spec(SOME, {}, conditions=dependent, ansi=ansi), batch([0] * len(rows), columns))
    except SparkCepError as error:
        return error.getCondition()


@given(conditions, conditions, st.lists(st.tuples(floats, ints), max_size=4), st.booleans())
def test_kernel_equals_interpreter(a: Expression, b: Expression, rows, ansi: bool) -> None:
    expected = outcome({0: a, 1: b}, rows, ansi, interpreted=True)
    if expected != "CEP_CONDITION_FAILED":  # Python's float division and powers have errors of their own
        assert outcome({0: a, 1: b}, rows, ansi, interpreted=False) == expected


FAILS = Call("=", (Call("/", (Constant(1, INT), Constant(0, INT))), Constant(1, INT)))
FALSE, UNKNOWN = Call("<", (Constant(1, INT), Constant(0, INT))), Call("=", (Constant(None, INT), Constant(0, INT)))


@pytest.mark.parametrize("interpreted", [False, True])
@pytest.mark.parametrize(
    ("node", "fails"),
    [
        (Call("and", (FALSE, FAILS)), False),
        (Call("and", (UNKNOWN, FAILS)), True),  # NULL does not decide AND
        (Call("and", (Call("and", (UNKNOWN, FALSE)), FAILS)), False),
        (Call("and", (UNKNOWN, Call("and", (FALSE, FAILS)))), False),
        (Call("or", (Call("not", (FALSE,)), FAILS)), False),
        (Call("or", (UNKNOWN, FAILS)), True),
    ],
)
def test_what_is_decided_is_not_evaluated(node: Expression, fails: bool, interpreted: bool) -> None:
    found = outcome({0: node, 1: FALSE}, [(0.0, 0)], True, interpreted)
    assert (found == "DIVIDE_BY_ZERO") is fails


@pytest.mark.parametrize("guarded", [False, True])
def test_a_sum_overflows_where_it_is_read(guarded: bool) -> None:
    """A sum that no condition gets to read is no error; one that is read is, also once it is back in range."""
    rows = [1, LARGE, -5, 0]
    read = Call(">=", (Load(0), Constant(-(2**62), BIGINT)))
    last = Call("=", (Load(1), Constant(0, INT)))
    dependent = ConditionSet(
        {0: Call("or", (Call("not", (last,)), read)) if guarded else read},
        (AggregateSlot("sum", 0, (RowValue(0),)), NavigationSlot(0, False, 0, 0, 0)),
        (BIGINT,),
        (frozenset([0]),),
    )
    for end in (3, 4):
        spec, data = make_spec(Quantified(A, 1, None), {}, conditions=dependent), [pa.array(rows[:end])]
        if guarded and end == 3:
            assert len(found_matches(spec, batch([0] * end, data))) == 1
        else:
            with pytest.raises(SparkCepError, match="ARITHMETIC_OVERFLOW"):
                found_matches(spec, batch([0] * end, data))


def test_aggregates_of_a_register_that_later_positions_do_not_read() -> None:
    """`(A B)+ C`: the registers of A and B advance in the loop only, and come back after a retreat."""
    pattern = Concatenation((Quantified(Concatenation((A, B)), 1, None), Variable("C")))
    slots = (AggregateSlot("sum", 0, (RowValue(0),)), NavigationSlot(1, False, 0, 0, 0))
    dependent = ConditionSet({1: Call("=", (Load(0), Load(1)))}, slots, (BIGINT,), (frozenset([0]), frozenset([1])))
    spec = make_spec(pattern, {}, conditions=dependent)
    values = [1, 1, 2, 3, 4, 7, 5, 0, 9]
    found = found_matches(spec, batch([0] * len(values), [pa.array(values)]))
    assert [[v for v, _, _ in path] for _, _, path in found] == [list("ABABABC")]
