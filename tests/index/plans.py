"""Random (log, query) pairs with and without an index, through Spark, for as long as is asked for.

python -m tests.index.plans 600 SEED    prints pairs and differences; each query reads the index by two access paths,
and how many were read from where
"""

from __future__ import annotations

import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

import sparkcep
from sparkcep.session.local import local_session

from ..quick import QUICK
from .test_pruning import PAIRS, Log, compared


def main(seconds: int, number: int) -> int:
    values = {
        "spark.sparkcep.index.path": tempfile.mkdtemp(prefix="plans"), "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "OFF", "spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC", **QUICK,
    }  # fmt: skip
    spark = local_session("local[2]", None, values)
    sparkcep.enable()
    served: Counter[str] = Counter()
    differences = examples = 0
    started = time.monotonic()

    @settings(
        max_examples=4, deadline=None, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
    )
    @given(**PAIRS)
    def counted(log: Log, forms: list[str], other: str, through: str, how: str) -> None:
        nonlocal examples
        served.update(compared(spark, Path(tempfile.mkdtemp(prefix="log")), log, forms, other, through, how))
        examples += 1

    while time.monotonic() - started < seconds:
        number += 1
        try:
            seed(number)(counted)()
        except Exception:
            differences += 1
            print(f"DIFFERENCE, seed {number}")
            traceback.print_exc(file=sys.stdout)
        told = ", ".join(f"{count:,} {where}" for where, count in sorted(served.items()))
        print(
            f"{examples} logs, {served.total():,} pairs ({told}), {differences} differences, "
            f"{time.monotonic() - started:.0f} s",
            flush=True,
        )
    return min(1, differences)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
