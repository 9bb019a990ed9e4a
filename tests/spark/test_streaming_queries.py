"""Patterns over streams of files in Spark: the rows of the batch query, each once, across restarts."""

from __future__ import annotations

import datetime as dt
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from sparkcep.errors import PatternAnalysisError, SparkCepError, error_behind
from sparkcep.planner.streaming.plan import streamed
from sparkcep.session import planning
from sparkcep.spark.releases import RELEASE

from ..conftest import configured, some

pytestmark = pytest.mark.usefixtures("small_streams")

SCHEMA = "k long, ts timestamp, e string, v int, id long"
BLOCK = "FROM {} PARTITION BY k ORDER BY ts, id EVENT TYPE e "
CLAUSE = "SELECT * FROM {} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts, id "
#: Event times behind which every match of the log is decided.
ENDS = (5_000, 9_000)
STORES = {
    "hdfs": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
    "rocksdb": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
}
QUERIES = {
    "clause": CLAUSE + """MEASURES MATCH_NUMBER() AS n, COUNT(B.v) AS c, SUM(B.v) AS s, AVG(B.v) AS a, MIN(B.v) AS mi,
        MAX(v) AS ma, COUNT(*) AS r, STDDEV(v) AS sd, COUNT(DISTINCT v) AS d, ARRAY_AGG(CLASSIFIER()) AS l,
        SUM(v * 1.5) FILTER (WHERE v > 1) AS f, AVG(v * 1.25) AS x, MEDIAN(v) AS m, PREV(A.id) AS p
        PATTERN (A B+) WITHIN INTERVAL 20 SECONDS DEFINE A AS e = 'A', B AS e IN ('B', 'C') AND v >= PREV(v))""",
    "all rows": CLAUSE + """MEASURES CLASSIFIER() AS c, RUNNING SUM(v) AS s, FINAL COUNT(*) AS n, FIRST(A.ts) AS a
        ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (A B*? C) WITHIN INTERVAL 30 SECONDS
        DEFINE A AS e = 'A', B AS e <> 'D', C AS e = 'C')""",
    "absence": BLOCK + "PATTERN SEQ(A a, B b, !C c) WITHIN 20 seconds",
    "timed out": BLOCK + """PATTERN SEQ(A a, B b, !D x, C c) WHERE b.v >= a.v WITHIN 20 seconds
        MATCHES ALL WITH TIMED OUT""",
    "trends": BLOCK + """PATTERN SEQ(A+ a, B b) WITHIN 20 seconds SLIDE 10 seconds GROUP BY k
        EVENT SELECTION SKIP TILL ANY MATCH RETURN k, COUNT(*), SUM(a.v), AVG(a.v), MIN(b.v), approx_count(*)""",
    "uncertain": BLOCK + """PATTERN SEQ(A a, B b, !D x, C c) WITHIN 20 seconds UNCERTAINTY 2 SECONDS STEP 1 SECOND
        CONFIDENCE >= 0.1""",
}  # fmt: skip
LONG_QUERIES = {
    "uncertain absence": BLOCK + """PATTERN SEQ(A a, !B x) WITHIN 9 seconds UNCERTAINTY (ts - make_dt_interval(0, 0, 0,
        coalesce(v, 1)), ts + INTERVAL 4 SECONDS) AT MOST 5 SECONDS STEP 2 SECONDS RETURN a.id AS a""",
    "uncertain set": "FROM (SELECT *, ts AS lower, ts + make_dt_interval(0, 0, 0, coalesce(v, 1)) AS upper FROM {}) "
    """PARTITION BY k ORDER BY lower, id EVENT TYPE e PATTERN SEQ(A a, B+ b[], C c) WITHIN 8 seconds
        UNCERTAINTY (lower, upper) STEP 1 SECOND EVENT SELECTION SKIP TILL ANY MATCH
        RETURN a.id AS a, collect_list(b[].id) AS b, c.id AS c""",
    "trends of all": BLOCK + """PATTERN SEQ(A+ a, B b) WITHIN 30 seconds EVENT SELECTION SKIP TILL ANY MATCH
        GROUP BY hash(k) % 2 RETURN COUNT(*), SUM(a.v) / COUNT(*) + MAX(b.v) AS x, AVG(CAST(b.v AS DECIMAL(30, 2))) AS d
        HAVING COUNT(a) > 1""",
    "any match": BLOCK + """PATTERN SEQ(A a, B+ b[], C c) WHERE b[i].v >= b[i-1].v WITHIN 12 seconds
        EVENT SELECTION SKIP TILL ANY MATCH
        RETURN a.id AS a, c.id AS c, COUNT(b[].id) AS n, AVG(b[].v) AS av, SUM(b[].v) AS s""",
    "lambda functions": BLOCK + """PATTERN SEQ(A a, B+ b[]) WHERE exists(array(b[i].v, b[i].v - 1), x -> x = a.v)
        WITHIN 12 seconds EVENT SELECTION SKIP TILL ANY MATCH
        RETURN a.id AS a, exists(array(a.v, COUNT(b[].id)), x -> x = a.v) AS e, COUNT(b[].id) AS n""",
    "variables that took nothing": BLOCK + """PATTERN SEQ(A a, B* b[], C c, D? d) WHERE coalesce(b[b.LEN].v, 1) < c.v
        AND count(b[].v) <> 1 WITHIN 20 seconds RETURN a.id AS a, count(b[].id) AS n, c.id AS c, d.id AS d""",
    "inner negation": BLOCK + "PATTERN SEQ(A a, !B x, C c) WITHIN 20 seconds",
    "leading negation": BLOCK + "PATTERN SEQ(!B x, A a, C c) WITHIN 10 seconds RETURN a.id AS a, c.id AS c",
    "non overlapping": BLOCK + """PATTERN SEQ(A a, B+ b[], C c) WITHIN 30 seconds
        EVENT SELECTION SKIP TILL NEXT MATCH MATCHES NON OVERLAPPING""",
    "first": BLOCK + "PATTERN SEQ(A a, B b) WITHIN 30 seconds MATCHES FIRST",
    "collapsed": BLOCK + """PATTERN SEQ(A a, B+ b[], C c) WITHIN 12 seconds EVENT SELECTION SKIP TILL ANY MATCH
        COLLAPSED""",
    "filtered": "FROM {} WHERE v IS NOT NULL PARTITION BY k ORDER BY ts, id EVENT TYPE e "
    "PATTERN SEQ(A a, B b) EVENT SELECTION STRICT CONTIGUITY WITHIN 10 seconds",
    "any event": "FROM {} AS A PARTITION BY k ORDER BY ts, id EVENT TYPE e "
    "PATTERN SEQ(A a, ANY+ x[], !B b, C c) WITHIN 10 seconds",
    "no partitions": "FROM {} ORDER BY ts, id EVENT TYPE e PATTERN SEQ(A a, B b) WHERE a.v = b.v WITHIN 5 seconds",
}  # fmt: skip
#: Queries whose input has other rows or columns than the log's table.
OWN_INPUT = ("filtered", "uncertain set")


