"""The hook: what it leaves alone, where a clause may stand, parameters, views, EXPLAIN."""

from __future__ import annotations

import threading
import time
import timeit
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession

import sparkcep
from sparkcep import settings as own_settings
from sparkcep.session.analyzer import SparkAnalyzer
from sparkcep.session.messages.printed import short_message
from sparkcep.spark.executors import known_cores
from sparkcep.sql.statement import mentions_pattern

from ..conftest import IS_CONNECT, configured

ROWS = "VALUES ('a', 1, 5), ('a', 2, 3), ('a', 3, 4), ('b', 1, 1), ('b', 2, 2) AS t(k, id, v)"
FALL = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY id MEASURES LAST(id) AS at
  PATTERN (x y) DEFINE y AS v < PREV(v))"""


@pytest.fixture
def switched_off(spark: SparkSession) -> Iterator[SparkSession]:
    sparkcep.disable()
    yield spark
    sparkcep.enable()


def test_disable_gives_sql_back(switched_off: SparkSession) -> None:
    method = type(switched_off).sql
    with pytest.raises(ParseException):
        switched_off.sql(f"SELECT * FROM {ROWS} {FALL}").collect()
    sparkcep.enable()
    sparkcep.enable()
    assert type(switched_off).sql is not method
    sparkcep.disable()
    assert type(switched_off).sql is method
    sparkcep.disable()


def test_context_manager(switched_off: SparkSession) -> None:
    with sparkcep.enabled():
        assert [tuple(r) for r in switched_off.sql(f"SELECT * FROM {ROWS} {FALL}").collect()] == [("a", 2)]
    with pytest.raises(ParseException):
        switched_off.sql(f"SELECT * FROM {ROWS} {FALL}").collect()


def test_function_needs_no_patch(switched_off: SparkSession) -> None:
    frame = sparkcep.sql(switched_off, f"SELECT * FROM {ROWS} {FALL}")
    assert [tuple(r) for r in frame.collect()] == [("a", 2)]
    assert sparkcep.sql(switched_off, "SELECT 1 AS one").collect()[0].one == 1


def test_how_many_cores_there_are(spark: SparkSession) -> None:
    """Also of a Connect server, which is not asked for its context."""
    assert known_cores(spark) == 2


def test_what_succeeds_logs_no_error(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark logs each error of SQL, by kilobytes of JSON on Connect, though it is caught: so none is asked for."""
    spark.sql(f"SELECT k, id, IF(v > 3, 'A', 'B') AS e FROM {ROWS}").write.parquet(str(tmp_path / "log.parquet"))
    logged: list[str] = []
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    monkeypatch.setattr(logger, "disabled", False)
    monkeypatch.setattr(logger, "exception", lambda message, **more: logged.append(message))
    for relation in (f"parquet.`{tmp_path}/log.parquet`", f"PARQUET.`file:{tmp_path}/log.parquet`"):
        block = f"FROM {relation} PARTITION BY k ORDER BY id EVENT TYPE e PATTERN SEQ(A a, B b) RETURN k, b.id AS at"
        assert len(spark.sql(block).collect()) == 1
    with pytest.raises(AnalysisException):
        spark.sql("SELECT * FROM no_such_table").collect()
    assert len(logged) == 1, logged


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("b.v / (b.id - b.id)", "`b.v` / (`b.id` - `b.id`)"),
        ("CAST(a.k AS INT) + 1", "CAST(`a.k` AS INT)"),
        ("sum(x[].v) / (b.id - b.id)", "of x)` / (`b.id` - `b.id`)"),
    ],
)
def test_errors_of_rows_show_what_was_written(spark: SparkSession, expression: str, shown: str) -> None:
    """Spark shows the SQL that it runs; there columns are called by what they stand for."""
    block = f"""FROM (SELECT * FROM {ROWS}) PARTITION BY k ORDER BY id EVENT TYPE k
      PATTERN SEQ(a a, a+ x[], a b) RETURN {expression} AS r"""
    with pytest.raises(PySparkException) as raised:
        spark.sql(block).collect()
    (context,) = raised.value.getQueryContext()
    assert shown in context.fragment(), context.fragment()
    said = short_message(raised.value, block)
    place = "PATTERN SEQ(a a, a+ x[], a b) RETURN "
    assert f"{place}{expression} AS r\n      {' ' * len(place)}^^^^" in said, said
    assert "__cep" not in said


