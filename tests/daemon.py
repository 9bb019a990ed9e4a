"""Spark's daemon of Python workers, which has loaded what they need before it forks them.

Spark ends a worker whose query fails, and many tests are of queries that fail: each worker after it would import
NumPy, Numba, Arrow and pandas and load kernels, for two seconds of a core. Processes that tests start, and tests with
Spark's compiler (`make long-spark`), have Spark's own.
"""

from __future__ import annotations

import gc

import pandas  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

from sparkcep.exec.warm import PARTS, is_compiled

if __name__ == "__main__":
    for group, warm_up in PARTS.items():
        # What has not been compiled yet is left to the first worker that needs it.
        if is_compiled(group):
            warm_up()
    gc.collect()
    gc.freeze()  # so that no fork copies it to look for garbage
    manager()