class Log:
    """A folder of files that come one after the other, as a stream and at rest."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.files = 0
        folder.mkdir()

    def add(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """One file: keys, seconds (None for no time), types, values, ids."""
        key, seconds, types, values, ids = zip(*rows, strict=True)
        start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
        times = [None if s is None else start + dt.timedelta(seconds=s) for s in seconds]
        table = pa.table(
            {"k": pa.array(key, pa.int64()), "ts": pa.array(times, pa.timestamp("us", "UTC")), "e": types,
             "v": pa.array(values, pa.int32()), "id": pa.array(ids, pa.int64())}
        )  # fmt: skip
        path = self.folder / f"{self.files:03}.parquet"
        pq.write_table(table, path)
        self.files += 1
        os.utime(path, (1_700_000_000 + 10 * self.files,) * 2)

    def views(self) -> None:
        stream = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(self.folder))
        stream.withWatermark("ts", "12 seconds").createOrReplaceTempView("sq_stream")
        self.spark.read.schema(SCHEMA).parquet(str(self.folder)).createOrReplaceTempView("sq_rest")


def random_rows(seed: int, rows: int = 400) -> list[tuple[Any, ...]]:
    """Up to ten seconds out of order."""
    drawn = random.Random(seed)
    found = [
        (drawn.randrange(4), drawn.randrange(300), drawn.choice("ABCD"), drawn.choice([None, 1, 2, 3, 5]), n)
        for n in range(rows)
    ]
    return sorted(found, key=lambda row: row[1] + drawn.randrange(10))


def run(df: DataFrame, folder: Path) -> tuple[Any, list[Any]]:
    """Take all there is, batch by batch, into files; the query, and all rows that were ever written there."""
    query = (
        df.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(300)
    written = df.sparkSession.read.schema(df.schema).parquet(str(folder / "out"))
    return query, written.drop("match_number").collect()


def same_rows(spark: SparkSession, text: str, folder: Path, *, restarts: bool) -> None:
    log = Log(spark, folder / "in")
    rows = random_rows(1)
    parts = [rows[n : n + 100] for n in range(0, 400, 100)]
    parts += [[(99, end, "Z", 1, 1_000 + end)] for end in ENDS]
    for part in parts:
        log.add(part)
        if restarts or part is parts[-1]:
            log.views()
            df = spark.sql(text.format("sq_stream"))
            query, found = run(df, folder)
            assert query.exception() is None
    expected = spark.sql(text.format("sq_rest"))
    assert [(f.name, f.dataType.simpleString()) for f in df.schema] == [
        (f.name, f.dataType.simpleString()) for f in expected.schema
    ]
    wanted = expected.drop("match_number").collect()
    assert wanted
    assert sorted(map(str, found)) == sorted(map(str, wanted))


@pytest.mark.full
@pytest.mark.parametrize("query", some(QUERIES, ["clause"]))
def test_queries(query: str, spark: SparkSession, tmp_path: Path) -> None:
    same_rows(spark, QUERIES[query], tmp_path, restarts=query == "clause")


@pytest.mark.long
@pytest.mark.parametrize("query", LONG_QUERIES)
def test_more_queries(query: str, spark: SparkSession, tmp_path: Path) -> None:
    same_rows(spark, LONG_QUERIES[query], tmp_path, restarts=True)


@pytest.mark.long
@pytest.mark.parametrize("store", STORES)
def test_state_stores(store: str, spark: SparkSession, tmp_path: Path) -> None:
    with configured(spark, {"spark.sql.streaming.stateStore.providerClass": STORES[store]}):
        same_rows(spark, QUERIES["absence"], tmp_path, restarts=True)


TRANSFORM = {
    "spark.sql.streaming.stateStore.providerClass": STORES["rocksdb"],
    "spark.sparkcep.streaming.operator": "transform",
}


@pytest.mark.long
@pytest.mark.parametrize("query", ["clause", "absence", "trends", "timed out"])
def test_transform_with_state(query: str, spark: SparkSession, tmp_path: Path) -> None:
    with configured(spark, TRANSFORM):
        same_rows(spark, QUERIES[query], tmp_path, restarts=True)


@pytest.mark.full
@pytest.mark.skipif(RELEASE < (4, 1), reason="needs transformWithState in Python")
def test_two_patterns_alike_over_one_stream(spark: SparkSession, tmp_path: Path) -> None:
    """Spark shuffles equal rows once; the second operator must have its watermark all the same."""
    log = Log(spark, tmp_path / "in")
    for rows in ([(1, 0, "A", 1, 1), (2, 3, "A", 1, 2)], [(1, 5, "B", 1, 3)], *([(9, e, "D", 1, e)] for e in ENDS)):
        log.add(rows)
    log.views()
    one = (
        "SELECT a + {} AS a FROM ("
        + BLOCK.format("sq_stream")
        + "PATTERN SEQ(A a, B b) WITHIN 20 seconds RETURN a.id AS a)"
    )
    with configured(spark, TRANSFORM):
        _, found = run(spark.sql(f"{one.format(0)} UNION ALL {one.format(100)}"), tmp_path)
    assert sorted(row.a for row in found) == [1, 101]


def from_history(spark: SparkSession, query: str, folder: Path, *, restarts: bool = False) -> None:
    """What a stream that starts with the first half of the log emits, together with what a stream over that half
    alone emits, is the batch query's answer."""
    text = QUERIES.get(query) or LONG_QUERIES[query]
    rows = random_rows(1)
    for half in ("past", "live"):
        (folder / half).mkdir()
    past = Log(spark, folder / "past" / "in")
    past.add(rows[:200])
    past.views()
    _, decided = run(spark.sql(text.format("sq_stream")), folder / "past")
    spark.read.table("sq_rest").selectExpr("id", "v", "e", "ts", "K", "1 AS other").createOrReplaceTempView("sq_past")
    live = Log(spark, folder / "live" / "in")
    parts = [rows[200:300], rows[300:], *([(99, end, "Z", 1, 1_000 + end)] for end in ENDS)]
    for part in parts:
        live.add(part)
        # The table is read once.
        name = "sq_past" if live.files == 1 or not restarts else ""
        if restarts or part is parts[-1]:
            live.views()
            with configured(spark, {"spark.sparkcep.streaming.history": name}):
                df = spark.sql(text.format("sq_stream"))
                _, found = run(df, folder / "live")
    whole = "SELECT k, ts, e, v, id FROM sq_past UNION ALL SELECT * FROM sq_rest"
    spark.sql(whole).createOrReplaceTempView("sq_whole")
    wanted = spark.sql(text.format("sq_whole")).drop("match_number").collect()
    assert decided
    assert found or query == "first"
    assert sorted(map(str, decided + found)) == sorted(map(str, wanted))


