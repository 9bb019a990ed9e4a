"""A warning where conditions of a large input are not compiled."""

from __future__ import annotations

import warnings

import pytest
from pyspark.sql import SparkSession

from sparkcep.errors import PatternWarning

#: What Spark estimates of a range: eight bytes a row.
EVENTS = "SELECT id % 1000 AS k, id AS t, CASE id % 2 WHEN 0 THEN 'A' ELSE 'B' END AS e, CAST(id AS STRING) AS s"
BLOCK = "PARTITION BY k ORDER BY t EVENT TYPE e PATTERN SEQ(A a, B b) WHERE"
CLAUSE = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY t PATTERN (A B) DEFINE B AS"
FRAME = "PARTITION BY k ORDER BY t ROWS BETWEEN CURRENT ROW AND 5 FOLLOWING PATTERN (A B) DEFINE B AS"
SLOW = {
    "block": f"FROM {{events}} {BLOCK} b.s LIKE concat(a.s, '%')",
    "clause": f"SELECT * FROM {{events}} {CLAUSE} B.s LIKE concat(A.s, '%'))",
    "window": f"SELECT count(*) OVER ({FRAME} B.s LIKE concat(A.s, '%')) AS n FROM {{events}}",
}
FAST = {
    "block": f"FROM {{events}} {BLOCK} b.s > a.s",
    "clause": f"SELECT * FROM {{events}} {CLAUSE} B.s > A.s)",
    "window": f"SELECT count(*) OVER ({FRAME} B.s > A.s) AS n FROM {{events}}",
}


@pytest.mark.full
@pytest.mark.parametrize("form", SLOW)
def test_large_input(spark: SparkSession, form: str) -> None:
    events = f"({EVENTS} FROM range(50000000))"
    with pytest.warns(PatternWarning, match="MiB of events are evaluated .*by the interpreter") as told:
        spark.sql(SLOW[form].replace("{events}", events))
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", PatternWarning)
        spark.sql(FAST[form].replace("{events}", events))
        spark.sql("EXPLAIN " + SLOW[form].replace("{events}", events))
        spark.sql(SLOW[form].replace("{events}", f"({EVENTS} FROM range(1000))"))
