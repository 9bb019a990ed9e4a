"""sparkcep.follow_rules: rules come, go and are wrong for a while, and the stream goes on."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

import sparkcep
from sparkcep.errors import SparkCepError

from ..conftest import IS_CONNECT
from .test_streaming_queries import SCHEMA, Log

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(IS_CONNECT, reason="a session's own thread has it; the restart is the same"),
]
PAIR = "PATTERN SEQ({}) WITHIN 20 seconds"


def waited(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + 120
    while time.monotonic() < until and not condition():
        time.sleep(0.2)
    return condition()


def test_rules_change_while_the_query_runs(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder, out = tmp_path / "rules", tmp_path / "out"
    folder.mkdir()
    (folder / "ab.sql").write_text(PAIR.format("A a, B b"))
    log = Log(spark, tmp_path / "in")
    files = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "in"))
    files.withWatermark("ts", "1 second").createOrReplaceTempView("followed")
    queries: list[StreamingQuery] = []

    def start() -> StreamingQuery:
        log = "TABLE(followed) PARTITION BY k ORDER BY ts"
        found = spark.sql(f"SELECT rule, start_time FROM pattern_rules({log}, rules => '{folder}', event_type => e)")
        writer = found.writeStream.trigger(processingTime="200 milliseconds")
        queries.append(writer.option("checkpointLocation", str(tmp_path / "cp")).start(str(out), format="parquet"))
        return queries[-1]

    def found() -> list[str]:
        rows = (
            spark.read.schema("rule string, start_time timestamp").parquet(str(out)).collect() if out.exists() else []
        )
        return sorted(row.rule for row in rows)

    follower = Thread(target=lambda: sparkcep.follow_rules(start, str(folder), seconds=0.5))
    with caplog.at_level(logging.INFO, "sparkcep"):
        follower.start()
        assert waited(lambda: bool(queries))
        log.add([(1, 0, "A", 1, 1)])
        assert waited(lambda: any(p["numInputRows"] for p in queries[-1].recentProgress))
        # A match that has begun ends behind the restart; the new rule sees what comes behind it.
        (folder / "bc.sql").write_text(PAIR.format("B b, C c"))
        assert waited(lambda: len(queries) == 2)
        log.add([(1, 3, "B", 1, 2), (1, 5, "C", 1, 3), (9, 60, "D", 1, 4)])
        log.add([(9, 61, "D", 1, 5)])
        assert waited(lambda: found() == ["ab", "bc"])
        for file in folder.iterdir():
            file.unlink()
        assert waited(lambda: "cannot be read" in caplog.text)
        caplog.clear()
        (folder / "ab.sql").write_text("PATTERN SEQ(A a, B b")
        assert waited(lambda: "cannot be read" in caplog.text)
        assert queries[-1].isActive and len(queries) == 2
        # None of them can run: the query waits for others.
        (folder / "ab.sql").write_text("PATTERN SEQ(A a, B b)")
        assert waited(lambda: "cannot be started" in caplog.text)
        (folder / "ab.sql").write_text(PAIR.format("A a, B b"))
        assert waited(lambda: len(queries) == 3)
        log.add([(1, 70, "A", 1, 6), (1, 71, "B", 1, 7), (1, 72, "C", 1, 8), (9, 160, "D", 1, 9)])
        log.add([(9, 161, "D", 1, 10)])
        assert waited(lambda: found() == ["ab", "ab", "bc"])
        assert "goes on with 1 rules" in caplog.text
        queries[-1].stop()
        follower.join(60)
    assert not follower.is_alive() and not any(query.isActive for query in queries)


def test_what_cannot_be_started(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(SparkCepError, match="CEP_RULES"):
        sparkcep.follow_rules(lambda: pytest.fail("starts"), str(tmp_path / "none"))
    with pytest.raises(SparkCepError, match="has no column rule"):
        sparkcep.follow_rules(lambda: pytest.fail("starts"), lambda: spark.sql("SELECT 'a' AS name"))
