"""What pattern queries take of memory beside a plain window over the same rows, on executors of 1.5 GB.

Each query runs in a process of its own, whose driver is the executor, with two cores, and writes all of its rows to
nowhere. Counted are the JVM's and a Python worker's largest resident sizes, and the largest heap. Answers are compared
with what the log's formula says.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from benchmarks.generate import DATA
from benchmarks.harness import RESULTS
from benchmarks.processes import command, peak_megabytes, tree

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]
HEAP, CORES = "1500m", 2
#: Seconds after which a query is given up.
PATIENCE = 300
#: At most: so many times the JVM's resident size of the window, so many megabytes of Python for each core.
JVM_RATIO, PYTHON_MB = 1.5, 512
WITHIN = 9
Ints = npt.NDArray[np.int64]


# -- logs --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Log:
    """A log by formulas over ``id``: its case ``k`` and the event's ``place`` in it, which is A, B, C, A, ... ; its
    time is ``id``. ``payload``: letters of a column that nothing asks for but ALL ROWS."""

    name: str
    about: str
    rows: int
    case: str
    place: str
    payload: int = 0

    def sql(self, rows: int) -> str:
        """Rows of the log in Spark."""
        wide = f", repeat(sha2(CAST(id AS STRING), 256), {self.payload // 64}) AS payload" if self.payload else ""
        return (
            f"SELECT CAST({self.case} AS BIGINT) AS k, id AS t, substr('ABC', 1 + CAST(({self.place}) % 3 AS INT), 1) "
            f"AS e, CAST(id * 7 % 11 AS INT) AS v, concat('order ', id) AS note{wide} FROM range(0, {rows}, 1, 8)"
        )


@cache
def arrays(log: Log, rows: int) -> tuple[Ints, Ints, Ints]:
    """Case, time and place of a log's rows, sorted by case and time."""
    id_ = np.arange(rows)
    scope = {"id": id_, "IF": np.where}
    case, place = (
        np.broadcast_to(eval(_numpy(text), {"__builtins__": {}}, scope), rows) for text in (log.case, log.place)
    )
    order = np.lexsort((id_, case))
    return case[order], id_[order], place[order]


def _numpy(text: str) -> str:
    return text.replace(" DIV ", " // ").replace(" = ", " == ")


LOGS = {
    log.name: log
    for log in (
        Log("skew", "90 % of the rows are of one case, the others have 12", 5_000_000,
            "IF(id % 10 < 9, -1, id DIV 120)", "IF(id % 10 < 9, (id DIV 10) * 9 + id % 10, (id DIV 10) % 12)"),
        Log("one case", "no PARTITION BY", 5_000_000, "0", "id"),
        Log("tiny cases", "1 M cases of 3 rows", 3_000_000, "id DIV 3", "id % 3"),
        Log("wide rows", "3,000 cases of 100 rows of 10 KB", 300_000, "id DIV 100", "id % 100", 10_048),
    )
}  # fmt: skip


def followed_by(log: Log, rows: int, within: int | None) -> int:
    """Pairs of an A and a later C of its case, at most ``within`` later."""
    case, time_, place = arrays(log, rows)
    _, number = np.unique(case, return_inverse=True)
    key = number * 2**33 + time_
    before = np.append(0, np.cumsum(place % 3 == 2))
    end = np.searchsorted(key, key + within if within is not None else (number + 1) * 2**33, "right")
    first = np.flatnonzero(place % 3 == 0)
    return int((before[end[first]] - before[first + 1]).sum())


def _lengths(log: Log, rows: int) -> Ints:
    return np.unique(arrays(log, rows)[0], return_counts=True)[1].astype(np.int64)


# -- queries -----------------------------------------------------------------------------------------------------------

