"""1 to 1,000 rules over one log in one pass, compared with the same rules one by one and with hand-written Spark SQL.

Rules are sequences of two to five event types with a condition on each second event, the first match of each case.
The hand-written statement has an expression for each rule over one cached table of sorted lists, in which Spark's own
`aggregate` follows the sequence: what a careful engineer writes who has a hundred of them. RULES_EVENTS names the sizes
of the logs, by default 1000000,10000000; statements one by one and by hand are of the first.
"""

from __future__ import annotations

import os
import resource
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks.generate import DATA
from benchmarks.harness import RESULTS
from benchmarks.spark import SETTINGS_NOTE, spark_session

TYPES, EVENTS_PER_CASE, AMOUNTS = 50, 100, 1_000
COUNTS = (1, 10, 100, 1_000)
#: Rules that the hand-written statement has, and that run one after the other.
COMPARED = 100
RUNS = 5


@dataclass(frozen=True, slots=True)
class SequenceRule:
    """Types in order, and for each the amount that its event must exceed, -1 for none."""

    types: tuple[str, ...]
    above: tuple[int, ...]

    def block(self) -> str:
        """The rule's text."""
        sequence = ", ".join(f"{type_} v{n}" for n, type_ in enumerate(self.types))
        conditions = " AND ".join(f"v{n}.amount > {low}" for n, low in enumerate(self.above) if low >= 0)
        return f"PATTERN SEQ({sequence}) WHERE {conditions} MATCHES FIRST"

    def by_hand(self) -> str:
        """A Spark expression over a case's sorted list ``events``: whether the sequence is in it."""
        steps = []
        for n, (type_, low) in enumerate(zip(self.types, self.above, strict=True)):
            more = f" AND e.amount > {low}" if low >= 0 else ""
            steps.append(f"WHEN s = {n} AND e.activity = '{type_}'{more} THEN {n + 1}")
        follow = f"aggregate(events, 0, (s, e) -> CASE {' '.join(steps)} ELSE s END)"
        return f"count_if({follow} = {len(self.types)})"


def make_rules(count: int) -> list[SequenceRule]:
    """So many rules, the same ones each time."""
    rng = np.random.default_rng(26)
    out = []
    for _ in range(count):
        types = tuple(f"e{t:02d}" for t in rng.choice(TYPES, int(rng.integers(2, 6)), replace=False))
        above = tuple(int(rng.integers(0, AMOUNTS)) if n % 2 else -1 for n in range(len(types)))
        out.append(SequenceRule(types, above))
    return out


def ensure_events(events: int) -> Path:
    """A log of so many events as a Parquet folder, the same each time."""
    folder = DATA / f"rules_{events}"
    if not folder.exists():
        rng = np.random.default_rng(7)
        folder.mkdir(parents=True)
        for part in range(4):
            rows = events // 4
            table = pa.table(
                {
                    "case_id": np.arange(rows) // EVENTS_PER_CASE + part * 10**9,
                    "ts": pa.array(np.arange(rows) * 1_000_000, pa.timestamp("us", "UTC")),
                    "activity": pa.array([f"e{t:02d}" for t in rng.integers(0, TYPES, rows)]),
                    "amount": rng.integers(0, AMOUNTS, rows).astype(np.int32),
                }
            )
            pq.write_table(table, folder / f"part-{part}.parquet")
    return folder


def rule_set_sql(view: str) -> str:
    return (
        f"SELECT rule, count(*) AS n FROM pattern_rules(TABLE(log) PARTITION BY case_id ORDER BY ts, "
        f"rules => TABLE({view}), event_type => activity) GROUP BY rule"
    )


def one_sql(rule: SequenceRule) -> str:
    return f"SELECT count(*) AS n FROM (FROM log PARTITION BY case_id ORDER BY ts EVENT TYPE activity {rule.block()})"


def hand_written_sql(rules: Sequence[SequenceRule]) -> str:
    return f"SELECT {', '.join(r.by_hand() for r in rules)} FROM cases"


@dataclass(frozen=True, slots=True)
class Measured:
    """Median seconds of some runs, planning alone, and matches by rule."""

    seconds: float
    planning: float
    matches: dict[str, int]


def measured(runs: Sequence[tuple[float, float, dict[str, int]]]) -> Measured:
    """Of runs: their seconds, those that planning took, and matches."""
    return Measured(statistics.median(r[0] for r in runs), statistics.median(r[1] for r in runs), runs[-1][2])


def timed_run(run: Callable[[], tuple[float, dict[str, int]]]) -> tuple[float, float, dict[str, int]]:
    """One run, which gives the seconds that planning took, and the matches."""
    start = time.perf_counter()
    planning, matches = run()
    return time.perf_counter() - start, planning, matches


def run_set(spark: SparkSession, rules: Sequence[SequenceRule]) -> tuple[float, dict[str, int]]:
    """A rule set of these rules."""
    rows = [(f"r{n:04d}", rule.block()) for n, rule in enumerate(rules)]
    spark.createDataFrame(rows, "name string, rule string").createOrReplaceTempView("rules")
    start = time.perf_counter()
    frame = spark.sql(rule_set_sql("rules"))
    planning = time.perf_counter() - start
    return planning, {row.rule: row.n for row in frame.collect()}


def run_one_by_one(spark: SparkSession, rules: Sequence[SequenceRule]) -> tuple[float, dict[str, int]]:
    """The same rules as statements one after the other."""
    found = {f"r{n:04d}": spark.sql(one_sql(rule)).collect()[0].n for n, rule in enumerate(rules)}
    return 0.0, {name: n for name, n in found.items() if n}


