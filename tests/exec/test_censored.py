"""OMIT CENSORED MATCHES under strict contiguity: what is given stays, whatever rows follow; nothing else does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sparkcep.errors import SparkCepError
from sparkcep.exec.batch import NOTHING_REACHED, Batch
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.engines.rows.matcher import Matcher
from sparkcep.exec.engines.rows.program import AT_END
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.kernels.rows import rows as kernel
from sparkcep.exec.shape import OutputSlot
from sparkcep.expr.nodes import Call, Load, NavigationSlot, NumberSlot
from sparkcep.expr.types import BIGINT
from sparkcep.pattern import Alternation, Concatenation, Pattern, Quantified, Variable, variables
from sparkcep.query import RowsPerMatch, SkipMode

from .helpers import batch, make_spec, read_matches, remembering
from .strategies import patterns, row_pattern
from .test_conditions_equal_reference import SHAPES, condition_sets

A, B, C = Variable("A"), Variable("B"), Variable("C")
#: A row that every variable takes, and how many of them end any small pattern that can be ended.
ANY, ENDING = 3, 10

Row = tuple[int, int | None, int, int | None]  # mask, value, WITHIN's key and bound
Found = set[tuple[int, tuple[Any, ...]]]


def log(spec: MatchSpec, rows: Sequence[Row], log_end: int | None = None) -> Batch:
    """One partition of a log whose last row has this key; None: it is not known."""
    masks, values, keys, bounds = (pa.array([row[k] for row in rows], pa.int64()) for k in range(4))
    whole = batch(masks.to_pylist(), [values], (keys, bounds) if spec.use_within else None)
    return replace(whole, reached=NOTHING_REACHED if log_end is None else log_end - 1)


def matches(spec: MatchSpec, rows: Sequence[Row]) -> Found:
    """All matches where no rows follow, without their numbers."""
    return without_numbers(Matcher(replace(spec, undecided=kernel.DECIDED_BY_END)).match(log(spec, rows)), spec)


def uncensored(spec: MatchSpec, rows: Sequence[Row], log_end: int | None) -> Found:
    return without_numbers(Matcher(spec).match(log(spec, rows, log_end)), spec)


def without_numbers(table: Any, spec: MatchSpec) -> Found:
    return {match[1:] for match in read_matches(spec, table)}


def censoring(pattern: Pattern, skip: SkipMode, **changes: Any) -> MatchSpec:
    """A spec that leaves out censored matches; A and B have bits 0 and 1, C takes any row."""
    undecided = kernel.PASSED_OVER if skip is SkipMode.TO_NEXT_ROW else kernel.MATCHING_OVER
    return make_spec(pattern, {"A": 0, "B": 1}, skip=skip, undecided=undecided, **changes)


@st.composite
def logs(draw: st.DrawFn) -> tuple[list[Row], int]:
    """A partition whose keys and bounds ascend, and the key of the log's last row."""
    rows, key, reach = [], 0, draw(st.integers(0, 4))
    for _ in range(draw(st.integers(0, 7))):
        key += draw(st.integers(0, 2))
        rows.append((draw(st.integers(0, 3)), draw(st.one_of(st.none(), st.integers(-2, 3))), key, key + reach))
    return rows, key + draw(st.integers(0, 4))


def following(rows: Sequence[Row], log_end: int, masks: Sequence[int], values: Sequence[int | None]) -> list[Row]:
    """Rows that come later in order: not before the log's last one."""
    reach = rows[-1][3] - rows[-1][2] if rows else 0
    return [*rows, *((mask, value, log_end, log_end + reach) for mask, value in zip(masks, values, strict=True))]


SKIPS = st.sampled_from([SkipMode.PAST_LAST_ROW, SkipMode.TO_NEXT_ROW])
CONTINUATIONS = st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=6)


@given(patterns(), logs(), SKIPS, st.booleans(), CONTINUATIONS)
def test_masks(pattern: Pattern, given_log, skip: SkipMode, use_within: bool, continuations) -> None:
    """Uncensored matches stay in every continuation, and each censored one is gone in some: with rows that end every
    attempt that is under way."""
    rows, log_end = given_log
    spec = censoring(pattern, skip, use_within=use_within)
    assume(not (spec.program.edge_condition & AT_END).any())
    kept = uncensored(spec, rows, log_end)
    assert kept <= matches(spec, rows)
    for masks in continuations:
        assert kept <= matches(spec, following(rows, log_end, masks, [None] * len(masks)))
    stays = matches(spec, rows)
    for count in range(1, ENDING):
        stays &= matches(spec, following(rows, log_end, [ANY] * count, [None] * count))
    assert stays == kept


@pytest.mark.parametrize("called_back", [False, True])
@given(st.one_of(patterns(), st.sampled_from(SHAPES)), logs(), SKIPS, st.booleans(), CONTINUATIONS, st.data())
def test_dependent_conditions(called_back: bool, pattern, given_log, skip, use_within: bool, continuations, data):  # type: ignore[no-untyped-def]
    """Conditions that look back, ahead and at MATCH_NUMBER(), and values that are read behind the match."""
    rows, log_end = given_log
    assume(variables(pattern))
    dependent = data.draw(condition_sets(pattern))
    numbered = any(isinstance(slot, NumberSlot) for slot in dependent.slots)
    ahead = OutputSlot(0, False, 0, data.draw(st.integers(0, 2)), True, False)
    spec = censoring(
        pattern, skip, use_within=use_within, conditions=dependent, slots=(ahead,),
        slot_registers=(frozenset(range(len(variables(pattern)))),),
    )  # fmt: skip
    assume(not (spec.program.edge_condition & AT_END).any())
    if numbered:
        spec = replace(spec, undecided=kernel.MATCHING_OVER)
    try:
        kept = uncensored(spec, rows, log_end)
        assert remembered(spec, rows, log_end) == kept
        assert kept <= matches(spec, rows)
        for masks in continuations:
            values = [data.draw(st.one_of(st.none(), st.integers(-2, 3))) for _ in masks]
            assert kept <= matches(spec, following(rows, log_end, masks, values))
    except SparkCepError:
        assume(False)  # a condition that fails


