"""A streaming query whose driver is killed at random moments: nothing is lost, nothing comes twice.

``python -m tests.stream_kills [kills] [seed]``; part of ``make test-long``. A process runs a pattern over files into a
file sink, is killed with SIGKILL after a random time and started again, until so many kills are behind it; then it runs
to the end, and what was written is compared with the batch query.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sparkcep import enable, local_session

from .spark.test_streaming_queries import BLOCK, ENDS, SCHEMA, Log, random_rows, run

QUERY = BLOCK + "PATTERN SEQ(A a, B b, !C c) WITHIN 4 seconds"
#: Rows of a file, and files.
ROWS, FILES = 20, 40


def main(kills: int, seed: int) -> None:
    """Kill the driver so often, then compare.

    Raises:
        SystemExit: rows differ from the batch query's.
    """
    drawn = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="sparkcep-kills-") as place:
        folder = Path(place)
        spark = local_session()
        enable()
        log = Log(spark, folder / "in")
        rows = random_rows(seed, ROWS * FILES)
        for n in range(0, len(rows), ROWS):
            log.add(rows[n : n + ROWS])
        for end in ENDS:
            log.add([(99, end, "Z", 1, 1_000_000 + end)])
        seen = 0
        while seen < kills:
            began = time.monotonic()
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.stream_kills", "run", place], start_new_session=True
            )
            try:
                code = process.wait(drawn.uniform(8, 40))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                seen += 1
                print(f"kill {seen} after {time.monotonic() - began:.1f} s", flush=True)
                continue
            if code != 0:
                raise SystemExit(f"the query failed by itself, exit {code}")
            print("came to its end; more files", flush=True)
            rows = [(k, s + 10_000 * (log.files + 1), e, v, n) for k, s, e, v, n in random_rows(seed + log.files, ROWS)]
            log.add(rows)
            log.add([(99, rows[-1][1] + 5_000, "Z", 1, log.files)])
        log.add([(99, 10_000_000, "Z", 1, -1)])
        log.add([(99, 20_000_000, "Z", 1, -2)])
        subprocess.run([sys.executable, "-m", "tests.stream_kills", "run", place], check=True)
        log.views()
        expected = spark.sql(QUERY.format("sq_rest")).drop("match_number")
        found = spark.read.schema(spark.sql(QUERY.format("sq_rest")).schema).parquet(str(folder / "out"))
        wanted = sorted(map(str, expected.collect()))
        got = sorted(map(str, found.drop("match_number").collect()))
        print(f"{kills} kills, {len(wanted)} matches, {len(got)} written, seed {seed}")
        if wanted != got:
            raise SystemExit(
                f"differ: {[x for x in wanted if x not in got][:2]} {[x for x in got if x not in wanted][:2]}"
            )


def run_once(place: str) -> None:
    """Take all there is."""
    spark = local_session()
    enable()
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    spark.conf.set("spark.sparkcep.streaming.buckets", "2")
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(f"{place}/in")
    stream.withWatermark("ts", "12 seconds").createOrReplaceTempView("sq_stream")
    query, _ = run(spark.sql(QUERY.format("sq_stream")), Path(place))
    if query.exception() is not None:
        raise SystemExit(str(query.exception()))


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run_once(sys.argv[2])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 50, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
