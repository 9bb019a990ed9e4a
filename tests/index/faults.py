"""Faults injected into refreshes of random small logs: nothing may be lost, doubled or wrong.

python -m tests.index.faults 200 SEED [KIND ...]    prints the faults by kind, and what failed

Each fault strikes an index that is right. Then readers see what was indexed before (or get a classed error that says
what to do, where files of the index itself were destroyed), a query is right whatever the index is worth, the next
refresh completes, and the tables are those of a clean build.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from sparkcep import SparkCepError, index
from sparkcep.index import catalog
from sparkcep.index.access import ACCESS_PATHS
from sparkcep.index.reader import Reader
from sparkcep.index.snapshots import Snapshot
from sparkcep.index.storage import Location
from sparkcep.settings import INDEX_ACCESS_PATH

from ..quick import QUICK
from .helpers import Row, frame, visible
from .model import expected, pairs_by_case

QUERY = """SELECT c, count(*) AS n FROM (FROM {} PARTITION BY c ORDER BY ts, p EVENT TYPE e PATTERN SEQ(A, B)
    EVENT SELECTION SKIP TILL NEXT MATCH MATCHES NON OVERLAPPING RETURN c, A.p AS x) GROUP BY c"""
COLUMNS: dict[str, Any] = {"case": "c", "time": "ts", "event": "e", "tiebreak": "p", "include": ["p"]}


class Killed(BaseException):
    """A process that ends here: nothing in it may catch this and go on."""


@dataclass
class World:
    """An index, its source, and what both hold. ``mode``: the source is `files`, or events come as `batches`."""

    spark: SparkSession
    random: random.Random
    folder: Path
    name: str
    mode: str
    source: list[Row] = field(default_factory=list)
    indexed: list[Row] = field(default_factory=list)
    batches: int = 0
    numbers: int = 0

    # -- events --------------------------------------------------------------------------------------------------------

    def draw(self) -> list[Row]:
        rows: list[Row] = []
        for _ in range(self.random.randint(1, 9)):
            self.numbers += 1
            type_ = self.random.choice("AABBBCD") if self.random.random() < 0.95 else f"T{self.numbers}"
            rows.append((self.random.choice("abcde"), self.random.randint(0, 60), self.numbers, type_))
        return rows

    def add(self) -> None:
        """New events: a file of the source, or the next batch."""
        self.source = [*self.source, *(rows := self.draw())]
        self.batches += 1
        if self.mode == "files":
            write(rows, self.folder / f"part{self.batches:03}.parquet")

    def replace_source(self) -> None:
        for file in self.folder.glob("*.parquet"):
            file.unlink()
        self.source = []
        self.add()

    # -- the index -----------------------------------------------------------------------------------------------------

    def create(self) -> None:
        if self.mode == "files":
            index.create(self.spark, self.name, f"parquet.`{self.folder}`", **COLUMNS)
        else:
            index.create(self.spark, self.name, frame(self.spark, self.source), **COLUMNS)
        self.indexed = self.source

    def refresh(self) -> None:
        """What is new in the source; of batches what has not been handed over, under the batch's name."""
        if self.mode == "files":
            index.refresh(self.spark, self.name)
        else:
            new = frame(self.spark, self.source[len(self.indexed) :])
            index.refresh(self.spark, self.name, batch=new, batch_id=f"b{self.batches}")
        self.indexed = self.source

    def current(self) -> tuple[Location, Snapshot]:
        return catalog.current(self.spark, self.name)

    def reader(self) -> Reader:
        return index.open_index(self.spark, self.name)

    # -- what must hold ------------------------------------------------------------------------------------------------

    def check_reader(self, reader: Callable[[], Reader], allowed: list[list[Row]], may_fail: bool) -> str:
        """Returns what the reader saw: `old`, `new`, or an error's class."""
        try:
            seen = visible(reader())
        except SparkCepError as error:
            assert may_fail, f"{error.error_class}: {error}"
            assert "Hint:" in str(error), error
            return error.error_class
        fitting = [rows for rows in allowed if seen == expected(rows)]
        assert fitting, f"a reader saw {seen}, not {expected(allowed[0])}"
        return "old" if fitting[0] is allowed[0] else "new"

    def check_query(self) -> None:
        if self.mode != "files" or not any(self.folder.glob("*.parquet")):
            return
        self.spark.read.parquet(str(self.folder)).createOrReplaceTempView(self.name)
        self.spark.conf.set(INDEX_ACCESS_PATH.key, self.random.choice(["auto", *ACCESS_PATHS]))
        try:
            found = {r.c: r.n for r in self.spark.sql(QUERY.format(self.name)).collect()}
        finally:
            self.spark.conf.unset(INDEX_ACCESS_PATH.key)
        assert found == pairs_by_case(self.source, "A", "B")

    def recover(self) -> str:
        """Refresh to the end; an index that says it cannot be repaired is dropped and made anew."""
        try:
            self.refresh()
        except SparkCepError as error:
            assert error.error_class in ("CEP_INDEX_DAMAGED", "CEP_INDEX_FORMAT"), error
            assert "DROP PATTERN INDEX" in str(error), error
            index.drop(self.spark, self.name)
            self.create()
            return "made anew"
        return "refreshed"


