"""Comparisons of scaled values in trends, whose integers are made of the columns, hold where Spark's own do."""

from __future__ import annotations

import itertools
import random
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession

COLUMNS = {
    "b": ("TINYINT", 100, 0), "i": ("INT", 2**31 - 1, 0), "l": ("BIGINT", 2**63 - 1, 0), "s": ("BIGINT", 50, 0),
    "d": ("DECIMAL(10,2)", 10**10 - 1, 2), "m": ("DECIMAL(18,4)", 10**18 - 1, 4), "c": ("DECIMAL(5,3)", 10**5 - 1, 3),
}  # fmt: skip
SIDES = ("{}", "{} * 1.25", "0.5 * {}", "{} + 0.75", "{} - 7.5", "9.5 - {}", "({}) * -1.1", "{} * 1.000", "{} + 0.0")


def values(rng: random.Random) -> list[str]:
    """A row of literals: small values, those near a type's ends, NULL."""
    out = []
    for type_, most, scale in COLUMNS.values():
        small = rng.randint(-9, 9) * 10**scale
        number = rng.choice(
            [small, small, most - rng.randint(0, 3), -most + rng.randint(0, 3), rng.randint(-most, most)]
        )
        literal = "NULL" if rng.random() < 0.1 else f"'{Decimal(max(-most, min(most, number))).scaleb(-scale):f}'"
        out.append(f"CAST({literal} AS {type_})")
    return out


@pytest.fixture
def scaled(spark: SparkSession) -> SparkSession:
    rng = random.Random(5)
    rows = [f"({t}, '{'AB'[t % 2]}', {', '.join(values(rng))})" for t in range(60)]
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW scaled AS SELECT * FROM VALUES "
        f"{', '.join(rows)} v(t, e, {', '.join(COLUMNS)})"
    )  # fmt: skip
    return spark


def block(condition: str) -> str:
    return f"FROM scaled ORDER BY t EVENT TYPE e PATTERN SEQ(A a, B b) WHERE {condition} RETURN COUNT(*)"


@pytest.mark.full
@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.full) for n in range(2, 9))])
def test_equal_to_a_join(scaled: SparkSession, seed: int) -> None:
    rng = random.Random(seed)
    pairs = list(itertools.product(COLUMNS, SIDES, ("<", "<=", ">", ">=", "="), COLUMNS, SIDES))
    conditions = [
        f"{one.format(f'a.{x}')} {operator} {other.format(f'b.{y}')}"
        for x, one, operator, y, other in rng.sample(pairs, 10)
    ]
    conditions += [
        "a.l * 1.25 < b.l",
        "a.l = b.l + 0.0",
        "a.d * 1.1 < b.d",
        "a.m - 0.5 >= b.s",
        "b.l * 9.9 > a.m * 9.9",
    ]
    found = dict.fromkeys(range(len(conditions)), 0)
    for k, n in scaled.sql(
        " UNION ALL ".join(f"SELECT {k}, * FROM ({block(c)})" for k, c in enumerate(conditions))
    ).collect():
        found[k] = int(n)
    joined = scaled.sql(
        f"SELECT {', '.join(f'count_if({c})' for c in conditions)} FROM scaled a JOIN scaled b "
        "ON a.t < b.t AND a.e = 'A' AND b.e = 'B'"
    )
    assert dict(zip(conditions, found.values(), strict=True)) == dict(zip(conditions, joined.collect()[0], strict=True))
    made = [explained(scaled, c) for c in conditions[::4]]
    assert sum("tree per state over" in text and "CAST" not in text for text in made) > len(made) / 2


def explained(spark: SparkSession, condition: str) -> str:
    text: str = spark.sql(f"EXPLAIN {block(condition)}").collect()[0][0]
    return text[text.index("Granularity") : text.index("Aggregates:")]
