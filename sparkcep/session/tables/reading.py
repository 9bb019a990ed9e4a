"""Rows of a pattern table's files."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from sparkcep.index.storage import DataFile, Location


def read_files(
    spark: SparkSession, table: Location, files: Sequence[DataFile], schema: StructType | None, path: str = ""
) -> DataFrame:
    """Some files of a table.

    Args:
        schema: their columns; None: as the files have them. path: a further column, the URI of each row's file.
    """
    reader = spark.read.option("recursiveFileLookup", "true")
    if schema is not None:
        if not files:
            return spark.createDataFrame([], schema)
        reader = reader.schema(schema)
    frame = reader.parquet(*(table.child(file.path).spark for file in files))
    return frame.select("*", F.col("_metadata.file_path").alias(path)) if path else frame
