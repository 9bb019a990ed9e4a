"""Clock changes and session time zones, ANSI on and off, and inputs without rows, against Spark's own arithmetic."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sparkcep import index

from ..conftest import configured
from .neighbours import block, by_lag, clause

pytestmark = [pytest.mark.full]

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"

#: The night of each change, by zone: clocks go on, clocks go back.
CHANGES = {"Europe/Berlin": ("2026-03-28", "2026-10-24"), "America/New_York": ("2026-03-07", "2026-10-31")}
BOUNDS = ("24 HOURS", "1 DAY", "23 HOURS 30 MINUTES", "1 MONTH", "2 DAYS 1 HOUR")


def rows(spark: SparkSession, query: str) -> Counter[tuple[object, ...]]:
    return Counter(tuple(r) for r in spark.sql(query).collect())


def clock_events(spark: SparkSession, zone: str, type_: str) -> None:
    """Cases of one A in the night before a change and Bs around each bound, to the microsecond, in view `dst`."""
    starts = [f"{day} {time}" for day in CHANGES[zone] for time in ("01:30:00", "02:00:00", "02:30:00", "03:00:00")]
    texts = ", ".join(f"{type_}'{s}'" for s in starts)
    near = ", ".join(f"interval {b}" for b in BOUNDS if b != "1 MONTH")
    spark.sql(f"""
        SELECT k, t, 'A' AS e FROM (SELECT posexplode(array({texts})) AS (k, t))
        UNION ALL SELECT k, t + i + make_dt_interval(0, h, 0, u), 'B'
          FROM (SELECT posexplode(array({texts})) AS (k, t)), (SELECT explode(array({near})) AS i),
            (SELECT explode(array(-1, 0, 1)) AS h), (SELECT explode(array(-0.000001, 0, 0.000001)) AS u)
        UNION ALL SELECT k, t + interval 1 month + make_dt_interval(0, h, 0, 0.000001 * u), 'B'
          FROM (SELECT posexplode(array({texts})) AS (k, t)), (SELECT explode(array(-1, 0, 1)) AS h),
            (SELECT explode(array(0, 1)) AS u)""").distinct().createOrReplaceTempView("dst")


@pytest.mark.full
@pytest.mark.parametrize(
    ("type_", "zone"),
    [
        ("TIMESTAMP", "Europe/Berlin"),
        pytest.param("TIMESTAMP_NTZ", "America/New_York", marks=pytest.mark.long),
        pytest.param("TIMESTAMP", "America/New_York", marks=pytest.mark.long),
        pytest.param("TIMESTAMP_NTZ", "Europe/Berlin", marks=pytest.mark.long),
    ],
)
def test_within_over_a_change_of_clocks(spark: SparkSession, zone: str, type_: str) -> None:
    """As many Bs are reached as `t + interval` reaches, in both forms and layouts."""
    bounds = BOUNDS if LONG else BOUNDS[1:4]
    with configured(spark, {"spark.sql.session.timeZone": zone}):
        clock_events(spark, zone, type_)
        spark.sql("CREATE OR REPLACE TEMP VIEW dst_events AS SELECT k, t, e FROM dst")
        expected = rows(
            spark,
            " UNION ALL ".join(
                f"""SELECT '{b}' AS b, x.k, count(*) AS n FROM dst x JOIN dst y ON x.k = y.k AND x.e = 'A' AND y.e = 'B'
                AND y.t > x.t AND y.t <= x.t + interval {b} GROUP BY x.k"""
                for b in bounds
            ),
        )
        # Where there is a zone, a day has 23, 24 or 25 hours, so that one bound reaches differently far.
        assert len({n for _, _, n in expected}) > (len(bounds) if type_ == "TIMESTAMP" else 1), "no bound cuts"
        clause = " UNION ALL ".join(
            f"""SELECT '{b}' AS b, k, n FROM dst_events MATCH_RECOGNIZE (PARTITION BY k ORDER BY t
            MEASURES count(B.e) AS n PATTERN (A B+) WITHIN INTERVAL {b} DEFINE A AS e = 'A', B AS e = 'B')"""
            for b in bounds
        )
        block = " UNION ALL ".join(
            f"""SELECT '{b}' AS b, k, count(*) AS n FROM (FROM dst_events PARTITION BY k ORDER BY t EVENT TYPE e
            PATTERN SEQ(A x, B y) WITHIN {b} EVENT SELECTION SKIP TILL ANY MATCH MATCHES ALL RETURN k, y.t AS t)
            GROUP BY k"""
            for b in bounds
        )
        for layout in ("lists", "rows") if LONG else (("lists",) if type_ == "TIMESTAMP" else ("rows",)):
            with configured(spark, {"spark.sparkcep.exec.layout": layout}):
                assert rows(spark, clause) == expected, layout
                assert rows(spark, block) == expected, layout


#: What ANSI mode refuses and the other answers: a condition on one row, and on two; then the error's class.
ANSI = (
    ("b.x + 2147483647 < 0", "ARITHMETIC_OVERFLOW"),
    ("a.x + b.x + 2147483646 < 0", "ARITHMETIC_OVERFLOW"),
    ("b.x / (b.x - b.x) IS NULL", "DIVIDE_BY_ZERO"),
    ("b.x / (a.x - a.x) IS NULL", "DIVIDE_BY_ZERO"),
    ("b.x % (a.x - a.x) IS NULL", "(REMAINDER|DIVIDE)_BY_ZERO"),
    ("CAST(b.s AS INT) IS NULL", "CAST_INVALID_INPUT"),
    ("CAST(b.s AS INT) IS NULL AND a.x < b.x", "CAST_INVALID_INPUT"),
    ("CAST(b.l * 3000000000L AS INT) + a.x < b.l", "CAST_OVERFLOW"),
)


@pytest.mark.parametrize("layout", ["lists", pytest.param("rows", marks=pytest.mark.long)])
def test_conditions_with_ansi_on_and_off(spark: SparkSession, layout: str) -> None:
    """Off, they hold for the neighbours that `lag` says; on, they fail with Spark's class."""
    spark.sql("""SELECT id % 2 AS k, CAST(id AS INT) AS o, CAST(id + 1 AS INT) AS x, id + 1 AS l,
        if(id % 3 = 0, string(id), 'x') AS s FROM range(12)""").createOrReplaceTempView("an")

    with configured(spark, {"spark.sparkcep.exec.layout": layout, "spark.sql.ansi.enabled": "false"}):
        forms = (by_lag, clause, block)
        parts = [[f"SELECT {n} AS n, b FROM ({f(c, 'an', 'o')})" for n, (c, _) in enumerate(ANSI)] for f in forms]
        expected, clauses, blocks = (rows(spark, " UNION ALL ".join(p)) for p in parts)
        assert {n for n, _ in expected} == set(range(len(ANSI)))
        assert clauses == expected
        assert blocks == expected
    with configured(spark, {"spark.sparkcep.exec.layout": layout, "spark.sql.ansi.enabled": "true"}):
        chosen = ANSI if LONG else ANSI[:: 2 if layout == "lists" else 3]
        for condition, error in chosen:
            for query in (form(condition, "an", "o") for form in forms):
                with pytest.raises(Exception, match=error):
                    rows(spark, query)


