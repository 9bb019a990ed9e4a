"""``python -m benchmarks [NAME ...] [--runs N] [--quick]``."""

from __future__ import annotations

import argparse
import os
import re
import time
from pathlib import Path

from benchmarks import harness
from benchmarks.backtracking import main as backtracking
from benchmarks.cold import main as cold
from benchmarks.conditions import conditions
from benchmarks.driver import driver
from benchmarks.first_answer import first_answer
from benchmarks.flink import DEFAULT_VENV
from benchmarks.forms import main as forms
from benchmarks.generate import DATA
from benchmarks.index import pattern_index
from benchmarks.keys import keys
from benchmarks.latency import main as latency
from benchmarks.lists import lists
from benchmarks.memory import main as memory
from benchmarks.pairs import pairs
from benchmarks.pruning import main as pruning
from benchmarks.real_logs import main as real_logs
from benchmarks.repair import main as repair
from benchmarks.rules import main as rules
from benchmarks.runs import main as runs
from benchmarks.scaling import scaling
from benchmarks.sequences import sequences
from benchmarks.small_cases import small_cases
from benchmarks.streaming import main as streaming
from benchmarks.ticks import ticks
from benchmarks.trends import main as trends
from benchmarks.uncertain import main as uncertain

BENCHMARKS = {
    "sequences": sequences,
    "ticks": ticks,
    "small_cases": small_cases,
    "scaling": scaling,
    "index": pattern_index,
    "conditions": conditions,
    "driver": driver,
    "first_answer": first_answer,
    "keys": keys,
    "lists": lists,
    "pairs": pairs,
}
#: Benchmarks with rounds of their own: peers there are none, or every query runs once.
ALONE = {
    "cold": cold,
    "forms": forms,
    "latency": latency,
    "memory": memory,
    "pruning": pruning,
    "backtracking": backtracking,
    "real_logs": real_logs,
    "repair": repair,
    "rules": rules,
    "runs": runs,
    "streaming": streaming,
    "trends": trends,
    "uncertain": uncertain,
}
FEWEST_RUNS, RUNS = 5, 7
# A session lives long, and a round or two leave most of its JVM's code uncompiled, that of each side.
WARMUPS = 5
DOCS = Path(__file__).parents[1] / "docs" / "benchmarks.md"
INTRODUCTION = """# Benchmarks

`make bench` runs them and writes this page and `benchmarks/results/`. Absolute times on shared machines mean little:
all systems run interleaved in one session, every other round backwards, so that nobody always follows the same
neighbour. All sides get the same warm-up rounds, as a session lives longer than a query. Medians are of at least five
runs, and ratios are what is compared.
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Time sparkcep beside its peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join([*BENCHMARKS, *ALONE])} (all by default)")
    parser.add_argument(
        "--runs", type=int, default=RUNS, help=f"timed rounds, at least {FEWEST_RUNS} (default: {RUNS})"
    )
    parser.add_argument("--warmups", type=int, default=WARMUPS, help=f"rounds before timing (default: {WARMUPS})")
    parser.add_argument("--quick", action="store_true", help="a small log and one round, to see that all works")
    parser.add_argument("--flink-venv", type=Path, default=DEFAULT_VENV, help="virtual environment for Flink's jars")
    options = parser.parse_args()
    if unknown := set(options.names) - {*BENCHMARKS, *ALONE}:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    if options.warmups < 1:
        parser.error("--warmups must be at least 1: answers are compared there first")
    if options.runs < FEWEST_RUNS and not options.quick:
        parser.error("--runs must be at least 5: fewer make no median worth keeping")
    # Spark hands out times in the zone of this process.
    os.environ["TZ"] = "UTC"
    time.tzset()
    rounds, warmups = (1, 1) if options.quick else (options.runs, options.warmups)
    # Figures of a quick run are no results.
    folder = DATA / "quick" if options.quick else harness.RESULTS
    for name in options.names or [*BENCHMARKS, *ALONE]:
        print(f"{name}:", flush=True)
        if name in ALONE:
            ALONE[name](options.quick)
            continue
        with BENCHMARKS[name](quick=options.quick, flink_venv=options.flink_venv) as benchmark:
            outcome = harness.run(benchmark, rounds, warmups)
        print(harness.write(outcome, folder).read_text())
    if not options.quick:
        write_docs()


def write_docs() -> None:
    """Put the tables of all results on the page of the docs."""
    found = (path.read_text() for path in sorted(harness.RESULTS.glob("*.md")))
    parts = [INTRODUCTION, *(re.sub("^#", "##", text, flags=re.MULTILINE) for text in found)]
    DOCS.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
