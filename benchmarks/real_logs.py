"""SIESTA's experiments over real event logs: building an index, asking it, explaining, continuing and extending it.

``python -m benchmarks real_logs`` reads the logs of ``../shared/data``, where they are.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks import spark as sparks
from benchmarks.generate import DATA
from benchmarks.harness import RESULTS, table, timed
from benchmarks.index import SHARED
from benchmarks.sequences import Query, windows_sql
from sparkcep import index
from sparkcep.settings import INDEX, INDEX_PATH

LOGS = ("sepsis", "road_traffic_fines", "bpi_2012", "bpi_2011_hospital", "bpi_2019_one_trace_per_variant")
LENGTHS = (2, 5, 10)
BATCHES = 10
#: What runs before anything is timed.
WARM = 2

ABOUT = """# Real event logs, after the experiments of SIESTA's paper

Public logs of business processes and hospitals, as SIESTA's paper uses such logs (Mavroudopoulos and
Gounaris, A Comprehensive Scalable Framework for Cloud-Native Pattern Detection with Enhanced Expressiveness,
arXiv 2401.09960). The paper's machines were a cluster of five; here all runs on two cores. What it says of itself is
quoted beside; where a table has no quotation, the paper's figure of that experiment could not be read where this page
was made, and the table stands alone. Each pattern runs once on each system after two for nothing; medians are over
patterns.

Real logs are small and full of equal times, so events are ordered by time and position in the case.
"""


@dataclass(frozen=True, slots=True)
class Log:
    """A log in memory, by cases. ``codes``: of `types`, event by event; ``starts``: of the cases, and the end."""

    name: str
    codes: np.ndarray
    types: list[str]
    starts: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.starts)

    def sequences(self, length: int, number: int, seed: int = 1) -> Iterator[Query]:
        """Sequences of types that some case holds, in this order with gaps; none where no case is long enough."""
        rng = np.random.default_rng([seed, length])
        fitting = np.flatnonzero(self.lengths >= length)
        for _ in range(number if len(fitting) else 0):
            case = rng.choice(fitting)
            places = np.sort(rng.choice(int(self.lengths[case]), length, replace=False)) + self.starts[case]
            yield Query(f"q{length}", tuple(self.types[c] for c in self.codes[places]))


def path_of(name: str) -> Path:
    return SHARED / f"{name}.parquet"


def read_log(name: str) -> Log:
    table = pq.read_table(path_of(name), columns=["case_id", "pos", "activity"])
    table = table.filter(pc.is_valid(table["activity"])).sort_by([("case_id", "ascending"), ("pos", "ascending")])
    cases = table["case_id"].combine_chunks().dictionary_encode().indices.to_numpy()
    activity = table["activity"].combine_chunks().dictionary_encode()
    starts = np.append(np.flatnonzero(np.diff(cases, prepend=-1)), len(cases))
    return Log(name, activity.indices.to_numpy(), activity.dictionary.to_pylist(), starts)


# -- patterns ----------------------------------------------------------------------------------------------------------


def quoted(types: Sequence[str]) -> list[str]:
    return ['"' + t.replace('"', '""') + '"' for t in types]


def steps(query: Query) -> list[str]:
    """Components of a sequence: a1, a2 ..."""
    return [f"{t} a{n}" for n, t in enumerate(quoted(query.types), start=1)]


def block(parts: Sequence[str], last: str, where: str = "") -> str:
    """A pattern block over the view `log` that gives each case's first match by the places of its ends."""
    return (
        f"FROM log PARTITION BY case_id ORDER BY ts, pos EVENT TYPE activity PATTERN SEQ({', '.join(parts)})"
        f"{where} MATCHES FIRST RETURN case_id, a1.pos AS t_first, {last}.pos AS t_last"
    )


def plain(query: Query, where: str = "") -> str:
    return block(steps(query), f"a{len(query.types)}", where)


