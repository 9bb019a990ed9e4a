"""Matches are counted before they are enumerated, and enumerated in pieces."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.errors import LimitError
from sparkcep.exec.engines.runs import matcher as run_matcher
from sparkcep.exec.engines.runs.counts import MatchCounter, is_countable
from sparkcep.exec.engines.runs.matcher import RunMatcher
from sparkcep.exec.engines.runs.spec import RunSpec
from sparkcep.pattern import Concatenation, Quantified, Variable
from sparkcep.query import Component, Matches, Selection

from .run_engine import batch_of_case, plan_case, run_case
from .run_strategies import RunCase, run_cases


@given(run_cases(matches=(Matches.ALL,), maximum_conditions=0))
def test_the_count_is_that_of_the_matches(case: RunCase) -> None:
    case = replace(case, within=None)
    plan = plan_case(case)
    assert is_countable(plan.engine.spec)
    assert MatchCounter(plan.engine.spec).most(batch_of_case(case, plan)) == len(run_case(case))


@given(run_cases(), st.integers(1, 400))
def test_pieces_are_the_whole(case: RunCase, most_bytes: int) -> None:
    plan = plan_case(case)
    matcher, batch = RunMatcher(plan.engine.spec), batch_of_case(case, plan)
    whole_out, whole_trace = matcher.match(batch)
    out, trace = [whole_out[:0]], [whole_trace[:0]]
    traced = 0
    for piece, events in small_pieces(matcher, batch, most_bytes):
        assert len(events) == (piece[-1, -1] if len(piece) else 0)
        out.append(piece + np.eye(1, piece.shape[1], piece.shape[1] - 1, dtype=np.int64) * traced)
        trace.append(events.copy())
        traced += len(events)
    assert np.concatenate(out).tolist() == whole_out.tolist()
    assert np.concatenate(trace).tolist() == whole_trace.tolist()


def small_pieces(matcher, batch, most_bytes):
    """Pieces with buffers so small that they fill up."""
    rooms = run_matcher.ROWS, run_matcher.EVENTS
    run_matcher.ROWS, run_matcher.EVENTS = 1, 1
    try:
        yield from matcher.pieces(batch, most_bytes)
    finally:
        run_matcher.ROWS, run_matcher.EVENTS = rooms


def many(rows: int, selection: Selection = Selection.ANY) -> tuple[RunSpec, object]:
    """A B+ C over one A, Bs and one C."""
    components = (Component("A", "A", ("A",)), Component("B", "B", ("B",), True), Component("C", "C", ("C",)))
    pattern = Concatenation((Variable("A"), Quantified(Variable("B"), 1, None), Variable("C")))
    types = ("A", *"B" * (rows - 2), "C")
    case = RunCase(
        pattern, components, types, (0,) * rows, tuple(range(rows)), (), (), selection, Matches.ALL, None, False
    )
    plan = plan_case(case)
    return plan.engine.spec, batch_of_case(case, plan)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (27, f"{2**25 - 1} matches; at most 10000000 are enumerated"),
        (120, f"{2**118 - 1} matches"),
        (5000, "more than 10^38 matches"),
    ],
)
def test_a_partition_of_too_many_matches_fails_at_once(rows: int, said: str) -> None:
    spec, batch = many(rows)
    next(RunMatcher(many(20)[0]).pieces(many(20)[1]))  # compiles
    started = time.process_time()
    with pytest.raises(LimitError) as caught:
        RunMatcher(spec).match(batch)
    assert time.process_time() - started < 20, "the kernel that counts, compiled, and no enumeration"
    message = str(caught.value)
    assert said in message
    for word in ("MATCHES NON OVERLAPPING", "WITHIN", "COLLAPSED", "spark.sparkcep.limit.matches"):
        assert word in message


@pytest.mark.compiled
def test_what_is_counted_and_below_the_limit_is_enumerated_to_its_end() -> None:
    spec, batch = many(20)
    numbers = list(itertools.chain(*(out[:, 1].tolist() for out, _ in RunMatcher(spec).pieces(batch, 1 << 16))))
    assert numbers == list(range(1, 2**18))


@pytest.mark.compiled
def test_the_limit_counts_matches_and_not_the_rows_that_aggregates_want() -> None:
    spec, batch = many(12)
    matches = 2**10 - 1
    spec = replace(spec, every_row=True, limit_rows=matches)
    out, _ = RunMatcher(spec).match(batch)
    assert len(out) > 5 * matches
    assert len(set(out[:, 1])) == matches
    with pytest.raises(LimitError, match=f"{matches} matches; at most {matches - 1} are enumerated"):
        RunMatcher(replace(spec, limit_rows=matches - 1)).match(batch)


@pytest.mark.compiled
def test_matches_that_hold_too_many_events_end_in_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    spec, batch = many(16)
    monkeypatch.setattr(run_matcher, "MAX_BYTES", 100_000)
    with pytest.raises(LimitError, match=r"The first \d+ matches of one partition hold so many events"):
        list(RunMatcher(spec).pieces(batch, 10_000))
