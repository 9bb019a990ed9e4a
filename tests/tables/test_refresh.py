"""A pattern table holds what its query gives over its log as it is, and its changes lead there, whatever happens."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from sparkcep.index import snapshots
from sparkcep.session.tables.names import locate

from ..conftest import IS_CONNECT, drawn
from .world import QUERIES, SCHEMA, WHOLE, World

#: Queries that differ in how their cases are found.
AS_A_WHOLE = ("trends", "sliding", "one_case")
SHORT = ("absent", "clause")


in_this_process = pytest.mark.skipif(IS_CONNECT, reason="on Connect a task does it")


@pytest.fixture
def world(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> World:
    made = World(spark, tmp_path / "log", Random(getattr(request, "param", 0)))
    made.begin(40)
    return made


@pytest.fixture
def faults() -> Iterator[list[str]]:
    """Steps at which a refresh ends, as if its process were killed: nothing cleans up behind it."""
    steps: list[str] = []

    def fault(step: str) -> None:
        if step in steps:
            raise KeyboardInterrupt

    snapshots.on_fault_point(fault)
    yield steps
    snapshots.on_fault_point(lambda _: None)


def refresh(world: World, name: str) -> dict[str, object]:
    return world.spark.sql(f"REFRESH PATTERN TABLE pt_{name}").collect()[0].asDict()


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in SHORT else pytest.mark.full) for n in QUERIES])
def test_equals_a_full_run(world: World, name: str) -> None:
    world.create(name, f"pt_{name}")
    assert world.difference(name, f"pt_{name}") == ""
    for _ in range(3):
        change = world.batch()
        reason = str(refresh(world, name)["reason"])
        assert world.difference(name, f"pt_{name}") == ""
        if change in ("grown", "repeated"):
            assert (reason == "1 file is new") == (name not in AS_A_WHOLE), reason


def test_files_that_are_gone_or_written_again(world: World) -> None:
    """Which cases lay in them was written down."""
    query, table = "non_overlapping", "pt_non_overlapping"
    for _ in range(3):
        world.batch(5)
    world.create(query, table)
    files = sorted(world.folder.glob("*.parquet"))
    corrected = pq.read_table(files[1]).to_pylist()
    pq.write_table(pa.Table.from_pylist(corrected[:2], SCHEMA), files[1])
    world.batch(5)
    done = refresh(world, query)
    assert done["reason"] == "1 file of the source is gone or has changed" and 0 < done["cases"] < 11
    assert world.difference(query, table) == ""
    files[1].unlink()
    sorted(world.folder.glob("*.parquet"))[-1].unlink()
    world.view()
    done = refresh(world, query)
    assert done["reason"] == "2 files of the source are gone or have changed" and 0 < done["cases"] < 11
    assert world.difference(query, table) == ""
    world.spark.sql(f"VACUUM PATTERN TABLE {table} RETAIN 0 HOURS").collect()
    world.spark.sql(f"OPTIMIZE PATTERN TABLE {table}").collect()
    files[2].unlink()
    world.view()
    assert refresh(world, query)["cases"]
    assert world.difference(query, table) == ""
    shutil.rmtree(locate(world.spark, table).child("_cases").spark.removeprefix("file://"))
    files[3].unlink()
    world.view()
    assert WHOLE in str(refresh(world, query)["reason"])
    assert world.difference(query, table) == ""


@pytest.mark.long
@pytest.mark.parametrize("world", drawn(range(100, 140)), indirect=True)
def test_equals_full_runs_of_every_query(world: World) -> None:
    for name in QUERIES:
        world.create(name, f"pt_{name}")
    for _ in range(6):
        world.batch()
        for name in QUERIES:
            refresh(world, name)
            assert world.difference(name, f"pt_{name}") == "", world.batches


@pytest.mark.full
@pytest.mark.parametrize(
    "step",
    ["before write", *(pytest.param(step, marks=in_this_process) for step in ("before commit", "after commit"))],
)
def test_a_crash_loses_nothing(world: World, faults: list[str], step: str) -> None:
    """The old version stays, or the new one is whole; the next refresh completes."""
    name, table = "chosen", "pt_chosen"
    faults.append(step)
    with pytest.raises(KeyboardInterrupt):
        world.create(name, table)
    faults.clear()
    if step != "after commit":
        world.create(name, table)
    assert world.difference(name, table) == ""
    before = world.spark.sql(f"SELECT * FROM {table}").count()
    world.batch(30)
    faults.append(step)
    with pytest.raises(KeyboardInterrupt):
        refresh(world, name)
    faults.clear()
    if step == "after commit":
        assert world.difference(name, table) == ""
    else:
        assert world.spark.sql(f"SELECT * FROM {table}").count() == before
    refresh(world, name)
    assert world.difference(name, table) == ""
    world.spark.sql(f"VACUUM PATTERN TABLE {table} RETAIN 0 HOURS").collect()
    world.batch(30)
    refresh(world, name)
    assert world.spark.sql(f"SELECT * FROM {table}").count() > before


@pytest.mark.long
@in_this_process
def test_two_hundred_crashes(world: World, faults: list[str]) -> None:
    """At any step, in any order: nothing is lost or doubled, and what is left behind does not add up."""
    name, table = "chosen", "pt_chosen"
    world.create(name, table)
    for number in range(200):
        if number % 4 == 0:
            world.batch(5)
        faults[:] = [world.random.choice(["before write", "before commit", "after commit"])]
        try:
            done = refresh(world, name)["action"]
            assert done == "unchanged"  # the crash was after the commit
        except KeyboardInterrupt:
            pass
        faults.clear()
        if number % 20 == 19:
            refresh(world, name)
            assert world.difference(name, table) == ""
            world.spark.sql(f"VACUUM PATTERN TABLE {table} RETAIN 1 HOURS").collect()
    world.spark.sql(f"VACUUM PATTERN TABLE {table} RETAIN 0 HOURS").collect()
    assert len(list(Path(locate(world.spark, table).uri).rglob("*.parquet"))) <= 25


#: Brings a table up to date in a process of its own, which dies at a step.
CHILD = """
import os, signal, sys
from tests.conftest import CONFIGURATION
from pyspark.sql import SparkSession
import sparkcep
from sparkcep.index import snapshots
from sparkcep.session.tables.names import locate
step, index, log, table = sys.argv[1:]
builder = SparkSession.builder.master("local[1]")
for key, value in {**CONFIGURATION, "spark.sparkcep.index.path": index}.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
sparkcep.enable()
spark.read.schema("u string, ts timestamp, i bigint, e string").parquet(log).createOrReplaceTempView("pt_log")
snapshots.on_fault_point(lambda at: os.kill(os.getpid(), signal.SIGKILL) if at == step else None)
spark.sql(f"REFRESH PATTERN TABLE {table}")
"""


@pytest.mark.long
@in_this_process
@pytest.mark.parametrize("step", ["before write", "before commit", "after commit"])
def test_a_process_that_is_killed(world: World, step: str) -> None:
    spark, name, table = world.spark, "absent", "pt_absent"
    world.create(name, table)
    before = spark.sql(f"SELECT * FROM {table}").count()
    world.batch(30)
    index = str(spark.conf.get("spark.sparkcep.index.path"))
    command = [sys.executable, "-c", CHILD, step, index, str(world.folder), table]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]
    if step == "after commit":
        assert world.difference(name, table) == ""
    else:
        assert spark.sql(f"SELECT * FROM {table}").count() == before
    refresh(world, name)
    assert world.difference(name, table) == ""


@pytest.mark.skipif(IS_CONNECT, reason="a query that is not run yet reads views as they are then")
def test_what_is_read_stays_while_it_is_refreshed(world: World) -> None:
    world.create("chosen", "pt_chosen")
    reader = world.spark.sql("SELECT * FROM pt_chosen")
    before = sorted(map(str, reader.collect()))
    for file in world.folder.glob("*.parquet"):
        file.unlink()
    world.batch(5)
    done = refresh(world, "chosen")
    assert (done["withdrawn"], done["reason"]) == (
        len(before), "1 file of the source is gone or has changed: everything is matched again",
    )  # fmt: skip
    assert sorted(map(str, reader.collect())) == before
    assert world.spark.sql("SELECT * FROM pt_chosen").count() == done["rows"]
    refreshed = world.spark.sql("SELECT * FROM pattern_table_changes('pt_chosen', from => 1)").collect()
    assert [row.change for row in refreshed].count("withdraw") == len(before)


@pytest.mark.full
def test_files_stay_few(world: World) -> None:
    world.create("every_match", "pt_every_match")
    sizes = []
    for _ in range(30):
        world.batch(4)
        refresh(world, "every_match")
        extended = world.spark.sql("DESCRIBE PATTERN TABLE EXTENDED pt_every_match").collect()
        sizes.append(int(next(row[1] for row in extended if row[0] == "Files")))
    assert max(sizes) <= 25, sizes
    assert world.difference("every_match", "pt_every_match") == ""
    assert world.spark.sql("OPTIMIZE PATTERN TABLE pt_every_match").collect()[0].action == "optimized"
    assert world.difference("every_match", "pt_every_match") == ""
