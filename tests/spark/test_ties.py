"""Rows of equal time are put in order by columns of any type: the same in Spark, in Python, alone and beside others."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession

from sparkcep.errors import PatternAnalysisError
from sparkcep.exec.ordering import groups_of, order_of, sort_keys

from ..conftest import IS_CONNECT, configured
from .rule_set_streams import CALL, ITEMS, create_rules, in_operator, phase, without_numbers

pytestmark = [pytest.mark.full]

#: A value of each type that Spark can sort by, for the numbers 0 to 11.
SORTED = {
    "boolean": "n % 2 = 0",
    "tinyint": "CAST(5 - n AS TINYINT)",
    "int": "CAST(5 - n AS INT)",
    "bigint": "9223372036854775807 - n",
    "float": "CAST(IF(n % 3 = 0, -0.0, n) AS FLOAT)",
    "double": "IF(n % 3 = 0, double('NaN'), 5 - n / 2)",
    "short decimal": "CAST(0.5 - n / 10 AS DECIMAL(3, 2))",
    "decimal": "CAST(5 - n AS DECIMAL(18, 2))",
    "long decimal": "CAST((n - 5) * 1e18 AS DECIMAL(38, 10))",
    "string": "concat('é', CAST(n AS STRING))",
    "binary": "CAST(char(CAST(250 + n AS INT)) AS BINARY)",
    "date": "date_add(DATE'1970-01-05', CAST(-n AS INT))",
    "timestamp": "timestamp_seconds(5 - n)",
    "timestamp_ntz": "CAST(timestamp_seconds(5 - n) AS TIMESTAMP_NTZ)",
    "far": "make_timestamp_ntz(CAST(9990 + 3 * n AS INT), 1, 1, 0, 0, 0)",
    "time": "make_time(0, CAST(12 - n AS INT), 1)",
    "seconds": "make_dt_interval(0, 0, 0, 5 - n)",
    "days": "CAST(make_dt_interval(CAST(5 - n AS INT)) AS INTERVAL DAY)",
    "struct": "named_struct('object', IF(n % 2 = 0, NULL, 5 - n), 'b', CAST((5 - n) * 1e18 AS DECIMAL(38, 2)))",
    "array": "IF(n % 2 = 0, array(n, NULL), array(-n))",
    "nested array": "array(named_struct('a', array(timestamp_seconds(5 - n)), 'map', IF(n < 5, double('NaN'), -n)))",
    "array of far": "array(make_timestamp_ntz(CAST(9990 + 3 * n AS INT), 1, 1, 0, 0, 0))",
    "void": "NULL",
}  # fmt: skip
#: Those that Python gets as another one.
REPLACED = {
    "months": "make_ym_interval(0, CAST(5 - n AS INT))",
    "years": "CAST(make_ym_interval(CAST(5 - n AS INT)) AS INTERVAL YEAR)",
    "collated": "CAST(IF(n % 2 = 0, char(97 + n / 2), char(65 + n / 2)) AS STRING) COLLATE UTF8_LCASE",
}
#: Those that order nothing.
UNSORTED = {
    "map": "map('a', n)",
    "variant": "parse_json(CAST(n AS STRING))",
    "calendar interval": "make_interval(0, 0, 0, CAST(n AS INT))",
    "struct of map": "named_struct('a', map(1, n))",
    "struct of months": "named_struct('a', make_ym_interval(0, CAST(n AS INT)))",
    "array of collated": "array('a' COLLATE UTF8_LCASE)",
}
TYPES = SORTED | REPLACED | UNSORTED


@pytest.fixture(autouse=True)
def with_time(spark: SparkSession) -> Any:
    with configured(spark, {"spark.sql.timeType.enabled": "true", "spark.sparkcep.streaming.buckets": "1"}):
        yield


def log_of(spark: SparkSession, types: dict[str, str]) -> DataFrame:
    """A case's events all at one time but the last, with NULLs among the values; ``id`` is behind them."""
    items = ", ".join(f"IF(n % 6 = 4, NULL, {sql}) AS `{name}`" for name, sql in types.items())
    return spark.sql(
        f"""SELECT u, timestamp_seconds(IF(n = 11, 3, 1)) AS t, 'A' AS type, {items}, n AS id, n AS x
        FROM (SELECT id % 2 AS u, pmod(floor(id / 2) * 7, 12) AS n FROM range(24))"""
    )


