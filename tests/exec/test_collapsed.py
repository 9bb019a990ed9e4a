"""A collapsed match holds every event of the matches between its ends, and only those."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

from hypothesis import assume, given

from sparkcep.errors import PatternAnalysisError
from sparkcep.exec.engines.runs.matcher import RunMatcher
from sparkcep.query import Matches, Selection

from .reference_runs import Path
from .run_engine import batch_of_case, plan_case
from .run_strategies import RunCase, run_cases

Ends = tuple[int, int]
Candidates = dict[Ends, set[tuple[str, int]]]


@given(run_cases(selections=(Selection.ANY,), matches=(Matches.ALL,)))
def test_candidates(case: RunCase) -> None:
    try:
        plan = plan_case(case, collapsed=True)
    except PatternAnalysisError as error:
        assert error.error_class == "CEP_COLLAPSED"
        assume(False)
    negated = {c.key for c in case.components if c.negated}
    # Such a negation is left out as a whole.
    assume(not any(negated & set(c.decided_by) for c in case.conditions))
    assert plan.engine.collapse is not None
    kept = [k for k in range(len(case.conditions)) if k not in plan.engine.collapse.postponed]
    tested = replace(
        case,
        conditions=tuple(case.conditions[k] for k in kept),
        references=tuple(case.references[k] for k in kept),
    )
    wanted: Candidates = {}
    matches = tested.reference()
    for path in matches:
        wanted.setdefault((path[0][1], path[-1][1]), set()).update(path)
    out, trace = RunMatcher(plan.engine.spec).match(batch_of_case(case, plan))
    names = plan.engine.spec.automaton.names
    found: Candidates = {}
    low = 0
    for row in out:
        high = int(row[-1])
        events = [(names[c], int(r)) for c, r in trace[low:high]]
        assert len(events) == len(set(events))
        ends = min(r for _, r in events), max(r for _, r in events)
        assert ends not in found
        found[ends] = set(events)
        low = high
    assert found == wanted
    if plan.engine.collapse.exact:
        check_choices(matches, found)


def check_choices(matches: list[Path], found: Candidates) -> None:
    """With the same components at both ends, all choices of as many candidates between them are matches."""
    chosen: dict[tuple[str, str], dict[Ends, Counter[int]]] = {}
    for path in set(matches):
        ends = path[0][1], path[-1][1]
        chosen.setdefault((path[0][0], path[-1][0]), {}).setdefault(ends, Counter())[len(path)] += 1
    for numbers in chosen.values():
        lengths = set().union(*numbers.values())
        for (start, end), number in numbers.items():
            between = sum(start < row < end for _, row in found[start, end])
            wanted = {n: math.comb(between, max(n - 2, 0)) for n in lengths if (n == 1) == (start == end)}
            assert number == {n: choices for n, choices in wanted.items() if choices}
