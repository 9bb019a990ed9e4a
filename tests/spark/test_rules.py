"""Sequences with gaps give the same rows with each planner rule on and off, and the fold layout is really taken."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Any

import pytest
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.planner.rules import fold

from ..conftest import IS_CONNECT, every, some

pytestmark = pytest.mark.skipif(IS_CONNECT, reason="rules of the planner know no session")

TABLE = "rule_events"
GAPS, FOLD = "spark.sparkcep.planner.gapElimination.enabled", "spark.sparkcep.planner.fold.enabled"

#: Pattern, conditions, measures, whether Spark follows it by itself.
CLAUSES = {
    "chain": ("A X* B Y* C", "A AS e = 'a', X AS e <> 'b', B AS e = 'b', Y AS e <> 'c', C AS e = 'c'",
              "A.i AS a, B.i AS b, LAST(i) AS z, FIRST(i) AS y", True),
    "reluctant": ("A X*? B Y*? A", "A AS e IN ('a', 'd'), B AS e = 'b'",
                  "FIRST(A.i) AS a, LAST(A.i) AS b, B.e AS e", True),
    "run": ("A X* B+? Y* C", "A AS e = 'a', X AS e <> 'b', B AS e = 'b', Y AS e <> 'c', C AS e = 'c'",
            "A.i AS a, C.i AS c, MATCH_NUMBER() AS m", True),
    "seen run": ("A X* B+ Y* C", "A AS e = 'a', X AS e <> 'b', B AS e = 'b', Y AS e <> 'c', C AS e = 'c'",
                 "FIRST(B.i) AS b, C.i AS c", False),
    "either": ("A X* (B | C) Y* D", "A AS e = 'a', X AS e NOT IN ('b', 'c'), B AS e = 'b', C AS e = 'c', "
               "Y AS e <> 'd', D AS e = 'd'", "B.i AS b, C.i AS c, D.i + 1 AS d", True),
    "same type": ("A X* B X* C", "A AS e = 'a', X AS e <> 'a', B AS e = 'a', C AS e = 'a'",
                  "A.i AS a, B.i AS b, C.i AS c", True),
    "numbers": ("A X* B", "A AS v > 50, X AS NOT (v < 10), B AS v < 10", "A.v AS a, B.v AS b", True),
    "two columns": ("A X* B", "A AS e = 'a' AND v > 50, X AS NOT (e = 'b'), B AS e = 'b'", "A.v AS a, B.v AS b", True),
    "leading loop": ("X* B", "X AS e = 'x', B AS e = 'b'", "FIRST(i) AS a, B.i AS b", False),
    "twice": ("A X* B X* A", "A AS e = 'a', X AS e NOT IN ('a', 'b'), B AS e = 'b'",
              "B.i AS b, A.i AS z, FIRST(A.i) AS a, B.v AS v, LAST(v) AS w", True),
    "middle or not": ("A X* (B Y* C | C)", "A AS e = 'a', X AS e NOT IN ('b', 'c'), Y AS e <> 'c', B AS e = 'b', "
                      "C AS e = 'c'", "B.i AS b, B.v AS v, LAST(e) AS l", True),
    "one row": ("A | B X* C", "A AS e = 'a', X AS e <> 'c' AND e <> 'a', B AS e = 'b', C AS e = 'c'",
                "FIRST(i) AS f, A.i AS a, B.i AS b, C.i AS c, LAST(i) AS l", True),
    "greedy gap": ("A X* B", "A AS e = 'a', B AS e = 'b'", "A.i AS a, B.i AS b", False),
    "next row": ("A X* B", "A AS e = 'a', X AS e <> 'b', B AS e = 'b' ", "A.i AS a, B.i AS b", True),
    "name": ("A X* (B | C)", "A AS e = 'a', X AS e NOT IN ('b', 'c'), B AS e = 'b', C AS e = 'c'",
             "A.i AS a, CLASSIFIER() AS c", False),
    "counted": ("A X* B", "A AS e = 'a', X AS e <> 'b', B AS e = 'b'", "count(A.*) AS a, sum(B.i) AS b", False),
    "within": ("A X* B WITHIN 9", "A AS e = 'a', X AS e <> 'b', B AS e = 'b'", "A.i AS a, B.i AS b", False),
}  # fmt: skip


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> SparkSession:
    rng = random.Random(7)
    weights = [(rng.randrange(15), i, rng.choice([*"abcd", *"abxyz", None]), rng.choice([None, *range(100)]))
               for i in range(1500)]  # fmt: skip
    spark.createDataFrame(weights, "k int, i int, e string, v int").createOrReplaceTempView(TABLE)
    return spark


def text(name: str) -> str:
    pattern, conditions, measures, _ = CLAUSES[name]
    pattern, _, within = pattern.partition(" WITHIN ")
    within = f"WITHIN {within}" if within else ""
    return (
        f"SELECT * FROM {TABLE} MATCH_RECOGNIZE (PARTITION BY k ORDER BY i MEASURES {measures} "
        f"PATTERN ({pattern}) {within} DEFINE {conditions})"
    )


def rows(spark: SparkSession, query: str, **settings: str) -> Counter[Any]:
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        return Counter(tuple(row) for row in spark.sql(query).collect())
    finally:
        for key in settings:
            spark.conf.unset(key)


@pytest.mark.parametrize("name", every(3, CLAUSES))
def test_same_rows(events: SparkSession, name: str) -> None:
    query = text(name)
    assert ("Layout: fold" in sparkcep.explain(events, query)) is CLAUSES[name][3]
    expected = rows(events, query, **{GAPS: "false"})
    assert sum(expected.values()) > 10
    assert rows(events, query) == expected
    assert rows(events, query, **{FOLD: "false"}) == expected


def test_many_matches_in_one_case(events: SparkSession) -> None:
    """More than a few chunks of matches."""
    types = "CASE id % 6 WHEN 0 THEN 'a' WHEN 3 THEN 'a' WHEN 2 THEN 'b' ELSE 'z' END"
    source = f"(SELECT id % 2 AS k, id AS i, {types} AS e FROM range(12000))"
    query = (
        f"SELECT k, count(*) AS n, sum(a) AS a, sum(b) AS b, max(m) AS m FROM {source} MATCH_RECOGNIZE ("
        "PARTITION BY k ORDER BY i MEASURES A.i AS a, B.i AS b, MATCH_NUMBER() AS m PATTERN (A X* B) "
        "DEFINE A AS e = 'a', X AS e <> 'b', B AS e = 'b') GROUP BY k"
    )
    assert "Layout: fold" in sparkcep.explain(events, query)
    assert rows(events, query) == Counter([(0, 2000, sum(range(0, 12000, 6)), sum(range(2, 12000, 6)), 2000)])


@pytest.mark.parametrize("name", some([name for name, (*_, folds) in CLAUSES.items() if folds], ["chain"]))
def test_attempts_across_chunks(events: SparkSession, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered of an attempt goes on into the next chunk."""
    monkeypatch.setattr(fold, "_CHUNK", 3)
    assert "slice(l, i, 3)" in sparkcep.explain(events, text(name))
    assert rows(events, text(name)) == rows(events, text(name), **{FOLD: "false"})


@pytest.mark.full
def test_a_long_case_takes_linear_time(events: SparkSession) -> None:
    """Spark copies the accumulator behind each row: with all matches in it, this took 25 times the kernel's time."""
    types = "substr('abx', 1 + CAST(id % 3 AS INT), 1)"
    source = f"(SELECT 1 AS k, id AS i, {types} AS e FROM range(60000))"
    query = (
        f"SELECT count(*), max(b) FROM {source} MATCH_RECOGNIZE (PARTITION BY k ORDER BY i MEASURES B.i AS b "
        "PATTERN (A X*? B) DEFINE A AS e = 'a', B AS e = 'b')"
    )
    took = {}
    for folds in ("false", "true"):
        for _ in range(2):
            started = time.perf_counter()
            assert rows(events, query, **{FOLD: folds}) == Counter([(20_000, 59_998)])
            took[folds] = time.perf_counter() - started
    assert took["true"] < 8 * took["false"]
