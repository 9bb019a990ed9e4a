"""Conditions between two events, in a clause and in a block, hold for the neighbours that Spark's own `lag` says."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from pyspark.sql import SparkSession

from ..conftest import configured
from .neighbours import block, by_lag, clause

EVENTS = """SELECT * FROM VALUES
    (1, 1, 10, 10.00, 10.0D, 9000000000000000000L, 1.000000000000000001, 'n1', TIMESTAMP '2024-03-31 00:30:00'),
    (1, 2, 11, 11.00, 11.0D, 9000000000000000001L, 1.000000000000000002, 'n2', TIMESTAMP '2024-03-31 01:29:59'),
    (1, 3, 13, 12.10, 12.2D, NULL, 1.100000000000000003, 'm3', TIMESTAMP '2024-03-31 03:30:00'),
    (1, 4, NULL, 13.32, 9.0D, -9000000000000000000L, NULL, NULL, TIMESTAMP '2024-03-31 04:00:00'),
    (1, 5, 14, NULL, 20.0D, 5L, -3.5, 'n5', TIMESTAMP '2024-04-01 04:00:00'),
    (1, 6, 7, -1.55, 1.1D, 7L, 2.5, 'n1', NULL)
    AS t(k, i, v, d, x, l, w, s, ts)"""
#: What the kernel does.
COMPILED = (
    "B.v > A.v * 1.1", "B.d > A.d * 1.1", "B.d >= A.d * 1.1", "B.x > A.d", "B.d < A.d * 1.11", "B.l > A.l",
    "B.l - A.v > 0.5", "B.w * 1.1 > A.w", "B.d / A.d > 1.1", "B.d % A.v = 1", "round(A.d * B.d, 1) = 110.0",
    "ceil(B.d - A.d) = 2", "floor(A.w - B.w) = -1", "floor(A.x - B.x) = -2", "B.d + B.w > A.d + 1",
    "abs(B.d - A.d) < 1.5", "CASE WHEN A.s LIKE 'n%' THEN B.d ELSE A.v END > 11.5",
    "CASE B.v - A.v WHEN 1 THEN 'one' WHEN 2 THEN 'two' END = 'two'", "coalesce(B.v, A.v, 0) IN (11.0, 7)",
    "(B.v NOT IN (A.v, 13, NULL)) IS NULL", "A.s || '!' < B.s || '!'", "B.s LIKE 'n_' AND A.v < B.v",
    "A.s LIKE '_{1}' OR A.v < B.v", "timestampdiff(MINUTE, A.ts, B.ts) >= 60", "datediff(HOUR, A.ts, B.ts) = 0",
    "timestampdiff(DAY, B.ts, A.ts) = -1", "least(A.v, B.v) < 8", "greatest(A.d, B.x, 0) > 12",
    "sqrt(A.d * A.d + B.d * B.d) < 15", "nullif(A.v, B.v) IS NOT NULL AND if(A.v < B.v, A.d, B.x) > 10",
    "round(A.x / B.x, 2) = 0.91", "round(A.x * B.x) > 110", "bround(A.x / 4 + B.v, 1) = 13.5",
    "round(float(A.x) / float(B.x), 3) < 0.91", "sqrt(pow(B.x - A.x, 2) + power(B.v - A.v, 2)) > 2",
)  # fmt: skip
#: What the interpreter does, and the search.
INTERPRETED = ("A.s || B.s = 'n1n2'", "B.s LIKE A.s || '%' OR A.v < B.v", "round(A.x * B.x, -1) = 110")
TEXTS = """SELECT * FROM VALUES
    (1, 1, '10', 10, 10.50, 10.5D, CAST(1.1 AS FLOAT), '2024-01-01', DATE '2024-01-01', TIMESTAMP '2024-01-01 10:00:00',
        true, 'true', 16777217, 9007199254740993L),
    (1, 2, ' 9 ', 9, 9.25, 9.25D, CAST(1.1 AS FLOAT), '2024-01-02', DATE '2024-01-03', TIMESTAMP '2024-01-02 10:00:00',
        false, 'true', 16777216, 3L),
    (1, 3, NULL, 9, NULL, 9.25D, CAST(16777216 AS FLOAT), '2024-01-05', NULL, TIMESTAMP '2024-01-05 00:00:00',
        NULL, 'false', 16777217, 4L),
    (1, 4, '12', NULL, 12.00, NULL, NULL, NULL, DATE '2024-01-05', NULL, true, NULL, 5, 16777217L),
    (1, 5, '100', 100, 99.99, 1e2D, CAST(100 AS FLOAT), '2024-01-04', DATE '2024-01-04',
        TIMESTAMP '2024-01-05 00:00:00', true, 'false', 1, 16777217L),
    (1, 6, '7', 100, 100.00, 7D, CAST(7 AS FLOAT), '2024-02-04', DATE '2024-01-04', TIMESTAMP '2024-01-05 00:00:00',
        false, 't', 16777216, 16777217L)
    AS t(k, i, t, v, m, x, f, dt, d, ts, b, bt, j, l)"""
#: Values of different types, of which Spark casts one or both.
CASTS = (
    "B.v > A.t", "B.t = A.v - 1", "A.t <=> B.v", "B.x > A.t", "B.m < A.t", "A.f < B.t", "B.t > A.v + 1",
    "B.t + A.v > 19",
    "B.v - A.t > 0", "B.t * 2 > A.v", "B.t / A.v > 1", "B.t % A.v = 9", "abs(B.t - A.v) < 2", "-A.t < B.v",
    "abs(A.t) + B.v > 20", "A.t IN (B.v, 10)", "B.v IN (A.t, A.m, 9)", "coalesce(A.t, B.v) > 9",
    "coalesce(B.v, A.t) > '1'", "coalesce(A.t, B.m, 1) > 9", "coalesce(A.x, B.t) = 9.25",
    "CASE WHEN A.i > 2 THEN B.t ELSE A.v END > 8", "CASE A.t WHEN B.v + 1 THEN true ELSE false END", "B.d > A.dt",
    "A.dt <= B.ts", "B.dt = date_add(A.d, 1)", "datediff(B.dt, A.dt) = 1", "datediff(B.dt, A.ts) > 0",
    "A.d IN (B.dt, '2024-01-03')",
    "coalesce(A.d, B.dt) > '2024-01-02'", "least(A.d, B.d) = '2024-01-01'", "A.bt = B.b", "A.t || B.v = '109'",
    "concat(A.v, B.t) LIKE '%9%'", "A.m || '-' || B.d LIKE '10%'", "B.v LIKE A.t || '%'",
    "concat(A.x, B.f) = '10.51.1'",
    "A.v + B.v > '19'", "A.v BETWEEN B.t AND '100'", "nullif(A.t, B.v) IS NULL", "if(A.i > 2, B.t, A.v) > 50",
    "A.f < B.v", "A.f + 1 = B.l", "A.f + B.v > 11", "A.f * B.j > 1", "A.j - B.f = 0", "A.f / B.v > 0.1",
    "A.f % B.v = 0",
    "A.f IN (B.l - 1, 2)", "coalesce(A.f, B.l) > 100", "coalesce(A.l, B.f) = 16777217", "A.l <= B.f", "A.f < B.v + 1",
    "A.f + A.f = B.f + float(1.1)", "A.f * B.f > 1.21", "A.f / B.f = 1", "B.f % A.f < 1", "-A.f < abs(B.f)",
    "A.f + float(B.j) = 16777220", "coalesce(A.f, B.f) * A.f > 100",
    "greatest(A.f, B.j) = 16777216", "A.f + B.f > A.v", "nullif(B.f, A.j) IS NULL", "A.v IN (B.t, 10)",
    "concat_ws('-', A.v, B.t) = '10- 9 '", "A.dt > B.d - INTERVAL 1 DAY",
    "B.d > A.d + 1", "B.d - 2 = A.d", "A.d + (B.i - 1) < B.d", "A.i + B.d > B.d + 1", "A.v div (B.i - 1) > 3",
    "A.i IS DISTINCT FROM (B.i - 1) OR A.v IS DISTINCT FROM (B.v + 1)",
)  # fmt: skip
#: The same, where Spark refuses one of the modes.
ANSI_CASTS = ("B.t div A.v = 1", "B.x IN (A.t, B.v)", "B.ts - A.dt > INTERVAL 1 DAY", "B.d - A.dt > INTERVAL 1 DAY")
NO_ANSI_CASTS = ("A.f = B.l", "A.f IN (B.l, 2)", "B.t - A.t > 0", "A.t + B.t > 20", "A.t * A.t > B.t")


# Europe/Berlin: the clock goes forward between the second and the third event.
@pytest.mark.full
@pytest.mark.parametrize("zone", [pytest.param("UTC", marks=pytest.mark.long), "Europe/Berlin"])
def test_neighbours(spark: SparkSession, zone: str) -> None:
    with configured(spark, {"spark.sql.session.timeZone": zone}):
        spark.sql(EVENTS).createOrReplaceTempView("cel_events")
        check(spark, COMPILED + INTERPRETED)


@pytest.mark.full
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_values_of_different_types(spark: SparkSession, ansi: str) -> None:
    with configured(spark, {"spark.sql.ansi.enabled": ansi, "spark.sql.session.timeZone": "UTC"}):
        spark.sql(TEXTS).createOrReplaceTempView("cel_events")
        check(spark, CASTS + (ANSI_CASTS if ansi == "true" else NO_ANSI_CASTS))


def check(spark: SparkSession, conditions: Sequence[str]) -> None:
    """Each condition holds somewhere, and where `lag` says, over the view `cel_events`."""
    found = [
        sorted(
            tuple(row)
            for row in spark.sql(
                " UNION ALL ".join(
                    f"SELECT {n} AS n, b FROM ({form(c, 'cel_events', 'i')})" for n, c in enumerate(conditions)
                )
            ).collect()
        )
        for form in (by_lag, clause, block)
    ]
    expected, clauses, blocks = found
    assert [c for n, c in enumerate(conditions) if n not in {n for n, _ in expected}] == []
    assert clauses == expected
    assert blocks == expected


@pytest.mark.full
@pytest.mark.parametrize("form", [clause, block])
def test_where_they_run(spark: SparkSession, form) -> None:
    assert slow(spark, EVENTS, COMPILED + INTERPRETED, form) == list(INTERPRETED)


@pytest.mark.full
@pytest.mark.parametrize("form", [clause, block])
def test_where_casts_run(spark: SparkSession, form) -> None:
    expected = [c for c in CASTS + ANSI_CASTS if re.search(r"concat|\|\||A.d \+ \(B|A.i \+ B.d", c)]
    assert slow(spark, TEXTS, CASTS + ANSI_CASTS, form) == expected


def slow(spark: SparkSession, events: str, conditions: Sequence[str], form) -> list[str]:
    """The conditions that the kernel has not."""
    spark.sql(events).createOrReplaceTempView("cel_events")
    return [c for c in conditions if re.search("by the interpreter|reference search|by definition", str(
        spark.sql(f"EXPLAIN {form(c, 'cel_events', 'i')}").collect()))]  # fmt: skip
