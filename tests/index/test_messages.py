"""What statements about indexes say where something outside of the index is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sparkcep import SparkCepError, index
from sparkcep.index import catalog, snapshots
from sparkcep.settings import INDEX_PATH

from ..conftest import IS_CONNECT
from .helpers import create

COLUMNS = "(CASE k, TIME t, EVENT e)"


def refused(spark: SparkSession, source: str) -> SparkCepError:
    with pytest.raises(SparkCepError) as raised:
        spark.sql(f"CREATE PATTERN INDEX told_ix ON {source} {COLUMNS}")
    error = raised.value
    assert "\tat " not in str(error)
    assert "Py4J" not in str(error)
    assert "Line 1, column" in str(error)
    return error


@pytest.mark.parametrize(
    ("format_", "name", "text", "cause", "hint"),
    [
        ("delta", "none", "", "Failed to find the data source: delta", "this session has no delta format"),
        ("parquet", "log.parquet", "no such thing", "CANNOT_READ_FILE_FOOTER", "a path that can be read"),
        ("orc", "log.orc", "no such thing", "CANNOT_READ_FILE_FOOTER", "a path that can be read"),
    ],
)
def test_files_that_cannot_be_read(
    spark: SparkSession, tmp_path: Path, format_: str, name: str, text: str, cause: str, hint: str
) -> None:
    (tmp_path / name).write_text(text)
    error = refused(spark, f"{format_}.`{tmp_path}`")
    assert error.error_class == "CEP_INDEX_SOURCE"
    assert cause in str(error)
    assert hint in str(error)


@pytest.mark.parametrize(
    ("path", "cause"), [("nope://a/x", 'No FileSystem for scheme "nope"'), ("s3a://a/x", "S3AFileSystem not found")]
)
def test_storage_without_a_connector(spark: SparkSession, path: str, cause: str) -> None:
    error = refused(spark, f"parquet.`{path}`")
    assert cause in str(error)
    assert "no connector for this storage" in str(error)


def test_rows_that_cannot_be_read(spark: SparkSession, tmp_path: Path) -> None:
    """The source is found, and fails where its rows are looked at."""
    (tmp_path / "log").write_text("a,1,A\na,x,B\n")
    spark.sql("DROP TABLE IF EXISTS told")
    spark.sql(
        f"CREATE TABLE told (k STRING, t BIGINT, e STRING) USING csv OPTIONS (path '{tmp_path}', mode 'FAILFAST')"
    )
    try:
        error = refused(spark, "told")
        assert error.error_class == "CEP_INDEX_SOURCE"
        assert f"{tmp_path}/log" in str(error)
        assert IS_CONNECT or "MALFORMED_RECORD_IN_PARSING" in str(error)
    finally:
        spark.sql("DROP TABLE told")


@pytest.mark.skipif(IS_CONNECT, reason="the path is looked at by a task there")
@pytest.mark.parametrize("path", ["{}/file/below", "nope://a/x"])
def test_an_index_path_that_cannot_be_written(spark: SparkSession, tmp_path: Path, path: str) -> None:
    (tmp_path / "file").write_text("")
    before = spark.conf.get(INDEX_PATH.key)
    spark.conf.set(INDEX_PATH.key, path.format(tmp_path))
    spark.sql("CREATE OR REPLACE TEMP VIEW told_view AS SELECT 'a' AS k, 1 AS t, 'A' AS e")
    try:
        error = refused(spark, "told_view")
        assert error.error_class == "CEP_INDEX_STORAGE"
        assert INDEX_PATH.key in str(error)
    finally:
        spark.conf.set(INDEX_PATH.key, before)


@pytest.mark.skipif(IS_CONNECT, reason="there is no lock from a client")
@pytest.mark.parametrize(
    "statement",
    [
        "DROP PATTERN INDEX told_ix",
        "ALTER PATTERN INDEX told_ix SET (lookback = '1 day')",
        "VACUUM PATTERN INDEX told_ix",
    ],
)
def test_a_statement_while_another_is_at_work(spark: SparkSession, statement: str) -> None:
    create(spark, "told_ix", [("a", 1, 0, "A")])
    try:
        with snapshots.refresher(catalog.locate(spark, "told_ix")), pytest.raises(SparkCepError) as raised:
            spark.sql(statement)
        assert raised.value.error_class == "CEP_INDEX_BUSY"
        assert raised.value.hint == "wait until it has ended and run this again; nothing was changed"
    finally:
        index.drop(spark, "told_ix")
        index.vacuum(spark, "told_ix", 0)


def test_analyze_says_what_its_values_are(spark: SparkSession) -> None:
    create(spark, "told_ix", [("a", 1, 0, "A"), ("a", 2, 1, "B")])
    try:
        rows = [tuple(r) for r in spark.sql("ANALYZE PATTERN INDEX told_ix").collect()]
        assert [r for r in rows if r[0] == "state"] == [
            ("state", "batches", "1"),
            ("state", "snapshot", "0"),
            ("state", "source", "unknown"),
        ]
    finally:
        index.drop(spark, "told_ix")
        index.vacuum(spark, "told_ix", 0)
