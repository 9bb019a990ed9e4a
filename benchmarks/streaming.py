"""Row patterns over streams: sparkcep in micro-batches beside Flink, and what keys cost that have nothing to say.

Both sides read the same events in order of time, as fast as they can, and run the same query; their matches are
compared. CPU seconds are of the whole process tree: the driver, its JVM and the workers, or Flink's JVM.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv
from pyspark.sql import SparkSession

from benchmarks import spark as sparks
from benchmarks.flink import Flink, FlinkUnavailable
from benchmarks.generate import DATA, DAY_MS, FIRST_DAY, LogShape, make_table
from benchmarks.harness import RESULTS, DifferentAnswers, Rows
from benchmarks.processes import children_seconds, tree_seconds
from benchmarks.sequences import Query, choose_queries, pattern_parts
from benchmarks.ticks import FILE as TICKS

ROUNDS = 5
#: Rows of a file; a micro-batch takes one or ten.
FILE_ROWS = 100_000
BATCHES = {"100,000": 1, "1,000,000": 10}
FULL = LogShape(cases=10_000, events=1_000_000, types=20, seed=20261123)
QUICK = LogShape(cases=2_000, events=200_000, types=20, seed=20261123)
#: All cases lie in so many days, so that those of one time are many.
DAYS = 2
HOURS = 6
#: Flink takes ever longer over the trades of one symbol: 8 s for the first 100,000, many minutes for a million.
TICK_ROWS = 200_000
ABOUT = f"""
`q2`, `q5`, `k`: {{log:,}} events of {{cases:,}} cases in {DAYS} days, {{types}} event types, WITHIN {HOURS} hours; `v`:
falls and rises in {{ticks:,}} trades of four symbols, WITHIN 1 minute. CSV in order of time, as fast as it can be read,
in event time; sparkcep in micro-batches, each with a checkpoint; Flink in streaming mode, without checkpoints, with two
readers. Both gave the same matches in every run. For `q2`:
""".strip()
DELAY = (
    "From the watermark to the row it takes one micro-batch. Its time, the state, and what a micro-batch adds to the "
    "checkpoint:"
)
WAITING = (
    "Micro-batches have 10,000 events of 10,000 keys. Beside them, other keys have one event each that "
    "waits for another, for a day:"
)
SYSTEMS = (*(f"sparkcep, batches of {size}" for size in BATCHES), "Flink")


@dataclass(frozen=True, slots=True)
class Stream:
    """Events in order of time, as files: ``batches`` for Spark, a folder for each size of micro-batches; ``halves`` for
    Flink, a file for each of two readers, each in order. ``columns``: of SQL, ``rows``: how many."""

    name: str
    columns: str
    batches: Path
    halves: Path
    rows: int


@dataclass
class Measured:
    """Of one system and query: seconds and CPU seconds of each round; of sparkcep milliseconds of each micro-batch,
    bytes of state and of checkpoint files per micro-batch, of the last round."""

    rows: int = 0
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)
    state: int = 0
    checkpoint: int = 0


# -- events ------------------------------------------------------------------------------------------------------------


def write_stream(name: str, table: pa.Table, columns: str, half: np.ndarray, end: list[Any]) -> Stream:
    """Write events that are in order of time.

    Args:
        half: (rows,) 0 or 1, which of Flink's files a row goes to.
        end: a row without its time; such rows come behind all others and move the watermark past every match.
    """
    stream = Stream(name, columns, DATA / f"{name}.batches", DATA / f"{name}.halves", table.num_rows)
    shutil.rmtree(stream.batches, ignore_errors=True)
    shutil.rmtree(stream.halves, ignore_errors=True)
    options = csv.WriteOptions(include_header=False, quoting_style="none")
    text = table.set_column(
        table.column_names.index("ts"), "ts", pc.strftime(table["ts"].cast(pa.timestamp("ms")), "%Y-%m-%d %H:%M:%S")
    )
    at = text.column_names.index("ts")

    def last(day: int) -> pa.Table:
        values = [*end[:at], f"2030-{1 + day // 28:02}-{1 + day % 28:02} 00:00:00.000", *end[at:]]
        return pa.table(
            [pa.array([v]).cast(f.type) for f, v in zip(text.schema, values, strict=True)], schema=text.schema
        )

    parts = [text.slice(at, FILE_ROWS) for at in range(0, text.num_rows, FILE_ROWS)]
    for files in BATCHES.values():
        folder = stream.batches / str(files)
        folder.mkdir(parents=True)
        # Two micro-batches of one row a file, so that all is decided and emitted.
        ends = [last(n) for n in range(2 * files + -len(parts) % files)]
        for n, part in enumerate([*parts, *ends]):
            path = folder / f"{n:04}.csv"
            csv.write_csv(part, path, options)
            os.utime(path, (1_700_000_000 + 10 * n,) * 2)
    stream.halves.mkdir()
    for side in (0, 1):
        rows = text.filter(pa.array(half == side))
        csv.write_csv(pa.concat_tables([rows, last(0)]) if side == 0 else rows, stream.halves / f"{side}.csv", options)
    return stream


def log_stream(shape: LogShape) -> tuple[Stream, tuple[Query, ...]]:
    """A log whose cases lie in two days, and the queries over it."""
    table = make_table(shape)
    times = table["ts"].cast(pa.int64()).to_numpy() // 1000
    times = FIRST_DAY + (times - FIRST_DAY) % (DAYS * DAY_MS)
    order = np.argsort(times, kind="stable")
    table = table.set_column(3, "ts", pa.array(times, pa.int64()).cast(pa.timestamp("ms"))).take(pa.array(order))
    half = table["case_id"].combine_chunks().dictionary_encode().indices.to_numpy() % 2
    stream = write_stream(
        "stream_log", table, "case_id STRING, pos INT, activity STRING, ts TIMESTAMP", half,
        ["end", 0, "none"],
    )  # fmt: skip
    return stream, tuple(q for q in choose_queries(table) if q.name != "q10")


def tick_stream(rows: int) -> Stream:
    """The first trades of the week, in order of time."""
    table = pq.read_table(TICKS, columns=["symbol", "ts", "seq", "price"]).sort_by(
        [("ts", "ascending"), ("seq", "ascending")]
    )
    table = table.slice(0, rows)
    half = np.array(pc.equal(table["symbol"], "SPY").to_pylist(), dtype=np.int64)
    return write_stream(
        "stream_ticks", table.set_column(3, "price", table["price"].cast(pa.float64())),
        "symbol STRING, ts TIMESTAMP, seq BIGINT, price DOUBLE", half, ["end", 0, 0.0],
    )  # fmt: skip


# -- queries -----------------------------------------------------------------------------------------------------------

#: WITHIN as each side understands it: a match of just so long counts here, and there it does not.
Within = tuple[str, str]
LOG_WITHIN: Within = (f"INTERVAL '0{HOURS - 1}:59:59.999' HOUR TO SECOND", f"INTERVAL '{HOURS}' HOUR")
TICK_WITHIN: Within = ("INTERVAL '00:59.999999' MINUTE TO SECOND", "INTERVAL '1' MINUTE")


def sequence_sql(query: Query, within: str) -> str:
    pattern, defined = pattern_parts(query)
    return (
        "SELECT * FROM stream_log MATCH_RECOGNIZE (\n  PARTITION BY case_id ORDER BY ts\n"
        f"  MEASURES S1.ts AS t_first, S{len(query.types)}.ts AS t_last\n"
        "  ONE ROW PER MATCH\n  AFTER MATCH SKIP PAST LAST ROW\n"
        f"  PATTERN ({pattern}) WITHIN {within}\n  DEFINE {defined}\n)"
    )


def v_shape_sql(within: str) -> str:
    return f"""SELECT * FROM stream_ticks MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts, seq
  MEASURES STRT.seq AS start_seq, LAST(DOWN.seq) AS bottom_seq, UP.seq AS end_seq
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (STRT DOWN+ UP) WITHIN {within}
  DEFINE DOWN AS (LAST(DOWN.price, 1) IS NULL AND DOWN.price < STRT.price) OR DOWN.price < LAST(DOWN.price, 1),
    UP AS UP.price > LAST(DOWN.price)
)"""


# -- the systems -------------------------------------------------------------------------------------------------------


def in_spark(spark: SparkSession, stream: Stream, text: str, files: int, measured: Measured) -> Rows:
    """One run over all files, into memory."""
    schema = stream.columns
    checkpoint = DATA / "stream_checkpoint"
    shutil.rmtree(checkpoint, ignore_errors=True)
    cpu, start = children_seconds(), time.perf_counter()
    frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", files).csv(str(stream.batches / str(files)))
    # An event at the watermark is late, and events of one time may be in two files.
    frame.withWatermark("ts", "1 second").createOrReplaceTempView(stream.name)
    query = (
        spark.sql(text).writeStream.format("memory").queryName("stream_found").outputMode("append")
        .option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    )  # fmt: skip
    query.awaitTermination()
    if (failed := query.exception()) is not None:
        raise failed
    found = spark.table("stream_found").collect()
    measured.seconds.append(time.perf_counter() - start)
    measured.cpu.append(children_seconds() - cpu)
    progress = [p for p in query.recentProgress if p["numInputRows"] >= FILE_ROWS]
    measured.batches = [p["durationMs"]["triggerExecution"] for p in progress]
    measured.state = max(p["stateOperators"][0]["memoryUsedBytes"] for p in progress)
    deltas = [f.stat().st_size for f in (checkpoint / "state").rglob("*.delta")]
    measured.checkpoint = sum(deltas) // max(1, len(progress))
    return plain(found)


def in_flink(flink: Flink, text: str, measured: Measured) -> Rows:
    cpu = tree_seconds(flink.pid)
    answer = flink.sql(text)
    measured.seconds.append(answer.seconds)
    measured.cpu.append(tree_seconds(flink.pid) - cpu)
    return tuple(sorted(answer.rows))


def plain(rows: Sequence[Sequence[Any]]) -> Rows:
    """Times as milliseconds since 1970, as Flink's driver gives them."""
    return tuple(
        sorted(tuple(round(v.timestamp() * 1000) if hasattr(v, "timestamp") else v for v in row) for row in rows)
    )


