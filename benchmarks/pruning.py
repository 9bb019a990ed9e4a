"""Patterns over an indexed log: through each access path of the index, without it, and hand-written SQL beside.

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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks import spark as sparks
from benchmarks.generate import LogShape, ensure_parquet
from benchmarks.harness import RESULTS, timed
from benchmarks.processes import watched_memory
from benchmarks.sequences import Query, arrays_sql, duckdb_over, windows_sql
from sparkcep import index
from sparkcep.settings import INDEX, INDEX_ACCESS_PATH, INDEX_CASES, INDEX_PATH

EVENTS = 10_000_000
LENGTHS = (2, 5, 10)
YARDSTICKS = ("trivial", "same rows")
#: Which of these two is the first alternates: the second finds files in memory.
IN_TURN = ("index", "index, Arrow")
Timed = Callable[[], Iterable[Sequence[Any]]]

#: A view as users have it: other names, and a filter on time, which keeps two thirds of the log's cases as a case is
#: within a day.
SINCE = datetime(2024, 5, 2)
SINCE_MS = int(SINCE.replace(tzinfo=UTC).timestamp()) * 1_000
VIEW = f"""CREATE OR REPLACE TEMPORARY VIEW recent AS
    SELECT case_id AS order_id, ts AS at, activity AS step FROM events WHERE ts >= TIMESTAMP '{SINCE}'"""


@dataclass(frozen=True, slots=True)
class Route:
    """How a pattern is asked.

    ``kind``: of the index. ``events``, ``cases``: planner.index.events and planner.index.cases. ``order``: what ORDER
    BY says. ``view``: the log is asked for through VIEW.
    """

    kind: str = "siesta"
    events: str = "auto"
    cases: str = "auto"
    arrow: bool = False
    order: str = "ts"
    view: bool = False

    @property
    def folder(self) -> str:
        """Where its index is."""
        return self.kind if self.order == "ts" else f"{self.kind} with TIEBREAK"


ACCESS_PATHS = {
    "index": Route(),
    "index, Arrow": Route(arrow=True),
    "TIEBREAK": Route(order="ts, pos"),
    "TIEBREAK, Arrow": Route(order="ts, pos", arrow=True),
    "view": Route(view=True),
    "view, Arrow": Route(view=True, arrow=True),
    "activities": Route(events="activities", cases="lists"),
    "sequences by lists": Route(events="sequences", cases="lists"),
    "sequences by scan": Route(events="sequences", cases="scan"),
    "source": Route(events="source", cases="lists"),
    "signature": Route("signature", cases="lists"),
    "set_containment": Route("set_containment"),
}
#: Asked of the planner as users do: they run with every pattern, the others with some.
AUTOMATIC = tuple(name for name, route in ACCESS_PATHS.items() if route.kind == "siesta" and route.events == "auto")


ABOUT = """# Patterns over an indexed log of {events:,} events

{events:,} events, {cases:,} cases, {types} uniformly drawn types; {number} random patterns of each length that occur,
from the text to the rows. One of {every} runs on all systems, the others on *trivial*, *index*, *TIEBREAK*, *view*,
*no index* and *same rows*; shuffles have {partitions} partitions. One in seven has a negation, a Kleene or a time
bound; hand-written SQL (*windows*, *arrays*, as in the benchmark of sequences, in Spark, and in DuckDB with two
threads on the same Parquet files) answers the others. Each pattern runs once on every system, in turn; figures are
medians of seconds over patterns, *trivial* is `spark.range(1).count()` in the same rounds, *same rows* a job that
makes as many rows of the same types as the answer has, and hands them out. Rows are handed out by
`DataFrame.collect`, those of *Arrow* by `DataFrame.toArrow`, those of DuckDB as an Arrow table, too; a text is never
the same twice, so that no pattern's plan is kept, and every other pattern runs on *index, Arrow* before *index*.

