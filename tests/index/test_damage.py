"""Bits of an index's files flip, as on a disk or in an object store: answers are right, or the file is named."""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from sparkcep import SparkCepError, explain, index
from sparkcep.errors import error_behind
from sparkcep.index import access, catalog, files, snapshots
from sparkcep.index.storage import DataFile, Location
from sparkcep.index.storage_errors import unread_by_spark
from sparkcep.index.tables import Definition, Source
from sparkcep.index.verify import check_table
from sparkcep.settings import INDEX, INDEX_ACCESS_PATH, INDEX_CASES, INDEX_PATH

from ..conftest import IS_CONNECT, configured
from .faults import COLUMNS, write
from .helpers import Row

SEED = int(os.environ.get("SPARKCEP_TEST_SEED", "5"))
FLIPS = [40, pytest.param(1000, marks=pytest.mark.long)]


def flip(path: Path, draw: random.Random, first: int = 0) -> None:
    """One bit of a file, not before byte ``first``."""
    data = bytearray(path.read_bytes())
    data[draw.randrange(first, len(data))] ^= 1 << draw.randrange(8)
    path.write_bytes(data)


def named(error: BaseException, path: Path | str) -> None:
    """An error of damage names the index, the file and what to do."""
    own = error_behind(error)
    assert own is not None and own.error_class == "CEP_INDEX_DAMAGED", error
    assert str(path) in str(own), error
    assert "Hint: REFRESH PATTERN INDEX orders FULL" in str(own), error


# -- files, without Spark ----------------------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path: Path) -> tuple[Location, DataFile, pa.Table]:
    """A table of lists, as `sequences` is."""
    draw = random.Random(SEED)
    sizes = [draw.randrange(2, 9) for _ in range(500)]
    rows = pa.table(
        {
            "id": pa.array(range(500), pa.int64()),
            "case_key": pa.array([f"case {draw.randrange(10**6)}" for _ in range(500)]),
            "codes": pa.array([[draw.randrange(9) for _ in range(n)] for n in sizes], pa.list_(pa.int32())),
            "times": pa.array([[draw.randrange(10**9) for _ in range(n)] for n in sizes], pa.list_(pa.int64())),
        }
    )
    place = Location(str(tmp_path / "orders" / "build-0123456789ab" / "sequences"))
    (file,) = files.write_small(place, "00000", rows)
    return place, file, rows


@pytest.mark.parametrize("times", FLIPS)
def test_a_flipped_bit_is_seen(table: tuple[Location, DataFile, pa.Table], times: int) -> None:
    place, file, rows = table
    path, draw = Path(place.uri, file.path), random.Random(SEED)
    whole = path.read_bytes()
    plain: Counter[str] = Counter()
    for _ in range(times):
        flip(path, draw)
        try:
            assert files.read(place, file).equals(rows)
        except SparkCepError as error:
            named(error, file.path)
        try:
            plain["right" if pq.read_table(path).equals(rows) else "wrong"] += 1
        except Exception as error:
            plain[type(error).__name__] += 1
        path.write_bytes(whole)
    assert plain["wrong"] > times / 4, plain  # what Parquet's readers let pass by themselves
    assert files.read(place, file).equals(rows)


def test_a_flipped_bit_behind_the_pages_is_seen(table: tuple[Location, DataFile, pa.Table]) -> None:
    """Where Parquet has no checksum: of a renamed column Spark would read NULLs."""
    place, file, _ = table
    path, draw = Path(place.uri, file.path), random.Random(SEED)
    state = snapshots.TableState(0, "", (("00000", (file,)),))
    whole = path.read_bytes()
    for _ in range(40):
        check_table(place, state)
        flip(path, draw, file.size - file.tail)
        for look in (lambda: files.metadata_of(place, file), lambda: check_table(place, state)):
            with pytest.raises(SparkCepError) as raised:
                look()
            named(raised.value, file.path)
        path.write_bytes(whole)
    # An index of a release that kept no such checksum is read as ever.
    old = replace(file, tail=0, crc=0)
    assert files.metadata_of(place, old).num_rows == file.rows
    check_table(place, snapshots.TableState(0, "", (("00000", (old,)),)))