@pytest.mark.full
def test_nothing_to_match(spark: SparkSession) -> None:
    """No rows, in a view and behind a filter that empties partitions: no matches, and aggregates as Spark's."""
    spark.sql("SELECT id AS k, id AS o, 'a' AS e, 1 AS v FROM range(4)").createOrReplaceTempView("some")
    spark.sql("SELECT * FROM some WHERE k > 10").createOrReplaceTempView("nothing")
    spark.createDataFrame([], "k bigint, o bigint, e string, v int").createOrReplaceTempView("no_rows")
    block = "FROM {0} PARTITION BY k ORDER BY o EVENT TYPE e PATTERN {1}"
    modes = ("ONE ROW PER MATCH", "ALL ROWS PER MATCH WITH UNMATCHED ROWS", "ALL ROWS PER MATCH SHOW EMPTY MATCHES")
    for n, (mode, pattern) in enumerate(itertools.product(modes, ("A B", "A*"))):
        source, layout = ("nothing", "no_rows")[n % 2], ("lists", "rows")[n // 2 % 2]
        with configured(spark, {"spark.sparkcep.exec.layout": layout}):
            found = spark.sql(f"""SELECT * FROM {source} MATCH_RECOGNIZE (PARTITION BY k ORDER BY o
                MEASURES count(*) AS n {mode} PATTERN ({pattern}) DEFINE A AS e = 'a')""")
            assert found.isEmpty(), (source, mode, pattern, layout)
    assert spark.sql(block.format("nothing", "SEQ(a x, b+ y[]) MATCHES FIRST RETURN x.o AS x")).isEmpty()
    assert spark.sql(block.format("no_rows", "SEQ(a x, a y) MATCHES ALL UNCERTAINTY 1 STEP 1")).isEmpty()
    # Aggregates over trends have a row for each group that has a trend: without any, none, also without GROUP BY.
    for source in ("nothing", "no_rows"):
        assert spark.sql(f"FROM {source} ORDER BY o EVENT TYPE e PATTERN a+ x[] RETURN COUNT(*) AS n").isEmpty()
        assert spark.sql(block.format(source, "a+ x[] GROUP BY k RETURN k, COUNT(*) AS n")).isEmpty()
    assert rows(spark, block.format("some", "b+ x[] GROUP BY k RETURN k, COUNT(*) AS n")) == Counter()
    assert spark.sql(block.format("no_rows", "SEQ(a x, b y) WITHIN 5 EXPLAIN NON ANSWERS (2, 2, 1)")).isEmpty()


@pytest.mark.long
def test_an_index_over_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Every statement, and what comes later."""
    empty = spark.createDataFrame([], "c string, t timestamp, e string")
    empty.write.parquet(str(tmp_path / "log"))
    for kind in ("siesta", "signature", "set_containment") if LONG else ("siesta",):
        name = f"over_nothing_{kind}"
        spark.sql(f"DROP PATTERN INDEX IF EXISTS {name}")
        spark.sql(f"CREATE PATTERN INDEX {name} ON parquet.`{tmp_path}/log` (CASE c, TIME t, EVENT e) USING {kind}")
        assert [tuple(r)[3:6] for r in spark.sql("SHOW PATTERN INDEXES").collect() if r[0] == name] == [(0, 0, 0)]
        assert dict(spark.sql(f"DESCRIBE PATTERN INDEX {name}").collect())["Events"] == "0"
        assert not spark.sql(f"ANALYZE PATTERN INDEX {name}").isEmpty()
        spark.read.parquet(str(tmp_path / "log")).createOrReplaceTempView("log_view")
        query = "FROM log_view PARTITION BY c ORDER BY t EVENT TYPE e PATTERN SEQ(A, B) RETURN c, B.t AS t"
        assert spark.sql(query).isEmpty()
        spark.sql(f"REFRESH PATTERN INDEX {name}")
        assert len(index.open_index(spark, name).candidates([["A", "B"]]).ids) == 0
        assert len(index.open_index(spark, name).candidates([[]]).ids) == 0
        assert index.open_index(spark, name).sequences().isEmpty()
    row = "SELECT 'a' AS c, timestamp_seconds(id) AS t, chr(65 + int(id)) AS e FROM range(2)"
    spark.sql(row).coalesce(1).write.mode("append").parquet(str(tmp_path / "log"))
    spark.sql("REFRESH PATTERN INDEX over_nothing_siesta")
    spark.read.parquet(str(tmp_path / "log")).createOrReplaceTempView("log_view")
    assert spark.sql(query).count() == 1
    assert len(index.open_index(spark, "over_nothing_siesta").candidates([["A", "B"]]).ids) == 1


@pytest.mark.long
def test_a_huge_case(spark: SparkSession) -> None:
    """Two million events of one case, in both layouts and forms."""
    spark.sql("SELECT 1 AS k, id AS o, if(id % 3 = 0, 'a', 'b') AS e FROM range(2000000)").createOrReplaceTempView("h")
    clause = """SELECT count(*) AS n, sum(n) AS s FROM h MATCH_RECOGNIZE (PARTITION BY k ORDER BY o
        MEASURES count(*) AS n PATTERN (a b+) DEFINE a AS e = 'a', b AS e = 'b' AND b.o > a.o)"""
    block = """SELECT count(*) AS n, max(y) AS s FROM (FROM h PARTITION BY k ORDER BY o EVENT TYPE e
        PATTERN SEQ(a x, b y) MATCHES NON OVERLAPPING RETURN y.o AS y)"""
    for layout in ("lists", "rows"):
        with configured(spark, {"spark.sparkcep.exec.layout": layout}):
            assert rows(spark, clause) == {(666_667, 2_000_000): 1}
            assert rows(spark, block) == {(666_667, 1_999_999): 1}
