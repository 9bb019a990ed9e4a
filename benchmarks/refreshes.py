"""An index after many small refreshes, beside one that OPTIMIZE has written anew and one that was built at once.

All three index the same folder of files, the first by a REFRESH for each file behind the first ones. Queries are those
of :mod:`benchmarks.pruning`, on every index, in turn; ratios are medians over patterns of the same pattern's
times.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks import spark as sparks
from benchmarks.generate import LogShape, ensure_parquet
from benchmarks.harness import RESULTS, timed
from benchmarks.pruning import LENGTHS, Pattern, patterns
from sparkcep import index
from sparkcep.settings import INDEX_PATH

INDEXES = ("fresh", "refreshed", "optimized")
ABOUT = """# An index after many small refreshes

{events:,} events, then {refreshes} refreshes of {batch:,} events each, in order of time. *refreshed* is that index,
*optimized* a copy after `OPTIMIZE PATTERN INDEX`, *fresh* one that was built at once from the same files. {number}
patterns of each length on every index, in turn, each the second time that it is asked there; seconds are medians over
patterns.
"""


def write_batches(log: Path, folder: Path, events: int, batch: int, refreshes: int) -> list[pa.Table]:
    """Write the first events of a log to a folder, and return the batches that come behind them, by time."""
    table = pq.read_table(log).sort_by([("ts", "ascending"), ("case_id", "ascending"), ("pos", "ascending")])
    folder.mkdir()
    pq.write_table(table.slice(0, events), folder / "part-0.parquet", compression="zstd")
    return [table.slice(events + k * batch, batch) for k in range(refreshes)]


def ask(
    spark: SparkSession, root: Path, name: str, pattern: Pattern, run: int
) -> tuple[float, tuple[tuple[object, ...], ...]]:
    """Seconds and sorted rows of a pattern through one of the indexes; a text is never the same twice."""
    spark.conf.set(INDEX_PATH.key, str(root / name))
    text = f"{pattern.block('events')} -- {run}"
    answer = timed(lambda: spark.sql(text).collect())
    return answer.seconds, tuple(sorted(answer.rows))


def main(events: int = 1_000_000, refreshes: int = 100, batch: int = 5_000, number: int = 12) -> None:
    """Run and write results/refreshes.md.

    Args:
        events: of the first build. batch: events of each refresh. number: patterns of each length.
    """
    whole = events + refreshes * batch
    log = ensure_parquet(LogShape(cases=whole // 100, events=whole))
    lines = [ABOUT.format(events=events, refreshes=refreshes, batch=batch, number=number)]
    facts: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as temporary:
        root, folder = Path(temporary), Path(temporary) / "events"
        batches = write_batches(log, folder, events, batch, refreshes)
        with sparks.spark_session({}) as spark:
            columns = {"case": "case_id", "time": "ts", "event": "activity"}
            spark.conf.set(INDEX_PATH.key, str(root / "refreshed"))
            index.create(spark, "log", f"parquet.`{folder}`", **columns)
            took = []
            for number_of, rows in enumerate(batches, start=1):
                pq.write_table(rows, folder / f"part-{number_of}.parquet", compression="zstd")
                started = time.perf_counter()
                index.refresh(spark, "log")
                took.append(time.perf_counter() - started)
                print(f"refresh {number_of}: {took[-1]:.1f} s", flush=True)
            held = dict(index.describe(spark, "log", extended=True))["Batches"]
            lines.append(
                f"A refresh took {statistics.median(took):.1f} s (median), {max(took):.1f} s at most, "
                f"{sum(took):.0f} s altogether. The index has {held} batches."
            )
            print(lines[-1], flush=True)
            facts["refresh"] = {"median": statistics.median(took), "most": max(took), "batches": int(held)}
            shutil.copytree(root / "refreshed", root / "optimized")
            spark.conf.set(INDEX_PATH.key, str(root / "optimized"))
            started = time.perf_counter()
            spark.sql("OPTIMIZE PATTERN INDEX log").collect()
            lines.append(f"OPTIMIZE took {time.perf_counter() - started:.1f} s.")
            spark.conf.set(INDEX_PATH.key, str(root / "fresh"))
            started = time.perf_counter()
            index.create(spark, "log", f"parquet.`{folder}`", **columns)
            lines[-1] += f" Building at once took {time.perf_counter() - started:.1f} s."
            print(lines[-1], flush=True)
            spark.read.parquet(str(folder)).createOrReplaceTempView("events")
            lines += [
                "",
                "| length | fresh | refreshed | optimized | refreshed / fresh | optimized / fresh |",
                "|" + "--|" * 6,
            ]
            measure(spark, root, log, number, lines, facts)
    text = "\n".join(lines)
    print(text)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "refreshes.md").write_text(text + "\n")
    (RESULTS / "refreshes.json").write_text(json.dumps(facts, indent=1))


def measure(
    spark: SparkSession, root: Path, log: Path, number: int, lines: list[str], facts: dict[str, object]
) -> None:
    """Ask the same of all indexes.

    Raises:
        AssertionError: their answers differ.
    """
    run = 0
    for warm in patterns(log, 5, 6, 99):
        for name in INDEXES:
            run += 1
            ask(spark, root, name, warm, run)
    for length in LENGTHS:
        seconds: dict[str, list[float]] = {name: [] for name in INDEXES}
        for place, pattern in enumerate(patterns(log, length, number, 1)):
            answers = {}
            for name in INDEXES if place % 2 else reversed(INDEXES):
                # What readers keep in memory is of two indexes at most: the first time brings it back.
                ask(spark, root, name, pattern, run + 1)
                run += 2
                own, answers[name] = ask(spark, root, name, pattern, run)
                seconds[name].append(own)
            if len(set(answers.values())) != 1:
                raise AssertionError(f"indexes differ in {pattern.text}")
        medians = {name: statistics.median(own) for name, own in seconds.items()}
        ratios = {
            name: statistics.median(own / fresh for own, fresh in zip(seconds[name], seconds["fresh"], strict=True))
            for name in INDEXES[1:]
        }
        facts[str(length)] = {"seconds": medians, "to fresh": ratios}
        cells = [f"{medians[name]:.3f}" for name in INDEXES] + [f"{ratio:.2f}" for ratio in ratios.values()]
        lines.append(f"| {length} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--refreshes", type=int, default=100)
    parser.add_argument("--batch", type=int, default=5_000)
    parser.add_argument("--number", type=int, default=12)
    options = parser.parse_args()
    os.environ["TZ"] = "UTC"
    time.tzset()
    main(options.events, options.refreshes, options.batch, options.number)
