"""What a pattern over a stream refuses, by class, caret and hint, when the statement is analysed."""

from __future__ import annotations

import datetime as dt
import re

import pytest
from pyspark.sql import DataFrame, SparkSession

import sparkcep
from sparkcep.errors import PatternAnalysisError

from ..conftest import configured

HEAD = "PARTITION BY k ORDER BY t EVENT TYPE e"
CLAUSE = "SELECT * FROM st_view MATCH_RECOGNIZE (PARTITION BY k ORDER BY t"
#: Form, error class, where the caret stands, what the hint names.
REFUSED = {
    "order is no watermark": (
        "FROM st_view PARTITION BY k ORDER BY n, t EVENT TYPE e PATTERN SEQ(A a, B b) WITHIN 1 minute",
        "WATERMARK", "n, t", "order by t",
    ),
    "descending": (
        "SELECT * FROM st_view MATCH_RECOGNIZE (PARTITION BY k ORDER BY t DESC PATTERN (A B) DEFINE A AS n = 1)",
        "WATERMARK", "t DESC", "order by t",
    ),
    "no watermark": (
        f"FROM st_plain {HEAD} PATTERN SEQ(A a, B b) WITHIN 1 minute", "WATERMARK", "t EVENT", "withWatermark",
    ),
    "block without within": (f"FROM st_view {HEAD} PATTERN SEQ(A a, B b)", "WITHIN", "PATTERN", "add WITHIN"),
    "clause without within": (
        f"{CLAUSE} PATTERN (A B) DEFINE A AS n = 1)", "WITHIN", "MATCH_RECOGNIZE", "spark.sparkcep.limit.streamRows",
    ),
    "selection without within": (
        f"{CLAUSE} EVENT TYPE e EVENT SELECTION SKIP TILL ANY MATCH PATTERN (A B))", "WITHIN", "MATCH_RECOGNIZE",
        "add WITHIN",
    ),
    "trends without within": (
        f"FROM st_view {HEAD} PATTERN SEQ(A a, B b) RETURN COUNT(*)", "WITHIN", "PATTERN", "SLIDE",
    ),
    "end": (
        f"{CLAUSE} PATTERN (A B $) WITHIN INTERVAL 1 MINUTE DEFINE A AS n = 1)", "UNSUPPORTED", "MATCH_RECOGNIZE",
        "WITHIN",
    ),
    "next behind the match": (
        f"{CLAUSE} PATTERN (A B) WITHIN INTERVAL 1 MINUTE DEFINE B AS n < NEXT(n))", "UNSUPPORTED", "MATCH_RECOGNIZE",
        "variable",
    ),
    "next in measures": (
        f"{CLAUSE} MEASURES NEXT(B.n) AS x PATTERN (A B) WITHIN INTERVAL 1 MINUTE DEFINE A AS n = 1)", "UNSUPPORTED",
        "MATCH_RECOGNIZE", "variable",
    ),
    "aggregate": (
        f"{CLAUSE} MEASURES 1 AS o, MODE(n) AS x PATTERN (A B) WITHIN INTERVAL 1 MINUTE DEFINE A AS n = 1)",
        "UNSUPPORTED", "MODE", "count sum avg",
    ),
    "uncertain by how much": (
        f"FROM st_view {HEAD} PATTERN SEQ(A a, B b) WITHIN 1 minute UNCERTAINTY (t - INTERVAL 1 SECOND * n, t) "
        "STEP 1 second", "UNSUPPORTED", "UNCERTAINTY", "AT MOST 1 MINUTE",
    ),
    "uncertain width by row": (
        f"FROM st_view {HEAD} PATTERN SEQ(A a, B b) WITHIN 1 minute "
        "UNCERTAINTY CASE WHEN n > 1 THEN 5 seconds ELSE 1 second END STEP 1 second", "UNSUPPORTED", "UNCERTAINTY",
        "AT MOST 1 MINUTE",
    ),
    "uncertain without within": (
        f"FROM st_view {HEAD} PATTERN SEQ(A a, B b) UNCERTAINTY 5 seconds STEP 1 second", "WITHIN", "PATTERN",
        "add WITHIN",
    ),
    "non answers": (
        f"FROM st_view {HEAD} PATTERN SEQ(A a, B b) EXPLAIN NON ANSWERS (1 minute, 1 minute, 1 second)", "UNSUPPORTED",
        "PATTERN", "write a table",
    ),
    "censored": (
        f"FROM st_view {HEAD} PATTERN SEQ(A a, !B b) WITHIN 1 minute OMIT CENSORED MATCHES", "UNSUPPORTED", "OMIT",
        "leave it out",
    ),
    "censored clause": (
        f"{CLAUSE} OMIT CENSORED MATCHES PATTERN (A B+) WITHIN INTERVAL 1 MINUTE)", "UNSUPPORTED", "OMIT",
        "leave it out",
    ),
    "second pattern": (
        f"FROM st_view {HEAD} PATTERN SEQ(A a, B b) WITHIN 1 minute RETURN a.n UNION ALL "
        f"FROM st_view {HEAD} PATTERN SEQ(B b, A a) WITHIN 1 minute RETURN a.n", "UNSUPPORTED",
        "PATTERN SEQ(B b, A a)", "streaming.operator = transform",
    ),
    "pattern over a pattern": (
        f"FROM (SELECT k, end_time AS t, 'A' AS e FROM (FROM st_view {HEAD} PATTERN SEQ(A a, B b) WITHIN 1 minute)) "
        f"{HEAD} PATTERN SEQ(A a, A b) WITHIN 1 minute", "UNSUPPORTED", "PATTERN SEQ(A a, A b)", "rules of one",
    ),
    "rules beside a pattern": (
        "SELECT 1 FROM pattern_rules(TABLE(st_view) PARTITION BY k ORDER BY t, rules => TABLE(SELECT * FROM "
        "VALUES ('r', 'PATTERN SEQ(A a, B b) WITHIN 1 minute') r(name, rule)), event_type => e) UNION ALL "
        f"FROM st_view {HEAD} PATTERN SEQ(B b, A a) WITHIN 1 minute RETURN 1", "UNSUPPORTED",
        "PATTERN SEQ(B b, A a)", "start a query",
    ),
    "name read twice": (
        f"WITH m AS (FROM st_view {HEAD} PATTERN SEQ(A a, B b) WITHIN 1 minute), o AS (SELECT k FROM m) "
        "SELECT k FROM o UNION ALL SELECT k + 1 FROM o", "UNSUPPORTED", "PATTERN", "write the pattern twice",
    ),
    "explain analyze": (
        f"EXPLAIN ANALYZE FROM st_view {HEAD} PATTERN SEQ(A a, B b) WITHIN 1 minute", "UNSUPPORTED", "FROM",
        "write a table",
    ),
}  # fmt: skip


