"""Aggregates in conditions that only the interpreter has give Spark's own values, to the last bit."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

AGGREGATES = (
    "stddev", "stddev_samp", "std", "stddev_pop", "variance", "var_samp", "var_pop", "median", "count", "sum", "avg",
    "min", "max", "try_sum", "try_avg",
)  # fmt: skip
LENGTH = 5


def value(kind: str, rng: random.Random) -> Any:
    if rng.random() < 0.3:
        return None
    if kind == "double":
        return rng.choice([0.1, -2.5, 1e15, float("nan"), rng.uniform(-9, 9), rng.uniform(-9, 9)])
    return rng.randint(-9, 9) if kind == "int" else Decimal(rng.randint(-9999, 9999)).scaleb(-2)


@pytest.mark.parametrize(
    "kind", ["double", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("int", "decimal(6,2)"))]
)
def test_running(spark: SparkSession, kind: str) -> None:
    """At the end of a partition the aggregates are those of a window over it."""
    rng = random.Random(kind)
    cases = 300
    rows = [(n, t, value(kind, rng)) for n in range(cases) for t in range(1, LENGTH + 1)]
    # Spark has no running median; at a partition's end the whole one is the same.
    running = ", ".join(
        f"{name}(x) OVER (PARTITION BY id {'' if name == 'median' else 'ORDER BY t'}) AS e_{name}"
        for name in AGGREGATES
    )
    spark.createDataFrame(rows, f"id int, t int, x {kind}").createOrReplaceTempView("aggregates_given")
    spark.sql(f"SELECT *, {running} FROM aggregates_given").write.mode("overwrite").saveAsTable("aggregates_rows")
    try:
        wrong = []
        for form in (clause, block):
            tests = [form(name) for name in AGGREGATES]
            text = " UNION ALL ".join(f"SELECT {n} AS n, id FROM ({test})" for n, test in enumerate(tests))
            counts = dict(spark.sql(f"SELECT n, count(*) FROM ({text}) GROUP BY n").collect())
            wrong += [
                (form.__name__, name, counts.get(n)) for n, name in enumerate(AGGREGATES) if counts.get(n) != cases
            ]
        assert wrong == []
    finally:
        spark.sql("DROP TABLE aggregates_rows")


def clause(name: str) -> str:
    return f"""SELECT id FROM aggregates_rows MATCH_RECOGNIZE (PARTITION BY id ORDER BY t MEASURES 1 AS one
        PATTERN (A{{{LENGTH - 1}}} B) SUBSET S = (A, B) DEFINE B AS {name}(S.x) <=> B.e_{name})"""


def block(name: str) -> str:
    return f"""SELECT id FROM (FROM aggregates_rows PARTITION BY id ORDER BY t EVENT TYPE NONE
        PATTERN SEQ(ANY{{{LENGTH}}} a[]) WHERE {name}(a[].x) <=> a[a.LEN].e_{name}
        EVENT SELECTION STRICT CONTIGUITY RETURN a[1].id AS id)"""
