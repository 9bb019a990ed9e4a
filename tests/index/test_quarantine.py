"""Rows that an index has set aside are read from the source: answers are those without an index."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from sparkcep import index
from sparkcep.settings import INDEX, INDEX_ACCESS_PATH

from ..conftest import configured

NAME = "quarantined"
Row = tuple[str | None, int | None, str | None, int]
#: Of x the event without a time comes first, of y one without a type stands between; z holds A before B.
LOG: list[Row] = [
    ("x", None, "A", 1), ("x", 1, "B", 2), ("y", 1, "A", 3), ("y", 2, None, 4), ("y", 3, "B", 5), ("z", 1, "A", 6),
    ("z", 2, "B", 7), (None, 1, "A", 8), (None, 2, "B", 9), ("w", 1, "B", 10), ("w", 2, "A", 11),
]  # fmt: skip
OTHERS: list[Row] = [(f"none {n}", 1, "C", n) for n in range(20)]
SEQUENCE = "FROM {} PARTITION BY k ORDER BY t EVENT TYPE e PATTERN SEQ(A a, B b) RETURN k, b.t AS t"
CLAUSE = (
    "SELECT * FROM {} MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES LAST(t) AS t PATTERN (a n? b) "
    "DEFINE a AS e = 'A', n AS e IS NULL, b AS e = 'B')"
)


def write(path: Path, rows: list[Row]) -> None:
    types = (pa.string(), pa.int64(), pa.string(), pa.int32())
    columns = [pa.array(own, type_) for own, type_ in zip(zip(*rows, strict=True), types, strict=True)]
    pq.write_table(pa.table(dict(zip("ktev", columns, strict=True))), path)


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """A folder with good rows, and an index on it that sets bad rows aside; it is used although the log is small."""
    write(tmp_path / "part0.parquet", OTHERS)
    source = f"parquet.`{tmp_path}`"
    options = {"on_bad_rows": "quarantine"}
    index.create(spark, NAME, source, case="k", time="t", event="e", options=options)
    try:
        with configured(spark, {INDEX_ACCESS_PATH.key: "activities"}):
            yield tmp_path
    finally:
        index.drop(spark, NAME)
        index.vacuum(spark, NAME, 0)


def told(spark: SparkSession, query: str) -> str:
    """What EXPLAIN says about a query whose answer is the same without an index."""
    spark.conf.set(INDEX.key, "false")
    expected = sorted(map(str, spark.sql(query).collect()))
    spark.conf.set(INDEX.key, "true")
    assert sorted(map(str, spark.sql(query).collect())) == expected
    assert expected
    return str(spark.sql(f"EXPLAIN {query}").collect()[0][0])


@pytest.mark.full
def test_cases_of_rows_set_aside_come_from_the_source(spark: SparkSession, folder: Path) -> None:
    """Rows without a case are a case of their own; an event without a time is the first."""
    write(folder / "part1.parquet", LOG)
    assert index.refresh(spark, NAME).rejected == 4
    for query in (SEQUENCE, CLAUSE):
        text = told(spark, query.format(f"parquet.`{folder}`"))
        assert (
            "4 rows set aside (on_bad_rows = 'quarantine'): the events of their cases are read from the source" in text
        )
        assert "events from source" in text
    merged = SEQUENCE.replace("RETURN k, b.t AS t", "GROUPS [('z', 'w')] RETURN b.t AS t")
    text = told(spark, merged.format(f"parquet.`{folder}`"))
    assert "not used, rows that were set aside may be events of a group's cases" in text


@pytest.mark.full
def test_events_without_a_type_do_not_matter_where_no_condition_lets_them_through(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder / "part1.parquet", [row for row in LOG if None not in row[:2]])
    assert index.refresh(spark, NAME).rejected == 1
    text = told(spark, SEQUENCE.format(f"parquet.`{folder}`"))
    assert re.search("1 rows set aside .* have no type, and events without one change nothing here", text)
    assert re.search("estimated for 2 cores: activities .*, sequences .*, source .*, without the index", text)
    monkeypatch.setattr("sparkcep.session.indexes.choice.known_cores", lambda spark: None)
    text = told(spark, SEQUENCE.format(f"parquet.`{folder}`"))
    assert "estimated for 2 cores (assumed, since the session does not tell): " in text
    text = told(spark, CLAUSE.format(f"parquet.`{folder}`"))
    assert re.search("estimated for .*: source [^,]*, without the index", text)


@pytest.mark.full
def test_a_refresh_of_nothing_but_bad_rows_is_known(spark: SparkSession, folder: Path) -> None:
    """Its events are not indexed, and may still match."""
    write(folder / "part1.parquet", LOG[5:7])
    index.refresh(spark, NAME)
    write(folder / "part2.parquet", [("v", None, "A", 1), ("v", None, "B", 1)])
    done = index.refresh(spark, NAME)
    assert (done.action, done.rejected) == ("unchanged", 2)
    query = SEQUENCE.replace("ORDER BY t", "ORDER BY t, e").format(f"parquet.`{folder}`")
    assert "2 rows set aside" in told(spark, query)
    assert index.optimize(spark, NAME).rejected == 2
    assert "2 rows set aside" in told(spark, query)
