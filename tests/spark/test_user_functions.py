"""Functions of the user's, which Spark refuses in lambda functions: SQL functions, and functions in Python. They give
what the same expression gives that is written out."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql.functions import arrow_udf, pandas_udf

from sparkcep.errors import PatternAnalysisError

from ..conftest import IS_CONNECT, configured, some
from .test_streaming_queries import same_rows

CLAUSE = "SELECT * FROM uf MATCH_RECOGNIZE (PARTITION BY k ORDER BY i MEASURES A.i AS a, B.i AS b "
BLOCK = "FROM uf PARTITION BY k ORDER BY i EVENT TYPE s PATTERN "
#: With ``gain(x, y)`` for y - x and ``twice(x)`` for 2 * x.
QUERIES = {
    # of a row and its neighbours
    "neighbours": CLAUSE + "PATTERN (A B) DEFINE B AS gain(PREV(v), v) > 0 AND v > 3)",
    "each neighbour": CLAUSE + "PATTERN (A B+) DEFINE B AS twice(v) > twice(PREV(v)))",
    "rows": CLAUSE + "PATTERN (A B+) DEFINE A AS twice(v) < 12, B AS twice(v) > 12)",
    "window": """SELECT k, i, n OVER w AS n, twice(v) AS t FROM uf WINDOW w AS (PARTITION BY k ORDER BY i
        MEASURES gain(A.v, LAST(B.v)) AS n ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
        PATTERN (A B) DEFINE B AS gain(PREV(v), v) > 0 AND gain(A.v, v) < 3)""",
    # of two rows of the match
    "two rows": CLAUSE + "PATTERN (A B+) DEFINE B AS gain(A.v, v) > 0)",
    "two calls": CLAUSE + """PATTERN (A B) DEFINE B AS gain(A.v, v) > 0 AND gain(v, A.v) < 0
        AND gain(gain(A.v, v), 9) > twice(A.v) - 12)""",
    "one partition": CLAUSE.replace("PARTITION BY k ORDER BY i", "ORDER BY i, v") + """PATTERN (A X*? B)
        DEFINE A AS s = 'a', B AS s = 'b' AND gain(A.v, v) > 0)""",
    "optional": CLAUSE + "PATTERN (A? B) DEFINE A AS s = 'a', B AS gain(A.v, v) > 3 OR A.v IS NULL)",
    "behind": CLAUSE + "PATTERN (B A) DEFINE B AS gain(A.v, v) > 3 OR A.v IS NULL)",
    "skipping": CLAUSE + """EVENT SELECTION SKIP TILL NEXT MATCH PATTERN (A B)
        DEFINE A AS s = 'a', B AS s = 'b' AND gain(A.v, v) > 3)""",
    "neighbour of a row": CLAUSE + "PATTERN (A B) DEFINE B AS gain(PREV(A.v), v) > 0 OR PREV(A.v) IS NULL)",
    "all rows": """SELECT * FROM (SELECT *, array(v, i) AS l, map(i, v) AS m, struct(v, s) AS r FROM uf) MATCH_RECOGNIZE
        (PARTITION BY k ORDER BY i DESC ALL ROWS PER MATCH PATTERN (A B) DEFINE B AS gain(A.r.v, l[0]) < 0)""",
    "lambda": CLAUSE + "PATTERN (A B) DEFINE B AS exists(array(1, 2), q -> q < gain(A.v, v)))",
    "block": BLOCK + "SEQ(a x, b y) WHERE gain(x.v, y.v) > 0 RETURN k, x.v AS xv, gain(x.v, y.v) AS d",
    "trends": BLOCK + "SEQ(a x, b+ y) WHERE gain(x.v, NEXT(y).v) > 0 GROUP BY k RETURN k, count(*) AS n",
    "each": BLOCK + "SEQ(a x, b+ y[]) WHERE gain(y[i-1].v, y[i].v) > 0 RETURN k, x.v AS xv, count(y[].v) AS n",
    "negation": BLOCK + "SEQ(a x, !c z, b y) WHERE gain(x.v, z.v) > 0 RETURN k, x.v AS xv, y.v AS yv",
    "non answers": BLOCK + "SEQ(a x, b y) WHERE gain(x.v, y.v) > 99 EXPLAIN NON ANSWERS (4, 2, 1)",
    # outside of conditions
    "measures": CLAUSE + """, gain(A.v, B.v) AS g, sum(twice(B.v)) AS s, LAST(twice(B.v)) AS l,
        count(*) FILTER (WHERE twice(v) > 12) AS f PATTERN (A B) DEFINE B AS sum(twice(A.v)) < 18)""",
    "keys": """SELECT * FROM uf MATCH_RECOGNIZE (PARTITION BY twice(k) ORDER BY twice(i) MEASURES B.v AS v PATTERN (A B)
        WITHIN twice(1) DEFINE B AS v > 4)""",
    "several": " UNION ALL ".join(
        CLAUSE + f"PATTERN (A B) DEFINE B AS {condition} > 0)" for condition in ("gain(A.v, v)", "gain(PREV(v), v)")
    ),
}  # fmt: skip
KINDS = ("sql", "python", "arrow", "pandas")


@pytest.fixture(scope="module", autouse=True)
def functions(spark: SparkSession) -> None:
    spark.sql("""CREATE OR REPLACE TEMPORARY VIEW uf AS SELECT * FROM VALUES
        (1, 1, 5, 'a'), (1, 2, 7, 'b'), (1, 2, 6, 'c'), (1, 3, 4, 'b'), (2, 1, 5, 'a'), (2, 2, NULL, 'c'),
        (2, 3, 9, 'b'), (2, 4, 8, 'a'), (NULL, 1, 5, 'a'), (NULL, 2, 8, 'b') AS t(k, i, v, s)""")
    spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION gain_sql(x INT, y INT) RETURNS INT RETURN y - x")
    spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION twice_sql(x INT) RETURNS INT RETURN (SELECT 2 * x)")
    spark.udf.register("gain_python", lambda x, y: None if x is None or y is None else y - x, "int")
    spark.udf.register("twice_python", lambda x: None if x is None else 2 * x, "int")
    spark.udf.register("gain_strict", lambda x, y: y - x, "int")
    spark.udf.register("twice_strict", lambda x: 2 * x, "int")

    def gain_arrow(x: pa.Array, y: pa.Array) -> pa.Array:
        return pc.subtract(y, x)

    def twice_arrow(x: pa.Array) -> pa.Array:
        return pc.add(x, x)

    def gain_pandas(x: pd.Series, y: pd.Series) -> pd.Series:
        return y - x

    def twice_pandas(x: pd.Series) -> pd.Series:
        return 2 * x

    for made, own in ((arrow_udf, (gain_arrow, twice_arrow)), (pandas_udf, (gain_pandas, twice_pandas))):
        for function in own:
            spark.udf.register(function.__name__, made(function, "int"))


def called(text: str, kind: str) -> str:
    return re.sub(r"\b(gain|twice)\(", rf"\1_{kind}(", text)


def written_out(text: str, difference: str = "(({y}) - ({x}))") -> str:
    """The calls as expressions, the innermost first."""
    while calls := list(re.finditer(r"\b(gain|twice)\(", text)):
        start, depth, comma, at = calls[-1].start(), 1, 0, calls[-1].end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            comma = at if text[at] == "," and depth == 1 else comma
            at += 1
        inner = text[calls[-1].end() : at - 1]
        x, y = (text[calls[-1].end() : comma], text[comma + 1 : at - 1]) if comma else (inner, "")
        text = text[:start] + (difference.format(x=x, y=y) if comma else f"(2 * ({x}))") + text[at:]
    return text


def in_order(rows: Iterable[Row]) -> list[str]:
    """Values of rows: columns that keys have made are named after them."""
    return sorted(str(tuple(row)) for row in rows)


ALL = list(itertools.product(QUERIES, KINDS))
SHORT = [("neighbours", "arrow"), ("two calls", "python"), ("window", "pandas"), ("block", "arrow"), ("keys", "python")]
SHORT += [(query, "sql") for query in QUERIES] if not IS_CONNECT else [("two rows", "sql")]


@pytest.mark.parametrize(("query", "kind"), some(ALL, SHORT))
def test_equal_to_what_is_written_out(query: str, kind: str, spark: SparkSession) -> None:
    wanted = spark.sql(written_out(QUERIES[query])).collect()
    found = spark.sql(called(QUERIES[query], kind)).collect()
    assert wanted
    assert in_order(found) == in_order(wanted)


def drawn_query(random: Random) -> str:
    """Conditions on two rows of the match, of which types say more or less who they may be."""

    def asked(of: str, other: str) -> str:
        return f"gain({of}, {other}) {random.choice('<>')} {random.randrange(-3, 4)}"

    if random.random() < 0.5:
        first, last = ("{0} x", "x.v"), random.choice([("{0} z", "z.v"), ("{0}+ z[]", "z[z.LEN].v")])
        between = [("{0} y", "y.v"), ("{0} y?", "y.v"), ("!{0} y", "y.v"), ("{0}+ y[]", "y[y.LEN].v")]
        parts = [first, *random.sample(between, random.randrange(2)), last]
        if parts[1][0][0] == "!" and last[0][3] == "+":
            return drawn_query(random)  # refused
        sequence = ", ".join(text.format(random.choice("abc")) for text, _ in parts)
        conditions = " AND ".join(asked(a, b) for (_, a), (_, b) in itertools.pairwise(parts))
        selection = random.choice(["SKIP TILL ANY MATCH", "SKIP TILL NEXT MATCH", "STRICT CONTIGUITY"])
        return BLOCK + f"SEQ({sequence}) WHERE {conditions} EVENT SELECTION {selection} RETURN k, x.i AS i"
    define = []
    for k, name in enumerate("ABC"):
        tests = [f"s = '{random.choice('abc')}'"] if random.random() < 0.6 else []
        tests += [asked(random.choice([f"{other}.v", f"LAST({other}.v)"]), "v") for other in "ABC"[:k]][-1:]
        if tests:
            define.append(f"{name} AS {random.choice([' AND ', ' OR ']).join(tests)}")
    if not define:
        return drawn_query(random)
    pattern = random.choice(["A B C", "A B* C", "A B*? C", "A (B | C)+", "(A | B)+ C", "A? B C"])
    skip = random.choice(["", "AFTER MATCH SKIP TO NEXT ROW "])
    return CLAUSE.replace("B.i AS b", "LAST(C.i) AS c") + f"{skip}PATTERN ({pattern}) DEFINE {', '.join(define)})"


@pytest.mark.full
@pytest.mark.parametrize("seed", range(8))
def test_equal_for_any_patterns(seed: int, spark: SparkSession) -> None:
    """Functions of the user's, and Spark's own in lambda functions."""
    random, matches = Random(seed), 0
    count = int(os.environ.get("SPARKCEP_TEST_PAIRS", "3"))
    rows = [(random.randrange(2), i, random.choice([None, *range(9)]), random.choice("aabbc")) for i in range(30)]
    spark.createDataFrame(rows, "k int, i int, v int, s string").createOrReplaceTempView("uf_drawn")
    for _ in range(count):
        text = drawn_query(random).replace("uf", "uf_drawn")
        wanted = in_order(spark.sql(written_out(text)).collect())
        matches += len(wanted)
        for own in (called(text, "sql"), called(text, "python"), written_out(text, "try_subtract({y}, {x})")):
            assert in_order(spark.sql(own).collect()) == wanted, own
    assert matches or count < 3


@pytest.mark.parametrize("query", ["two rows", "block", "rows", "measures"])
def test_no_row_that_is_missing(query: str, spark: SparkSession) -> None:
    """Where each match has the rows that a condition reads, a function in Python is given no None that no row has."""
    text = QUERIES[query].replace("uf", "(SELECT * FROM uf WHERE v IS NOT NULL)")
    assert in_order(spark.sql(called(text, "strict")).collect()) == in_order(spark.sql(written_out(text)).collect())


@pytest.mark.parametrize(("kind", "refused"), [("sql", "SQL"), ("python", "PYTHON")])
def test_explained(kind: str, refused: str, spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    plan = spark.sql("EXPLAIN " + called(QUERIES["neighbours"], kind)).collect()[0][0]
    assert (
        "Layout: rows (PREV or NEXT in the condition of B needs a window: Spark refuses it in a lambda function, "
        f"UNSUPPORTED_FEATURE.LAMBDA_FUNCTION_WITH_{refused}_UDF)" in plan
    )
    plan = spark.sql("EXPLAIN " + called(QUERIES["two rows"], kind)).collect()[0][0]
    assert "Layout: rows (a condition has a function of two rows of the match)" in plan
    assert "posexplode" in plan
    # PySpark prints errors as JSON; here they are answers.
    assert "LAMBDA_FUNCTION" not in capfd.readouterr().err


def test_sparks_own_functions_stay_in_lambda_functions(spark: SparkSession) -> None:
    plan = spark.sql("EXPLAIN " + CLAUSE + "PATTERN (A B) DEFINE B AS pmod(PREV(v), 3) < v)").collect()[0][0]
    assert "Layout: lists" in plan
    plan = spark.sql("EXPLAIN " + CLAUSE + "PATTERN (A B) DEFINE B AS log(A.v, v) > 0)").collect()[0][0]
    assert "posexplode" not in plan


def test_too_many_rows(spark: SparkSession) -> None:
    with (
        configured(spark, {"spark.sparkcep.limit.pairRows": "3"}),
        pytest.raises(Exception, match=re.escape("[CEP_PAIR_LIMIT] A partition has more than 3 x 3 pairs of rows")),
    ):
        spark.sql(called(QUERIES["two rows"], "sql")).collect()


RULES = {
    "row": "PATTERN SEQ(a x, b y) WHERE twice(x.v) < 12",
    "pair": "PATTERN SEQ(a x, b y) WHERE gain(x.v, y.v) > 0",
    "return": "PATTERN SEQ(a x, b y) RETURN twice(x.v) AS t, gain(x.v, y.v) AS g",
    "neighbours": "MATCH_RECOGNIZE (MEASURES LAST(B.v) AS last PATTERN (A B+) DEFINE B AS gain(PREV(v), v) > 0)",
    "none": "PATTERN SEQ(a x, b y) RETURN y.v AS v",
}


@pytest.mark.full
def test_rule_sets(spark: SparkSession) -> None:
    rules = ", ".join(f"('{name}', '{called(text, 'sql')}')" for name, text in RULES.items())
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW uf_rules AS SELECT * FROM VALUES {rules} AS t(name, rule)")
    given = "(TABLE(uf) PARTITION BY k ORDER BY i, rules => TABLE(uf_rules), event_type => s)"
    assert spark.sql(f"SELECT * FROM pattern_rule_errors{given}").collect() == []
    found = spark.sql(f"SELECT rule, k, start_time, end_time FROM pattern_rules{given}").collect()
    wanted = []
    for name, text in RULES.items():
        alone = f"('{name}', '{written_out(text)}')"
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW uf_rules AS SELECT * FROM VALUES {alone} AS t(name, rule)")
        wanted += spark.sql(f"SELECT rule, k, start_time, end_time FROM pattern_rules{given}").collect()
    assert wanted
    assert in_order(found) == in_order(wanted)


STREAM = "SELECT * FROM {} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts, id MEASURES "


@pytest.mark.full
@pytest.mark.usefixtures("small_streams")
@pytest.mark.skipif(IS_CONNECT, reason="engines know no session")
def test_streams(spark: SparkSession, tmp_path: Path) -> None:
    text = (
        STREAM
        + """gain(A.v, LAST(B.v)) AS g, sum(twice(B.v)) AS s PATTERN (A B+) WITHIN INTERVAL 20 SECONDS
        DEFINE A AS e = 'A', B AS twice(v) > 2 AND twice(PREV(v)) <= twice(v))"""
    )
    same_rows(spark, called(text, "python"), tmp_path, restarts=False)


@pytest.mark.usefixtures("small_streams")
@pytest.mark.parametrize("condition", ["gain(A.v, v) > 0", "gain(PREV(v), v) > 0"])
def test_two_rows_of_a_stream(condition: str, spark: SparkSession) -> None:
    rows = spark.readStream.format("rate").load().selectExpr("1 AS k", "CAST(value AS INT) AS v", "timestamp AS ts")
    rows.withWatermark("ts", "1 second").createOrReplaceTempView("uf_stream")
    text = f"""SELECT * FROM uf_stream MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES B.v AS v PATTERN (A B)
        WITHIN INTERVAL 20 SECONDS DEFINE A AS v > 0, B AS {called(condition, "sql")})"""
    with pytest.raises(PatternAnalysisError, match="cannot have a condition with a function of two rows") as caught:
        spark.sql(text)
    assert caught.value.error_class == "CEP_STREAMING_UNSUPPORTED"
    assert caught.value.position == text.index("gain_sql")
