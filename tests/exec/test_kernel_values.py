"""Types, limits and hard patterns of the rows engine."""

from __future__ import annotations

import time
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from sparkcep.errors import LimitError, SparkCepError
from sparkcep.exec.arrays import rank_strings
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.engines.rows.matcher import Matcher
from sparkcep.exec.engines.rows.program import compile_pattern
from sparkcep.exec.kernels.rows.rows import NUMBER, match_partitions
from sparkcep.expr.nodes import Call, Constant, Expression, Load, NavigationSlot
from sparkcep.expr.types import Type, parse_type
from sparkcep.pattern import Concatenation, Permutation, Quantified, Variable

from .helpers import batch, found_matches, make_spec

A, B = Variable("A"), Variable("B")
TWO = Concatenation((A, B))


def plus(item):
    return Quantified(item, 1, None)


def pair_holds(node: Expression, column: pa.Array, type_: str, ansi: bool = True) -> bool:
    """Whether `A B` matches two rows under a condition of B; Load(0) is A's value, Load(1) B's."""
    slots = (NavigationSlot(0, False, 0, 0, 0), NavigationSlot(1, False, 0, 0, 0))
    dependent = ConditionSet({1: node}, slots, (parse_type(type_),), (frozenset([0]), frozenset([1])))
    return bool(found_matches(make_spec(TWO, {}, conditions=dependent, ansi=ansi), batch([0, 0], [column])))


SELF = NavigationSlot(0, False, 0, 0, 0)
LESS = Call("<", (Load(0), Load(1)))
EQUAL = Call("=", (Load(0), Load(1)))
PLUS_ONE = Call(">", (Call("+", (Load(1), Constant(1, Type("int", 32)))), Load(0)))

CASES = [
    # 2**53 and its successor are the same double: int64 must not pass through float64.
    (LESS, pa.array([2**53, 2**53 + 1]), "bigint", True),
    (LESS, pa.array([2**63 - 2, 2**63 - 1]), "bigint", True),
    (LESS, pa.array(["B", "a"]), "string", True),
    (LESS, pa.array(["é", "z"]), "string", False),
    (EQUAL, pa.array(["x", "x"]), "string", True),
    (EQUAL, pa.array(["x", None]), "string", False),
    (LESS, pa.array([1.0, float("nan")]), "double", True),
    (EQUAL, pa.array([float("nan")] * 2), "double", True),
    (EQUAL, pa.array([0.0, -0.0]), "double", True),
    (LESS, pa.array([Decimal("1.10"), Decimal("1.11")]), "decimal(10,2)", True),
    (LESS, pa.array([Decimal("-1.10"), Decimal("-1.11")]), "decimal(10,2)", False),
    (LESS, pa.array([False, True]), "boolean", True),
    (LESS, pa.array(np.array(["2026-01-01", "2026-01-02"], "datetime64[us]")), "timestamp_ntz", True),
]


@pytest.mark.parametrize("called_back", [False, True])
@pytest.mark.parametrize(("node", "column", "type_", "holds"), CASES)
def test_comparison(node: Expression, column: pa.Array, type_: str, holds: bool, called_back: bool) -> None:
    assert pair_holds(node, column, type_) is holds


@pytest.mark.parametrize("called_back", [False, True])
def test_overflow_is_an_error_in_ansi_and_wraps_else(called_back: bool) -> None:
    column = pa.array([0, 2**31 - 1], pa.int32())
    with pytest.raises(SparkCepError) as error:
        pair_holds(PLUS_ONE, column, "int")
    assert error.value.getCondition() == "ARITHMETIC_OVERFLOW"
    assert pair_holds(PLUS_ONE, column, "int", ansi=False) is False


@pytest.mark.parametrize("called_back", [False, True])
@pytest.mark.parametrize(("x", "y", "remainder"), [(7, 3, 1), (-7, 3, -1), (7, -3, 1), (-(2**63), -1, 0)])
def test_remainder_has_the_sign_of_the_dividend(x: int, y: int, remainder: int, called_back: bool) -> None:
    node = Call("=", (Call("%", (Load(0), Load(1))), Constant(remainder, Type("int", 64))))
    assert pair_holds(node, pa.array([x, y]), "bigint")


@pytest.mark.parametrize("called_back", [False, True])
def test_division_by_zero(called_back: bool) -> None:
    node = Call("=", (Call("/", (Load(0), Load(1))), Constant(1, Type("int", 32))))
    with pytest.raises(SparkCepError, match="DIVIDE_BY_ZERO"):
        pair_holds(node, pa.array([1, 0]), "bigint")
    assert pair_holds(node, pa.array([1, 0]), "bigint", ansi=False) is False


