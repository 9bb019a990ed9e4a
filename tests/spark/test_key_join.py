"""A join of keys before matching changes no answer."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession

import sparkcep

PATTERNS = [
    "SEQ(A x, B y)", "SEQ(B y, A x)", "SEQ(A x, B y, C z)", "SEQ(A x, C+ z, B y)", "SEQ(C z, A x, NOT D n, B y)",
    "SEQ(C z, B y, A x)", "SEQ(A x, (C z | D d), B y)", "SEQ(A x, C? z, B y)", "SEQ((A|D) x, B y)",
]  # fmt: skip
CONDITIONS = ["y.parent = x.entity", "x.entity = y.parent AND y.i < x.i + 700", "y.parent = x.entity AND y.v >= x.v"]
STRATEGIES = [
    "", "EVENT SELECTION SKIP TILL ANY MATCH", "MATCHES NON OVERLAPPING", "MATCHES FIRST", "WITHIN 600",
]  # fmt: skip
SETTING = "spark.sparkcep.planner.joinPrefilter.enabled"


@pytest.mark.full
def test_random_patterns(spark: SparkSession) -> None:
    chosen = random.Random(59)
    joined = 0
    spark.conf.set("spark.sparkcep.planner.sampling.minBytes", "1")
    try:
        for number in range(24):
            rare = [chosen.randrange(1500) for _ in range(6)]
            spark.sql(f"""
              CREATE OR REPLACE TEMPORARY VIEW keys_that_join AS SELECT CAST(id AS INT) AS i, CAST(id % 2 AS INT) AS k,
                CASE WHEN id IN ({", ".join(map(str, rare))}) THEN 'A'
                  WHEN id % 41 = 3 THEN 'C' WHEN id % 97 = 5 THEN 'D' ELSE 'B' END AS e,
                CAST(id * 37 % 31 AS INT) AS entity, CAST(id % 7 AS INT) AS v,
                nullif(CAST(id * {chosen.randrange(1, 99)} % 29 AS INT), 4) AS parent
              FROM range(1500)""").collect()
            pattern = chosen.choice(PATTERNS)
            text = (
                f"FROM keys_that_join PARTITION BY k ORDER BY i EVENT TYPE e PATTERN {pattern} "
                f"WHERE {chosen.choice(CONDITIONS)} {chosen.choice(STRATEGIES)} RETURN k, x.i AS xi, y.i AS yi"
            )
            answers = []
            for enabled in ("true", "false"):
                spark.conf.set(SETTING, enabled)
                answers.append(sorted(map(str, sparkcep.sql(spark, text).collect())))
            spark.conf.set(SETTING, "true")
            joined += "Key join: yes" in sparkcep.sql(spark, f"EXPLAIN {text}").collect()[0][0]
            assert answers[0] == answers[1], (number, text)
    finally:
        spark.conf.unset(SETTING)
        spark.conf.unset("spark.sparkcep.planner.sampling.minBytes")
    assert joined >= 12
