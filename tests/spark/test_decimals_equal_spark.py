"""Decimal arithmetic between events gives Spark's own values: types, rounding, overflow, with ANSI mode on and off.

Each partition has two rows; what the second one's condition computes of both is compared, there, with what Spark
computed of the same values beforehand. Spark's unary minus, and its `abs` of a negative number, round to 34 digits, or
fail, and are left out.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ..conftest import configured, every

CASES = 300
EXACT = Context(prec=80)
OPERATIONS = ("A.x + B.y", "B.y - A.x", "A.x * B.y", "A.x / B.y", "B.y % A.x", "A.x * 1.1", "(2 - B.y) / A.x")
ORDERS = ("A.x < B.y", "A.x = B.y", "A.x + B.y >= 1.5", "A.x * 1.1 > B.y", "A.x BETWEEN B.y - 1 AND B.y + 0.5")
CHOICES = (
    "coalesce(nullif(A.x, B.y), 1.25)", "CASE WHEN A.x > B.y THEN A.x ELSE B.y END", "A.x IN (B.y, 1.5, 0)",
)  # fmt: skip
#: Precisions and scales where results fit one word, two, are cut, or overflow; integers, and a double.
PAIRS = [
    ("decimal(2,1)", "decimal(9,2)"), ("decimal(9,2)", "decimal(9,2)"), ("int", "decimal(5,3)"),
    ("decimal(18,6)", "decimal(18,2)"), ("decimal(10,2)", "double"), ("decimal(38,10)", "decimal(38,18)"),
]  # fmt: skip
MORE_PAIRS = [
    ("decimal(1,0)", "decimal(38,0)"), ("decimal(38,0)", "decimal(38,38)"), ("decimal(38,18)", "decimal(38,18)"),
    ("bigint", "decimal(10,2)"), ("decimal(20,0)", "bigint"), ("tinyint", "decimal(18,18)"),
    ("decimal(19,19)", "decimal(19,0)"), ("decimal(27,3)", "decimal(12,9)"), ("decimal(38,37)", "decimal(2,2)"),
    ("decimal(38,6)", "double"), ("double", "decimal(30,25)"), ("smallint", "decimal(38,20)"),
    ("decimal(35,34)", "decimal(38,36)"), ("decimal(18,0)", "decimal(18,0)"), ("decimal(17,2)", "decimal(19,4)"),
]  # fmt: skip


def value(kind: str, rng: random.Random) -> Any:
    """NULL, a small value, one of the largest, or any."""
    if rng.random() < 0.05:
        return None
    if kind == "double":
        return rng.choice([0.0, 1.0, -2.5, 1e30, rng.uniform(-100, 100)])
    if not kind.startswith("decimal"):
        most = 2 ** ({"tinyint": 8, "smallint": 16, "int": 32, "bigint": 63}[kind] - 1) - 1  # the sum of two fits
        return rng.choice([0, 1, -1, 7, most, -most, rng.randint(-min(most, 100), min(most, 100))])
    size, scale = map(int, kind[8:-1].split(","))
    digits = rng.randint(1, size)
    whole = rng.choice([0, 1, 5, 10**size - 1, 10 ** (size - 1), rng.randrange(10**digits), rng.randrange(10**digits)])
    return Decimal(rng.choice([1, -1]) * whole).scaleb(-scale, EXACT)


@pytest.mark.full
@pytest.mark.parametrize("ansi", [True, False])
@pytest.mark.parametrize(
    ("x", "y"), [*every(2, PAIRS), *(pytest.param(*pair, marks=pytest.mark.long) for pair in MORE_PAIRS)]
)  # fmt: skip
def test_between_events(spark: SparkSession, x: str, y: str, ansi: bool) -> None:
    rng = random.Random(f"{x} {y}")
    rows = [(n, value(x, rng), value(x, rng), value(y, rng)) for n in range(CASES)]
    texts = [*OPERATIONS, *ORDERS, *CHOICES]
    plain = [text.replace("A.x", "x1").replace("B.y", "y") for text in texts]
    with configured(spark, {"spark.sql.ansi.enabled": "false"}):
        # Under ANSI what overflows is an error: those texts are compared for the others.
        # As text: PySpark rounds a Decimal to 34 digits on its way.
        texts_of = [(n, *(None if v is None else str(v) for v in values)) for n, *values in rows]
        frame = spark.createDataFrame(texts_of, "id int, x1 string, x2 string, y string")
        typed = frame.selectExpr("id", f"CAST(x1 AS {x}) AS x1", f"CAST(x2 AS {x}) AS x2", f"CAST(y AS {y}) AS y")
        given = typed.selectExpr("*", *(f"{text} AS e{k}" for k, text in enumerate(plain)))
        given.createOrReplaceTempView("decimals_given")
        spark.sql(
            "SELECT *, sum(x) OVER (PARTITION BY id) AS e_sum, avg(x) OVER (PARTITION BY id) AS e_avg FROM (SELECT *, "
            "inline(array(named_struct('t', 1, 'x', x1), named_struct('t', 2, 'x', x2))) FROM decimals_given)"
        ).write.mode("overwrite").saveAsTable("decimals_rows")
    named = [*((t, f"e{k}") for k, t in enumerate(texts)), ("sum(S.x)", "e_sum"), ("avg(S.x)", "e_avg")]
    tests = [f"{'B.' + name + ' IS NULL OR ' if ansi else ''}({text}) <=> B.{name}" for text, name in named]

    def found(chosen: Sequence[str], explain: str = "") -> Any:
        return spark.sql(f"""{explain} SELECT id FROM decimals_rows MATCH_RECOGNIZE (
            PARTITION BY id ORDER BY t MEASURES 1 AS one PATTERN (A B) SUBSET S = (A, B)
            DEFINE B AS {" AND ".join(f"({test})" for test in chosen)})""").collect()

    try:
        with configured(spark, {"spark.sql.ansi.enabled": str(ansi).lower()}):
            if len(found(tests)) < CASES:
                assert [test for test in tests if len(found([test])) < CASES] == []
            assert "by the interpreter" not in str(found(tests, "EXPLAIN"))
    finally:
        spark.sql("DROP TABLE decimals_rows")
