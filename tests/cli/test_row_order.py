"""Events of one time are in the order of their rows in the file, unless something else is to break ties."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from sparkcep.data.row_order import row_order

from ..conftest import IS_CONNECT, configured, every
from .conftest import Run


@pytest.fixture
def small_splits(spark: SparkSession) -> Iterator[None]:
    """Files of some 10 kB have many splits, of which several go to one task."""
    keys = {"maxPartitionBytes": "1500", "openCostInBytes": "100", "maxPartitionNum": "7"}
    with configured(spark, {f"spark.sql.files.{key}": value for key, value in keys.items()}):
        yield


def written(folder: Path, kind: str, sizes: list[int]) -> None:
    """Files whose rows are numbered in their order, from file to file, and are of many lengths."""
    random, number = Random(0), 0
    for place, size in enumerate(sizes):
        rows = [{"n": number + n, "text": "x" * random.randint(0, 60)} for n in range(size)]
        number += size
        path = folder / f"part {place}.{kind}"
        if kind == "parquet":
            table = pa.Table.from_pylist(rows, pa.schema({"n": pa.int64(), "text": pa.string()}))
            pq.write_table(table, path, row_group_size=50)
            continue
        array = kind == "array"
        lines = ["n,text", *(f"{r['n']},{r['text']}" for r in rows)] if kind in ("csv", "gz") else map(json.dumps, rows)
        text = json.dumps(rows, indent=0) if array else "\n".join(lines) + "\n"
        path.write_bytes(gzip.compress(text.encode()) if kind == "gz" else text.encode())
        if kind in ("gz", "array"):
            path.rename(path.with_suffix(".csv.gz" if kind == "gz" else ".json"))


def in_order(spark: SparkSession, path: Path, kind: str, *, is_one_file: bool) -> tuple[list[int], DataFrame]:
    """The numbers of rows in the order that is told."""
    format_ = {"gz": "csv", "array": "json"}.get(kind, kind)
    options = {"header": "true", "multiLine": str(kind == "array").lower()}
    frame = spark.read.format(format_).options(**options).schema("n BIGINT, text STRING").load(str(path))
    order = row_order(frame, format_, is_one_file=is_one_file)
    assert order is not None
    assert order.several is not is_one_file
    return [r.n for r in frame.withColumn("place", order.place).orderBy("place").select("n").collect()], frame


KINDS = ["csv", "json", "parquet", "gz", "array"]


@pytest.mark.parametrize("kind", every(3, KINDS))
def test_splits_of_one_file_are_read_in_their_order(
    kind: str, spark: SparkSession, tmp_path: Path, small_splits: None
) -> None:
    """monotonically_increasing_id follows them: Spark sorts splits by size, stably, and packs neighbours."""
    written(tmp_path, kind, [500])
    (path,) = tmp_path.iterdir()
    found, frame = in_order(spark, path, kind, is_one_file=True)
    assert found == list(range(500))
    if kind in ("csv", "json") and not IS_CONNECT:
        assert frame.rdd.getNumPartitions() > 4  # there are splits to be mixed up


@pytest.mark.parametrize("kind", every(3, KINDS))
def test_splits_of_several_files_are_packed_by_size(
    kind: str, spark: SparkSession, tmp_path: Path, small_splits: None
) -> None:
    written(tmp_path, kind, [3, 400, 1, 150, 400, 0, 20])
    found, frame = in_order(spark, tmp_path, kind, is_one_file=False)
    assert found == list(range(974))
    if kind == "csv":
        alone = frame.selectExpr("n", "monotonically_increasing_id() AS id").orderBy("id").select("n").collect()
        assert [r.n for r in alone] != found  # else the files need not be told apart


def test_files_of_one_name_in_several_folders(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "log.csv").write_text("n,text\n" + "".join(f"{n + (name == 'b') * 3},\n" for n in range(3)))
    assert in_order(spark, tmp_path / "*", "csv", is_one_file=False)[0] == list(range(6))


#: By type, `click` comes before `startup`; in the file, behind it.
TIED = """case;ts;event;n
1;2024-05-01;startup;9
1;2024-05-01;click;8
1;2024-05-02;buy;1
2;2024-05-01;click;2
2;2024-05-01;startup;3
"""
FUNNEL = ("FROM tied PATTERN SEQ(startup a, click b) WHERE strict_contiguity RETURN a.case, b.n", "case,n\n1,8\n")


@pytest.mark.parametrize("kind", every(2, ["csv", "parquet", "json", "folder"]))
def test_ties_are_in_the_order_of_the_file(kind: str, run: Run) -> None:
    Path("tied.csv").write_text(TIED)
    head, *rows = (line.split(";") for line in TIED.splitlines())
    records = [dict(zip(head, row, strict=True)) for row in rows]
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(records), "tied.parquet")
    elif kind == "json":
        Path("tied.json").write_text("\n".join(map(json.dumps, records)))
    elif kind == "folder":
        Path("tied").mkdir()
        for n, row in enumerate(rows):
            Path("tied", f"{n}.csv").write_text("\n".join(";".join(line) for line in (head, row)))
    option, path = ("--csv", "tied") if kind == "folder" else (f"--{kind}", f"tied.{kind}")
    code, out, err = run("sql", option, path, "--format", "csv", FUNNEL[0])
    assert (code, out) == (0, FUNNEL[1]), err
    assert "tiebreak = row_in_file (the order of the rows in" in err


@pytest.mark.full
def test_a_tiebreak_that_is_named_or_in_the_file(run: Run) -> None:
    Path("tied.csv").write_text(TIED)
    code, out, err = run("sql", "--csv", "tied.csv", "--tiebreak", "n", "--format", "csv", FUNNEL[0])
    assert (code, out) == (0, "case,n\n"), err
    code, out, err = run("sql", "--csv", "tied.csv", "--tiebreak", "n", "--format", "csv", "SELECT * FROM tied LIMIT 1")
    assert out == "case,ts,event,n\n1,2024-05-01,startup,9\n"  # no column more
    Path("tied.csv").write_text(TIED.replace(";n\n", ";pos\n"))
    code, out, err = run("sql", "--csv", "tied.csv", "--format", "csv", FUNNEL[0].replace("b.n", "b.pos AS n"))
    assert (code, out) == (0, "case,n\n"), err
    Path("tied.csv").write_text(TIED.replace(";n\n", ";ROW_IN_FILE\n"))
    code, out, err = run("sql", "--csv", "tied.csv", "--format", "csv", FUNNEL[0].replace("b.n", "b.row_in_file AS n"))
    assert (code, out) == (0, FUNNEL[1]), err
    assert "tiebreak = row_in_file_2 (" in err


@pytest.mark.full
def test_ties_are_said(run: Run) -> None:
    Path("tied.csv").write_text(TIED)
    code, out, err = run("discover", "tied.csv")
    assert code == 0, err
    assert "4 events share their time with another event of their case: they are ordered by row_in_file" in out
    assert "| startup | click " in " ".join(out.split())
    code, out, err = run("discover", "tied.csv", "--tiebreak", "case", "--one-case")
    assert ": they are ordered by case and, 4 of them, by the names of their types" in out
    code, out, err = run("sql", "--csv", "tied.csv", "-q", FUNNEL[0].replace("click", "buy"))
    assert "Note: 4 rows have the same ts as another row of their partition: they are ordered by row_in_file" in err


def test_a_setting_of_another_log_is_passed_over(run: Run) -> None:
    """The view of a block that names its own columns need not have those of the file."""
    Path("tied.csv").write_text(TIED.replace(";n\n", ";lfd. Nr\n"))
    own = "FROM (SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t(at, what)) PARTITION BY 1 ORDER BY at EVENT TYPE what "
    text = own + "PATTERN SEQ(a x, b y) RETURN y.at"
    code, out, err = run("sql", "--csv", "tied.csv", "--tiebreak", "lfd. Nr", "--format", "csv", text)
    assert (code, out) == (0, "at\n2\n"), err
    assert "Warning: spark.sparkcep.log.tiebreak is ignored, as the input has no column lfd. Nr" in err
