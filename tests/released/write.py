"""Write down an index and the checkpoints of streams as this release makes them, for the tests of later ones.

    python -m tests.released.write tests/released/0.2.0

Once for each release that writes a format otherwise; what an earlier one has written stays as it is. Checksums beside
files are left out, as paths of this machine are replaced inside of them.
"""

from __future__ import annotations

import datetime as dt
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import sparkcep
from sparkcep import index

#: Stands in checkpoints for the folder that the streams read.
PLACE = "/the-folder-of-the-stream"
SCHEMA = "k long, ts timestamp, e string, v int, id long"
FIELDS = {"k": pa.int64(), "ts": pa.timestamp("us", "UTC"), "e": pa.string(), "v": pa.int32(), "id": pa.int64()}
#: Case, seconds, type: what a file of the log has. The last two are what a later release adds.
FILES: Sequence[Sequence[tuple[int, int, str]]] = (
    ((1, 0, "A"), (1, 4, "B"), (2, 5, "A"), (3, 6, "C"), (2, 9, "D")),
    ((1, 20, "A"), (3, 21, "A"), (2, 22, "C"), (4, 24, "A"), (1, 25, "B"), (4, 27, "B"), (3, 28, "C")),
    ((1, 31, "C"), (4, 40, "C"), (3, 41, "B"), (2, 44, "A"), (2, 46, "B"), (5, 50, "A")),
    ((5, 60, "B"), (99, 500, "Z"), (99, 900, "Z")),
)
WRITTEN = 2
BLOCK = "FROM {} PARTITION BY k ORDER BY ts, id EVENT TYPE e "
STREAMS = {
    "absence": BLOCK + "PATTERN SEQ(A a, B b, !C c) WITHIN 20 seconds RETURN a.id AS a, b.id AS b",
    "clause": """SELECT * FROM {} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts, id MEASURES A.id AS a, LAST(id) AS z
        PATTERN (A B* C) WITHIN INTERVAL 30 SECONDS DEFINE A AS e = 'A', B AS e = 'B', C AS e = 'C' AND v > A.v)""",
    "trends": BLOCK + """PATTERN SEQ(A+ a, B b) WITHIN 20 seconds SLIDE 10 seconds
        EVENT SELECTION SKIP TILL ANY MATCH GROUP BY k RETURN k, COUNT(*) AS n, SUM(a.v) AS s""",
}  # fmt: skip
CONFIGURATION = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
    "spark.sparkcep.streaming.buckets": "1",
}


def write_file(folder: Path, number: int) -> None:
    """A file of the log."""
    start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    rows = [
        (k, start + dt.timedelta(seconds=s), e, 10 * number + n, 100 * number + n)
        for n, (k, s, e) in enumerate(FILES[number])
    ]
    columns = {
        name: pa.array(values, FIELDS[name]) for name, values in zip(FIELDS, zip(*rows, strict=True), strict=True)
    }
    pq.write_table(pa.table(columns), folder / f"{number:03}.parquet")


def batch(spark: SparkSession, folder: Path, number: int) -> DataFrame:
    """A file's rows, as one batch of the index."""
    return spark.read.schema(SCHEMA).parquet(str(folder / f"{number:03}.parquet"))


def views(spark: SparkSession, folder: Path) -> None:
    """The log as a stream, and at rest."""
    files = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))
    files.withWatermark("ts", "5 seconds").createOrReplaceTempView("released_stream")
    spark.read.schema(SCHEMA).parquet(str(folder)).createOrReplaceTempView("released_log")


def run(spark: SparkSession, text: str, folder: Path) -> None:
    """Take all that the stream has, into ``folder/out``."""
    query = (
        spark.sql(text.format("released_stream")).writeStream.format("parquet").option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    )  # fmt: skip
    query.awaitTermination(300)


def replace(folder: Path, old: str, new: str) -> None:
    """A path in all texts below a folder."""
    for file in folder.rglob("*"):
        data = file.read_bytes() if file.is_file() else b""
        if old.encode() in data:
            file.write_bytes(data.replace(old.encode(), new.encode()))


def write(spark: SparkSession, into: Path, work: Path) -> None:
    """All formats, into a folder that is not there yet."""
    log = work / "log"
    log.mkdir()
    for number in range(WRITTEN):
        write_file(log, number)
    spark.conf.set("spark.sparkcep.index.path", str(work / "indexes"))
    index.create(spark, "released", batch(spark, log, 0), case="k", time="ts", event="e", tiebreak="id", include=["v"])
    index.refresh(spark, "released", batch=batch(spark, log, 1), batch_id="1")
    shutil.copytree(work / "indexes", into / "index", ignore=shutil.ignore_patterns(".*.crc"))
    views(spark, log)
    for name, text in STREAMS.items():
        run(spark, text, work / name)
        for part in ("checkpoint", "out"):
            shutil.copytree(work / name / part, into / name / part, ignore=shutil.ignore_patterns(".*.crc"))
    replace(into, str(work), PLACE)


def main() -> None:
    builder = SparkSession.builder.master("local[1]").appName("sparkcep formats")
    for key, value in CONFIGURATION.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    sparkcep.enable()
    with tempfile.TemporaryDirectory() as work:
        write(spark, Path(sys.argv[1]), Path(work))
    spark.stop()


if __name__ == "__main__":
    main()
