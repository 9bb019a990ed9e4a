"""Views, CTEs, filters and joins over an indexed log are read through its index, or EXPLAIN says why not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import sparkcep
from sparkcep import index
from sparkcep.lineage.from_plan import origins
from sparkcep.settings import INDEX, INDEX_ACCESS_PATH

from ..conftest import IS_CONNECT

#: Where events come from if plans are read, or texts on Spark Connect: of joins, and of CTEs.
BY_PLANS, BY_TEXTS = ("source", "activities") if IS_CONNECT else ("activities", "source")
NOT_ONE_BY_ONE = "does not prove" if IS_CONNECT else "one by one"
NAME = "inputs_log"
BLOCK = (
    "FROM {} PARTITION BY k ORDER BY t, p EVENT TYPE e PATTERN SEQ(A a, B b) EVENT SELECTION SKIP TILL NEXT MATCH "
    "RETURN k, a.t AS t1, b.t AS t2"
)


@pytest.fixture(scope="module")
def log(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A table of twenty cases, of which two have A before B; the view `inputs_view` renames its columns."""
    folder = tmp_path_factory.mktemp("log")
    rows = [("x", 1, 1, "A", 1), ("x", 2, 2, "B", 2), ("y", 1, 2, "B", 1), ("y", 1, 1, "A", 9), ("z", 1, 1, "B", 1)]
    rows += [(f"none {n}", 1, 0, "C", n) for n in range(17)]
    write(folder / "part0.parquet", rows)
    spark.sql(f"CREATE TABLE {NAME} (k STRING, t BIGINT, p INT, e STRING, v INT) USING parquet LOCATION '{folder}'")
    index.create(spark, NAME, NAME, case="k", time="t", tiebreak="p", event="e")
    spark.sql(f"CREATE VIEW inputs_view (k, kind, at, n) AS SELECT k, e, t, p FROM {NAME} WHERE v < 9")
    try:
        yield str(folder)
    finally:
        spark.conf.unset(INDEX_ACCESS_PATH.key)
        spark.sql("DROP VIEW IF EXISTS inputs_view")
        spark.sql(f"DROP TABLE {NAME}")
        index.drop(spark, NAME)
        index.vacuum(spark, NAME, 0)


def write(path: Path, rows: list[tuple[str, int, int, str, int]]) -> None:
    types = (pa.string(), pa.int64(), pa.int32(), pa.string(), pa.int32())
    columns = [pa.array(own, type_) for own, type_ in zip(zip(*rows, strict=True), types, strict=True)]
    pq.write_table(pa.table(dict(zip("ktpev", columns, strict=True))), path)


def served(spark: SparkSession, text: str, path: str = "activities", **frames: DataFrame) -> str:
    """Where events come from, of a statement whose answer is the same without an index; else why none is used."""
    spark.conf.set(INDEX.key, "false")
    expected = sorted(map(str, spark.sql(text, **frames).collect()))
    spark.conf.set(INDEX.key, "true")
    spark.conf.set(INDEX_ACCESS_PATH.key, path)
    assert sorted(map(str, spark.sql(text, **frames).collect())) == expected
    told = str(spark.sql(f"EXPLAIN {text}", **frames).collect()[0][0])
    found = re.search(r"events from (\w+)|Index: (.*)", told.split("Index: ", 1)[1].join(["Index: ", ""]))
    return str((re.search(r"events from (\w+)", told) or found)[1] or found[2])  # type: ignore[index]


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("(SELECT * FROM inputs_log WHERE t < 9)", "activities"),
        ("(SELECT p, e, t, k, v + 1 AS w FROM inputs_log)", "activities"),
        ("(SELECT kind AS e, k, at AS t, n AS p FROM inputs_view)", "source"),  # v < 9: not in the index
        ("(SELECT l.*, d.w FROM inputs_log l LEFT JOIN VALUES ('x', 1) d(kk, w) ON l.k = d.kk)", BY_PLANS),
        ("(SELECT * FROM inputs_log WHERE k IN (SELECT k FROM inputs_log WHERE e = 'B'))", BY_PLANS),
        ("(SELECT *, row_number() OVER (PARTITION BY k ORDER BY v) AS n FROM inputs_log)", "source"),
        ("(SELECT k, t, e, row_number() OVER (PARTITION BY k ORDER BY v) AS p FROM inputs_log)", "source"),
        ("(SELECT * FROM inputs_log ORDER BY v LIMIT 10)", "source"),
        ("(SELECT *, explode(array(1, 2)) AS n FROM inputs_log)", "source|can match"),
        ("(SELECT k, -t AS t, p, e FROM inputs_log)", "sequences"),
        ("(SELECT 'k#1' AS k, t, p, e FROM inputs_log)", "EVENT|CASE"),
        ("(SELECT k, t, p, upper(e) AS e FROM inputs_log)", "EVENT"),
        ("(SELECT * FROM inputs_log UNION ALL SELECT * FROM inputs_log)", NOT_ONE_BY_ONE),
        ("(SELECT l.* FROM VALUES ('x'), ('q') d(kk) LEFT JOIN inputs_log l ON l.k = d.kk)", NOT_ONE_BY_ONE),
    ],
)
def test_what_is_served_from_where(spark: SparkSession, log: str, query: str, where: str) -> None:
    assert re.search(where, served(spark, BLOCK.format(query)))


