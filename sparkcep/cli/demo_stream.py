"""`sparkcep demo --stream`: flights replayed day by day, matches printed as they are decided."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from sparkcep.cli.printing import print_table
from sparkcep.cli.timer import timed
from sparkcep.data.examples import folder, read_example
from sparkcep.data.flights import create_flights_view, flights_source
from sparkcep.session.machine.java import ensure_java
from sparkcep.session.machine.local import local_session

#: Days that are replayed, from the first of January 2013 on.
DAYS = 10
_NEXT = """
Each row came once, when no departure that could still come was able to change it. The same statement over the table
gives the same rows. Where to go next
  {folder}      the statement, and one over Kafka
  docs/streaming.md      what is emitted when, what is kept, exactly-once sinks
"""


def run_stream_demo() -> None:
    """Run the demo; raises SparkCepError with the fix where Java, Spark or the data is missing."""
    flights_source()
    example = read_example(folder("streaming") / "late_and_later.sql")
    print(f"sparkcep replays {DAYS} days of flights (departures from New York, January 2013), a file for each day,")
    print("as a stream, and prints matches as soon as they are certain.\n")
    print(f"Using {ensure_java()}")
    with timed("Starting Spark", shows=False):
        spark = local_session()
    spark.conf.set("spark.sparkcep.streaming.buckets", "4")
    spark.conf.set("spark.sql.shuffle.partitions", "4")
    with tempfile.TemporaryDirectory(prefix="sparkcep-stream-") as place:
        with timed("Writing the days"):
            _write_days(spark, Path(place))
        print(f"\n{example.sql}\n")
        replay(spark, Path(place), example.sql)
    print(_NEXT.format(folder=folder("streaming")), end="")
    spark.stop()


def _write_days(spark: SparkSession, place: Path) -> None:
    flights = create_flights_view(spark)
    until = f"departure < TIMESTAMP_NTZ'2013-01-01' + make_dt_interval({DAYS})"
    table = flights.where(until).selectExpr("*", "date(departure) AS day").orderBy("departure").toArrow()
    (place / "days").mkdir()
    for n, day in enumerate(table.column("day").unique()):
        path = place / "days" / f"{day}.parquet"
        pq.write_table(table.filter(pc.equal(table.column("day"), day)).drop_columns(["day"]), path)
        os.utime(path, (1_700_000_000 + 10 * n,) * 2)


def replay(spark: SparkSession, place: Path, sql: str) -> None:
    """Run a statement over the view ``departures``, a stream of the days' files, and print what each day decides."""
    days = str(place / "days")
    raw = spark.readStream.schema(spark.read.parquet(days).schema).option("maxFilesPerTrigger", 1).parquet(days)
    departures = raw.withColumn("departure", raw["departure"].cast("timestamp"))
    departures.withWatermark("departure", "1 hour").createOrReplaceTempView("departures")

    def show(batch: DataFrame, number: int) -> None:
        rows = batch.collect()
        print(f"Micro-batch {number}: {len(rows)} match{'es' * (len(rows) != 1)}")
        if rows:
            print_table(spark.createDataFrame(rows, batch.schema))

    query = (
        spark.sql(sql)
        .writeStream.foreachBatch(show)
        .option("checkpointLocation", str(place / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
