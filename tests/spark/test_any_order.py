"""PERMUTE, IMMEDIATELY and other short forms of a block give what the same patterns give that are written out."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession

pytestmark = [pytest.mark.full]

#: PERMUTE; its orders one by one. Their answers are put together: a component that is missing is NULL.
ORDERS = (
    ("SEQ(A a, PERMUTE(B b, C c))", "b.v < c.v", ["SEQ(A a, B b, C c)", "SEQ(A a, C c, B b)"]),
    ("SEQ(PERMUTE(A a, B b), C c)", "a.v <= b.v AND a.v + b.v > c.v", ["SEQ(A a, B b, C c)", "SEQ(B b, A a, C c)"]),
    (
        "PERMUTE(A a, B b, C c)", "a.v < b.v AND b.v < c.v + 2",
        ["SEQ(A a, B b, C c)", "SEQ(A a, C c, B b)", "SEQ(B b, A a, C c)", "SEQ(B b, C c, A a)", "SEQ(C c, A a, B b)",
         "SEQ(C c, B b, A a)"],
    ),
    ("PERMUTE(SEQ(A a, B b), !X x C c)", "a.v < c.v", ["SEQ(A a, B b, !X x, C c)", "SEQ(!X x, C c, A a, B b)"]),
)  # fmt: skip
RETURNED = "RETURN a.t AS a, b.t AS b, c.t AS c"
#: With IMMEDIATELY; with a constraint between the same places.
GAPS = (
    ("SEQ(A a, B b IMMEDIATELY, C c)", "SEQ(A a, B b, C c)", "(gap, within, 1, 1, 2)"),
    ("SEQ(A a, B b, C c IMMEDIATELY)", "SEQ(A a, B b, C c)", "(gap, within, 1, 2, 3)"),
    ("SEQ(A a, !X x, B b IMMEDIATELY, C c IMMEDIATELY)", "SEQ(A a, !X x, B b, C c)",
     "(gap, within, 1, 1, 3) AND (gap, within, 1, 3, 4)"),
)  # fmt: skip

ANY = "EVENT SELECTION SKIP TILL ANY MATCH"
SINGLE = "RETURN a.t AS a, b.t AS b, c.t AS c"
SEVERAL = "RETURN a.t AS a, collect_list(b[].t) AS b, c.t AS c"
#: A short form, its long form, what is returned of both.
LONG_FORMS = (
    ("SEQ(A a, B+ b[] UNTIL (X x), C c)", "SEQ(A a, (SEQ(!X x, B b[]))+, C c)", SEVERAL),
    ("SEQ(A a, B+ b[] UNTIL (X x), C c) WHERE b[i].v >= b[i-1].v AND x.v > a.v",
     "SEQ(A a, (SEQ(!X x, B b[]))+, C c) WHERE b[i].v >= b[i-1].v AND x.v > a.v", SEVERAL),
    ("SEQ(A a, B+ b[], C c) UNTIL X x", "SEQ(A a, (SEQ(!X x, B b[]))+, !X y, C c)", SEVERAL),
    ("SEQ(A a, B b, C c) WHERE x.v > a.v UNTIL X x",
     "SEQ(A a, !X x, B b, !X y, C c) WHERE x.v > a.v AND y.v > a.v", SINGLE),
    ("SEQ(A a, B b, C c SKIP TILL ANY MATCH) WHERE a.v < b.v",
     f"SEQ(A a, !B n, B b, C c) WHERE a.v < b.v AND a.v < n.v {ANY}", SINGLE),
    ("SEQ(A a, B b SKIP TILL ANY MATCH, C c) WHERE b.v < c.v",
     f"SEQ(A a, B b, !C n, C c) WHERE b.v < c.v AND b.v < n.v {ANY}", SINGLE),
    (f"SEQ(A a, B b, C c SKIP TILL NEXT MATCH) WHERE a.v < c.v {ANY}",
     f"SEQ(A a, B b, !C n, C c) WHERE a.v < c.v AND a.v < n.v {ANY}", SINGLE),
    (f"SEQ(A a, B b SKIP TILL NEXT MATCH, C c) WITHIN 60 {ANY}", f"SEQ(A a, !B n, B b, C c) WITHIN 60 {ANY}", SINGLE),
    ("SEQ(A a, B b, C c IMMEDIATELY) EVENT SELECTION STRICT CONTIGUITY",
     "SEQ(A a, B b, C c) EVENT SELECTION STRICT CONTIGUITY", SINGLE),
    ("SEQ(A a, B b SKIP TILL NEXT MATCH, C c) EVENT SELECTION STRICT CONTIGUITY",
     "SEQ(A a, B b, C c IMMEDIATELY)", SINGLE),
    ("SEQ(A a, B b, !X x IMMEDIATELY, C c)", "SEQ(A a, B b, !X x, C c) WHERE x.t = b.t + 6", SINGLE),
    ("SEQ(A a, B b, C c) MATCHES LATEST", "SEQ(A a, !A o, B b, !SEQ(A p, B q), C c)", SINGLE),
    ("SEQ(A a, B b, C c) WHERE a.v < b.v AND b.v < 5 AND c.v > a.v MATCHES LATEST",
     "SEQ(A a, !A o, B b, !SEQ(A p, B q), C c) WHERE a.v < b.v AND b.v < 5 AND c.v > a.v AND p.v < q.v AND q.v < 5",
     SINGLE),
    ("SEQ(A a, B b, C c) WHERE (time, within, 12, consecutive)",
     "SEQ(A a, B b, C c) WHERE b.t <= a.t + 12 AND c.t <= b.t + 12", SINGLE),
    ("SEQ(A a, B b, C c) MATCHES SKIP PAST LAST EVENT", "SEQ(A a, B b, C c) MATCHES NON OVERLAPPING", SINGLE),
)  # fmt: skip


@pytest.fixture(scope="module")
def log(spark: SparkSession) -> str:
    rng = random.Random(11)
    rows = [(n % 6, n, rng.choice("AABBCCX"), rng.randrange(6)) for n in range(240)]
    spark.createDataFrame(rows, "k int, t int, e string, v int").createOrReplaceTempView("any_order_log")
    return "FROM any_order_log PARTITION BY k ORDER BY t EVENT TYPE e"


def found(spark: SparkSession, text: str) -> list[str]:
    return sorted(str(row.asDict()) for row in spark.sql(text).collect())


@pytest.mark.full
@pytest.mark.parametrize(("pattern", "condition", "orders"), ORDERS)
def test_orders(spark: SparkSession, log: str, pattern: str, condition: str, orders: list[str]) -> None:
    # Conditions need not know which events come last: behind the block they are plain SQL.
    rest = f"WITHIN 90 EVENT SELECTION SKIP TILL ANY MATCH {RETURNED}, a.v AS av, b.v AS bv, c.v AS cv"
    got = found(spark, f"{log} PATTERN {pattern} WHERE {condition} {rest}")
    after = condition.replace(".v", "v")
    wanted = found(
        spark, " UNION ALL ".join(f"(SELECT * FROM ({log} PATTERN {o} {rest}) WHERE {after})" for o in orders)
    )
    assert got == wanted
    assert got


@pytest.mark.parametrize("strategy", ["SKIP TILL ANY MATCH", "SKIP TILL NEXT MATCH"])
@pytest.mark.parametrize(("pattern", "plain", "gaps"), GAPS)
def test_immediately(spark: SparkSession, log: str, pattern: str, plain: str, gaps: str, strategy: str) -> None:
    rest = f"EVENT SELECTION {strategy} {RETURNED}"
    got = found(spark, f"{log} PATTERN {pattern} {rest}")
    assert got == found(spark, f"{log} PATTERN {plain} WHERE {gaps} {rest}")
    assert got


@pytest.mark.parametrize(("short", "long", "returned"), LONG_FORMS)
def test_long_forms(spark: SparkSession, log: str, short: str, long: str, returned: str) -> None:
    got = found(spark, f"{log} PATTERN {short} {returned}")
    assert got == found(spark, f"{log} PATTERN {long} {returned}")
    assert got