@pytest.mark.full
def test_a_stream_starts_with_a_table(spark: SparkSession, tmp_path: Path) -> None:
    with configured(spark, TRANSFORM):
        from_history(spark, "absence", tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("query", [*QUERIES, *(q for q in LONG_QUERIES if q not in OWN_INPUT)])
def test_more_streams_start_with_a_table(query: str, spark: SparkSession, tmp_path: Path) -> None:
    with configured(spark, TRANSFORM):
        from_history(spark, query, tmp_path, restarts=query in ("clause", "absence", "trends"))


@pytest.mark.parametrize(
    ("table", "operator", "error", "words"),
    {
        "no table": ("sq_nowhere", "transform", "HISTORY", "no table or view sq_nowhere"),
        "a stream": ("sq_stream", "transform", "HISTORY", "is a stream itself"),
        "a subquery": ("sq_latest", "transform", "HISTORY", "sq_latest compares with a scalar subquery"),
        "columns": ("sq_few", "transform", "HISTORY", "no column v, id; e is int, not string"),
        "operator": ("sq_rest", "state", "UNSUPPORTED", "streaming.operator = transform"),
    }.values(),
)  # fmt: skip
def test_a_table_that_a_stream_cannot_start_with(
    table: str, operator: str, error: str, words: str, spark: SparkSession, tmp_path: Path
) -> None:
    log = Log(spark, tmp_path / "in")
    log.add(random_rows(3, 10))
    log.views()
    spark.sql("SELECT 1L AS k, TIMESTAMP '2024-01-01' AS ts, 1 AS e").createOrReplaceTempView("sq_few")
    latest = spark.sql("SELECT * FROM sq_rest WHERE ts = (SELECT max(ts) FROM sq_rest)")
    latest.createOrReplaceTempView("sq_latest")
    settings = TRANSFORM | {"spark.sparkcep.streaming.operator": operator, "spark.sparkcep.streaming.history": table}
    with configured(spark, settings), pytest.raises(PatternAnalysisError, match=f"CEP_STREAMING_{error}") as raised:
        spark.sql(QUERIES["absence"].format("sq_stream"))
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("any match", "sq_rest, rows up to INTERVAL 12 SECOND before its last event's"),
        ("trends", "sq_rest, rows up to INTERVAL 20 SECOND before"),
        ("absence", "sq_rest, all rows"),
        ("leading negation", "sq_rest, rows up to 2 * INTERVAL 10 SECOND before"),
        ("first", "sq_rest, all rows"),
        ("non overlapping", "sq_rest, all rows"),
        ("clause", "sq_rest, all rows"),
    ],
)
def test_explain_says_what_is_read_of_the_table(query: str, words: str, spark: SparkSession, tmp_path: Path) -> None:
    log = Log(spark, tmp_path / "in")
    log.add(random_rows(3, 10))
    log.views()
    text = (QUERIES | LONG_QUERIES)[query].format("sq_stream")
    with configured(spark, TRANSFORM | {"spark.sparkcep.streaming.history": "sq_rest"}):
        explained = spark.sql(f"EXPLAIN {text}").collect()[0][0]
    assert f"starts with: {words}" in explained
    assert "operator: transformWithState" in explained


