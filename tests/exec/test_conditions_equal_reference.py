"""Match-dependent conditions: compiled programs, the interpreter that the kernel calls, and the search in Python give
what plain Python gives.

Random patterns over random integers; random conditions on first, last, previous and aggregated values of variables.
"""

from __future__ import annotations

import pickle
import statistics
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.rows.program import compile_pattern
from sparkcep.expr.nodes import (
    AggregateSlot,
    Call,
    ConditionSlot,
    Constant,
    Expression,
    Load,
    NavigationSlot,
    NumberSlot,
    RowValue,
)
from sparkcep.expr.types import BIGINT, INT, Type
from sparkcep.pattern import Alternation, Concatenation, Pattern, Quantified, Variable, variables
from sparkcep.query import OwnAggregate, SkipMode

from ..conftest import every
from .helpers import as_tuples, batch, found_matches, make_spec, read_matches, remembering
from .lambda_conditions import UNITS, lambda_tests, time_tests
from .reference_rows import Path, reference_matches
from .strategies import NAMES, patterns

Value = int | float | None


def span(values: pa.Array) -> int | None:
    """A user's aggregate."""
    found = pc.min_max(values).as_py()
    return None if found["min"] is None else found["max"] - found["min"]


def seldom(values: list[int]) -> int:
    """The least of the values that occur most often."""
    return min(values, key=lambda v: (-values.count(v), v))


#: Aggregates that the interpreter alone has, over values without NULLs, of which there is one at least.
FURTHER: dict[str, Callable[[list[int]], Value]] = {
    "median": statistics.median,
    "mode": seldom,
    "count distinct": lambda v: len(set(v)),
    "sum distinct": lambda v: sum(set(v)),
    "avg distinct": lambda v: sum(set(v)) / len(set(v)),
    "span": lambda v: max(v) - min(v),
    "try_sum": sum,
}
#: Those that take NULLs as values.
PICKED = {"first_value": 0, "last_value": -1}
VALUES = st.lists(st.one_of(st.none(), st.integers(-2, 3)), max_size=6)


def slots(names: tuple[str, ...]) -> st.SearchStrategy[tuple[ConditionSlot, frozenset[str]]]:
    """A slot and the variables of its register."""
    registers = st.sets(st.sampled_from(names), min_size=1).map(frozenset)
    navigation = st.builds(
        lambda first, logical, physical: NavigationSlot(0, first, logical, physical, 0),
        st.booleans(),
        st.integers(0, 1),
        st.integers(-1, 1),
    )
    aggregate = st.sampled_from(["count", "sum", "min", "max", "avg"]).map(
        lambda f: AggregateSlot(f, 0, (RowValue(0),))
    )
    return st.tuples(st.one_of(navigation, aggregate, st.just(NumberSlot())), registers)


@st.composite
def further_aggregates(draw: st.DrawFn, name: str = "") -> tuple[ConditionSlot, frozenset[str]]:
    """One of :data:`FURTHER` and :data:`PICKED`, by default any, also without the last row, or of some rows only."""
    function, *distinct = (name or draw(st.sampled_from([*FURTHER, *PICKED, "count", "max"]))).split()
    keep = draw(st.one_of(st.none(), st.builds(_comparison, st.sampled_from(["<", ">", "<>"]), st.integers(-1, 2))))
    before = draw(st.booleans())
    own = OwnAggregate("span", "bigint", pickle.dumps(span)) if function == "span" else None
    slot = AggregateSlot(function, 0, (RowValue(0),), bool(distinct), keep, before, own)
    # Without the last row is without the tested one, which is then of the aggregate's variables.
    return slot, frozenset(NAMES) if before else draw(st.sets(st.sampled_from(NAMES), min_size=1).map(frozenset))


def _comparison(operator: str, value: int) -> Expression:
    return Call(operator, (RowValue(0), Constant(value, INT)))


def conditions(slot_count: int) -> st.SearchStrategy[Expression]:
    numbers = st.one_of(st.integers(0, slot_count - 1).map(Load), st.integers(-2, 3).map(lambda v: Constant(v, INT)))
    sums = st.builds(lambda op, a, b: Call(op, (a, b)), st.sampled_from(["+", "-", "*"]), numbers, numbers)
    operands = st.one_of(numbers, sums)
    tests = st.builds(
        lambda op, a, b: Call(op, (a, b)), st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"]), operands, operands
    )
    tests = st.one_of(tests, operands.map(lambda a: Call("isnull", (a,))))
    return st.recursive(
        tests,
        lambda inner: st.one_of(
            st.builds(lambda op, a, b: Call(op, (a, b)), st.sampled_from(["and", "or"]), inner, inner),
            inner.map(lambda a: Call("not", (a,))),
        ),
        max_leaves=3,
    )


