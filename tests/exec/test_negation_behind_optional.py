"""A negation behind what may take nothing: after its last event in the match, else after the component before it.

Expected rows are worked out by hand; reference, kernel, search and counts of trends are all held to them.
"""

from __future__ import annotations

import pytest

from sparkcep.pattern import Negation, Quantified, Variable, variables, walk
from sparkcep.query import Component, Matches, Selection

from .notation import tree
from .run_engine import run_case
from .run_strategies import RunCase
from .trend_engine import TrendCase, run_trends

#: pattern, log, rows of the matches under SKIP TILL NEXT MATCH, and under SKIP TILL ANY MATCH where they differ.
CASES = [
    # a star: the N before the last X forbids nothing, and what cannot be taken is skipped
    ("B X* !N C+", "BNCXC", "034", None),
    ("B X* !N C+", "BNC", "", None),
    ("B X* !N C+", "BC", "01", None),
    ("B X* !N C+", "BXNC", "", None),
    ("B X* !N C+", "BNXC", "023", None),
    ("B X* !N C+", "BXNXC", "0134", "0134 034"),
    ("B X* !N C+", "BXC", "012", "012 02"),
    ("B X* !N C+", "BCNC", "013 01", None),
    ("B X* !N C+", "BXCC", "0123 012 013", "0123 012 013 023 02 03"),  # at C2 X* ends, or it is skipped
    ("B X*? !N C", "BNCXC", "034", None),
    # an optional: once X is taken, no later X moves the gap
    ("B X? !N C", "BNCXC", "034", None),
    ("B X? !N C", "BXNC", "", None),
    ("B X? !N C", "BXNXC", "", "034"),
    ("B X? !N C", "BNXC", "023", None),
    ("B X? !N C", "BXC", "012", "012 02"),
    ("B X? !N C", "BC", "01", None),
    ("B X? !N C", "BNC", "", None),
    ("B X?? !N C", "BNXC", "023", None),
    # a plus, and a count that may be zero
    ("B X+ !N C", "BXNXC", "0134", "0134 034"),
    ("B X+ !N C", "BNC", "", None),
    ("B X{0,2} !N C", "BXNXC", "0134", "0134 034"),
    ("B X{0,2} !N C", "BXNXXC", "0135", "0135 0145 0345 035 045"),
    ("B X{0,2} !N C", "BNC", "", None),
    ("B X{0,2} !N C", "BC", "01", None),
    # a group: it ends with its last event; an iteration that is not complete moves nothing
    ("B (X Y)* !N C", "BXYNC", "", None),
    ("B (X Y)* !N C", "BNXYC", "0234", None),
    ("B (X Y)* !N C", "BXNYC", "0134", None),
    ("B (X Y)* !N C", "BXC", "", "02"),
    ("B (X Y)* !N C", "BC", "01", None),
    ("B (X Y)* !N C", "BNC", "", None),
    ("B (X Y)* !N C", "BXYNXYC", "012456", "012456 0156 0456"),
    ("B (X Y?)* !N C", "BXNYC", "0134", None),
    ("B (X Y?)* !N C", "BXNC", "", None),
    # two that may take nothing: the last event of either counts
    ("B X* Y* !N C", "BXNYC", "0134", "0134 034"),
    ("B X* Y* !N C", "BYNC", "", None),
    ("B X* Y* !N C", "BXNC", "", None),
    ("B X* Y* !N C", "BNXC", "023", None),
    # alternatives: the gap is behind the one that was taken, or behind B where that took nothing
    ("B (X | Y) !N C", "BNXC", "023", None),
    ("B (X | Y) !N C", "BXNC", "", None),
    ("B (X | Y) !N C", "BYNXC", "", "034"),
    ("B (X | Y*) !N C", "BNC", "", None),
    ("B (X | Y*) !N C", "BC", "01", None),
    ("B (X | Y*) !N C", "BYNYC", "0134", "0134 034"),
    ("B (X | Y*) !N C", "BNCYC", "034", None),
    ("B (X | Y*) !N C", "BXNC", "", None),
    ("B (X | Y)* !N C", "BXNYC", "0134", "0134 034"),
    ("B (X | Y)* !N C", "BYXNC", "", None),
    # nothing before it: then the negation is a leading one
    ("X* !N C", "C", "0", None),
    ("X* !N C", "NC", "", None),
    ("X* !N C", "XNC", "", None),
    ("X* !N C", "NXC", "12", None),
    ("X* !N C", "XC", "01 1", None),
    ("X? !N C", "NXC", "12", None),
    # nothing behind it: then it is a trailing one
    ("B X* !N", "B", "0", None),
    ("B X* !N", "BN", "", None),
    ("B X* !N", "BX", "01 0", None),
    ("B X* !N", "BXN", "", None),
    ("B X* !N", "BNX", "02", None),
    # two negations around a star: behind B only the first one counts where the star took nothing
    ("B !M X* !N C", "BMNXC", "", None),
    ("B !M X* !N C", "BNXMC", "024", None),
    ("B !M X* !N C", "BXMC", "013", None),
    ("B !M X* !N C", "BMC", "", None),
    ("B !M X* !N C", "BNC", "", None),
]


def case(pattern: str, log: str, selection: Selection, matches: Matches = Matches.ALL) -> RunCase:
    node = tree(pattern)
    negated = {name for n in walk(node) if isinstance(n, Negation) for name in variables(n)}
    kleene = {
        n.item.name for n in walk(node) if isinstance(n, Quantified) and isinstance(n.item, Variable) and n.maximum != 1
    }
    components = tuple(Component(k, k, (k,), k in kleene, k in negated) for k in variables(node))
    rows = tuple(range(len(log)))
    return RunCase(node, components, tuple(log), rows, rows, (), (), selection, matches, None, False)


def rows(paths: list[tuple[tuple[str, int], ...]]) -> list[str]:
    return ["".join(str(row) for _, row in path) for path in paths]


@pytest.mark.parametrize("selection", [Selection.NEXT, Selection.ANY])
@pytest.mark.parametrize(("pattern", "log", "following", "any_rows"), CASES)
def test_matches(pattern: str, log: str, following: str, any_rows: str | None, selection: Selection) -> None:
    own = case(pattern, log, selection)
    expected = following if selection is Selection.NEXT or any_rows is None else any_rows
    assert sorted(rows(own.reference())) == sorted(expected.split())
    assert run_case(own) == own.reference()
    counted = run_trends(TrendCase(own, None, None, (("count", None),)))
    assert counted == ([(0, (len(expected.split()),))] if expected else [])


@pytest.mark.parametrize(
    ("pattern", "log", "preferred"),
    [
        ("B X* !N C+", "BNCXCBC", "0346"),  # longer before shorter, and then nothing is left
        ("B X* !N C", "BNCXCBC", "034 56"),
        ("B X? !N C", "BXNXCBC", "56"),
        ("B (X Y)* !N C", "BXYNXYCBNC", "012456"),
        ("B X*? !N C", "BXCBC", "012 34"),
    ],
)
def test_non_overlapping(pattern: str, log: str, preferred: str) -> None:
    own = case(pattern, log, Selection.NEXT, Matches.NON_OVERLAPPING)
    assert rows(own.reference()) == preferred.split()
    assert run_case(own) == own.reference()
    assert rows(run_case(case(pattern, log, Selection.NEXT, Matches.FIRST))) == preferred.split()[:1]
