"""Partitions matched in pieces give what whole partitions give."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.errors import SparkCepError
from sparkcep.exec.batch import NOTHING_REACHED
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.rows.matcher import Batch, Matcher, Resume
from sparkcep.exec.engines.rows.program import compile_pattern
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.kernels.rows import rows as kernel
from sparkcep.exec.shape import OutputSlot
from sparkcep.expr.nodes import Call, Constant, Load, NavigationSlot
from sparkcep.expr.types import BIGINT, INT
from sparkcep.pattern import Concatenation, Pattern, Quantified, Variable, variables
from sparkcep.query import RowsPerMatch, SkipMode

from .helpers import make_spec
from .strategies import patterns
from .test_conditions_equal_reference import SHAPES, condition_sets

#: WITHIN's key of the last row of a log whose partitions' ends decide nothing.
LOG_END = 6
UNDECIDED = st.sampled_from([kernel.DECIDED_BY_END, kernel.MATCHING_OVER, kernel.PASSED_OVER])

Row = tuple[int, int | None, int, int | None]  # mask, value, WITHIN's key and bound


def to_batch(parts: Sequence[Sequence[Row]], spec: MatchSpec) -> Batch:
    rows = [row for part in parts for row in part]
    masks, values, keys, bounds = (pa.array([row[k] for row in rows], pa.int64()) for k in range(4))
    offsets = np.cumsum([0, *map(len, parts)])
    reached = LOG_END - 1 if spec.undecided else NOTHING_REACHED
    return Batch(offsets, [masks], [values], (keys, bounds) if spec.use_within else None, reached=reached)


def shifted(table: np.ndarray, spec: MatchSpec, first_row: np.ndarray, partition: int) -> list[list[int]]:
    """Output rows with rows counted from the partition's start and partitions from the stream's."""
    table = table.copy()
    places = [kernel.SELF, kernel.CURRENT] + [kernel.FIXED + k for k, s in enumerate(spec.slots) if not s.label]
    for place in places:
        table[:, place] += np.where(table[:, place] >= 0, first_row[table[:, kernel.PARTITION]], 0)
    table[:, kernel.PARTITION] += partition
    return table.tolist()


def whole(spec: MatchSpec, parts: Sequence[Sequence[Row]]) -> Any:
    try:
        return Matcher(spec).match(to_batch(parts, spec)).tolist()
    except SparkCepError as error:
        return error.getCondition()


def in_pieces(spec: MatchSpec, parts: Sequence[Sequence[Row]], cuts: Sequence[int]) -> Any:
    """Feed a stream of partitions in chunks of rows; what is left of a partition goes before the next chunk."""
    matcher = Matcher(spec)
    where = [(q, row) for q, part in enumerate(parts) for row in part]
    borders = sorted({0, len(where), *(c for c in cuts if c <= len(where))})
    found: list[list[int]] = []
    kept: list[tuple[int, Row]] = []
    resume: Resume | None = None
    for low, high in pairwise(borders):
        chunk = kept + where[low:high]
        numbers = sorted({q for q, _ in chunk} | ({where[low - 1][0]} if resume else set()))
        pieces = [[row for p, row in chunk if p == q] for q in numbers]
        # A reader does not know whether a partition goes on until it sees the next one; nothing may be left of it.
        first_row = np.zeros(len(numbers), np.int64)
        first_row[0] = resume.first_row if resume else 0
        try:
            table, resume = matcher.match_piece(to_batch(pieces, spec), resume, more=True)
        except SparkCepError as error:
            return error.getCondition()
        assert resume is not None
        found += shifted(table, spec, first_row, numbers[0])
        kept = [(numbers[-1], row) for row in pieces[-1][resume.drop :]]
    if resume is not None:
        last = where[-1][0]
        try:
            table, left = matcher.match_piece(to_batch([[row for _, row in kept]], spec), resume)
        except SparkCepError as error:
            return error.getCondition()
        assert left is None
        found += shifted(table, spec, np.array([resume.first_row]), last)
    return found


def same(spec: MatchSpec, parts: Sequence[Sequence[Row]], cuts: Sequence[int]) -> None:
    parts = [part for part in parts if part]
    expected, found = whole(spec, parts), in_pieces(spec, parts, cuts)
    assert found == expected


@st.composite
def streams(draw: st.DrawFn) -> list[list[Row]]:
    """A few partitions; WITHIN's keys ascend in each, its bounds need not."""
    parts = []
    for _ in range(draw(st.integers(1, 3))):
        rows, key = [], 0
        for _ in range(draw(st.integers(0, 8))):
            key += draw(st.integers(0, 2))
            reach = draw(st.one_of(st.none(), st.integers(0, 5)))
            value = draw(st.one_of(st.none(), st.integers(-2, 3)))
            rows.append((draw(st.integers(0, 3)), value, key, None if reach is None else key + reach))
        parts.append(rows)
    return parts


CUTS = st.lists(st.integers(1, 23), max_size=6)
MODES = st.sampled_from(list(RowsPerMatch))
output_slots = st.builds(
    OutputSlot,
    st.integers(0, 1),
    st.booleans(),
    st.integers(0, 1),
    st.integers(-2, 2),
    st.booleans(),
    st.booleans(),
)


