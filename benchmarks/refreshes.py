"""An index after many small refreshes, beside one that OPTIMIZE has written anew and one that was built at once.

All three index the same folder of files, the first by a REFRESH for each file behind the first ones. Queries are those
of :mod:`benchmarks.pruning`, on every index, in turn; ratios are medians over patterns of the same pattern's
times.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks import spark as sparks
from benchmarks.generate import DAY_MS, FIRST_DAY, LogShape, ensure_parquet, make_table
from benchmarks.harness import RESULTS, table, timed
from benchmarks.pruning import LENGTHS, Pattern, patterns
from sparkcep import index
from sparkcep.settings import INDEX_PATH

INDEXES = ("fresh", "refreshed", "optimized")
EVENTS = 1_000_000
DAY = DAY_MS * 1_000
#: Refreshes after which files that merging has replaced are deleted, as a job every night would.
VACUUM_EVERY = 5
FIRST = """# An index after refreshes

{events:,} events, then {refreshes} refreshes of {batch:,} events each, a day's, of which a tenth go on with cases of
the day before. Every {vacuum} of them VACUUM deletes what merging has left, untimed. """
ABOUT = """*refreshed* is that index, *optimized* a copy after `OPTIMIZE PATTERN INDEX`, *fresh* one that was built at
once from the same files. {number} patterns of each length on every index, in turn, each the second time that it is
asked there; seconds are medians over patterns.
"""
ABOUT_ALONE = """{number} patterns of each length before and after, each the second time that it is asked; seconds are
medians over patterns. What is asked for grows with the log.
"""


def going_on(size: int) -> Iterator[pa.Table]:
    """Batches behind a log of a year, without end: each has new cases, and the last tenth of the events of the batch
    before."""
    held: pa.Table | None = None
    for number in itertools.count(1):
        rows = make_table(LogShape(cases=size // 100, events=size, seed=number))
        case = pc.binary_join_element_wise(f"batch_{number}", rows["case_id"], "_")
        day = rows["ts"].cast(pa.int64()).to_numpy() % DAY + (365 + number) * DAY
        start = int(FIRST_DAY) * 1_000
        rows = rows.set_column(0, "case_id", case)
        rows = rows.set_column(3, "ts", pa.array(start + day).cast(rows["ts"].type)).sort_by("ts")
        early = rows.num_rows - rows.num_rows // 10
        now = rows.slice(0, early)
        yield now if held is None else pa.concat_tables([held, now])
        held = rows.slice(early)


def ask(
    spark: SparkSession, root: Path, name: str, pattern: Pattern, run: int
) -> tuple[float, tuple[tuple[object, ...], ...]]:
    """Seconds and sorted rows of a pattern through one of the indexes; a text is never the same twice."""
    spark.conf.set(INDEX_PATH.key, str(root / name))
    text = f"{pattern.block('events')} -- {run}"
    answer = timed(lambda: spark.sql(text).collect())
    return answer.seconds, tuple(sorted(answer.rows))


def main(events: int, refreshes: int, batch: int, number: int, alone: bool) -> None:
    """Run and write results/refreshes.md, or refreshes_N.md of another first build.

    Args:
        events: of the first build. batch: events of each refresh. number: patterns of each length. alone: no other
            indexes are built; the same patterns are asked before the refreshes and after them.
    """
    log = ensure_parquet(LogShape(cases=events // 100, events=events))
    about = FIRST + (ABOUT_ALONE if alone else ABOUT)
    lines = [about.format(events=events, refreshes=refreshes, batch=batch, number=number, vacuum=VACUUM_EVERY)]
    facts: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as temporary:
        root, folder = Path(temporary), Path(temporary) / "events"
        shutil.copytree(log, folder, ignore=shutil.ignore_patterns("_DONE"))
        with sparks.spark_session({}) as spark:
            columns = {"case": "case_id", "time": "ts", "event": "activity"}
            source = f"parquet.`{folder}`"
            spark.conf.set(INDEX_PATH.key, str(root / "refreshed"))
            lines.append(
                f"The first build took {seconds_of(lambda: index.create(spark, 'log', source, **columns)):.0f} s."
            )
            print(lines[-1], flush=True)
            before = asked(spark, root, log, folder, number, ["refreshed"]) if alone else {}
            took = refreshed(spark, folder, itertools.islice(going_on(batch), refreshes))
            held = dict(index.describe(spark, "log", extended=True))["Batches"]
            lines.append(
                f"A refresh took {statistics.median(took):.1f} s (median), {max(took):.1f} s at most, "
                f"{sum(took):.0f} s altogether. The index has {held} batches."
            )
            print(lines[-1], flush=True)
            facts["refresh"] = {"median": statistics.median(took), "most": max(took), "batches": int(held)}
            if alone:
                after = asked(spark, root, log, folder, number, ["refreshed"])
                found = {n: {"before": before[n]["refreshed"], "after": own["refreshed"]} for n, own in after.items()}
                lines += table_of(found, "before", facts)
            else:
                shutil.copytree(root / "refreshed", root / "optimized")
                spark.conf.set(INDEX_PATH.key, str(root / "optimized"))
                optimized = seconds_of(lambda: spark.sql("OPTIMIZE PATTERN INDEX log").collect())
                spark.conf.set(INDEX_PATH.key, str(root / "fresh"))
                fresh = seconds_of(lambda: index.create(spark, "log", source, **columns))
                lines.append(f"OPTIMIZE took {optimized:.1f} s. Building at once took {fresh:.1f} s.")
                print(lines[-1], flush=True)
                lines += table_of(asked(spark, root, log, folder, number, INDEXES), "fresh", facts)
    text = "\n".join(lines)
    print(text)
    RESULTS.mkdir(exist_ok=True)
    name = "refreshes" if events == EVENTS else f"refreshes_{events}"
    (RESULTS / f"{name}.md").write_text(text + "\n")
    (RESULTS / f"{name}.json").write_text(json.dumps(facts, indent=1))


def seconds_of(action: Callable[[], object]) -> float:
    """How long something takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def refreshed(spark: SparkSession, folder: Path, batches: Iterable[pa.Table]) -> list[float]:
    """Seconds of a refresh for each batch, which a file more of the log is."""
    took = []
    for number, rows in enumerate(batches, start=1):
        if number % VACUUM_EVERY == 0:
            spark.sql("VACUUM PATTERN INDEX log RETAIN 0 HOURS").collect()
        pq.write_table(rows, folder / f"batch-{number}.parquet", compression="zstd")
        took.append(seconds_of(lambda: index.refresh(spark, "log")))
        print(f"refresh {number}: {took[-1]:.1f} s", flush=True)
    return took


