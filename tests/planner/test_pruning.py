"""What a pattern needs of a case, so that an index may leave out others: nothing more than every match takes."""

from __future__ import annotations

import pytest

from sparkcep.planner.pruning import NotPrunable, Roles, requirements

from .planned import planned

ROLES = Roles("case_id", ("ts",), "type", unique=True)
HEAD = "FROM t PARTITION BY case_id ORDER BY ts EVENT TYPE type "
CLAUSE = "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY case_id ORDER BY ts EVENT TYPE type MEASURES FIRST(x) AS m {})"
UNMATCHED = CLAUSE.replace("MEASURES FIRST(x) AS m", "ALL ROWS PER MATCH WITH UNMATCHED ROWS")

BRANCHES = [
    ("PATTERN SEQ(A a, B b)", [("A", "B")]),
    ("PATTERN SEQ(A a, !X n, B b)", [("A", "B")]),
    ("PATTERN SEQ(A a, B* b[], C c)", [("A", "C")]),
    ("PATTERN SEQ(A a, B? b, C c)", [("A", "C")]),
    ("PATTERN SEQ(A a, B{2,} b[], C c)", [("A", "B", "B", "C")]),
    ("PATTERN SEQ(A a, (B b | C c))", [("A", "B"), ("A", "C")]),
    ("PATTERN SEQ(A a, (SEQ(B b, D d))+)", [("A", "B", "D")]),
    ("PATTERN A a", [("A",)]),
    # A condition says nothing of whether an optional variable is there.
    ("PATTERN SEQ(A a, B* b[], C c) WHERE count(b[].x) >= 1", [("A", "C")]),
]


@pytest.mark.parametrize(("block", "branches"), BRANCHES)
def test_mandatory_types(block: str, branches: list[tuple[str, ...]]) -> None:
    needs = requirements(planned(HEAD + block), ROLES)
    assert list(needs.branches) == branches
    assert needs.ordered


BOUNDS = [
    ("PATTERN SEQ(A a, B b) WITHIN 1 hour", 3_600_000_000),
    ("PATTERN SEQ(A a, B b) WITHIN 90", 90_000_000),
    ("PATTERN SEQ(A a, B b) WITHIN INTERVAL 1 MONTH", None),
    ("PATTERN SEQ(A a, B b)", None),
]


@pytest.mark.parametrize(("block", "bound"), BOUNDS)
def test_bound(block: str, bound: int | None) -> None:
    assert requirements(planned(HEAD + block), ROLES).bound == bound


ONLY = [
    ("PATTERN SEQ(A a, B b) RETURN a.x", frozenset("AB")),
    ("PATTERN SEQ(A a, !X n, B b) RETURN a.x", frozenset("ABX")),
    ("PATTERN SEQ(A a, B b) EVENT SELECTION strict_contiguity RETURN a.x", None),
    ("PATTERN SEQ(A a, B b) WHERE (gap, atleast, 3, 1, 2) RETURN a.x", None),
    # Positions, which a block without RETURN gives, count all events.
    ("PATTERN SEQ(A a, B b)", None),
]


@pytest.mark.parametrize(("block", "only"), ONLY)
def test_other_events(block: str, only: frozenset[str] | None) -> None:
    assert requirements(planned(HEAD + block), ROLES).only == only


REFUSED = [
    (HEAD + "PATTERN SEQ(A* a[], B? b)", "an empty match needs no event"),
    (HEAD.replace("case_id", "pos") + "PATTERN SEQ(A a, B b)", "matches are not inside of one case_id"),
    (CLAUSE.format("PATTERN (A*)"), "an empty match needs no event"),
    (UNMATCHED.format("PATTERN (A B)"), "the result has rows outside of matches"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_not_prunable(text: str, reason: str) -> None:
    with pytest.raises(NotPrunable, match=reason):
        requirements(planned(text), ROLES)


UNORDERED = [
    (HEAD.replace("ORDER BY ts", "ORDER BY ts DESC") + "PATTERN SEQ(A a, B b)", "ORDER BY ts is not ascending"),
    (HEAD.replace("ORDER BY ts", "ORDER BY pos") + "PATTERN SEQ(A a, B b)", "ORDER BY does not begin with ts"),
]


@pytest.mark.parametrize(("text", "reason"), UNORDERED)
def test_order_tells_nothing(text: str, reason: str) -> None:
    needs = requirements(planned(text), ROLES)
    assert not needs.ordered
    assert reason in needs.unordered
