"""The faults: what strikes an index, at a random point. Each returns whether its readers may be refused afterwards."""

from __future__ import annotations

import contextlib
import errno
import os
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq

from sparkcep import SparkCepError, index
from sparkcep.index import build, catalog, commits, local_postings, snapshots, unreferenced_files
from sparkcep.index.build import Work

from .faults import Fault, Killed, World, write

#: Bytes that a file may have when the disk is full.
FULL = 200


@contextlib.contextmanager
def at_step(step: str, action: Callable[[], None]) -> Iterator[None]:
    snapshots.on_fault_point(lambda s: action() if s == step else None)
    try:
        yield
    finally:
        snapshots.on_fault_point(lambda _: None)


def killed() -> NoReturn:
    raise Killed


def dies(world: World) -> None:
    """A refresh that is killed; whether it had committed is what the checks find out."""
    was = world.indexed
    try:
        world.refresh()
    except Killed:
        world.indexed = was
    else:
        raise AssertionError("the fault did not strike")


def refused(world: World, *classes: str) -> None:
    """A refresh that ends in a classed error."""
    was = world.indexed
    try:
        world.refresh()
    except SparkCepError as error:
        assert error.error_class in classes, error
        assert "Hint:" in str(error), error
        world.indexed = was
    else:
        raise AssertionError("the fault did not strike")


# -- processes that die ------------------------------------------------------------------------------------------------


def dies_at_a_step(world: World) -> bool:
    step = world.random.choice(
        ["before sequences", "before pairs", "before activities", "before snapshots", "after snapshots"]
    )
    with at_step(step, killed):
        dies(world)
    return False


def dies_while_writing(world: World) -> bool:
    """A table's files are there in part, with what Spark leaves of tasks that did not end."""
    table = world.random.choice(["sequences", "activities", "pairs"])

    def cut(folder: Path) -> NoReturn:
        for file in sorted(folder.glob("*.parquet"))[:: world.random.choice([1, 2])]:
            os.truncate(file, world.random.randrange(file.stat().st_size))
        shutil.copytree(folder, folder / "_temporary" / "0" / "_temporary" / "attempt_0")
        raise Killed

    whole, lists = Work.write, local_postings._write_lists

    def by_spark(work: Work, name: str, *rest: Any, **more: Any) -> None:
        whole(work, name, *rest, **more)
        if name == table:
            cut(Path(work.directory(name).removeprefix("file://")))

    def here(batch: local_postings.Batch, name: str, rows: pa.Table) -> Any:
        files = lists(batch, name, rows)
        if name == table:
            cut(Path(batch.table(name).uri) / "data" / batch.name)
        return files

    with patch.object(Work, "write", by_spark), patch.object(local_postings, "_write_lists", here), by_either(world):
        dies(world)
    return False


def by_either(world: World) -> contextlib.AbstractContextManager[None]:
    """Posting lists are written by Spark or by one process."""
    return patch.object(local_postings, "MAX_EVENTS", world.random.choice([0, local_postings.MAX_EVENTS]))