def as_in_batch(spark: SparkSession, text: str, folder: Path, rows_a_file: int) -> Any:
    """Run a statement with other stateful operators behind patterns; the query, whose rows are the batch query's.

    Args:
        text: with ``{}`` for each relation.
    """
    log = Log(spark, folder / "in")
    rows = random_rows(3)
    parts = [rows[n : n + rows_a_file] for n in range(0, len(rows), rows_a_file)]
    for part in [*parts, *([(99, end, "Z", 1, end)] for end in ENDS)]:
        log.add(part)
    log.views()
    with configured(spark, TRANSFORM):
        query, found = run(spark.sql(text.replace("{}", "sq_stream")), folder)
    assert query.exception() is None
    wanted = spark.sql(text.replace("{}", "sq_rest")).collect()
    assert len(wanted) > 10
    assert sorted(map(str, found)) == sorted(map(str, wanted))
    return query


@pytest.mark.full
def test_a_window_aggregation_follows(spark: SparkSession, tmp_path: Path) -> None:
    """The end of a match that its last event decides carries the watermark on: no match is late for what follows."""
    pattern = BLOCK + "PATTERN SEQ(A a, B+ b[], C c) WITHIN 20 seconds"
    text = f"SELECT window(end_time, '30 seconds') AS w, k, count(*) AS n FROM ({pattern}) GROUP BY 1, 2"
    query = as_in_batch(spark, text, tmp_path, 50)
    late = [o.get("numRowsDroppedByWatermark", 0) for p in query.recentProgress for o in p["stateOperators"]]
    assert not any(late)


