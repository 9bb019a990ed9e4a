"""Patterns over an indexed log: through each access path of the index, without it, and hand-written Spark SQL beside.

Every pattern runs once on every system, in turn; medians are over patterns. Answers are compared before they count.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks import spark as sparks
from benchmarks.generate import LogShape, ensure_parquet
from benchmarks.harness import RESULTS, timed
from benchmarks.sequences import Query, arrays_sql, windows_sql
from sparkcep import index
from sparkcep.settings import INDEX, INDEX_ACCESS_PATH, INDEX_CASES, INDEX_PATH

EVENTS = 10_000_000
LENGTHS = (2, 5, 10)
YARDSTICKS = ("trivial", "same rows")
#: Which of these two is the first alternates: the second finds files in memory.
IN_TURN = ("index", "index, Arrow")
Timed = Callable[[], Iterable[Sequence[Any]]]

#: Access paths of an index: its kind, and the settings planner.index.events and planner.index.cases.
ACCESS_PATHS = {
    "index": ("siesta", "auto", "auto"),
    "index, Arrow": ("siesta", "auto", "auto"),
    "activities": ("siesta", "activities", "lists"),
    "sequences by lists": ("siesta", "sequences", "lists"),
    "sequences by scan": ("siesta", "sequences", "scan"),
    "source": ("siesta", "source", "lists"),
    "signature": ("signature", "auto", "lists"),
    "set_containment": ("set_containment", "auto", "auto"),
}


ABOUT = """# Patterns over an indexed log of {events:,} events

{events:,} events, {cases:,} cases, {types} uniformly drawn types; {number} random patterns of each length that occur,
from the text to the rows. Every {every}th of them runs on all systems, the others on *trivial*, *index*, *index,
Arrow*, *no index* and *same rows*. One in seven has a negation, a Kleene or a time bound; hand-written SQL
(*windows*, *arrays*, as in the benchmark of sequences) answers the others. Each pattern runs once on every system, in
turn; figures are medians of seconds over patterns, *trivial* is `spark.range(1).count()` in the same rounds, *same
rows* a job that makes as many rows of the same types as the answer has, and hands them out. Rows are handed out by
`DataFrame.collect`, those of *index, Arrow* by `DataFrame.toArrow`; a text is never the same twice, so that no
pattern's plan is kept, and every other pattern runs on *index, Arrow* before *index*. *index* is what the planner
chooses, the others what it can be told to: events of candidate cases from `activities`, from `sequences` (cases by
posting lists, or by looking at all events), from the source; the two other kinds of index; no index.
Answers were the same.

The paper (SIESTA, on a cluster of five machines) stores 14 bytes a pair, 4,920 MB for 10 M events, and indexes 2.5 M
events in less than 7 minutes.
"""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that some case holds. ``plain``: one that hand-written SQL is for."""

    text: str
    query: Query
    plain: bool

    def block(self, table: str) -> str:
        return (
            f"FROM {table} PARTITION BY case_id ORDER BY ts EVENT TYPE activity PATTERN {self.text} MATCHES FIRST "
            f"RETURN case_id, a1.ts AS t_first, a{len(self.query.types)}.ts AS t_last"
        )


def patterns(log: Path, length: int, number: int, seed: int) -> Iterator[Pattern]:
    """Random patterns of a length, of which each occurs; every seventh has a negation, a Kleene or a time bound."""
    rng = np.random.default_rng([seed, length])
    table = pq.read_table(log, columns=["case_id", "pos", "activity"])
    cases = table["case_id"].combine_chunks().dictionary_encode()
    codes = cases.indices.to_numpy()
    for k in range(number):
        own = np.flatnonzero(codes == rng.integers(len(cases.dictionary)))
        events = table.take(own).sort_by("pos")["activity"].to_pylist()
        places: list[int] = []
        while len({events[p] for p in places}) < length:  # types differ
            places = sorted(rng.choice(len(events), length, replace=False))
        types = tuple(events[p] for p in places)
        parts = [f"{t} a{n}" for n, t in enumerate(types, start=1)]
        within, plain = "", k % 7 != 3
        if not plain:
            kind = k // 7 % 3
            other = str(rng.choice([t for t in sorted(set(events)) if t not in types]))
            if kind == 0:
                parts.insert(1, f"!{other} x")
            elif kind == 1:
                parts.insert(1, f"{other}* x[]")
            else:
                within = " WITHIN 6 hours"
        yield Pattern(f"SEQ({', '.join(parts)}){within}", Query(f"q{length}", types), plain)


