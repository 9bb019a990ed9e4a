"""The pattern index: building it, and refreshing it day by day."""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from benchmarks import spark as sparks
from benchmarks.generate import FULL, QUICK, ensure_log
from benchmarks.harness import Answer, Benchmark, Entry, Ratio
from sparkcep import index
from sparkcep.index.commits import Summary
from sparkcep.settings import INDEX_PATH

SHARED = Path(__file__).parents[2] / "shared" / "data"
DAYS = 10

ABOUT = """
`build`: `CREATE PATTERN INDEX` over {events:,} events, {cases:,} cases, {types} uniformly drawn types, from a Parquet
folder to committed Delta tables. {facts}
`day 2` to `day {days}`: one `REFRESH` each with a day's batch: a tenth of the cases go on, as many cases as on the
first day are new. A day's refresh must cost by its batch, not by what is indexed.
"""


def _road_traffic() -> Path | None:
    """A real log, where the shared data are."""
    for folder in (SHARED,):
        if (folder / "road_traffic_fines.parquet").exists():
            return folder / "road_traffic_fines.parquet"
    return None


def _timed(action: Callable[[], Summary | None]) -> Answer:
    """Seconds of a build, and what it must hold in every run."""
    started = time.perf_counter()
    done = action()
    seconds = time.perf_counter() - started
    assert done is not None
    return Answer(seconds, ((done.events, done.cases, done.pairs),))


class Builds:
    """Builds indexes of one source, each under a fresh name."""

    def __init__(self, spark: SparkSession, source: Path, **columns: str) -> None:
        self.spark, self.source, self.columns = spark, source, columns
        self.last: Summary | None = None
        self.names = (f"build_{k}" for k in itertools.count())
        self.name = ""

    def __call__(self) -> Answer:
        if self.name:
            index.drop(self.spark, self.name)
            index.vacuum(self.spark, self.name, 0)
        self.name = f"{self.source.stem[:20]}_{next(self.names)}".replace(".", "_").replace("-", "_")

        def create() -> Summary | None:
            self.last = index.create(self.spark, self.name, f"parquet.`{self.source}`", **self.columns)  # type: ignore[arg-type]
            return self.last

        return _timed(create)


class Days:
    """Feeds an index day by day and remembers each day's seconds; day 1 is the build."""

    def __init__(self, spark: SparkSession, events: DataFrame, cases: int) -> None:
        self.spark, self.events, self.cases = spark, events, cases
        self.seconds: dict[int, Answer] = {}
        self.rounds = itertools.count()

    def batch(self, day: int) -> DataFrame:
        """A tenth of a day's cases go on by as many events as they began with; a day's cases are new."""
        share = self.cases // DAYS
        own = f"CAST(substring(case_id, 6) AS INT) BETWEEN {(day - 1) * share} AND {day * share - 1}"
        new = self.events.where(own)
        if day == 1:
            return new
        going = self.events.where(f"CAST(substring(case_id, 6) AS INT) < {share // 10}")
        later = going.selectExpr("case_id", "pos", "activity", f"ts + INTERVAL {day * 400} DAYS AS ts")
        return new.union(later)

    def run(self) -> None:
        name = f"days_{next(self.rounds)}"
        index.create(self.spark, name, self.batch(1), case="case_id", time="ts", event="activity")
        for day in range(2, DAYS + 1):
            batch = self.batch(day)
            self.seconds[day] = _timed(lambda b=batch, d=day: index.refresh(self.spark, name, batch=b, batch_id=str(d)))  # type: ignore[misc]
        index.drop(self.spark, name)
        index.vacuum(self.spark, name, 0)

    def answer(self, day: int) -> Answer:
        """Day 2 runs all days; the others tell what they took in the same run."""
        if day == 2:
            self.run()
        return self.seconds[day]


@contextmanager
def pattern_index(quick: bool = False, **_: object) -> Iterator[Benchmark]:
    """The benchmark, with its session running for the length of the with block."""
    shape = QUICK if quick else FULL
    log = ensure_log(shape)
    with tempfile.TemporaryDirectory() as folder, sparks.spark_session({"events": log.parquet}) as spark:
        spark.conf.set(INDEX_PATH.key, folder)
        build = Builds(spark, log.parquet, case="case_id", time="ts", event="activity")
        days = Days(spark, spark.table("events"), shape.cases)
        entries = [Entry("build", "synthetic", build)]
        road = _road_traffic()
        if road is not None:
            fines = Builds(spark, road, case="case_id", time="ts", event="activity", tiebreak="pos")
            entries.append(Entry("build", "road_traffic_fines", fines, "fines"))
        entries += [Entry("refresh", f"day {d}", lambda d=d: days.answer(d), f"day {d}") for d in range(2, DAYS + 1)]  # type: ignore[misc]
        build()
        assert build.last is not None
        facts: dict[str, Any] = {
            "pairs": build.last.pairs,
            "bytes_per_pair": round(build.last.sizes["pairs"] / build.last.pairs, 2),
            "bytes": build.last.sizes,
        }
        text = f"It holds {facts['pairs']:,} pairs at {facts['bytes_per_pair']} bytes each."
        if road is not None:
            text += " `road_traffic_fines`: 561,470 real events of 150,370 cases."
        yield Benchmark(
            name="index",
            title="The pattern index",
            about=ABOUT.format(events=shape.events, cases=shape.cases, types=shape.types, facts=text, days=DAYS),
            entries=tuple(entries),
            ratios=(Ratio(f"day {DAYS} / day 2", (f"day {DAYS}",), ("day 2",)),),
            versions=sparks.versions(spark) | {"deltalake": _version()},
            facts={"events": shape.events, "cases": shape.cases} | facts,
            notes=(sparks.SETTINGS_NOTE, "Events per second are events / seconds of `build`."),
        )


def _version() -> str:
    from importlib.metadata import version

    return version("deltalake")
