"""What rows of a pattern table depend on beside new files of its log, each found by trying to make a table wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from sparkcep import SparkCepError
from sparkcep.session.tables.names import locate

from ..conftest import IS_CONNECT, configured
from .world import WHOLE

pytestmark = pytest.mark.full
QUERY = "FROM so_log PARTITION BY u ORDER BY ts EVENT TYPE e PATTERN SEQ(A x, B y) EVENT SELECTION SKIP TILL ANY MATCH"
OTHER = "its query has other values than it had: everything is matched again"
Check = Callable[[str], Any]


@pytest.fixture
def log(spark: SparkSession) -> Iterator[SparkSession]:
    spark.sql("DROP TABLE IF EXISTS so_log")
    spark.sql("CREATE TABLE so_log (u STRING, ts INT, e STRING) USING parquet")
    spark.sql("INSERT INTO so_log VALUES ('1', 1, 'A'), ('1', 5, 'B'), ('2', 2, 'A'), ('2', 9, 'B'), (NULL, 1, 'A')")
    yield spark
    for row in spark.sql("SHOW PATTERN TABLES").collect():
        spark.sql(f"DROP PATTERN TABLE {row.name}")
    spark.sql("DROP TABLE so_log")


@pytest.fixture
def refreshed(log: SparkSession) -> Check:
    """Refreshes a table, compares it with its query, and gives what was done."""

    def run(name: str) -> Any:
        done = log.sql(f"REFRESH PATTERN TABLE {name}").collect()[0]
        query = dict(log.sql(f"DESCRIBE PATTERN TABLE {name}").collect())["Query"]
        whole = log.sql(query)
        kept = log.sql(f"SELECT * FROM {name}").select(*whole.columns)
        assert sorted(map(str, kept.collect())) == sorted(map(str, whole.collect()))
        changes = log.sql(f"SELECT change FROM pattern_table_changes('{name}')").collect()
        assert [row[0] for row in changes].count("insert") - [row[0] for row in changes].count("withdraw") == done.rows
        return done

    return run


def test_the_case_is_another_one(log: SparkSession, refreshed: Check) -> None:
    """Where a property of the log says so, or a text that is filled in."""
    log.sql(
        "ALTER TABLE so_log SET TBLPROPERTIES ('sparkcep.case' = 'u', 'sparkcep.time' = 'ts', 'sparkcep.event' = 'e')"
    )
    log.conf.set("so.key", "u")
    by_text = QUERY.replace("PARTITION BY u", "PARTITION BY ${so.key}")
    log.sql("CREATE PATTERN TABLE property AS SELECT start_time FROM (FROM so_log PATTERN SEQ(A x, B y) WITHIN 9)")
    log.sql(f"CREATE PATTERN TABLE text AS SELECT start_time, end_time FROM ({by_text})")
    log.sql("ALTER TABLE so_log SET TBLPROPERTIES ('sparkcep.case' = 'e')")
    log.conf.set("so.key", "e")
    for name in ("property", "text"):
        assert WHOLE in refreshed(name).reason
        assert refreshed(name).action == "unchanged"
    log.sql("INSERT INTO so_log VALUES ('1', 3, 'A'), ('1', 4, 'B')")
    for name in ("property", "text"):
        assert refreshed(name).reason == "2 files are new"
    log.conf.unset("so.key")


def test_values_of_the_query(log: SparkSession, refreshed: Check) -> None:
    """Those that the text does not show are in the plan."""
    log.sql("DECLARE OR REPLACE VARIABLE so_least INT DEFAULT 1")
    log.sql("CREATE OR REPLACE TEMPORARY FUNCTION so_limit() RETURNS INT RETURN 1")
    log.conf.set("so.limit", "1")
    for name, value in (("variable", "so_least"), ("function", "so_limit()"), ("text", "${so.limit}")):
        log.sql(f"CREATE PATTERN TABLE {name} AS {QUERY} WHERE y.ts > {value}")
        assert refreshed(name).action == ("refreshed" if name == "function" else "unchanged")
    log.sql("DECLARE OR REPLACE VARIABLE so_case STRING DEFAULT 'x#1'")
    log.sql(f"CREATE PATTERN TABLE numbered AS {QUERY} WHERE x.u <> so_case")
    log.sql("SET VAR so_case = '1'")
    assert refreshed("numbered").withdrawn
    log.sql("SET VAR so_case = 'x#1'")
    assert refreshed("numbered").inserted
    log.sql("SET VAR so_case = 'x#2'")
    assert refreshed("numbered").reason == OTHER
    log.sql("SET VAR so_least = 8")
    log.sql("CREATE OR REPLACE TEMPORARY FUNCTION so_limit() RETURNS INT RETURN 8")
    log.conf.set("so.limit", "8")
    for name, reason in (("variable", OTHER), ("text", OTHER), ("function", "its query calls so_limit: " + WHOLE)):
        done = refreshed(name)
        assert (done.reason, done.withdrawn, done.rows) == (reason, 1, 1)
    log.conf.unset("so.limit")


def test_functions_of_the_log(log: SparkSession, refreshed: Check) -> None:
    log.sql("CREATE OR REPLACE TEMPORARY FUNCTION so_name(s STRING) RETURNS STRING RETURN s")
    log.sql("CREATE OR REPLACE TEMP VIEW so_named AS SELECT u, ts, so_name(e) AS e FROM so_log")
    log.sql(f"CREATE PATTERN TABLE named AS {QUERY.replace('so_log', 'so_named')}")
    log.sql("CREATE OR REPLACE TEMPORARY FUNCTION so_name(s STRING) RETURNS STRING RETURN concat(s, s)")
    done = refreshed("named")
    assert (done.reason, done.rows) == ("its log is made with so_name: " + WHOLE, 0)
    log.udf.register("so_python", lambda s: s, "string")
    log.sql("SELECT u, ts, so_python(e) AS e FROM so_log").createOrReplaceTempView("so_piped")
    log.sql(f"CREATE PATTERN TABLE piped AS {QUERY.replace('so_log', 'so_piped')}")
    log.udf.register("so_python", lambda s: s * 2, "string")
    log.sql("SELECT u, ts, so_python(e) AS e FROM so_log").createOrReplaceTempView("so_piped")
    assert refreshed("piped").rows == 0


@pytest.mark.parametrize("kind", ["filled in", "array"])
def test_values_like_numbers_of_columns(log: SparkSession, refreshed: Check, kind: str) -> None:
    """As plans have them behind `#`."""
    log.sql("DECLARE OR REPLACE VARIABLE so_cases ARRAY<STRING> DEFAULT array('x#1')")
    log.conf.set("so.case", "x#1")
    condition = {
        "filled in": "concat('x#', x.u) = '${so.case}'",
        "array": "array_contains(so_cases, concat('x#', x.u))",
    }
    log.sql(f"CREATE PATTERN TABLE like_numbers AS {QUERY} WHERE {condition[kind]}")
    log.sql("SET VAR so_cases = array('x#2')")
    log.conf.set("so.case", "x#2")
    done = refreshed("like_numbers")
    assert (done.reason, done.inserted, done.withdrawn) == (OTHER, 1, 1)
    log.conf.unset("so.case")


def test_columns_of_the_log_by_its_properties(log: SparkSession, refreshed: Check) -> None:
    properties = "'sparkcep.case' = 'u', 'sparkcep.time' = 'ts', 'sparkcep.event' = 'e'"
    log.sql(f"ALTER TABLE so_log SET TBLPROPERTIES ({properties})")
    log.sql("CREATE PATTERN TABLE properties AS FROM so_log PATTERN SEQ(A x, B y) RETURN x.ts AS a, y.ts AS b")
    log.sql("ALTER TABLE so_log SET TBLPROPERTIES ('sparkcep.case' = 'e')")
    assert refreshed("properties").rows == 0


@pytest.mark.parametrize(
    ("where", "other"),
    [("u = 'x#1' OR ts < 6", "u = 'x#2' OR ts < 6"), ("ts < 6", "ts < 60"), ("u < 'x#1'", "u < 'x#2'")],
)
def test_a_view_that_is_another_one(log: SparkSession, refreshed: Check, where: str, other: str) -> None:
    log.sql(f"CREATE OR REPLACE TEMP VIEW so_view AS SELECT * FROM so_log WHERE {where}")
    log.sql(f"CREATE PATTERN TABLE viewed AS {QUERY.replace('so_log', 'so_view')}")
    log.sql(f"CREATE OR REPLACE TEMP VIEW so_view AS SELECT * FROM so_log WHERE {other}")
    if IS_CONNECT and " OR " in where:  # text proves less
        assert refreshed("viewed").reason == f"rows of its log do not come one by one from rows of files: {WHOLE}"
        return
    assert refreshed("viewed").reason == f"its log is made otherwise than it was: {WHOLE}"


@pytest.mark.parametrize("key", ["${spark.app.name}", "it's", "a\\b", "", "é#1", '"'])
def test_keys(log: SparkSession, refreshed: Check, key: str) -> None:
    def insert(*events: tuple[int, str]) -> None:
        rows = [(key, ts, e) for ts, e in events]
        log.createDataFrame(rows, "u string, ts int, e string").write.insertInto("so_log")

    insert((1, "A"), (2, "B"))
    log.sql(f"CREATE PATTERN TABLE keyed AS {QUERY}")
    insert((3, "B"))
    done = refreshed("keyed")
    assert (done.cases, done.inserted, done.withdrawn) == (1, 1, 0)


def test_microseconds(log: SparkSession, refreshed: Check) -> None:
    made = (
        "SELECT TIMESTAMP_NTZ'2026-01-01 00:00:00' + make_dt_interval(0, 0, 0, {0} / 1e6) AS u, {1} AS ts, '{2}' AS e"
    )
    log.sql("CREATE TABLE so_ntz (u TIMESTAMP_NTZ, ts INT, e STRING) USING parquet")
    log.sql(
        "INSERT INTO so_ntz " + " UNION ALL ".join(made.format(u, *e) for u in (1, 2) for e in ((1, "A"), (2, "B")))
    )
    log.sql(f"CREATE PATTERN TABLE ntz AS {QUERY.replace('so_log', 'so_ntz')}")
    log.sql("INSERT INTO so_ntz " + made.format(1, 3, "B"))
    done = refreshed("ntz")
    assert (done.cases, done.inserted, done.withdrawn) == (1, 1, 0)
    log.sql("DROP TABLE so_ntz")


def test_over_another_pattern_table(log: SparkSession, refreshed: Check) -> None:
    """Which another session refreshes."""
    log.sql(f"CREATE PATTERN TABLE so.low AS {QUERY}")
    log.sql(
        "CREATE PATTERN TABLE so.high AS FROM so.low PARTITION BY u ORDER BY end_time EVENT TYPE u PATTERN SEQ('1' a)"
    )
    other = log.newSession()
    other.conf.set("spark.sparkcep.index.path", log.conf.get("spark.sparkcep.index.path"))
    other.sql("INSERT INTO so_log VALUES ('1', 7, 'B')")
    assert other.sql("REFRESH PATTERN TABLE so.low").collect()[0].inserted == 1
    assert refreshed("so.high").rows == 2
    done = other.sql("REFRESH PATTERN TABLE so.high").collect()[0]
    assert done.action == ("refreshed" if IS_CONNECT else "unchanged")


def test_other_programs(log: SparkSession, refreshed: Check) -> None:
    """One may put files together; rows that one has written are thrown away by FULL."""
    from deltalake import DeltaTable

    log.sql(f"CREATE PATTERN TABLE written AS {QUERY}")
    log.sql("INSERT INTO so_log VALUES ('1', 7, 'B')")
    refreshed("written")
    place = locate(log, "written").delta
    DeltaTable(place).optimize.compact()
    log.sql("INSERT INTO so_log VALUES ('1', 0, 'B'), ('1', 6, 'A')")
    assert refreshed("written").version == 3
    DeltaTable(place).delete("u = '1'")
    for statement in ("REFRESH PATTERN TABLE written", "SELECT * FROM written"):
        with pytest.raises(SparkCepError, match=r"CEP_PATTERN_TABLE_CHANGED.*another program has changed its rows"):
            log.sql(statement)
    assert log.sql("SELECT 'written' AS x").collect()[0].x == "written"
    assert log.sql("SHOW PATTERN TABLES").collect()[0].comment == "CEP_PATTERN_TABLE_CHANGED"
    log.sql("REFRESH PATTERN TABLE written FULL")
    assert refreshed("written").rows == 4
    DeltaTable(place).delete("u = '1'")
    log.sql("DROP PATTERN TABLE written")
    assert log.sql("SHOW PATTERN TABLES").collect() == []


def test_dropped_and_made_elsewhere(log: SparkSession) -> None:
    log.sql(f"CREATE PATTERN TABLE again AS {QUERY}")
    assert log.sql("SELECT * FROM again").count() == 2
    other = log.newSession()
    other.conf.set("spark.sparkcep.index.path", log.conf.get("spark.sparkcep.index.path"))
    other.sql("DROP PATTERN TABLE again")
    other.sql(f"CREATE PATTERN TABLE again AS {QUERY} WHERE x.ts > 1")
    assert log.sql("SELECT * FROM again").count() == 1
    log.catalog.dropTempView("again")
    assert log.sql("SELECT * FROM again").count() == 1


def test_what_is_no_relation(log: SparkSession) -> None:
    """Names with a schema take the place of relations alone."""
    log.sql(f"CREATE PATTERN TABLE so.late AS {QUERY}")
    for text, rows in (
        ("SELECT so.late FROM VALUES (1) AS so(late)", 1),
        ("WITH so AS (SELECT 1 AS late) SELECT so.late FROM so", 1),
        ("SELECT so.late FROM (SELECT named_struct('late', 5) AS so)", 1),
        ("SELECT count(*) FROM so.late t JOIN so.late ON t.u = late.u HAVING count(*) > 0", 1),
    ):
        assert log.sql(text).count() == rows
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        log.sql("SELECT * FROM (SELECT 1 AS a), so.late")


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("SELECT u -- the user\nFROM ({0})", ""),
        ("SELECT named_struct('null_count', 1, 'interval', 2) AS s, u FROM ({0})", ""),
        ("{0} WHERE y.ts > unix_timestamp('1970-01-01 00:00:01', 'yyyy-MM-dd HH:mm:ss')", ""),
        ("{0} WHERE y.ts > (SELECT max(ts) FROM so_log)", "A subquery in the pattern may give another value"),
        ("{0} WHERE y.ts < unix_timestamp()", "unix_timestamp gives another value"),
        ("SELECT match_number FROM ({0})", ""),
        ("SELECT count(*) AS n FROM ({0})", "does not give a row for each row of the pattern"),
        ("SELECT map(CAST(u AS BINARY), 1) AS m FROM ({0})", "is MAP<BINARY,INT>, which pattern tables do not keep"),
    ],
)
def test_queries(log: SparkSession, refreshed: Check, query: str, error: str) -> None:
    statement = f"CREATE PATTERN TABLE made AS {query.format(QUERY)}"
    if error:
        with pytest.raises(SparkCepError) as raised:
            log.sql(statement)
        assert error in str(raised.value)
    else:
        log.sql(statement)
        assert refreshed("made").rows > 0


def test_arguments(log: SparkSession) -> None:
    with pytest.raises(SparkCepError, match="take no arguments"):
        log.sql(f"CREATE PATTERN TABLE given AS {QUERY} WHERE y.ts > :least", args={"least": 1})
    with pytest.raises(Exception, match="PARSE_SYNTAX_ERROR"):
        log.sql("CREATE OR /* pattern table */")


def test_a_log_without_files(log: SparkSession, refreshed: Check) -> None:
    """As a database has it, here the one that comes with Spark."""
    place = {"url": "jdbc:derby:memory:so;create=true", "table": "events"}
    driver = {"driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver"}
    log.table("so_log").write.jdbc(**place, properties=driver)
    log.read.jdbc(**place, properties=driver).createOrReplaceTempView("so_base")
    log.sql(f"CREATE PATTERN TABLE stored AS {QUERY.replace('so_log', 'so_base')}")
    log.sql("SELECT '1' AS u, 7 AS ts, 'B' AS e").write.jdbc(**place, mode="append", properties=driver)
    done = refreshed("stored")
    reason = f"its log has no files, or does not tell which: {WHOLE}"
    if IS_CONNECT:
        reason = f"what its log is made of is not told: Spark does not tell the text of the view so_base: {WHOLE}"
    assert (done.reason, done.inserted) == (reason, 1)


def test_a_column_far_behind_that_changes(log: SparkSession) -> None:
    """Spark prints the first 25 columns of a plan."""
    many = ", ".join(f"{n} AS c{n}" for n in range(30))
    log.sql(f"CREATE OR REPLACE TEMP VIEW so_wide AS SELECT *, {many}, current_timestamp() AS at FROM so_log")
    with pytest.raises(SparkCepError, match="The log is made with current_timestamp"):
        log.sql(f"CREATE PATTERN TABLE wide AS {QUERY.replace('so_log', 'so_wide')}")
    with (
        configured(log, {"spark.sql.maxPlanStringLength": "100"}),
        pytest.raises(SparkCepError, match="The log is made"),
    ):
        log.sql(f"CREATE PATTERN TABLE wide AS {QUERY.replace('so_log', 'so_wide')}")
