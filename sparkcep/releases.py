"""What releases of Spark lack or read otherwise: the one place that asks."""

from __future__ import annotations

import pyspark
from pyspark.sql import SparkSession, functions


def no_arrow_functions() -> str:
    """Why there are no functions over Arrow arrays, which came with Spark 4.1; empty where there are."""
    lacks = not hasattr(functions, "arrow_udf")
    return f"PySpark {pyspark.__version__} has no functions over Arrow arrays" if lacks else ""


def joins_literals(spark: SparkSession) -> bool:
    """Whether `'it''s'` is two literals next to each other, `its`, as before Spark 4.1."""
    numbers = spark.version.split(".")[:2]
    return all(map(str.isdigit, numbers)) and tuple(map(int, numbers)) < (4, 1)