def test_guarded_division_is_not_evaluated() -> None:
    guard = Call("and", (Call("<>", (Load(1), Constant(0, Type("int", 32)))), Call(">", (Call("/", (Load(0), Load(1))),
                 Constant(0, Type("int", 32))))))  # fmt: skip
    assert pair_holds(guard, pa.array([1, 0]), "bigint") is False


def test_ranks_follow_bytes() -> None:
    ranks, constants = rank_strings([pa.array(["b", None, "a"]), pa.array(["é"])], ["B", "b"])
    assert ranks[0][0] == constants[1]
    assert constants[0] < ranks[0][2] < ranks[0][0] < ranks[1][0]


@pytest.mark.compiled
def test_nested_plus_is_linear() -> None:
    """`(A+)+ B` without any B is the classic exponential case."""
    pattern = Concatenation((plus(plus(plus(A))), B))
    times = []
    for rows in (10_000, 100_000):
        spec, data = make_spec(pattern, {"A": 0, "B": 1}), batch([1] * rows)
        Matcher(spec).match(batch([1]))
        start = time.perf_counter()
        assert len(Matcher(spec).match(data)) == 0
        times.append(time.perf_counter() - start)
    assert times[1] < 5


@pytest.mark.compiled
def test_one_match_of_a_hundred_thousand_rows() -> None:
    assert len(Matcher(make_spec(plus(plus(A)), {"A": 0})).match(batch([1] * 100_000))) == 100_000


@pytest.mark.parametrize("dependent", [False, True])
def test_output_grows_without_counting_steps_twice(dependent: bool) -> None:
    """3000 matches of one row each take 3000 steps, two each with conditions; the output starts with 1024 rows."""
    rows, steps = 3000, 6000 if dependent else 3000
    conditions = ConditionSet({0: EQUAL}, (SELF, SELF), (parse_type("bigint"),), (frozenset([0]),))
    data = batch([1] * rows, [pa.array([0] * rows)])
    for limit in (steps, steps - 1):
        spec = make_spec(A, {"A": 0}, conditions=conditions if dependent else ConditionSet(), limit_steps=limit)
        if limit == steps:
            assert Matcher(spec).match(data)[:, NUMBER].tolist() == list(range(1, rows + 1))
        else:
            with pytest.raises(LimitError, match="steps"):
                Matcher(spec).match(data)


def test_step_limit_names_its_key() -> None:
    never = Call("=", (Load(0), Constant(5, Type("int", 32))))
    dependent = ConditionSet(
        {1: never}, (NavigationSlot(0, True, 0, 0, 0),), (parse_type("bigint"),), (frozenset([0]),)
    )
    pattern = Concatenation((plus(plus(A)), plus(A), B))
    spec = make_spec(pattern, {}, conditions=dependent, limit_steps=10_000)
    with pytest.raises(LimitError, match=r"spark\.sparkcep\.limit\.steps"):
        Matcher(spec).match(batch([0] * 200, [pa.array([1] * 200)]))


def test_permute_shares_suffixes() -> None:
    names = [Variable(f"V{i}") for i in range(8)]
    assert compile_pattern(Permutation(tuple(names))).positions == 8 * 2**7


def test_permute_of_choices_keeps_its_orders_apart() -> None:
    """Behind what can match in several ways the order of the rest is settled; orders still share their suffixes."""
    names = [Variable(f"V{i}") for i in range(7)]
    assert compile_pattern(Permutation(tuple(map(plus, names)))).positions == 13_699
    assert compile_pattern(Permutation((plus(names[0]), *names[1:]))).positions == 4_105
    with pytest.raises(LimitError, match=r"spark\.sparkcep\.limit\.programSize"):
        compile_pattern(Permutation((*map(plus, names), Variable("V7"))))


def test_program_limit_names_its_key() -> None:
    pattern = Quantified(Quantified(A, 1000, 1000), 1000, 1000)
    with pytest.raises(LimitError, match=r"spark\.sparkcep\.limit\.programSize"):
        compile_pattern(pattern)


@pytest.mark.compiled
def test_one_signature() -> None:
    """A second signature would be a second compilation on every machine."""
    pair_holds(LESS, pa.array(["a", "b"]), "string")
    pair_holds(LESS, pa.array([1.0, 2.0]), "double")
    Matcher(make_spec(plus(A), {"A": 0}, use_within=True)).match(
        batch([1, 1], within=(pa.array([1.0, 2.0]), pa.array([2.0, None])))
    )
    assert len(match_partitions.signatures) == 1
