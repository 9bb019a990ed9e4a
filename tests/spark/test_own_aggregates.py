"""sparkcep.register_aggregate: a Python function over Arrow arrays in conditions and outputs of patterns."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.errors import SparkCepError

CLAUSE = """SELECT * FROM own_t MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES {} AS m, count(*) AS n
    PATTERN (A B*) DEFINE B AS {})"""
BLOCK = """FROM own_t PARTITION BY k ORDER BY t EVENT TYPE NONE PATTERN SEQ(A a, B+ b[]) WHERE {} MATCHES FIRST
    RETURN k, {}"""


def span(values: pa.Array) -> Any:
    """Greatest less least value."""
    found = pc.min_max(values).as_py()
    return None if found["min"] is None else found["max"] - found["min"]


def weighted(values: pa.Array, weights: pa.Array) -> Any:
    total, product = pc.sum(weights).as_py(), pc.sum(pc.multiply(values, weights)).as_py()
    return None if product is None else product / total


@pytest.fixture
def rows(spark: SparkSession) -> list[tuple[int, int, int | None, int]]:
    rng = random.Random(3)
    found = [(k, t, rng.choice([None, *range(9)]), rng.randint(1, 3)) for k in range(80) for t in range(6)]
    spark.createDataFrame(found, "k int, t int, x int, w int").createOrReplaceTempView("own_t")
    sparkcep.register_aggregate(spark, "value_span", span, "int")
    sparkcep.register_aggregate(spark, "Weighted", weighted)
    return found


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize(
    ("own", "sparks"),
    [
        ("value_span({0}x)", "max({0}x) - min({0}x)"),
        ("weighted({0}x, {0}w)", "sum({0}x * {0}w) / sum(CASE WHEN {0}w IS NOT NULL THEN {0}w END)"),
        (
            "value_span({0}x * 2) FILTER (WHERE {0}w > 1)",
            "max({0}x * 2) FILTER (WHERE {0}w > 1) - min({0}x * 2) FILTER (WHERE {0}w > 1)",
        ),
    ],
)  # fmt: skip
def test_equal(spark: SparkSession, own: str, sparks: str) -> None:
    """The same results as with Spark's own functions."""
    clauses, blocks = [], []
    for text in (own, sparks):
        run, before, all_ = (text.format(of) for of in ("B.", "b[..i-1].", "b[]."))
        clauses.append(CLAUSE.format(run, f"coalesce({run} <= 5, true)"))
        blocks.append(
            BLOCK.format(f"coalesce({before}, 0) < 6 AND coalesce({all_}, 1) > 0", f"{all_} AS m, count(b[].t) AS n")
        )
    for first, second in (clauses, blocks):
        assert sorted(spark.sql(first).collect(), key=str) == sorted(spark.sql(second).collect(), key=str)
    if "FILTER" not in own:
        assert spark.sql(f"SELECT {own.format('')} FROM own_t").count() == 1


def test_replaced(spark: SparkSession, rows: list[tuple[int, int, int | None, int]]) -> None:
    """Plans that are kept are those of the function that is registered now; it may be anything that pickles."""
    query = BLOCK.format("constant_value(b[..i-1].x) = 1", "count(b[].t) AS n")
    limits = []
    for value in (1, 2):
        sparkcep.register_aggregate(spark, "constant_value", lambda values, value=value: value, "int")
        limits.append(max(row.n for row in spark.sql(query).collect()))
    assert limits == [5, 1]
    assert spark.sql("EXPLAIN " + query).collect()


@pytest.mark.usefixtures("rows")
def test_errors(spark: SparkSession) -> None:
    for name, returns in (("sum", "int"), ("first", "int"), ("my agg", "int"), ("fine", "array<int>")):
        with pytest.raises(SparkCepError, match="CEP_OWN_AGGREGATE"):
            sparkcep.register_aggregate(spark, name, span, returns)
    sparkcep.register_aggregate(spark, "wrong_type", lambda values: "text", "int")
    with pytest.raises(Exception, match="gave 'text'"):
        spark.sql(BLOCK.format("wrong_type(b[..i-1].x) = 1", "a.t")).collect()
    sparkcep.register_aggregate(spark, "broken", lambda values: 1 // 0, "int")
    with pytest.raises(Exception, match="division"):
        spark.sql(BLOCK.format("broken(b[..i-1].x) = 1", "a.t")).collect()
    with pytest.raises(SparkCepError, match="broken cannot be computed over trends"):
        spark.sql("FROM own_t ORDER BY t EVENT TYPE NONE PATTERN A+ RETURN COUNT(*), broken(A.x)")


def test_sessions(spark: SparkSession, rows: list[tuple[int, int, int | None, int]]) -> None:
    """Another object for the session knows them, as foreachBatch's; another session does not, as with functions."""
    text = CLAUSE.format("value_span(B.x)", "value_span(B.x) < 5")
    expected = sorted(spark.sql(text).collect(), key=str)
    assert expected
    if not hasattr(spark, "session_id"):
        again = SparkSession(spark.sparkContext, spark._jsparkSession)
        assert again is not spark
        assert sorted(again.sql(text).collect(), key=str) == expected
    other = spark.newSession()
    other.createDataFrame([(1, 1, 1, 1)], "k int, t int, x int, w int").createOrReplaceTempView("own_t")
    with pytest.raises(AnalysisException, match="value_span"):
        other.sql(text)
