"""The rows kernel gives the reference's matches: random patterns, masks, skips and WITHIN."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.exec.reference import reference_matches
from sparkcep.pattern import Pattern
from sparkcep.query import SkipMode

from .helpers import as_tuples, batch, found_matches, make_spec
from .strategies import NAMES, patterns

BITS = {name: k for k, name in enumerate(NAMES[:2])}  # C is always true
MASKS = st.lists(st.integers(0, 3), max_size=7)


def conditions_of(masks: list[int]):
    return {name: (lambda path, _, b=b: bool(masks[path[-1][1]] >> b & 1)) for name, b in BITS.items()}


@given(patterns(), MASKS, st.sampled_from([SkipMode.PAST_LAST_ROW, SkipMode.TO_NEXT_ROW]))
def test_matches(pattern: Pattern, masks: list[int], skip: SkipMode) -> None:
    expected = reference_matches(pattern, len(masks), conditions_of(masks), skip)
    assert found_matches(make_spec(pattern, BITS, skip=skip), batch(masks)) == as_tuples(expected)


@given(patterns(), MASKS, st.integers(0, 3), st.data())
def test_within(pattern: Pattern, masks: list[int], reach: int, data: st.DataObject) -> None:
    steps = data.draw(st.lists(st.integers(0, 2), min_size=len(masks), max_size=len(masks)))
    times = np.cumsum(np.array(steps, np.int64))
    expected = reference_matches(
        pattern, len(masks), conditions_of(masks), within=lambda a, b: times[b] <= times[a] + reach
    )
    keys = pa.array(times), pa.array(times + reach)
    spec = make_spec(pattern, BITS, use_within=True)
    assert found_matches(spec, batch(masks, within=keys)) == as_tuples(expected)


@given(patterns(anchors=False), MASKS, st.sampled_from([SkipMode.TO_FIRST, SkipMode.TO_LAST]), st.sampled_from(NAMES))
def test_skip_to_variable(pattern: Pattern, masks: list[int], skip: SkipMode, target: str) -> None:
    spec = make_spec(pattern, BITS, skip=skip)
    names = spec.program.names
    spec = make_spec(pattern, BITS, skip=skip, skip_labels=frozenset(k for k, n in enumerate(names) if n == target))
    try:
        expected = as_tuples(reference_matches(pattern, len(masks), conditions_of(masks), skip, (target,)))
    except ValueError as error:
        expected = str(error)
    try:
        found = found_matches(spec, batch(masks))
    except Exception as error:
        condition = error.getCondition()
        found = {"CEP_SKIP_TO_FIRST_ROW": "skip to first row", "CEP_SKIP_TARGET_ABSENT": "skip target absent"}[
            condition
        ]
    assert found == expected
