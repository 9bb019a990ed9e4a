"""Sequences of event types with gaps: MATCH_RECOGNIZE in sparkcep and Flink beside hand-written SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import count, pairwise
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks import spark as sparks
from benchmarks.flink import DEFAULT_VENV, Flink, FlinkUnavailable
from benchmarks.generate import FULL, QUICK, Log, ensure_log
from benchmarks.harness import Answer, Benchmark, Entry, Ratio, timed

ABOUT = """
A synthetic event log in the shape of SIESTA's: {events:,} events, {cases:,} cases of {shortest} to {longest} events,
{types} event types drawn uniformly. `q2`, `q5` and `q10` look for 2, 5 and 10 event types in this order with any events
between them; `k` looks for one type, later a run of one or more of a second, later a third.

sparkcep and Flink run the same text, for `q2`:

```sql
{example}
```

Each gap is defined as *not the next type*. That makes the times of a match unique whatever a system prefers, so that
greedy and reluctant gaps are the same and no system has to keep alternatives alive. The answer is the first match of
each case, by the outer `min`. Hand-written SQL gets it from a chain of minima: `t1` is the first A, `t2` the first B
after `t1`, and so on. If the chain cannot be completed from the first A, it cannot from a later one either, so this is
exactly the first match. Hand-written SQL filters the log to the types of the query and does only the first match; the
pattern queries find all matches that do not overlap. sparkcep proves that other events decide nothing, filters them
out too, and lets Spark's own `aggregate` follow the sequence, so that no event goes to Python.

