"""WITH TIMED OUT: beside the matches, the runs that WITHIN ended, as the reference defines them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TypeAlias

import pytest
from hypothesis import assume, event, given

from sparkcep.errors import PatternAnalysisError
from sparkcep.exec.automaton import compile_automaton, events_left
from sparkcep.exec.engines.runs.matcher import RunMatcher
from sparkcep.exec.kernels.rows.output import FLAGS, WAITING
from sparkcep.query import Component, Matches, Selection

from .reference_runs import Path, ReferenceCase
from .run_engine import batch_of_case, plan_case
from .run_strategies import RunCase, run_cases
from .strategies import row_pattern

#: Events of a match, or of a run that timed out and what it waited for.
Found: TypeAlias = tuple[Path, str | None]
TWO = (Matches.ALL, Matches.ALL, Matches.NON_OVERLAPPING)


def kernel(case: RunCase) -> list[Found]:
    plan = plan_case(case, timed_out=True)
    spec = plan.engine.spec
    out, trace = RunMatcher(spec).match(batch_of_case(case, plan))
    names = spec.automaton.names
    events = [(names[c], int(row)) for c, row in trace]
    ends = [0, *out[:, -1].tolist()]
    waiting = [names[f // WAITING - 1] if f >= WAITING else None for f in out[:, FLAGS].tolist()]
    return [(tuple(events[a:b]), w) for (a, b), w in zip(itertools.pairwise(ends), waiting, strict=True)]


def reference(case: RunCase) -> list[Found]:
    """Start by start: its matches, or where it has none its run that timed out."""
    times, width = case.times, case.within
    assert width is not None

    def reaches(first: int, row: int) -> bool:
        return times[row] <= times[first] + width

    own = ReferenceCase(
        len(times), case.can_take, case.references, case.selection, reaches, None, reaches,
        times if case.strict_time else None,
    )  # fmt: skip
    found: list[Found] = []
    start = 0
    while start < len(times):
        matches = list(dict.fromkeys(own.starts(case.pattern, start)))
        if matches and case.matches is Matches.ALL:
            found += [(m, None) for m in matches]
        elif matches:
            found.append((matches[0], None))
            start = matches[0][-1][1]
        elif (late := own.timed_out(case.pattern, start)) is not None:
            found.append(late)
        start += 1
    return found


def check(case: RunCase) -> None:
    case = case if case.within is not None else replace(case, within=3)
    try:
        found = kernel(case)
    except PatternAnalysisError as error:
        assert error.error_class == "CEP_TIMED_OUT"  # a leading negation
        assume(False)
    event(f"timed out: {any(w is not None for _, w in found)}")
    assert found == reference(case)


@given(run_cases(matches=TWO))
def test_any_case(case: RunCase) -> None:
    check(case)


def simple(text: str, types: str, within: int, selection: Selection = Selection.NEXT, **changes: object) -> RunCase:
    """Events a tick apart of one-letter types, for a pattern whose variables are types (a small one: negated)."""
    pattern = row_pattern(text, skips=True)
    names = sorted(set(filter(str.isalpha, text)))
    components = tuple(
        Component(n, n, (n,), kleene=f"{n}+" in text or f"{n}*" in text, negated=f"!{n}" in text) for n in names
    )
    times = tuple(range(len(types)))
    return replace(
        RunCase(pattern, components, tuple(types), times, times, (), (), selection, Matches.ALL, within, False),
        **changes,
    )


@pytest.mark.parametrize(
    ("text", "types", "within", "selection", "rows"),
    [
        # The order is paid, and never shipped.
        ("A B C", "AB", 5, Selection.NEXT, [("AB", "C")]),
        # C comes a tick too late.
        ("A B C", "ABXC", 2, Selection.NEXT, [("AB", "C")]),
        ("A B C", "ABXC", 3, Selection.NEXT, [("ABC", None)]),
        # A run that a negation ended does not time out; where it may ignore B it still waits for one.
        ("A B !N C", "ABN", 5, Selection.NEXT, []),
        ("A B !N C", "ABN", 5, Selection.ANY, [("A", "B")]),
        # The next event must extend a run or it ends, whatever time is left.
        ("A B C", "ABX", 5, Selection.STRICT, []),
        ("A B C", "AB", 5, Selection.STRICT, [("AB", "C")]),
        # The furthest of many runs: C is missing, whichever Bs are taken.
        ("A B+ C", "ABBB", 9, Selection.ANY, [("ABBB", "C")]),
        # What ends a Kleene may be skipped, but taking it comes closer.
        ("A B+ C D", "ABCB", 9, Selection.NEXT, [("ABC", "D")]),
        # Absence is a match, not a time-out; what is forbidden ends the run.
        ("A !N", "A", 3, Selection.NEXT, [("A", None)]),
        ("A !N", "AN", 3, Selection.NEXT, []),
        # A negation behind the last B leaves one more B as the way on.
        ("A B+ !N C", "ABN", 9, Selection.NEXT, [("AB", "B")]),
    ],
)
def test_cases(text: str, types: str, within: int, selection: Selection, rows: list) -> None:
    case = simple(text, types, within, selection)
    found = [("".join(key for key, _ in path), waiting) for path, waiting in kernel(case)]
    assert found == rows
    assert kernel(case) == reference(case)


def test_many_runs_that_differ_in_what_they_skip_are_not_walked() -> None:
    """Under SKIP TILL ANY MATCH sixty Bs make 2^60 runs, and C never comes."""
    found = kernel(simple("A B+ C D", "A" + "B" * 60, 100, Selection.ANY))
    assert [(len(path), waiting) for path, waiting in found] == [(61, "C")]


def test_fewest_missing_events_of_states() -> None:
    automaton = compile_automaton(row_pattern("A (B C | D) E{2}"), tuple("ABCDE"), 100)
    left = events_left([[e.target for e in edges] for edges in automaton.edges[:-1]])
    missing = dict(zip((automaton.names[c] for c in automaton.components), left, strict=True))
    assert missing["A"] == 3 and missing["B"] == 3 and missing["C"] == missing["D"] == 2
