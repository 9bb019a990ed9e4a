"""Random (log, query) pairs with and without an index, through Spark, for as long as is asked for.

python -m tests.index.plans 600 SEED    prints pairs and differences, how many pairs were read from where, and by what
their input was like how many the index served; each query reads the index by two access paths
SPARKCEP_TEST_SESSION=connect           on Spark Connect
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
from sparkcep.session.machine.java import ensure_java
from sparkcep.session.machine.local import local_session

from ..conftest import IS_CONNECT
from ..quick import QUICK
from .test_pruning import NO_INDEX, PAIRS, Log, compared


def main(seconds: int, number: int) -> int:
    values = {
        "spark.sparkcep.index.path": tempfile.mkdtemp(prefix="plans"), "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "OFF", "spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC", **QUICK,
    }  # fmt: skip
    if IS_CONNECT:
        ensure_java()
    spark = local_session("local[2]", "local[2]" if IS_CONNECT else None, values)
    sparkcep.enable()
    pairs: Counter[tuple[str, str]] = Counter()
    differences = examples = 0
    started = time.monotonic()

    @settings(
        max_examples=4, deadline=None, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
    )
    @given(**PAIRS)
    def counted(log: Log, forms: list[str], other: str, through: str, how: str, renamed: bool) -> None:
        nonlocal examples
        pairs.update(compared(spark, Path(tempfile.mkdtemp(prefix="log")), log, forms, other, through, how, renamed))
        examples += 1

    while time.monotonic() - started < seconds:
        number += 1
        try:
            seed(number)(counted)()
        except Exception:
            differences += 1
            print(f"DIFFERENCE, seed {number}")
            traceback.print_exc(file=sys.stdout)
        read = {where: count for (feature, where), count in sorted(pairs.items()) if feature == "any"}
        told = ", ".join(f"{count:,} {where}" for where, count in read.items())
        print(
            f"{examples} logs, {sum(read.values()):,} pairs ({told}), {differences} differences, "
            f"{time.monotonic() - started:.0f} s",
            flush=True,
        )
    for feature in sorted({feature for feature, _ in pairs}):
        count = sum(n for (own, _), n in pairs.items() if own == feature)
        print(f"{feature}: {count:,} pairs, {count - pairs[feature, NO_INDEX]:,} served")
    return min(1, differences)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
