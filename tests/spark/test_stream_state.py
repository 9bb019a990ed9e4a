"""pattern_stream_state: what a stream keeps, read from its checkpoint."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sparkcep.errors import PatternAnalysisError
from sparkcep.settings import STREAM_OPERATOR
from sparkcep.spark.releases import RELEASE

from ..conftest import configured
from .test_streaming_queries import BLOCK, Log, run

ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
STATE = "SELECT * EXCEPT (bytes, rules), bytes > 1000 AS large FROM pattern_stream_state('{}/checkpoint')"
NO_PARTITIONS = {"spark.sql.shuffle.partitions": "1", "spark.sparkcep.streaming.buckets": "1"}


def second(number: int) -> dt.datetime:
    return dt.datetime(2024, 1, 1) + dt.timedelta(seconds=number)


@pytest.mark.parametrize("operator", ["state", "transform"])
def test_what_is_kept(spark: SparkSession, tmp_path: Path, operator: str) -> None:
    if operator == "transform" and RELEASE < (4, 1):
        pytest.skip("needs Spark 4.1")
    log = Log(spark, tmp_path / "in")
    # The watermark is 12 seconds behind: at 48 after all, and at 28 in the last batch. Of key 2 nothing is open.
    log.add([(1, 0, "A", 1, 1), (2, 2, "B", 1, 2), (3, 40, "A", 1, 3)])
    log.add([(3, 50, "B", 1, 4), (4, 60, "D", 1, 5)])
    log.views()
    text = BLOCK + "PATTERN SEQ(A a, B b, !C c) WITHIN 20 seconds RETURN a.id AS a"
    settings = {STREAM_OPERATOR.key: operator, "spark.sql.session.timeZone": "UTC", **NO_PARTITIONS}
    if operator == "transform":
        settings["spark.sql.streaming.stateStore.providerClass"] = ROCKS
    with configured(spark, settings):
        run(spark.sql(text.format("sq_stream")), tmp_path)
        (row,) = spark.sql(STATE.format(tmp_path)).collect()
        assert row.asDict() == {
            "operator": 0, "bucket": 0, "partitions": 1, "rows": 2, "earliest": second(40), "latest": second(50),
            "matched_to": second(48), "wakes_at": row.wakes_at, "large": True,
        }  # fmt: skip
        # B has come, and is looked at when the watermark reaches it.
        assert row.wakes_at == second(50) - dt.timedelta(milliseconds=1)
        total = spark.sql(f"SELECT sum(rows) AS n FROM pattern_stream_state(checkpoint => '{tmp_path}/checkpoint')")
        assert total.collect()[0].n == 2


@pytest.mark.full
@pytest.mark.parametrize(
    ("keys", "partitions"),
    [
        ("", 1),
        ("PARTITION BY k, e", 3),
        ("PARTITION BY struct(k AS x, array(e) AS y)", 3),
        ("PARTITION BY nullif(k, 1)", 2),
    ],
)
def test_partitions_of_other_keys(spark: SparkSession, tmp_path: Path, keys: str, partitions: int) -> None:
    log = Log(spark, tmp_path / "in")
    log.add([(1, 1, "A", 1, 1), (1, 2, "B", 1, 2), (3, 3, "A", 1, 3), (3, 3, "A", 1, 4)])
    log.views()
    text = f"FROM sq_stream {keys} ORDER BY ts EVENT TYPE e PATTERN SEQ(A a, B b) WITHIN 20 seconds RETURN a.id AS a"
    with configured(spark, NO_PARTITIONS):
        run(spark.sql(text), tmp_path)
        (row,) = spark.sql(STATE.format(tmp_path)).collect()
    assert (row.partitions, row.rows) == (partitions, 4)


def test_what_a_rule_set_keeps(spark: SparkSession, tmp_path: Path) -> None:
    log = Log(spark, tmp_path / "in")
    log.add([(1, 0, "A", 1, 1), (3, 40, "A", 1, 3), (5, 41, "A", 1, 4)])
    log.views()
    rules = "SELECT * FROM VALUES ('one', 'PATTERN SEQ(A a, B b) WITHIN 20 seconds') AS r(name, rule)"
    with configured(spark, NO_PARTITIONS):
        found = spark.sql(
            f"""SELECT rule, end_time FROM pattern_rules(TABLE(sq_stream) PARTITION BY k ORDER BY ts,
                rules => TABLE({rules}), event_type => e)"""
        )
        run(found, tmp_path)
        (row,) = spark.sql(STATE.format(tmp_path)).collect()
        assert (row.rows, row.bucket, row.operator) == (2, 0, 0)
        assert row.partitions >= 2


def test_what_rules_have_cost(spark: SparkSession, tmp_path: Path) -> None:
    """Counted on across restarts; of a rule that comes anew from there."""
    log = Log(spark, tmp_path / "in")
    log.views()
    rules = {"ab": "PATTERN SEQ(A a, B b) WITHIN 20 seconds", "b": "PATTERN SEQ(B b) WITHIN 20 seconds"}
    called = "pattern_rules(TABLE(sq_stream) PARTITION BY k ORDER BY ts, rules => TABLE(costly), event_type => e)"
    text = f"""SELECT r.rule, sum(r.rows) AS rows, sum(r.matches) AS matches, sum(r.microseconds) > 0 AS took
        FROM pattern_stream_state('{tmp_path}/checkpoint') LATERAL VIEW explode(rules) AS r GROUP BY 1 ORDER BY 1"""
    found = []
    with configured(spark, NO_PARTITIONS):
        for step in range(3):
            start = 100 * step
            log.add(
                [(1, start, "A", 1, 1), (2, start, "C", 1, 2), (1, start + 5, "B", 1, 3), (3, start + 5, "B", 1, 4)]
            )
            log.add([(4, start + 60, "D", 1, 5)])
            # The watermark goes on behind these.
            log.add([(4, start + 61, "D", 1, 5)])
            names = ["ab", "b"] if step == 1 else ["ab"]
            spark.createDataFrame([(n, rules[n]) for n in names], "name string, rule string").createOrReplaceTempView(
                "costly"
            )
            run(spark.sql(f"SELECT rule, end_time FROM {called}"), tmp_path)
            found.append({rule: (matches, took) for rule, rows, matches, took in spark.sql(text).collect() if rows})
    assert found == [{"ab": (1, True)}, {"ab": (2, True), "b": (2, True)}, {"ab": (3, True)}]


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("'{}/nowhere'", "There is no state of a pattern at"),
        ("'{}/other'", "There is no state of a pattern at"),
        ("7", "it must be a path"),
    ],
)
def test_no_pattern_there(spark: SparkSession, tmp_path: Path, argument: str, said: str) -> None:
    log = Log(spark, tmp_path / "in")
    log.add([(1, 0, "A", 1, 1)])
    log.views()
    query = spark.table("sq_stream").dropDuplicates(["id", "ts"]).writeStream.format("parquet")
    query = query.option("checkpointLocation", str(tmp_path / "other")).trigger(availableNow=True)
    query.start(str(tmp_path / "out")).awaitTermination(300)
    text = f"SELECT * FROM pattern_stream_state({argument.format(tmp_path)})"
    with pytest.raises(PatternAnalysisError, match=said) as caught:
        spark.sql(text)
    assert caught.value.error_class == "CEP_TABLE_FUNCTION_ARGUMENT"
    assert caught.value.position == text.index("(") + 1
