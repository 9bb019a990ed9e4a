"""The table of cases that every implementation must get right, through each kind of index."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import sparkcep
from sparkcep import index

from ..sqltest import read_cases

FILE = Path(__file__).parents[1] / "sql" / "block" / "case_table.test"
KINDS = [
    pytest.param("siesta", {}, id="siesta"),
    pytest.param("siesta", {"lookback": "6"}, id="lookback", marks=pytest.mark.long),
    pytest.param("signature", {}, id="signature", marks=pytest.mark.long),
    pytest.param("set_containment", {}, id="set_containment", marks=pytest.mark.long),
]


@pytest.fixture(scope="module")
def statement(spark: SparkSession) -> str:
    """All cases in one, over tables: rows are case, name and positions."""
    parts = []
    for number, case in enumerate(read_cases(FILE)):
        if case.kind == "ok":
            spark.sql("DROP TABLE IF EXISTS i" + case.sql.split()[3])
            spark.sql(
                case.sql.replace("TEMPORARY VIEW ", "TABLE i").replace(" AS SELECT", " USING parquet AS SELECT", 1)
            )
        else:
            text = case.sql.replace("FROM ct_", "FROM ict_")
            parts.append(f"SELECT {number} AS n, name, CAST(position AS STRING) AS p FROM ({text})")
    return " UNION ALL ".join(parts)


@pytest.mark.full
@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_case_table(spark: SparkSession, statement: str, kind: str, options: dict[str, str]) -> None:
    expected = sorted(
        (number, *(part.strip() for part in row.split("|")))
        for number, case in enumerate(read_cases(FILE))
        for row in (case.expected or ())
        if case.kind == "query"
    )
    for table, time in (("ict_log", "pos"), ("ict_times", "time")):
        name = f"{table}_index"
        index.drop(spark, name, if_exists=True)
        index.create(spark, name, table, case="name", time=time, event="type", using=kind, options=options)
    try:
        assert "snapshot" in sparkcep.explain(spark, statement)
        assert sorted(tuple(r) for r in spark.sql(statement).collect()) == expected
    finally:
        for table in ("ict_log", "ict_times"):
            index.drop(spark, f"{table}_index")
