"""A process killed at any step of a refresh leaves the old snapshot, and refreshing again completes.

Commits need no Spark: a prepared commit is run in copies of an index by children that are killed at each step. What was
written before the commit is then as it is when a process dies while writing: files that nothing names.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from sparkcep import SparkCepError, index
from sparkcep.index import catalog, commits, snapshots, updates
from sparkcep.index.reader import Reader
from sparkcep.index.snapshots import read_current
from sparkcep.index.storage import Location

from ..conftest import IS_CONNECT
from .helpers import check_files, create, frame, visible
from .test_refresh import LOG

TABLES = ("sequences", "dictionary", "counts", "activities", "pairs")
STEPS = (*(f"before {t}" for t in TABLES), "before snapshots", "after snapshots")
LATE = ("a", 1, 0, "E")

# Imports are paid once; every step is a fork, killed where it stands.
CHILD = """
import os, pickle, signal, sys
from pathlib import Path
from sparkcep.index import snapshots
import deltalake
jobs, prepared = pickle.loads(Path(sys.argv[1]).read_bytes())
for step, place in jobs:
    child = os.fork()
    if not child:
        snapshots.on_fault_point(lambda s: os.kill(os.getpid(), signal.SIGKILL) if s == step else None)
        snapshots.commit(place, *prepared)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    print(step, os.WTERMSIG(status) if os.WIFSIGNALED(status) else "survived")
