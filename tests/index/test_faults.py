"""A handful of injected faults, and how errors of storage are reported; `python -m tests.index.faults 200 SEED`."""

from __future__ import annotations

import errno
import os
import pickle
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from sparkcep import SparkCepError, explain, index
from sparkcep.index import snapshots
from sparkcep.index.storage import DataFile, Location
from sparkcep.index.storage_errors import classed, damaged
from sparkcep.index.tables import Definition, Source
from sparkcep.index.unreferenced_files import sweep
from sparkcep.index.verify import check_table

from ..conftest import IS_CONNECT
from .faults import COLUMNS, FaultyRun, write
from .helpers import Row

ROWS: list[Row] = [("a", 1, 1, "A"), ("a", 2, 2, "B"), ("b", 1, 3, "A"), ("b", 0, 4, "B")]
QUERY = "FROM {} PARTITION BY c ORDER BY ts, p EVENT TYPE e PATTERN SEQ(A, B) RETURN c, A.p AS x, B.p AS y"


@pytest.mark.full
@pytest.mark.skipif(IS_CONNECT, reason="a Connect client does not see the index's directory")
def test_a_handful_of_faults(spark: SparkSession) -> None:
    """Two of sixteen kinds; 200 of all in `make test-long`."""
    from .fault_kinds import KINDS

    kinds = ("lost: a data file", "dies while writing")
    run = FaultyRun(spark, 3, {kind: KINDS[kind] for kind in kinds})
    run.many(len(kinds))
    assert run.outcomes.total() == len(kinds)


def test_errors_of_storage_are_told_apart() -> None:
    """What a refusal of the system is, and what a damaged file."""
    from deltalake.exceptions import DeltaError, TableNotFoundError

    full = "Generic LocalFileSystem error\n  Unable to copy data to file\n  No space left on device (os error 28)"
    told = [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "CEP_INDEX_STORAGE"),
        (PermissionError(errno.EACCES, os.strerror(errno.EACCES)), "CEP_INDEX_STORAGE"),
        (OSError(full), "CEP_INDEX_STORAGE"),
        (DeltaError(f"Failed to parse parquet: External: {full}"), "CEP_INDEX_STORAGE"),
        (OSError("Generic S3 error: Error performing GET"), "CEP_INDEX_STORAGE"),
        (FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)), "CEP_INDEX_DAMAGED"),
        (pa.ArrowInvalid("Parquet magic bytes not found in footer."), "CEP_INDEX_DAMAGED"),
        (OSError("Couldn't deserialize thrift: TProtocolException: Invalid data"), "CEP_INDEX_DAMAGED"),
        (DeltaError("Kernel error: Json error: Truncated record whilst reading string"), "CEP_INDEX_DAMAGED"),
        (TableNotFoundError("Generic delta kernel error: No files in log segment"), "CEP_INDEX_DAMAGED"),
    ]
    for error, wanted in told:
        found = classed(error)
        assert found is not None
        assert (found.error_class, bool(found.hint)) == (wanted, True), error
    assert classed(ValueError("no error of storage")) is None


def test_vacuum_sweeps_what_a_first_build_left(tmp_path: Path) -> None:
    """A process that died before there was a snapshot."""
    place = Location(str(tmp_path / "orders"))
    files = tmp_path / "orders" / "build-1" / "sequences" / "data" / "00000"
    files.mkdir(parents=True)
    (files / "part-0.parquet").write_bytes(b"12345")
    assert sweep(place, 0) == (0, 0)
    assert sweep(place, 1e12) == (1, 5)
    assert not (tmp_path / "orders" / "build-1").exists()
    with pytest.raises(SparkCepError, match="CEP_INDEX_NOT_FOUND"):
        sweep(place, 1e12)


