"""What Spark's UI calls the jobs that are run on the way, the tag that cancels them, and the log of what was done."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

from sparkcep.spark.plan import is_remote

#: Silent unless the program sets its level; `PySparkLogger.getLogger("sparkcep")` makes lines of JSON of it.
LOGGER = logging.getLogger("sparkcep")
LOGGER.addHandler(logging.NullHandler())

_DESCRIPTION = "spark.job.description"


@contextlib.contextmanager
def described(spark: SparkSession, text: str) -> Iterator[None]:
    """Describe the jobs of a block in Spark's UI, behind what the user calls them; Connect has no place for it."""
    if is_remote(spark):
        yield
        return
    before = context = None
    # Runtimes that lock the JVM away do without.
    with contextlib.suppress(Exception):
        context = spark.sparkContext
        before = context.getLocalProperty(_DESCRIPTION)
        context.setLocalProperty(_DESCRIPTION, f"{before}: {text}" if before else text)
    try:
        yield
    finally:
        with contextlib.suppress(Exception):
            if context is not None:
                context.setLocalProperty(_DESCRIPTION, before)  # type: ignore[arg-type]


@contextlib.contextmanager
def tagged(spark: SparkSession, tag: str) -> Iterator[None]:
    """Let a tag cancel the jobs of a block, beside those that its thread has already.

    On Connect ``spark.interruptTag(tag)``. On a classic session that knows its own thread's tags only, hence
    ``spark.sparkContext.cancelJobsWithTag(tag)``.
    """
    remove = None
    with contextlib.suppress(Exception):  # as above
        if is_remote(spark):
            spark.addTag(tag)
            remove = spark.removeTag
        else:
            context = spark.sparkContext
            context.addJobTag(tag)
            remove = context.removeJobTag
    try:
        yield
    finally:
        if remove is not None:
            with contextlib.suppress(Exception):
                remove(tag)


def log(text: str, **facts: Any) -> None:
    """A line of the log at level INFO, with facts as PySpark's own logger has them."""
    LOGGER.info(text, extra={"context": facts})
