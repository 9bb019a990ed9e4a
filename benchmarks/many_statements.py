# ruff: noqa: E501 (statements as data)
"""Many statements in one session: memory of the driver, kept plans and views must stay flat.

`python -m benchmarks.many_statements [10000]` prints them for every tenth of the way. Every statement is another one
(no plan is kept for it), every twentieth runs, every tenth is refused.
"""

from __future__ import annotations

import gc
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

import sparkcep
from sparkcep.session import plan_cache as kept
from sparkcep.session.machine.java import ensure_java

CLAUSE = """SELECT * FROM events MATCH_RECOGNIZE (PARTITION BY k ORDER BY o MEASURES A.o AS x, B.o AS y
    PATTERN (A B) DEFINE A AS e = 'a', B AS B.o > A.o + {}) WHERE x > 1"""
BLOCK = "FROM events PARTITION BY k ORDER BY o EVENT TYPE e PATTERN SEQ(a x, b y) WHERE y.o > x.o + {} RETURN x.o AS x, y.o AS y"


def resident() -> float:
    """Megabytes of this process."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def heap(spark: SparkSession) -> float:
    """Megabytes that live objects take in the JVM."""
    gc.collect()
    runtime = spark._jvm.java.lang.Runtime.getRuntime()
    spark._jvm.java.lang.System.gc()
    return float(runtime.totalMemory() - runtime.freeMemory()) / 2**20


def main(count: int) -> None:
    ensure_java()
    builder = (
        SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
    )
    spark = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()
    sparkcep.enable()
    spark.sql("SELECT id % 5 AS k, id AS o, if(id % 2 = 0, 'a', 'b') AS e FROM range(40)").createOrReplaceTempView(
        "events"
    )
    started = time.perf_counter()
    for number in range(count + 1):
        text = (CLAUSE if number % 2 else BLOCK).format(number)
        if number % 20 == 7:
            spark.sql(text).collect()
        elif number % 10 == 3:
            try:
                spark.sql(text.replace("A.o", "A.nope"))
            except sparkcep.SparkCepError:
                pass
            else:
                raise AssertionError("not refused")
        else:
            spark.sql(text)
        if number % (count // 10) == 0:
            print(
                f"{number:6d} statements {time.perf_counter() - started:6.0f} s: driver {resident():5.0f} MB, heap {heap(spark):5.0f} MB,"
                f" views {len(spark.catalog.listTables())}, plans {len(kept.PLANS)}, samples {len(kept.SAMPLES)}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