@pytest.mark.long
def test_a_join_of_two_streams_of_matches(spark: SparkSession, tmp_path: Path) -> None:
    """Both ends carry a watermark, so Spark knows for how long a match may still find another."""
    first = BLOCK + "PATTERN SEQ(A a, B+ b[], C c) WITHIN 20 seconds"
    second = BLOCK + "PATTERN SEQ(C c, D d) WITHIN 10 seconds"
    text = f"""SELECT l.k, l.start_time, l.end_time, r.start_time AS s, r.end_time AS e FROM ({first}) l
        JOIN ({second}) r
        ON l.k = r.k AND r.end_time BETWEEN l.end_time AND l.end_time + INTERVAL 30 SECONDS"""
    as_in_batch(spark, text, tmp_path, 100)


def test_a_match_that_is_decided_late_carries_no_watermark(spark: SparkSession, tmp_path: Path) -> None:
    log = Log(spark, tmp_path / "in")
    log.add(random_rows(3, 10))
    log.views()
    pattern = BLOCK + "PATTERN SEQ(A a, B b, !C c) WITHIN 20 seconds"
    text = f"SELECT window(end_time, '30 seconds') AS w, count(*) AS n FROM ({pattern}) GROUP BY 1"
    with configured(spark, TRANSFORM), pytest.raises(AnalysisException, match="watermark"):
        run(spark.sql(text.format("sq_stream")), tmp_path)


