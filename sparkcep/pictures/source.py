"""A statement's patterns as they are planned, for who draws them."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from sparkcep.errors import SparkCepError
from sparkcep.session.inspection.statements import explained
from sparkcep.session.statement import StatementExecution


def planned(spark: SparkSession, query: str, args: Any, kwargs: dict[str, Any]) -> StatementExecution:
    """A statement that has been planned, not run.

    Raises:
        SparkCepError: CEP_PICTURE where it has no pattern.
    """
    return drawable(explained(spark, query, args, kwargs)[1])


def drawable(run: StatementExecution | None) -> StatementExecution:
    """A planned statement that has a pattern.

    Raises:
        SparkCepError: CEP_PICTURE where it has none.
    """
    if run is None or not run.relations:
        raise SparkCepError(
            "CEP_PICTURE", "The statement has no pattern to draw.",
            hint="a MATCH_RECOGNIZE clause or a pattern block",
        )  # fmt: skip
    return run