def test_a_flipped_bit_of_a_snapshot_is_seen(tmp_path: Path) -> None:
    place, draw = Location(str(tmp_path / "orders")), random.Random(SEED)
    d = Definition("orders", Source("batches"), "c", "t", "e")
    file = DataFile("data/00000/part-00000.parquet", 1234, 100, 77, 4_000_000_000)
    tables = {"sequences": snapshots.TableState(0, "{}", (("00000", (file,)),))}
    totals = snapshots.Totals(events=123_456, cases=789)
    first = snapshots.Snapshot(0, 0.0, "ready", "build-1", d, d, tables, {"kind": "unknown"}, totals=totals)
    snapshots.commit(place, None, first, {})
    kept = snapshots.read_current(place)
    assert kept is not None and kept.tables == tables
    (path,) = (tmp_path / "orders" / "snapshots").glob("*.parquet")
    whole = path.read_bytes()
    outcomes: Counter[str] = Counter()
    for _ in range(200):
        flip(path, draw)
        try:
            assert snapshots.read_current(place) == kept
            outcomes["right"] += 1
        except SparkCepError as error:
            assert error.error_class in ("CEP_INDEX_DAMAGED", "CEP_INDEX_FORMAT"), error
            assert "DROP PATTERN INDEX" in str(error)
            outcomes[error.error_class] += 1
        path.write_bytes(whole)
    assert outcomes["CEP_INDEX_DAMAGED"] > 20, outcomes
    # A snapshot of a release that kept no checksum is read as ever.
    body, _, _ = kept.as_json().rpartition(', "crc": ')
    assert snapshots.Snapshot.from_row(0, kept.committed_at, "ready", body + "}") == kept


@pytest.mark.parametrize(
    ("text", "named_in"),
    [
        ("[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///i/orders/build-0123456789ab/pairs/"
         "data/00000-1/part-0.zstd.parquet.  SQLSTATE: KD001\n\tat a.b\nCaused by: org.apache.X: CRC failed\n", True),
        ("[FAILED_READ_FILE.NO_HINT] Encountered error while reading file s3a://b/i/orders/build-0123456789ab/pairs/"
         "data/00000-1/part-0.parquet. SQLSTATE: KD001", True),
        ("[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///log/part-0.parquet. SQLSTATE", False),
        ("[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file file:///i/orders/build-0123456789ab/"
         "pairs/data/0/part-0.parquet. File does not exist.", False),
        ("[DIVIDE_BY_ZERO] Division by zero.", False),
    ],
)  # fmt: skip
def test_what_spark_says_of_a_file(text: str, named_in: bool) -> None:
    found = unread_by_spark(text)
    assert (found is not None) == named_in
    if found is not None:
        named(found, "build-0123456789ab/pairs/data/0")


# -- queries -----------------------------------------------------------------------------------------------------------

QUERY = """SELECT c, count(*) AS n, sum(x) AS x, sum(y) AS y FROM (FROM parquet.`{}` PARTITION BY c ORDER BY ts, p
  EVENT TYPE e PATTERN SEQ(A u, B v, C w) RETURN c, u.p AS x, w.p AS y) GROUP BY c ORDER BY c"""
#: What an index is read by: settings, and whether Spark's tasks read it instead of the driver.
WAYS = (
    ({INDEX_ACCESS_PATH.key: "sequences", INDEX_CASES.key: "lists"}, True),
    ({INDEX_ACCESS_PATH.key: "sequences", INDEX_CASES.key: "scan"}, True),
    ({INDEX_ACCESS_PATH.key: "sequences", INDEX_CASES.key: "lists"}, False),
    ({INDEX_ACCESS_PATH.key: "source", INDEX_CASES.key: "lists"}, False),
)


def events() -> list[Row]:
    draw = random.Random(SEED)
    events = ((case, second) for case in range(200) for second in range(draw.randrange(3, 12)))
    return [(f"c{case}", second, tie, draw.choice("ABCD")) for tie, (case, second) in enumerate(events)]


ROWS = events()


