"""No warning where constraints can be met together, or where that cannot be told; and where a warning is shown."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.errors import PatternWarning

LOG = """SELECT 1 AS k, TIMESTAMP'2024-01-01 00:00:00' + make_dt_interval(0, 0, m) AS ts, e
FROM VALUES (0, 'A'), (4, 'B'), (9, 'C') AS t(m, e)"""


@pytest.mark.parametrize(
    ("order", "pattern"),
    [
        ("ts", "PATTERN SEQ(A a, B b) WHERE (time, atleast, 10 minutes, 1, 2) WITHIN 600"),
        ("ts", "PATTERN SEQ(A a, B b) WHERE b.ts <= a.ts"),  # equal times are in order
        ("ts DESC", "PATTERN SEQ(A a, B b) WHERE b.ts < a.ts"),
        ("ts", "PATTERN SEQ(A a, B? b, C c) WHERE b.ts < a.ts"),  # b may not be there
        ("ts", "PATTERN SEQ(A a, (B b | C c)) WHERE b.ts < a.ts"),
        ("ts", "PATTERN SEQ(A a, B+ b[], C c) WHERE c.ts - a.ts > INTERVAL 2 MINUTES WITHIN 2 minutes 1 second"),
        ("ts", "PATTERN SEQ(A a, B b) WHERE b.ts < a.ts OR b.k > 1"),
        ("ts", "PATTERN SEQ(A a, B b) WHERE b.ts > a.ts + INTERVAL 2 MONTHS WITHIN 1 day"),
    ],
)
def test_nothing_is_said(spark: SparkSession, order: str, pattern: str) -> None:
    told = sparkcep.explain(spark, f"FROM ({LOG}) PARTITION BY k ORDER BY {order} EVENT TYPE e {pattern}")
    assert "Warning" not in told


def test_a_query_warns(spark: SparkSession) -> None:
    """It is answered all the same."""
    block = f"FROM ({LOG}) PARTITION BY k ORDER BY ts EVENT TYPE e PATTERN SEQ(A a, B b) WHERE b.ts < a.ts"
    with pytest.warns(PatternWarning, match=r"b\.ts < a\.ts contradicts the order of the pattern"):
        assert spark.sql(block).collect() == []