_DEFINE = "PATTERN (A B C) DEFINE A AS e = 'A', B AS e = 'B', C AS e = 'C' AND C.v >= 0 - A.v"
_ANY = "EVENT SELECTION SKIP TILL ANY MATCH"
#: By name: SQL of all rows, of which ``{log}`` is the view and ``{keys}`` PARTITION BY k, where there is one. The
#: column ``n`` counts what there is.
QUERIES = {
    "window": "SELECT *, lag(v) OVER ({keys} ORDER BY t) AS before, 1 AS n FROM {log}",
    "clause": "SELECT *, 1 AS n FROM {log} MATCH_RECOGNIZE ({keys} ORDER BY t MEASURES A.t AS a, C.note AS c " + _DEFINE
    + ")",
    "all rows": "SELECT *, 1 AS n FROM {log} MATCH_RECOGNIZE ({keys} ORDER BY t MEASURES A.t AS a ALL ROWS PER MATCH "
    + _DEFINE + ")",
    "within": "SELECT *, 1 AS n FROM {log} MATCH_RECOGNIZE ({keys} ORDER BY t MEASURES A.t AS a ALL ROWS PER MATCH "
    + _DEFINE.replace(" DEFINE", f" WITHIN {WITHIN} DEFINE") + ")",
    "gaps": "SELECT *, 1 AS n FROM {log} MATCH_RECOGNIZE ({keys} ORDER BY t MEASURES A.t AS a, C.t AS c "
    "PATTERN (A X*? C) DEFINE A AS e = 'A', C AS e = 'C')",
    "next": "SELECT *, 1 AS n FROM (FROM {log} {keys} ORDER BY t EVENT TYPE e PATTERN SEQ(A a, C c) "
    "WHERE c.v >= 0 - a.v RETURN a.t AS a, c.note AS c)",
    "any": f"SELECT *, 1 AS n FROM (FROM {{log}} {{keys}} ORDER BY t EVENT TYPE e PATTERN SEQ(A a, C c) "
    f"WHERE c.v >= 0 - a.v WITHIN {WITHIN} {_ANY} RETURN a.t AS a, c.note AS c)",
    "collapsed": f"SELECT *, 1 AS n FROM (FROM {{log}} {{keys}} ORDER BY t EVENT TYPE e PATTERN SEQ(A a, B+ b[], C c) "
    f"WITHIN {WITHIN} {_ANY} COLLAPSED)",
    "trends": f"FROM {{log}} {{keys}} ORDER BY t EVENT TYPE e PATTERN SEQ(A a, C c) {_ANY} RETURN COUNT(*) AS n",
    "uncertain": "SELECT *, 1 AS n FROM (FROM {log} {keys} ORDER BY t EVENT TYPE e PATTERN SEQ(A a, C c) "
    "UNCERTAINTY 1 WITHIN 9)",
    "non-answers": "SELECT *, 1 AS n FROM (FROM {log} {keys} ORDER BY t EVENT TYPE e PATTERN SEQ(A a, D d) "
    "EXPLAIN NON ANSWERS (1, 1, 1))",
}  # fmt: skip
_EVERY = ("clause", "all rows", "gaps", "next", "any", "collapsed", "trends", "uncertain", "non-answers")
ASKED = {
    "skew": _EVERY,
    "one case": ("clause", "all rows", "within"),
    "tiny cases": _EVERY,
    "wide rows": ("clause", "all rows", "next", "any"),
}


