"""Spark's daemon of Python workers, which has loaded what they need before it forks them.

Spark ends a worker whose query fails, and many tests are of queries that fail: each worker after it would import
NumPy, Numba, Arrow and pandas and load kernels, for two seconds of a core. Processes that tests start, and
`make test-long`, have Spark's own.
"""

from __future__ import annotations

import gc

import pandas  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

from sparkcep.exec.warm import PARTS

if __name__ == "__main__":
    for warm_up in PARTS.values():
        warm_up()
    gc.collect()
    gc.freeze()  # so that no fork copies it to look for garbage
    manager()
