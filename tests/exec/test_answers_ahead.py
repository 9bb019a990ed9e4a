"""Tests of two rows that are answered ahead, over logs that are long enough for it: as the compiled ones hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.errors import SparkCepError
from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.conditions.external import Foresight
from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.rows.matcher import Matcher
from sparkcep.exec.engines.rows.program import compile_pattern
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.expr.nodes import Call, Constant, Expression, Load, NavigationSlot
from sparkcep.expr.types import BIGINT, INT
from sparkcep.query import RowsPerMatch, SkipMode

from .lambda_conditions import lambda_tests
from .strategies import row_pattern

#: Of A, of the tested B, of the B before it, of the first B, and of the row before the tested one.
SLOTS = (
    NavigationSlot(0, False, 0, 0, 0), NavigationSlot(1, False, 0, 0, 0), NavigationSlot(1, False, 1, 0, 0),
    NavigationSlot(1, True, 0, 0, 0), NavigationSlot(1, False, 0, -1, 0),
)  # fmt: skip
A, B, BEFORE, FIRST, PREVIOUS = map(Load, range(len(SLOTS)))


def spec(pattern: str, test: Expression) -> MatchSpec:
    program = compile_pattern(row_pattern(pattern))
    a, b = (program.names.index(name) for name in "AB")
    conditions = ConditionSet({b: test}, SLOTS, (BIGINT,), (frozenset([a]), frozenset([b])))
    return MatchSpec(
        program, {}, 0, False, RowsPerMatch.ONE, SkipMode.TO_NEXT_ROW, frozenset(), "", (), (), False, conditions, True,
        10**9, 10**6,
    )  # fmt: skip


def batch(values: list[int | None], cuts: list[int]) -> Batch:
    offsets = np.array([0, *sorted(cuts), len(values)], np.int64)
    return Batch(offsets, (), (pa.array(values, pa.int64()),))


def order(other: Load) -> Expression:
    return Call(">=", (B, Call("-", (other, Constant(5, INT)))))


LOGS = st.lists(st.sampled_from([*range(9), None]), min_size=40, max_size=400)


@pytest.mark.compiled
@given(
    LOGS,
    st.lists(st.integers(0, 40), max_size=3),
    st.sampled_from(["A B+", "A B+ B", "A+ B+", "(A B)+ B"]),
    st.sampled_from([A, BEFORE, FIRST, PREVIOUS, B]),
)
def test_as_compiled(values: list[int | None], cuts: list[int], pattern: str, other: Load) -> None:
    rows, asked = batch(values, cuts), spec(pattern, order(other))
    compiled, called = (Matcher(asked, c).match(rows) for c in (CallsBack.NEVER, CallsBack.ALWAYS))
    assert called.tolist() == compiled.tolist()


@pytest.mark.compiled
@given(
    LOGS,
    st.lists(st.integers(0, 40), max_size=3),
    st.sampled_from(["A B+", "A+ B+", "(A B)+ B"]),
    lambda_tests(2),
    st.permutations([A, BEFORE, FIRST, PREVIOUS, B]),
)
def test_lambda_functions(
    values: list[int | None], cuts: list[int], pattern: str, both: tuple[Expression, Expression], of: list[Load]
) -> None:
    rows = batch(values, cuts)
    compiled = Matcher(spec(pattern, placed(both[1], of)), CallsBack.WHERE_NEEDED).match(rows)
    called = Matcher(spec(pattern, placed(both[0], of)), CallsBack.ALWAYS).match(rows)
    assert called.tolist() == compiled.tolist()


def placed(node: Expression, of: list[Load]) -> Expression:
    """A tree over other slots."""
    if isinstance(node, Load):
        return of[node.slot]
    return replace(node, arguments=tuple(placed(a, of) for a in node.arguments)) if isinstance(node, Call) else node


def test_what_nobody_asks_for_may_fail() -> None:
    """The division by zero lies behind the row at which the search ends."""
    test = Call(">", (Call("div", (A, B)), Constant(0, INT)))
    rows = batch([100, *[1] * 50, 1000, 0], [])
    matcher = Matcher(spec("A B+", test), CallsBack.ALWAYS)
    assert Matcher(spec("A B+", test), CallsBack.NEVER).match(batch([100, *[1] * 50, 1000], [])).tolist()
    assert matcher.match(batch([100, *[1] * 50, 1000], [])).tolist()
    with pytest.raises(SparkCepError, match="DIVIDE_BY_ZERO"):
        matcher.match(rows)


def test_most_answers_take_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    answer = Foresight.answer

    def counted(*arguments: object) -> int | None:
        nonlocal calls
        calls += 1
        return answer(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Foresight, "answer", counted)
    Matcher(spec("A B+", order(A)), CallsBack.ALWAYS).match(batch([1] * 60, []))
    assert 0 < calls < 60 * 60 / 2 / 10