*index* is what the planner chooses, *TIEBREAK* what it chooses with `ORDER BY ts, pos` and an index that has TIEBREAK,
*view* what it chooses through a view that renames the columns and keeps the events from a day on, two thirds of the
cases. The others are what it can be told to: events of candidate cases from `activities`, from `sequences` (cases by
posting lists, or by looking at all events), from the source; the two other kinds of index; no index. *by hand / index*
is the faster of *windows* and *arrays* over *index*, *DuckDB / index, Arrow* the same of DuckDB's.
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

    def block(self, table: str, order: str = "ts") -> str:
        return self._block(table, "case_id", order, "ts", "activity")

    def block_of_view(self) -> str:
        return self._block("recent", "order_id", "at", "at", "step")

    def _block(self, table: str, case: str, order: str, time: str, event: str) -> str:
        return (
            f"FROM {table} PARTITION BY {case} ORDER BY {order} EVENT TYPE {event} PATTERN {self.text} MATCHES FIRST "
            f"RETURN {case}, a1.{time} AS t_first, a{len(self.query.types)}.{time} AS t_last"
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


#: Hand-written SQL for plain sequences.
BY_HAND = {"windows": windows_sql, "arrays": arrays_sql}
BY_DUCKDB = {"windows": windows_sql, "arrays": partial(arrays_sql, duckdb=True)}


def rows_of(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Rows of a table, made when they are asked for."""
    yield from zip(*(column.to_pylist() for column in table.columns), strict=True)


class Systems:
    """All that answers a pattern, by name."""

    def __init__(self, spark: SparkSession, duck: duckdb.DuckDBPyConnection, folder: str) -> None:
        self.spark = spark
        self.duck = duck
        self.folder = folder
        self.rows = 0
        self.runs = itertools.count()

    def through(self, path: str) -> Callable[[Pattern], Timed]:
        route = ACCESS_PATHS.get(path, Route())

        def of(pattern: Pattern) -> Timed:
            self.spark.conf.set(INDEX.key, str(path != "no index").lower())
            self.spark.conf.set(INDEX_PATH.key, f"{self.folder}/{route.folder}")
            self.spark.conf.set(INDEX_ACCESS_PATH.key, route.events)
            self.spark.conf.set(INDEX_CASES.key, route.cases)
            block = pattern.block_of_view() if route.view else pattern.block("events", route.order)
            text = f"{block} -- {next(self.runs)}"
            if route.arrow:
                return lambda: rows_of(self.spark.sql(text).toArrow())
            return lambda: self.spark.sql(text).collect()

        return of

    def by_duckdb(self, text: Callable[[Query, str], str]) -> Callable[[Pattern], Timed | None]:
        return lambda p: (lambda: rows_of(self.duck.sql(text(p.query, "events")).to_arrow_table())) if p.plain else None

    def by_hand(self, text: Callable[[Query, str], str]) -> Callable[[Pattern], Timed | None]:
        return lambda p: (lambda: self.spark.sql(text(p.query, "events")).collect()) if p.plain else None

    def trivial(self, _: Pattern) -> Timed:
        return lambda: [("", self.spark.range(1).count())]

    def same_rows(self, _: Pattern) -> Timed:
        """As many rows of the same types as the index has just given, out of nothing."""
        columns = ("CAST(id AS STRING) AS case_id", "timestamp_micros(id) AS t_first", "timestamp_micros(id) AS t_last")
        return lambda: self.spark.range(0, self.rows, 1, 1).selectExpr(*columns).collect()


def build(spark: SparkSession, log: Path, folder: str, route: Route) -> str:
    """Build an index, and say what it took: time, and the largest resident sizes of the JVM and of Python's workers."""
    spark.conf.set(INDEX_PATH.key, f"{folder}/{route.folder}")
    columns = {"case": "case_id", "time": "ts", "event": "activity"}
    if route.order != "ts":
        columns["tiebreak"] = "pos"
    started = time.perf_counter()
    with watched_memory() as memory:
        done = index.create(spark, "log", f"parquet.`{log}`", using=route.kind, **columns)  # type: ignore[arg-type]
    built = time.perf_counter() - started
    assert done is not None
    return (
        f"Index `{route.folder}`: built in {built:.0f} s ({done.events / built:,.0f} events/s), {done.pairs:,} pairs, "
        f"{sum(done.sizes.values()) / 1e6:,.0f} MB on disk; the driver, which is the executor, and its workers had "
        f"{memory[0]:,.0f} MB of memory at most."
    )


def main(
    quick: bool = False,
    events: int = EVENTS,
    number: int = 100,
    every: int = 5,
    paths: Sequence[str] = tuple(ACCESS_PATHS),
    partitions: int = 2,
) -> None:
    """Run and write results/pruning.md; of another size, a file with its name.

    Args:
        number: patterns of each length. every: which of them run on all systems. partitions: of shuffles.
    """
    events, number = (1_000_000, 3) if quick else (events, number)
    shape = LogShape(cases=events // 100, events=events)
    log = ensure_parquet(shape)
    lines = [
        ABOUT.format(
            events=events, cases=shape.cases, types=shape.types, number=number, every=every, partitions=partitions
        )
    ]
    facts: dict[str, object] = {}
    slower = []
    with (
        tempfile.TemporaryDirectory() as folder,
        sparks.spark_session({"events": log}) as spark,
        duckdb_over(log, "events", memory_limit="8GB") as duck,
    ):
        spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
        spark.sql(VIEW)
        paths = list(dict.fromkeys([*IN_TURN, *paths]))
        for route in {ACCESS_PATHS[path].folder: ACCESS_PATHS[path] for path in paths}.values():
            lines.append(build(spark, log, folder, route))
            print(lines[-1], flush=True)
        systems = Systems(spark, duck, folder)
        always = {*YARDSTICKS, *AUTOMATIC, "no index"}
        runs: dict[str, Callable[[Pattern], Timed | None]] = {"trivial": systems.trivial}
        runs |= {path: systems.through(path) for path in [*paths, "no index"]}
        runs["same rows"] = systems.same_rows
        runs |= {name: systems.by_hand(text) for name, text in BY_HAND.items()}
        runs |= {f"DuckDB {name}": systems.by_duckdb(text) for name, text in BY_DUCKDB.items()}
        through = [name for name in AUTOMATIC if name in paths]
        head = ["length", *runs, *(f"{name} / trivial" for name in through), "by hand / index", "DuckDB / index, Arrow"]
        lines += ["", f"| {' | '.join(head)} |", "|" + "--|" * len(head)]
        for place, warm in enumerate(patterns(log, 5, 8, 99)):
            for name, make in runs.items():
                # What takes many seconds is warm after two.
                if (name in {*YARDSTICKS, *AUTOMATIC} or events <= EVENTS or place < 2) and (run := make(warm)):
                    run()
        for length in LENGTHS:
            took = ask(systems, runs, patterns(log, length, number, 1), always, every)
            medians = {name: statistics.median(values.values()) for name, values in took.items()}
            hand, duckdb_ = ratio(took, BY_HAND, "index"), ratio(took, [f"DuckDB {n}" for n in BY_DUCKDB], IN_TURN[1])
            worse = sum(took["index"][place] > 1.1 * own for place, own in took["no index"].items())
            facts[str(length)] = {"seconds": medians, "by hand / index": hand, "DuckDB / index, Arrow": duckdb_}
            slower.append(f"{worse} of length {length}")
            cells = [f"{medians[name]:.2f}" for name in runs]
            cells += [f"{medians[name] / medians['trivial']:.1f}" for name in through]
            lines.append(f"| {length} | {' | '.join(cells)} | {hand:.1f} | {duckdb_:.1f} |")
            print(lines[-1], f"slower than without: {worse}", flush=True)
    lines += ["", f"Patterns of which *index* took more than a tenth longer than *no index*: {', '.join(slower)}."]
    text = "\n".join(lines)
    print(text)
    if not quick:
        RESULTS.mkdir(exist_ok=True)
        name = "pruning" if events == EVENTS else f"pruning_{events}"
        (RESULTS / f"{name}.md").write_text(text + "\n")
        (RESULTS / f"{name}.json").write_text(json.dumps(facts, indent=1))


def ask(
    systems: Systems,
    runs: Mapping[str, Callable[[Pattern], Timed | None]],
    asked: Iterable[Pattern],
    always: Collection[str],
    every: int,
) -> dict[str, dict[int, float]]:
    """Seconds of each system, by the place of the pattern.

    Raises:
        AssertionError: a system gave other rows than there are without an index.
    """
    took: dict[str, dict[int, float]] = {name: {} for name in runs}
    for place, pattern in enumerate(asked):
        answers = {}
        turned = dict(zip(IN_TURN, reversed(IN_TURN), strict=True)) if place % 2 else {}
        for name in (turned.get(n, n) for n in runs):
            make = runs[name]
            if (name in always or place % every == 0) and (run := make(pattern)):
                answer = timed(run)
                took[name][place] = answer.seconds
                answers[name] = sorted(answer.rows)
                if name in IN_TURN:
                    systems.rows = len(answer.rows)
        expected = answers.pop("no index")
        recent = [row for row in expected if row[1] >= SINCE_MS]
        wrong = [
            name
            for name, rows in answers.items()
            if name not in YARDSTICKS and rows != (recent if name.startswith("view") else expected)
        ]
        if wrong:
            raise AssertionError(f"{wrong} differ from the unindexed answer of {pattern.text}")
    return took


def ratio(took: Mapping[str, Mapping[int, float]], by_hand: Iterable[str], name: str) -> float:
    """Median of the faster of what was written by hand / median of a system, over the patterns that both answered."""
    sides = [took[text] for text in by_hand]
    places = sides[0].keys()
    return statistics.median(min(own[p] for own in sides) for p in places) / statistics.median(
        took[name][p] for p in places
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--partitions", type=int, default=2, help="of shuffles")
    parser.add_argument("--paths", nargs="*", default=list(ACCESS_PATHS), choices=list(ACCESS_PATHS))
    options = parser.parse_args()
    os.environ["TZ"] = "UTC"
    time.tzset()
    main(options.quick, options.events, options.number, options.every, options.paths, options.partitions)
