"""Pattern functions: the answers of the same block in spark.sql, from where Python cannot rewrite the text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from sparkcep.errors import SparkCepError

from ..conftest import every, some_on_connect

READINGS = """SELECT 't' || id % 3 AS tag, TIMESTAMP'2024-03-30 22:00:00' + make_dt_interval(0, 0, id * 7) AS ts,
  element_at(array('SHELF', 'REGISTER', 'EXIT', 'MOVE'), CAST(hash(id) % 4 + 4 AS INT) % 4 + 1) AS kind,
  CAST(hash(id, 1) % 20 AS INT) AS v, CAST(id AS DECIMAL(9, 2)) / 4 AS d, IF(id % 5 = 0, NULL, id / 3) AS x,
  struct(id AS a, 'q' AS b) AS s FROM range(90)"""
HEAD = "PARTITION BY tag ORDER BY ts EVENT TYPE kind "
CASES = [
    "PATTERN SEQ(SHELF s, !REGISTER r, EXIT e) WITHIN 2 hours",
    "PATTERN SEQ(SHELF s, MOVE+ m[], EXIT e) WHERE m[i].v > m[i-1].v AND s.v < 10 AND abs(e.v) > 2 WITHIN 3 hours",
    "PATTERN SEQ(SHELF s, MOVE+ m[], EXIT e) WHERE m[i].v > avg(m[..i-1].v) EVENT SELECTION SKIP TILL ANY MATCH "
    "WITHIN 90 minutes RETURN s.v, count(m[]) AS n, sum(m[].v) AS total, avg(m[].d) AS d, min(m[].x), "
    "max(m[].ts) AS last, e.ts - s.ts AS took",
    "PATTERN SEQ(SHELF s, EXIT e) WHERE s.v = e.v OR s.d * 2 < e.d MATCHES NON OVERLAPPING "
    "RETURN s.ts AS a, e.s, upper(e.kind) || '!' AS k, CASE WHEN e.v > 0 THEN 1 ELSE 2.5D END AS c, e.x IS NULL AS z",
    "PATTERN SEQ(SHELF s, EXIT e) WHERE e.ts - s.ts <= INTERVAL 30 MINUTES EVENT SELECTION STRICT CONTIGUITY",
    "PATTERN SEQ(SHELF s, MOVE* m[], EXIT e) MATCHES FIRST RETURN array_agg(m[].s) AS all, s, m[]",
    "PATTERN SEQ(SHELF s, MOVE+ m[], EXIT e) WHERE m[i].v > m[i-1].v EVENT SELECTION SKIP TILL ANY MATCH COLLAPSED "
    "WITHIN 5 hours",
    "PATTERN SEQ(SHELF s, ANY x, !ANY n, EXIT e) WITHIN 2 hours RETURN s.v, x.kind, e.v AS w",
]


@pytest.fixture(scope="module")
def readings(spark: SparkSession) -> Iterator[str]:
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW function_readings AS {READINGS}")
    yield "function_readings"
    spark.sql("DROP VIEW function_readings")


def create(spark: SparkSession, block: str) -> None:
    assert spark.sql(f"CREATE OR REPLACE TEMPORARY PATTERN FUNCTION found AS {block}").columns == []


def rows(frame: DataFrame) -> list[str]:
    return sorted(str(row.asDict()) for row in frame.collect())


@pytest.mark.parametrize("case", some_on_connect(CASES, {2, 6}))
def test_same_answers_as_the_block(spark: SparkSession, readings: str, case: str) -> None:
    wanted = spark.sql(f"FROM {readings} {HEAD} {case}")
    create(spark, HEAD + case)
    found = spark.sql(f"SELECT * FROM found(TABLE({readings}))")
    assert found.columns == wanted.columns
    assert [f.dataType.simpleString() for f in found.schema] == [f.dataType.simpleString() for f in wanted.schema]
    assert rows(found) == rows(wanted)
    assert rows(wanted)


def test_the_call_partitions_and_sorts(spark: SparkSession, readings: str) -> None:
    pattern = "EVENT TYPE kind PATTERN SEQ(SHELF s, EXIT e) RETURN s.v AS a, e.v AS b"
    create(spark, pattern)
    wanted = spark.sql(f"SELECT a, b FROM (FROM {readings} PARTITION BY tag ORDER BY ts {pattern})")
    found = spark.sql(f"SELECT * FROM found(TABLE({readings}) PARTITION BY tag ORDER BY ts)")
    assert rows(found) == rows(wanted)
    whole = spark.sql(f"SELECT * FROM found(TABLE(SELECT * FROM {readings} WHERE tag = 't1') "
                      "WITH SINGLE PARTITION ORDER BY ts)")  # fmt: skip
    one = spark.sql(f"SELECT a, b FROM (FROM (SELECT * FROM {readings} WHERE tag = 't1') ORDER BY ts {pattern})")
    assert rows(whole) == rows(one)


def test_workaround_for_calls_that_spark_cuts_into_pieces(spark: SparkSession, readings: str) -> None:
    create(spark, "ORDER BY ts EVENT TYPE kind PATTERN SEQ(SHELF s, EXIT e) RETURN s.v")
    with pytest.raises(PySparkException, match="CEP_FUNCTION_PARTITION"):
        spark.sql(f"SELECT * FROM found(TABLE(SELECT /*+ REPARTITION(3) */ * FROM {readings}))").collect()


def test_equivalence_partitions(spark: SparkSession, readings: str) -> None:
    block = "ORDER BY ts EVENT TYPE kind PATTERN SEQ(SHELF s, EXIT e) WHERE [tag] WITHIN 1 hour"
    create(spark, block)
    assert rows(spark.sql(f"SELECT * FROM found(TABLE({readings}))")) == rows(spark.sql(f"FROM {readings} {block}"))


def test_settings_of_the_log_at_create(spark: SparkSession, readings: str) -> None:
    for role, column in (("case", "tag"), ("time", "ts"), ("event", "kind")):
        spark.conf.set(f"spark.sparkcep.log.{role}", column)
    block = "PATTERN SEQ(SHELF s, EXIT e) WITHIN 1 hour"
    try:
        create(spark, block)
        wanted = rows(spark.sql(f"FROM {readings} {block}"))
    finally:
        for role in ("case", "time", "event"):
            spark.conf.unset(f"spark.sparkcep.log.{role}")
    assert rows(spark.sql(f"SELECT * FROM found(TABLE({readings}))")) == wanted


def test_in_a_script_and_by_execute_immediate(spark: SparkSession, readings: str) -> None:
    block = f"{HEAD} PATTERN SEQ(SHELF s, !REGISTER r, EXIT e) WITHIN 2 hours RETURN s.v AS a, e.v AS b"
    create(spark, block)
    wanted = rows(spark.sql(f"FROM {readings} {block}"))
    call = f"SELECT * FROM found(TABLE({readings}))"
    assert rows(spark.sql(f"EXECUTE IMMEDIATE '{call}'")) == wanted
    assert rows(spark.sql(f"BEGIN DECLARE n INT DEFAULT 0; {call} WHERE a >= n - 100; END")) == wanted


def test_names(spark: SparkSession) -> None:
    text = "TEMPORARY PATTERN FUNCTION name_of_function AS EVENT TYPE NONE PATTERN SEQ(A a, B b) RETURN a.id AS x"
    spark.sql(f"CREATE {text}")
    with pytest.raises(AnalysisException, match="ROUTINE_ALREADY_EXISTS"):
        spark.sql(f"CREATE {text}")
    spark.sql(f"CREATE OR REPLACE {text}")
    spark.sql("DROP TEMPORARY FUNCTION name_of_function")
    spark.sql(f"CREATE {text}")
    assert (
        spark.sql("SELECT * FROM name_of_function(TABLE(SELECT id FROM range(3)) WITH SINGLE PARTITION)").count() == 2
    )
    spark.sql("DROP TEMPORARY FUNCTION name_of_function")


@pytest.mark.parametrize(
    ("text", "error_class"),
    [
        ("CREATE PATTERN FUNCTION f AS PATTERN (a)", "CEP_PERSISTENT_FUNCTION"),
        ("CREATE TEMPORARY PATTERN FUNCTION d.f AS PATTERN (a)", "CREATE_TEMP_FUNC_WITH_DATABASE"),
        ("CREATE TEMP PATTERN FUNCTION IF NOT EXISTS f AS PATTERN (a)", "CREATE_TEMP_FUNC_WITH_IF_NOT_EXISTS"),
        ("CREATE TEMPORARY PATTERN FUNCTION range AS PATTERN (a)", "ROUTINE_ALREADY_EXISTS"),
        ("CREATE TEMPORARY PATTERN FUNCTION f AS FROM t PATTERN (a)", "CEP_FUNCTION_SOURCE"),
        ("CREATE TEMPORARY PATTERN FUNCTION f AS PATTERN SEQ(a,", "CEP_"),
        ("CREATE TEMPORARY PATTERN FUNCTION f AS PATTERN SEQ(a, b) LIMIT 3", "CEP_SYNTAX_ERROR"),
        ("CREATE TEMPORARY PATTERN FUNCTION AS PATTERN SEQ(a, b)", "CEP_SYNTAX_ERROR"),
    ],
)
def test_refused_at_create(spark: SparkSession, text: str, error_class: str) -> None:
    with pytest.raises(SparkCepError, match=rf"(?s){error_class}.*Line 1, column \d+\..*\n *\^"):
        spark.sql(text)


@pytest.mark.parametrize(
    ("block", "message"),
    every(
        4,
        [
            (HEAD + "PATTERN SEQ(SHELF a, EXIT b) WHERE regexp_like(a.tag, 't')", "CEP_FUNCTION_EXPRESSION.* RLIKE"),
            (HEAD + "PATTERN SEQ(SHELF a, EXIT b) RETURN regexp_like(a.tag, 't')", "CEP_FUNCTION_EXPRESSION.* RLIKE"),
            (HEAD + "PATTERN SEQ(SHELF a, EXIT b) WITHIN 1 month", "CEP_FUNCTION_WITHIN"),
            (HEAD + "PATTERN SEQ(SHELF a, EXIT b) RETURN count(*)", "CEP_FUNCTION_TRENDS"),
            (HEAD + "PATTERN SEQ(SHELF a, EXIT b) WHERE a.w = 1", "CEP_UNRESOLVED_COLUMN"),
            ("EVENT TYPE kind PATTERN SEQ(SHELF a, EXIT b) WITHIN 5 RETURN a.v", "CEP_LOG_COLUMNS.*WITHIN needs one"),
            ("EVENT TYPE kind PATTERN SEQ(SHELF a, EXIT b)", "CEP_LOG_COLUMNS.*the default output needs one"),
            (
                "EVENT TYPE kind PATTERN SEQ(SHELF a, EXIT b) WHERE [tag] RETURN a.v",
                "CEP_LOG_COLUMNS.*of its own needs",
            ),
            ("ORDER BY ts PATTERN SEQ(SHELF a, EXIT b)", "CEP_LOG_COLUMNS.*event type"),
        ],
    ),
)
def test_refused_at_the_call(spark: SparkSession, readings: str, block: str, message: str) -> None:
    create(spark, block)
    with pytest.raises(AnalysisException, match=rf"(?s){message}.*Line 1, column \d+\..*\n *\^.*Hint:"):
        _ = spark.sql(f"SELECT * FROM found(TABLE({readings}))").schema