@pytest.fixture
def stream(spark: SparkSession) -> DataFrame:
    rate = spark.readStream.format("rate").option("rowsPerSecond", "1").load()
    plain = rate.selectExpr("value % 3 AS k", "timestamp AS t", "IF(value % 2 = 0, 'A', 'B') AS e", "value AS n")
    made = plain.withWatermark("t", "10 seconds")
    plain.createOrReplaceTempView("st_plain")
    made.createOrReplaceTempView("st_view")
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW st_log AS SELECT id % 3 AS k, timestamp_seconds(id) AS t, "
        "IF(id % 2 = 0, 'A', 'B') AS e, id AS n FROM range(9)"
    )
    return made


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str, spark: SparkSession, stream: DataFrame) -> None:
    text, error_class, caret, hint = REFUSED[case]
    with pytest.raises(PatternAnalysisError) as caught:
        spark.sql(text)
    assert caught.value.error_class == f"CEP_STREAMING_{error_class}"
    message = str(caught.value)
    assert hint in message.partition("Hint: ")[2]
    _, source, pad, *_ = message.split("\n")
    assert source[pad.index("^") :].startswith(caret), message


def test_a_limit_of_rows_takes_the_place_of_within(spark: SparkSession, stream: DataFrame) -> None:
    with configured(spark, {"spark.sparkcep.limit.streamRows": "1000"}):
        assert spark.sql(f"{CLAUSE} PATTERN (A B) DEFINE A AS n = 1)").isStreaming


def test_within_of_a_stream(spark: SparkSession, stream: DataFrame) -> None:
    text = f"FROM st_view {HEAD} PATTERN SEQ(A a, B b) WITHIN "
    assert spark.sql(text + ":w", {"w": dt.timedelta(minutes=1)}).isStreaming
    for within, error_class in (("NULL", "VALUE"), ("-1", "VALUE"), ("'1 minute'", "TYPE"), ("n", "TYPE")):
        with pytest.raises(PatternAnalysisError, match=rf"Line 1, column {len(text) + 1}\.") as caught:
            spark.sql(text + within)
        assert caught.value.error_class == f"CEP_WITHIN_{error_class}"


def test_patterns_beside_each_other(spark: SparkSession, stream: DataFrame) -> None:
    once = (
        f"WITH m AS (FROM st_view {HEAD} PATTERN SEQ(A a, B b) WITHIN 1 minute), o AS (SELECT k FROM m) SELECT * FROM o"
    )
    assert spark.sql(once).isStreaming
    store = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    settings = {
        "spark.sparkcep.streaming.operator": "transform", "spark.sql.streaming.stateStore.providerClass": store,
    }  # fmt: skip
    with configured(spark, settings):
        for case in ("second pattern", "pattern over a pattern", "rules beside a pattern"):
            assert spark.sql(REFUSED[case][0]).isStreaming
        with pytest.raises(PatternAnalysisError, match="two readers of the name"):
            spark.sql(REFUSED["name read twice"][0])