The run of `k` is written `S2+?` because Flink refuses a greedy quantifier before an optional gap. The times asked for
do not depend on how many events the run takes.
"""

NOTES = (
    "Every run goes from the text of the query to its rows in the caller: parsing, planning, reading, collecting. "
    "A session caches the pattern plan of a text. *text not seen before* uses another text in each run.",
    "windows: `min(CASE ...) OVER (PARTITION BY case_id)` once for each step; arrays: times of each type in an array "
    "by GROUP BY, then `array_min(filter(...))` once for each step; fold: one sorted array and `aggregate` over it.",
    sparks.SETTINGS_NOTE + " DuckDB: 2 threads, views over the files. "
    "Flink: batch mode in one embedded cluster, parallelism 2, 4 GB heap, 1 GB managed memory, object reuse.",
)

EVENT_COLUMNS = "case_id STRING, pos INT, activity STRING, ts TIMESTAMP"


@dataclass(frozen=True, slots=True)
class Query:
    """Event types to find one after the other; ``plus`` is the step (from 1) that is a run, or None."""

    name: str
    types: tuple[str, ...]
    plus: int | None = None

    @property
    def steps(self) -> range:
        return range(1, len(self.types) + 1)

    @property
    def type_list(self) -> str:
        return ", ".join(f"'{t}'" for t in self.types)


def choose_queries(table: pa.Table) -> tuple[Query, ...]:
    """Queries that have an answer: their types are taken from cases of the log.

    Ten uniformly drawn types out of 150 hardly ever occur in order among 100 events, and equal empty answers would
    prove little.
    """
    log = table.select(["case_id", "pos", "activity"]).sort_by([("case_id", "ascending"), ("pos", "ascending")])
    case = log["case_id"].combine_chunks().dictionary_encode().indices.to_numpy()
    activity = np.array(log["activity"].to_pylist())
    starts = np.append(np.flatnonzero(np.diff(case, prepend=-1)), len(case))
    first = activity[starts[0] : starts[1]]
    _, distinct = np.unique(first, return_index=True)
    chosen = np.sort(np.random.default_rng(1).choice(distinct, 10, replace=False))
    types = tuple(str(t) for t in first[chosen])
    sequences = tuple(Query(f"q{n}", types[:n]) for n in (2, 5, 10))
    return (*sequences, Query("k", _around_a_run(starts, activity), plus=2))


def _around_a_run(starts: np.ndarray, activity: np.ndarray, distance: int = 10) -> tuple[str, str, str]:
    """A type, a type that a case has twice in a row some events later, and a type some events after that."""
    for low, high in pairwise(starts):
        own = activity[low:high]
        for at in np.flatnonzero(own[1:] == own[:-1]):
            if at >= distance and at + 1 + distance < len(own):
                types = (str(own[at - distance]), str(own[at]), str(own[at + 1 + distance]))
                if len(set(types)) == 3:
                    return types
    raise ValueError("the log has no run of two equal types")


# -- the texts ---------------------------------------------------------------------------------------------------------


def pattern_parts(query: Query) -> tuple[str, str]:
    """PATTERN's and DEFINE's text; the same for sparkcep and Flink."""
    last = len(query.types)
    runs = {query.plus: "+?"}
    pattern = " ".join(f"S{n}{runs.get(n, '')}" + (f" X{n}*" if n < last else "") for n in query.steps)
    defined = [f"S{n} AS S{n}.activity = '{query.types[n - 1]}'" for n in query.steps]
    defined += [f"X{n} AS X{n}.activity <> '{query.types[n]}'" for n in query.steps if n < last]
    return pattern, ",\n    ".join(defined)


def pattern_sql(query: Query, table: str) -> str:
    """The query as MATCH_RECOGNIZE."""
    pattern, defined = pattern_parts(query)
    return (
        "SELECT case_id, min(t_first) AS t_first, min(t_last) AS t_last\n"
        f"FROM {table} MATCH_RECOGNIZE (\n"
        "  PARTITION BY case_id ORDER BY ts\n"
        f"  MEASURES S1.ts AS t_first, S{len(query.types)}.ts AS t_last\n"
        "  ONE ROW PER MATCH\n"
        "  AFTER MATCH SKIP PAST LAST ROW\n"
        f"  PATTERN ({pattern})\n"
        f"  DEFINE {defined}\n"
        ")\nGROUP BY case_id"
    )


def _chain(first: str, more: Sequence[str], end: str) -> str:
    """CTEs s1, s2, ... of which each adds a column to the one before, then the end."""
    parts = [f"s1 AS ({first})"]
    parts += [f"s{k} AS (SELECT *, {column} FROM s{k - 1})" for k, column in enumerate(more, start=2)]
    return f"WITH {', '.join(parts)} {end}"


def windows_sql(query: Query, table: str) -> str:
    """Window minima, one after the other over rows that are shuffled once; for Spark and DuckDB."""

    def minimum(n: int) -> str:
        later = f" AND ts > t{n - 1}" if n > 1 else ""
        return (
            f"min(CASE WHEN activity = '{query.types[n - 1]}'{later} THEN ts END) OVER (PARTITION BY case_id) AS t{n}"
        )

    last = len(query.types)
    return _chain(
        f"SELECT case_id, activity, ts, {minimum(1)} FROM {table} WHERE activity IN ({query.type_list})",
        [minimum(n) for n in query.steps[1:]],
        f"SELECT DISTINCT case_id, t1 AS t_first, t{last} AS t_last FROM s{last} WHERE t{last} IS NOT NULL",
    )


def arrays_sql(query: Query, table: str, duckdb: bool = False) -> str:
    """One hash aggregation, then minima of filtered arrays; the two dialects differ in names."""
    collect = "list" if duckdb else "collect_list"

    def own(n: int) -> str:
        return f"(ts) FILTER (WHERE activity = '{query.types[n - 1]}')"

    def minimum(n: int) -> str:
        if duckdb:
            return f"list_min(list_filter(a{n}, lambda x: x > t{n - 1})) AS t{n}"
        return f"array_min(filter(a{n}, x -> x > t{n - 1})) AS t{n}"

    last = len(query.types)
    columns = ["case_id", f"min{own(1)} AS t1", *(f"{collect}{own(n)} AS a{n}" for n in query.steps[1:])]
    return _chain(
        f"SELECT {', '.join(columns)} FROM {table} WHERE activity IN ({query.type_list}) GROUP BY case_id",
        [minimum(n) for n in query.steps[1:]],
        f"SELECT case_id, t1 AS t_first, t{last} AS t_last FROM s{last} WHERE t{last} IS NOT NULL",
    )


def fold_sql(query: Query, table: str) -> str:
    """One sorted array for each case and Spark's ``aggregate`` as a state machine over it."""
    cases = [
        f"WHEN s.n = {n - 1} AND e.activity = '{query.types[n - 1]}' "
        f"THEN named_struct('n', {n}, 't_first', {'e.ts' if n == 1 else 's.t_first'}, 't_last', e.ts)"
        for n in query.steps
    ]
    start = "named_struct('n', 0, 't_first', CAST(NULL AS TIMESTAMP), 't_last', CAST(NULL AS TIMESTAMP))"
    return (
        "SELECT case_id, m.t_first, m.t_last FROM ("
        f"SELECT case_id, aggregate(sort_array(collect_list(struct(ts, activity))), {start}, "
        f"(s, e) -> CASE {' '.join(cases)} ELSE s END) AS m "
        f"FROM {table} WHERE activity IN ({query.type_list}) GROUP BY case_id"
        f") WHERE m.n = {len(query.types)}"
    )


# -- the systems -------------------------------------------------------------------------------------------------------


