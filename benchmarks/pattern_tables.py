"""Pattern tables brought up to date day by day, beside a full run of their query and a model written by hand."""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks import spark as sparks
from benchmarks.generate import LogShape, ensure_parquet
from benchmarks.harness import RESULTS, table
from benchmarks.refreshes import going_on
from sparkcep.settings import INDEX_PATH

EVENTS, DAYS = 10_000_000, 5
HEAD = "FROM events PARTITION BY case_id ORDER BY ts EVENT TYPE activity PATTERN "
QUERIES = {
    "sequence": HEAD + "SEQ({0} a, {1} b, {2} c) MATCHES NON OVERLAPPING",
    "all matches": HEAD + "SEQ({0} a, {1} b) WITHIN 30 DAYS EVENT SELECTION SKIP TILL ANY MATCH",
    "Kleene": HEAD
    + "SEQ({0} a, {1}+ b[], {2} c) WHERE b[i].pos > b[i-1].pos RETURN a.ts AS since, count(b[].pos) AS n",
    "absence": HEAD + "SEQ({0} a, !{1} b) WITHIN 7 DAYS OMIT CENSORED MATCHES",
    "timed out": HEAD + "SEQ({0} a, {1} b) WITHIN 7 DAYS MATCHES ALL WITH TIMED OUT OMIT CENSORED MATCHES",
    "clause": "SELECT * FROM events MATCH_RECOGNIZE (PARTITION BY case_id ORDER BY ts MEASURES A.ts AS since, "
    "count(*) AS n PATTERN (A X* B) DEFINE A AS activity = '{0}', X AS activity NOT IN ('{0}', '{1}'), "
    "B AS activity = '{1}')",
    "trends": HEAD + "SEQ({0} a, {1}+ b) WITHIN 30 DAYS GROUP BY case_id RETURN case_id, count(*) AS n",
    "imprecise": HEAD + "SEQ({0} a, {1} b) WITHIN 1 DAY UNCERTAINTY 1 HOUR STEP 10 MINUTES",
}
#: Written by hand, as a dbt model is: matches that begin in the cases of the last day are looked for again.
MODEL = """
INSERT INTO model SELECT n.* FROM (
    SELECT m.case_id, m.start_time, m.end_time FROM (FROM (
        SELECT * FROM events LEFT SEMI JOIN (SELECT DISTINCT case_id FROM events WHERE ts >= (
            SELECT date_trunc('day', max(ts)) FROM events)) USING (case_id)
    ) PARTITION BY case_id ORDER BY ts EVENT TYPE activity PATTERN SEQ({0} a, {1} b, {2} c) MATCHES NON OVERLAPPING) m
) n LEFT ANTI JOIN model o ON o.case_id = n.case_id AND o.start_time = n.start_time
"""
ABOUT = """# Pattern tables

{events:,} events in {cases:,} cases. Each of {days} days a file comes with 1 % more: new cases, and of a tenth of the
events of the day before more events. Then each table is refreshed and its query runs as a whole, in turn; the rows
of both are the same each day. Seconds are medians over the days. `REFRESH` without a new file takes {floor:.2f} s,
{floors:.1f} times `SELECT count(*)` of a thousand rows.
"""


