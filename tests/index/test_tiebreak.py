"""Positions in the case stand for TIEBREAK, and for whatever stands behind it, where only ORDER BY names it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import sparkcep
from sparkcep import index
from sparkcep.index.access import ACCESS_PATHS
from sparkcep.settings import INDEX, INDEX_ACCESS_PATH

from ..conftest import IS_CONNECT

pytestmark = pytest.mark.skipif(IS_CONNECT, reason="which columns are asked for is decided alike there")

_names = (f"tied_{k}" for k in itertools.count())
#: Ten events a case at two times: only the tie-break orders them.
TYPES = "ABCABDCBAD"
#: In descending order, so that positions are not rows of the file.
TIES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "bigint": (pa.int64(), [7, -(2**40), 3, 2**60, 0, -1, 5, 9, 8, 1]),
    "int": (pa.int32(), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
    "double": (pa.float64(), [float("inf"), float("nan"), 2.5, -0.0, -1e300, float("-inf"), 1e-300, 3.0, 0.1, 9.0]),
    "string": (pa.string(), ["10", "9", "", "é", "z", "\U0001f600", "￿", "Z", "a", "aa"]),
    "timestamp": (pa.timestamp("us", tz="UTC"), [10, 9, 8, -7, 6, 5, 4, 3, 2, 1]),
}
NEXT = "EVENT SELECTION SKIP TILL NEXT MATCH"
#: With RETURN, since the column `events` shows positions, for which all events are read.
QUERIES = (
    f"SEQ(A a, B b, C c) {NEXT} RETURN k, a.t AS t_a, c.t AS t_c",
    f"SEQ(A a, C c) {NEXT} MATCHES ALL RETURN k, a.t AS t",
    f"SEQ(A a, !B x, C c) {NEXT} RETURN k, c.t AS t",
    "SEQ(A a, B+ b[], D d) EVENT SELECTION SKIP TILL ANY MATCH MATCHES FIRST RETURN k, a.t AS t",
)  # fmt: skip


@contextmanager
def tied(spark: SparkSession, folder: Path, type_: pa.DataType, ties: list[Any], **options: Any) -> Iterator[str]:
    """An index on three cases whose events have two times and the given tie-breaks, and on some that no pattern fits;
    gives the source."""
    name = next(_names)
    own = [0 if k < 5 else 1 for k in range(10)]
    rows = {
        "k": pa.array([c for c in "xyz" for _ in range(10)] + [f"none {n}" for n in range(9)]),
        "t": pa.array(own * 3 + [0] * 9, pa.int64()),
        "p": pa.array(ties + ties[::-1] + ties[5:] + ties[:5] + ties[:9], type_),
        "e": pa.array(list(TYPES) * 3 + ["E"] * 9),
        "q": pa.array(range(39), pa.int32()),
    }
    pq.write_table(pa.table(rows), folder / "part0.parquet")
    source = f"parquet.`{folder}`"
    index.create(spark, name, source, **({"case": "k", "time": "t", "event": "e", "tiebreak": "p"} | options))
    try:
        yield source
    finally:
        for key in (INDEX.key, INDEX_ACCESS_PATH.key):
            spark.conf.unset(key)
        index.drop(spark, name)
        index.vacuum(spark, name, 0)


def answers(spark: SparkSession, text: str) -> dict[str, list[str]]:
    """Rows by access path, `none` without an index."""
    found = {}
    for path in ("none", *ACCESS_PATHS):
        spark.conf.set(INDEX.key, str(path != "none").lower())
        spark.conf.set(INDEX_ACCESS_PATH.key, "auto" if path == "none" else path)
        found[path] = sorted(map(str, spark.sql(text).collect()))
    return found


def served(spark: SparkSession, text: str, path: str = "activities") -> str:
    """Where EXPLAIN says that the events come from, with a path asked for."""
    spark.conf.set(INDEX.key, "true")
    spark.conf.set(INDEX_ACCESS_PATH.key, path)
    told = sparkcep.explain(spark, text)
    return told.split("events from ")[1].split()[0] if "events from " in told else told.split("Index: ")[1]


@pytest.mark.full
@pytest.mark.parametrize(
    "kind", ["double", *(pytest.param(k, marks=pytest.mark.long) for k in ("bigint", "int", "string", "timestamp"))]
)
def test_positions_stand_for_a_tiebreak_that_only_orders(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    with tied(spark, tmp_path, *TIES[kind]) as source:
        for pattern in QUERIES:
            text = f"FROM {source} PARTITION BY k ORDER BY t, p EVENT TYPE e PATTERN {pattern}"
            assert served(spark, text) == "activities"
            found = answers(spark, text)
            assert found["none"]
            assert all(rows == found["none"] for rows in found.values()), (pattern, found)
        clause = (
            f"SELECT * FROM {source} MATCH_RECOGNIZE (PARTITION BY k ORDER BY t, p MEASURES first(e) AS f, "
            "count(*) AS n PATTERN (A B+ C) DEFINE A AS e = 'A', B AS e = 'B', C AS e = 'C')"
        )
        found = answers(spark, clause)
        assert all(rows == found["none"] for rows in found.values())


@pytest.mark.full
def test_whose_values_are_read_or_which_orders_otherwise_is_read(spark: SparkSession, tmp_path: Path) -> None:
    with tied(spark, tmp_path, *TIES["string"]) as source:
        block = f"FROM {{}} PARTITION BY k ORDER BY {{}} EVENT TYPE e PATTERN SEQ(A a, B b) {{}} {NEXT} {{}}"
        for order, where, rest in [
            ("t, p", "", "RETURN k, b.p AS p"),
            ("t, p", "WHERE a.p < b.p", "RETURN k, a.t AS t"),
            ("t, p", "WHERE length(b.p) > 1", "RETURN k, a.t AS t"),
            ("t, p", "WHERE [p]", "RETURN k, a.t AS t"),
            ("t, p, upper(p)", "", "RETURN k, a.t AS t"),
            ("t, p DESC", "", "RETURN k, a.t AS t"),
            ("t, lower(p)", "", "RETURN k, a.t AS t"),
            ("t, q", "", "RETURN k, a.t AS t"),
        ]:
            text = block.format(source, order, where, rest)
            assert served(spark, text) in ("source", "sequences"), (order, where, rest)
            found = answers(spark, text)
            assert all(rows == found["none"] for rows in found.values()), (order, where, rest, found)
        # What stands behind the tie-break orders nothing, and need not be stored.
        more = block.format(source, "t, p, q DESC", "", "RETURN k, a.t AS t")
        assert served(spark, more) == "activities"
        assert served(spark, more, "sequences") == "sequences"
        found = answers(spark, more)
        assert all(rows == found["none"] for rows in found.values())


def test_events_that_a_tiebreak_does_not_tell_apart_are_read_from_their_source(
    spark: SparkSession, tmp_path: Path
) -> None:
    nan = float("nan")
    with tied(spark, tmp_path, pa.float64(), [nan, nan, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]) as source:
        text = (
            f"FROM {source} PARTITION BY k ORDER BY t, p EVENT TYPE e PATTERN SEQ(A a, B b) {NEXT} RETURN k, a.t AS t"
        )
        assert "t, p does not order all events of a k" in sparkcep.explain(spark, text)
        assert served(spark, text) != "activities"
        found = answers(spark, text)
        assert all(rows == found["none"] for rows in found.values())


@pytest.mark.full
def test_a_continued_case_counts_on(spark: SparkSession, tmp_path: Path) -> None:
    with tied(spark, tmp_path, *TIES["int"]) as source:
        (name,) = (shown["name"] for shown in index.show(spark, source))
        more = {"k": ["x"] * 3, "t": [1, 1, 0], "p": [50, 40, 70], "e": ["C", "A", "B"], "q": [0, 0, 0]}
        for number, rows in enumerate(([0, 1], [2])):  # goes on, then comes late
            types = (pa.string(), pa.int64(), pa.int32(), pa.string(), pa.int32())
            table = {n: pa.array([v[r] for r in rows], t) for (n, v), t in zip(more.items(), types, strict=True)}
            pq.write_table(pa.table(table), tmp_path / f"part{number + 1}.parquet")
            index.refresh(spark, name)
            text = (
                f"FROM {source} PARTITION BY k ORDER BY t, p EVENT TYPE e PATTERN SEQ(A a, C c) {NEXT} MATCHES ALL "
                "RETURN k, a.t AS t"
            )
            assert served(spark, text) == "activities"
            found = answers(spark, text)
            assert all(rows == found["none"] for rows in found.values())
