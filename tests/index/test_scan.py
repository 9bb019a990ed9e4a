"""Cases picked by a scan of their events: as many types as there may be, and events that make a search go back."""

from __future__ import annotations

import itertools
import random
import time
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import sparkcep
from sparkcep import index
from sparkcep.index.build import symbols as symbols_sql
from sparkcep.index.event_frames import holds
from sparkcep.index.tables import MAX_TYPES, symbol
from sparkcep.settings import INDEX, INDEX_ACCESS_PATH, INDEX_CASES

from ..conftest import IS_CONNECT, configured

#: What regular expressions, decoders and readers of text treat as more than a character: line and paragraph
#: separators, surrogates, and code points without a character of their own.
SPECIAL = ("Zl", "Zp", "Cc", "Cs")


def test_symbols_are_ordinary_characters() -> None:
    found = [symbol(code) for code in range(MAX_TYPES)]
    assert len(set(found)) == MAX_TYPES >= 1 << 20
    assert not [c for c in found if unicodedata.category(c) in SPECIAL]
    # Byte order marks are eaten by decoders, noncharacters are refused by some.
    assert not {"\ufeff", "\ufffe", "\uffff", "\ufdd0", "\U0010ffff"} & set(found)


@pytest.mark.full
@pytest.mark.parametrize(("types", "codes"), [(300, 300), (4096, 4096), (4097, 4097), (1 << 20, 300_000)])
def test_spark_writes_the_symbol_of_each_code(spark: SparkSession, types: int, codes: int) -> None:
    """Both ways to write them, each code first in its case and in the middle of one."""
    code = "named_struct('code', CAST((id + {}) % {} AS INT))"
    events = ", ".join(code.format(k, types) for k in (0, 1, 0))
    cases = spark.range(0, codes, 1, 1).selectExpr(f"array({events}) AS ev")
    rows = cases.select(F.expr(symbols_sql(types)).alias("text")).toArrow()["text"].to_pylist()
    assert rows == [symbol(c) + symbol((c + 1) % types) + symbol(c) for c in range(codes)]


def holds_in_order(events: Sequence[int], branch: Sequence[int]) -> bool:
    rest = iter(events)
    return all(any(event == wanted for event in rest) for wanted in branch)


def test_scan_finds_what_the_definition_says(spark: SparkSession) -> None:
    """Every branch of up to four types of three, and pairs of branches, over random cases."""
    random.seed(20)
    cases = [[random.randrange(3) for _ in range(random.randrange(9))] for _ in range(300)]
    single = [b for n in range(1, 5) for b in itertools.product(range(3), repeat=n)]
    asked = [[b] for b in single] + [random.sample(single, 2) for _ in range(20)]
    frame = spark.createDataFrame(pa.table({"codes": pa.array(cases, pa.list_(pa.int32()))}))
    rows = frame.select("codes", *(holds(branches).alias(f"b{k}") for k, branches in enumerate(asked))).collect()
    assert len(rows) == len(cases)
    for row in rows:
        for k, branches in enumerate(asked):
            assert row[f"b{k}"] is any(holds_in_order(row.codes, b) for b in branches), (row.codes, branches)


def compared(spark: SparkSession, name: str, folder: Path, statement: str) -> list[tuple[object, ...]]:
    """Rows of a statement through the index, which are those without it."""
    index.create(spark, name, f"parquet.`{folder}`", case="k", time="t", event="e")
    try:
        with configured(spark, {INDEX.key: "false"}):
            expected = sorted(map(tuple, spark.sql(statement).collect()))
        for cases in ("scan", "lists"):
            with configured(spark, {INDEX_ACCESS_PATH.key: "sequences", INDEX_CASES.key: cases}):
                assert ("picked by a scan of" in sparkcep.explain(spark, statement)) == (cases == "scan")
                assert sorted(map(tuple, spark.sql(statement).collect())) == expected
        return expected
    finally:
        index.drop(spark, name)
        index.vacuum(spark, name, 0)


@pytest.mark.full
@pytest.mark.skipif(IS_CONNECT, reason="what is asked of an index is the same there; see statements.test")
def test_as_many_types_as_cases(spark: SparkSession, tmp_path: Path) -> None:
    """Types beyond 7,976, where line separators once stood for two of them."""
    number = 8_100
    events = pa.table(
        {
            "k": [k for k in range(number) for _ in range(3)],
            "t": pa.array([0, 1, 2] * number, pa.int64()),
            "e": [e for k in range(number) for e in ("A", f"T{k}", "B")],
        }
    )
    pq.write_table(events, tmp_path / "log.parquet")
    block = (
        f"SELECT count(*) FROM (FROM parquet.`{tmp_path}` PARTITION BY k ORDER BY t EVENT TYPE e PATTERN SEQ(A x, B y))"
    )
    assert compared(spark, "many_types", tmp_path, block) == [(number,)]


@pytest.mark.full
@pytest.mark.skipif(IS_CONNECT, reason="what is asked of an index is the same there; see statements.test")
@pytest.mark.parametrize(
    ("events", "pattern"),
    [("AB" * 200, "A, B, A, B, C"), ("A" * 400, "A, A, A, A, B"), ("ABC" * 200, "A, (B|C), A, (B|C), A, D")],
)
def test_a_case_that_all_but_matches_takes_linear_time(
    spark: SparkSession, tmp_path: Path, events: str, pattern: str
) -> None:
    """A search by going back would take the events to the power of the types."""
    times = pa.array(range(len(events)), pa.int64())
    log = pa.table({"k": ["a"] * len(events), "t": times, "e": list(events)})
    # The types that are missing in the case are there, elsewhere.
    other = pa.table({"k": ["b"] * 4, "t": pa.array(range(4), pa.int64()), "e": list("DCBA")})
    pq.write_table(pa.concat_tables([log, other]), tmp_path / "log.parquet")
    block = f"FROM parquet.`{tmp_path}` PARTITION BY k ORDER BY t EVENT TYPE e PATTERN SEQ({pattern}) MATCHES FIRST"
    started = time.monotonic()
    assert compared(spark, "adversarial", tmp_path, block) == []
    assert time.monotonic() - started < 40
