"""Random (log, query) pairs with and without an index, through Spark, for as long as is asked for.

python -m tests.index.plans 600 SEED    prints pairs and differences; each query reads the index by two access paths
"""

from __future__ import annotations

import sys
import tempfile
import time
import traceback
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import sparkcep
from sparkcep.index.access import ACCESS_PATHS
from sparkcep.session.local import local_session

from ..quick import QUICK
from .test_pruning import Log, logs, queries, test_answers_are_the_same


class Folders:
    """What pytest's ``tmp_path_factory`` does."""

    def mktemp(self, name: str) -> Path:
        return Path(tempfile.mkdtemp(prefix=name))


def main(seconds: int, number: int) -> int:
    values = {
        "spark.sparkcep.index.path": tempfile.mkdtemp(prefix="plans"), "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "OFF", "spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC", **QUICK,
    }  # fmt: skip
    spark = local_session("local[2]", None, values)
    sparkcep.enable()
    pairs = differences = examples = 0
    started = time.monotonic()

    @settings(
        max_examples=4, deadline=None, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
    )
    @given(log=logs(), forms=st.lists(queries(), min_size=5, max_size=8), other=st.sampled_from(ACCESS_PATHS))
    def compared(log: Log, forms: list[str], other: str) -> None:
        nonlocal pairs, examples
        test_answers_are_the_same.hypothesis.inner_test(spark, Folders(), log, forms, other)
        pairs += 2 * len(forms)
        examples += 1

    while time.monotonic() - started < seconds:
        number += 1
        try:
            seed(number)(compared)()
        except Exception:
            differences += 1
            print(f"DIFFERENCE, seed {number}")
            traceback.print_exc(file=sys.stdout)
        print(
            f"{examples} logs, {pairs:,} pairs, {differences} differences, {time.monotonic() - started:.0f} s",
            flush=True,
        )
    return min(1, differences)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
