"""Each rule: a statement, whether the rule changes its plan, and the reason that EXPLAIN gives."""

from __future__ import annotations

import pytest

from sparkcep.planner.sampling import Sample

from .planned import decision, planned

CLAUSE = "SELECT {} FROM t MATCH_RECOGNIZE (PARTITION BY case_id ORDER BY ts {})"
ONE = "SELECT {} FROM t MATCH_RECOGNIZE (ORDER BY ts {})"
BLOCK = "FROM t PARTITION BY case_id ORDER BY ts EVENT TYPE type PATTERN {}"
GAP = "MEASURES A.x AS m PATTERN (A X*? C) DEFINE A AS x = 1, C AS x = 2"
CONTIGUOUS = "no variable only skips rows, or contiguity matters somewhere"

GAPS = [
    (CLAUSE.format("m", GAP), True, "X only skip rows"),
    (CLAUSE.format("m", GAP.replace("X*?", "X*")), True, "X only skip rows"),
    (CLAUSE.format("m", f"{GAP}, X AS NOT x = 2".replace("X*?", "X*")), True, "X only skip rows"),
    # Rows that only X can take are skipped, all others still break a match.
    (CLAUSE.format("m", f"{GAP}, X AS x = 3"), True, "X only skip rows"),
    (CLAUSE.format("m, n", GAP.replace("A.x AS m", "A.x AS m, count(X.x) AS n")), False, CONTIGUOUS),
    (CLAUSE.format("m", GAP.replace("X*?", "")), False, CONTIGUOUS),
    (CLAUSE.format("m", GAP.replace("x = 2", "x > PREV(x)")), False, "a condition looks at neighbouring rows"),
]


@pytest.mark.parametrize(("text", "applied", "reason"), GAPS)
def test_gap_elimination(text: str, applied: bool, reason: str) -> None:
    found = decision(planned(text), "Gap elimination")
    assert (found.applied, found.reason) == (applied, reason)


def test_gap_elimination_can_be_turned_off() -> None:
    plan = planned(CLAUSE.format("m", GAP), conf={"spark.sparkcep.planner.gapElimination.enabled": "false"})
    assert decision(plan, "Gap elimination").reason == "spark.sparkcep.planner.gapElimination.enabled = false"
    assert plan.input.filters == ()
    assert plan.input.layout == "lists"


STEPS = "MEASURES A.x AS m PATTERN (A B) DEFINE B AS x > LAST(A.x)"

LAYOUTS = [
    # Spark folds what needs one state per partition.
    (CLAUSE.format("m", GAP), {}, None, "fold", "the pattern is a sequence with gaps, which Spark follows by itself"),
    (CLAUSE.format("m", GAP), {"spark.sparkcep.exec.layout": "lists"}, None, "lists", "PARTITION BY, ascending"),
    (CLAUSE.format("m", GAP), {"spark.sparkcep.exec.layout": "rows"}, None, "rows", "spark.sparkcep.exec.layout"),
    (CLAUSE.format("m", GAP), {"spark.sparkcep.planner.fold.enabled": "false"}, None, "lists", "PARTITION BY"),
    (ONE.format("m", GAP), {}, None, "rows", "there is no PARTITION BY"),
    (CLAUSE.format("m", GAP.replace("A.x AS m", "count(A.x) AS m")), {}, None, "lists", "PARTITION BY, ascending"),
    (CLAUSE.replace("ORDER BY ts", "ORDER BY ts DESC").format("m", GAP), {}, None, "rows", "not ascending"),
    (CLAUSE.replace("ORDER BY ts", "ORDER BY ts NULLS LAST").format("m", GAP), {}, None, "rows", "not ascending"),
    # A list for each partition, unless partitions are long.
    (BLOCK.format("SEQ(A a, B b)"), {}, None, "lists", "PARTITION BY, ascending order"),
    (BLOCK.format("SEQ(A a, B b)"), {}, Sample(9000, 900, bytes=2.0**30), "lists", "PARTITION BY, ascending order"),
    (CLAUSE.format("m", STEPS), {}, Sample(9000, 900, bytes=2.0**30, most=10), "lists", "PARTITION BY, ascending"),
    (CLAUSE.format("m", STEPS), {}, Sample(9000, 2, bytes=2.0**30, most=4500), "rows", "long partitions, 4500 rows"),
    # All matches of a repetition may be many more than events.
    (BLOCK.format("SEQ(A a, B+ b[])"), {}, None, "rows", "a partition may have many more matches than events"),
    (BLOCK.format("SEQ(A a, B+ b[]) WITHIN 1 hour"), {}, None, "lists", "PARTITION BY, ascending order"),
    (BLOCK.format("SEQ(A a, B+ b[]) MATCHES NON OVERLAPPING"), {}, None, "lists", "PARTITION BY, ascending order"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "conf", "sample", "layout", "reason"), LAYOUTS)