@contextmanager
def peer(streams: Sequence[Stream]) -> Iterator[Flink | None]:
    """Flink with the streams as tables, where it can be had."""
    try:
        flink = Flink(streaming=True)
    except FlinkUnavailable as error:
        print(f"Flink is left out: {error}", flush=True)
        yield None
        return
    with flink:
        for stream in streams:
            columns = (
                stream.columns.replace("ts TIMESTAMP", "ts TIMESTAMP(3)")
                + ", WATERMARK FOR ts AS ts - INTERVAL '1' SECOND"
            )
            flink.read_csv(stream.name, columns, stream.halves)
        yield flink


# -- keys that have nothing to say -------------------------------------------------------------------------------------


def idle_keys(spark: SparkSession, keys: int, batches: int) -> tuple[float, float]:
    """Median milliseconds and CPU seconds of a micro-batch of 10,000 events of as many keys, beside ``keys`` others
    whose first event waits for a second one, for a day."""
    folder, checkpoint = DATA / "stream_idle", DATA / "stream_checkpoint"
    for place in (folder, checkpoint):
        shutil.rmtree(place, ignore_errors=True)
    folder.mkdir(parents=True)
    live = 10_000

    def add(number: int, key: np.ndarray, second: np.ndarray, what: list[str]) -> None:
        table = pa.table({"k": key, "ts": pa.array(second * 1_000_000).cast(pa.timestamp("us", "UTC")), "e": what})
        path = folder / f"{number:03}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_700_000_000 + 10 * number,) * 2)

    add(0, np.arange(keys) + live, np.arange(keys) % 60, ["A"] * keys)
    rng = np.random.default_rng(5)
    for n in range(1, batches + 4):
        add(n, np.arange(live), 60 * n + rng.integers(0, 60, live), ["A" if n % 2 else "B"] * live)
    frame = (
        spark.readStream.schema("k long, ts timestamp, e string").option("maxFilesPerTrigger", 1).parquet(str(folder))
    )
    frame.withWatermark("ts", "0 seconds").createOrReplaceTempView("stream_idle")
    text = (
        "FROM stream_idle PARTITION BY k ORDER BY ts EVENT TYPE e PATTERN SEQ(A a, B b) WITHIN 1 day "
        "RETURN k, b.ts AS t"
    )
    query = (
        spark.sql(text).writeStream.format("noop").option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True).start()
    )  # fmt: skip
    marks: list[tuple[int, float]] = []
    while query.isActive:
        done = len(query.recentProgress)
        if not marks or done > marks[-1][0]:
            marks.append((done, children_seconds()))
        time.sleep(0.02)
    if (failed := query.exception()) is not None:
        raise failed
    # The first batches are the idle keys, and the first live ones.
    took = [p["durationMs"]["triggerExecution"] for p in query.recentProgress][3 : 3 + batches]
    marks = [m for m in marks if m[0] >= 3]
    seconds = (marks[-1][1] - marks[0][1]) / max(1, marks[-1][0] - marks[0][0])
    return statistics.median(took), seconds


