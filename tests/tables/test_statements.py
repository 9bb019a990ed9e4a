"""Statements about pattern tables: what they answer, and what they refuse."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from random import Random

import pytest
from pyspark.sql import SparkSession

import sparkcep
from sparkcep import SparkCepError
from sparkcep.index.snapshots import refresher
from sparkcep.session.tables.names import locate

from ..conftest import IS_CONNECT
from .world import World

NEW = "CREATE PATTERN TABLE x AS"
QUERY = "FROM ts_log PARTITION BY u ORDER BY ts, i EVENT TYPE e PATTERN SEQ(A x, B y) MATCHES NON OVERLAPPING"


@pytest.fixture(scope="module")
def world(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(spark, tmp_path_factory.mktemp("log"), Random(5), "ts_log")
    made.begin(40)
    spark.sql(f"CREATE PATTERN TABLE kept COMMENT 'what was kept' AS {QUERY};").collect()
    yield made
    spark.sql("DROP PATTERN TABLE IF EXISTS kept")


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("CREATE PATTERN TABLE", "CEP_SYNTAX_ERROR] the pattern table's name is expected"),
        ("CREATE PATTERN TABLE x", "CEP_SYNTAX_ERROR] AS is expected"),
        ("CREATE PATTERN TABLE x AS", "CEP_SYNTAX_ERROR] a query with a pattern is expected"),
        ("REFRESH PATTERN TABLE kept ALL", "CEP_SYNTAX_ERROR] the statement should end here, not ALL"),
        ("VACUUM PATTERN TABLE kept RETAIN x HOURS", "CEP_SYNTAX_ERROR] a number of hours is expected"),
        (f"CREATE PATTERN TABLE KEPT AS {QUERY}", "CEP_PATTERN_TABLE_EXISTS] Pattern table kept already exists"),
        (f"CREATE PATTERN TABLE ts_log AS {QUERY}", "There is a table or view ts_log already"),
        (f"CREATE PATTERN TABLE `a b` AS {QUERY}", "CEP_INDEX_NAME] 'a b' cannot name a pattern"),
        ("REFRESH PATTERN TABLE kep", "CEP_PATTERN_TABLE_NOT_FOUND] There is no pattern table kep"),
        ("DROP PATTERN TABLE other", "CEP_PATTERN_TABLE_NOT_FOUND] There is no pattern table other"),
        (f"{NEW} SELECT 1", "CEP_PATTERN_TABLE_QUERY] The query of a pattern table has one pattern"),
        (f"{NEW} {QUERY} UNION ALL {QUERY}", "has one pattern, not 2"),
        (f"{NEW} SELECT count(*) FROM ({QUERY}) GROUP BY u", "GROUP behind the pattern needs more"),
        (f"{NEW} SELECT DISTINCT u FROM ({QUERY})", "DISTINCT makes one row of several matches"),
        (f"{NEW} SELECT 1 AS x FROM ({QUERY}) a, ts_log", "TABLE_QUERY] , behind the pattern needs"),
        (f"{NEW} SELECT u FROM ({QUERY}) WHERE u IN (SELECT u FROM ts_log)", "( behind the pattern"),
        (f"{NEW} SELECT row_number() OVER (ORDER BY u) FROM ({QUERY})", "OVER in its SELECT list"),
        (f"{NEW} SELECT current_timestamp, u FROM ({QUERY})", "current_timestamp gives another value"),
        (f"{NEW} {QUERY} WHERE x.i = rand()", "rand gives another value each time"),
        (f"{NEW} SELECT u AS match_id FROM ({QUERY})", "has a name that pattern tables use themselves"),
        (f"{NEW} SELECT INTERVAL 1 DAY AS w FROM ({QUERY})", "is INTERVAL DAY, which pattern tables do"),
        ("SELECT * FROM pattern_table_changes('other')", "There is no pattern table other"),
        ("SELECT * FROM pattern_table_changes('kept', from => 7)", "versions 7 to 0; there are 0 to 0"),
        ("SELECT * FROM pattern_table_changes('kept', 'x')", "The version is 'x'; it must be a whole number"),
    ],
)  # fmt: skip
def test_refused(world: World, statement: str, error: str) -> None:
    with pytest.raises(SparkCepError) as raised:
        world.spark.sql(statement)
    assert error in str(raised.value)
    assert "Line 1, column" in str(raised.value)


def test_a_log_that_is_another_one_each_time_is_refused(world: World) -> None:
    world.spark.sql("CREATE OR REPLACE TEMPORARY VIEW ts_new AS SELECT * FROM ts_log WHERE ts < current_timestamp()")
    with pytest.raises(SparkCepError, match="The log is made with current_timestamp"):
        world.spark.sql(f"{NEW} {QUERY.replace('ts_log', 'ts_new')}")


def test_shown(world: World) -> None:
    (shown,) = world.spark.sql("SHOW PATTERN TABLES").where("name = 'kept'").collect()
    assert (shown.name, shown.version, shown.comment) == ("kept", 0, "what was kept")
    described = dict(world.spark.sql("DESCRIBE PATTERN TABLE kept").collect())
    assert described["Query"] == QUERY
    assert described["Case"] == "u"
    assert world.spark.sql(f"CREATE PATTERN TABLE IF NOT EXISTS kept AS {QUERY}").collect() == []


def test_of_other_sessions(world: World) -> None:
    """It has no table in a catalog, but is known by its name wherever its path is."""
    other = world.spark.newSession()
    other.conf.set("spark.sparkcep.index.path", world.spark.conf.get("spark.sparkcep.index.path"))
    count = "SELECT count(*) FROM kept k JOIN kept USING (match_id)"
    assert other.sql(count).collect() == world.spark.sql(count).collect()
    world.spark.sql(f"CREATE PATTERN TABLE later AS {QUERY}")
    pattern = "FROM later PARTITION BY u ORDER BY start_time EVENT TYPE u PATTERN SEQ(u1 a)"
    assert other.sql(pattern).count() == other.sql("SELECT * FROM LATER WHERE u = 'u1'").count()
    world.spark.sql("DROP PATTERN TABLE later")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        other.sql("SELECT * FROM later")


@pytest.mark.skipif(IS_CONNECT, reason="on Connect a task commits")
def test_one_refresher(world: World) -> None:
    with refresher(locate(world.spark, "kept")), pytest.raises(SparkCepError, match="CEP_PATTERN_TABLE_BUSY"):
        world.spark.sql("REFRESH PATTERN TABLE kept")


def test_a_setting_that_has_changed(world: World) -> None:
    spark = world.spark
    spark.sql(f"CREATE PATTERN TABLE zoned AS SELECT u, CAST(end_time AS STRING) AS at FROM ({QUERY})")
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        with pytest.raises(
            SparkCepError, match=r"timeZone is Asia/Tokyo, and was UTC when it was made.*\n(.*\n)*.*FULL"
        ):
            spark.sql("REFRESH PATTERN TABLE zoned")
        done = spark.sql("REFRESH PATTERN TABLE zoned FULL").collect()[0]
        assert 0 < done.inserted == done.withdrawn == done.rows
        assert spark.sql("REFRESH PATTERN TABLE zoned").collect()[0].action == "unchanged"
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone or "UTC")
        spark.sql("DROP PATTERN TABLE zoned")


def test_a_query_with_other_columns(world: World) -> None:
    """`SELECT *` of a log that has a column more."""
    spark = world.spark
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW ts_wide AS SELECT * FROM ts_log")
    clause = (
        "ts_wide MATCH_RECOGNIZE (PARTITION BY u ORDER BY ts, i ALL ROWS PER MATCH PATTERN (A B) DEFINE A AS e = 'A')"
    )
    spark.sql(f"CREATE PATTERN TABLE wide AS SELECT * FROM {clause}")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW ts_wide AS SELECT *, i + 1 AS j FROM ts_log")
    with pytest.raises(SparkCepError, match=r"CEP_PATTERN_TABLE_CHANGED.*other columns than when it was made"):
        spark.sql("REFRESH PATTERN TABLE wide")
    spark.sql("REFRESH PATTERN TABLE wide FULL")
    assert "j" in spark.sql("SELECT * FROM wide").columns
    assert spark.sql("SELECT * FROM pattern_table_changes('wide')").count() == spark.sql("SELECT * FROM wide").count()
    spark.sql("DROP PATTERN TABLE wide")


def test_other_readers(world: World) -> None:
    """Any reader of Delta has the rows."""
    from deltalake import DeltaTable

    table = DeltaTable(locate(world.spark, "kept").delta)
    assert table.metadata().description == "what was kept"
    assert table.to_pyarrow_table().num_rows == world.spark.sql("SELECT * FROM kept").count()


def test_without_patching(world: World) -> None:
    with contextlib.ExitStack() as stack:
        sparkcep.disable()
        stack.callback(sparkcep.enable)
        assert sparkcep.sql(world.spark, "REFRESH PATTERN TABLE kept").collect()[0].action == "unchanged"


def test_create_or(world: World) -> None:
    """As a program says that does not know whether it is there."""
    spark = world.spark
    actions = [spark.sql(f"CREATE OR REFRESH PATTERN TABLE os AS {QUERY}").collect()[0].action for _ in range(2)]
    assert actions == ["created", "unchanged"]
    other = QUERY.replace("(A x, B y)", "(B x, A y)")
    with pytest.raises(SparkCepError, match=r"CEP_PATTERN_TABLE_CHANGED.* its query is another one(.|\n)*OR REPLACE"):
        spark.sql(f"CREATE OR REFRESH PATTERN TABLE os AS {other}")
    done = spark.sql(f"CREATE OR REPLACE PATTERN TABLE os AS {other}").collect()[0]
    assert (done.action, done.version, done.inserted, done.withdrawn) == ("created", 1, done.rows, 0)
    assert spark.sql("SELECT * FROM os").count() == spark.sql(other).count()
    assert spark.sql("SELECT * FROM pattern_table_changes('os')").count() == done.rows
    spark.sql("DROP PATTERN TABLE os")


def test_a_name_with_a_schema(world: World) -> None:
    """As dbt writes names."""
    spark = world.spark
    spark.sql(f"CREATE PATTERN TABLE mart.kept AS {QUERY}")
    other = spark.newSession()
    other.conf.set("spark.sparkcep.index.path", spark.conf.get("spark.sparkcep.index.path"))
    for session in (spark, other):
        for text in (
            "SELECT count(*) FROM mart.kept",
            "SELECT count(*) FROM Mart.`kept` AS k WHERE k.match_id IS NOT NULL",
            "SELECT count(kept.u) + count_if(kept.u IS NULL) FROM mart.kept WHERE 'mart.kept' <> ''",
            "WITH a AS (SELECT * FROM mart.kept) SELECT count(*) FROM a JOIN mart.kept kept USING (match_id)",
        ):
            assert session.sql(text).collect() == spark.sql(f"SELECT count(*) FROM ({QUERY})").collect()
    spark.sql("DROP PATTERN TABLE mart.kept")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        other.sql("SELECT * FROM mart.kept")


def test_a_table_of_files(world: World) -> None:
    """Which Spark lists once, until they are written to through it."""
    spark = world.spark
    spark.sql("CREATE TABLE ts_files USING parquet AS SELECT * FROM ts_log")
    query = QUERY.replace("ts_log", "ts_files")
    spark.sql(f"CREATE PATTERN TABLE of_files AS {query}")
    spark.sql(
        "INSERT INTO ts_files VALUES ('u1', TIMESTAMP'2030-01-01', 1, 'A'), ('u1', TIMESTAMP'2030-01-02', 2, 'B')"
    )
    done = spark.sql("REFRESH PATTERN TABLE of_files").collect()[0]
    assert (done.cases, done.withdrawn) == (1, 0)
    assert done.reason.endswith(" new")
    columns = "u, match_number, start_time, end_time"
    kept, whole = (spark.sql(f"SELECT {columns} FROM {relation}") for relation in ("of_files", f"({query})"))
    assert sorted(map(str, kept.collect())) == sorted(map(str, whole.collect()))
    spark.sql("DROP PATTERN TABLE of_files")
    spark.sql("DROP TABLE ts_files")


def test_versions_of_vacuum(world: World) -> None:
    """Commits without rows stand between those of refreshes."""
    spark = world.spark
    spark.sql(f"CREATE PATTERN TABLE vacuumed AS {QUERY}")
    spark.sql("VACUUM PATTERN TABLE vacuumed RETAIN 0 HOURS")
    world.batch(30)
    done = spark.sql("REFRESH PATTERN TABLE vacuumed").collect()[0]
    assert done.version == 3
    changes = "SELECT count(*) FROM pattern_table_changes('vacuumed', from => 1)"
    assert spark.sql(changes).collect()[0][0] == done.inserted + done.withdrawn > 0
    assert spark.sql("REFRESH PATTERN TABLE vacuumed FULL").collect()[0].inserted == 0
    spark.sql(f"CREATE OR REPLACE PATTERN TABLE vacuumed AS {QUERY.replace('NON OVERLAPPING', 'FIRST')}")
    with pytest.raises(SparkCepError, match="of versions 1 to 5; there are 5 to 5"):
        spark.sql(changes)
    min(world.folder.glob("*.parquet")).unlink()
    world.batch(5)
    assert spark.sql("REFRESH PATTERN TABLE vacuumed").collect()[0].withdrawn
    spark.sql("VACUUM PATTERN TABLE vacuumed RETAIN 0 HOURS")
    with pytest.raises(SparkCepError, match="What versions 5 to 6 have changed is no longer kept"):
        spark.sql("SELECT * FROM pattern_table_changes('vacuumed', from => 5, to => 6)")
    spark.sql("DROP PATTERN TABLE vacuumed")