def forms(query: Query, other: str) -> dict[str, str]:
    """What a sequence of three becomes under each operator; ``other``: a type beside."""
    a, b, c = steps(query)
    between, beside = quoted([query.types[1], other])
    return {
        "sequence": plain(query),
        "Kleene plus": block([a, f"{between}+ a2[]", c], "a3"),
        "Kleene star": block([a, f"{beside}* x[]", b, c], "a3"),
        "negation": block([a, f"!{beside} x", b, c], "a3"),
        "or": block([a, f"({between}|{beside}) a2", c], "a3"),
        "within a day": plain(query, " WITHIN 1 day"),
        "gap of at most 3": plain(query, " WHERE (gap, within, 3, 1, 2)"),
    }


#: Title, text and head of each table, in the paper's order.
SECTIONS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "build": (
        "Building the index",
        "`CREATE PATTERN INDEX ... TIEBREAK pos` from Parquet, the second time in the session. *events/s* includes a "
        "floor of some seconds, which is most of it for small logs. The paper: 14 bytes a pair, less than 7 minutes "
        "for 2.5 M events (five machines).",
        ("log", "events", "cases", "types", "median length", "longest", "seconds", "events/s", "pairs", "bytes a pair",
         "index, MB", "Parquet, MB"),
    ),
    "detection": (
        "Detection by length",
        "{number} sequences of types of each length, each held by some case: the first match of each case, with gaps "
        "(SKIP TILL NEXT MATCH). *by hand* is a chain of window minima over the log. The paper: \"delivers responses "
        "for large complex patterns within seconds, while ELK experiences timeouts after 10 minutes\".",
        ("log", "length", "index, s", "no index, s", "by hand, s", "by hand / index"),
    ),
    "operators": (
        "Operators and constraints",
        "{number} sequences of three, with each operator of the paper's language; the type beside is drawn.",
        ("log", "form", "index, s", "no index, s", "index / no index"),
    ),
    "explanations": (
        "Explaining non-answers",
        "EXPLAIN NON ANSWERS over sequences of three, for all cases without a match: `k` and uncertainty in hours, in "
        "steps of one hour.",
        ("log", "k", "seconds"),
    ),
    "continuations": (
        "Continuing a pattern",
        "The five best continuations of {number} sequences of three, in each mode, and which share of those of the "
        "accurate mode the others find.",
        ("log", "accurate, s", "hybrid, s", "fast, s", "hybrid finds", "fast finds"),
    ),
    "batches": (
        "Growing by batches",
        "The log in {batches} batches in order of time, of which most continue cases: one REFRESH for each, beside one "
        "build of all; then {number} sequences of three through both.",
        ("log", "at once, s", "first batch, s", "a refresh, s", "all batches, s", "query at once, s",
         "query grown, s"),
    ),
}  # fmt: skip


# -- measuring ---------------------------------------------------------------------------------------------------------


class Asked:
    """Texts in turn, each the same number of times with a comment of its own, so that no plan is kept."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.runs = 0

    def rows(self, text: str, indexed: bool) -> tuple[float, list[tuple[Any, ...]]]:
        self.runs += 1
        self.spark.conf.set(INDEX.key, str(indexed).lower())
        answer = timed(lambda: self.spark.sql(f"{text} -- {self.runs}").collect())
        return answer.seconds, sorted(answer.rows)

    def compared(self, queries: Sequence[Mapping[str, tuple[str, bool]]]) -> dict[str, float]:
        """Median seconds of each system; a query gives its text and whether an index may be used, by system.

        Raises:
            AssertionError: systems differ in their rows.
        """
        took: dict[str, list[float]] = {}
        for query in [*queries[:WARM], *queries]:
            answers = {}
            for name, (text, indexed) in query.items():
                seconds, answers[name] = self.rows(text, indexed)
                took.setdefault(name, []).append(seconds)
            if any(rows != answers["index"] for rows in answers.values()):
                raise AssertionError(f"{[n for n, r in answers.items() if r != answers['index']]}: {query['index'][0]}")
        warm = min(WARM, len(queries))
        return {name: statistics.median(seconds[warm:]) for name, seconds in took.items()}


def cell(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


# -- the experiments ---------------------------------------------------------------------------------------------------

COLUMNS: dict[str, Any] = {"case": "case_id", "time": "ts", "event": "activity", "tiebreak": "pos"}


def build(spark: SparkSession, log: Log) -> list[object]:
    """Builds the log's index, which stays, and a view of the log: a row of the table of builds."""
    source = f"parquet.`{path_of(log.name)}`"
    options: dict[str, Any] = {**COLUMNS, "options": {"on_bad_rows": "quarantine"}}
    index.create(spark, f"{log.name}_first", source, **options)
    index.drop(spark, f"{log.name}_first")
    started = time.perf_counter()
    done = index.create(spark, log.name, source, **options)
    seconds = time.perf_counter() - started
    assert done is not None
    return [
        log.name, done.events, done.cases, len(log.types), int(np.median(log.lengths)), int(log.lengths.max()),
        seconds, round(done.events / seconds), done.pairs, done.sizes["pairs"] / max(done.pairs, 1),
        sum(done.sizes.values()) / 1e6, path_of(log.name).stat().st_size / 1e6,
    ]  # fmt: skip