@contextmanager
def duckdb_over(files: Path, view: str, **settings: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB with two threads and a log's Parquet files as a view.

    Args:
        settings: of DuckDB, besides.
    """
    with duckdb.connect(config={"threads": 2, **settings}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(
            f"CREATE VIEW {view} AS SELECT case_id, pos, activity, ts::TIMESTAMP AS ts "
            f"FROM read_parquet('{files}/*.parquet')"
        )
        yield connection


@contextmanager
def duckdb_session(log: Log) -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB with two threads and the log as views over its files."""
    with duckdb_over(log.parquet, "events_parquet") as connection:
        connection.execute(
            f"CREATE VIEW events_csv AS SELECT * FROM read_csv('{log.csv}/*.csv', header = false, auto_detect = false, "
            "delim = ',', columns = {'case_id': 'VARCHAR', 'pos': 'INTEGER', 'activity': 'VARCHAR', 'ts': 'TIMESTAMP'})"
        )
        yield connection


FORMATS = ("Parquet", "CSV")
UNSEEN = "sparkcep, text not seen before"
SPARK_SQL = {"windows": windows_sql, "arrays": arrays_sql, "fold": fold_sql}


def _table(form: str) -> str:
    return f"events_{form.lower()}"


def _entries(
    queries: Sequence[Query], spark: SparkSession, duck: duckdb.DuckDBPyConnection, flink: Flink | None
) -> Iterator[Entry]:
    def in_spark(text: str) -> Answer:
        return sparks.answer(spark, text)

    new = count()

    def in_spark_unseen(text: str) -> Answer:
        return sparks.answer(spark, f"{text} -- {next(new)}")

    def in_duckdb(text: str) -> Answer:
        return timed(lambda: duck.execute(text).fetchall())

    for query in queries:
        name = query.name
        unseen = pattern_sql(query, _table(FORMATS[0]))
        yield Entry(name, f"{UNSEEN}, {FORMATS[0]}", partial(in_spark_unseen, unseen))
        for form in FORMATS:
            table = _table(form)
            yield Entry(name, f"sparkcep, {form}", partial(in_spark, pattern_sql(query, table)))
            for way, text in SPARK_SQL.items():
                yield Entry(name, f"Spark SQL {way}, {form}", partial(in_spark, text(query, table)))
            yield Entry(name, f"DuckDB windows, {form}", partial(in_duckdb, windows_sql(query, table)))
            yield Entry(name, f"DuckDB arrays, {form}", partial(in_duckdb, arrays_sql(query, table, duckdb=True)))
        if flink is not None:
            yield Entry(name, "Flink, CSV", partial(flink.sql, pattern_sql(query, _table("CSV"))))


def _ratios() -> tuple[Ratio, ...]:
    spark = {form: tuple(f"Spark SQL {way}, {form}" for way in SPARK_SQL) for form in FORMATS}
    duck = {form: tuple(f"DuckDB {way}, {form}" for way in ("windows", "arrays")) for form in FORMATS}
    by_hand = tuple(
        Ratio(f"sparkcep / hand-written Spark SQL, {form}", (f"sparkcep, {form}",), spark[form]) for form in FORMATS
    )
    in_duckdb = tuple(
        Ratio(f"sparkcep / hand-written DuckDB SQL, {form}", (f"sparkcep, {form}",), duck[form]) for form in FORMATS
    )
    unseen = Ratio(f"{UNSEEN} / hand-written Spark SQL, {FORMATS[0]}", (f"{UNSEEN}, {FORMATS[0]}",), spark[FORMATS[0]])
    return (*by_hand, unseen, Ratio("Flink / sparkcep, CSV", ("Flink, CSV",), ("sparkcep, CSV",)), *in_duckdb)


@contextmanager
def sequences(quick: bool = False, flink_venv: Path = DEFAULT_VENV) -> Iterator[Benchmark]:
    """The benchmark, with its systems running for the length of the with block."""
    shape = QUICK if quick else FULL
    log = ensure_log(shape)
    queries = choose_queries(log.read())
    notes = list(NOTES)
    with ExitStack() as stack:
        flink = None
        try:
            flink = stack.enter_context(Flink(flink_venv))
            columns = EVENT_COLUMNS.replace("ts TIMESTAMP", "ts TIMESTAMP(3), WATERMARK FOR ts AS ts")
            flink.read_csv("events_csv", columns, log.csv)
        except FlinkUnavailable as error:
            print(f"Flink is left out: {error}", flush=True)
            notes.append(f"Flink was left out: {error}.")
        spark = stack.enter_context(sparks.spark_session({"events_parquet": log.parquet}))
        spark.read.schema(EVENT_COLUMNS).csv(str(log.csv)).createOrReplaceTempView("events_csv")
        duck = stack.enter_context(duckdb_session(log))
        versions = sparks.versions(spark) | {"DuckDB": version("duckdb")} | ({"Flink": flink.version} if flink else {})
        yield Benchmark(
            name="sequences",
            title="Sequences of event types with gaps",
            about=ABOUT.format(
                events=shape.events,
                cases=shape.cases,
                shortest=shape.shortest,
                longest=shape.longest,
                types=shape.types,
                example=pattern_sql(queries[0], "events_csv"),
            ),
            entries=tuple(_entries(queries, spark, duck, flink)),
            ratios=_ratios(),
            versions=versions,
            facts={"events": shape.events, "cases": shape.cases, "types": shape.types, "seed": shape.seed}
            | {query.name: list(query.types) for query in queries},
            notes=tuple(notes),
        )