# -- the page ----------------------------------------------------------------------------------------------------------


def run_all(quick: bool) -> dict[str, Any]:
    rounds = 1 if quick else ROUNDS
    log, queries = log_stream(QUICK if quick else FULL)
    ticks = tick_stream(FILE_ROWS if quick else TICK_ROWS)
    texts: dict[str, tuple[Stream, Callable[[str], str], Within]] = {
        q.name: (log, lambda within, q=q: sequence_sql(q, within), LOG_WITHIN) for q in queries
    }
    texts["v"] = (ticks, v_shape_sql, TICK_WITHIN)
    found: dict[str, dict[str, Measured]] = {name: {s: Measured() for s in SYSTEMS} for name in texts}
    loads = [os.getloadavg()[0]]
    with peer([log, ticks]) as flink, sparks.spark_session({}) as spark:
        for number in range(-1, rounds):
            for name, (stream, text, within) in texts.items():
                answers: dict[str, Rows] = {}
                for system, files in zip(SYSTEMS, BATCHES.values(), strict=False):
                    measured = found[name][system] if number >= 0 else Measured()
                    answers[system] = in_spark(spark, stream, text(within[0]), files, measured)
                if flink is not None:
                    measured = found[name]["Flink"] if number >= 0 else Measured()
                    answers["Flink"] = in_flink(flink, text(within[1]), measured)
                check(name, answers, found[name])
            print(f"  {'warm-up' if number < 0 else f'round {number + 1} of {rounds}'}", flush=True)
        sizes = (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000)
        idle = {
            str(keys): [idle_keys(spark, keys, 5 if quick else 15) for _ in range(1 if quick else 3)] for keys in sizes
        }
        versions = sparks.versions(spark) | ({"Flink": flink.version} if flink is not None else {})
    loads.append(os.getloadavg()[0])
    return {
        "found": {n: {s: asdict(m) for s, m in by.items() if m.seconds} for n, by in found.items()},
        "events": {name: stream.rows for name, (stream, _, _) in texts.items()},
        "texts": {name: text(within[0]) for name, (_, text, within) in texts.items()},
        "idle": idle, "versions": versions, "cores": os.cpu_count(), "load": loads, "rounds": rounds,
    }  # fmt: skip