def remembered(spec: MatchSpec, rows: Sequence[Row], log_end: int) -> Found:
    """The same where failed states are kept from the first."""
    return without_numbers(remembering(spec, 64).match(log(spec, rows, log_end)), spec)


@given(patterns(), logs(), st.sampled_from([SkipMode.TO_FIRST, SkipMode.TO_LAST]), CONTINUATIONS)
def test_other_skips_stop_at_the_first_undecided_row(pattern, given_log, skip, continuations) -> None:
    """Behind it nothing is given: where the search goes on depends on it."""
    rows, log_end = given_log
    spec = censoring(pattern, skip, rows_per_match=RowsPerMatch.ALL_WITH_UNMATCHED)
    assume(not (spec.program.edge_condition & AT_END).any() and "B" in spec.program.names)
    spec = replace(spec, skip_labels=frozenset([spec.program.names.index("B")]), skip_target="B")
    try:
        kept = uncensored(spec, rows, log_end)
        for masks in continuations:
            assert kept <= matches(spec, following(rows, log_end, masks, [None] * len(masks)))
    except SparkCepError:
        assume(False)  # no B in a match, or it is the match's first row


@pytest.mark.parametrize(
    ("pattern", "masks", "expected"),
    [
        ("A B+", [1, 2, 2], []),  # a greedy tail may grow
        ("A B+", [1, 2, 2, 0], [(0, 3)]),
        ("A B+?", [1, 2], [(0, 2)]),  # a reluctant one does not
        ("A B{1,2}", [1, 2, 2], [(0, 3)]),  # nor one that is full
        ("A (B B)?", [1, 2], []),  # B B would be preferred
        ("A (B B)?", [1, 2, 0], [(0, 1)]),
        ("A B? | B", [1, 2, 0, 1], [(0, 2)]),  # the last A may still be followed by a B
        ("A B* A | B", [1, 2, 2], []),  # an A would swallow both matches of B
        ("A B* A | B", [1, 2, 2, 0], [(1, 1), (2, 1)]),
        ("A | B", [1, 2, 1], [(0, 1), (1, 1), (2, 1)]),
    ],
)
def test_worked(pattern: str, masks: list[int], expected: list[tuple[int, int]]) -> None:
    spec = censoring(row_pattern(pattern), SkipMode.PAST_LAST_ROW, rows_per_match=RowsPerMatch.ALL_OMIT_EMPTY)
    found = uncensored(spec, [(mask, 0, 0, 0) for mask in masks], None)
    assert sorted((start, len(path)) for start, path in found) == expected


def test_each_row_by_itself() -> None:
    """SKIP TO NEXT ROW: what the first A comes to does not touch the match of the B behind it."""
    pattern = Alternation((Concatenation((A, Quantified(B, 0, None), A)), B))
    rows = [(mask, 0, 0, 0) for mask in (1, 2, 2)]
    assert {start for start, _ in uncensored(censoring(pattern, SkipMode.TO_NEXT_ROW), rows, None)} == {1, 2}


def test_within_decides() -> None:
    """A start row whose WITHIN ended before the log's last row sees no more rows; at that row's time, some may come."""
    spec = censoring(Concatenation((A, Quantified(B, 1, None))), SkipMode.PAST_LAST_ROW, use_within=True)
    rows = [(1, 0, 0, 3), (2, 0, 1, 4)]
    assert [len(uncensored(spec, rows, log_end)) for log_end in (1, 3, 4)] == [0, 0, 1]


@pytest.mark.parametrize("called_back", [False, True])
def test_a_neighbour_that_may_come(called_back: bool) -> None:
    """`A AS x > NEXT(x)` is not decided for the partition's last row, whatever WITHIN says."""
    falls = Call(">", (Load(0), Load(1)))
    slots = (NavigationSlot(0, False, 0, 0, 0), NavigationSlot(0, False, 0, 1, 0))
    dependent = ConditionSet({0: falls}, slots, (BIGINT,), (frozenset([0]),))
    for use_within in (False, True):
        spec = make_spec(A, {}, conditions=dependent, undecided=kernel.PASSED_OVER, use_within=use_within)
        found = uncensored(spec, [(0, 3, 0, 0), (0, 2, 1, 1), (0, 5, 2, 2)], 9)
        assert {start for start, _ in found} == {0}


@pytest.mark.parametrize("called_back", [False, True])
def test_errors_are_raised(called_back: bool) -> None:
    """A condition that fails is an error, as without the option, and no match that is left out."""
    fails = Call("=", (Call("/", (Load(0), Load(0))), Load(0)))
    dependent = ConditionSet({0: fails}, (NavigationSlot(0, False, 0, 0, 0),), (BIGINT,), (frozenset([0]),))
    spec = make_spec(Concatenation((A, B)), {}, conditions=dependent, undecided=kernel.MATCHING_OVER)
    with pytest.raises(SparkCepError, match="DIVIDE_BY_ZERO"):
        uncensored(spec, [(0, 0, 0, 0)], None)
