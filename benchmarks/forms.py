"""Several patterns in one statement over one input, with UNION ALL: sharing their input, and each by itself.

Over a log of 50 event types in cases of 100 events. Sequences: of two to five types with a condition on each second
event, all matches that do not overlap. Falls and rises: clauses of neighbours, which read every row. Trends: counts
over `SEQ(a, k+, z)` that have their repeated type in common, as workloads of HAMLET (Poppe et al., SIGMOD 2021) have.
Together and alone take turns, the first two rounds for nothing. FORMS_EVENTS names the log's size. Beside sequences
stands what Spark takes for as many branches that group the events of the same types by case.
"""

from __future__ import annotations

import os
import re
import statistics
import time
from collections.abc import Callable

from pyspark.sql import SparkSession

from benchmarks.generate import DATA
from benchmarks.harness import RESULTS
from benchmarks.rules import ensure_events, make_rules
from benchmarks.spark import SETTINGS_NOTE, spark_session

COUNTS = (1, 2, 3, 4, 8, 16, 40)
TREND_COUNTS = (8, 50)
RUNS = 5
SHARED_INPUT = "spark.sparkcep.planner.sharedInput.enabled"
HEAD = "FROM log PARTITION BY case_id ORDER BY ts EVENT TYPE activity"


def sequence(number: int) -> str:
    """A sequence of types as a query of its number and matches."""
    block = make_rules(number + 1)[number].block().replace("MATCHES FIRST", "MATCHES NON OVERLAPPING")
    return f"SELECT {number} AS form, ts FROM ({HEAD} {block} RETURN v0.ts AS ts) m"


def grouped(number: int) -> str:
    """The same events, grouped by plain Spark SQL."""
    types = sorted(set(re.findall(r"\be\d\d\b", sequence(number))))
    taken = f"activity IN ({', '.join(map(repr, types))})"
    return f"SELECT {number} AS form, min(ts) AS ts, max(ts) AS last FROM log WHERE {taken} GROUP BY case_id"


def falls(number: int) -> str:
    """Neighbours that fall and rise again, which look at every row."""
    return (
        f"SELECT {number} AS form, ts FROM log MATCH_RECOGNIZE (PARTITION BY case_id ORDER BY ts "
        f"MEASURES FIRST(ts) AS ts PATTERN (start down{{{number % 4 + 1},}} up) "
        f"DEFINE start AS amount > {number * 20}, "
        "down AS amount < PREV(amount), up AS amount > PREV(amount)) m"
    )


def trend(number: int) -> str:
    """A count over sequences around one of five repeated types, which queries have in common."""
    first, last = f"e{number % 45 + 5:02d}", f"e{(number * 7) % 45 + 5:02d}"
    repeated = f"e{number % 5:02d}"
    return (
        f"SELECT {number} AS form, n AS ts FROM ({HEAD} PATTERN SEQ({first} a, {repeated}+ k[], {last} z) "
        "WHERE k[i].amount > k[i-1].amount RETURN count(*) AS n) t"
    )


def run(spark: SparkSession, text: str, shared: bool) -> float:
    """Seconds of a statement whose rows go nowhere."""
    spark.conf.set(SHARED_INPUT, str(shared).lower())
    start = time.perf_counter()
    spark.sql(text).write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start


def rows(spark: SparkSession, text: str, shared: bool) -> list[tuple[object, ...]]:
    """A statement's rows, sorted."""
    spark.conf.set(SHARED_INPUT, str(shared).lower())
    return sorted(map(tuple, spark.sql(f"SELECT form, count(*), max(ts) FROM ({text}) GROUP BY form").collect()))


def measure(
    spark: SparkSession,
    name: str,
    form: Callable[[int], str],
    counts: tuple[int, ...],
    runs: int,
    plain: Callable[[int], str] | None = None,
) -> list[str]:
    """Lines of a table for one kind of pattern. ``plain``: what Spark takes as long for as for any such pattern."""
    lines = []
    for count in counts:
        text = " UNION ALL ".join(f"({form(n)})" for n in range(count))
        assert rows(spark, text, True) == rows(spark, text, False), name
        seconds: dict[bool, list[float]] = {True: [], False: []}
        beside = [] if plain is None else [" UNION ALL ".join(f"({plain(n)})" for n in range(count))]
        spark_seconds: list[float] = []
        for turn in range(runs + 2):
            for shared in (True, False) if turn % 2 else (False, True):
                took = run(spark, text, shared)
                if turn >= 2:
                    seconds[shared].append(took)
            spark_seconds += [run(spark, other, True) for other in beside][: int(turn >= 2)]
        together, alone = (statistics.median(seconds[shared]) for shared in (True, False))
        of_spark = f"{statistics.median(spark_seconds):.2f}" if spark_seconds else ""
        lines.append(f"| {name}: {count} | {together:.2f} | {alone:.2f} | {together / alone:.2f} | {of_spark} |")
        print(lines[-1], flush=True)
    return lines


def main(quick: bool) -> None:
    """Write the result."""
    events = 100_000 if quick else int(os.environ.get("FORMS_EVENTS", "1000000"))
    runs = 2 if quick else RUNS
    with spark_session({"log": ensure_events(events)}) as spark:
        lines = measure(spark, "sequences", sequence, COUNTS, runs, grouped)
        lines += measure(spark, "falls and rises", falls, COUNTS, runs)
        lines += measure(spark, "trends", trend, TREND_COUNTS, runs)
    folder = DATA / "quick" if quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    text = f"""# Patterns of one statement

{(__doc__ or "").strip()}

| patterns, {events:,} events | together, seconds | alone, seconds | together / alone | GROUP BYs, seconds |
|---|--:|--:|--:|--:|
{chr(10).join(lines)}

{SETTINGS_NOTE} {os.cpu_count()} cores; load average at the end {os.getloadavg()[0]:.1f}.
"""
    (folder / "forms.md").write_text(text)
    print(text)
