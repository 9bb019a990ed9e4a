"""Aggregates in conditions that only the interpreter has give Spark's own values, to the last bit."""

from __future__ import annotations

import random
from decimal import Decimal
from itertools import product
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ..conftest import some

#: By name, or as a call: {} is the column, {y} another one.
AGGREGATES = (
    "stddev", "stddev_samp", "std", "stddev_pop", "variance", "var_samp", "var_pop", "median", "count", "sum", "avg",
    "min", "max", "try_sum", "try_avg", "skewness", "kurtosis", "first_value", "last_value", "first_value({}, true)",
    "last_value({}, true)", "any_value({}, true)", "percentile({}, 0.3)", "percentile({}, 1)",
    "percentile_approx({y}, 0.5)", "approx_percentile({y}, 0.25, 100)", "mode({}, true)", "count(DISTINCT {})",
    "count(DISTINCT {}, {y})", "count({}, {y})", "covar_pop({}, {y})", "covar_samp({}, {y})", "max_by({}, {y})",
    "bit_xor({y})", "bit_and({y})", "bit_or({y})", "array_max(collect_set({}))",
    "string_agg({w}, '-')", "sum(DISTINCT {y})", "count_if({} > 0)", "max({}) FILTER (WHERE {y} > 2)",
)  # fmt: skip
LENGTH = 5


def call(aggregate: str, of: str) -> str:
    """The call over a variable's columns; ``of``: what stands before their names."""
    return (aggregate if "{" in aggregate else aggregate + "({})").format(f"{of}x", y=f"{of}y", w=f"{of}w")


def value(kind: str, rng: random.Random) -> Any:
    if rng.random() < 0.3:
        return None
    if kind == "double":
        return rng.choice([0.1, -2.5, 1e15, float("nan"), rng.uniform(-9, 9), rng.uniform(-9, 9)])
    return rng.randint(-9, 9) if kind == "int" else Decimal(rng.randint(-9999, 9999)).scaleb(-2)


KINDS = ("double", "int", "decimal(6,2)")


@pytest.mark.full
@pytest.mark.parametrize(("kind", "form"), some(product(KINDS, ("clause", "block")), [("double", "block")]))
def test_running(spark: SparkSession, kind: str, form: str) -> None:
    """At the end of a partition the aggregates are those of a window over it."""
    rng = random.Random(kind)
    cases = 300
    rows = [
        (n, t, value(kind, rng), rng.choice([None, 1, 2, 3, 5]), rng.choice([None, "a", "b", ""]))
        for n in range(cases) for t in range(1, LENGTH + 1)
    ]  # fmt: skip
    given = spark.createDataFrame(rows, f"id int, t int, x {kind}, y int, w string")
    # One sorted partition, which GROUP BY adds up in the rows' order.
    given.coalesce(1).sortWithinPartitions("id", "t").createOrReplaceTempView("aggregates_given")
    # Spark has no running form of some of them: at a partition's end the whole one is the same. Beside DISTINCT it
    # would add up in another order.
    whole: list[str] = []
    for distinct in (False, True):
        own = [f"{call(a, '')} AS e_{n}" for n, a in enumerate(AGGREGATES) if ("DISTINCT" in a) == distinct]
        whole.append(f"(SELECT id, {', '.join(own)} FROM aggregates_given GROUP BY id)")
    joined = f"SELECT * FROM aggregates_given JOIN {whole[0]} USING (id) JOIN {whole[1]} USING (id)"
    spark.sql(joined).write.mode("overwrite").saveAsTable("aggregates_rows")
    try:
        tests = [FORMS[form](n, name) for n, name in enumerate(AGGREGATES)]
        text = " UNION ALL ".join(f"SELECT {n} AS n, id FROM ({test})" for n, test in enumerate(tests))
        counts = dict(spark.sql(f"SELECT n, count(*) FROM ({text}) GROUP BY n").collect())
        wrong = [(name, counts.get(n)) for n, name in enumerate(AGGREGATES) if counts.get(n) != cases]
        assert not wrong, "; ".join(map(str, wrong))
    finally:
        spark.sql("DROP TABLE aggregates_rows")


def clause(n: int, name: str) -> str:
    return f"""SELECT id FROM aggregates_rows MATCH_RECOGNIZE (PARTITION BY id ORDER BY t MEASURES 1 AS one
        PATTERN (A{{{LENGTH - 1}}} B) SUBSET S = (A, B) DEFINE B AS {call(name, "S.")} <=> B.e_{n})"""


def block(n: int, name: str) -> str:
    return f"""SELECT id FROM (FROM aggregates_rows PARTITION BY id ORDER BY t EVENT TYPE NONE
        PATTERN SEQ(ANY{{{LENGTH}}} a[]) WHERE {call(name, "a[].")} <=> a[a.LEN].e_{n}
        EVENT SELECTION STRICT CONTIGUITY RETURN a[1].id AS id)"""


FORMS = {"clause": clause, "block": block}