def test_our_own_errors_have_no_stack_of_the_jvm(spark: SparkSession) -> None:
    """A Connect client shows one behind every error of Spark's."""
    block = f"""FROM (SELECT * FROM {ROWS}) PARTITION BY k ORDER BY id EVENT TYPE k PATTERN SEQ(a+ x[], a b)
      EVENT SELECTION SKIP TILL ANY MATCH RETURN k"""
    with configured(spark, {"spark.sparkcep.limit.steps": "1"}), pytest.raises(PySparkException) as raised:
        spark.sql(block).collect()
    assert "[CEP_STEP_LIMIT] " in str(raised.value)
    assert "stacktrace" not in str(raised.value)
    assert "\tat " not in str(raised.value)


def test_wrapped_method_keeps_its_face(spark: SparkSession) -> None:
    assert type(spark).sql.__doc__
    assert type(spark).sql.__name__ == "sql"


def test_foreign_statements_cost_microseconds() -> None:
    text = "SELECT " + ", ".join(f"c{i} + {i} AS d{i}" for i in range(200)) + " FROM pattern_table WHERE match = 1"
    assert not mentions_pattern(text)
    # Of this thread's own processor time the least: other tests run beside.
    assert min(timeit.repeat(lambda: mentions_pattern(text), time.thread_time, repeat=10, number=100)) / 100 < 50e-6


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("SELECT 'x MATCH_RECOGNIZE (PATTERN (A))' AS s", "x MATCH_RECOGNIZE (PATTERN (A))"),
        ("SELECT '{a}' AS s -- FROM t MATCH_RECOGNIZE (PATTERN (A))", "{a}"),
        ("SELECT match_recognize.c AS s FROM (SELECT '{}' AS c) match_recognize", "{}"),
        ("SELECT y AS s FROM VALUES ('z') match_recognize (y)", "z"),
    ],
)
def test_statements_that_only_look_alike(spark: SparkSession, text: str, value: str) -> None:
    assert spark.sql(text).collect()[0].s == value


def test_named_parameters(spark: SparkSession) -> None:
    text = f"""SELECT k, n, :extra AS e FROM (SELECT * FROM {ROWS} WHERE k <> :skip) MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY id MEASURES :factor * count(*) AS n PATTERN (x y+)
        DEFINE y AS v > x.v - :near AND v >= :low)"""
    frame = spark.sql(text, {"skip": "b", "extra": "{e}", "factor": 10, "near": 3, "low": 3})
    assert [tuple(r) for r in frame.collect()] == [("a", 30, "{e}")]


def test_positional_parameters_do_not_collide_with_quantifiers(spark: SparkSession) -> None:
    text = f"""SELECT ? AS first, k, n FROM (SELECT * FROM {ROWS} WHERE k = ?) MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY id MEASURES count(*) + ? AS n PATTERN (x y?? z{{1,2}}?)
        DEFINE z AS v >= ?) WHERE n > ?"""
    assert [tuple(r) for r in spark.sql(text, [7, "a", 100, 3, 0]).collect()] == [(7, "a", 102)]
    with pytest.raises(AnalysisException, match="CEP_UNBOUND_PARAMETER"):
        spark.sql(text, [7, "a"])


def test_keyword_arguments(spark: SparkSession) -> None:
    events = spark.sql(f"SELECT * FROM {ROWS}")
    text = """SELECT *, '{{x}}' AS b FROM {events} MATCH_RECOGNIZE (PARTITION BY k ORDER BY id
        MEASURES count(*) + {one} AS n PATTERN (x{{1,2}}) DEFINE x AS v >= {low})"""
    rows = spark.sql(text, events=events, one=1, low=3).collect()
    assert sorted(tuple(r) for r in rows) == [("a", 2, "{x}"), ("a", 3, "{x}")]


def test_parameters_inside_match_dependent_conditions(spark: SparkSession) -> None:
    clause = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY id MEASURES y.id AS at PATTERN (x y) DEFINE y AS"
    named = f"SELECT * FROM {ROWS} {clause} v - x.v BETWEEN :low AND :high)"
    assert sorted(tuple(r) for r in spark.sql(named, {"low": 0, "high": 1}).collect()) == [("a", 3), ("b", 2)]
    placed = f"SELECT * FROM {ROWS} {clause} v - x.v BETWEEN ? AND ?)"
    assert [tuple(r) for r in spark.sql(placed, [-2, -1]).collect()] == [("a", 2)]
    formatted = f"SELECT * FROM {ROWS} {clause} v > x.v * {{d}} - 5)"
    assert sorted(tuple(r) for r in spark.sql(formatted, d=2).collect()) == [("a", 3), ("b", 2)]


