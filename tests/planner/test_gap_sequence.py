"""A plain sequence under SKIP TILL NEXT MATCH and the row pattern with gaps that runs in its place find the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sparkcep.pattern import Concatenation, Variable
from sparkcep.planner.rules.gap_sequence import GAP, with_gaps
from sparkcep.query import Matches, Selection
from tests.exec.reference_runs import reference_runs

from ..exec.reference_rows import reference_matches

NAMES = ("A", "B", "C", "D")


@given(length=st.integers(2, 4), rows=st.lists(st.frozensets(st.sampled_from(NAMES), max_size=2), max_size=12))
def test_same_matches(length: int, rows: list[frozenset[str]]) -> None:
    names = NAMES[:length]
    runs = reference_runs(
        Concatenation(tuple(Variable(n) for n in names)), len(rows), lambda name, row: name in rows[row], (),
        Selection.NEXT, Matches.NON_OVERLAPPING,
    )  # fmt: skip
    conditions = {n: lambda path, _, n=n: n in rows[path[-1][1]] for n in names}
    matches = reference_matches(with_gaps(names), len(rows), conditions)
    taken = [tuple((name, row) for name, row, _ in m.path if name != GAP) for m in matches if m.path]
    assert taken == [tuple(run) for run in runs]
