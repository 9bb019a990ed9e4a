"""Temporary views that hold a plan, as those of DataFrames do: Spark cannot read a pattern's text again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sparkcep.spark.session_settings import changed


@contextlib.contextmanager
def plans_of_views(spark: SparkSession) -> Iterator[bool]:
    """Within it CREATE TEMPORARY VIEW stores its query's plan instead of its text; False where the session is locked
    down and refuses that."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(changed(spark, "spark.sql.legacy.storeAnalyzedPlanForView", "true"))
            are_stored = True
        except PySparkException:
            are_stored = False
        yield are_stored
