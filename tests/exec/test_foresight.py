"""A search that would take many times its limit of steps is given up after some of them; no other is changed."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sparkcep.errors import LimitError
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.engines.rows import foresight, matcher
from sparkcep.exec.engines.rows.matcher import Batch, Matcher
from sparkcep.expr.nodes import Call, Load, NavigationSlot
from sparkcep.expr.types import BIGINT
from sparkcep.pattern import Concatenation, Pattern, Quantified, Variable
from sparkcep.query import SkipMode

from .helpers import batch, found_matches, make_spec
from .strategies import NAMES, patterns

BITS = {name: k for k, name in enumerate(NAMES)}
A, B = Variable("A"), Variable("B")
FIRST_A, NOW = NavigationSlot(0, True, 0, 0, 0), NavigationSlot(1, False, 0, 0, 0)


def tried(steps: int):
    """So many steps are taken before anything is estimated."""
    return mock.patch.multiple(foresight, TRIED_STEPS=steps), mock.patch.object(matcher, "TRIED_STEPS", steps)


def found_with(steps: int, spec, data: Batch):
    one, other = tried(steps)
    with one, other:
        return found_matches(spec, data)


@given(patterns(), st.lists(st.sampled_from([1, 2, 3, 5, 7, 0]), max_size=9), st.integers(1, 100))
def test_answers_are_the_same(pattern: Pattern, masks: list[int], steps: int) -> None:
    spec = make_spec(pattern, BITS, skip=SkipMode.TO_NEXT_ROW)
    assert found_with(steps, spec, batch(masks)) == found_matches(spec, batch(masks))


@given(patterns(), st.lists(st.lists(st.sampled_from([1, 3, 7, 0]), max_size=12), min_size=2, max_size=4))
@example(Concatenation([Quantified(Variable("A"), 1, None), Variable("B")]), [[1] * 9 + [2], [0] * 12, [1, 2]])
def test_answers_of_the_partitions_behind_are_the_same(pattern: Pattern, partitions: list[list[int]]) -> None:
    spec = make_spec(pattern, BITS, skip=SkipMode.TO_NEXT_ROW)
    offsets = np.cumsum([0, *map(len, partitions)]).astype(np.int64)
    data = Batch(offsets, [pa.array([m for p in partitions for m in p], pa.int64())], [], None)
    expected = Matcher(spec).match(data).tolist()
    one, other = tried(32)
    with one, other:
        assert Matcher(spec).match(data).tolist() == expected


def smaller_than_first(**changes: object):
    """`PATTERN (A+ B+) DEFINE B AS B.id < FIRST(A.id)`, over rows whose ids grow."""
    some = [Quantified(v, 1, None) for v in (A, B)]
    smaller = Call("<", (Load(1), Load(0)))
    of_rows = ConditionSet({1: smaller}, (FIRST_A, NOW), (BIGINT,), (frozenset([0]), frozenset([0, 1])))
    return make_spec(Concatenation(some), {}, conditions=of_rows, **changes)


def growing(rows: int) -> Batch:
    return batch([0] * rows, [pa.array(range(rows))])


def test_a_hopeless_search_is_given_up() -> None:
    spec = smaller_than_first(limit_steps=200_000)
    with pytest.raises(LimitError, match=r"would take about [2-9]e\+06 steps, by 16 trials from row \d+ on") as refused:
        found_with(1_000, spec, growing(2_000))
    assert refused.value.error_class == "CEP_STEP_LIMIT"
    assert "spark.sparkcep.limit.steps" in str(refused.value)


def test_one_that_may_end_goes_on() -> None:
    """It takes more steps than are tried, and fewer than its limit allows."""
    assert found_with(1_000, smaller_than_first(), growing(200)) == []


def test_a_match_of_all_rows_is_no_hopeless_search() -> None:
    """Its one start row takes more steps than are tried."""
    rows = 3_000
    data = batch([0] * rows, [pa.array([*range(5, rows + 4), 0])])
    spec = smaller_than_first(limit_steps=4 * rows)
    ((number, start, taken),) = found_with(500, spec, data)
    assert (number, start, len(taken)) == (1, 0, rows)


def test_a_costly_start_says_nothing_of_the_rest() -> None:
    """A start row that is compared with many rows, in front of many that are compared with one."""
    rows = 400
    values = [*range(rows), *([0, 1] * 1_000)]
    spec = smaller_than_first(limit_steps=100_000)
    data = batch([0] * len(values), [pa.array(values)])
    assert found_with(2_000, spec, data) == found_matches(spec, data) != []