def view(spark: SparkSession, log: Log) -> None:
    spark.read.parquet(str(path_of(log.name))).createOrReplaceTempView("log")
    # Hand-written SQL asks for places instead of times, as times tie.
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW places AS SELECT case_id, activity, pos AS ts FROM log")


def detection(asked: Asked, log: Log, number: int) -> list[list[object]]:
    rows: list[list[object]] = []
    for length in LENGTHS:
        queries = [
            {
                "index": (text := plain(query), True),
                "no index": (text, False),
                "by hand": (windows_sql(Query(query.name, tuple(map(escaped, query.types))), "places"), False),
            }
            for query in log.sequences(length, number)
        ]
        if queries:
            took = asked.compared(queries)
            rows.append([log.name, length, *took.values(), took["by hand"] / took["index"]])
    return rows


def escaped(text: str) -> str:
    """A text as it stands between quotes in SQL."""
    return text.replace("\\", "\\\\").replace("'", "\\'")


def operators(asked: Asked, log: Log, number: int) -> list[list[object]]:
    rng = np.random.default_rng(7)
    drawn = [forms(query, str(rng.choice(log.types))) for query in log.sequences(3, number, 2)]
    rows: list[list[object]] = []
    for form in drawn[0]:
        took = asked.compared([{"index": (texts[form], True), "no index": (texts[form], False)} for texts in drawn])
        rows.append([log.name, form, *took.values(), took["index"] / took["no index"]])
    return rows


def explanations(asked: Asked, log: Log, number: int) -> list[list[object]]:
    """Seconds of EXPLAIN NON ANSWERS by its bound, over sequences of three that some case holds."""
    rows: list[list[object]] = []
    for k in (1, 2, 4, 8):
        queries = []
        for query in log.sequences(3, number, 3):
            text = (
                "FROM log PARTITION BY case_id ORDER BY ts, pos EVENT TYPE activity "
                f"PATTERN SEQ({', '.join(steps(query))}) "
                f"EXPLAIN NON ANSWERS (k => {k} hours, uncertainty => {k} hours, step => 1 hours)"
            )
            queries.append({"index": (f"SELECT count(*), count_if(cost IS NOT NULL) FROM ({text})", True)})
        rows.append([log.name, k, asked.compared(queries)["index"]])
    return rows


def continuations(spark: SparkSession, log: Log, number: int) -> list[list[object]]:
    """Seconds of the three ways to continue a sequence, and how many of the five best they find."""
    took: dict[str, list[float]] = {}
    found: dict[str, list[float]] = {}
    asked = [" ".join(quoted(q.types)) for q in log.sequences(3, number + 1, 4)]
    for place, pattern in enumerate(asked):
        best: dict[str, set[str]] = {}
        for mode in ("accurate", "hybrid", "fast"):
            text = escaped(pattern)
            query = f"SELECT next_event FROM pattern_continuations({log.name}, '{text}', mode => '{mode}', k => 5)"
            answer = timed(lambda q=query: spark.sql(q).collect())  # type: ignore[misc]
            best[mode] = {row[0] for row in answer.rows}
            if place:
                took.setdefault(mode, []).append(answer.seconds)
                share = len(best[mode] & best["accurate"]) / max(len(best["accurate"]), 1)
                found.setdefault(mode, []).append(share)
    return [
        [
            log.name,
            *(statistics.median(took[m]) for m in took),
            *(statistics.mean(found[m]) for m in ("hybrid", "fast")),
        ]
    ]


