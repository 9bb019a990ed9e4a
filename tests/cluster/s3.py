"""Commits of an index on a server that speaks S3: a program that needs nothing of this checkout, and no Spark.

    python s3.py URL race ROUNDS      two processes extend each snapshot at the same moment
    python s3.py URL bucket           makes the bucket that the others use
    python s3.py URL lists EVENTS     posting lists of a batch that continues cases, written and read again
    python s3.py URL probe            whether the server is found to have conditional put

Spark's own writes are left out (its S3 connector is a Java package): files are written in its place.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import sys
import time
import uuid
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
from deltalake import DeltaTable

from sparkcep.errors import SparkCepError
from sparkcep.index import local_postings, lookup, snapshots
from sparkcep.index.claims import check_conditional_put
from sparkcep.index.files import write_small
from sparkcep.index.local_postings import Batch
from sparkcep.index.object_store import options_of
from sparkcep.index.pairs import PairOptions
from sparkcep.index.snapshots import READY, Snapshot, TableState, Written, commit, read_current
from sparkcep.index.storage import Location
from sparkcep.index.tables import ACTIVITIES, COUNTS, PAIRS, SEQUENCES, Definition, Source

TABLES = ("sequences", "counts")
SCHEMA = json.dumps({"type": "struct", "fields": [{"name": "n", "type": "long", "nullable": True, "metadata": {}}]})


def place(url: str, name: str) -> Location:
    settings = {
        "spark.hadoop.fs.s3a.endpoint": url, "spark.hadoop.fs.s3a.access.key": "test",
        "spark.hadoop.fs.s3a.bucket.indexes.secret.key": "hush", "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.path.style.access": "true",
    }  # fmt: skip
    root = f"s3a://indexes/{name}"
    return Location(root, options_of(settings, root))


def definition() -> Definition:
    source = Source("batches")
    return Definition("race", source, "k", "t", "e", time_type="bigint")


def target(build: str) -> Snapshot:
    return Snapshot(0, 0.0, READY, build, definition(), definition(), {}, {"kind": "unknown"})


def written(index: Location, build: str, number: int) -> dict[str, Written]:
    """A file for each table, as a refresh has them before it commits."""
    out = {}
    for table in TABLES:
        batch = f"{number:05d}-{uuid.uuid4().hex[:8]}"
        files = write_small(index.child(build, table), batch, pa.table({"n": pa.array([number], pa.int64())}))
        out[table] = Written(batch, files, SCHEMA)
    return out


def refresher(url: str, name: str, number: int, barrier: Any, told: Any) -> None:
    """One of two that extend the same snapshot."""
    index = place(url, name)
    base = read_current(index)
    assert base is not None
    new = written(index, base.build, number)
    # The other one begins anywhere between the first of its commits and the last.
    snapshots.on_fault_point(lambda step: time.sleep(0.2))
    barrier.wait()
    time.sleep(random.random() * 0.8)
    try:
        done = commit(index, base, replace(base), new)
        told.put(("committed", done.number, {t: [f.path for f in w.files] for t, w in new.items()}))
    except SparkCepError as error:
        told.put((error.error_class, None, {t: [f.path for f in w.files] for t, w in new.items()}))


def race(url: str, rounds: int) -> None:
    name = f"race-{uuid.uuid4().hex[:8]}"
    index = place(url, name)
    commit(index, None, target("build-0"), written(index, "build-0", 0))
    methods = multiprocessing.get_context("spawn")
    busy = 0
    for number in range(1, rounds + 1):
        barrier, told = methods.Barrier(2), methods.Queue()
        both = [methods.Process(target=refresher, args=(url, name, number, barrier, told)) for _ in range(2)]
        for process in both:
            process.start()
        said = [told.get(timeout=120) for _ in both]
        for process in both:
            process.join()
        kinds = sorted(kind for kind, _, _ in said)
        if kinds == ["CEP_INDEX_BUSY", "committed"]:
            busy += 1
        else:  # one was done before the other began to read
            assert kinds == ["committed", "committed"], said
            raise AssertionError(f"both extended the same snapshot: {said}")
        newest = read_current(index)
        assert newest is not None
        assert newest.number == number, (newest.number, number)
        # Whoever reads the tables by Delta alone sees the snapshot's files, neither more nor less.
        for table, state in newest.tables.items():
            at = index.child(newest.build, table)
            delta = DeltaTable(at.delta, storage_options=at.storage_options())
            seen = sorted(pa.table(delta.get_add_actions(flatten=True))["path"].to_pylist())
            assert seen == sorted(f.path for f in state.files), (table, seen, state.files)
    print(f"{rounds} races: {rounds} commits, {busy} CEP_INDEX_BUSY")


def lists(url: str, events: int) -> None:
    """Cases of a hundred events, of which the last ten are a second batch."""
    index = place(url, f"lists-{uuid.uuid4().hex[:8]}")
    rng = np.random.default_rng(1)
    codes, times = rng.integers(0, 150, (events // 100, 100)), rng.integers(0, 10**9, (events // 100, 100))
    times.sort(axis=1)
    options = PairOptions(None, 10**12, False)
    pairs = []
    older = None
    for name, low, high in (("one", 0, 90), ("two", 90, 100)):
        rows = {
            "id": pa.array(np.arange(len(codes))),
            "start": pa.array(np.full(len(codes), low, np.int32)),
            "codes": pa.array(list(codes[:, low:high]), pa.list_(pa.int32())),
            "times": pa.array(list(times[:, low:high]), pa.list_(pa.int64())),
        }
        files = write_small(index.child(SEQUENCES), name, pa.table(rows))
        tables = (ACTIVITIES, PAIRS)
        batch = Batch(index, name, files, older, len(codes), tables, options, False, "zstd", False)
        done = local_postings.write(batch)
        assert done is not None
        older = TableState(0, "", ((name, files),))
        state = TableState(0, "", ((name, done.files[PAIRS]),))
        found, _ = lookup.read_lists(batch.table(PAIRS), state, ("a", "b"), [(3, 4)], lookup.LIST_COLUMNS)
        counts = lookup.counts(batch.table(COUNTS), TableState(0, "", ((name, done.files[COUNTS]),)), [(3, 4)])
        assert sum(sum(b["count"].to_pylist()) for b in found[3, 4]) == counts[3, 4].completions > 0
        pairs.append(sum(f.size for f in done.files[PAIRS]))
    print(f"{events} events, posting lists of {pairs[0]} and {pairs[1]} bytes")


def main() -> None:
    url, what = sys.argv[1:3]
    if what == "bucket":
        address = url.removeprefix("http://")
        pafs.S3FileSystem(
            access_key="test", secret_key="hush", endpoint_override=address, scheme="http", region="us-east-1",
            allow_bucket_creation=True,
        ).create_dir("indexes")  # fmt: skip
        return
    if what == "race":
        race(url, int(sys.argv[3]))
        return
    if what == "lists":
        lists(url, int(sys.argv[3]))
        return
    try:
        check_conditional_put(place(url, f"probe-{uuid.uuid4().hex[:8]}"))
        print("conditional put")
    except SparkCepError as error:
        print(error)


if __name__ == "__main__":
    main()