def main(events: int = EVENTS, days: int = DAYS, names: Sequence[str] = ()) -> None:
    """Run and write results/pattern_tables.md.

    Args:
        events: of the log before the first day. names: of QUERIES; none: all.

    Raises:
        AssertionError: a table has other rows than its query gives.
    """
    log = ensure_parquet(LogShape(cases=events // 100, events=events))
    rows, facts = [], {}
    with tempfile.TemporaryDirectory() as temporary:
        root, folder = Path(temporary), Path(temporary) / "events"
        shutil.copytree(log, folder, ignore=shutil.ignore_patterns("_DONE"))
        with sparks.spark_session({}, spark_sql_warehouse_dir=str(root / "warehouse")) as spark:
            spark.conf.set(INDEX_PATH.key, str(root / "tables"))
            types = sorted(row[0] for row in spark.read.parquet(str(folder)).select("activity").distinct().collect())
            queries = {name: q.format(*types) for name, q in QUERIES.items() if not names or name in names}
            view(spark, folder)
            took: dict[str, list[tuple[float, float]]] = {name: [] for name in queries}
            made = {}
            for name, query in queries.items():
                made[name] = seconds_of(lambda q=query, n=name: spark.sql(f"CREATE PATTERN TABLE {named(n)} AS {q}"))
                print(f"{name}: created in {made[name]:.1f} s", flush=True)
                whole(spark, query)
            by_hand = Model(spark, types, root) if not names else None
            for batch in itertools.islice(going_on(events // 100), days):
                pq.write_table(batch, folder / f"day-{time.time_ns()}.parquet", compression="zstd")
                view(spark, folder)
                for name, query in queries.items():
                    refresh = seconds_of(lambda n=name: spark.sql(f"REFRESH PATTERN TABLE {named(n)}").collect())
                    took[name].append((refresh, seconds_of(lambda q=query: whole(spark, q))))
                    check(spark, name, query)
                    print(f"{name}: refresh {took[name][-1][0]:.2f} s, full {took[name][-1][1]:.2f} s", flush=True)
                if by_hand is not None:
                    by_hand()
            first = named(next(iter(queries)))
            floors = [seconds_of(lambda: spark.sql(f"REFRESH PATTERN TABLE {first}").collect()) for _ in range(7)]
            trivial = [seconds_of(lambda: spark.range(1000).selectExpr("count(*)").collect()) for _ in range(7)]
    for name, seconds in took.items():
        own, full = (statistics.median(s[k] for s in seconds) for k in (0, 1))
        ratio = statistics.median(one / other for one, other in seconds)
        facts[name] = {"refresh": own, "full": full, "ratio": ratio, "created": made[name]}
        rows.append([name, f"{made[name]:.1f}", f"{own:.2f}", f"{full:.2f}", f"{ratio:.2f}"])
    if by_hand is not None:
        median = statistics.median(by_hand.seconds)
        facts["model"] = {"refresh": median}
        rows.append(["sequence, by hand", "", f"{median:.2f}", "", ""])
    floor, least = statistics.median(floors), statistics.median(trivial)
    about = ABOUT.format(events=events, cases=events // 100, days=days, floor=floor, floors=floor / least)
    text = "\n".join([about, *table(["query", "created, s", "refresh, s", "full run, s", "refresh / full run"], rows)])
    print(text)
    RESULTS.mkdir(exist_ok=True)
    name = "pattern_tables" if events == EVENTS else f"pattern_tables_{events}"
    (RESULTS / f"{name}.md").write_text(text + "\n")
    (RESULTS / f"{name}.json").write_text(json.dumps(facts | {"floor": floor, "trivial": least}, indent=1))


def named(name: str) -> str:
    """A pattern table's name."""
    return "pt_" + name.replace(" ", "_")


def view(spark: SparkSession, folder: Path) -> None:
    """The log, with the files that there are."""
    spark.read.parquet(str(folder)).createOrReplaceTempView("events")


def whole(spark: SparkSession, query: str) -> None:
    """All rows of a query, for nothing."""
    spark.sql(query).write.format("noop").mode("overwrite").save()


class Model:
    """The model written by hand; a call brings it up to date. ``seconds``: that its calls took."""

    def __init__(self, spark: SparkSession, types: Sequence[str], root: Path) -> None:
        self.spark, self.text, self.seconds = spark, MODEL.format(*types), list[float]()
        query = QUERIES["sequence"].format(*types)
        rows = spark.sql(f"SELECT case_id, start_time, end_time FROM ({query})")
        rows.write.saveAsTable("model", path=str(root / "model"))

    def __call__(self) -> None:
        self.seconds.append(seconds_of(lambda: self.spark.sql(self.text).collect()))


def check(spark: SparkSession, name: str, query: str) -> None:
    """See that a table has the rows of its query."""
    run = spark.sql(query)
    columns = ", ".join(f"`{c}`" for c in run.columns)
    digest = f"SELECT count(*), sum(xxhash64(to_json(struct({columns}))) DIV 2000) FROM"
    (full,) = spark.sql(f"{digest} ({query})").collect()
    (kept,) = spark.sql(f"{digest} {named(name)}").collect()
    if full != kept:
        raise AssertionError(f"{name}: the query gives {full}, the table {kept}")


def seconds_of(action: Callable[[], object]) -> float:
    """How long something takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--days", type=int, default=DAYS)
    given = parser.parse_args()
    main(given.events, given.days, given.names)
