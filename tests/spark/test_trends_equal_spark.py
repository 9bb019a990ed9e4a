"""Expressions and HAVING over trends equal Spark's over the trends that the reference constructs."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from sparkcep.query import Matches, Selection
from tests.exec.reference_runs import reference_runs

from ..conftest import some
from ..exec.notation import tree

PATTERNS = {
    "A+ B": "SEQ(A+, B)",
    "(A | B)+": "(A | B)+",
    "(A+ B)+": "(SEQ(A+, B))+",
    "A B* !C A": "SEQ(A, B*, !C, A A2)",
}
#: Columns: their types, and digits of random values.
TYPES = {"i": "int", "d": "decimal(10,2)", "w": "decimal(38,18)", "u": "decimal(30,0)", "f": "decimal(38,36)"}
DIGITS = {"d": 9, "w": 36, "u": 30, "f": 38}
_OF = {"A": "var LIKE 'A%'", "B": "var = 'B'"}


def of(function: str, variable: str, column: str) -> str:
    """An aggregate over the constructed trends' events."""
    return f"{function}(CASE WHEN {_OF[variable]} THEN {column} END)"


def total(variable: str, column: str, scale: int) -> str:
    """Sums have 38 digits."""
    return f"CAST({of('sum', variable, column)} AS DECIMAL(38, {scale}))"


N = "CAST(count(DISTINCT trend) AS DECIMAL(38, 0))"
#: An expression over trends, and the same over events of constructed trends.
EXPRESSIONS = {
    "COUNT(*)": N,
    "SUM(A.i) / COUNT(*)": f"{total('A', 'i', 0)} / {N}",
    "SUM(A.w)": total("A", "w", 18),
    "SUM(A.u) - SUM(B.u)": f"{total('A', 'u', 0)} - {total('B', 'u', 0)}",
    "SUM(B.f)": total("B", "f", 36),
    "AVG(A.d)": of("avg", "A", "d"),
    "AVG(B.w)": of("avg", "B", "w"),
    "AVG(A.u)": of("avg", "A", "u"),
    "AVG(A.f)": of("avg", "A", "f"),
    "try_avg(w)": "avg(w)",
    "AVG(A.i) * 2": f"{of('avg', 'A', 'i')} * 2",
    "round(AVG(i), 2)": "round(avg(i), 2)",
    "COUNT(B.i) + COUNT(B.i)": f"CAST({of('count', 'B', 'i')} AS DECIMAL(38, 0)) * 2",
    "CASE WHEN COUNT(*) > 3 THEN 'many' WHEN MAX(A.d) > MIN(B.d) THEN concat('', k) END":
        f"CASE WHEN {N} > 3 THEN 'many' WHEN {of('max', 'A', 'd')} > {of('min', 'B', 'd')} THEN CAST(k AS STRING) END",
    "CAST(COUNT(A) AS DOUBLE) / approx_count(*)": f"CAST({of('count', 'A', '1')} AS DOUBLE) / CAST({N} AS DOUBLE)",
}  # fmt: skip
HAVING = {
    "COUNT(*) > 0": f"{N} > 0",
    "AVG(A.d) > 0 OR COUNT(*) BETWEEN 2 AND 4": f"{of('avg', 'A', 'd')} > 0 OR {N} BETWEEN 2 AND 4",
    "k % 2 = 0 AND SUM(i) IS NOT NULL": "k % 2 = 0 AND sum(i) IS NOT NULL",
}


def value(column: str, rng: random.Random) -> Any:
    if rng.random() < 0.2:
        return None
    if column == "i":
        return rng.randint(-9, 9)
    scale = int(TYPES[column].rstrip(")").split(",")[1])
    digits = rng.choice([2, DIGITS[column] // 2, DIGITS[column] - 2])
    return Decimal(rng.randint(-(10**digits), 10**digits)).scaleb(-scale)


@pytest.mark.full
@pytest.mark.parametrize("pattern", some(PATTERNS, ["(A+ B)+"]))
def test_constructed(spark: SparkSession, pattern: str) -> None:
    rng = random.Random(pattern)
    events = [
        (k, t, rng.choice("AABBC"), *(value(c, rng) for c in TYPES))
        for k in range(60) for t in range(rng.randint(0, 7))
    ]  # fmt: skip
    columns = ", ".join(f"{c} {type_}" for c, type_ in TYPES.items())
    rows = []
    for k in range(60):
        own = [e for e in events if e[0] == k]
        found = reference_runs(
            tree(pattern), len(own), lambda key, row, own=own: own[row][2] == key[0], (), Selection.ANY, Matches.ALL
        )
        rows += [(k, n, key, *own[row][3:]) for n, path in enumerate(found) for key, row in path]
    spark.createDataFrame(events, f"k int, t int, type string, {columns}").createOrReplaceTempView("ts_given")
    spark.createDataFrame(rows, f"k int, trend int, var string, {columns}").createOrReplaceTempView("ts_made")
    asked = {e: sql for e, sql in EXPRESSIONS.items() if pattern != "A B* !C A" or ("A." not in e and "A)" not in e)}
    for having, condition in HAVING.items():
        if "A." in having and pattern == "A B* !C A":
            continue
        block = spark.sql(
            f"FROM ts_given ORDER BY t EVENT TYPE type PATTERN {PATTERNS[pattern]} GROUP BY k HAVING {having} "
            f"RETURN k, {', '.join(f'{e} AS c{n}' for n, e in enumerate(asked))}"
        )
        expected = spark.sql(
            f"SELECT k, {', '.join(f'{e} AS c{n}' for n, e in enumerate(asked.values()))} FROM ts_made GROUP BY k "
            f"HAVING {condition}"
        )
        assert [f.dataType for f in block.schema] == [f.dataType for f in expected.schema]
        assert sorted(block.collect()) == sorted(expected.collect())
