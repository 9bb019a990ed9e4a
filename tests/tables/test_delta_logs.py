"""Pattern tables over Delta tables, as connectors for Spark read them: files of which the table's own log says more."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import DataFrame, SparkSession

from sparkcep.index import delta_log
from sparkcep.index.storage import Location
from sparkcep.spark.plan import analysed

from ..conftest import IS_CONNECT

pytestmark = [pytest.mark.full, pytest.mark.skipif(IS_CONNECT, reason="Connect matches everything again")]
QUERY = "FROM de_log PARTITION BY u ORDER BY ts EVENT TYPE e PATTERN SEQ(A x, B y) MATCHES NON OVERLAPPING"
#: As Delta's own reader: Parquet's by its name, whose rows are not all that lie in the files.
READER = """package io.delta.stand_in;
public class DeltaParquetFileFormat extends org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat {}
"""


@pytest.fixture(scope="session")
def reader(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A class of the JVM's that stands where Delta's does in a plan."""
    jvm: Any = spark._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader())
    compiler.cook(READER)
    jar = tmp_path_factory.mktemp("jar") / "reader.jar"
    with zipfile.ZipFile(jar, "w") as file:
        for name, code in dict(compiler.getBytecodes()).items():
            file.writestr(name.replace(".", "/") + ".class", bytes(code))
    spark.sql(f"ADD JAR '{jar}'")
    loader = spark._jsparkSession.sharedState().jarClassLoader()
    return loader.loadClass("io.delta.stand_in.DeltaParquetFileFormat")


@pytest.fixture(params=["connector", "files"])
def view(spark: SparkSession, tmp_path: Path, reader: Any, request: pytest.FixtureRequest) -> Callable[[], None]:
    """Makes the view of a Delta table's newest version, by Delta's reader or by the list of its files."""

    def make() -> None:
        frame = spark.read.parquet(*DeltaTable(str(tmp_path / "log")).file_uris())
        if request.param == "connector":
            files = analysed(frame).relation()
            relation = spark._jvm.org.apache.spark.sql.execution.datasources.HadoopFsRelation(
                files.location(), files.partitionSchema(), files.dataSchema(), files.bucketSpec(),
                reader.newInstance(), files.options(), spark._jsparkSession,
            )  # fmt: skip
            frame = DataFrame(spark._jsparkSession.baseRelationToDataFrame(relation), spark)
        frame.createOrReplaceTempView("de_log")

    return make


def rows(*found: tuple[str, int, str]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(("u", "ts", "e"), row, strict=True)) for row in found])


def refreshed(spark: SparkSession) -> tuple[str, int | None, int]:
    """Why a refresh did what it did, cases and rows, which are compared with a full run."""
    (done,) = spark.sql("REFRESH PATTERN TABLE de_kept").collect()
    whole = spark.sql(QUERY)
    kept = spark.sql("SELECT * FROM de_kept").select(*whole.columns)
    assert sorted(map(str, kept.collect())) == sorted(map(str, whole.collect()))
    return done.reason, done.cases, done.rows


def test_commits_of_every_kind(
    spark: SparkSession, tmp_path: Path, view: Callable[[], None], request: pytest.FixtureRequest
) -> None:
    log = str(tmp_path / "log")
    write_deltalake(log, rows(("1", 1, "A"), ("1", 5, "B"), ("2", 2, "A"), ("\u2028", 2, "A")))
    write_deltalake(log, rows(("2", 9, "B"), ("3", 1, "A"), ("3", 2, "B")), mode="append")
    view()
    spark.sql("DROP PATTERN TABLE IF EXISTS de_kept")
    spark.sql(f"CREATE PATTERN TABLE de_kept AS {QUERY}")
    assert refreshed(spark) == ("no file of the source is new", 0, 3)
    write_deltalake(log, rows(("4", 1, "A"), ("4", 3, "B"), ("\u2028", 2, "A")), mode="append")
    view()
    assert refreshed(spark) == ("1 file is new", 2, 4)
    DeltaTable(log).delete("u = '3' AND e = 'B'")
    view()
    assert refreshed(spark) == ("1 file of the source is gone or has changed", 2, 3)
    DeltaTable(log).optimize.compact()
    view()
    reason, cases, _ = refreshed(spark)
    assert (reason, cases) == ("3 files of the source are gone or have changed", 5)
    DeltaTable(log).optimize.compact()
    view()
    assert refreshed(spark)[0] == "no file of the source is new"
    _with_deletion_vector(Path(log))
    if request.node.callspec.params["view"] == "connector":
        view()
        assert refreshed(spark)[:2] == ("1 file of the source is gone or has changed", 5)
    spark.sql("DROP PATTERN TABLE de_kept")


def _with_deletion_vector(log: Path) -> None:
    """A commit that leaves all files in their places, and rows of one of them out."""
    table = DeltaTable(str(log))
    (path,) = pa.table(table.get_add_actions(flatten=True))["path"].to_pylist()
    size = (log / path).stat().st_size
    removed = {"path": path, "deletionTimestamp": 1, "dataChange": True, "partitionValues": {}, "size": size}
    vector = {"storageType": "i", "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"}
    vector |= {"sizeInBytes": 40, "cardinality": 6}
    added = {**removed, "modificationTime": 1, "deletionVector": vector}
    features = ["deletionVectors"]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}
    actions = [{"protocol": protocol}, {"remove": removed}, {"add": added}]
    (log / "_delta_log" / f"{table.version() + 1:020d}.json").write_text("\n".join(map(json.dumps, actions)))


def test_what_a_log_does_not_tell(tmp_path: Path) -> None:
    for k in range(3):
        write_deltalake(tmp_path / "log", rows((str(k), 1, "A")), mode="append")
    root = delta_log.root_of(Location(str(tmp_path / "log" / "day=1" / "part.parquet")))
    assert root == Location(str(tmp_path / "log"))
    id_, version = delta_log.version_of(root) or ("", -1)
    assert (len(id_), version) == (36, 2)
    assert len(delta_log.touched_files(root, 0, 2) or ()) == 2
    assert delta_log.touched_files(root, 2, 2) == frozenset()
    assert delta_log.touched_files(root, 2, 1) is None  # restored
    assert delta_log.touched_files(root, 2, 3) is None  # cleaned up
    assert delta_log.root_of(Location(str(tmp_path))) is None
    assert delta_log.version_of(Location(str(tmp_path))) is None
