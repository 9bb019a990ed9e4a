"""Windows with patterns beside what else a statement may have: parameters, DataFrames as arguments, streams."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from sparkcep import pictures
from sparkcep.errors import PatternAnalysisError
from sparkcep.session.transpile import compiled

WINDOW = "(ORDER BY id ROWS BETWEEN CURRENT ROW AND {n} FOLLOWING PATTERN (A B{{0,1}}) DEFINE B AS id > {low})"


def test_positional_parameters(spark: SparkSession) -> None:
    """A `?` inside PATTERN is a quantifier."""
    query = (
        "SELECT id + ? AS i, count(*) OVER w AS n FROM range(3) t WHERE id < ? "
        "WINDOW w AS (ORDER BY id ROWS BETWEEN CURRENT ROW AND ? FOLLOWING PATTERN (A? B??) DEFINE A AS id > ?)"
    )
    assert [tuple(r) for r in spark.sql(query, [10, 3, 5, 1]).orderBy("i").collect()] == [(10, 0), (11, 0), (12, 1)]


def test_named_parameters(spark: SparkSession) -> None:
    query = "SELECT id, count(*) OVER w AS n FROM range(3) t WINDOW w AS " + WINDOW.format(n=":n", low=":low")
    rows = spark.sql(query, {"n": 1, "low": 1}).orderBy("id").collect()
    assert [tuple(r) for r in rows] == [(0, 1), (1, 2), (2, 0)]


def test_dataframes(spark: SparkSession) -> None:
    """A statement that Spark formats has its braces doubled."""
    given = spark.range(3)
    query = "SELECT id, count(*) OVER w, '{{}}' FROM {given} WINDOW w AS " + WINDOW.replace(
        "{{0,1}}", "{{{{0,1}}}}"
    ).format(n=1, low=1)
    frame = spark.sql(query, given=given)
    assert frame.columns == ["id", "count(*) OVER w", "{}"]
    assert sorted(tuple(r) for r in frame.collect()) == [(0, 1, "{}"), (1, 2, "{}"), (2, 0, "{}")]


def test_name_of_a_column_with_braces(spark: SparkSession) -> None:
    query = "SELECT count(*) OVER " + WINDOW.format(n=1, low=1) + " FROM range(3) t"
    assert spark.sql(query).columns == [query[len("SELECT ") : -len(" FROM range(3) t")]]


def test_parameters_beside_a_join_and_groups(spark: SparkSession) -> None:
    """Parameters in all parts of the SELECT, in their order, and a DataFrame as a side."""
    frame = "ROWS BETWEEN CURRENT ROW AND ? FOLLOWING PATTERN (A B?) DEFINE B AS r.id > ?"
    window = f"(PARTITION BY (l.id % ?) ORDER BY l.id {frame})"
    query = f"SELECT l.id + ?, count(*) OVER w AS n FROM range(4) l JOIN range(?) r ON l.id = r.id WINDOW w AS {window}"
    rows = spark.sql(query, [10, 3, 1, 1, 1]).collect()
    assert sorted(tuple(r) for r in rows) == [(10, 1), (11, 2), (12, 0)]
    query = (
        "SELECT l.id % :two AS k, sum(r.id) + :ten, count(*) OVER w AS n FROM range(4) l JOIN {given} r ON l.id = r.id "
        "GROUP BY k WINDOW w AS (ORDER BY k ROWS BETWEEN CURRENT ROW AND :one FOLLOWING PATTERN (A B{{0,1}}))"
    )
    frame = spark.sql(query, {"two": 2, "ten": 10, "one": 1}, given=spark.range(4))
    assert sorted(tuple(r) for r in frame.collect()) == [(0, 12, 2), (1, 14, 0)]


def test_streams_are_refused(spark: SparkSession) -> None:
    spark.readStream.format("rate").load().createOrReplaceTempView("rates_of_windows")
    try:
        with pytest.raises(PatternAnalysisError, match="CEP_STREAMING_UNSUPPORTED"):
            spark.sql(
                "SELECT count(*) OVER (ORDER BY value ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING PATTERN (A)) "
                "FROM rates_of_windows"
            )
    finally:
        spark.catalog.dropTempView("rates_of_windows")


def test_plain_sql_has_none(spark: SparkSession) -> None:
    with pytest.raises(PatternAnalysisError, match="CEP_NOT_COMPILABLE"):
        compiled(spark, "SELECT count(*) OVER " + WINDOW.format(n=1, low=1) + " FROM range(3) t")


def test_picture(spark: SparkSession) -> None:
    query = "SELECT count(*) OVER " + WINDOW.format(n=1, low=1).replace("PATTERN", "SEEK PATTERN") + " FROM range(3) t"
    assert "gap" not in str(pictures.pattern(spark, query))