def test_quantifiers_of_outer_patterns_are_no_parameters(spark: SparkSession) -> None:
    text = f"""SELECT n, m FROM {ROWS} MATCH_RECOGNIZE (PARTITION BY k ORDER BY id
        MEASURES count(*) AS n, (SELECT max(c) + ? FROM {ROWS} MATCH_RECOGNIZE (ORDER BY id MEASURES count(*) AS c
        PATTERN (p q?))) AS m PATTERN (x y?? z?) DEFINE z AS v >= ?) WHERE n > ?"""
    assert sorted(tuple(r) for r in spark.sql(text, [10, 3, 1]).collect()) == [(2, 12)]


@pytest.mark.usefixtures("compiler")
def test_temporary_views(spark: SparkSession) -> None:
    before = {t.name for t in spark.catalog.listTables()}
    query = f"SELECT * FROM {ROWS} {FALL}"
    assert spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW session_v (key, row) AS {query}").columns == []
    assert [tuple(r) for r in spark.sql("SELECT row, key FROM session_v").collect()] == [(2, "a")]
    with pytest.raises(AnalysisException, match="session_v"):
        spark.sql(f"CREATE TEMP VIEW session_v AS {query}")
    with pytest.raises(AnalysisException, match="IF NOT EXISTS"):
        spark.sql(f"CREATE TEMP VIEW IF NOT EXISTS session_v AS {query}")
    with pytest.raises(AnalysisException, match="CREATE_VIEW_COLUMN_ARITY_MISMATCH"):
        spark.sql(f"CREATE OR REPLACE TEMP VIEW session_v (a, b, c) AS {query}")
    spark.sql(
        f"CREATE OR REPLACE TEMP VIEW IDENTIFIER('session_v') (k COMMENT 'the key', `a b`) COMMENT 'v' AS {query}"
    )
    spark.sql("CREATE OR REPLACE TEMP VIEW session_v AS SELECT k, `a b` + 1 AS id, 1 AS v FROM session_v "
              "MATCH_RECOGNIZE (PARTITION BY k ORDER BY `a b` MEASURES x.`a b` AS `a b` PATTERN (x))")  # fmt: skip
    assert [tuple(r) for r in spark.sql("SELECT * FROM session_v").collect()] == [("a", 3, 1)]
    assert spark.conf.get("spark.sql.legacy.storeAnalyzedPlanForView") == "false"
    spark.sql(f"CREATE OR REPLACE GLOBAL TEMP VIEW session_g AS {query}")
    assert spark.sql("SELECT * FROM global_temp.session_g").count() == 1
    spark.sql("DROP VIEW session_v")
    spark.sql("DROP VIEW global_temp.session_g")
    assert {t.name for t in spark.catalog.listTables()} == before


def test_temporary_views_where_no_plan_can_be_stored(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object, key: str, value: object) -> None:
        raise AnalysisException(f"CANNOT_MODIFY_CONFIG {key}")

    with monkeypatch.context() as patched:
        patched.setattr(type(spark.conf), "set", refuse)
        spark.sql(f"CREATE TEMP VIEW session_locked (key, row) AS SELECT * FROM {ROWS} {FALL}")
    assert [tuple(r) for r in spark.sql("SELECT row, key FROM session_locked").collect()] == [(2, "a")]
    spark.sql("DROP VIEW session_locked")


def test_errors_around_a_pattern_show_the_text_as_written(spark: SparkSession) -> None:
    text = f"SELECT m.nosuch FROM {ROWS} MATCH_RECOGNIZE (PARTITION BY k ORDER BY id MEASURES x.v AS low, y.v AS high"
    text += " PATTERN (x y)) m"
    with pytest.raises(AnalysisException) as caught:
        spark.sql(text).collect()
    message = str(caught.value)
    assert caught.value.getCondition() == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    assert "`high`" in message and "`low`" in message and "Line 1, column 8." in message
    assert "__cep_" not in message


def test_scripts_are_refused_with_a_hint(spark: SparkSession) -> None:
    with pytest.raises(AnalysisException, match=r"(?s)CEP_SQL_SCRIPT.*Hint:"):
        spark.sql(f"BEGIN SELECT * FROM {ROWS} {FALL}; END")


