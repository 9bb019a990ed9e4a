"""From the event to the row: patterns over a stream, a stream that only filters, and Spark's own count by window.

10,000 events a second in files of a tenth of a second, 1,000 keys, in order of time; watermark without delay. The time
of a row is that of its last event, of an absence the end of WITHIN, of a count the window's end. Its latency ends when
the row is in the driver's memory.
"""

from __future__ import annotations

import os
import shutil
import statistics
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from benchmarks.generate import DATA
from benchmarks.harness import RESULTS
from benchmarks.spark import SETTINGS_NOTE, spark_session

EVENTS_A_SECOND, FILES_A_SECOND, KEYS = 10_000, 10, 1_000
#: Seconds of each run, of which the first ones warm it up.
SECONDS, WARM_UP = 60, 20
STATEMENTS = {
    "filter": "SELECT ts FROM latency_log WHERE e = 'B'",
    "count": "SELECT window.end AS ts FROM (SELECT window(ts, '1 second') AS window, k, count(*) FROM latency_log "
    "GROUP BY window(ts, '1 second'), k)",
    "pattern": "FROM latency_log PARTITION BY k ORDER BY ts EVENT TYPE e PATTERN SEQ(A a, B b) "
    "WITHIN 1 second RETURN b.ts AS ts",
    "absence": "FROM latency_log PARTITION BY k ORDER BY ts EVENT TYPE e PATTERN SEQ(A a, !B x) "
    "WITHIN 1 second RETURN a.ts + INTERVAL 1 SECOND AS ts",
}
TRIGGERS = ("0 seconds", "1 second")


@dataclass
class Latencies:
    """Seconds of each row, and of each micro-batch."""

    rows: list[float] = field(default_factory=list)
    batches: list[float] = field(default_factory=list)


def write_events(folder: Path, stop: threading.Event) -> None:
    """Write a file of events every tenth of a second; each appears whole."""
    rng = np.random.default_rng(7)
    count = EVENTS_A_SECOND // FILES_A_SECOND
    number, due = 0, time.time()
    while not stop.is_set():
        due += 1 / FILES_A_SECOND
        time.sleep(max(0.0, due - time.time()))
        times = (due * 1e6 - np.linspace(1e6 / FILES_A_SECOND, 0, count, endpoint=False)).astype(np.int64)
        table = pa.table(
            {"k": rng.integers(0, KEYS, count), "ts": pa.array(times).cast(pa.timestamp("us", "UTC")),
             "e": rng.choice(["A", "B", "C"], count)}
        )  # fmt: skip
        path = folder / f".{number:06}.parquet"
        pq.write_table(table, path)
        path.rename(folder / path.name.removeprefix("."))
        number += 1


def measure(spark: SparkSession, statement: str, trigger: str, seconds: int) -> Latencies:
    """One run over events as they come."""
    folder, checkpoint = DATA / "latency", DATA / "latency_checkpoint"
    for place in (folder, checkpoint):
        shutil.rmtree(place, ignore_errors=True)
    folder.mkdir(parents=True)
    found = Latencies()
    begin = time.time()

    def taken(rows: DataFrame, number: int) -> None:
        times = rows.toArrow().column("ts").cast(pa.int64()).to_numpy() / 1e6
        now = time.time()
        if now - begin > WARM_UP:
            found.rows += (now - times).tolist()

    stream = spark.readStream.schema("k long, ts timestamp, e string").parquet(str(folder))
    stream.withWatermark("ts", "0 seconds").createOrReplaceTempView("latency_log")
    stop = threading.Event()
    writer = threading.Thread(target=write_events, args=(folder, stop))
    writer.start()
    query = (
        spark.sql(statement).writeStream.foreachBatch(taken).option("checkpointLocation", str(checkpoint))
        .trigger(processingTime=trigger).start()
    )  # fmt: skip
    try:
        query.awaitTermination(seconds)
        if (failed := query.exception()) is not None:
            raise failed
    finally:
        stop.set()
        writer.join()
        query.stop()
    took = [p["durationMs"]["triggerExecution"] / 1000 for p in query.recentProgress if p["numInputRows"]]
    found.batches = took[len(took) * WARM_UP // seconds :]
    return found


def main(quick: bool) -> None:
    """Write the result."""
    lines = []
    with spark_session({}) as spark:
        for trigger in TRIGGERS:
            beside = None
            for name, statement in STATEMENTS.items():
                found = measure(spark, statement, trigger, WARM_UP + 10 if quick else SECONDS)
                rows = sorted(found.rows)
                median, high = statistics.median(rows), rows[int(0.99 * len(rows))]
                beside = beside or median
                lines.append(
                    f"| {name}, {trigger} | {median:.2f} | {high:.2f} | {median / beside:.2f} | "
                    f"{statistics.median(found.batches):.2f} |"
                )
                print(lines[-1], flush=True)
    folder = DATA / "quick" if quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    text = f"""# Latency

{(__doc__ or "").strip()}

| statement, trigger | latency, median seconds | 99 % | median / filter's | micro-batch, median seconds |
|---|--:|--:|--:|--:|
{chr(10).join(lines)}

{SETTINGS_NOTE} {os.cpu_count()} cores; load average at the end {os.getloadavg()[0]:.1f}.
"""
    (folder / "latency.md").write_text(text)
    print(text)
