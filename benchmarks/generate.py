"""A seeded synthetic event log in the shape of SIESTA's: cases of uniformly drawn event types."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

DATA = Path(__file__).parent / "data"

DAY_MS = 86_400_000
FIRST_DAY = np.datetime64("2024-01-01", "ms").astype(np.int64)
DAYS = 366


@dataclass(frozen=True, slots=True)
class LogShape:
    """Size and seed of a log; ``parts`` files of each format."""

    cases: int
    events: int
    shortest: int = 50
    longest: int = 150
    types: int = 150
    seed: int = 20240607
    # No system should be held to one core because its reader cannot split a CSV file.
    parts: int = 4

    @property
    def name(self) -> str:
        return f"log_{self.cases}x{self.events}_{self.types}_{self.seed}"


@dataclass(frozen=True, slots=True)
class Log:
    """Where a generated log is: two folders with the same rows."""

    shape: LogShape
    parquet: Path
    csv: Path

    def read(self) -> pa.Table:
        return pq.read_table(self.parquet)


#: 1 M events, as in SIESTA's largest synthetic log of this length.
FULL = LogShape(cases=10_000, events=1_000_000)
#: Enough to see that a benchmark works.
QUICK = LogShape(cases=1_000, events=100_000)


def _lengths(rng: np.random.Generator, shape: LogShape) -> np.ndarray:
    """Uniform case lengths, nudged until they add up to the wanted number of events."""
    lengths = rng.integers(shape.shortest, shape.longest + 1, shape.cases)
    while (missing := shape.events - int(lengths.sum())) != 0:
        step = 1 if missing > 0 else -1
        free = np.flatnonzero(lengths < shape.longest if step > 0 else lengths > shape.shortest)
        lengths[rng.choice(free, min(abs(missing), len(free)), replace=False)] += step
    return lengths


def _times(rng: np.random.Generator, lengths: np.ndarray) -> np.ndarray:
    """Strictly increasing milliseconds inside one random day per case."""
    case = np.repeat(np.arange(len(lengths)), lengths)
    position = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    # Sorted draws from a shortened day plus the position: equal draws become neighbouring milliseconds.
    draws = rng.integers(0, DAY_MS - int(lengths.max()), len(case))
    ordered = draws[np.lexsort((draws, case))] + position
    day = FIRST_DAY + rng.integers(0, DAYS, len(lengths)) * DAY_MS
    return np.repeat(day, lengths) + ordered


def make_table(shape: LogShape) -> pa.Table:
    """The log in order of time: columns case_id, pos (from 0), activity and ts (milliseconds, UTC)."""
    rng = np.random.default_rng(shape.seed)
    lengths = _lengths(rng, shape)
    case = np.repeat(np.arange(shape.cases), lengths)
    position = np.arange(shape.events) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    activity = rng.integers(0, shape.types, shape.events)
    times = _times(rng, lengths)
    # A log is written as things happen, so cases interleave.
    order = np.lexsort((case, times))
    names = pa.array([f"case_{k:05d}" for k in range(shape.cases)])
    types = pa.array([f"act_{k:03d}" for k in range(shape.types)])
    return pa.table(
        {
            "case_id": names.take(pa.array(case[order])),
            "pos": pa.array(position[order], pa.int32()),
            "activity": types.take(pa.array(activity[order])),
            # Microseconds in UTC is what Spark calls TIMESTAMP; the values are whole milliseconds, as Flink needs.
            "ts": pa.array(times[order] * 1000, pa.int64()).cast(pa.timestamp("us", tz="UTC")),
        }
    )


def _write_parquet(table: pa.Table, folder: Path, parts: int) -> None:
    part = -(-table.num_rows // parts)
    for k in range(parts):
        pq.write_table(table.slice(k * part, part), folder / f"part-{k}.parquet", compression="zstd")


def _write(table: pa.Table, log: Log) -> None:
    part = -(-table.num_rows // log.shape.parts)
    for folder in (log.parquet, log.csv):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    # Flink's CSV format has no switch for a header, so there is none; times as all systems read them by default.
    text = pc.strftime(table["ts"].cast(pa.timestamp("ms", tz="UTC")), "%Y-%m-%d %H:%M:%S")
    plain = table.set_column(3, "ts", text)
    options = csv.WriteOptions(include_header=False, quoting_style="none")
    _write_parquet(table, log.parquet, log.shape.parts)
    for k in range(log.shape.parts):
        csv.write_csv(plain.slice(k * part, part), log.csv / f"part-{k}.csv", options)


def ensure_parquet(shape: LogShape) -> Path:
    """Generate the log as Parquet only."""
    folder = DATA / f"{shape.name}.parquet"
    done = DATA / f"{shape.name}.done"
    if not done.exists() and not (folder / "_DONE").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        table = make_table(shape)
        _write_parquet(table, folder, shape.parts)
        (folder / "_DONE").touch()
    return folder


def ensure_log(shape: LogShape = FULL) -> Log:
    """Generate the log as Parquet and CSV unless both are there."""
    log = Log(shape, DATA / f"{shape.name}.parquet", DATA / f"{shape.name}.csv")
    done = DATA / f"{shape.name}.done"
    if not done.exists():
        _write(make_table(shape), log)
        # Written last, so that an interrupted run is not taken for a complete log.
        done.touch()
    return log