"""


@pytest.fixture(scope="module")
def prepared(spark: SparkSession) -> tuple[Location, tuple[Any, ...]]:
    """An index, and what a refresh of it with new, continued and late events was about to commit."""
    create(spark, "crash", LOG[:6])
    kept: list[Any] = []

    def keep(_: Location, *rest: Any) -> Any:
        kept.extend(rest)
        raise KeyboardInterrupt

    original = commits.commit
    commits.commit = keep
    try:
        with pytest.raises(KeyboardInterrupt):
            index.refresh(spark, "crash", batch=frame(spark, [*LOG[6:], LATE]))
    finally:
        commits.commit = original
    return catalog.locate(spark, "crash"), tuple(kept)


def killed_at(steps: tuple[str, ...], prepared: tuple[Location, tuple[Any, ...]], folder: Path) -> dict[str, Location]:
    """Copies of the index in which a commit was killed, by step."""
    source, rest = prepared
    places = {step: Location(str(folder / step.replace(" ", "_"))) for step in steps}
    for place in places.values():
        shutil.copytree(source.uri, place.uri)
    job = folder / "job"
    job.write_bytes(pickle.dumps((list(places.items()), rest)))
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(job)], capture_output=True, text=True, check=True, timeout=100
    )
    assert done.stdout.splitlines() == [f"{step} {int(signal.SIGKILL)}" for step in steps]
    return places


@pytest.mark.full
def test_killed_at_each_step(prepared: tuple[Location, tuple[Any, ...]], tmp_path: Path) -> None:
    """The old snapshot stays whole; the same commit again completes."""
    base, target, written = prepared[1]
    for step, place in killed_at(STEPS, prepared, tmp_path).items():
        current = read_current(place)
        assert current is not None
        assert current.number == (base.number + 1 if step == "after snapshots" else base.number)
        check_files(place)
        if step != "after snapshots":
            snapshots.commit(place, base, target, written)
            check_files(place)


@pytest.mark.full
@pytest.mark.parametrize("step", [pytest.param("before pairs", marks=pytest.mark.long), "before snapshots"])
def test_the_next_refresh_equals_a_clean_build(
    spark: SparkSession, prepared: tuple[Location, tuple[Any, ...]], tmp_path: Path, step: str
) -> None:
    """With other events than the refresh that died: nothing of that one may be seen."""
    place = killed_at((step,), prepared, tmp_path)[step]
    base = read_current(place)
    assert base is not None
    rows = [*LOG[6:9], LATE]
    updates.refresh(spark, place, base, batch=frame(spark, rows))
    check_files(place)
    create(spark, "crash_clean", [*LOG[:6], *rows])
    current = read_current(place)
    assert current is not None
    assert visible(Reader(spark, place, current)) == visible(index.open_index(spark, "crash_clean"))


@pytest.mark.full
def test_killed_in_the_first_build(prepared: tuple[Location, tuple[Any, ...]], tmp_path: Path) -> None:
    """Before the first snapshot there is no index, and the name is free."""
    source, (base, target, written) = prepared
    files = {n: replace(w, files=()) for n, w in written.items()}
    first = replace(target, build="build-first", tables={})
    for step in ("before pairs", "before snapshots"):
        place = killed_at((step,), (source, (None, first, files)), tmp_path)[step]
        shutil.rmtree(Path(place.uri) / "snapshots")
        assert read_current(place) is None
        again = snapshots.commit(place, None, replace(first, build="build-second"), files)
        assert again.number == 0
    assert base is not None


def test_two_refreshers(prepared: tuple[Location, tuple[Any, ...]], tmp_path: Path) -> None:
    """Where no lock tells them apart, the second to commit gets a clear error, and no damage is done."""
    source, (base, target, written) = prepared
    place = Location(str(tmp_path / "two"))
    shutil.copytree(source.uri, place.uri)

    def between(step: str) -> None:
        if step == "before activities":
            snapshots.on_fault_point(lambda _: None)
            snapshots.commit(place, base, target, written)

    snapshots.on_fault_point(between)
    try:
        with pytest.raises(SparkCepError, match=r"(?s)CEP_INDEX_BUSY.*Hint: wait"):
            snapshots.commit(place, base, target, written)
    finally:
        snapshots.on_fault_point(lambda _: None)
    current = read_current(place)
    assert current is not None
    assert current.number == base.number + 1
    check_files(place)


@pytest.mark.skipif(IS_CONNECT, reason="a Connect client does not see the index's directory")
def test_a_second_refresher_is_told_at_once(spark: SparkSession) -> None:
    create(spark, "locked", LOG[:3])
    place = catalog.locate(spark, "locked")
    with snapshots.refresher(place), pytest.raises(SparkCepError, match="CEP_INDEX_BUSY"):
        index.refresh(spark, "locked", batch=frame(spark, LOG[3:4]))
    assert index.refresh(spark, "locked", batch=frame(spark, LOG[3:4])).events == 4


@pytest.mark.full
def test_a_reader_across_refresh_and_vacuum_sees_one_snapshot(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "events")
    frame(spark, LOG[:5]).write.parquet(path)
    index.drop(spark, "pinned", if_exists=True)
    index.create(spark, "pinned", f"parquet.`{path}`", case="c", time="ts", event="e", tiebreak="p", include=["p"])
    reader = index.open_index(spark, "pinned")
    before = visible(reader)
    frame(spark, [*LOG[5:], LATE]).write.mode("append").parquet(path)
    index.refresh(spark, "pinned")
    index.refresh(spark, "pinned", full=True)
    index.vacuum(spark, "pinned")
    assert visible(index.open_index(spark, "pinned")) != before
    assert visible(reader) == before
    newest = index.open_index(spark, "pinned")
    files, size = index.vacuum(spark, "pinned", 0)
    assert files > 0
    assert size > 0
    assert visible(newest)["types"] == {"A", "B", "C", "D", "E"}
    assert not Path(reader.index.child(reader.snapshot.build).uri).exists()
    index.drop(spark, "pinned")
    index.vacuum(spark, "pinned", 0)
    assert not list(Path(newest.index.uri).glob("build-*"))


@pytest.mark.long
def test_killed_while_spark_writes(spark: SparkSession, tmp_path: Path) -> None:
    """SIGKILL of the whole process group as soon as a first file of a table is being written."""
    create(spark, "writing", LOG[:3])
    place = catalog.locate(spark, "writing")
    text = f"""
        from sparkcep.session.machine.local import local_session
        from sparkcep import index
        spark = local_session("local[2]", None, {{"spark.sparkcep.index.path": {str(Path(place.uri).parent)!r}}})
        rows = spark.sql("SELECT concat('k', id % 4000) AS c, timestamp_seconds(id) AS ts, 0 AS p,"
                         " concat('T', id % 97) AS e FROM range(400000)")
        index.refresh(spark, "writing", batch=rows)
    """
    base = read_current(place)
    assert base is not None
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(text)], start_new_session=True)
    folder = Path(place.uri) / base.build / "pairs" / "data"
    before = set(folder.rglob("*.parquet"))
    deadline = time.monotonic() + 200
    try:
        while not set(folder.rglob("*.parquet")) - before:
            assert child.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    assert read_current(place) == base
    index.refresh(spark, "writing", batch=frame(spark, LOG[3:]))
    create(spark, "writing_clean", LOG)
    assert visible(index.open_index(spark, "writing")) == visible(index.open_index(spark, "writing_clean"))