def test_times_where_no_time_zone_is_set(spark: SparkSession) -> None:
    """Spark's own default then is the machine's, which ``conf.get`` with a default does not tell."""
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW session_times AS "
              "SELECT id, if(id = 0, 'A', 'B') AS e, timestamp_seconds(id * 3600) AS t FROM range(3)")  # fmt: skip
    spark.conf.unset("spark.sql.session.timeZone")
    try:
        assert (
            own_settings.read(own_settings.getter(spark)).time_zone
            == spark.conf.get("spark.sql.session.timeZone")
            != ""
        )
        found = spark.sql(
            "FROM session_times ORDER BY id EVENT TYPE e PATTERN SEQ(A a, B b) "
            "WHERE exists(array(b.t), t -> t - a.t = INTERVAL 1 HOUR) "
            "AND date_trunc('HOUR', b.t) - date_trunc('HOUR', a.t) = INTERVAL 1 HOUR RETURN b.id"
        ).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert [row.id for row in found] == [1]


def test_off_leaves_everything_to_spark(spark: SparkSession) -> None:
    spark.conf.set("spark.sparkcep.sql.matchRecognize", "off")
    try:
        with pytest.raises(ParseException):
            spark.sql(f"SELECT * FROM {ROWS} {FALL}").collect()
    finally:
        spark.conf.unset("spark.sparkcep.sql.matchRecognize")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.sparkcep.exec.layout", "columns"),
        ("spark.sparkcep.limit.steps", "-1"),
        ("spark.sparkcep.sql.matchRecognize", "sometimes"),
    ],
)
def test_bad_settings_name_their_key(spark: SparkSession, key: str, value: str) -> None:
    spark.conf.set(key, value)
    try:
        with pytest.raises(sparkcep.SparkCepError, match=key):
            spark.sql(f"SELECT * FROM {ROWS} {FALL}")
    finally:
        spark.conf.unset(key)


def test_spark_errors_inside_the_clause_come_with_a_place(spark: SparkSession) -> None:
    text = f"SELECT *\nFROM {ROWS} MATCH_RECOGNIZE (\n  ORDER BY id PATTERN (x) DEFINE x AS nonsense(v) > 1)"
    with pytest.raises(sparkcep.PatternAnalysisError, match=r"(?s)UNRESOLVED_ROUTINE.*Line 3, column 39"):
        spark.sql(text)


def test_executor_errors_keep_their_message(spark: SparkSession) -> None:
    spark.conf.set("spark.sparkcep.limit.matches", "2")
    try:
        with pytest.raises(Exception, match=r"(?s)CEP_MATCH_LIMIT.*spark\.sparkcep\.limit\.matches"):
            spark.sql(
                f"SELECT * FROM {ROWS} MATCH_RECOGNIZE (PARTITION BY k ORDER BY id ALL ROWS PER MATCH PATTERN (x+))"
            ).collect()
    finally:
        spark.conf.unset("spark.sparkcep.limit.matches")


def test_threads_share_the_hook(spark: SparkSession) -> None:
    found: list[int] = []

    def work() -> None:
        found.append(spark.sql(f"SELECT * FROM {ROWS} {FALL}").count())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1, 1, 1, 1]


def test_explain_shows_what_runs(spark: SparkSession) -> None:
    text = sparkcep.explain(spark, f"SELECT * FROM {ROWS} {FALL}")
    assert (
        text.index("== Pattern Plan ==") < text.index("bit 0: Y AS v < PREV(v, 1)") < text.index("== Physical Plan ==")
    )
    assert "ArrowEvalPython" in text


def test_nothing_runs_before_an_action(spark: SparkSession) -> None:
    frame = spark.sql(f"SELECT assert_true(at < 0, 'ran') FROM {ROWS} {FALL}")
    with pytest.raises(Exception, match="ran"):
        frame.collect()


