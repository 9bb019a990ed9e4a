"""A plain function on every executor of a session, without this package."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from sparkcep.spark.plan import is_remote

#: How long a task waits, so that no core runs two before each has run one.
_SECONDS = 0.5
#: So many tasks look at most; a default parallelism above the number of cores would make rounds of waiting.
MAX_TASKS = 256
#: Cores of a session that does not tell.
UNKNOWN_CORES = 8


def is_spread(spark: SparkSession) -> bool:
    """Whether executors may run elsewhere than the driver: its master is none of this machine, or does not say."""
    try:
        master = str(spark.conf.get("spark.master", None))
    except Exception:  # locked-down sessions refuse to read it
        return True
    return master != "local" and not master.startswith("local[")


def on_executors(spark: SparkSession, look: Callable[[], Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What a function says on each executor that the session has now, as far as one task a core reaches them.

    Args:
        look: gives what JSON can hold. It is copied to workers that may not have this package: a function inside of
            another one, which imports what it needs by itself.

    Returns:
        A mapping for each executor, with its `host` and the `folder` it runs in besides.
    """
    pause = _SECONDS if is_spread(spark) else 0.0

    def visit(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import json
        import os
        import socket
        import time

        import pyarrow as pa

        for _ in batches:
            pass
        time.sleep(pause)
        place = {"host": socket.gethostname(), "folder": os.getcwd()}
        yield pa.record_batch({"answer": pa.array([json.dumps({**look(), **place})])})

    visit.__name__ = visit.__qualname__ = "sparkcep_look"
    rows = spark.range(0, 100_000, 1, _tasks(spark)).mapInArrow(visit, "answer string").collect()
    answers = [json.loads(row[0]) for row in rows]
    found = {(a["host"], a["folder"]): a for a in answers}
    return [found[place] for place in sorted(found)]


def known_cores(spark: SparkSession) -> int | None:
    """Cores that tasks of a session run on at once; None where it does not tell."""
    with contextlib.suppress(Exception):
        if not is_remote(spark):
            return max(1, spark.sparkContext.defaultParallelism)
        # A Connect client asks for no parallelism, but sees how many parts a range would be cut into.
        plan = str(spark.sql("EXPLAIN SELECT * FROM range(1)").collect()[0][0])
        return max(1, int(plan.partition("splits=")[2].partition(")")[0]))
    return None


def _tasks(spark: SparkSession) -> int | None:
    """As many as the session has cores, but at most MAX_TASKS; None: Spark's default."""
    cores = known_cores(spark)
    return None if cores is None else min(MAX_TASKS, cores)


def usable_cores(spark: SparkSession) -> int:
    """Cores that tasks of a session run on at once, as far as it tells."""
    return known_cores(spark) or UNKNOWN_CORES
