"""A search does not try a state again that has failed, and is exact about which states are the same."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.exec.conditions.compiler import compile_conditions
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.conditions.lookback import Lookback
from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.rows.matcher import Batch, Matcher
from sparkcep.exec.engines.rows.program import compile_pattern
from sparkcep.exec.kernels.rows import memo
from sparkcep.expr.nodes import LABEL_COLUMN, AggregateSlot, Call, Constant, Load, NavigationSlot, RowValue
from sparkcep.expr.types import BIGINT, INT, STRING
from sparkcep.pattern import Alternation, Concatenation, Pattern, Quantified, Variable
from sparkcep.query import SkipMode

from .helpers import as_tuples, batch, make_spec, read_matches, remembering
from .reference_rows import reference_matches

A, B, C, D = map(Variable, "ABCD")
SUM_A = AggregateSlot("sum", 0, (RowValue(0),))
LAST_A, FIRST_A = NavigationSlot(0, False, 0, 0, 0), NavigationSlot(0, True, 0, 0, 0)
NOW = NavigationSlot(1, False, 0, 0, 0)


def plus(item: Pattern) -> Pattern:
    return Quantified(item, 1, None)


def dependent(pattern: Pattern, conditions: dict[str, Call], slots) -> ConditionSet:
    """Register 0 is A, register 1 everything; Load(0) and so on are the slots."""
    names = compile_pattern(pattern).names
    registers = (frozenset([names.index("A")]), frozenset(range(len(names))))
    return ConditionSet({names.index(v): c for v, c in conditions.items()}, slots, (BIGINT,), registers)


ROWS = 60
#: Each has more than 2**40 ways to be taken, none of which D ends.
HOPELESS = {
    "sum": (Concatenation((plus(Alternation((A, B))), D)), SUM_A),
    "last": (Concatenation((plus(Alternation((A, B))), D)), LAST_A),
    "first": (Concatenation((plus(B), plus(Alternation((A, B, C))), D)), FIRST_A),
    "runs": (Concatenation((plus(Concatenation((plus(A), plus(B)))), plus(C), D)), LAST_A),
}


@pytest.mark.compiled
@pytest.mark.parametrize(("pattern", "slot"), HOPELESS.values(), ids=HOPELESS.keys())
@pytest.mark.parametrize("skip", [SkipMode.PAST_LAST_ROW, SkipMode.TO_NEXT_ROW])
def test_more_than_a_trillion_ways(pattern: Pattern, slot, skip: SkipMode) -> None:
    never = Call(">", (Load(1), Call("+", (Load(0), Constant(10**6, INT)))))
    spec = make_spec(pattern, {}, conditions=dependent(pattern, {"D": never}, (slot, NOW)), skip=skip)
    values = pa.array((np.arange(ROWS) % 5).tolist())
    matcher = Matcher(spec)  # the step limit of make_spec is 10**7
    start = time.process_time()
    assert len(matcher.match(batch([0] * ROWS, [values]))) == 0
    assert time.process_time() - start < 20  # with compiling


def test_called_back_conditions_merge_by_rows() -> None:
    """2**60 ways again, for a condition that only the interpreter takes."""
    pattern, slot = HOPELESS["last"]
    never = Call(">", (Load(1), Call("+", (Load(0), Constant(10**6, INT)))))
    spec = make_spec(pattern, {}, conditions=dependent(pattern, {"D": never}, (slot, NOW)))
    values = pa.array((np.arange(ROWS) % 5).tolist())
    assert len(Matcher(spec, CallsBack.ALWAYS).match(batch([0] * ROWS, [values]))) == 0


def test_labels_are_part_of_the_state() -> None:
    """C wants the row before it to be B's; a state in which it is A's has failed at the same row and position."""
    pattern = Concatenation((plus(Alternation((A, B))), D, C))
    names = compile_pattern(pattern).names
    label = NavigationSlot(0, False, 0, -2, LABEL_COLUMN)
    conditions = ConditionSet(
        {names.index("C"): Call("=", (Load(0), Constant("B", STRING)))},
        (label,), (), (frozenset(range(len(names))),),
    )  # fmt: skip
    spec = make_spec(pattern, {}, conditions=conditions)
    found = read_matches(spec, remembering(spec, 1024).match(batch([0] * 5)))
    assert ["".join(v for v, _, _ in path) for _, _, path in found] == ["AABDC"]


def test_states_of_other_partitions_and_calls_do_not_count() -> None:
    """The same rows, positions and look-backs, but other values."""
    pattern = Concatenation((plus(Alternation((A, B))), D))
    spec = make_spec(pattern, {}, conditions=dependent(pattern, {"D": Call(">", (Load(1), Load(0)))}, (LAST_A, NOW)))
    matcher = remembering(spec, 64)
    down, up = [5, 4, 3, 2], [5, 4, 3, 7]
    for values in (down, up, down):
        found = read_matches(spec, matcher.match(batch([0] * 4, [pa.array(values)])))
        assert len(found) == (values == up)
    both = Batch(np.array([0, 4, 8, 12]), [pa.array([0] * 12)], [pa.array(down + up + down)])
    assert set(matcher.match(both)[:, 0].tolist()) == {1}


@given(st.lists(st.integers(0, 3), max_size=8), st.lists(st.integers(0, 5), min_size=8, max_size=8))
def test_within(values: list[int], reaches: list[int]) -> None:
    """A state that failed for want of time may succeed from a later start, or a later bound."""
    pattern = Concatenation((plus(Alternation((A, B))), D))
    condition = {"D": Call(">", (Load(1), Load(0)))}
    spec = make_spec(pattern, {}, conditions=dependent(pattern, condition, (SUM_A, NOW)), use_within=True)
    bounds = [k + reach for k, reach in zip(range(len(values)), reaches, strict=False)]

    def holds(path, _) -> bool:
        taken = [values[row] for name, row, _ in path if name == "A"]
        return bool(taken) and values[path[-1][1]] > sum(taken)

    expected = reference_matches(pattern, len(values), {"D": holds}, within=lambda a, b: b <= bounds[a])
    times = pa.array(range(len(values)), pa.int64()), pa.array(bounds, pa.int64())
    data = batch([0] * len(values), [pa.array(values, pa.int64())], times)
    for capacity in (1, 1024):
        assert read_matches(spec, remembering(spec, capacity).match(data)) == as_tuples(expected)


def signatures(pattern: Pattern, conditions: dict[str, Call], slots) -> dict[str, list[tuple[int, int, int]]]:
    program = compile_pattern(pattern)
    found = dependent(pattern, conditions, slots)
    lists = Lookback(program, compile_conditions(found, True), found.registers).signature
    return {program.names[label]: lists.items[lists.low[p] : lists.high[p]] for p, label in enumerate(program.labels)}


def test_signature_holds_what_can_still_be_read() -> None:
    """In `A+ B C`, LAST(A) read by B matters after A only, where another A would replace it."""
    pattern = Concatenation((plus(A), B, C))
    assert signatures(pattern, {"B": Call(">", (Load(1), Load(0)))}, (LAST_A, NOW)) == {
        "A": [(memo.LAST_ROW, 0, 0)],
        "B": [],
        "C": [],
    }
    before = NavigationSlot(0, False, 1, 0, 0)  # A's condition on LAST(A, 1) looks back one row of A
    assert signatures(pattern, {"A": Call(">", (Load(1), Load(0)))}, (before, NOW)) == {
        "A": [(memo.LAST_ROW, 0, 0)],
        "B": [],
        "C": [],
    }
    assert signatures(pattern, {"C": Call(">", (Load(1), Load(0)))}, (SUM_A, NOW)) == {
        "A": [(memo.AGGREGATE_COUNT, 0, 0), (memo.AGGREGATE_VALUE, 0, 0)],
        "B": [(memo.AGGREGATE_COUNT, 0, 0), (memo.AGGREGATE_VALUE, 0, 0)],
        "C": [],
    }
