"""What users are told of a pattern without rows: constants that the log lacks, and how far the longest run came."""

from __future__ import annotations

import warnings

import pytest
from pyspark.sql import SparkSession

from sparkcep.errors import PatternWarning
from sparkcep.session.inspection.statements import no_rows_notes

from ..conftest import every

LOG = """(SELECT * FROM VALUES (1, 1, 'Register', 'ok'), (1, 2, 'Shelf', 'ok'), (2, 1, 'Register', 'ok'),
  (2, 2, 'Exit', 'ok'), (3, 1, 'Shelf', 'bad') l(c, t, e, s))"""
BLOCK = "PARTITION BY c ORDER BY t EVENT TYPE e PATTERN"
CLAUSE = "PARTITION BY c ORDER BY t MEASURES A.t AS t"

CASES = {
    f"FROM {LOG} {BLOCK} SEQ(Registr a, Shelf b)": [
        "no row has e = 'Registr'; did you mean 'Register'?",
        "no partition has the first component; in 3 partitions there is no event of a's type",
    ],
    # folded: what runs is another pattern
    f"FROM {LOG} {BLOCK} SEQ(Shelf a, Register b) MATCHES FIRST RETURN c, a.t AS t": [
        "the longest partial matches have a; in 1 partition no later event could be b",
    ],
    f"FROM {LOG} {BLOCK} SEQ(Register a, Shelf b) WHERE a.s = 'okk'": [
        "no row has s = 'okk'; did you mean 'ok'?",
        "no partition has the first component; in 1 partition an event of a's type failed a condition",
    ],
    f"FROM {LOG} {BLOCK} SEQ(Register a, Exit x) WITHIN 0": [
        "the longest partial matches have a; in 1 partition x came too late for WITHIN",
    ],
    f"FROM {LOG} {BLOCK} SEQ(Register a, Shelf+ b[], Exit x) RETURN COUNT(*)": [
        "the longest partial matches have a, b; in 1 partition there is no event of x's type",
    ],
    f"""SELECT * FROM {LOG} MATCH_RECOGNIZE ({CLAUSE} PATTERN (A B C)
        DEFINE A AS e = 'Register', B AS e = 'shelf', C AS e = 'Exit')""": [
        "no row has e = 'shelf'; did you mean 'Shelf'?",
        "the longest partial matches have A; in 2 partitions there is no event of B's type",
    ],
    f"SELECT * FROM {LOG} MATCH_RECOGNIZE ({CLAUSE} PATTERN (A B) DEFINE A AS e = 'Register', B AS t > A.t + 5)": [
        "the longest partial matches have A; in 2 partitions an event of B's type failed a condition",
    ],
    # no run: the pattern may be empty
    f"""SELECT * FROM {LOG} MATCH_RECOGNIZE (PARTITION BY c ORDER BY t
        ALL ROWS PER MATCH OMIT EMPTY MATCHES PATTERN (A*) DEFINE A AS e = 'register')""": [
        "no row has e = 'register'; did you mean 'Register'?",
    ],
    # these have rows, or no pattern
    f"FROM {LOG} {BLOCK} SEQ(Register a, Shelf b)": [],
    f"SELECT * FROM {LOG} WHERE e = 'Registr'": [],
}  # fmt: skip


@pytest.mark.parametrize("statement", every(3, CASES))
def test_notes(spark: SparkSession, statement: str) -> None:
    assert no_rows_notes(spark, statement) == CASES[statement]


def test_explain_analyze_tells_of_an_optional_type_that_the_log_lacks(spark: SparkSession) -> None:
    text = spark.sql(f"EXPLAIN ANALYZE FROM {LOG} {BLOCK} SEQ(Register a, !Shelv b, Exit x)").collect()[0][0]
    assert "output: 1 rows" in text
    assert "    note: no row has e = 'Shelv'; did you mean 'Shelf'?" in text


def test_an_index_knows_the_types_when_a_statement_is_analysed(spark: SparkSession) -> None:
    spark.sql(f"CREATE TABLE typo_log USING parquet AS SELECT * FROM {LOG}")
    try:
        spark.sql("CREATE PATTERN INDEX typo_ix ON typo_log (CASE c, TIME t, EVENT e)")
        with pytest.warns(PatternWarning, match="no row has e = 'Shelv'; did you mean 'Shelf'") as told:
            spark.sql(f"FROM typo_log {BLOCK} SEQ(Register a, Shelv b)")
        assert told[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            spark.sql(f"FROM typo_log {BLOCK} SEQ(Register a, Shelf b)")
            spark.sql(f"EXPLAIN FROM typo_log {BLOCK} SEQ(Register a, Shelv b)")
    finally:
        spark.sql("DROP PATTERN INDEX IF EXISTS typo_ix")
        spark.sql("DROP TABLE typo_log")
