"""Every form over a streaming input is refused by name, until streams are supported."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import DataFrame, SparkSession

import sparkcep
from sparkcep.errors import PatternAnalysisError

HEAD = "PARTITION BY k ORDER BY t EVENT TYPE e"
RELATIONS = {
    "view": "st_view",
    "join": "(SELECT s.* FROM st_view s JOIN st_names n ON s.e = n.name)",
    "union": "(SELECT * FROM st_view UNION ALL SELECT * FROM st_view)",
}
FORMS = {
    "clause": "SELECT * FROM {} MATCH_RECOGNIZE (PARTITION BY k ORDER BY t EVENT TYPE e MEASURES A.t AS a "
    "PATTERN (A B))",
    "all rows": "SELECT * FROM {} MATCH_RECOGNIZE (ORDER BY t ALL ROWS PER MATCH PATTERN (A B))",
    "selection": "SELECT * FROM {} MATCH_RECOGNIZE (PARTITION BY k ORDER BY t EVENT TYPE e "
    "EVENT SELECTION SKIP TILL ANY MATCH PATTERN (A B))",
    "block": f"FROM {{}} {HEAD} PATTERN SEQ(A a, B b)",
    "collapsed": f"FROM {{}} {HEAD} PATTERN SEQ(A a, B+ b[]) COLLAPSED",
    "trends": f"FROM {{}} {HEAD} PATTERN SEQ(A, B+) WITHIN 1 minute SLIDE 10 seconds RETURN COUNT(*)",
    "uncertain": f"FROM {{}} {HEAD} PATTERN SEQ(A a, B b) UNCERTAINTY 5 seconds STEP 1 second",
    "non answers": f"FROM {{}} {HEAD} PATTERN SEQ(A a, B b) EXPLAIN NON ANSWERS (1 minute, 1 minute, 1 second)",
    "common table": f"WITH m AS (FROM {{}} {HEAD} PATTERN SEQ(A a, B b)) SELECT count(*) FROM m",
    "view of it": f"CREATE OR REPLACE TEMPORARY VIEW st_made AS FROM {{}} {HEAD} PATTERN SEQ(A a, B b)",
    "explain": f"EXPLAIN FROM {{}} {HEAD} PATTERN SEQ(A a, B b)",
}


@pytest.fixture
def stream(spark: SparkSession) -> DataFrame:
    rate = spark.readStream.format("rate").option("rowsPerSecond", "1").load()
    made = rate.selectExpr("value % 3 AS k", "timestamp AS t", "IF(value % 2 = 0, 'A', 'B') AS e")
    made.createOrReplaceTempView("st_view")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW st_names AS SELECT * FROM VALUES ('A'), ('B') n(name)")
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW st_log AS SELECT id % 3 AS k, timestamp_seconds(id) AS t, "
        "IF(id % 2 = 0, 'A', 'B') AS e FROM range(9)"
    )
    return made


def assert_refused(error: PatternAnalysisError, caret: str) -> None:
    assert error.error_class == "CEP_STREAMING_UNSUPPORTED"
    message = str(error)
    assert "Hint: " in message
    _, source, pad, *_ = message.split("\n")
    assert source[pad.index("^") :].startswith(caret), message


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str, relation: str, spark: SparkSession, stream: DataFrame) -> None:
    if relation != "view" and form not in ("clause", "block"):
        pytest.skip("the input is asked before anything else")
    with pytest.raises(PatternAnalysisError) as caught:
        spark.sql(FORMS[form].format(RELATIONS[relation]))
    assert_refused(caught.value, RELATIONS[relation])


@pytest.mark.parametrize("layout", ["lists", "rows"])
def test_layouts(layout: str, spark: SparkSession, stream: DataFrame) -> None:
    spark.conf.set("spark.sparkcep.exec.layout", layout)
    try:
        with pytest.raises(PatternAnalysisError, match="CEP_STREAMING_UNSUPPORTED"):
            spark.sql(FORMS["clause"].format("st_view"))
    finally:
        spark.conf.unset("spark.sparkcep.exec.layout")


def test_data_frame(spark: SparkSession, stream: DataFrame) -> None:
    with pytest.raises(PatternAnalysisError) as caught:
        spark.sql(FORMS["block"].replace("{}", "{{df}}").format(), df=stream)
    assert_refused(caught.value, "{df}")


def test_expand(spark: SparkSession, stream: DataFrame) -> None:
    with pytest.raises(PatternAnalysisError, match="CEP_STREAMING_UNSUPPORTED"):
        sparkcep.expand_collapsed(spark.table("st_log"), FORMS["collapsed"].format("st_view"))
    with pytest.raises(PatternAnalysisError, match="CEP_STREAMING_UNSUPPORTED"):
        sparkcep.expand_collapsed(stream, FORMS["collapsed"].format("st_log"))


@pytest.mark.parametrize("argument", ["st_view", "SELECT * FROM st_view"])
def test_functions(argument: str, spark: SparkSession, stream: DataFrame) -> None:
    spark.sql(f"CREATE OR REPLACE TEMPORARY PATTERN FUNCTION st_f AS {HEAD} PATTERN SEQ(A a, B b)")
    with pytest.raises(PatternAnalysisError) as caught:
        spark.sql(f"SELECT * FROM st_f(TABLE({argument}))")
    assert_refused(caught.value, f"TABLE({argument})")


def test_streams_beside_a_pattern(spark: SparkSession, stream: DataFrame) -> None:
    """Only what the pattern reads must be at rest."""
    spark.sql(f"CREATE OR REPLACE TEMPORARY PATTERN FUNCTION st_f AS {HEAD} PATTERN SEQ(A a, B b)")
    for found in (f"(FROM st_log {HEAD} PATTERN SEQ(A a, B b))", "st_f(TABLE(st_log))"):
        joined = spark.sql(f"SELECT s.k, m.match_number FROM st_view s JOIN {found} m ON s.k = m.k")
        assert joined.isStreaming


@pytest.mark.parametrize("function", ["pattern_statistics(st_view, 'A B')", "pattern_continuations('st_view', 'A')"])
def test_table_functions(function: str, spark: SparkSession, stream: DataFrame) -> None:
    with pytest.raises(PatternAnalysisError, match="CEP_STREAMING_UNSUPPORTED") as caught:
        spark.sql(f"SELECT * FROM {function}")
    assert re.search(r"\n +\^", str(caught.value))