def asked(
    spark: SparkSession, root: Path, log: Path, folder: Path, number: int, indexes: Sequence[str]
) -> dict[int, dict[str, list[float]]]:
    """Seconds of each pattern by length and index.

    Raises:
        AssertionError: answers differ.
    """
    spark.read.parquet(str(folder)).createOrReplaceTempView("events")
    run = 0
    for warm in patterns(log, 5, 6, 99):
        for name in indexes:
            run += 1
            ask(spark, root, name, warm, run)
    found: dict[int, dict[str, list[float]]] = {}
    for length in LENGTHS:
        seconds = found[length] = {name: [] for name in indexes}
        for place, pattern in enumerate(patterns(log, length, number, 1)):
            answers = {}
            for name in indexes if place % 2 else reversed(indexes):
                # What readers keep in memory is of two indexes at most: the first time brings it back.
                ask(spark, root, name, pattern, run + 1)
                run += 2
                own, answers[name] = ask(spark, root, name, pattern, run)
                seconds[name].append(own)
            if len(set(answers.values())) != 1:
                raise AssertionError(f"indexes differ in {pattern.text}")
        medians = (f"{name} {statistics.median(own):.3f} s" for name, own in seconds.items())
        print(f"length {length}: {', '.join(medians)}", flush=True)
    return found


def table_of(found: Mapping[int, Mapping[str, list[float]]], first: str, facts: dict[str, object]) -> list[str]:
    """Medians by length, and ratios to the ``first``."""
    names = list(next(iter(found.values())))
    others = [name for name in names if name != first]
    rows = []
    for length, seconds in found.items():
        medians = {name: statistics.median(own) for name, own in seconds.items()}
        ratios = {
            name: statistics.median(own / one for own, one in zip(seconds[name], seconds[first], strict=True))
            for name in others
        }
        facts[str(length)] = {"seconds": medians, f"to {first}": ratios}
        cells = [f"{medians[name]:.3f}" for name in names] + [f"{ratio:.2f}" for ratio in ratios.values()]
        rows.append([str(length), *cells])
    return ["", *table(["length", *names, *(f"{name} / {first}" for name in others)], rows)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--refreshes", type=int, default=100)
    parser.add_argument("--batch", type=int, default=5_000)
    parser.add_argument("--number", type=int, default=12)
    parser.add_argument("--alone", action="store_true", help="no other indexes beside the one that is refreshed")
    options = parser.parse_args()
    os.environ["TZ"] = "UTC"
    time.tzset()
    main(options.events, options.refreshes, options.batch, options.number, options.alone)
