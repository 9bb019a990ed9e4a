"""Patterns of one statement over one input: their rows are those of each by itself, and Spark reads the input once."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ..conftest import IS_CONNECT, configured, drawn
from .rule_texts import random_log, random_rule
from .test_rule_sets import CASES, with_log

ALONE = {"spark.sparkcep.planner.sharedInput.enabled": "false"}
BLOCK = "FROM rules_log PARTITION BY u ORDER BY t EVENT TYPE type PATTERN"
#: What no set of rules may have, and statements do.
MORE = (
    "SEQ(A a, B+ b[]) RETURN u, count(*) AS n, sum(b.x) AS total GROUP BY u",
    "SEQ((A|B)+ a[]) WHERE a[i].x >= a[i-1].x RETURN count(*) AS n",
    "SEQ(A a, B+ b[], C c) EVENT SELECTION SKIP TILL ANY MATCH MATCHES COLLAPSED",
    "SEQ(A a, B b) WITHIN 3 UNCERTAINTY 1",
    "SEQ(A a, C c) GROUP BY s RETURN u, c.x AS x",
    "SEQ(A a, C c) RETURN a.t AS t",
    "AND(A+, SEQ(A a, B b)) RETURN count(*) AS n",
    "SEQ(A a, B b, C c) WITHIN 2 MATCHES ALL WITH TIMED OUT RETURN u, b.x AS x",
    "SEQ(A a, !B b, C c) MATCHES NON OVERLAPPING RETURN u, c.s AS s",
)
CLAUSES = (
    "ALL ROWS PER MATCH PATTERN (A B+) DEFINE A AS type = 'A', B AS x > PREV(x)",
    "ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A B) DEFINE A AS type = 'A', B AS B.x > A.x",
    "MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS c ALL ROWS PER MATCH SHOW EMPTY MATCHES PATTERN (A*) "
    "DEFINE A AS x > 2",
    "MEASURES FIRST(A.t) AS t, LAST(x) AS x PATTERN (A X* B) DEFINE A AS type = 'A', X AS type = 'C', B AS type = 'B'",
)  # fmt: skip


def statement(random: Random, number: int) -> str:
    """One pattern as a query of a name and its columns as JSON."""
    kind = random.random()
    if kind < 0.2:
        relation = f"({BLOCK} {random.choice(MORE)})"
    elif kind < 0.4:
        relation = f"rules_log MATCH_RECOGNIZE (PARTITION BY u ORDER BY t {random.choice(CLAUSES)})"
    else:
        rule = random_rule(random)
        clause = rule.removeprefix("MATCH_RECOGNIZE (")
        relation = (
            f"({BLOCK.removesuffix(' PATTERN')} {rule})"
            if clause is rule
            else f"rules_log MATCH_RECOGNIZE (PARTITION BY u ORDER BY t {clause}"
        )
    return f"SELECT {number} AS form, to_json(struct(*)) AS found FROM {relation}"


def accepted(spark: SparkSession, random: Random, count: int) -> list[str]:
    """So many statements that are not refused."""
    out: list[str] = []
    while len(out) < count:
        text = statement(random, len(out))
        try:
            spark.sql(text)
            out.append(text)
        except PySparkException:
            continue
    return out


def rows(spark: SparkSession, text: str) -> Counter[tuple[object, ...]]:
    return Counter(map(tuple, spark.sql(text).collect()))


def check_equal(spark: SparkSession, seed: int, count: int) -> int:
    """Patterns together and by themselves; gives how many shared their input."""
    random = Random(seed)
    with_log(spark, random_log(random, CASES))
    texts = accepted(spark, random, count)
    whole = " UNION ALL ".join(texts)
    found = rows(spark, whole)
    plan = spark.sql(f"EXPLAIN {whole}").first()[0]
    with configured(spark, ALONE):
        expected = rows(spark, whole)
    for number, text in enumerate(texts):
        own = {key: n for key, n in found.items() if key[0] == number}
        assert own == {key: n for key, n in expected.items() if key[0] == number}, (seed, text)
    return sum(int(line.split()[2]) for line in plan.splitlines() if line.startswith("Shared input: "))


@pytest.mark.full
def test_equal_to_each_by_itself(spark: SparkSession) -> None:
    assert check_equal(spark, 5, 8) >= 5


@pytest.mark.long
@pytest.mark.parametrize("seed", drawn(range(3000, 3400)))
def test_equal_to_each_by_itself_at_length(spark: SparkSession, seed: int) -> None:
    check_equal(spark, seed, seed % 9 + 2)


CLAUSE = "log MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES LAST(t) AS t PATTERN (A B) DEFINE {})"
FALL, RISE = "B AS v < PREV(v)", "B AS v > PREV(v)"


@pytest.fixture
def log(spark: SparkSession) -> None:
    rows = [(k, t, v) for k in range(20) for t, v in enumerate((3, 1, 2, k % 3))]
    spark.createDataFrame(rows, "k int, t int, v int").createOrReplaceTempView("log")


def shared(spark: SparkSession, text: str) -> bool:
    return "Shared input: 2 patterns read one input, in one pass" in spark.sql(f"EXPLAIN {text}").first()[0]


@pytest.mark.parametrize(
    "text",
    [
        "WITH f AS (SELECT * FROM {fall}), r AS (SELECT * FROM {rise}) SELECT count(*) FROM f JOIN r USING (k)",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3), f AS (SELECT * FROM {fall}) "
        "SELECT count(*) FROM f, n, (SELECT * FROM {rise}) r WHERE f.k = r.k",
        "(SELECT count(*) FROM {fall}) UNION ALL (SELECT sum(t) FROM {rise})",
        "SELECT count(*) FROM {fall} f WHERE f.k IN (SELECT k FROM {rise} r WHERE r.t > 1)",
        "SELECT count(*), (SELECT max(t) FROM {rise}) FROM {fall} f WHERE EXISTS (SELECT 1 FROM range(2) WHERE id = k)",
        "FROM {fall} |> UNION ALL (SELECT * FROM {rise}) |> AGGREGATE count(*) AS n",
    ],
)
def test_wherever_patterns_stand(spark: SparkSession, log: None, text: str) -> None:
    whole = text.format(fall=CLAUSE.format(FALL), rise=CLAUSE.format(RISE))
    assert shared(spark, whole)
    found = sorted(map(tuple, spark.sql(whole).collect()))
    with configured(spark, ALONE):
        assert not shared(spark, whole)
        assert found == sorted(map(tuple, spark.sql(whole).collect()))
    assert any(value for row in found for value in row)


def test_three_that_spark_folds_share(spark: SparkSession) -> None:
    with_log(spark, random_log(Random(6), CASES))
    texts = [
        f"SELECT {n} AS form, u, t FROM ({BLOCK} SEQ({a} a, {b} b) MATCHES NON OVERLAPPING RETURN u, b.t AS t)"
        for n, (a, b) in enumerate(("AB", "BA", "AC"))
    ]
    two = spark.sql(f"EXPLAIN {' UNION ALL '.join(texts[:2])}").first()[0]
    assert "Layout: fold" in two and "Spark folds it, which for two patterns takes no longer" in two
    whole = " UNION ALL ".join(texts)
    assert "Shared input: 3 patterns" in spark.sql(f"EXPLAIN {whole}").first()[0]
    found = rows(spark, whole)
    with configured(spark, ALONE):
        assert found == rows(spark, whole)
    assert len({form for form, *_ in found}) == 3


def test_trends_of_both_sides_and_runs_that_time_out(spark: SparkSession) -> None:
    with_log(spark, random_log(Random(5), CASES))
    chosen = [text for text in MORE if "AND(" in text or "TIMED" in text] * 2
    texts = [f"SELECT {n} AS form, to_json(struct(*)) AS found FROM ({BLOCK} {t})" for n, t in enumerate(chosen)]
    whole = " UNION ALL ".join(texts)
    assert "Shared input: 4 patterns" in spark.sql(f"EXPLAIN {whole}").first()[0]
    found = rows(spark, whole)
    with configured(spark, ALONE):
        assert found == rows(spark, whole)


def test_statements_that_take_rows(spark: SparkSession, log: None) -> None:
    both = f"SELECT * FROM {CLAUSE.format(FALL)} UNION ALL SELECT * FROM {CLAUSE.format(RISE)}"
    expected = sorted(map(tuple, spark.sql(both).collect()))
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW shared_view AS {both}")
    assert sorted(map(tuple, spark.table("shared_view").collect())) == expected
    spark.sql("DROP TABLE IF EXISTS shared_made")
    try:
        spark.sql(f"CREATE TABLE shared_made USING parquet AS {both}")
        spark.sql(f"INSERT INTO shared_made {both}")
        spark.sql(f"INSERT INTO shared_made (k, t) WITH found AS ({both}) SELECT * FROM found")
        assert sorted(map(tuple, spark.table("shared_made").collect())) == sorted(expected * 3)
    finally:
        spark.sql("DROP TABLE IF EXISTS shared_made")


def test_a_pattern_that_another_reads_stays_alone(spark: SparkSession, log: None) -> None:
    inner = f"(SELECT * FROM {CLAUSE.format(FALL)})"
    outer = f"{inner} MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES LAST(t) AS t PATTERN (A B) DEFINE B AS t > 0)"
    text = f"SELECT * FROM {outer} UNION ALL SELECT * FROM {CLAUSE.format(RISE)}"
    assert "Shared input" not in spark.sql(f"EXPLAIN {text}").first()[0]
    assert not shared(
        spark, f"SELECT * FROM {CLAUSE.format(FALL)} UNION ALL SELECT * FROM {CLAUSE.format(RISE)} WHERE k = 3"
    )


def test_what_goes_wrong_is_told_as_by_itself(spark: SparkSession, log: None) -> None:
    text = f"SELECT * FROM {CLAUSE.format(FALL)} UNION ALL SELECT * FROM {CLAUSE.format('B AS no_such(v) > 1')}"
    with pytest.raises(PySparkException, match="no_such") as error:
        spark.sql(text)
    assert "Line 1" in str(error.value)
    failing = f"SELECT * FROM {CLAUSE.format(FALL)} UNION ALL SELECT * FROM {CLAUSE.format('B AS v / (A.v - A.v) > 1')}"
    assert shared(spark, failing)
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
        spark.sql(failing).collect()


def test_spark_reads_the_input_once(spark: SparkSession, log: None) -> None:
    if IS_CONNECT:
        pytest.skip("plans that ran are the server's")
    frame = spark.sql(f"SELECT * FROM {CLAUSE.format(FALL)} UNION ALL SELECT * FROM {CLAUSE.format(RISE)}")
    frame.collect()
    plan = frame._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
    final = plan[: plan.index("== Initial Plan ==")]
    assert final.count("ReusedExchange") == 1
    assert final.count("ArrowEvalPython") == 1
