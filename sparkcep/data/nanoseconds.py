"""Parquet files with times in nanoseconds, which pandas writes and Spark has no type for: read as microseconds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from sparkcep.errors import SparkCepError
from sparkcep.query import in_backticks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

#: A setting of Spark's, by which it reads them as BIGINT; without it, it refuses such files.
_AS_NUMBERS = "spark.sql.legacy.parquet.nanosAsLong"


def read_parquet(spark: SparkSession, path: str, options: Mapping[str, str]) -> DataFrame:
    """The file, with nanoseconds as BIGINT. The session goes on to read them so, as its plans are made later.

    Raises:
        SparkCepError: CEP_FILE where files of a folder have such columns, and others have not.
    """
    reader = spark.read.options(**options)
    found = nanosecond_columns(path)
    first, *others = files_in(Path(path)) if found else [Path(path)]
    for file in others:  # Spark would take their microseconds for nanoseconds
        if _of_file(file) != found:
            raise SparkCepError(
                "CEP_FILE", f"{path} cannot be read: {first.name} has times in nanoseconds, and {file.name} others.",
                hint="read them one by one, or write them anew in microseconds",
            )  # fmt: skip
    if not found:
        try:
            return reader.parquet(path)
        except Exception as error:  # of a class that PySpark has none for
            if "TIMESTAMP(NANOS" not in str(error) or Path(path).exists():  # some files of a folder have them
                raise
    spark.conf.set(_AS_NUMBERS, "true")
    return reader.parquet(path)


def nanosecond_columns(place: str) -> dict[str, str]:
    """The columns that are times in nanoseconds, with the type they get, where the file is on this machine."""
    return next((_of_file(file) for file in files_in(Path(place))), {})


def files_in(path: Path) -> list[Path]:
    """The files of a folder, by name, that Spark does not pass over; of a file, itself."""
    if not path.is_dir():
        return [path]
    return [p for p in sorted(path.rglob("*")) if p.is_file() and not p.name.startswith((".", "_"))]


def _of_file(path: Path) -> dict[str, str]:
    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError):  # Spark says what is wrong with it
        return {}
    fields = [f for f in schema if pa.types.is_timestamp(f.type) and f.type.unit == "ns"]
    return {f.name: "TIMESTAMP_NTZ" if f.type.tz is None else "TIMESTAMP" for f in fields}


def from_nanoseconds(column: str, type_: str) -> str:
    """SQL of the time that a count of nanoseconds since 1970 is."""
    micros = f"{in_backticks(column)} DIV 1000"
    if type_ == "TIMESTAMP":
        return f"timestamp_micros({micros})"
    seconds = f"CAST(CAST({micros} AS DECIMAL(19, 0)) / 1000000 AS DECIMAL(18, 6))"
    return f"TIMESTAMP_NTZ '1970-01-01 00:00:00' + make_dt_interval(0, 0, 0, {seconds})"
