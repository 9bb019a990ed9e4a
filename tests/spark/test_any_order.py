"""PERMUTE, IMMEDIATELY and other short forms of a block give what the same patterns give that are written out."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeAlias

import pytest
from pyspark.sql import SparkSession

pytestmark = [pytest.mark.full]

#: Time, type, and column v.
Event: TypeAlias = tuple[int, str, int]
Fits: TypeAlias = Callable[[list[Event]], bool]

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
    ("SEQ(A a, B b, C c) MATCHES LATEST", "SEQ(A a, !A o, B b, !SEQ(A p, !A r, B q), C c)", SINGLE),
    ("SEQ(A a, B b, C c) WHERE a.v < b.v AND b.v < 5 AND c.v > a.v MATCHES LATEST",
     "SEQ(A a, !A o, B b, !SEQ(A p, !A r, B q), C c) "
     "WHERE a.v < b.v AND b.v < 5 AND c.v > a.v AND p.v < q.v AND q.v < 5",
     SINGLE),
    ("SEQ(A a, B b, C c) WHERE (time, within, 12, consecutive)",
     "SEQ(A a, B b, C c) WHERE b.t <= a.t + 12 AND c.t <= b.t + 12", SINGLE),
    ("SEQ(A a, B b, C c) MATCHES SKIP PAST LAST EVENT", "SEQ(A a, B b, C c) MATCHES NON OVERLAPPING", SINGLE),
)  # fmt: skip


def open_sequences(steps: str, fits: Fits, log: Sequence[Event], until: str = "") -> list[tuple[int, ...]]:
    """EQL's machine: of each step one open sequence, which a newer one replaces."""
    waiting: list[list[Event] | None] = [[], *[None] * (len(steps) - 1)]
    found = []
    for event in log:
        before = list(waiting)
        for n in reversed(range(len(steps))):
            run = before[n]
            if run is None:
                continue
            longer = [*run, event]
            if event[1] == steps[n] and fits(longer):
                waiting[n] = [] if n == 0 else None if waiting[n] is run else waiting[n]
                if n + 1 < len(steps):
                    waiting[n + 1] = longer
                else:
                    found.append(tuple(t for t, _, _ in longer))
            elif n and event[1] == until:
                waiting[n] = None
    return found


@pytest.mark.parametrize(
    ("steps", "fits", "text"),
    [
        ("AC", lambda run: True, "SEQ(A a, C c) MATCHES LATEST RETURN k, a.t AS x, c.t AS y"),
        ("AA", lambda run: True, "SEQ(A a, A c) MATCHES LATEST RETURN k, a.t AS x, c.t AS y"),
        ("AC", lambda run: len(run) < 2 or run[0][2] <= run[1][2],
         "SEQ(A a, C c) WHERE a.v <= c.v MATCHES LATEST RETURN k, a.t AS x, c.t AS y"),
        ("ABC", lambda run: True, "SEQ(A a, B b, C c) MATCHES LATEST RETURN k, a.t AS x, b.t AS y, c.t AS z"),
        ("ABC", lambda run: len(run) != 2 or run[0][2] <= run[1][2],
         "SEQ(A a, B b, C c) WHERE a.v <= b.v MATCHES LATEST RETURN k, a.t AS x, b.t AS y, c.t AS z"),
        ("ABC", lambda run: run[0][2] < 4 and (len(run) < 3 or run[0][2] != run[2][2]),
         "SEQ(A a, B b, C c) WHERE a.v < 4 AND a.v <> c.v UNTIL X x MATCHES LATEST "
         "RETURN k, a.t AS x, b.t AS y, c.t AS z"),
    ],
)  # fmt: skip
def test_latest_keeps_one_open_sequence(spark: SparkSession, steps: str, fits: Fits, text: str) -> None:
    rng = random.Random(7)
    logs = [[(t, rng.choice("AABBCX"), rng.randrange(6)) for t in range(12)] for _ in range(150)]
    rows = [(k, *event) for k, log in enumerate(logs) for event in log]
    spark.createDataFrame(rows, "k int, t int, e string, v int").createOrReplaceTempView("latest_log")
    got = sorted(
        tuple(row)
        for row in spark.sql(f"FROM latest_log PARTITION BY k ORDER BY t EVENT TYPE e PATTERN {text}").collect()
    )
    until = "X" if "UNTIL" in text else ""
    assert got == sorted((k, *found) for k, log in enumerate(logs) for found in open_sequences(steps, fits, log, until))
    assert got


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