def test_transform_with_state_needs_rocksdb(spark: SparkSession, tmp_path: Path) -> None:
    log = Log(spark, tmp_path / "in")
    log.add(random_rows(3, 10))
    log.views()
    settings = TRANSFORM | {"spark.sql.streaming.stateStore.providerClass": STORES["hdfs"]}
    with configured(spark, settings), pytest.raises(PatternAnalysisError, match="CEP_STREAMING_UNSUPPORTED"):
        spark.sql(QUERIES["absence"].format("sq_stream"))


@pytest.mark.full
def test_rows_that_come_too_late(spark: SparkSession, tmp_path: Path) -> None:
    """They are dropped and counted, as are rows without a time; a match that they would be part of is not found.
    A row at the watermark is late, one behind it is not."""
    log = Log(spark, tmp_path / "in")
    log.add([(1, 0, "A", 1, 1), (1, 100, "D", 1, 2)])
    log.add([(1, 130, "D", 1, 3)])
    # The watermark was at 88 when the bucket was last looked at.
    log.add(
        [(1, 1, "B", 1, 4), (1, None, "B", 1, 5), (1, 140, "A", 1, 6), (1, 88, "B", 1, 10), (1, 88.001, "B", 1, 11)]
    )
    log.add([(1, 141, "B", 1, 7), (1, 400, "D", 1, 8)])
    log.add([(1, 500, "D", 1, 9)])
    log.views()
    text = BLOCK + "PATTERN SEQ(A a, B b) WITHIN 20 seconds RETURN a.id AS a, b.id AS b"
    query, found = run(spark.sql(text.format("sq_stream")), tmp_path)
    assert [tuple(row) for row in found] == [(6, 7)]
    # On Connect a row is a list without names.
    metrics = [
        m[0] if isinstance(m[0], list) else m for p in query.recentProgress for m in p["observedMetrics"].values()
    ]
    assert sum(m[0] for m in metrics) == 2, metrics
    assert sum(m[1] for m in metrics) == 1
    # Rows that are neither late nor untimed and that A or B can take; matches; what is kept behind each micro-batch.
    assert sum(m[3] for m in metrics) == 4
    assert sum(m[4] for m in metrics) == 1
    assert [m[5] for m in metrics][-1] == 0 < max(m[5] for m in metrics)
    assert all(0 <= m[6] < 600_000 for m in metrics)


@pytest.mark.full
def test_late_rows_go_to_files(spark: SparkSession, tmp_path: Path) -> None:
    """All of their columns, each once, those without a time too."""
    log = Log(spark, tmp_path / "in")
    log.add([(1, 0, "A", 1, 1), (1, 100, "A", 2, 2)])
    log.add([(1, 110, "A", 3, 3)])
    log.add([(1, 5, "B", 4, 4), (1, None, "C", 5, 5), (1, 111, "B", 6, 6)])
    log.add([(99, 500, "Z", 1, 7)])
    log.views()
    with configured(spark, {"spark.sparkcep.streaming.lateRows": str(tmp_path / "late")}):
        run(spark.sql(QUERIES["absence"].format("sq_stream")), tmp_path)
    found = spark.read.parquet(str(tmp_path / "late"))
    assert found.columns == ["k", "ts", "e", "v", "id"]
    assert sorted(r.id for r in found.collect()) == [4, 5]


def test_late_rows_need_a_place_that_all_executors_know(spark: SparkSession, tmp_path: Path) -> None:
    log = Log(spark, tmp_path / "in")
    log.add(random_rows(3, 10))
    log.views()
    with (
        configured(spark, {"spark.sparkcep.streaming.lateRows": "late"}),
        pytest.raises(SparkCepError, match="CEP_INVALID_SETTING"),
    ):
        spark.sql(QUERIES["absence"].format("sq_stream"))