def test_layouts(text: str, conf: dict[str, str], sample: Sample | None, layout: str, reason: str) -> None:
    given = planned(text, conf=conf, sample=sample).input
    assert given.layout == layout
    assert reason in given.layout_reason


PREFILTERS = [
    (CLAUSE.format("m", GAP), False, "the fold itself is as cheap"),
    (CLAUSE.format("m", GAP.replace("X*?", "B*")), True, "every match needs A, C"),
    (
        CLAUSE.format("m", "MEASURES A.x AS m PATTERN (A B) DEFINE B AS x > LAST(A.x)"), False,
        "no variable that every match needs has a condition on one row",
    ),
    (CLAUSE.format("m", "MEASURES A.x AS m PATTERN (A*) DEFINE A AS x = 1"), False,
        "the result has rows outside of matches, or empty matches"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "applied", "reason"), PREFILTERS)
def test_join_prefilter(text: str, applied: bool, reason: str) -> None:
    found = decision(planned(text), "Join prefilter")
    assert (found.applied, found.reason) == (applied, reason)


RANGES = [
    ("PATTERN (A B) WITHIN INTERVAL 1 HOUR DEFINE A AS x = 1, B AS x > LAST(A.x)", True, ""),
    ("PATTERN (A B) DEFINE A AS x = 1, B AS x > LAST(A.x)", False, "there is no WITHIN"),
    ("PATTERN (A B) WITHIN INTERVAL 1 HOUR DEFINE A AS x = 1, B AS x > PREV(x)", False, "PREV"),
    ("PATTERN (A B) WITHIN INTERVAL 1 MONTH DEFINE A AS x = 1, B AS x > LAST(A.x)", False, "fixed"),
    ("ALL ROWS PER MATCH PATTERN (A B) WITHIN INTERVAL 1 HOUR DEFINE A AS x = 1, B AS x = 2", False, "ALL ROWS"),
]


@pytest.mark.parametrize(("body", "applied", "reason"), RANGES)
def test_range_splitting(body: str, applied: bool, reason: str) -> None:
    measures = "" if body.startswith("ALL") else "MEASURES A.x AS m "
    found = decision(planned(ONE.format("*", measures + body)), "Range splitting")
    assert found.applied == applied
    assert reason in found.reason


SKIPS = "MEASURES A.x AS m EVENT SELECTION SKIP TILL NEXT MATCH PATTERN (A C) DEFINE A AS x = 1, C AS x = 2"

ENGINES = [
    (CLAUSE.format("m", GAP), "rows"),
    (CLAUSE.format("m", SKIPS), "runs"),
    (BLOCK.format("SEQ(A a, B b)"), "runs"),
    # A plain sequence, of which only the preferred matches are asked for, is a row pattern that Spark folds.
    (BLOCK.format("SEQ(A a, B b) MATCHES NON OVERLAPPING RETURN a.x, b.x"), "rows"),
    (BLOCK.format("SEQ(A a, B b) MATCHES NON OVERLAPPING WHERE a.x < b.x RETURN a.x, b.x"), "runs"),
    (BLOCK.format("A+ a[] RETURN count(*)"), "trends"),
    (BLOCK.format("SEQ(A a, B b) EXPLAIN NON ANSWERS (4, 1, 1)"), "non_answers"),
]


@pytest.mark.parametrize(("text", "engine"), ENGINES)
def test_engines(text: str, engine: str) -> None:
    assert planned(text).engine.name == engine
