"""A statement's patterns as they are planned, for who draws them."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from sparkcep.errors import SparkCepError
from sparkcep.run import Run
from sparkcep.session import plain_sql
from sparkcep.sql.statements import mentions_pattern


def planned(spark: SparkSession, query: str, args: Any, kwargs: dict[str, Any]) -> Run:
    """A statement that has been planned, not run.

    Raises:
        SparkCepError: CEP_PICTURE where it has no pattern.
    """
    run = Run(spark, plain_sql(spark), query, args, kwargs, explain_only=True)
    if mentions_pattern(query):
        run.result()
    if not run.relations:
        raise SparkCepError(
            "CEP_PICTURE", "The statement has no pattern that could be drawn.",
            hint="a MATCH_RECOGNIZE clause or a pattern block",
        )  # fmt: skip
    return run
