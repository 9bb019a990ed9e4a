"""What filters let through of a column: never less than Spark does, and what is read is read as Spark means it."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from sparkcep.lineage.comparisons import Comparison, bounds, let_through
from sparkcep.lineage.plan_filters import comparisons_by_column

from ..conftest import IS_CONNECT

pytestmark = pytest.mark.skipif(IS_CONNECT, reason="Spark Connect shows no plans")
ROWS = """SELECT CAST(id AS STRING) AS k, id AS n, CAST(id AS INT) AS i, timestamp_seconds(id) AS t,
date_from_unix_date(CAST(id AS INT)) AS d, TIMESTAMP_NTZ'1970-01-01 00:00:00' + make_dt_interval(0, 0, 0, id) AS z
FROM range(30)"""
#: Predicates, the column that they are about, and whether all of a predicate is read.
PREDICATES = [
    ("k = '7'", "k", True),
    ("'7' < k", "k", True),
    ("k IN ('7', '12', 'x')", "k", True),
    ("k = '3' OR k > '8'", "k", True),
    ("n BETWEEN 3 AND 5", "n", True),
    ("n >= 3 AND n < 2 + 6 AND n % 2 = 0", "n", False),
    ("i IN (1, 2, 3)", "i", True),
    ("5 >= i", "i", True),
    ("t > timestamp_seconds(4) AND t <= TIMESTAMP'1970-01-01 00:00:09'", "t", True),
    ("t BETWEEN '1970-01-01 00:00:03' AND '1970-01-01 00:00:11'", "t", True),
    ("t < DATE'1970-01-02'", "t", True),
    ("d >= DATE'1970-01-05' AND d < '1970-01-09'", "d", True),
    ("z < TIMESTAMP_NTZ'1970-01-01 00:00:10'", "z", True),
    ("n = 3 OR n = 9 OR n = 40", "n", True),
    ("t BETWEEN timestamp_seconds(5) AND timestamp_seconds(2)", "t", True),
]


@pytest.mark.parametrize(("predicate", "column", "exact"), PREDICATES)
def test_what_passes(spark: SparkSession, predicate: str, column: str, exact: bool) -> None:
    rows = spark.sql(ROWS)
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        found = comparisons_by_column(rows, [predicate])
        passed = {r.n for r in rows.where(predicate).collect()}
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert list(found) == [column]
    values = [str(n) if column == "k" else n * 1_000_000 if column in "tz" else n for n in range(30)]
    let = {n for n, met in enumerate(let_through(found[column], pa.array(values)).to_pylist()) if met}
    assert let == passed if exact else let > passed
    if column != "k":
        low, high = bounds(found[column])
        assert all((low is None or low <= values[n]) and (high is None or values[n] <= high) for n in passed)


@pytest.mark.parametrize(
    "predicate",
    [
        "n <> 3", "n = 3 OR k = 'a'", "k LIKE '1%'", "k = NULL", "k IN ('a', NULL)", "date(t) = '1970-01-01'", "i < 3L",
        "t > current_timestamp() - INTERVAL 1 DAY", "d = current_date()", "n IN (SELECT 1)", "rand() < n", "k = user()",
        "lower(k) = 'a'", "NOT (n = 3)", "k = '3' OR k BETWEEN '20' AND '22'",
    ],
)  # fmt: skip
def test_what_is_not_read(spark: SparkSession, predicate: str) -> None:
    assert comparisons_by_column(spark.sql(ROWS), [predicate]) == {}


def test_bounds_of_alternatives() -> None:
    either = Comparison(either=(Comparison("=", (3, 5)), Comparison("<=", (9,))))
    assert bounds([either]) == (None, 9)
    assert bounds([either, Comparison(">", (4,))]) == (5, 9)
    assert bounds([Comparison(either=(Comparison("=", (3,)), Comparison("=", (7,))))]) == (3, 7)
    assert bounds([]) == (None, None)