def test_a_kept_plan_follows_the_table_and_the_settings(spark: SparkSession) -> None:
    query = """SELECT * FROM kept_plan MATCH_RECOGNIZE (PARTITION BY k ORDER BY i MEASURES LAST(B.i) AS b
      PATTERN (A X* B) DEFINE A AS e = 1, X AS e <> 2, B AS e = 2)"""

    def answer(rows: str) -> list[tuple[object, ...]]:
        spark.sql(f"CREATE OR REPLACE TEMP VIEW kept_plan AS SELECT * FROM VALUES {rows}")
        first = spark.sql(query)
        again = spark.sql(query)
        assert first.schema == again.schema
        assert first.collect() == again.collect()
        return [tuple(row) for row in again.collect()]

    assert answer("(1, 1, 1), (1, 2, 3), (1, 3, 2) AS t(k, i, e)") == [(1, 3)]
    # other rows, other types, other columns
    assert answer("(1, 1, 1), (1, 2, 2), (1, 3, 2) AS t(k, i, e)") == [(1, 2)]
    assert answer("(1, 'x', '1'), (1, 'y', '02'), (1, 'z', '3') AS t(k, i, e)") == [(1, "y")]
    assert answer("('u', 1, 1, 0), ('u', 2, 2, 0) AS t(k, i, e, extra)") == [("u", 2)]
    assert "Layout: fold" in sparkcep.explain(spark, query)
    spark.conf.set("spark.sparkcep.planner.fold.enabled", "false")
    try:
        assert "Layout: lists" in sparkcep.explain(spark, query)
    finally:
        spark.conf.unset("spark.sparkcep.planner.fold.enabled")
    spark.sql("DROP VIEW kept_plan")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(query)


def test_an_input_that_has_grown_is_sampled_again(spark: SparkSession, tmp_path: Path) -> None:
    """A statement's text says nothing of the size of what it reads; Connect tells it by a statement only."""
    path = str(tmp_path / "log")
    text = (
        f"EXPLAIN SELECT count(*) FROM parquet.`{path}` MATCH_RECOGNIZE (PARTITION BY k ORDER BY i PATTERN (A B) "
        "DEFINE A AS i % 2 = 0, B AS i > A.i)"
    )

    def layout() -> str:
        lines = spark.sql(text).collect()[0][0].splitlines()
        return next(line for line in lines if "Layout: " in line)

    sparkcep_settings = {"planner.sampling.minBytes": "20000", "planner.index.enabled": "false"}
    try:
        for key, value in sparkcep_settings.items():
            spark.conf.set(f"spark.sparkcep.{key}", value)
        spark.sql("SELECT id % 50 AS k, id AS i FROM range(100)").write.parquet(path)
        assert "lists" in layout()
        spark.sql("SELECT -1L AS k, id AS i FROM range(20000)").write.mode("append").parquet(path)
        assert "rows" in layout()
    finally:
        for key in sparkcep_settings:
            spark.conf.unset(f"spark.sparkcep.{key}")


@pytest.mark.full
@pytest.mark.skipif(IS_CONNECT, reason="Connect asks for sizes by statements, too")
def test_an_input_is_sampled_once_for_patterns_that_keep_other_rows(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    run = SparkAnalyzer.run

    def noting(self: SparkAnalyzer, text: str, *args: Any, **more: Any) -> DataFrame:
        asked.append(text)
        return run(self, text, *args, **more)

    monkeypatch.setattr(SparkAnalyzer, "run", noting)
    settings = {"spark.sparkcep.planner.sampling.minBytes": "1"}
    for view, key, rows in (("sampled_once", "id % 50", 900), ("sampled_long", "if(id % 9 = 0, id, -1)", 9000)):
        columns = f"{key} AS k, id AS i, id % 9 AS e, id % 7 AS v"
        spark.sql(f"CREATE OR REPLACE TEMP VIEW {view} AS SELECT {columns} FROM range({rows})")

    def layouts(view: str) -> tuple[set[str], int]:
        asked.clear()
        found = set()
        for number in range(1, 9):
            block = (
                f"FROM {view} PARTITION BY k ORDER BY i EVENT TYPE e PATTERN SEQ('0' a, '{number}' b) WHERE a.v < b.v"
            )
            plan = sparkcep.explain(spark, f"{block} MATCHES NON OVERLAPPING RETURN b.i")
            found.add(next(line.split()[1] for line in plan.splitlines() if "Layout: " in line))
        return found, sum("struct(k)" in text for text in asked)

    with configured(spark, settings):
        layout, samples = layouts("sampled_once")
        assert layout == {"lists"}
        assert 1 <= samples <= 2
    with configured(spark, settings | {"spark.sparkcep.exec.listBytes": "100000"}):
        # One partition has most rows, so that it matters which of them are kept.
        layout, samples = layouts("sampled_long")
        assert samples > 8
