"""Patterns that a log all but matches, again and again: what a search by going back answers after minutes, if ever.

Each pattern through `sequences` (cases picked by a scan, and by posting lists), as the planner chooses, and without the
index; the answers are compared.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks.harness import RESULTS, timed
from benchmarks.index import SHARED
from benchmarks.spark import spark_session
from sparkcep import index
from sparkcep.settings import INDEX, INDEX_ACCESS_PATH, INDEX_CASES, INDEX_PATH

ROUNDS = 5
#: Settings planner.index.enabled, .events and .cases.
ACCESS_PATHS = {
    "no index": ("false", "auto", "auto"),
    "index": ("true", "auto", "auto"),
    "scan": ("true", "sequences", "scan"),
    "lists": ("true", "sequences", "lists"),
}
ABOUT = """# Patterns that a log all but matches

Seconds from the text to the rows, medians of {rounds}; every access path gives the same answer. *repeated*: one case of
{events:,} events, and one that has the missing type. {real}*index* is what the planner chooses, *scan* and *lists* read
`sequences`, whose cases are picked by looking at all events or by posting lists.

| log | pattern | rows | {paths} |
|--|--|--|{line}|
"""
REAL = (
    "*hospital*: BPI Challenge 2011, 150,291 events of 1,143 cases (the longest has 1,814), all columns in the index: "
    "its five most frequent types, and the four most frequent ahead of the rarest. "
)


def repeated(folder: Path, events: str) -> Path:
    """One case of some events, and one of the types C and A."""
    own = len(events)
    log = pa.table(
        {
            "case_id": ["a"] * own + ["b"] * 2,
            "ts": pa.array([*range(own), 0, 1], pa.timestamp("us", tz="UTC")),
            "pos": pa.array([*range(own), 0, 1], pa.int32()),
            "activity": [*events, "C", "A"],
        }
    )
    path = folder / f"{events[:3]}.parquet"
    pq.write_table(log, path)
    return path


def measured(spark: SparkSession, name: str, log: Path, types: Sequence[str]) -> tuple[int, dict[str, float]]:
    """How many rows a sequence of types has, and seconds by access path."""
    spark.read.parquet(str(log)).createOrReplaceTempView(name)
    parts = ", ".join(f"`{t}` a{k}" for k, t in enumerate(types))
    text = (
        f"FROM {name} PARTITION BY case_id ORDER BY ts, pos EVENT TYPE activity PATTERN SEQ({parts}) MATCHES FIRST "
        "RETURN case_id, a0.ts AS t_first, a0.pos AS first"
    )
    took: dict[str, list[float]] = {path: [] for path in ACCESS_PATHS}
    rows: set[int] = set()
    for _ in range(ROUNDS + 1):
        for path, values in ACCESS_PATHS.items():
            for setting, value in zip((INDEX, INDEX_ACCESS_PATH, INDEX_CASES), values, strict=True):
                spark.conf.set(setting.key, value)
            answer = timed(lambda: spark.sql(text).collect())
            took[path].append(answer.seconds)
            rows.add(len(answer.rows))
    assert len(rows) == 1, rows
    return rows.pop(), {path: statistics.median(seconds[1:]) for path, seconds in took.items()}


def main(quick: bool = False) -> None:
    """Run and write results/backtracking.md."""
    events = 400 if quick else 40_000
    hospital = SHARED / "bpi_2011_hospital.parquet"
    facts: dict[str, dict[str, float]] = {}
    lines = []
    with tempfile.TemporaryDirectory() as folder, spark_session({}) as spark:
        spark.conf.set(INDEX_PATH.key, f"{folder}/indexes")
        asked = [
            ("repeated", repeated(Path(folder), "AB" * (events // 2)), ["A", "B", "A", "B", "C"]),
            ("repeated", repeated(Path(folder), "A" * events), ["A", "A", "A", "A", "C"]),
        ]
        if hospital.exists():
            found = Counter(pq.read_table(hospital, columns=["activity"])["activity"].to_pylist()).most_common()
            frequent = [name for name, _ in found[:5]]
            asked += [("hospital", hospital, frequent), ("hospital", hospital, [*frequent[:4], found[-1][0]])]
        for log in dict.fromkeys(log for _, log, _ in asked):
            known = ("case_id", "ts", "pos", "activity")
            include = [c for c in pq.read_schema(log).names if c not in known]
            index.create(
                spark, f"log_{len(facts)}_{log.stem.lower()}", f"parquet.`{log}`", case="case_id", time="ts",
                tiebreak="pos", event="activity", include=include,
            )  # fmt: skip
        for k, (name, log, types) in enumerate(asked):
            rows, seconds = measured(spark, f"{name}_{k}", log, types)
            shown = (
                ", ".join(types) if name == "repeated" else "five most frequent" if k == 2 else "four and the rarest"
            )
            cells = " | ".join(f"{seconds[path]:.2f}" for path in ACCESS_PATHS)
            lines.append(f"| {name} | {shown} | {rows} | {cells} |")
            print(lines[-1], flush=True)
            facts[f"{name}: {shown}"] = seconds
    if not quick:
        about = ABOUT.format(
            rounds=ROUNDS, events=events, real=REAL if hospital.exists() else "", paths=" | ".join(ACCESS_PATHS),
            line="--|" * (len(ACCESS_PATHS) - 1) + "--",
        )  # fmt: skip
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "backtracking.md").write_text(about + "\n".join(lines) + "\n")
        (RESULTS / "backtracking.json").write_text(json.dumps(facts, indent=1))