def write(rows: list[Row], path: Path) -> None:
    case, seconds, tie, type_ = zip(*rows, strict=True)
    times = pa.array([s * 1_000_000 for s in seconds], pa.timestamp("us", tz="UTC"))
    table = pa.table({"c": pa.array(case), "ts": times, "p": pa.array(tie, pa.int32()), "e": pa.array(type_)})
    pq.write_table(table, path)


#: A fault: strikes the world, and says whether readers of the index may be refused from then on.
Fault = Callable[[World], bool]


def strike(world: World, kind: str, fault: Fault) -> str:
    """One fault and everything that must hold after it."""
    from .test_crashes import check_files

    before, pinned = world.indexed, world.reader()
    if not kind.startswith("lost"):
        world.add()
    may_fail = fault(world)
    # Events of batches are handed over at the refresh; a fault in it leaves them either in or out.
    saw = world.check_reader(world.reader, [before, world.source], may_fail)
    late = world.random.random() < 0.3
    if not late:
        world.check_query()
    if kind.startswith("lost"):
        world.add()
    how = world.recover()
    seen = visible(world.reader())
    assert seen == expected(world.source), (kind, seen, expected(world.source))
    check_files(world.current()[0])
    if late:
        world.check_query()
    world.check_reader(lambda: pinned, [before], may_fail or kind == "vacuum under a reader")
    return f"{saw}, {how}"


@dataclass
class FaultyRun:
    """Faults one after the other, eight in a world. ``outcomes``: what came of them, by kind."""

    spark: SparkSession
    seed: int
    kinds: dict[str, Fault]
    outcomes: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.deck: list[str] = []
        self.worlds = 0

    def world(self) -> World:
        self.worlds += 1
        mode = self.random.choice(["files", "files", "batches"])
        folder = Path(tempfile.mkdtemp(prefix="faults"))
        world = World(self.spark, self.random, folder, f"faults_{self.seed}_{self.worlds}", mode)
        world.add()
        world.create()
        return world

    def one(self, world: World) -> None:
        if not self.deck:
            self.deck = self.random.sample(list(self.kinds), len(self.kinds))
        kind = self.deck.pop()
        self.outcomes[f"{kind}: {strike(world, kind, self.kinds[kind])}"] += 1

    def many(self, count: int) -> None:
        """Raises AssertionError where something is lost, doubled or wrong."""
        for first in range(0, count, 8):
            world = self.world()
            for _ in range(first, min(first + 8, count)):
                self.one(world)
            close(world)


def close(world: World) -> None:
    """The tables are those of a clean build; then everything goes."""
    seen = visible(world.reader())
    index.create(world.spark, f"{world.name}_clean", frame(world.spark, world.source), **COLUMNS)
    assert seen == visible(index.open_index(world.spark, f"{world.name}_clean"))
    for name in (world.name, f"{world.name}_clean"):
        index.drop(world.spark, name)
        index.vacuum(world.spark, name, 0)
    shutil.rmtree(world.folder)


def main(count: int, seed: int, kinds: list[str]) -> int:
    import sparkcep
    from sparkcep.session.machine.local import local_session

    from .fault_kinds import KINDS

    path = tempfile.mkdtemp(prefix="fault_indexes")
    spark = local_session(
        "local[2]", None,
        {"spark.sparkcep.index.path": path, "spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF",
         "spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC", **QUICK},
    )  # fmt: skip
    sparkcep.enable()
    started, failed = time.monotonic(), 0
    run = FaultyRun(spark, seed, {name: KINDS[name] for name in kinds or KINDS})
    while (done := run.outcomes.total() + failed) < count:
        try:
            run.many(min(8, count - done))
        except Exception:
            # The world is lost; the next fault strikes another one.
            failed += 1
            traceback.print_exc(file=sys.stdout)
        print(
            f"{run.outcomes.total() + failed} faults, {failed} failed, {time.monotonic() - started:.0f} s", flush=True
        )
    print("\n".join(f"{number:4} {line}" for line, number in sorted(run.outcomes.items())))
    return min(1, failed)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
