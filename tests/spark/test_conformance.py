"""Trino's own MATCH_RECOGNIZE cases, in Spark's spelling, with the rows that Trino expects."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

CASES = Path(__file__).parents[3] / "shared" / "conformance" / "trino_match_recognize.jsonl"

#: Spark 4.3 reads `IN (SELECT 'Y')` as a typed literal, also outside of any pattern; respelled, same meaning.
RESPELLED = {
    "TestAggregationsInRowPatternMatching.testAggregationArguments#3": ("IN (SELECT 'Y')", "IN (SELECT 'Y' AS y)")
}

#: Cases that must pass; the count may not fall.
EXPECTED_PASSES = 85


def plain(value: Any) -> Any:
    """Values that compare across numeric widths."""
    if isinstance(value, list):
        return tuple(plain(v) for v in value)
    return float(value) if isinstance(value, Decimal) else value


def rows(spark: SparkSession, text: str) -> Counter[Any]:
    return Counter(tuple(plain(v) for v in row) for row in spark.sql(text).collect())


def passes(spark: SparkSession, case: dict[str, Any]) -> str:
    """Empty, or what is wrong."""
    sql = case["sql"].replace(*RESPELLED.get(case["id"], ("", "")))
    expected = case["expected"]
    if expected.get("error"):
        try:
            rows(spark, sql)
        except PySparkException:
            return ""
        return "no error"
    wanted = Counter() if expected.get("empty") else rows(spark, f"SELECT * FROM ({expected['rows_sql']})")
    found = rows(spark, sql)
    return "" if found == wanted else f"expected {sorted(map(str, wanted))}\nfound    {sorted(map(str, found))}"


@pytest.mark.full
@pytest.mark.timeout(600)
def test_trino_cases(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    if not CASES.exists():
        pytest.skip(f"the conformance cases are not beside the project ({CASES.name})")
    cases = [json.loads(line) for line in CASES.read_text().splitlines()]
    failures = {}
    for case in cases:
        if wrong := passes(spark, case):
            failures[case["id"]] = wrong
    passed = len(cases) - len(failures)
    with capsys.disabled():
        print(f"\nconformance: {passed} of {len(cases)} Trino cases pass")
    assert passed >= EXPECTED_PASSES, "\n\n".join(f"{k}\n{v}" for k, v in failures.items())