@given(patterns(), streams(), CUTS, MODES, st.sampled_from(list(SkipMode)), st.booleans(), st.data())
def test_masks(pattern: Pattern, parts, cuts, mode, skip: SkipMode, use_within: bool, data: st.DataObject) -> None:
    """Every pattern, skip mode, output mode and slot, without conditions that depend on the match."""
    names = compile_pattern(pattern).names
    chosen = tuple(data.draw(st.lists(output_slots, max_size=2)))
    target = data.draw(st.sampled_from(names or ("A",)))
    spec = make_spec(
        pattern, {"A": 0, "B": 1}, use_within=use_within, rows_per_match=mode, skip=skip,
        skip_labels=frozenset(k for k, n in enumerate(names) if n == target), slots=chosen,
        slot_registers=(frozenset([0]), frozenset(range(len(names)))), undecided=data.draw(UNDECIDED),
    )  # fmt: skip
    same(spec, parts, cuts)


@pytest.mark.parametrize("called_back", [False, True])
@given(st.one_of(patterns(), st.sampled_from(SHAPES)), streams(), CUTS, MODES, st.booleans(), st.data())
def test_dependent_conditions(called_back: bool, pattern, parts, cuts, mode, use_within: bool, data) -> None:
    """Conditions that look back, ahead and at MATCH_NUMBER(), in the kernel and in the interpreter."""
    names = variables(pattern)
    if not names:
        return
    dependent = data.draw(condition_sets(pattern))
    skip = data.draw(st.sampled_from([SkipMode.PAST_LAST_ROW, SkipMode.TO_NEXT_ROW]))
    spec = make_spec(
        pattern, {"A": 0}, use_within=use_within, rows_per_match=mode, skip=skip, conditions=dependent,
        undecided=data.draw(UNDECIDED),
    )  # fmt: skip
    same(spec, parts, cuts)


@given(patterns(), streams(), CUTS, st.integers(1, 12), st.integers(1, 12))
def test_limits_count_per_partition(pattern: Pattern, parts, cuts, steps: int, rows: int) -> None:
    mode = RowsPerMatch.ALL_WITH_UNMATCHED
    spec = make_spec(pattern, {"A": 0, "B": 1}, limit_steps=steps, limit_rows=rows, rows_per_match=mode)
    same(spec, parts, cuts)


A, B = Variable("A"), Variable("B")


@pytest.mark.compiled
def test_memory_is_bounded() -> None:
    """Matches of ten rows in a partition of 100,000: little is kept, whatever the partition's length."""
    spec = make_spec(Concatenation((A, Quantified(B, 1, None))), {"A": 0, "B": 1})
    matcher, resume, kept, matches = Matcher(spec), None, [], 0
    piece = [(1 if k % 10 == 0 else 2, 0, 0, 0) for k in range(1000)]
    for _ in range(100):
        table, resume = matcher.match_piece(to_batch([kept + piece], spec), resume, more=True)
        kept = (kept + piece)[resume.drop :]
        matches += len(set(table[:, kernel.NUMBER].tolist()))
        assert len(kept) <= 10
    assert (matches, resume.matches, resume.first_row) == (9_999, 9_999, 99_990)


def test_within_closes_the_open_end() -> None:
    """Once the last row is out of reach, a start is decided though its pattern could go on."""
    spec = make_spec(Concatenation((A, Quantified(B, 1, None), Variable("C"))), {"C": 0}, use_within=True)
    rows = [(0, 0, k, k + 3) for k in range(10)]
    table, resume = Matcher(spec).match_piece(to_batch([rows], spec), more=True)
    assert len(table) == 0
    assert (resume.row + resume.drop, resume.first_row) == (6, 6)


def test_an_error_that_the_end_prevents() -> None:
    """`A+ $` never tests its condition on a row from which the end is out of reach; before that, nobody knows."""
    fails = Call("=", (Call("/", (Constant(1, INT), Load(0))), Constant(1, INT)))
    slot = NavigationSlot(0, False, 0, 0, 0)
    dependent = ConditionSet({0: fails}, (slot,), (BIGINT,), (frozenset([0, 1]),))
    for calls_back in (CallsBack.NEVER, CallsBack.ALWAYS):
        spec = make_spec(Concatenation((A, B)), {"B": 0}, conditions=dependent)
        zero, one = (0, 0, 0, 0), (1, 1, 0, 0)
        matcher = Matcher(spec, calls_back)
        table, resume = matcher.match_piece(to_batch([[zero]], spec), more=True)
        assert (len(table), resume.row) == (0, 0)
        assert len(matcher.match_piece(to_batch([[zero, zero]], spec), resume)[0]) == 0
        with pytest.raises(SparkCepError, match="DIVIDE_BY_ZERO"):
            matcher.match_piece(to_batch([[zero, one]], spec), resume)


def test_no_partition_to_go_on_with() -> None:
    with pytest.raises(ValueError, match="no partition"):
        Matcher(make_spec(A, {})).match_piece(Batch(np.array([0]), [pa.array([], pa.int64())]), more=True)
