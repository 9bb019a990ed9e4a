"""Matches behind chosen rows of a collapsed block: those that the block has without COLLAPSED."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

import sparkcep
from sparkcep.errors import SparkCepError

from ..conftest import some

LOG = """SELECT id % 3 AS c, CAST(id DIV 4 AS INT) AS t,
  element_at(array('A', 'B', 'B', 'C', 'B'), CAST(pmod(hash(id), 5) AS INT) + 1) AS e,
  CAST(pmod(hash(id, 1), 9) AS INT) AS v FROM range(48)"""
HEAD = "FROM expand_log PARTITION BY c ORDER BY t EVENT TYPE e "
ANY = " EVENT SELECTION SKIP TILL ANY MATCH "
CASES = [
    HEAD + "PATTERN SEQ(A a, B+ b[], C d) WITHIN 6" + ANY,
    # Postponed: what a B has to do with the B taken before it.
    HEAD + "PATTERN SEQ(A a, B+ b[], C d) WHERE b[i].v > b[i-1].v AND b[i].v > a.v WITHIN 6" + ANY,
    HEAD + "PATTERN SEQ(A a, B+ b[], C d) WHERE avg(b[].v) > 4 AND d.v < 8 WITHIN 6" + ANY,
    # The first event's component takes later events too, and so does the last one's.
    HEAD + "PATTERN SEQ(B+ b[], C+ d[]) WHERE b[i].v >= b[i-1].v WITHIN 3" + ANY,
    "FROM expand_log ORDER BY t EVENT TYPE e PATTERN SEQ(A a, B+ b[], C d) WHERE [c] AND b[i].v < b[i-1].v" + ANY,
    "FROM expand_log ORDER BY t EVENT TYPE e PATTERN SEQ(A a, B+ b[], C d) WHERE b[i].v < b[i-1].v WITHIN 2" + ANY,
]


@pytest.fixture(scope="module", autouse=True)
def log(spark: SparkSession) -> Iterator[None]:
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW expand_log AS {LOG}")
    yield
    spark.sql("DROP VIEW expand_log")


def matches(frame: DataFrame) -> list[tuple[object, ...]]:
    names = [c for c in frame.columns if c != "match_number"]
    return sorted((tuple(row[n] for n in names) for row in frame.collect()), key=str)


def ends(row: tuple[object, ...]) -> tuple[object, ...]:
    *keys, _, _, events = row
    positions = [event.position for event in events]  # type: ignore[attr-defined]
    return (*keys, min(positions), max(positions))


@pytest.mark.parametrize("block", some(CASES, [CASES[1]]))
def test_matches_of_chosen_rows(spark: SparkSession, block: str) -> None:
    every = matches(spark.sql(block))
    collapsed = spark.sql(block + "COLLAPSED")
    assert every
    assert matches(sparkcep.expand_collapsed(collapsed, block)) == every
    chosen = collapsed.where("pmod(hash(start_time, end_time), 2) = 0")
    wanted = {ends(row[:-1]) for row in matches(chosen)}
    expanded = matches(sparkcep.expand_collapsed(chosen, block + "COLLAPSED"))
    assert expanded == [row for row in every if ends(row) in wanted]


def test_no_rows_no_matches(spark: SparkSession) -> None:
    block = CASES[0]
    found = sparkcep.expand_collapsed(spark.sql(block + "COLLAPSED").where("false"), block)
    assert found.columns == spark.sql(block).columns
    assert found.count() == 0


def test_other_starts_are_not_enumerated(spark: SparkSession) -> None:
    """One start has three matches, the other 2^30."""
    spark.sql("""CREATE OR REPLACE TEMPORARY VIEW expand_far AS SELECT CAST(id AS INT) AS t,
      CASE WHEN id IN (0, 100) THEN 'A' WHEN id IN (50, 103) THEN 'C'
           WHEN id < 31 OR id > 100 THEN 'B' ELSE 'D' END AS e FROM range(104)""")
    block = "FROM expand_far ORDER BY t EVENT TYPE e PATTERN SEQ(A a, B+ b[], C d) WITHIN 60" + ANY
    chosen = spark.sql(block + "COLLAPSED").where("start_time = 100")
    spark.conf.set("spark.sparkcep.limit.matches", "1000")
    try:
        assert sparkcep.expand_collapsed(chosen, block).count() == 3
    finally:
        spark.conf.unset("spark.sparkcep.limit.matches")
        spark.sql("DROP VIEW expand_far")


@pytest.mark.parametrize(
    ("query", "error_class"),
    [
        ("SELECT 1", "CEP_EXPAND"),
        (f"SELECT * FROM ({CASES[0]})", "CEP_EXPAND"),
        (f"{CASES[0]} LIMIT 3", "CEP_EXPAND"),
        (CASES[0].replace("PARTITION BY c", "PARTITION BY v"), "CEP_EXPAND"),
        (CASES[0].replace("ANY", "NEXT"), "CEP_COLLAPSED"),
        (CASES[0] + "RETURN a.v", "CEP_COLLAPSED"),
    ],
)
def test_refused(spark: SparkSession, query: str, error_class: str) -> None:
    rows = spark.sql(CASES[0] + "COLLAPSED")
    with pytest.raises(SparkCepError, match=error_class):
        sparkcep.expand_collapsed(rows, query)
