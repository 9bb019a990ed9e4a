"""The same rows whatever the layout, the number of shuffle partitions, AQE, or the table's bucketing."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ..conftest import every

TABLE = "layout_events"
LAYOUT, LAYOUTS = "spark.sparkcep.exec.layout", ("lists", "rows")
KEYS = {
    "spark.sql.shuffle.partitions": ("1", "7"),
    "spark.sql.adaptive.enabled": ("true", "false"),
    "spark.sparkcep.planner.gapElimination.enabled": ("false",),
    "spark.sparkcep.planner.joinPrefilter.enabled": ("false",),
}

CLAUSES = {
    "independent": """MEASURES FIRST(id) AS a, LAST(B.id, 1) AS b, count(*) AS n, CLASSIFIER() AS c
        AFTER MATCH SKIP TO NEXT ROW PATTERN (A B{2,3}? C*) DEFINE A AS e = 'x', B AS e <> 'z', C AS e = 'z'""",
    "neighbours": """MEASURES MATCH_NUMBER() AS m, CLASSIFIER() AS c, PREV(v, 2) AS p, NEXT(B.v) AS nx
        ALL ROWS PER MATCH PATTERN (A B+ {- C -}?)
        DEFINE B AS v < PREV(v) AND (e <> 'z' OR NEXT(v + 1) IS NULL), C AS v > PREV(v, 1)""",
    "dependent": """MEASURES sum(B.v) AS s, FINAL array_agg(e) AS es, MATCH_NUMBER() AS m
        ALL ROWS PER MATCH PATTERN (A B* C?) DEFINE B AS v + A.v > avg(B.v) AND e >= A.e, C AS v > LAST(B.v, 1)""",
    "unmatched": """MEASURES MATCH_NUMBER() AS m, min(v) AS lo ALL ROWS PER MATCH WITH UNMATCHED ROWS
        PATTERN (A+ B | B A) WITHIN INTERVAL 3 HOURS DEFINE A AS e = 'x', B AS e = 'y'""",
    "empty": """MEASURES MATCH_NUMBER() AS m, LAST(v) AS v1, count(*) AS n ALL ROWS PER MATCH
        PATTERN (A*? B*) DEFINE A AS e = 'x', B AS v > 50""",
}


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> Iterator[SparkSession]:
    """400 rows in 23 cases, with ties in the order, bucketed by the key."""
    rng = random.Random(5)
    rows = [
        (rng.randrange(23), i, rng.randrange(12), rng.choice("xyz"), rng.choice([None, *range(100)]))
        for i in range(400)
    ]
    frame = spark.createDataFrame(rows, "k int, id int, hour int, e string, v int").selectExpr(
        "k", "id", "timestamp_seconds(hour * 3600) AS ts", "e", "v"
    )
    frame.createOrReplaceTempView(TABLE)
    spark.sql(f"DROP TABLE IF EXISTS {TABLE}_bucketed")
    frame.write.bucketBy(4, "k").saveAsTable(f"{TABLE}_bucketed")
    yield spark
    spark.sql(f"DROP TABLE {TABLE}_bucketed")
    spark.catalog.dropTempView(TABLE)


def run(spark: SparkSession, table: str, clause: str, **settings: str) -> Counter[Any]:
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        text = f"SELECT * FROM {table} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts {clause})"
        frame = spark.sql(text)
        return Counter(tuple(tuple(v) if isinstance(v, list) else v for v in row) for row in frame.collect())
    finally:
        for key in settings:
            spark.conf.unset(key)
        spark.conf.set("spark.sql.shuffle.partitions", "2")


@pytest.mark.full
@pytest.mark.parametrize("name", every(2, CLAUSES))
def test_same_rows(events: SparkSession, name: str) -> None:
    clause = CLAUSES[name]
    expected = run(events, TABLE, clause)
    assert sum(expected.values()) > 30
    for layout in LAYOUTS:
        assert run(events, TABLE, clause, **{LAYOUT: layout}) == expected, layout
        assert run(events, f"{TABLE}_bucketed", clause, **{LAYOUT: layout}) == expected, f"bucketed, {layout}"


@pytest.mark.full
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "independent" else pytest.mark.long) for name in CLAUSES]
)
def test_same_rows_whatever_is_set(events: SparkSession, name: str) -> None:
    expected = run(events, TABLE, CLAUSES[name])
    for key, values in KEYS.items():
        for value in values:
            assert run(events, TABLE, CLAUSES[name], **{key: value}) == expected, (key, value)


def test_partitions_are_stitched_across_arrow_batches(events: SparkSession) -> None:
    """A partition longer than an Arrow batch is one partition."""
    events.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
    try:
        for name in ("independent", "dependent"):
            expected = run(events, TABLE, CLAUSES[name], **{"spark.sparkcep.exec.layout": "lists"})
            assert run(events, TABLE, CLAUSES[name], **{"spark.sparkcep.exec.layout": "rows"}) == expected
    finally:
        events.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "10000")


def test_filters_on_keys_reach_the_input(events: SparkSession) -> None:
    text = f"SELECT * FROM {TABLE}_bucketed MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts PATTERN (A)) WHERE k = 3"
    plan = events.sql("EXPLAIN " + text).collect()[0][0]
    assert "EqualTo(k,3)" in plan


@pytest.mark.full
def test_one_match_of_a_hundred_thousand_rows(events: SparkSession) -> None:
    text = """SELECT n, last_id FROM (SELECT 1 AS k, id FROM range(100000)) MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY id MEASURES LAST(id) AS last_id, count(*) AS n PATTERN ((A+)+ B) DEFINE B AS id > 0)"""
    assert [tuple(r) for r in events.sql(text).collect()] == [(100_000, 99_999)]
