"""Events that the driver itself reads are those that Spark reads, whatever their types and wherever they are stored."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from sparkcep import index
from sparkcep.index import event_frames
from sparkcep.index.local_events import events_of_cases, groups_of_cases
from sparkcep.index.lookup import events_by_type
from sparkcep.index.snapshots import TableState
from sparkcep.index.storage import DataFile, Location
from sparkcep.settings import INDEX, INDEX_ACCESS_PATH, INDEX_CASES

from ..conftest import IS_CONNECT, configured
from .helpers import stored

pytestmark = [pytest.mark.full]

#: A row of `sequences`: id, case, and code, time and tie of each event.
Case = tuple[int, str | None, list[tuple[int, int, str | None]]]
texts = st.one_of(st.none(), st.text(max_size=2))
events = st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5), texts), max_size=4)
#: Spark writes no row group without rows.
cases = st.lists(st.tuples(st.integers(0, 30), texts, events), min_size=1, max_size=12)
TYPES = {"case_key": pa.string(), "ties": pa.string()}
CASE = pa.field("case_key", pa.string())


@given(
    st.lists(cases, max_size=3), st.integers(1, 5), st.sets(st.integers(0, 30)),
    st.one_of(st.none(), st.sets(st.integers(0, 3))), st.one_of(st.none(), st.integers(-6, 6)),
    st.one_of(st.none(), st.integers(-6, 6)),
)  # fmt: skip
def test_events_of_cases(
    parts: list[list[Case]], size: int, ids: set[int], wanted: set[int] | None, least: int | None, most: int | None
) -> None:
    """Rows of a case may be in several files, and in any order."""
    with TemporaryDirectory() as folder:
        files = tuple(stored(Path(folder), f"{k}.parquet", rows, size, CASE) for k, rows in enumerate(parts))
        table, state = Location(folder), TableState(0, "", (("0", files),))
        asked = np.array(sorted(ids), np.int64)
        where = groups_of_cases(table, state, asked)
        codes = None if wanted is None else sorted(wanted)
        found = events_of_cases(table, where, asked, 4, codes, TYPES, least, most)
        assert found.schema == pa.schema({"code": pa.int32(), "time": pa.int64(), **TYPES})
        first, last = -9 if least is None else least, 9 if most is None else most
        expected = [
            (code, time, key, tie)
            for rows in parts for number, key, own in rows if number in ids
            for code, time, tie in own
            if (wanted is None or code in wanted) and first <= time <= last
        ]  # fmt: skip
        assert list(zip(*(c.to_pylist() for c in found.columns), strict=True)) == expected
        assert sum(number in ids for rows in parts for number, _, _ in rows) <= where.rows <= sum(map(len, parts))


def test_events_by_type() -> None:
    with TemporaryDirectory() as folder:
        for k, rows in enumerate(([1, 1, 7], [7])):
            lists = {"type": pa.array(rows, pa.int32()), "count": pa.array([10 + k] * len(rows), pa.int32())}
            pq.write_table(pa.table(lists), f"{folder}/{k}.parquet")
        files = tuple(DataFile(f"{k}.parquet", 1, 1) for k in range(2))
        assert events_by_type(Location(folder), TableState(0, "", (("0", files),))) == {1: 20, 7: 21}


#: A column of each type, with values at its ends, NULL and NaN.
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "tiny": (pa.int8(), [-128, 127, None]),
    "small": (pa.int16(), [-(2**15), 2**15 - 1, None]),
    "int": (pa.int32(), [-(2**31), 2**31 - 1, None]),
    "big": (pa.int64(), [-(2**63), 2**63 - 1, None]),
    "real": (pa.float32(), [1.5, float("nan"), None]),
    "double": (pa.float64(), [-0.0, float("inf"), None]),
    "flag": (pa.bool_(), [True, False, None]),
    "day": (pa.date32(), [date(1, 1, 1), date(9999, 12, 31), None]),
    "price": (pa.decimal128(38, 10), [Decimal("-" + "9" * 28), Decimal("0.0000000001"), None]),
    "text": (pa.string(), ["", "é\U0001f600", None]),
}


def part(first: int, types: str, times: list[int]) -> pa.Table:
    """Three cases from a number on, each with these types at these times."""
    n = 3 * len(types)
    rows = {
        "k": pa.array([f"case {first + k % 3}" for k in range(n)]),
        "t": pa.array([times[k // 3] for k in range(n)], pa.int64()),
        "e": pa.array([types[k // 3] for k in range(n)]),
    }
    return pa.table(rows | {name: pa.array([v[k % 3] for k in range(n)], t) for name, (t, v) in COLUMNS.items()})


@pytest.fixture(scope="module")
def log(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A log whose index has three batches: some cases go on in the second, some are written anew by the third."""
    folder = tmp_path_factory.mktemp("typed")
    source = f"parquet.`{folder}`"
    pq.write_table(pa.concat_tables([part(0, "ABXB", [1, 2, 3, 4]), part(3, "XXX", [1, 2, 3])]), folder / "0.parquet")
    index.create(spark, "typed_log", source, case="k", time="t", event="e", tiebreak="int", include=[*COLUMNS])
    pq.write_table(pa.concat_tables([part(0, "AB", [8, 9]), part(3, "AB", [8, 9])]), folder / "1.parquet")
    index.refresh(spark, "typed_log")
    pq.write_table(pa.concat_tables([part(0, "B", [0]), part(6, "BA", [5, 6])]), folder / "2.parquet")
    index.refresh(spark, "typed_log")
    try:
        yield source
    finally:
        index.drop(spark, "typed_log")
        index.vacuum(spark, "typed_log", 0)


@pytest.mark.skipif(IS_CONNECT, reason="there all events are read by Spark")
@pytest.mark.parametrize(
    "block",
    [
        "SEQ(A a, B b) RETURN k, {columns}",
        "SEQ(A a, B b) WITHIN 3 RETURN k, a.t AS t, b.flag AS flag",
        "SEQ(B x, A a) RETURN k, a.price AS price, x.text AS text",
        "SEQ(A a, Nowhere b) RETURN k, a.price AS price",
    ],
)
def test_driver_and_tasks_read_the_same(
    spark: SparkSession, log: str, block: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = ", ".join(f"a.{name} AS a_{name}, b.{name} AS b_{name}" for name in COLUMNS)
    text = f"FROM {log} PARTITION BY k ORDER BY t, int EVENT TYPE e PATTERN {block.format(columns=columns)}"
    reads: list[bool] = []
    from_cases = event_frames.from_cases
    monkeypatch.setattr("sparkcep.index.access.from_cases", lambda *given: reads.append(True) or from_cases(*given))

    def rows() -> list[str]:
        return sorted(map(str, spark.sql(text).collect()))  # NaN is unlike itself

    with configured(spark, {INDEX.key: "false"}):
        expected = rows()
    with configured(spark, {INDEX_ACCESS_PATH.key: "sequences", INDEX_CASES.key: "lists"}):
        assert rows() == expected
        assert reads == [True]
        monkeypatch.setattr("sparkcep.index.access.MAX_STORED_EVENTS", -1)
        assert rows() == expected
        assert reads == [True]
    assert ("Nowhere" in block) == (not expected)
