"""What releases of Spark lack or read otherwise: the one place that asks."""

from __future__ import annotations

from pyspark.sql import SparkSession


def no_arrow_functions() -> str:
    """Why there are no functions over Arrow arrays, which came with Spark 4.1; empty where there are."""
    import pyspark
    from pyspark.sql import functions

    lacks = not hasattr(functions, "arrow_udf")
    return f"PySpark {pyspark.__version__} has no functions over Arrow arrays" if lacks else ""


def joins_literals(spark: SparkSession) -> bool:
    """Whether `'it''s'` is two literals next to each other, `its`, as before Spark 4.1."""
    found = spark.version.split(".")
    return tuple(map(int, found[:2])) < (4, 1) if all(part.isdigit() for part in found[:2]) else False
