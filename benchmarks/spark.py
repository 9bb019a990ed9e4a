"""The Spark session of the benchmarks: two cores and the project's own settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from pyspark.sql import SparkSession

import sparkcep
from benchmarks.harness import Answer, timed

DEFAULTS = Path(__file__).parents[1] / "spark-defaults.conf"
SETTINGS_NOTE = (
    "Spark: local[2], 4 GB, 2 shuffle partitions, UTC, and the project's spark-defaults.conf for sparkcep and the "
    "plain Spark SQL alike."
)


def recommended_settings() -> Iterator[tuple[str, str]]:
    """Keys and values of the project's spark-defaults.conf."""
    for line in DEFAULTS.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            key, value = line.split(None, 1)
            yield key, value.strip()


@contextmanager
def spark_session(files: Mapping[str, Path], **more: str) -> Iterator[SparkSession]:
    """A local Spark session with pattern queries enabled and a view per Parquet file.

    Args:
        more: settings of the session, with underscores for dots.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("sparkcep benchmarks")
    for key, value in recommended_settings():
        builder = builder.config(key, value)
    for key, value in more.items():
        builder = builder.config(key.replace("_", "."), value)
    spark = (
        builder.config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    sparkcep.enable()
    for view, path in files.items():
        spark.read.parquet(str(path)).createOrReplaceTempView(view)
    try:
        yield spark
    finally:
        spark.stop()


def answer(spark: SparkSession, text: str, **settings: str) -> Answer:
    """One statement from its text to its rows in the caller.

    Args:
        settings: ``layout``, ``splitting``; the defaults where they are not given.
    """
    spark.conf.set("spark.sparkcep.exec.layout", settings.get("layout", "auto"))
    spark.conf.set("spark.sparkcep.planner.rangeSplitting.enabled", settings.get("splitting", "true"))
    return timed(lambda: spark.sql(text).collect())


def versions(spark: SparkSession) -> dict[str, str]:
    assert spark._jvm is not None
    return {
        "sparkcep": sparkcep.__version__,
        "Spark": spark.version,
        "Java": str(spark._jvm.System.getProperty("java.version")),
        "Numba": version("numba"),
        "PyArrow": version("pyarrow"),
    }