def truth(query: str, log: Log, rows: int) -> int | None:
    """The sum of ``n`` by the log's formula; None: no formula says."""
    lengths = _lengths(log, rows)
    triples = int((lengths // 3).sum())
    match query:
        case "window":
            return rows
        case "clause" | "gaps" | "next":  # next: each A and the next C
            return triples
        case "all rows" | "within":
            return 3 * triples
        case "any" | "collapsed":
            return followed_by(log, rows, WITHIN)
        case "trends":
            return followed_by(log, rows, None)
        case "non-answers":
            return len(lengths)
    return None


# -- one process -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Peak:
    """Megabytes: the JVM's largest resident size, its largest heap, the largest resident size of a Python worker."""

    jvm: float = 0
    heap: float = 0
    python: float = 0


def watched(peak: Peak, over: threading.Event) -> None:
    """Note what the processes that this one has started take."""
    while True:
        below = tree(os.getpid())
        commands = {number: command(number) for number in below}
        for number, stat in below.items():
            # Workers are forks of a daemon of the same name.
            if "pyspark.daemon" in commands[number] and "pyspark.daemon" in commands.get(int(stat[1]), ""):
                peak.python = max(peak.python, peak_megabytes(number))
            elif "org.apache.spark" in commands[number]:
                peak.jvm = max(peak.jvm, peak_megabytes(number))
        if over.wait(0.1):
            return


def session() -> SparkSession:
    from sparkcep.session.machine.local import local_session

    return local_session(f"local[{CORES}]", conf={
        "spark.driver.memory": HEAP, "spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "4",
        "spark.log.level": "OFF", "spark.pyspark.python": sys.executable,
    })  # fmt: skip


def prepare(folder: Path, log: Log, rows: int) -> None:
    """Write a log as Parquet files."""
    session().sql(log.sql(rows)).write.mode("overwrite").parquet(str(folder))


def measure(folder: Path, query: str, partitioned: bool) -> Mapping[str, Any]:
    """Run a query, all of whose rows and columns are written to nowhere."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    spark = session()
    spark.read.parquet(str(folder)).createOrReplaceTempView("log")
    text = QUERIES[query].format(log="log", keys="PARTITION BY k" if partitioned else "")
    peak, over = Peak(), threading.Event()
    watcher = threading.Thread(target=watched, args=(peak, over))
    watcher.start()
    started = time.perf_counter()
    try:
        counted = Observation()
        spark.sql(text).observe(counted, F.sum("n").alias("n")).write.format("noop").mode("overwrite").save()
        found = counted.get["n"]
        seconds = time.perf_counter() - started
        jvm: Any = spark._jvm
        pools = jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
        heap = (pool for pool in pools if str(pool.getType()) == "Heap memory")
        peak.heap = sum(int(pool.getPeakUsage().getUsed()) for pool in heap) / 2**20
    finally:
        over.set()
        watcher.join()
    return {"found": None if found is None else int(found), "seconds": seconds, **asdict(peak)}


# -- all of them -------------------------------------------------------------------------------------------------------


def _child(*arguments: str) -> Mapping[str, Any]:
    """What a process of its own prints; or why it died."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.memory", *arguments], cwd=ROOT, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return {"died": f"not done in {PATIENCE} s"}
    if process.returncode == 0:
        found: Mapping[str, Any] = json.loads(out.splitlines()[-1])
        return found
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    said = [line for line in lines if "[CEP_" in line or "OutOfMemory" in line]
    why = (said or lines or ["without a word"])[-1]
    return {"died": why[max(0, why.find("[CEP_")) :][:300]}


def run(quick: bool = False) -> dict[str, Any]:
    """Figures of every query by log."""
    out: dict[str, Any] = {}
    for log in LOGS.values():
        rows = log.rows // 50 if quick else log.rows
        folder = DATA / "memory" / log.name.replace(" ", "_")
        made = _child("prepare", str(folder), log.name, str(rows))
        assert not made, made
        by: dict[str, Any] = {}
        for query in ("window", *ASKED[log.name]):
            found = dict(_child("measure", str(folder), query, str(int(log.name != "one case"))))
            expected = truth(query, log, rows)
            if "died" not in found and expected not in (None, found["found"]):
                found["died"] = f"{found['found']} is wrong, it is {expected}"
            by[query] = found
            print(log.name, query, found, flush=True)
        out[log.name] = {"rows": rows, "queries": by}
        shutil.rmtree(folder)
    return out


def page(found: Mapping[str, Any]) -> str:
    lines = [
        "# Memory", "",
        f"Largest sizes in MB of a process whose driver is the executor: a heap of {HEAP}, {CORES} cores; every query "
        "in a process of its own, all rows and columns written to nowhere. *JVM* and *Python* are resident sizes, "
        "Python's of one worker; *heap* is what the JVM had in use at most, garbage included. The aim: the JVM at most "
        f"{JVM_RATIO} times the window's, Python at most {PYTHON_MB} MB a core. *clause*: MATCH_RECOGNIZE (A B C) with "
        f"a condition that depends on the match; *within*: WITHIN {WITHIN}, matched by ranges; *gaps*: (A X*? C), "
        f"which Spark folds or finds in rows; *any*, *collapsed*: SKIP TILL ANY MATCH WITHIN {WITHIN}.",
    ]  # fmt: skip
    for name, of in found["logs"].items():
        window = of["queries"]["window"]
        lines += [
            "", f"**{name}**: {LOGS[name].about}; {of['rows']:,} rows.", "",
            "| query | JVM | above the window | heap | Python | s | |", "|--|--:|--:|--:|--:|--:|--|",
        ]  # fmt: skip
        for query, figures in of["queries"].items():
            if "died" in figures:
                lines.append(f"| {query} | | | | | | **{figures['died']}** |".replace("\n", " "))
                continue
            ratio = figures["jvm"] / window["jvm"] if "jvm" in window else float("nan")
            missed = [
                *(["JVM"] if ratio > JVM_RATIO else []), *(["Python"] if figures["python"] > PYTHON_MB else [])
            ]  # fmt: skip
            lines.append(
                f"| {query} | {figures['jvm']:.0f} | {ratio:.2f} | {figures['heap']:.0f} | {figures['python']:.0f} | "
                f"{figures['seconds']:.1f} | {'missed: ' + ', '.join(missed) if missed else ''} |"
            )
    lines += ["", f"{found['versions']}, {found['cores']} cores."]
    return "\n".join(lines) + "\n"


def main(quick: bool = False) -> None:
    from importlib.metadata import version

    found = {
        "versions": f"Python {sys.version.split()[0]}, Spark {version('pyspark')}", "cores": os.cpu_count(),
        "logs": run(quick),
    }  # fmt: skip
    print(page(found))
    if not quick:
        (RESULTS / "memory.md").write_text(page(found))
        (RESULTS / "memory.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    # A process that dies leaves no core file of its heap.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.argv[1] == "prepare":
        prepare(Path(sys.argv[2]), LOGS[sys.argv[3]], int(sys.argv[4]))
        print("{}")
    else:
        print(json.dumps(measure(Path(sys.argv[2]), sys.argv[3], sys.argv[4] == "1")))