def run_by_hand(spark: SparkSession, rules: Sequence[SequenceRule]) -> tuple[float, dict[str, int]]:
    """The hand-written statement over the cached lists."""
    row = spark.sql(hand_written_sql(rules)).collect()[0]
    return 0.0, {f"r{n:04d}": found for n, found in enumerate(row) if found}


def cache_cases(spark: SparkSession) -> float:
    """Sorted lists of all cases, in memory; the seconds that took."""
    start = time.perf_counter()
    spark.sql(
        "SELECT case_id, sort_array(collect_list(struct(ts, activity, amount))) AS events FROM log GROUP BY case_id"
    ).cache().createOrReplaceTempView("cases")
    spark.table("cases").count()
    return time.perf_counter() - start


def memory(peaks: Peaks) -> str:
    """What was held at most."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"Peak memory: JVM {peaks.jvm:,.0f} MiB, all Python workers together {peaks.workers:,.0f} MiB, the greatest of "
        f"them {peaks.worker:,.0f} MiB, the driver's Python {own:,.0f} MiB"
    )


class Peaks:
    """Resident memory of this process's JVM and of Python's workers below it, looked at while this is entered: the most
    of each, in MiB. Pages that workers share with the process that they were forked from count for each of them."""

    def __init__(self) -> None:
        self.jvm = self.workers = self.worker = 0.0
        self.ended = threading.Event()
        self.watcher = threading.Thread(target=self.watch, daemon=True)

    def __enter__(self) -> Peaks:
        self.watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.watcher.join()

    def watch(self) -> None:
        """Look every half second."""
        while not self.ended.wait(0.5):
            below = descendants(os.getpid())
            jvms = [rss for pid, name, rss in below if name == "java"]
            workers = [rss for pid, name, rss in below if name.startswith("python")]
            self.jvm = max(self.jvm, sum(jvms))
            self.workers = max(self.workers, sum(workers))
            self.worker = max([self.worker, *workers])


def descendants(of: int) -> list[tuple[int, str, float]]:
    """Process, name and resident MiB of all processes below one."""
    found: dict[int, tuple[int, str, float]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line)
        except (OSError, ValueError):
            continue  # it has ended
        rss = float(status.get("VmRSS", "0 kB").split()[0]) / 1024
        found[int(folder.name)] = (int(status["PPid"]), status["Name"].strip(), rss)
    out = []
    level = {of}
    while level:
        level = {pid for pid, (parent, _, _) in found.items() if parent in level}
        out += [(pid, *found[pid][1:]) for pid in level]
    return out


def measure(spark: SparkSession, events: int, counts: Sequence[int], runs: int, beside: bool) -> list[str]:
    """Lines of a table for one log. Sets of all sizes take turns, the first two for nothing, so that a JVM that grows
    faster, or others on the machine, favour none."""
    sets = {count: make_rules(count) for count in counts}
    rounds = [{n: timed_run(lambda own=own: run_set(spark, own)) for n, own in sets.items()} for _ in range(runs + 2)]
    found = {n: measured([turn[n] for turn in rounds[2:]]) for n in sets}
    base = found[counts[0]].seconds
    lines = []
    for n, own in found.items():
        lines.append(
            f"| rule set, rules: {n:,} | events {events:,}, seconds {own.seconds:.2f}, of which planning "
            f"{own.planning:.2f}, times one rule {own.seconds / base:.1f}, "
            f"matches {sum(own.matches.values()):,} |"
        )
    print("\n".join(lines), flush=True)
    if beside:
        lines += compared(spark, sets[COMPARED], found[COMPARED], runs)
    return lines


def compared(spark: SparkSession, rules: Sequence[SequenceRule], found: Measured, runs: int) -> list[str]:
    """Lines of the same rules by other means."""
    alone = measured([timed_run(lambda: run_one_by_one(spark, rules))])
    cached = cache_cases(spark)
    by_hand = measured([timed_run(lambda: run_by_hand(spark, rules)) for _ in range(runs + 1)][1:])
    spark.catalog.uncacheTable("cases")
    assert alone.matches == found.matches == by_hand.matches
    lines = [
        f"| the same {len(rules)} statements one after the other | seconds {alone.seconds:.2f}, "
        f"times the rule set {alone.seconds / found.seconds:.1f} |",
        f"| {len(rules)} rules by hand in one statement over cached lists | seconds {by_hand.seconds:.2f} and "
        f"{cached:.2f} to cache, times the rule set {by_hand.seconds / found.seconds:.1f} |",
    ]
    print("\n".join(lines), flush=True)
    return lines


def main(quick: bool) -> None:
    """Write the result."""
    sizes = (
        (100_000,) if quick else tuple(int(n) for n in os.environ.get("RULES_EVENTS", "1000000,10000000").split(","))
    )
    lines: list[str] = []
    for events in sizes:
        with spark_session({"log": ensure_events(events)}) as spark, Peaks() as peaks:
            lines += measure(spark, events, COUNTS, 2 if quick else RUNS, events == sizes[0])
        lines.append(f"| {events:,} events | {memory(peaks)} |")
        print(lines[-1], flush=True)
    folder = DATA / "quick" if quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    text = f"""# Rule sets

{(__doc__ or "").strip()}

| one statement, two cores | |
|---|---|
{chr(10).join(lines)}

{SETTINGS_NOTE} {os.cpu_count()} cores; load average at the end {os.getloadavg()[0]:.1f}.
"""
    (folder / "rules.md").write_text(text)
    print(text)
