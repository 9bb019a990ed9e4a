"""What docs/streaming.md recommends for streams on which nothing comes, and for rows from the future."""

from __future__ import annotations

import datetime as dt
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ..conftest import IS_CONNECT
from .test_streaming_queries import BLOCK, SCHEMA, Log, run

pytestmark = pytest.mark.full
ABSENCE = BLOCK + "PATTERN SEQ(A a, B b, !C c) WITHIN {} seconds RETURN a.id AS a, b.id AS b"
#: Seconds from 2024 to 2040.
FUTURE = 16 * 366 * 86400


@pytest.mark.parametrize(
    ("guard", "expected"), [("true", []), ("ts <= current_timestamp() + INTERVAL 1 HOUR", [(2, 3)])]
)
def test_a_row_from_the_future(
    spark: SparkSession, tmp_path: Path, guard: str, expected: list[tuple[int, int]]
) -> None:
    log = Log(spark, tmp_path / "in")
    log.add([(2, FUTURE, "A", 1, 1)])
    for row in ((1, 0, "A", 1, 2), (1, 5, "B", 1, 3), (9, 900, "D", 1, 4), (9, 999, "D", 1, 5)):
        log.add([row])
    files = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    files.where(guard).withWatermark("ts", "12 seconds").createOrReplaceTempView("quiet_stream")
    _, found = run(spark.sql(ABSENCE.format("quiet_stream", 20)), tmp_path)
    assert [tuple(row) for row in found] == expected


@pytest.mark.skipif(IS_CONNECT, reason="what a source gives does not depend on the kind of session")
def test_heartbeats_decide_an_absence(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing comes behind the events. What is open is decided all the same."""
    since = (dt.datetime.now(dt.UTC) - dt.datetime(2024, 1, 1, tzinfo=dt.UTC)).total_seconds()
    Log(spark, tmp_path / "in").add([(1, since, "A", 1, 1), (1, since, "B", 1, 2)])
    files = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "in"))
    beats = spark.readStream.format("rate").load().selectExpr("timestamp AS ts")
    both = files.unionByName(beats, allowMissingColumns=True)
    both.withWatermark("ts", "1 second").createOrReplaceTempView("quiet_stream")
    found = spark.sql(ABSENCE.format("quiet_stream", 3))
    writer = found.writeStream.format("memory").queryName("quiet_found").trigger(processingTime="500 milliseconds")
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        until = time.monotonic() + 90
        while time.monotonic() < until and not spark.table("quiet_found").collect():
            time.sleep(0.5)
        assert [tuple(row) for row in spark.table("quiet_found").collect()] == [(1, 2)]
        kept = query.lastProgress["observedMetrics"]
        assert [list(row)[:2] for row in kept.values()] == [[0, 0]]
    finally:
        query.stop()
