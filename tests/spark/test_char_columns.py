"""Comparisons of CHAR columns, which Spark fills up with blanks, are those of a self join."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.errors import PatternAnalysisError

from ..conftest import configured

pytestmark = [pytest.mark.full]

TABLE = "char_columns"
#: Over two rows, one after the other.
CONDITIONS = (
    "A.c3 = B.c5", "A.c3 <=> B.c5", "A.c3 < B.c5", "A.c5 <= B.c3", "A.c3 <> B.c5", "B.c5 >= A.c3", "A.c3 = B.v",
    "A.c3 = B.s", "A.c3 = 'ab' OR B.i > 100", "A.c3 = 'ab   ' OR B.i > 100", "'x' = A.c3 OR B.i > 100",
    "A.c3 <=> NULL OR B.i > 100", "A.c3 IN (B.c5, 'q')", "A.c3 IN (B.c5)", "A.c3 IN ('ab', 'abc  ') OR B.i > 100",
    "A.c3 IN ('x', NULL) OR B.i > 100", "NOT (A.c3 IN ('x', 'ab')) OR B.i > 100", "A.c3 BETWEEN 'ab' AND B.c5",
    "A.c3 BETWEEN B.c5 AND B.c5", "CASE A.c3 WHEN 'ab' THEN B.i > 1 WHEN B.c5 THEN true END",
    "nullif(A.c3, B.c5) IS NULL", "nullif(A.c3, 'ab') IS NULL OR B.i > 100", "coalesce(A.c3, 'q') = B.c5",
    "upper(A.c3) = B.c5", "A.c3 || 'x' = B.c5", "least(A.c3, B.c5) = 'ab'", "A.c3 LIKE 'ab' OR B.i > 100",
    "A.c3 LIKE B.c5", "length(A.c3) = length(B.c5)", "if(A.c3 = B.c5, 1, 0) = 1", "A.c3 != 'ab' AND B.i > A.i",
    "A.c3 IS DISTINCT FROM B.c5", "A.c3 = concat('a', 'b') OR B.i > 100", "A.c3 = concat('ab', '  ') OR B.i > 100",
    "A.c3 IN (concat('a', 'b'), 'x ') OR B.i > 100", "array_contains(array(A.c3), B.c5)", "equal_null(A.c3, B.c5)",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def table(spark: SparkSession) -> Iterator[None]:
    spark.sql(
        f"CREATE TABLE {TABLE} (k INT, i INT, c3 CHAR(3), c5 CHAR(5), v VARCHAR(5), s STRING, e CHAR(4)) USING parquet"
    )
    spark.sql(
        f"""INSERT INTO {TABLE} VALUES
        (1, 1, 'ab', 'ab', 'ab', 'ab', 'in'), (1, 2, 'ab', 'ab', 'ab ', 'ab ', 'out'),
        (1, 3, 'abc', 'abc', 'abc', 'abc', 'in'), (1, 4, 'x', 'abcd', NULL, 'x', 'both'),
        (1, 5, NULL, 'x', 'x', 'ab   ', 'out'), (1, 6, 'x', 'x', 'x', 'x', 'in')"""
    )
    yield
    spark.sql(f"DROP TABLE {TABLE}")


def neighbours(spark: SparkSession, conditions: Sequence[str]) -> dict[str, list[int]]:
    """By condition, the first rows that it holds for."""
    items = ", ".join(f"{condition} AS c{n}" for n, condition in enumerate(conditions))
    found = spark.sql(f"SELECT A.i, {items} FROM {TABLE} A JOIN {TABLE} B ON B.i = A.i + 1 ORDER BY 1").collect()
    return {condition: [row.i for row in found if row[n + 1]] for n, condition in enumerate(conditions)}


def matches(spark: SparkSession, condition: str) -> list[int]:
    frame = sparkcep.sql(
        spark,
        f"""SELECT x FROM {TABLE} MATCH_RECOGNIZE (PARTITION BY k ORDER BY i MEASURES A.i AS x
            AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) DEFINE B AS {condition}) ORDER BY x""",
    )
    return [row.x for row in frame.collect()]


@pytest.mark.full
@pytest.mark.parametrize("conditions", [CONDITIONS[::4], pytest.param(CONDITIONS, marks=pytest.mark.full)])
def test_as_a_self_join(spark: SparkSession, conditions: Sequence[str]) -> None:
    found = neighbours(spark, conditions)
    assert {condition: matches(spark, condition) for condition in conditions} == found
    assert found["A.c3 = B.c5"] == [1, 4]


def test_without_padding(spark: SparkSession) -> None:
    with configured(spark, {"spark.sql.legacy.charVarcharAsString": "true"}):
        conditions = ("A.c3 = B.c5", "A.c3 = 'ab ' OR B.i > 100")
        assert {condition: matches(spark, condition) for condition in conditions} == neighbours(spark, conditions)


def test_event_types(spark: SparkSession) -> None:
    block = f"FROM {TABLE} PARTITION BY k ORDER BY i EVENT TYPE e PATTERN SEQ(in a, out b)"
    asked = f"{block} WHERE a.c3 = b.c5 RETURN a.i AS x, b.i AS y"
    assert [tuple(r) for r in sparkcep.sql(spark, asked).collect()] == [(1, 2)]


def test_rule_sets(spark: SparkSession) -> None:
    rules = """SELECT * FROM VALUES ('one', "PATTERN SEQ(in a, out b) WHERE a.c3 = 'ab'"),
        ('two', 'PATTERN SEQ(in a, out b) WHERE a.c3 = b.c5') AS r(name, rule)"""
    frame = sparkcep.sql(
        spark,
        f"""SELECT rule, count(*) AS n FROM pattern_rules(TABLE({TABLE}) PARTITION BY k ORDER BY i,
            rules => TABLE({rules}), event_type => e) GROUP BY rule ORDER BY rule""",
    )
    assert [tuple(r) for r in frame.collect()] == [("one", 1), ("two", 1)]


def test_inside_a_function_of_two_rows(spark: SparkSession) -> None:
    with pytest.raises(PatternAnalysisError, match="a comparison of CHAR columns inside a function of two rows"):
        matches(spark, "hash(A.c3 = 'ab', B.c5 = 'ab') = 1")


def test_functions(spark: SparkSession) -> None:
    def matches_of(condition: str) -> list[str]:
        create = "CREATE OR REPLACE TEMPORARY PATTERN FUNCTION of_chars AS PARTITION BY k ORDER BY i EVENT TYPE e"
        sparkcep.sql(spark, f"{create} PATTERN SEQ(in a, out b) WHERE {condition} RETURN a.c3 AS x")
        log = f"SELECT k, i, c3, c5, rtrim(e) AS e FROM {TABLE}"
        return [row.x for row in sparkcep.sql(spark, f"SELECT x FROM of_chars(TABLE({log}))").collect()]

    assert matches_of("a.c3 = b.c5") == ["ab "]
    with pytest.raises(AnalysisException, match="a comparison of a CHAR column, which Spark fills up with blanks"):
        matches_of("a.c3 = 'ab'")
