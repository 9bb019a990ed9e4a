"""Conditions between two events, in a clause and in a block, hold for the neighbours that Spark's own `lag` says."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import SparkSession

from .neighbours import block, by_lag, clause
from .test_modes import conf

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
)  # fmt: skip
#: What the interpreter does, and the search.
INTERPRETED = ("A.s || B.s = 'n1n2'", "B.s LIKE A.s || '%' OR A.v < B.v", "round(A.x / B.x, 2) = 0.91")


# Europe/Berlin: the clock goes forward between the second and the third event.
@pytest.mark.full
@pytest.mark.parametrize("zone", [pytest.param("UTC", marks=pytest.mark.long), "Europe/Berlin"])
def test_neighbours(spark: SparkSession, zone: str) -> None:
    conditions = COMPILED + INTERPRETED
    with conf(spark, **{"spark.sql.session.timeZone": zone}):
        spark.sql(EVENTS).createOrReplaceTempView("cel_events")
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
    assert {n for n, _ in expected} == set(range(len(conditions)))
    assert clauses == expected
    assert blocks == expected


@pytest.mark.full
@pytest.mark.parametrize("form", [clause, block])
def test_where_they_run(spark: SparkSession, form) -> None:
    spark.sql(EVENTS).createOrReplaceTempView("cel_events")
    slow = [c for c in COMPILED + INTERPRETED if re.search("by the interpreter|reference search|by definition", str(
        spark.sql(f"EXPLAIN {form(c, 'cel_events', 'i')}").collect()))]  # fmt: skip
    assert slow == list(INTERPRETED)