def is_killed(world: World) -> bool:
    """A real SIGKILL of another process, at some moment of its commit."""
    kept: list[Any] = []

    def keep(*prepared: Any) -> NoReturn:
        kept.extend(prepared)
        raise Killed

    with patch.object(commits, "commit", keep):
        dies(world)
    child = subprocess.Popen(
        [sys.executable, "-c", COMMITS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(pickle.dumps(kept))
    child.stdin.close()
    child.stdout.readline()
    time.sleep(world.random.random() ** 2 * 0.8)
    child.send_signal(signal.SIGKILL)
    child.wait()
    return False


COMMITS = """
import pickle, sys
import deltalake
from sparkcep.index import snapshots
prepared = pickle.load(sys.stdin.buffer)
print("go", flush=True)
snapshots.commit(*prepared)
"""


# -- storage that refuses ----------------------------------------------------------------------------------------------


def no_space(world: World) -> bool:
    """A call that writes says ENOSPC."""

    def full(*args: Any, **more: Any) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    places = [(build, "write_small"), (snapshots, "commit_files"), (snapshots, "commit_snapshot"), (commits, "commit")]
    if not any(types_new(world)):
        places.pop(0)
    with patch.object(*world.random.choice(places), full):
        refused(world, "CEP_INDEX_STORAGE")
    return False


def types_new(world: World) -> set[str]:
    return {r[3] for r in world.source} - {r[3] for r in world.indexed}


@contextlib.contextmanager
def no_file_over(size: int, *processes: int) -> Iterator[None]:
    """The system itself refuses to write more into any file of some processes."""
    were = {p: resource.prlimit(p, resource.RLIMIT_FSIZE) for p in processes}
    for p, (_, hard) in were.items():
        resource.prlimit(p, resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        for p, limits in were.items():
            resource.prlimit(p, resource.RLIMIT_FSIZE, limits)


def no_space_for_the_commit(world: World) -> bool:
    step = world.random.choice(["before sequences", "before activities", "before pairs", "before snapshots"])
    with (
        contextlib.ExitStack() as until_the_end,
        at_step(step, lambda: until_the_end.enter_context(no_file_over(FULL, os.getpid()))),
    ):
        refused(world, "CEP_INDEX_STORAGE")
    return False


def no_space_for_a_table(world: World) -> bool:
    """Files are cut short while the JVM, or the driver, writes a table."""
    table = world.random.choice(["sequences", "activities", "pairs"])
    jvm = int(world.spark._jvm.java.lang.ProcessHandle.current().pid())
    whole, lists = Work.write, local_postings._write_lists

    def by_spark(work: Work, name: str, *rest: Any, **more: Any) -> None:
        with no_file_over(FULL, jvm) if name == table else contextlib.nullcontext():
            whole(work, name, *rest, **more)

    def here(batch: local_postings.Batch, name: str, rows: pa.Table) -> Any:
        with no_file_over(FULL, os.getpid()) if name == table else contextlib.nullcontext():
            return lists(batch, name, rows)

    with patch.object(Work, "write", by_spark), patch.object(local_postings, "_write_lists", here), by_either(world):
        refused(world, "CEP_INDEX_STORAGE")
    return False


# -- files of the index that are lost ----------------------------------------------------------------------------------


def spoil(world: World, file: Path) -> None:
    """Take a file away, or cut it short, with the checksum that Hadoop keeps beside it."""
    size = file.stat().st_size
    left = world.random.choice([None, 0, size // 2, size - 1])
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    if left is None:
        file.unlink()
    else:
        os.truncate(file, left)


def lost_data(world: World) -> bool:
    at, snapshot = world.current()
    table = world.random.choice([n for n, t in snapshot.tables.items() if t.files])
    file = world.random.choice(snapshot.tables[table].files)
    spoil(world, Path(at.child(snapshot.build, table).uri) / file.path)
    return True


def lost_log(world: World) -> bool:
    """Of a table: readers do not need it, the next refresh does."""
    at, snapshot = world.current()
    log = Path(at.child(snapshot.build, world.random.choice(list(snapshot.tables)), "_delta_log").uri)
    spoil(world, world.random.choice(sorted(log.glob("*.json"))))
    return True


def lost_snapshots(world: World) -> bool:
    """The table that tells what an index is: its newest row, cut short, or some of its log."""
    at, _ = world.current()
    place = Path(at.child("snapshots").uri)
    kind = world.random.choice(["data", "log"])
    if kind == "data":
        spoil(world, max(place.glob("*.parquet"), key=lambda f: f.stat().st_mtime_ns))
    else:
        file = max((place / "_delta_log").glob("*.json"))
        os.truncate(file, world.random.randrange(1, file.stat().st_size - 1))
    return True


def of_another_release(world: World) -> bool:
    at, snapshot = world.current()
    with patch.object(snapshots, "FORMAT_VERSION", 2):
        snapshots.commit_snapshot(at, replace(snapshot, number=snapshot.number + 1))
    try:
        world.reader()
    except SparkCepError as error:
        assert error.error_class == "CEP_INDEX_FORMAT", error
    else:
        raise AssertionError("an index of another release was read")
    assert (world.name, "CEP_INDEX_FORMAT") in {(f["name"], f["kind"]) for f in index.show(world.spark)}
    return True


# -- sources that change -----------------------------------------------------------------------------------------------


def source_replaced(world: World) -> bool:
    if world.mode == "batches":
        return dies_at_a_step(world)
    world.replace_source()
    if world.random.random() < 0.5:
        with at_step("before snapshots", killed):
            dies(world)
    return False


def columns_changed(world: World) -> bool:
    """For a while the source lacks a column, has another type, or is not there."""
    kind = world.random.choice(["type", "name", "gone"])
    if world.mode == "batches":
        new = world.source[len(world.indexed) :]
        changed = "CAST(p AS STRING) AS p" if kind == "type" else "p AS q"
        from .helpers import frame

        try:
            index.refresh(world.spark, world.name, batch=frame(world.spark, new).selectExpr("c", "ts", changed, "e"))
        except SparkCepError as error:
            assert error.error_class in ("CEP_INDEX_SOURCE_CHANGED", "CEP_INDEX_COLUMN"), error
            return False
        raise AssertionError("changed columns were indexed")
    aside = world.folder.with_name(world.folder.name + "_aside")
    world.folder.rename(aside)
    try:
        if kind != "gone":
            world.folder.mkdir()
            write(world.source, world.folder / "all.parquet")
            table = pq.read_table(world.folder / "all.parquet")
            names = [{"p": "q"}.get(n, n) if kind == "name" else n for n in table.column_names]
            table = table.rename_columns(names)
            if kind == "type":
                table = table.set_column(2, "p", table["p"].cast("string"))
            pq.write_table(table, world.folder / "all.parquet")
        refused(world, "CEP_INDEX_SOURCE_CHANGED", "CEP_INDEX_COLUMN", "CEP_INDEX_SOURCE")
    finally:
        shutil.rmtree(world.folder, ignore_errors=True)
        aside.rename(world.folder)
    return False


# -- others at work, and clocks ----------------------------------------------------------------------------------------


def second_writer(world: World) -> bool:
    """Another refresh runs to its end while one stands at a step: by the lock refused, without it the faster wins."""
    locked = world.random.random() < 0.4
    step = world.random.choice(["before sequences", "before activities", "before pairs", "before snapshots"])
    told: list[str] = []

    def other() -> None:
        snapshots.on_fault_point(lambda _: None)
        was = world.indexed
        try:
            world.refresh()
        except SparkCepError as error:
            assert error.error_class == "CEP_INDEX_BUSY", error
            told.append(error.error_class)
        world.indexed = was

    def nobody(*_: Any) -> contextlib.nullcontext[None]:
        return contextlib.nullcontext()

    with contextlib.nullcontext() if locked else patch.object(catalog, "refresher", nobody), at_step(step, other):
        if not locked:
            refused(world, "CEP_INDEX_BUSY")
        else:
            world.refresh()
            assert told == ["CEP_INDEX_BUSY"]
    return False


def reader_across_refresh_and_vacuum(world: World) -> bool:
    reader, was = world.reader(), world.indexed
    world.refresh()
    index.vacuum(world.spark, world.name)
    world.check_reader(lambda: reader, [was], may_fail=False)
    return False


def vacuum_under_a_reader(world: World) -> bool:
    """RETAIN 0 takes files from under readers: they are told."""
    reader, was = world.reader(), world.indexed
    world.refresh()
    if world.mode == "files":
        index.refresh(world.spark, world.name, full=True)
    index.vacuum(world.spark, world.name, 0)
    world.check_reader(lambda: reader, [was], may_fail=True)
    return False


def clock_runs_back(world: World) -> bool:
    """By hours, for a refresh and a vacuum; after it a vacuum on time: what was the newest an hour ago is kept."""

    class Clock:
        hours = world.random.choice([-50_000, -30, -2, 3])

        def time(self) -> float:
            return time.time() + self.hours * 3600

    reader, was = world.reader(), world.indexed
    _, before = world.current()
    with patch.object(snapshots, "time", Clock()), patch.object(unreferenced_files, "time", Clock()):
        world.refresh()
        index.vacuum(world.spark, world.name, 1)
    _, after = world.current()
    assert after.committed_at >= before.committed_at
    index.vacuum(world.spark, world.name, 1)
    world.check_reader(lambda: reader, [was], may_fail=Clock.hours > 0)
    return False


KINDS: dict[str, Fault] = {
    "dies at a step": dies_at_a_step,
    "dies while writing": dies_while_writing,
    "SIGKILL in the commit": is_killed,
    "ENOSPC": no_space,
    "no space for the commit": no_space_for_the_commit,
    "no space for a table": no_space_for_a_table,
    "lost: a data file": lost_data,
    "lost: a log file": lost_log,
    "lost: snapshots": lost_snapshots,
    "lost to another release": of_another_release,
    "source replaced": source_replaced,
    "columns changed": columns_changed,
    "second writer": second_writer,
    "reader across refresh and vacuum": reader_across_refresh_and_vacuum,
    "vacuum under a reader": vacuum_under_a_reader,
    "clock runs back": clock_runs_back,
}
