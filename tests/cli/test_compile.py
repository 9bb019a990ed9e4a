"""`sparkcep compile`: SQL that Spark alone runs gives the same rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.cli.main import main
from sparkcep.errors import PatternAnalysisError
from sparkcep.session.originals import plain_sql
from sparkcep.session.transpile import compiled
from sparkcep.sql.script import split_statements

LOG = """CREATE OR REPLACE TEMPORARY VIEW compiled_log AS SELECT * FROM VALUES
  (1, 1, 'A'), (1, 2, '{'), (1, 3, 'B'), (1, 4, 'A'), (1, 5, 'B'), (2, 1, 'B'), (2, 2, 'A'), (3, 1, 'A'), (3, 2, 'B')
  AS t(c, ts, e)"""
CLAUSE = """SELECT c, bt, '{x}' AS text FROM compiled_log MATCH_RECOGNIZE (
  PARTITION BY c ORDER BY ts MEASURES b.ts AS bt PATTERN (a x*? b) DEFINE a AS e = 'A', b AS e = 'B') m
  WHERE bt > (SELECT min(ts) FROM compiled_log) ORDER BY ALL"""
BLOCK = """WITH log AS (SELECT * FROM compiled_log WHERE c < 3)
SELECT * FROM (FROM log PARTITION BY c ORDER BY ts EVENT TYPE e PATTERN SEQ(A a, B+ b[]) RETURN c, count(b[].ts) AS n)
ORDER BY ALL"""


FILTERED = """SELECT * FROM (FROM compiled_log AS l PARTITION BY c WHERE l.e <> '{' AND c < 3 ORDER BY ts EVENT TYPE e
PATTERN SEQ(A a, B b) WHERE b.ts > a.ts EVENT SELECTION STRICT CONTIGUITY RETURN c, b.ts AS bt) ORDER BY ALL"""


@pytest.mark.parametrize("text", [CLAUSE, BLOCK, FILTERED])
def test_same_rows(text: str, spark: SparkSession) -> None:
    spark.sql(LOG)
    *functions, query = split_statements(compiled(spark, text))
    assert len(functions) == (text is not CLAUSE)
    for function in functions:
        spark.sql(function)
    sparkcep.disable()
    try:
        rows = spark.sql(query).collect()
    finally:
        sparkcep.enable()
    assert rows == spark.sql(text).collect() != []


def test_nothing_of_ours_stays_untouched(spark: SparkSession) -> None:
    assert compiled(spark, "SELECT '{' AS a -- {b}") == "SELECT '{' AS a -- {b}"
    assert plain_sql(spark)


def test_what_has_no_plain_form_says_why(spark: SparkSession) -> None:
    spark.sql(LOG)
    with pytest.raises(PatternAnalysisError, match=r"CEP_NOT_COMPILABLE.*matched in Python") as raised:
        compiled(spark, "SELECT * FROM compiled_log MATCH_RECOGNIZE (ORDER BY ts MEASURES 1 AS x PATTERN (a+) "
                        "DEFINE a AS ts > LAST(a.ts, 1))")  # fmt: skip
    assert "pattern function" in str(raised.value)


def test_what_dbt_compiled(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model's text over a database's table, of which only the types are known here."""
    table = "CREATE TABLE dbt_step.orders (order_id BIGINT, time TIMESTAMP, activity STRING) USING parquet"
    model = """select order_id, late from `dbt_step`.`orders` match_recognize (
      partition by order_id order by time measures s.time as late pattern (p x*? s)
      define p as activity = 'pay', s as activity = 'ship')"""
    file = tmp_path / "model.sql"
    file.write_text(f"CREATE DATABASE dbt_step; {table};\n\n{model}\n")
    try:
        assert main(["compile", "-f", str(file)]) == 0
        text = capsys.readouterr().out.strip().removesuffix(";")
        assert "match_recognize" not in text.lower()
        spark.sql(
            "INSERT INTO dbt_step.orders VALUES (1, TIMESTAMP'2026-01-01', 'pay'), (1, TIMESTAMP'2026-01-02', 'ship')"
        )
        assert plain_sql(spark)(text).count() == 1
    finally:
        spark.sql("DROP DATABASE IF EXISTS dbt_step CASCADE")
