"""EXPLAIN NON ANSWERS through Spark: lazy, in both layouts the same, and as the definition says."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sparkcep.exec.engines.non_answers.spec import Bound
from sparkcep.settings import LAYOUT

from ..exec.repair_reference import RepairCase, reference_repair

ASKED = "EXPLAIN NON ANSWERS (k => 4, uncertainty => 2, step => 1)"
LAYOUTS = ("lists", "rows")


def test_nothing_runs_before_an_action(spark: SparkSession) -> None:
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW nl_log AS SELECT k, raise_error('read') AS t, 'A' AS e FROM VALUES (1) t(k)"
    )
    frame = spark.sql(f"SELECT k, warnings FROM (FROM (SELECT k, CAST(t AS INT) AS t, e FROM nl_log) l PARTITION BY k "
                      f"ORDER BY t EVENT TYPE e PATTERN SEQ(A, B) {ASKED})")  # fmt: skip
    assert frame.columns == ["k", "warnings"]
    with pytest.raises(PySparkException, match="read"):
        frame.collect()


def random_cases(count: int) -> list[tuple[tuple[str, ...], tuple[int, ...]]]:
    draw = random.Random(7)
    out = []
    for _ in range(count):
        rows = draw.randint(1, 6)
        times = sorted(draw.randint(0, 8) for _ in range(rows))
        out.append((tuple(draw.choice("ABC") for _ in range(rows)), tuple(times)))
    return out


@pytest.mark.parametrize("layout", LAYOUTS)
def test_as_the_definition(spark: SparkSession, layout: str) -> None:
    """B, A, C with at most 2 from A to C: cost and changes of 300 cases; what has a match gives no row."""
    cases = random_cases(300)
    rows = [
        (k, t, p, e)
        for k, (types, times) in enumerate(cases)
        for p, (e, t) in enumerate(zip(types, times, strict=True))
    ]
    spark.createDataFrame(rows, "k INT, t INT, p INT, e STRING").createOrReplaceTempView("nd_log")
    spark.conf.set(LAYOUT.key, layout)
    try:
        frame = spark.sql(
            f"FROM nd_log PARTITION BY k ORDER BY t, p EVENT TYPE e PATTERN SEQ(B b, A a, C c) "
            f"WHERE c.t - a.t <= 2 {ASKED}"
        )
        found: dict[int, Any] = {row["k"]: row for row in frame.collect()}
    finally:
        spark.conf.unset(LAYOUT.key)
    repaired = 0
    for k, (types, times) in enumerate(cases):
        places = [
            (i, j, n) for i, x in enumerate(types) for j, y in enumerate(types) for n, z in enumerate(types)
            if x + y + z == "BAC" and i < j < n and times[n] - times[j] <= 2
        ]  # fmt: skip
        assert (k in found) == (not places)
        if places:
            continue
        answer = reference_repair(RepairCase(types, times, ("B", "A", "C"), (Bound(1, 2, None, 2),), 1, 4, 2))
        row = found[k]
        if answer is None:
            assert row["cost"] is None
            assert row["changes"] is None
            assert row["reason"] is not None
            continue
        repaired += 1
        cost, chosen, moved = answer
        changes = [(v, r, times[r], times[r] + s, s) for v, r, s in zip("bac", chosen, moved, strict=True) if s]
        assert (row["cost"], [tuple(c) for c in row["changes"]]) == (cost, changes)
        assert row["reason"] is None
    assert repaired > 30


def test_any_order_is_any_plan(spark: SparkSession) -> None:
    """The same rows whatever the layout, reasons and runs included."""
    spark.sql("""CREATE OR REPLACE TEMPORARY VIEW na_any AS SELECT k, t, e FROM VALUES (1, 0, 'A'), (1, 5, 'B'),
        (2, 3, 'B'), (2, 4, 'A'), (3, 1, 'X'), (4, 0, 'A'), (4, 1, 'X'), (4, 2, 'B') t(k, t, e)""")
    answers = []
    for layout in LAYOUTS:
        spark.conf.set(LAYOUT.key, layout)
        try:
            answers.append(sorted(map(str, spark.sql(
                f"FROM na_any PARTITION BY k ORDER BY t EVENT TYPE e PATTERN SEQ(A a, !X x, B b) WITHIN 4 {ASKED}"
            ).collect())))  # fmt: skip
        finally:
            spark.conf.unset(LAYOUT.key)
    assert answers[0] == answers[1]
    assert len(answers[0]) == 4
