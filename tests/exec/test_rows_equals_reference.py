"""The rows kernel gives the reference's matches: random patterns, masks, skips and WITHIN."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from sparkcep.pattern import Pattern
from sparkcep.query import SkipMode

from .helpers import as_tuples, batch, found_matches, make_spec
from .reference_rows import reference_matches
from .strategies import NAMES, patterns, row_pattern

BITS = {name: k for k, name in enumerate(NAMES)}
#: A row's variables, each one in most rows: rows that fit several variables are where preference decides.
MASKS = st.lists(st.sampled_from([1, 2, 3, 4, 5, 6, 7, 3, 7, 0]), max_size=7)
#: Conditions of all variables, or of all but the last, which is always true then.
DEFINED = st.sampled_from([BITS, {name: BITS[name] for name in NAMES[:2]}])


def conditions_of(bits: dict[str, int], masks: list[int]):
    return {name: (lambda path, _, b=b: bool(masks[path[-1][1]] >> b & 1)) for name, b in bits.items()}


@given(patterns(), DEFINED, MASKS, st.sampled_from([SkipMode.PAST_LAST_ROW, SkipMode.TO_NEXT_ROW]))
@example(row_pattern("PERMUTE(A+, B, C)"), BITS, [1, 3, 4, 2], SkipMode.PAST_LAST_ROW)  # A B C, not A A C B
@example(row_pattern("PERMUTE(A, B C??, B)"), BITS, [2, 6, 1, 2], SkipMode.PAST_LAST_ROW)  # B C A B, not B B A
@example(row_pattern("PERMUTE(PERMUTE(A, B), B?, C)"), BITS, [1, 3, 3, 4], SkipMode.PAST_LAST_ROW)
def test_matches(pattern: Pattern, bits: dict[str, int], masks: list[int], skip: SkipMode) -> None:
    expected = reference_matches(pattern, len(masks), conditions_of(bits, masks), skip)
    assert found_matches(make_spec(pattern, bits, skip=skip), batch(masks)) == as_tuples(expected)


@given(patterns(), MASKS, st.data())
def test_within(pattern: Pattern, masks: list[int], data: st.DataObject) -> None:
    """The bound of a start row need not grow with its key: months, DST, an interval that is a column or NULL."""
    size = {"min_size": len(masks), "max_size": len(masks)}
    times = np.cumsum(np.array(data.draw(st.lists(st.integers(0, 2), **size)), np.int64))
    reaches = data.draw(st.lists(st.one_of(st.none(), st.integers(0, 4)), **size))
    bounds = [None if reach is None else int(t + reach) for t, reach in zip(times, reaches, strict=True)]

    def short_enough(first: int, last: int) -> bool:
        bound = bounds[first]
        return bound is not None and times[last] <= bound

    expected = reference_matches(pattern, len(masks), conditions_of(BITS, masks), within=short_enough)
    keys = pa.array(times), pa.array(bounds, pa.int64())
    spec = make_spec(pattern, BITS, use_within=True)
    assert found_matches(spec, batch(masks, within=keys)) == as_tuples(expected)


@given(patterns(anchors=False), MASKS, st.sampled_from([SkipMode.TO_FIRST, SkipMode.TO_LAST]), st.sampled_from(NAMES))
def test_skip_to_variable(pattern: Pattern, masks: list[int], skip: SkipMode, target: str) -> None:
    spec = make_spec(pattern, BITS, skip=skip)
    names = spec.program.names
    spec = make_spec(pattern, BITS, skip=skip, skip_labels=frozenset(k for k, n in enumerate(names) if n == target))
    try:
        expected = as_tuples(reference_matches(pattern, len(masks), conditions_of(BITS, masks), skip, (target,)))
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
