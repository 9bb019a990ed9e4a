"""Random (log, query) pairs through every engine against its reference, as many as are asked for, without Spark.

python -m tests.exec.pairs 100000 SEED    prints pairs and differences by engine, each difference with its minimal case

The pairs are those of the property tests, drawn anew in rounds, so that a run cut short has tried all engines alike.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings

import tests.conftest  # noqa: F401 (its profile is replaced below, before the tests are read)

#: Pairs of a test in one round; Hypothesis slows down with many examples of one call.
ROUND = 250
settings.register_profile(
    "pairs", deadline=None, max_examples=ROUND, database=None, suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)  # fmt: skip
settings.load_profile("pairs")

from . import (  # noqa: E402
    test_collapsed,
    test_conditions_equal_reference,
    test_conjunctions,
    test_open_ends,
    test_reasons_equal_reference,
    test_repairs_equal_reference,
    test_rows_equals_reference,
    test_rows_layout,
    test_runs_equal_reference,
    test_trends_equal_reference,
    test_uncertain_equals_worlds,
    test_variables_that_took_nothing,
)

#: The modules by engine, and their tests of a log and a query.
ENGINES: dict[str, tuple[ModuleType, tuple[str, ...]]] = {
    "rows": (test_rows_equals_reference, ("test_matches", "test_within", "test_skip_to_variable")),
    "rows, dependent conditions": (test_conditions_equal_reference, ("test_shapes", "test_matches")),
    "rows, open ends": (test_open_ends, ("test_masks",)),
    "rows, in pieces": (test_rows_layout, ("test_pieces_give_what_the_whole_gives",)),
    "runs": (test_runs_equal_reference, ("test_any_case", "test_patterns", "test_conditions")),
    "runs, called back": (test_runs_equal_reference, ("test_conditions_that_the_kernel_calls_back_for",)),
    "what took nothing": (
        test_variables_that_took_nothing,
        ("test_by_the_kernel", "test_by_the_reference", "test_other_strategies", "test_trends", "test_imprecise_times",
         "test_both_sides_of_and"),
    ),
    "runs, collapsed": (test_collapsed, ("test_candidates",)),
    "trends": (
        test_trends_equal_reference,
        (
            "test_any_case", "test_patterns", "test_sequences_of_events", "test_equivalences",
            "test_every_event_after_the_other", "test_conditions_on_neighbours",
        ),
    ),
    "conjunctions": (test_conjunctions, ("test_any_patterns",)),
    "imprecise time": (
        test_uncertain_equals_worlds, ("test_any", "test_next", "test_negation", "test_conditions"),
    ),
    "non-answers, reasons": (
        test_reasons_equal_reference, ("test_without_negation", "test_without_conditions", "test_any_case"),
    ),
    "non-answers, repairs": (
        test_repairs_equal_reference,
        ("test_sequences_with_time_constraints", "test_gaps_count_positions_after_the_shifts",
         "test_conditions_between_events"),
    ),
}  # fmt: skip


class Tally:
    """Pairs that were compared, by engine. What Hypothesis rejects or shrinks does not count."""

    def __init__(self) -> None:
        self.pairs: Counter[str] = Counter()
        self.differences: Counter[str] = Counter()
        self.failed = False

    def counted(self, engine: str, inner: Callable[..., None]) -> Callable[..., None]:
        @wraps(inner)
        def run(*args: Any, **kwargs: Any) -> None:
            try:
                inner(*args, **kwargs)
            except (AssertionError, ArithmeticError, LookupError, TypeError, ValueError):
                self.failed = True
                raise
            if not self.failed:
                self.pairs[engine] += 1

        return run

    def round(self, engine: str, test: Any, number: int) -> None:
        self.failed = False
        try:
            seed(number)(test)()
        except Exception as error:
            self.differences[engine] += 1
            print(f"DIFFERENCE {engine}, {test.__name__}, seed {number}")
            traceback.print_exception(error, file=sys.stdout)

    def __str__(self) -> str:
        lines = [f"{e:28} {self.pairs[e]:8,} pairs {self.differences[e]:4} differences" for e in ENGINES]
        return "\n".join([*lines, f"{'':28} {self.pairs.total():8,} pairs {self.differences.total():4} differences"])


def main(wanted: int, first: int) -> int:
    tally, started = Tally(), time.monotonic()
    tests = []
    for engine, (module, names) in ENGINES.items():
        for name in names:
            test = getattr(module, name)
            test.hypothesis.inner_test = tally.counted(engine, test.hypothesis.inner_test)
            tests.append((engine, test))
    number = first
    while tally.pairs.total() < wanted:
        for engine, test in tests:
            tally.round(engine, test, number)
            number += 1
        done = tally.pairs.total()
        print(f"{done:8,} pairs in {time.monotonic() - started:6.0f} s", flush=True)
    print(tally)
    return min(1, tally.differences.total())


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