@pytest.mark.full
def test_another_query_on_the_same_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    """It is refused by name, and the first one goes on as if nothing had been."""
    log = Log(spark, tmp_path / "in")
    text = BLOCK + "PATTERN SEQ(A a, B b) WITHIN 20 seconds RETURN a.id AS a, b.id AS b"
    log.add([(1, 0, "A", 1, 1), (2, 0, "A", 1, 2)])
    log.views()
    run(spark.sql(text.format("sq_stream")), tmp_path)
    log.add([(1, 5, "B", 1, 3), (2, 6, "B", 1, 4)])
    others = (
        (text.replace("20 seconds", "30 seconds"), {}, "the pattern's text is another"),
        (text, {"spark.sql.session.timeZone": "Asia/Tokyo"}, "the session's time zone is Asia/Tokyo and was UTC"),
        (text, {"spark.sparkcep.streaming.buckets": "3"}, "spark.sparkcep.streaming.buckets is 3 and was "),
    )
    for other, settings, difference in others:
        with (
            configured(spark, {"spark.sql.session.timeZone": "UTC", **settings}),
            pytest.raises(StreamingQueryException) as caught,
        ):
            run(spark.sql(other.format("sq_stream")), tmp_path)
        error = error_behind(caught.value)
        assert error is not None
        assert error.error_class == "CEP_STREAMING_STATE_CHANGED"
        assert f"another query: {difference}" in str(error)
    for end in ENDS:
        log.add([(9, end, "D", 1, end)])
    # What WITH defines is not in the pattern's own text.
    with_list = "WITH c AS (SELECT *, v + {} AS w FROM sq_stream) " + text.format("c")
    run(spark.sql(with_list.format(0)), tmp_path / "with")
    log.add([(1, ENDS[-1] + 1, "B", 1, 0)])
    with pytest.raises(StreamingQueryException) as caught:
        run(spark.sql(with_list.format(100)), tmp_path / "with")
    assert "another query: what WITH defines is another" in str(error_behind(caught.value))
    # What does not change the meaning: comments, white space, limits, columns that nothing reads.
    log.views()
    spark.table("sq_stream").selectExpr("*", "'new' AS more").createOrReplaceTempView("sq_stream")
    alike = text.replace("PATTERN", "\n-- as before\n  PATTERN").replace("20 seconds", "20  seconds /* or more? */")
    with configured(spark, {"spark.sql.session.timeZone": "UTC", "spark.sparkcep.limit.matches": "1234"}):
        _, found = run(spark.sql(alike.format("sq_stream")), tmp_path)
    assert sorted(tuple(row) for row in found) == [(1, 3), (2, 4)]


def test_what_0_2_0_knew_a_query_by(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its digest is made as it was then, of conditions that are now guarded as well."""
    planned = []

    def kept(*given: Any) -> Any:
        planned.append(streamed(*given))
        return planned[-1]

    monkeypatch.setattr(planning, "streamed", kept)
    log = Log(spark, tmp_path / "in")
    log.add(random_rows(3, 10))
    log.views()
    text = (
        BLOCK + "PATTERN SEQ(A a, B b) WHERE a.v > 0 AND 12 / a.v > 3 AND b.v = a.v WITHIN 20 seconds RETURN a.id AS a"
    )
    with configured(spark, {"spark.sql.session.timeZone": "UTC", "spark.sparkcep.streaming.buckets": "32"}):
        spark.sql(text.format("sq_stream"))
    (plan,) = planned
    assert "CASE WHEN (e = 'A'" in plan.stream.sql
    assert "3df919f459ef900bb44003994b923cf0" in plan.stream.plan.meaning.first_format


@pytest.mark.full
def test_rows_that_nothing_takes_move_the_watermark(spark: SparkSession, tmp_path: Path) -> None:
    log = Log(spark, tmp_path / "in")
    log.add([(1, 0, "A", 1, 1), (1, 3, "B", 1, 2)])
    log.add([(5, 100, "Z", 1, 3)])
    log.add([(5, 200, "Z", 1, 4)])
    log.views()
    text = BLOCK + "PATTERN SEQ(A a, B b) WITHIN 20 seconds RETURN a.id AS a, b.id AS b"
    _, found = run(spark.sql(text.format("sq_stream")), tmp_path)
    assert [tuple(row) for row in found] == [(1, 2)]