@pytest.mark.parametrize("ascending", [True, False])
def test_python_sorts_as_spark(spark: SparkSession, ascending: bool) -> None:
    how = "ASC NULLS FIRST" if ascending else "DESC NULLS LAST"
    ranks = [f"CAST(dense_rank() OVER (ORDER BY `{c}` {how}) AS BIGINT) AS `rank of {c}`" for c in SORTED]
    log = spark.sql(f"SELECT *, {', '.join(ranks)} FROM {{log}}", log=log_of(spark, SORTED)).toArrow()
    wrong = []
    for name in SORTED:
        values = log.column(name).combine_chunks()
        expected = log.column(f"rank of {name}").to_numpy()
        order = order_of(sort_keys(values, ascending, nulls_first=ascending), len(values))
        same = groups_of([values], len(values))[1] == expected.max()
        if not same or (np.diff(expected[order]) < 0).any():
            wrong.append(name)
    assert not wrong


def rule(name: str) -> str:
    """Events of one time follow each other by what is in a column."""
    return f"""PATTERN SEQ(A a, A b) WHERE (a.`{name}` IS NULL OR a.`{name}` IS NOT NULL) WITHIN 4 seconds
        EVENT SELECTION STRICT CONTIGUITY RETURN a.id AS a, b.id AS b"""


def batch(spark: SparkSession) -> Counter[tuple[Any, ...]]:
    """Rows of the set over the log at rest."""
    return Counter(map(tuple, spark.sql(f"SELECT {ITEMS} FROM pattern_rules{CALL.format('rules_log')}").collect()))


def with_views_of(spark: SparkSession, log: DataFrame, folder: Path) -> None:
    log.createOrReplaceTempView("rules_log")
    folder.mkdir()
    stream = spark.readStream.schema(log.schema).parquet(str(folder))
    stream.withWatermark("t", "1 second").createOrReplaceTempView("rules_stream")


@pytest.mark.skipif(IS_CONNECT, reason="looks at plans")
def test_ties_of_a_rule_are_its_own(spark: SparkSession, tmp_path: Path) -> None:
    log = log_of(spark, TYPES)
    with_views_of(spark, log, tmp_path / "in")
    every = {name: rule(name) for name in TYPES}
    some = {name: every[name] for name in [*TYPES][::3]}
    before, after = phase(spark, some, log), phase(spark, every, log)
    assert before is not None
    assert after is not None
    assert len(after.plan.spec.rules) == len(TYPES)
    expected = batch(spark)
    assert sum(expected.values()) == 22 * len(TYPES)
    events = list(range(24))
    Random(1).shuffle(events)
    batches = [events[:9], events[9:15], events[15:]]
    (rows,) = in_operator(spark, [after], batches, [0], 10, Random(0))
    assert without_numbers(rows) == expected
    # Rules that were there before the others came lose nothing.
    first, second = in_operator(spark, [before, after], batches, [0, 1], 10, Random(0))
    stay = {row: count for row, count in without_numbers(first + second).items() if row[0] in some}
    assert stay == {row: count for row, count in expected.items() if row[0] in some}
    alone = ["short decimal", "struct", "months", "collated"]
    create_rules(spark, {name: every[name] for name in alone})
    with configured(spark, {"spark.sparkcep.planner.sharedInput.enabled": "false"}):
        assert batch(spark) == {row: count for row, count in expected.items() if row[0] in alone}


@pytest.mark.parametrize(("clause", "where"), [("PARTITION BY", "c ORDER BY t"), ("ORDER BY", "u ORDER BY t, c")])
def test_a_collation_orders_no_stream(spark: SparkSession, clause: str, where: str, tmp_path: Path) -> None:
    with_views_of(spark, log_of(spark, {"c": REPLACED["collated"]}), tmp_path / "in")
    with pytest.raises(PatternAnalysisError) as caught:
        spark.sql(f"FROM rules_stream PARTITION BY {where} EVENT TYPE type PATTERN SEQ(A a, A b) WITHIN 1 minute")
    assert caught.value.error_class == "CEP_STREAMING_UNSUPPORTED"
    assert f"{clause} column with a collation" in caught.value.sentence


def test_what_python_cannot_have_of_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    with_views_of(spark, log_of(spark, {"m": REPLACED["months"]}), tmp_path / "in")
    text = (
        "FROM rules_stream PARTITION BY u ORDER BY t EVENT TYPE type PATTERN SEQ(A a, A b) WITHIN 1 minute RETURN a.m"
    )
    with pytest.raises(PatternAnalysisError) as caught:
        spark.sql(text)
    assert caught.value.error_class == "CEP_UNSUPPORTED_TYPE"
    assert "`m` (interval year to month)" in caught.value.sentence
    create_rules(spark, {"rule": rule("id")})
    call = "(TABLE(rules_stream) PARTITION BY m ORDER BY t, rules => TABLE(rules_table), event_type => type)"
    with pytest.raises(PatternAnalysisError) as caught:
        spark.sql(f"SELECT * FROM pattern_rules{call}")
    assert caught.value.error_class == "CEP_UNSUPPORTED_TYPE"