def check(name: str, answers: dict[str, Rows], found: dict[str, Measured]) -> None:
    """Refuse to time different answers.

    Raises:
        DifferentAnswers: with rows that one of two systems lacks.
    """
    (first, wanted), *others = answers.items()
    for system, rows in others:
        if rows != wanted:
            missing, extra = sorted(set(wanted) - set(rows))[:3], sorted(set(rows) - set(wanted))[:3]
            raise DifferentAnswers(
                f"{name}: {first} gives {len(wanted)} rows, {system} {len(rows)}; missing {missing}, extra {extra}"
            )
    for system in answers:
        found[system].rows = len(wanted)


def page(results: dict[str, Any]) -> str:
    events = results["events"]
    about = ABOUT.format(log=events["q2"], ticks=events["v"], cases=FULL.cases, types=FULL.types)
    rule = "|---" + "|--:" * len(events) + "|"
    lines = ["# Streams", "", about, "", "```sql", results["texts"]["q2"], "```", ""]
    lines += ["| thousand events a CPU second | " + " | ".join(events) + " |", rule]

    def table(key: str) -> list[str]:
        out = []
        for system in SYSTEMS:
            cells = []
            for name, by in results["found"].items():
                cells.append(f"{events[name] / statistics.median(by[system][key]) / 1000:,.0f}" if system in by else "")
            out.append(f"| {system} | {' | '.join(cells)} |")
        return out

    lines += table("cpu")
    lines += ["", "| thousand events a second | " + " | ".join(events) + " |", rule]
    lines += table("seconds")
    rows = " | ".join(f"{next(iter(by.values()))['rows']:,}" for by in results["found"].values())
    lines += [f"| *matches* | {rows} |"]
    if all("Flink" in by for by in results["found"].values()):
        lines += [
            "",
            "| sparkcep's events / Flink's | " + " | ".join(events) + " |",
            "|---" + "|--:" * len(events) + "|",
        ]
        for system in SYSTEMS[:-1]:
            for key, what in (("cpu", "CPU second"), ("seconds", "second")):
                cells = [
                    f"{statistics.median(by['Flink'][key]) / statistics.median(by[system][key]):.1f}"
                    for by in results["found"].values()
                ]
                lines.append(f"| {system}, a {what} | {' | '.join(cells)} |")
    lines += ["", DELAY, "", "| | micro-batch, median | 99 % | state in memory | checkpoint a micro-batch |"]
    lines.append("|---|--:|--:|--:|--:|")
    for name, by in results["found"].items():
        for system in SYSTEMS[:-1]:
            took = sorted(by[system]["batches"])
            high = took[min(len(took) - 1, int(0.99 * len(took)))]
            lines.append(
                f"| {name}, {system} | {statistics.median(took) / 1000:.2f} s | {high / 1000:.2f} s "
                f"| {by[system]['state'] / 1e6:.1f} MB | {by[system]['checkpoint'] / 1e6:.1f} MB |"
            )
    lines += ["", WAITING, "", "| waiting keys | micro-batch | CPU seconds |", "|--:|--:|--:|"]
    for keys, runs in results["idle"].items():
        wall, cpu = (statistics.median(run[k] for run in runs) for k in (0, 1))
        lines.append(f"| {int(keys):,} | {wall / 1000:.2f} s | {cpu:.2f} |")
    low, high = min(results["load"]), max(results["load"])
    versions = ", ".join(f"{k} {v}" for k, v in results["versions"].items())
    lines += [
        "", f"Medians of {results['rounds']} rounds in turn after one to warm up, {results['cores']} cores under a "
        f"load of {low:.1f} to {high:.1f}; {versions}. " + sparks.SETTINGS_NOTE,
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def main(quick: bool = False) -> None:
    results = run_all(quick)
    folder = DATA / "quick" if quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "streaming.json").write_text(json.dumps(results, indent=1) + "\n")
    (folder / "streaming.md").write_text(page(results))
    print(page(results))
