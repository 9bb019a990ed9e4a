"""A streaming query at a fixed rate for half an hour: memory and state stay as they are once WITHIN has filled.

``python -m tests.stream_soak [minutes] [rows a second]``; part of ``make test-long``. Prints a line a minute: resident
memory of the driver, of the JVM and of its Python workers, the JVM's heap behind a collection, bytes and rows of state.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from sparkcep import enable, local_session

from .processes import own_processes

WITHIN_MINUTES = 5
#: What the median of the last third may have more than that of the third before, in which WITHIN has filled.
GROWTH = 1.1
QUERY = (
    "FROM soak PARTITION BY k ORDER BY ts, id EVENT TYPE e PATTERN SEQ(A a, B b, !C c) WHERE b.v >= a.v "
    f"WITHIN {WITHIN_MINUTES} minutes MATCHES ALL WITH TIMED OUT RETURN k, a.id AS a, b.id AS b"
)
KEYS = 20_000


def memory() -> dict[str, int]:
    """Resident bytes of this process, of the JVM and of all Python workers below it."""
    own = own_processes()
    java = {number for number, process in own.items() if "org.apache.spark" in process.command}
    return {
        "driver": own[os.getpid()].resident,
        "jvm": sum(own[number].resident for number in java),
        "workers": sum(p.resident for number, p in own.items() if number not in java and number != os.getpid()),
    }


def main(minutes: float, rate: int) -> None:
    """Run, and compare the last third with the one before.

    Raises:
        SystemExit: something grew, or the query ended.
    """
    with tempfile.TemporaryDirectory(prefix="sparkcep-soak-") as place:
        spark = local_session()
        enable()
        rows = spark.readStream.format("rate").option("rowsPerSecond", rate).load()
        rows.selectExpr(
            "timestamp AS ts", "value AS id", f"pmod(xxhash64(value), {KEYS}) AS k",
            "substr('ABCD', CAST(pmod(xxhash64(value, 1), 4) AS INT) + 1, 1) AS e",
            "CAST(pmod(xxhash64(value, 2), 100) AS INT) AS v",
        ).withWatermark("ts", "2 seconds").createOrReplaceTempView("soak")  # fmt: skip
        query = (
            spark.sql(QUERY).writeStream.format("noop").option("checkpointLocation", f"{place}/checkpoint")
            .trigger(processingTime="10 seconds").start()
        )  # fmt: skip
        lines: list[dict[str, int]] = []
        began = time.monotonic()
        while time.monotonic() - began < 60 * minutes:
            time.sleep(60)
            if query.exception() is not None or not query.isActive:
                raise SystemExit(f"the query ended: {query.exception()}")
            spark._jvm.System.gc()
            runtime = spark._jvm.java.lang.Runtime.getRuntime()
            line = memory() | {"heap": runtime.totalMemory() - runtime.freeMemory()}
            progress = query.lastProgress
            state = progress["stateOperators"][0]
            line |= {
                "state": state["memoryUsedBytes"], "batch_ms": progress["durationMs"]["triggerExecution"],
                "checkpoint": sum(f.stat().st_size for f in Path(place).rglob("*") if f.is_file()),
            }  # fmt: skip
            lines.append(line)
            shown = ", ".join(f"{k} {v / 1e6:,.1f} MB" for k, v in line.items() if k != "batch_ms")
            print(f"{len(lines):3} min: {shown}, batch {line['batch_ms']} ms", flush=True)
        query.stop()
    third = len(lines) // 3
    for name in lines[0]:
        before = statistics.median(line[name] for line in lines[third : 2 * third])
        after = statistics.median(line[name] for line in lines[-third:])
        print(f"{name}: {before:,.0f} then {after:,.0f}, {after / before:.2f} times")
        if name not in ("batch_ms", "checkpoint") and after > GROWTH * before:
            raise SystemExit(f"{name} grows")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 30, int(sys.argv[2]) if len(sys.argv) > 2 else 2_000)