def test_next_inside_of_the_match(spark: SparkSession, stream: DataFrame) -> None:
    text = f"{CLAUSE} MEASURES NEXT(A.n) AS x PATTERN (A B) WITHIN INTERVAL 1 MINUTE DEFINE A AS n < NEXT(n))"
    assert spark.sql(text).isStreaming


def test_explain_says_when_and_what(spark: SparkSession, stream: DataFrame) -> None:
    text = spark.sql(f"EXPLAIN FROM st_view {HEAD} PATTERN SEQ(A a, !C c, B b, !A x) WITHIN 1 minute").collect()[0][0]
    assert "Layout: stream (the input is a stream; 32 buckets, spark.sparkcep.streaming.buckets)" in text
    assert "emitted: a match is emitted when the watermark reaches its first event + WITHIN (a trailing" in text
    assert "kept: rows until the watermark passes them by WITHIN" in text
    assert "Index: not used: a pattern over a stream" in text


def test_explain_says_it_of_imprecise_times(spark: SparkSession, stream: DataFrame) -> None:
    query = f"FROM st_view {HEAD} PATTERN SEQ(A a, B b{{}}) WITHIN 1 minute UNCERTAINTY 5 seconds STEP 1 second"
    text = spark.sql("EXPLAIN " + query.format(", !A x")).collect()[0][0]
    assert (
        "first event's upper bound + WITHIN (a trailing negation), 5 s more as an event may be so long before" in text
    )
    text = spark.sql(f"EXPLAIN {query.format('')} EVENT SELECTION SKIP TILL ANY MATCH").collect()[0][0]
    assert "emitted: a match is emitted when the watermark reaches the latest of its rows" in text


def test_expand(spark: SparkSession, stream: DataFrame) -> None:
    collapsed = f"FROM st_log {HEAD} PATTERN SEQ(A a, B+ b[]) WITHIN 1 minute COLLAPSED"
    with pytest.raises(PatternAnalysisError, match="CEP_STREAMING_UNSUPPORTED"):
        sparkcep.expand_collapsed(stream, collapsed)


@pytest.mark.parametrize("argument", ["st_view", "SELECT * FROM st_view"])
def test_functions(argument: str, spark: SparkSession, stream: DataFrame) -> None:
    spark.sql(f"CREATE OR REPLACE TEMPORARY PATTERN FUNCTION st_f AS {HEAD} PATTERN SEQ(A a, B b)")
    with pytest.raises(PatternAnalysisError) as caught:
        spark.sql(f"SELECT * FROM st_f(TABLE({argument}))")
    assert caught.value.error_class == "CEP_STREAMING_UNSUPPORTED"
    _, source, pad, *_ = str(caught.value).split("\n")
    assert source[pad.index("^") :].startswith(f"TABLE({argument})")


@pytest.mark.parametrize(
    ("statement", "place"),
    [("EXPLAIN ANALYZE SELECT * FROM pattern_rules{}", "SELECT"),
     ("SELECT * FROM pattern_rule_costs{}", "pattern_rule_costs")],
)  # fmt: skip
def test_what_a_rule_set_cannot_over_a_stream(
    statement: str, place: str, spark: SparkSession, stream: DataFrame
) -> None:
    rules = "TABLE(SELECT 'r' AS name, 'PATTERN SEQ(A a, B b) WITHIN 1 minute' AS rule)"
    call = f"(TABLE(st_view) PARTITION BY k ORDER BY t, rules => {rules}, event_type => e)"
    with pytest.raises(PatternAnalysisError, match="CEP_STREAMING_UNSUPPORTED") as caught:
        spark.sql(statement.format(call))
    _, source, pad, *_ = str(caught.value).split("\n")
    assert source[pad.index("^") :].startswith(place)


def test_streams_beside_a_pattern(spark: SparkSession, stream: DataFrame) -> None:
    """A pattern over a table, joined with a stream."""
    spark.sql(f"CREATE OR REPLACE TEMPORARY PATTERN FUNCTION st_f AS {HEAD} PATTERN SEQ(A a, B b)")
    for found in (f"(FROM st_log {HEAD} PATTERN SEQ(A a, B b))", "st_f(TABLE(st_log))"):
        joined = spark.sql(f"SELECT s.k, m.match_number FROM st_view s JOIN {found} m ON s.k = m.k")
        assert joined.isStreaming


@pytest.mark.parametrize("function", ["pattern_statistics(st_view, 'A B')", "pattern_continuations('st_view', 'A')"])
def test_table_functions(function: str, spark: SparkSession, stream: DataFrame) -> None:
    with pytest.raises(PatternAnalysisError, match="CEP_STREAMING_UNSUPPORTED") as caught:
        spark.sql(f"SELECT * FROM {function}")
    assert re.search(r"\n +\^", str(caught.value))
