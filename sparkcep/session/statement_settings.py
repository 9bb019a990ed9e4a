"""The settings of a statement: its session's, the session's aggregates, and what its release of Spark lacks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from sparkcep import settings
from sparkcep.session.functions.own_aggregates import with_aggregates
from sparkcep.spark.releases import no_arrow_functions


def statement_settings(spark: SparkSession, get: Callable[[str, str], Any]) -> settings.Settings:
    """All that a statement is planned with.

    Args:
        get: reads a setting, see :func:`sparkcep.settings.getter`.

    Raises:
        SparkCepError: a value that is not allowed, naming its key (CEP_INVALID_SETTING).
    """
    return replace(with_aggregates(spark, settings.read(get)), no_lists=no_arrow_functions())
