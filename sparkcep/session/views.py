"""Temporary views that hold a plan, as those of DataFrames do: Spark cannot read a pattern's text again."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

_KEY = "spark.sql.legacy.storeAnalyzedPlanForView"
_lock = threading.Lock()


@contextlib.contextmanager
def plans_of_views(spark: SparkSession) -> Iterator[bool]:
    """Within it CREATE TEMPORARY VIEW stores its query's plan instead of its text; False where the session is locked
    down and refuses that."""
    with _lock:
        try:
            before = spark.conf.get(_KEY, None)
            spark.conf.set(_KEY, "true")
        except PySparkException:
            yield False
            return
        try:
            yield True
        finally:
            if before is None:
                spark.conf.unset(_KEY)
            else:
                spark.conf.set(_KEY, before)