def rows_of(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Rows of a table, made when they are asked for."""
    yield from zip(*(column.to_pylist() for column in table.columns), strict=True)


class Systems:
    """All that answers a pattern, by name."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self.spark = spark
        self.folder = folder
        self.rows = 0
        self.runs = itertools.count()

    def through(self, path: str) -> Callable[[Pattern], Timed]:
        def of(pattern: Pattern) -> Timed:
            self.spark.conf.set(INDEX.key, str(path != "no index").lower())
            kind, events, cases = ACCESS_PATHS.get(path, ("siesta", "auto", "auto"))
            self.spark.conf.set(INDEX_PATH.key, f"{self.folder}/{kind}")
            self.spark.conf.set(INDEX_ACCESS_PATH.key, events)
            self.spark.conf.set(INDEX_CASES.key, cases)
            text = f"{pattern.block('events')} -- {next(self.runs)}"
            if path == "index, Arrow":
                return lambda: rows_of(self.spark.sql(text).toArrow())
            return lambda: self.spark.sql(text).collect()

        return of

    def by_hand(self, text: Callable[[Query, str], str]) -> Callable[[Pattern], Timed | None]:
        return lambda p: (lambda: self.spark.sql(text(p.query, "events")).collect()) if p.plain else None

    def trivial(self, _: Pattern) -> Timed:
        return lambda: [("", self.spark.range(1).count())]

    def same_rows(self, _: Pattern) -> Timed:
        """As many rows of the same types as the index has just given, out of nothing."""
        columns = ("CAST(id AS STRING) AS case_id", "timestamp_micros(id) AS t_first", "timestamp_micros(id) AS t_last")
        return lambda: self.spark.range(0, self.rows, 1, 1).selectExpr(*columns).collect()


def main(
    quick: bool = False,
    events: int = EVENTS,
    number: int = 100,
    every: int = 5,
    paths: Sequence[str] = tuple(ACCESS_PATHS),
) -> None:
    """Run and write results/pruning.md; of another size, a file with its name.

    Args:
        number: patterns of each length. every: which of them run on all systems.
    """
    events, number = (1_000_000, 3) if quick else (events, number)
    shape = LogShape(cases=events // 100, events=events)
    log = ensure_parquet(shape)
    lines = [ABOUT.format(events=events, cases=shape.cases, types=shape.types, number=number, every=every)]
    facts: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder, sparks.spark_session({"events": log}) as spark:
        for kind in dict.fromkeys(ACCESS_PATHS[path][0] for path in [*IN_TURN, *paths]):
            spark.conf.set(INDEX_PATH.key, f"{folder}/{kind}")
            started = time.perf_counter()
            done = index.create(
                spark, "log", f"parquet.`{log}`", case="case_id", time="ts", event="activity", using=kind
            )
            built = time.perf_counter() - started
            assert done is not None
            lines.append(
                f"Index `{kind}`: built in {built:.0f} s ({events / built:,.0f} events/s), {done.pairs:,} pairs, "
                f"{sum(done.sizes.values()) / 1e6:,.0f} MB."
            )
            print(lines[-1], flush=True)
        systems = Systems(spark, folder)
        always = {*YARDSTICKS, *IN_TURN, "no index"}
        runs: dict[str, Callable[[Pattern], Timed | None]] = {"trivial": systems.trivial}
        runs |= {path: systems.through(path) for path in dict.fromkeys([*IN_TURN, *paths, "no index"])}
        runs["same rows"] = systems.same_rows
        runs |= {"windows": systems.by_hand(windows_sql), "arrays": systems.by_hand(arrays_sql)}
        head = ["length", *runs, *(f"{name} / trivial" for name in IN_TURN), "by hand / index"]
        lines += ["", f"| {' | '.join(head)} |", "|" + "--|" * len(head)]
        for warm in patterns(log, 5, 8, 99):
            for make in runs.values():
                if run := make(warm):
                    run()
        for length in LENGTHS:
            took: dict[str, list[float]] = {name: [] for name in runs}
            by_plain: list[tuple[float, float]] = []
            for place, pattern in enumerate(patterns(log, length, number, 1)):
                answers, now = {}, {}
                turned = dict(zip(IN_TURN, reversed(IN_TURN), strict=True)) if place % 2 else {}
                for name in (turned.get(n, n) for n in runs):
                    make = runs[name]
                    if (name in always or place % every == 0) and (run := make(pattern)):
                        answer = timed(run)
                        now[name], answers[name] = answer.seconds, sorted(answer.rows)
                        systems.rows = len(answer.rows)
                        took[name].append(answer.seconds)
                expected = answers.pop("no index")
                wrong = [n for n, rows in answers.items() if n not in YARDSTICKS and rows != expected]
                if wrong:
                    raise AssertionError(f"{wrong} differ from the unindexed answer of {pattern.text}")
                if "windows" in now:
                    by_plain.append((min(now["windows"], now["arrays"]), now["index"]))
            medians = {name: statistics.median(values) for name, values in took.items()}
            ratio = statistics.median(h for h, _ in by_plain) / statistics.median(i for _, i in by_plain)
            facts[str(length)] = {"seconds": medians, "by hand / index": ratio}
            cells = " | ".join(f"{medians[name]:.2f}" for name in runs)
            through = " | ".join(f"{medians[name] / medians['trivial']:.1f}" for name in IN_TURN)
            lines.append(f"| {length} | {cells} | {through} | {ratio:.1f} |")
            print(lines[-1], flush=True)
    text = "\n".join(lines)
    print(text)
    if not quick:
        RESULTS.mkdir(exist_ok=True)
        name = "pruning" if events == EVENTS else f"pruning_{events}"
        (RESULTS / f"{name}.md").write_text(text + "\n")
        (RESULTS / f"{name}.json").write_text(json.dumps(facts, indent=1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--paths", nargs="*", default=list(ACCESS_PATHS), choices=list(ACCESS_PATHS))
    options = parser.parse_args()
    os.environ["TZ"] = "UTC"
    time.tzset()
    main(options.quick, options.events, options.number, options.every, options.paths)