def batches(spark: SparkSession, asked: Asked, log: Log, number: int) -> list[list[object]]:
    """An index that grew by ten batches in order of time beside one that was built at once."""
    rows = pq.read_table(path_of(log.name), columns=["case_id", "pos", "activity", "ts"])
    rows = rows.filter(pc.is_valid(rows["activity"])).sort_by([("ts", "ascending"), ("case_id", "ascending")])
    share = -(-rows.num_rows // BATCHES)
    queries = [{"index": (plain(q), True)} for q in log.sequences(3, number, 5)]
    took = []
    with tempfile.TemporaryDirectory() as folder:
        events = Path(folder) / "events"
        events.mkdir()
        spark.conf.set(INDEX_PATH.key, f"{folder}/grown")
        for k in range(BATCHES):
            pq.write_table(rows.slice(k * share, share), events / f"part-{k}.parquet", compression="zstd")
            started = time.perf_counter()
            if k == 0:
                index.create(spark, "log", f"parquet.`{events}`", **COLUMNS)
            else:
                index.refresh(spark, "log")
            took.append(time.perf_counter() - started)
        spark.conf.set(INDEX_PATH.key, f"{folder}/once")
        started = time.perf_counter()
        index.create(spark, "log", f"parquet.`{events}`", **COLUMNS)
        once = time.perf_counter() - started
        spark.read.parquet(str(events)).createOrReplaceTempView("log")
        seconds = []
        for kind in ("once", "grown"):
            spark.conf.set(INDEX_PATH.key, f"{folder}/{kind}")
            seconds.append(asked.compared(queries)["index"])
    return [[log.name, once, took[0], statistics.median(took[1:]), sum(took), *seconds]]


def main(quick: bool = False) -> None:
    """Run and write results/real_logs.md; nothing where the logs are not there.

    Args:
        quick: one small log and few patterns, to see that all works.
    """
    names = [name for name in (LOGS[:1] if quick else LOGS) if path_of(name).exists()]
    if not names:
        print(f"no logs in {SHARED}", flush=True)
        return
    number = 2 if quick else 5
    parts: dict[str, list[list[object]]] = {name: [] for name in SECTIONS}
    with tempfile.TemporaryDirectory() as folder, sparks.spark_session({}) as spark:
        asked = Asked(spark)
        for name in names:
            log = read_log(name)
            spark.conf.set(INDEX_PATH.key, folder)
            parts["build"].append(build(spark, log))
            view(spark, log)
            parts["detection"] += detection(asked, log, number)
            parts["operators"] += operators(asked, log, number)
            parts["explanations"] += explanations(asked, log, max(number // 3, 1))
            parts["continuations"] += continuations(spark, log, number)
            parts["batches"] += batches(spark, asked, log, number)
            for section, rows in parts.items():
                print(section, rows[-1], flush=True)
            write(parts, number, DATA / "quick" if quick else RESULTS)


def write(parts: Mapping[str, Sequence[Sequence[object]]], number: int, folder: Path) -> None:
    """Write the page of the logs that are done; the next ones take long."""
    lines = [ABOUT.rstrip()]
    for section, (title, text, head) in SECTIONS.items():
        rows = [list(map(cell, row)) for row in parts[section]]
        lines += ["", f"## {title}", "", text.format(number=number, batches=BATCHES), "", *table(head, rows)]
    lines += ["", f"{sparks.SETTINGS_NOTE} {os.cpu_count()} cores."]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "real_logs.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    time.tzset()
    main()