def test_moments_never_go_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the clock does: how long a snapshot was the newest is read from them."""
    place = Location(str(tmp_path / "orders"))
    d = Definition("orders", Source("batches"), "c", "t", "e")
    first = snapshots.Snapshot(0, 0.0, "ready", "build-1", d, d, {}, {"kind": "unknown"})
    kept = snapshots.commit(place, None, first, {})
    monkeypatch.setattr(snapshots.time, "time", lambda: kept.committed_at - 3600)
    later = snapshots.commit(place, kept, replace(kept), {})
    assert [s.number for s in snapshots.read_snapshots(place)] == [0, 1]
    assert later.committed_at >= kept.committed_at


def test_a_table_says_which_files_it_has_lost(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "00000"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1]}), folder / "a.parquet")
    size = (folder / "a.parquet").stat().st_size
    state = snapshots.TableState(0, "", (("00000", (DataFile("data/00000/a.parquet", size, 1),)),))
    check_table(Location(str(tmp_path)), state)
    os.truncate(folder / "a.parquet", 0)
    with pytest.raises(SparkCepError, match=r"(?s)CEP_INDEX_DAMAGED.*a\.parquet.*Hint: .*REFRESH PATTERN INDEX"):
        check_table(Location(str(tmp_path)), state)


@pytest.mark.skipif(IS_CONNECT, reason="views of files are not seen through there, nor the index's directory")
def test_no_index_takes_an_answer_away(spark: SparkSession, tmp_path: Path) -> None:
    """Neither one that has lost files, nor one whose INCLUDEd column is read as another type now."""
    write(ROWS, tmp_path / "one.parquet")
    index.drop(spark, "taken", if_exists=True)
    index.create(spark, "taken", f"parquet.`{tmp_path}`", **COLUMNS)
    spark.read.parquet(str(tmp_path)).createOrReplaceTempView("taken_now")
    answer = [("a", 1, 2)]
    assert "taken (siesta), snapshot 0" in explain(spark, QUERY.format("taken_now"))
    spark.read.schema("c string, ts timestamp, p bigint, e string").parquet(str(tmp_path)).createOrReplaceTempView("w")
    assert "taken not used, the types of the input's columns have changed" in explain(spark, QUERY.format("w"))
    wide = spark.sql(QUERY.format("w"))
    assert wide.schema["x"].dataType.simpleString() == "bigint"
    assert [tuple(r) for r in wide.collect()] == answer
    reader = index.open_index(spark, "taken")
    for file in (Path(reader.index.uri) / reader.snapshot.build).glob("*/data/*/*.parquet"):
        file.unlink()
    told = explain(spark, QUERY.format("taken_now"))
    assert "taken not used, CEP_INDEX_DAMAGED" in told
    assert [tuple(r) for r in spark.sql(QUERY.format("taken_now")).collect()] == answer
    with pytest.raises(SparkCepError, match=r"(?s)CEP_INDEX_DAMAGED.*Hint"):
        reader.sequences()
    assert index.refresh(spark, "taken").action == "built"
    assert "taken (siesta), snapshot 1" in explain(spark, QUERY.format("taken_now"))
    (Path(reader.index.uri) / "snapshots" / "_delta_log" / "00000000000000000001.json").write_text("{")
    assert {f["name"]: f["kind"] for f in index.show(spark)}["taken"] == "CEP_INDEX_DAMAGED"
    assert "taken not used, CEP_INDEX_DAMAGED" in explain(spark, QUERY.format("taken_now"))
    with pytest.raises(SparkCepError, match=r"(?s)CEP_INDEX_DAMAGED.*Hint: DROP PATTERN INDEX"):
        index.refresh(spark, "taken")
    spark.sql("DROP PATTERN INDEX taken")
    assert "taken" not in {f["name"] for f in index.show(spark)}
    assert index.vacuum(spark, "taken", 0)[0] > 0


def test_errors_come_back_whole_from_a_task() -> None:
    """On Spark Connect an index's errors are raised in a task, and placed in the statement by the client."""
    error = damaged("one file is gone")
    back = pickle.loads(pickle.dumps(error))
    assert str(back) == str(error)
    placed = back.located("REFRESH PATTERN INDEX x", 22)
    assert "The pattern index is damaged: one file is gone. Line 1, column 23." in str(placed)
    assert "Hint: REFRESH PATTERN INDEX" in str(placed)
    assert placed.blame == "name"