@pytest.fixture(scope="module")
def log(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path, object]]:
    """A source, the folder of indexes on it, and the right answer."""
    folder = tmp_path_factory.mktemp("damage")
    (folder / "source").mkdir()
    write(ROWS, folder / "source" / "part.parquet")
    with configured(spark, {INDEX_PATH.key: str(folder / "indexes")}):
        index.create(spark, "orders", f"parquet.`{folder}/source`", **COLUMNS)
    for crc in (folder / "indexes").rglob(".*.crc"):  # what Hadoop keeps beside files on local disks alone
        crc.unlink()
    with configured(spark, {INDEX.key: "false"}):
        answer = spark.sql(QUERY.format(folder / "source")).collect()
    assert len(answer) > 20
    yield folder / "source", folder / "indexes", answer


def forget() -> None:
    """Remembered footers and keys: another process, or a file that another one has not read."""
    for module in [m for name, m in sys.modules.items() if name.startswith("sparkcep.index")]:
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()
    catalog._listing_cache.clear()


@pytest.mark.full
@pytest.mark.skipif(IS_CONNECT, reason="a Connect client does not see the index's directory")
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("times", FLIPS)
def test_no_answer_is_wrong(
    spark: SparkSession, log: tuple[Path, Path, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    source, indexes, answer = log
    draw, outcomes = random.Random(SEED), Counter[str]()
    shutil.copytree(indexes, tmp_path / "indexes")
    paths = sorted(p for p in (tmp_path / "indexes").rglob("*") if p.suffix in (".parquet", ".json"))
    sequences = [p for p in paths if "/sequences/data/" in str(p)]
    most = access.MAX_STORED_EVENTS
    for k in range(times):
        settings, by_spark = WAYS[k % len(WAYS)]
        path = draw.choice(sequences if draw.random() < 0.5 else paths)
        whole = path.read_bytes()
        flip(path, draw)
        forget()
        monkeypatch.setattr(access, "MAX_STORED_EVENTS", 0 if by_spark else most)
        with configured(spark, {INDEX_PATH.key: str(tmp_path / "indexes"), **settings}):
            try:
                used = " not used, " not in explain(spark, QUERY.format(source))
                assert spark.sql(QUERY.format(source)).collect() == answer, (path, k)
                outcomes["right by the index" if used else "right without it"] += 1
            except AssertionError:
                raise
            except Exception as error:
                named(error, path.name)
                outcomes["refused"] += 1
        path.write_bytes(whole)
    assert all(outcomes[how] for how in ("right without it", "refused")), outcomes


@pytest.mark.full
@pytest.mark.skipif(IS_CONNECT, reason="a Connect client does not see the index's directory")
def test_a_damaged_index_is_made_anew(spark: SparkSession, tmp_path: Path) -> None:
    """Statements that read it refuse by name, and what the hint says helps."""
    source = tmp_path / "source"
    source.mkdir()
    write(ROWS, source / "part1.parquet")
    query = QUERY.format(source)
    with configured(spark, {INDEX_PATH.key: str(tmp_path / "indexes"), INDEX_ACCESS_PATH.key: "sequences"}):
        index.create(spark, "orders", f"parquet.`{source}`", **COLUMNS)
        (path,) = (tmp_path / "indexes").glob("*/build-*/sequences/data/*/*.parquet")
        write([(case, second + 60, tie + 1000, type_) for case, second, tie, type_ in ROWS], source / "part2.parquet")
        assert index.refresh(spark, "orders").action == "extended"
        answer = spark.sql(query).collect()
        whole = path.read_bytes()
        place = pq.read_metadata(path).row_group(0).column(0).data_page_offset + 100
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        path.with_name(f".{path.name}.crc").unlink()
        forget()
        with pytest.raises(SparkCepError) as raised:
            spark.sql("OPTIMIZE PATTERN INDEX orders").collect()
        named(raised.value, path.name)
        with pytest.raises(Exception, match="FAILED_READ_FILE") as failed:
            index.open_index(spark, "orders").sequences().collect()
        named(failed.value, path.name)
        assert "orders not used, CEP_INDEX_DAMAGED" in explain(spark, query)
        assert spark.sql(query).collect() == answer
        spark.sql("REFRESH PATTERN INDEX orders FULL")
        assert "orders (siesta), snapshot 2" in explain(spark, query)
        assert spark.sql(query).collect() == answer