def test_ctes_and_arguments_are_served(spark: SparkSession, log: str) -> None:
    common = "WITH own AS (SELECT * FROM inputs_log WHERE k <> 'none 1'), few AS (SELECT * FROM own WHERE t < 5) "
    assert served(spark, common + f"SELECT * FROM ({BLOCK.format('few')})") == BY_TEXTS
    twice = "WITH own AS (SELECT * FROM inputs_log WHERE t < 5) "
    joined = BLOCK.format("(SELECT o.* FROM own o LEFT SEMI JOIN own b ON o.k = b.k AND b.e = 'B')")
    assert served(spark, f"{twice}SELECT * FROM ({joined})") == "source"
    frame = spark.table(NAME).where("t < 5").withColumnRenamed("e", "kind")
    text = BLOCK.format("{df}").replace("EVENT TYPE e", "EVENT TYPE kind")
    assert served(spark, text, df=frame) == BY_PLANS


def test_events_that_a_filter_takes_away_are_not_matched(spark: SparkSession, log: str) -> None:
    text = BLOCK.format("(SELECT * FROM inputs_log WHERE NOT (k = 'x' AND t = 2))")
    assert served(spark, text) == "activities"
    assert [r.k for r in spark.sql(text).collect()] == ["y"]
    assert "each row of the input comes from one of inputs_log" in sparkcep.explain(spark, text)
    renamed = "FROM inputs_view PARTITION BY k ORDER BY at, n EVENT TYPE kind PATTERN SEQ(A a, B b) RETURN k"
    assert "TIME t is at, TIEBREAK p is n, EVENT e is kind" in sparkcep.explain(spark, renamed)


def test_a_block_takes_its_columns_from_the_index_below_a_view(spark: SparkSession, log: str) -> None:
    text = "FROM inputs_view PATTERN SEQ(A a, B b) RETURN k, b.at AS t"
    assert served(spark, text) == "source"
    assert [tuple(r) for r in spark.sql(text).collect()] == [("x", 2)]
    tied = "FROM inputs_log PATTERN SEQ(A a, B b) RETURN k, a.t AS t"  # in `y` only the tie-break tells A from B
    assert served(spark, tied) == "activities"
    assert sorted(r.k for r in spark.sql(tied).collect()) == ["x", "y"]


def test_one_event_that_a_join_repeats_is_two(spark: SparkSession, log: str) -> None:
    repeated = "(SELECT l.* FROM inputs_log l JOIN VALUES ('x'), ('x') d(kk) ON l.k = d.kk)"
    text = BLOCK.format(repeated).replace("A a, B b", "B a, B b")
    assert served(spark, text) == BY_PLANS
    assert [(r.k, r.t1) for r in spark.sql(text).collect()] == [("x", 2)]


def test_new_files_are_read_through_the_view(spark: SparkSession, log: str) -> None:
    write(Path(log) / "part1.parquet", [("z", 0, 0, "A", 1), ("z", 0, 1, "A", 50)])
    spark.sql(f"REFRESH TABLE {NAME}")
    try:
        text = BLOCK.format("(SELECT * FROM inputs_log WHERE v < 50)")
        assert served(spark, text) == "source"
        assert "1 file is new and read from the source" in sparkcep.explain(spark, text)
        assert sorted(r.k for r in spark.sql(text).collect()) == ["x", "y", "z"]
    finally:
        (Path(log) / "part1.parquet").unlink()
        spark.sql(f"REFRESH TABLE {NAME}")


@pytest.mark.skipif(IS_CONNECT, reason="Spark Connect shows no plans")
def test_an_origin_is_one_row_of_one_relation(spark: SparkSession, log: str) -> None:
    text = "SELECT a.k, b.t, a.e FROM inputs_log a JOIN inputs_log b ON a.k = b.k"
    one, other = origins(spark.sql(text), ["k", "t", "e"])
    assert (one.columns, other.columns) == ({"k": "k", "e": "e"}, {"t": "t"})
    assert one.repeats
    assert (one.tested, other.tested) == ({"k"}, {"k"})
    assert origins(spark.range(3), ["id"]) == []
    (counted,) = origins(spark.sql("SELECT k, t + p AS t, rand() AS r FROM inputs_log"), ["k", "t", "r"])
    assert (counted.columns, counted.made_from["t"], counted.by_row) == ({"k": "k"}, {"t", "p"}, False)