@st.composite
def condition_sets(draw: st.DrawFn, pattern: Pattern) -> ConditionSet:
    """Conditions of a pattern's variables over a BIGINT column; each slot has a register of its own."""
    drawn = draw(st.lists(slots(NAMES), min_size=1, max_size=3))
    chosen = draw(st.dictionaries(st.sampled_from(variables(pattern)), conditions(len(drawn)), max_size=2))
    labels = compile_pattern(pattern).names
    registers = tuple(frozenset(labels.index(n) for n in of if n in labels) for _, of in drawn)
    of_slots = tuple(
        slot
        if isinstance(slot, NumberSlot)
        else type(slot)(k, *(getattr(slot, f) for f in slot.__slots__[1:]))
        if isinstance(slot, NavigationSlot)
        else type(slot)(slot.function, k, slot.arguments)
        for k, (slot, _) in enumerate(drawn)
    )
    return ConditionSet({labels.index(name): node for name, node in chosen.items()}, of_slots, (BIGINT,), registers)


def plain_slot(slot: ConditionSlot, of: frozenset[str], path: Path, values: list[int | None], number: int) -> Any:
    """A slot's value, straight from its definition."""
    if isinstance(slot, NumberSlot):
        return number
    seen = [row for name, row, _ in path if name in of]
    if isinstance(slot, NavigationSlot):
        ordered = seen if slot.from_first else seen[::-1]
        if slot.logical >= len(ordered):
            return None
        row = ordered[slot.logical] + slot.physical
        return values[row] if 0 <= row < len(values) else None
    taken = [values[r] for r in (seen[:-1] if slot.before else seen)]
    if slot.filter is not None:
        assert isinstance(slot.filter, Call) and isinstance(slot.filter.arguments[1], Constant)
        bound, name = slot.filter.arguments[1].value, slot.filter.name
        taken = [v for v in taken if v is not None and (v != bound if name == "<>" else eval_order(name, v, bound))]
    if slot.function in PICKED:
        return taken[PICKED[slot.function]] if taken else None
    known = [v for v in taken if v is not None]
    name = slot.function + " distinct" * slot.distinct
    if slot.function == "count":
        return FURTHER[name](known) if slot.distinct else len(known)
    functions = FURTHER | {"sum": sum, "min": min, "max": max, "avg": lambda v: sum(v) / len(v)}
    return functions[name](known) if known else None


def plain_value(node: Expression, loads: list[Any]) -> Any:
    """Three-valued logic and arithmetic over Python values."""
    if isinstance(node, Constant):
        return node.value
    if isinstance(node, Load):
        return loads[node.slot]
    assert isinstance(node, Call)
    a, *rest = (plain_value(x, loads) for x in node.arguments)
    b = rest[0] if rest else None
    if node.name == "isnull":
        return a is None
    if node.name == "not":
        return None if a is None else not a
    if node.name == "and":
        return False if a is False or b is False else (None if a is None or b is None else True)
    if node.name == "or":
        return True if a is True or b is True else (None if a is None or b is None else False)
    if node.name == "<=>":
        return a == b
    if a is None or b is None:
        return None
    results = {"+": a + b, "-": a - b, "*": a * b, "=": a == b, "<>": a != b}
    return results[node.name] if node.name in results else eval_order(node.name, a, b)


def eval_order(name: str, a: int, b: int) -> bool:
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[name]


A, B, C = map(Variable, NAMES)
SOME, ANY = (1, None), (0, None)
#: Shapes in which conditions decide much: long runs, choices, give-backs.
SHAPES: tuple[Pattern, ...] = (
    Quantified(A, *SOME),
    Concatenation((A, Quantified(B, *SOME))),
    Concatenation((Quantified(A, *SOME), Quantified(B, *SOME))),
    Concatenation((A, Quantified(B, *ANY, False), C)),
    Quantified(Alternation((A, B)), *SOME),
    Concatenation((Quantified(Alternation((A, B, C)), *ANY), A)),
)
LONG_VALUES = st.lists(st.integers(-2, 4), min_size=3, max_size=9)


@given(st.sampled_from(SHAPES), LONG_VALUES, st.data())
def test_shapes(pattern: Pattern, values: list[int | None], data: st.DataObject) -> None:
    names = variables(pattern)
    drawn = data.draw(st.lists(slots(names), min_size=2, max_size=2))
    drawn.append((NavigationSlot(0, False, 0, 0, 0), frozenset(NAMES)))  # the tested row itself
    order = st.builds(
        lambda op, a, b: Call(op, (Load(a), b)),
        st.sampled_from(["<", "<=", ">=", "=", "<>"]),
        st.integers(0, 2),
        st.one_of(st.just(Load(2)), st.integers(0, 2).map(lambda v: Constant(v, INT))),
    )
    chosen = {name: data.draw(order) for name in names}
    check(pattern, values, SkipMode.PAST_LAST_ROW, drawn, chosen)


@given(patterns(), VALUES, st.sampled_from([SkipMode.PAST_LAST_ROW, SkipMode.TO_NEXT_ROW]), st.data())
def test_matches(pattern: Pattern, values: list[int | None], skip: SkipMode, data: st.DataObject) -> None:
    names = variables(pattern)
    if not names:
        return
    drawn = data.draw(st.lists(slots(NAMES), min_size=1, max_size=3))
    chosen = data.draw(st.dictionaries(st.sampled_from(names), conditions(len(drawn)), max_size=2))
    check(pattern, values, skip, drawn, chosen)


