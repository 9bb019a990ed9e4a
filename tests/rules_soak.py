"""A rule set over a stream for an hour, with late rows, idle keys and rules that change: nothing is lost or doubled.

``python -m tests.rules_soak [minutes] [rows a second] [seed]``; part of ``make test-long``. A file comes each second;
one row in a hundred comes far too late. Most keys have a few events and are idle then. Every two minutes a rule
changes, and the query is restarted from its checkpoint. What the rules that stay have found is compared with the same
rules over all rows that were not too late.
"""

from __future__ import annotations

import datetime as dt
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import sparkcep

STAY = {
    "pair": "PATTERN SEQ(A a, B b) WHERE b.v >= a.v WITHIN 30 seconds",
    "absent": "PATTERN SEQ(A a, !(B|C) n, D d) WITHIN 40 seconds MATCHES NON OVERLAPPING",
    "ends": "PATTERN SEQ(A a, B b, !C c) WITHIN 20 seconds",
    "seldom": "-- suppress: 1 minute\nPATTERN SEQ(A a, B b) WITHIN 30 seconds",
    "run": "MATCH_RECOGNIZE (PATTERN (A B+) WITHIN INTERVAL 30 SECONDS "
    "DEFINE A AS e = 'A', B AS e = 'B' AND v >= PREV(v))",
}
CHANGES = "PATTERN SEQ(A a, C c) WHERE c.v > {} WITHIN {} seconds"
SCHEMA = "k bigint, ts timestamp, e string, v int, id bigint"
TEXT = (
    "SELECT rule, k, start_time, end_time, match_id FROM pattern_rules("
    "TABLE({}) PARTITION BY k ORDER BY ts, rules => '{}', event_type => e, id => id)"
)
#: Seconds of the watermark's delay, and by how much rows are late that are dropped.
DELAY, TOO_LATE = 5, 90


class Source(Thread):
    """Writes a file of rows each second until it is told to stop."""

    def __init__(self, folder: Path, rows_a_second: int, drawn: random.Random) -> None:
        super().__init__(daemon=True)
        self.folder, self.rows_a_second, self.drawn = folder, rows_a_second, drawn
        self.stopped = False
        self.rows = self.files = 0

    def run(self) -> None:
        due = time.monotonic()
        while not self.stopped:
            self.add([self.row() for _ in range(self.rows_a_second)])
            due += 1
            time.sleep(max(0.0, due - time.monotonic()))

    def row(self) -> tuple[int, float, str, int]:
        """A key, seconds behind now, a type, a value. Keys come and go: each has its events within minutes."""
        key = int(time.monotonic() / 20) * 50 + self.drawn.randrange(200)
        behind = TOO_LATE + self.drawn.random() if self.drawn.random() < 0.01 else self.drawn.uniform(0, DELAY - 2)
        return key, behind, self.drawn.choice("ABCD"), self.drawn.randrange(100)

    def add(self, rows: list[tuple[int, float, str, int]]) -> None:
        """One file, which is there all at once."""
        now = dt.datetime.now(dt.UTC)
        table = pa.table({
            "k": pa.array([row[0] for row in rows], pa.int64()),
            "ts": pa.array([now - dt.timedelta(seconds=row[1]) for row in rows], pa.timestamp("us", "UTC")),
            "e": [row[2] for row in rows], "v": pa.array([row[3] for row in rows], pa.int32()),
            "id": pa.array(range(self.rows, self.rows + len(rows)), pa.int64()),
        })  # fmt: skip
        pq.write_table(table, hidden := self.folder / f".{self.files}")
        os.rename(hidden, self.folder / f"{self.files:06}.parquet")
        self.rows += len(rows)
        self.files += 1


def main(minutes: float, rows_a_second: int, seed: int) -> None:
    """Run, and compare.

    Raises:
        SystemExit: rows differ, or the query ended.
    """
    drawn = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="sparkcep-rules-") as place:
        root = Path(place)
        rules, log = root / "rules", root / "in"
        for folder in (rules, log):
            folder.mkdir()
        for name, text in STAY.items():
            (rules / f"{name}.sql").write_text(text)
        spark = sparkcep.local_session()
        sparkcep.enable()
        spark.conf.set("spark.sparkcep.streaming.lateRows", str(root / "late"))
        spark.conf.set("spark.sparkcep.streaming.buckets", "4")
        stream = spark.readStream.schema(SCHEMA).parquet(str(log)).withWatermark("ts", f"{DELAY} seconds")
        stream.createOrReplaceTempView("rules_stream")
        queries: list[StreamingQuery] = []

        def start() -> StreamingQuery:
            writer = spark.sql(TEXT.format("rules_stream", rules)).writeStream.format("parquet")
            writer = writer.option("checkpointLocation", str(root / "state")).trigger(processingTime="2 seconds")
            queries.append(writer.start(str(root / "out")))
            return queries[-1]

        source = Source(log, rows_a_second, drawn)
        source.start()
        follower = Thread(target=lambda: sparkcep.follow_rules(start, str(rules), seconds=2), daemon=True)
        follower.start()
        end, minute = time.monotonic() + 60 * minutes, 0
        while time.monotonic() < end:
            time.sleep(60)
            minute += 1
            if not follower.is_alive():
                raise SystemExit(f"the query ended: {queries[-1].exception()}")
            if minute % 2 == 0 and time.monotonic() < end - 30:  # the end is that of one query
                (rules / "changes.sql").write_text(CHANGES.format(drawn.randrange(100), drawn.randrange(5, 50)))
            progress = queries[-1].lastProgress
            took = None if progress is None else progress["durationMs"].get("triggerExecution")
            print(f"{minute:3} min: {source.rows:,} rows, {len(queries)} starts, micro-batch {took} ms", flush=True)
        source.stopped = True
        source.join()
        # Behind all WITHIN, twice, as a watermark counts from the micro-batch after.
        for seconds in (600, 1200):
            source.add([(-1, -seconds, "Z", 0)])
            queries[-1].processAllAvailable()
        queries[-1].stop()
        follower.join()
        compare(spark, root, len(queries), source.rows)


def compare(spark: SparkSession, root: Path, starts: int, rows: int) -> None:
    """What was written with what the rules find at rest.

    Raises:
        SystemExit: they differ.
    """
    late = spark.read.parquet(str(root / "late")).select("id").distinct()
    at_rest = (
        spark.read.schema(SCHEMA)
        .parquet(str(root / "in"))
        .join(late, "id", "left_anti")
        .select("k", "ts", "e", "v", "id")
    )
    at_rest.createOrReplaceTempView("rules_rest")
    expected = spark.sql(TEXT.format("rules_rest", root / "rules")).where("rule <> 'changes'")
    found = spark.read.schema(expected.schema).parquet(str(root / "out")).where("rule <> 'changes'")
    wanted, got = (Counter(tuple(row) for row in frame.collect()) for frame in (expected, found))
    print(
        f"{rows:,} rows, {late.count():,} too late, {starts} starts, {sum(wanted.values()):,} matches, "
        f"{sum(got.values()):,} written"
    )
    for rule in STAY:
        print(f"  {rule}: {sum(n for row, n in got.items() if row[0] == rule):,}")
    if wanted != got:
        raise SystemExit(
            f"lost: {list((wanted - got).items())[:3]}; doubled or wrong: {list((got - wanted).items())[:3]}"
        )


if __name__ == "__main__":
    numbers = [float(a) for a in sys.argv[1:]]
    minutes, rate, number = numbers + [60, 100, 1][len(numbers) :]
    main(minutes, int(rate), int(number))
