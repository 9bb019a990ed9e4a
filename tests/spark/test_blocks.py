"""Pattern blocks on their way into Spark: what is ours, what stays Spark's."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from sparkcep.errors import SparkCepError


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT * FROM VALUES (1) AS pattern(a)", [(1,)]),
        ("SELECT pattern.a FROM VALUES (1) pattern(a)", [(1,)]),
        ("SELECT return.within FROM VALUES (2) AS return(within) -- FROM t PATTERN (a)", [(2,)]),
        ("FROM VALUES (1, 2) pattern(a, b) SELECT b", [(2,)]),
        ("FROM VALUES (1, 2) pattern(a, b) |> SELECT b", [(2,)]),
        ("SELECT '{x} FROM t PATTERN (a)' AS s", [("{x} FROM t PATTERN (a)",)]),
    ],
)
def test_sparks_own_patterns_stay_sparks(spark: SparkSession, text: str, rows: list[tuple[object, ...]]) -> None:
    assert [tuple(r) for r in spark.sql(text).collect()] == rows


def test_table_properties_name_the_log_columns(spark: SparkSession) -> None:
    spark.sql("DROP TABLE IF EXISTS block_log")
    spark.sql("CREATE TABLE block_log (c STRING, t INT, e STRING) USING parquet")
    text = "FROM block_log PATTERN SEQ(A a, B b) WITHIN 5 RETURN a.q"
    with pytest.raises(SparkCepError) as error:
        spark.sql(text)
    assert error.value.error_class == "CEP_LOG_COLUMNS"
    spark.sql("ALTER TABLE block_log SET TBLPROPERTIES ('sparkcep.case' = 'c', 'sparkcep.time' = 't')")
    spark.sql("ALTER TABLE block_log SET TBLPROPERTIES ('sparkcep.event' = 'e')")
    with pytest.raises(SparkCepError) as error:
        spark.sql(text)
    assert error.value.error_class == "CEP_UNRESOLVED_COLUMN"
    spark.sql("DROP TABLE block_log")