@pytest.mark.parametrize("function", every(3, [*FURTHER, *PICKED]))
@given(
    pattern=st.sampled_from(SHAPES),
    values=st.lists(st.sampled_from([None, *range(-2, 5)]), min_size=3, max_size=9),
    data=st.data(),
)
def test_further_aggregates(function: str, pattern: Pattern, values: list[int | None], data: st.DataObject) -> None:
    """Aggregates that the kernel does not keep, a user's own among them, beside the tested row's value."""
    names = variables(pattern)
    drawn = [data.draw(further_aggregates(function)), data.draw(further_aggregates())]
    drawn.append((NavigationSlot(0, False, 0, 0, 0), frozenset(NAMES)))  # the tested row itself
    compared = st.builds(
        lambda op, a, b: Call(op, (Load(a), b)),
        st.sampled_from(["<", "<=", ">=", "=", "<>", "<=>"]),
        st.integers(0, 1),
        st.one_of(st.just(Load(2)), st.integers(0, 2).map(lambda v: Constant(v, INT))),
    )
    unknown = st.integers(0, 1).map(lambda a: Call("isnull", (Load(a),)))
    tests = st.one_of(compared, st.builds(lambda a, b: Call("or", (a, b)), compared, st.one_of(compared, unknown)))
    chosen = {name: data.draw(tests) for name in names}
    check(pattern, values, SkipMode.TO_NEXT_ROW, drawn, chosen, chosen)


@given(st.one_of(st.sampled_from(SHAPES), patterns()), VALUES, st.data())
def test_lambda_functions(pattern: Pattern, values: list[int | None], data: st.DataObject) -> None:
    names = variables(pattern)
    if not names:
        return
    drawn = data.draw(st.lists(slots(NAMES), min_size=1, max_size=3))
    tests = st.dictionaries(st.sampled_from(names), lambda_tests(len(drawn)), min_size=1, max_size=2)
    both = data.draw(tests)
    plain, asked = ({name: of[k] for name, of in both.items()} for k in (1, 0))
    check(pattern, values, SkipMode.TO_NEXT_ROW, drawn, plain, asked)


@given(st.one_of(st.sampled_from(SHAPES), patterns()), VALUES, st.sampled_from(sorted(UNITS)), st.data())
def test_times_in_lambda_functions(pattern: Pattern, values: list[int | None], kind: str, data: st.DataObject) -> None:
    names = variables(pattern)
    if not names:
        return
    drawn = [data.draw(slots(NAMES).filter(lambda of: isinstance(of[0], NavigationSlot))) for _ in range(2)]
    zone = data.draw(st.sampled_from(["UTC", "+05:30", "America/New_York"]))
    both = data.draw(st.dictionaries(st.sampled_from(names), time_tests(2, kind, zone), min_size=1, max_size=2))
    plain, asked = ({name: of[k] for name, of in both.items()} for k in (1, 0))
    unit, first = UNITS[kind]
    types = {"timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"), "date": pa.date32()}
    column = pa.array([None if v is None else first + v * unit for v in values], types[kind])
    check(pattern, values, SkipMode.TO_NEXT_ROW, drawn, plain, asked, (Type(kind), column))


def check(
    pattern: Pattern,
    values: list[int | None],
    skip: SkipMode,
    drawn: list[tuple[ConditionSlot, frozenset[str]]],
    chosen: dict[str, Expression],
    asked: dict[str, Expression] | None = None,
    held: tuple[Type, pa.Array] | None = None,
) -> None:
    """Kernel, interpreter and reference agree.

    ``asked``: what the reference knows by the tests of ``chosen``. ``held``: what stands for ``values`` there.
    """
    labels = compile_pattern(pattern).names
    registers = tuple(frozenset(labels.index(n) for n in of if n in labels) for _, of in drawn)
    of_slots = tuple(
        replace(slot, register=k) if not isinstance(slot, NumberSlot) else slot for k, (slot, _) in enumerate(drawn)
    )

    def condition(node: Expression):
        def holds(path: Path, number: int) -> bool:
            loads = [plain_slot(slot, of, path, values, number) for slot, of in drawn]
            return plain_value(node, loads) is True

        return holds

    reference = {name: condition(node) for name, node in chosen.items()}
    expected = as_tuples(reference_matches(pattern, len(values), reference, skip))
    type_, column = held or (BIGINT, pa.array(values, pa.int64()))
    rows = batch([0] * len(values), [column])
    dependent = ConditionSet(
        {labels.index(name): node for name, node in (asked or chosen).items()}, of_slots, (type_,), registers
    )
    spec = make_spec(pattern, {}, skip=skip, conditions=dependent)
    for calls_back in (CallsBack.WHERE_NEEDED, CallsBack.ALWAYS):
        assert found_matches(spec, rows, calls_back) == expected
        for capacity in (1, 1024):
            assert read_matches(spec, remembering(spec, capacity, calls_back).match(rows)) == expected
