"""A setting of Spark's that has another value while something is done."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from pyspark.sql import SparkSession

#: Settings are a session's, which threads share.
_LOCK = threading.RLock()


@contextlib.contextmanager
def changed(spark: SparkSession, key: str, value: str) -> Iterator[None]:
    """Within it a session's setting has a value.

    Raises:
        PySparkException: the session is locked down and refuses that; nothing within has run.
    """
    with _LOCK:
        before = spark.conf.get(key, None)
        spark.conf.set(key, value)
        try:
            yield
        finally:
            if before is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, before)
