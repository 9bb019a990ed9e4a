"""What queries can see of an index, in the words of its source, so that two indexes can be compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from sparkcep import index
from sparkcep.index import table_reader
from sparkcep.index.pairs import unpack
from sparkcep.index.reader import Reader
from sparkcep.index.snapshots import read_current
from sparkcep.index.storage import DataFile, Location
from sparkcep.index.tables import symbol

Row = tuple[str, int, int, str]  # case, seconds, tiebreak, type


def stored(
    folder: Path, name: str, rows: Sequence[tuple[int, Any, Sequence[tuple[int, int, str | None]]]], size: int,
    second: pa.Field,
) -> DataFile:  # fmt: skip
    """A file of `sequences` with so many rows in a group.

    Args:
        rows: id, another column's value, and code, time and tie of each event. second: that column.
    """
    columns = {
        "id": pa.array([r[0] for r in rows], pa.int64()),
        second.name: pa.array([r[1] for r in rows], second.type),
        "codes": pa.array([[e[0] for e in r[2]] for r in rows], pa.list_(pa.int32())),
        "times": pa.array([[e[1] for e in r[2]] for r in rows], pa.list_(pa.int64())),
        "ties": pa.array([[e[2] for e in r[2]] for r in rows], pa.list_(pa.string())),
    }
    pq.write_table(pa.table(columns), folder / name, row_group_size=size)
    return DataFile(name, (folder / name).stat().st_size, len(rows))


def frame(spark: SparkSession, rows: list[Row]) -> DataFrame:
    """Events with a TIMESTAMP."""
    made = spark.createDataFrame(rows, "c string, t bigint, p int, e string")
    return made.selectExpr("c", "timestamp_seconds(t) AS ts", "p", "e")


def create(spark: SparkSession, name: str, rows: list[Row], **more: Any) -> None:
    index.drop(spark, name, if_exists=True)
    columns = {"case": "c", "time": "ts", "event": "e", "tiebreak": "p", "include": ["p"]} | more
    index.create(spark, name, frame(spark, rows), **columns)


def visible(reader: Reader) -> dict[str, Any]:
    """Cases, pairs, activities and counts."""
    names = {code: name for name, code in reader.dictionary().items()}
    cases, ids = {}, {}
    for row in reader.sequences().collect():
        assert row.c not in cases, f"case {row.c} is there twice"
        events = list(zip(row.times, row.ties, [names[c] for c in row.codes], row.p, strict=True))
        assert row.symbols == "".join(map(symbol, row.codes))
        cases[row.c] = events
        ids[row.id] = row.c
    out: dict[str, Any] = {"cases": cases, "types": set(names.values())}
    tables = reader.snapshot.tables
    if "activities" in tables:
        rows = reader.activities(sorted(names.values())).collect()
        out["activities"] = sorted((ids[r.id], r.position, r.type, r.time) for r in rows)
    if "pairs" in tables:
        out["pairs"] = pairs_of(reader, names, ids)
        wanted = [(a, b) for a in sorted(names.values()) for b in sorted(names.values())]
        out["counts"] = {k: v for k, v in reader.counts(wanted).items() if v.completions}
        assert reader.snapshot.totals.pairs == len(out["pairs"])
    totals = reader.snapshot.totals
    assert (totals.cases, totals.events) == (len(cases), sum(len(v) for v in cases.values()))
    return out


def pairs_of(reader: Reader, names: dict[int, str], ids: dict[int, str]) -> list[tuple[Any, ...]]:
    """Living pairs: case, types, positions, and times where they are stored."""
    table: pa.Table = table_reader.read_table(reader.spark, reader.index, reader.snapshot, "pairs").toArrow()
    living = set(reader.all_ids().tolist())
    found = []
    for batch in table.to_batches():
        counts = batch["count"].to_numpy().astype(np.int64)
        cases = unpack(batch["cases"], counts, batch["first_case"].to_numpy(), 1)
        first = unpack(batch["positions_a"], counts)
        second = first + unpack(batch["positions_b"], counts)
        columns = [np.repeat(batch[k].to_numpy(), counts) for k in ("a", "b", "interval")]
        if "times_a" in batch.schema.names:
            start = unpack(batch["times_a"], counts, None, 2)
            columns += [start, start + unpack(batch["times_b"], counts)]
        for case, i, j, a, b, *more in zip(cases, first, second, *columns, strict=True):
            if int(case) in living:
                found.append((ids[int(case)], names[int(a)], names[int(b)], int(i), int(j), *(int(m) for m in more)))
    return sorted(found)


def reference_counts(reader: Reader, seen: dict[str, Any]) -> dict[tuple[str, str], tuple[Any, ...]]:
    """Counts from the pairs and the cases."""
    durations = defaultdict(list)
    holders = defaultdict(set)
    for case, a, b, i, j, *_ in seen["pairs"]:
        events = seen["cases"][case]
        durations[a, b].append(events[j][0] - events[i][0])
        holders[a, b].add(case)
    return {k: (len(v), len(holders[k]), sum(v), min(v), max(v)) for k, v in durations.items()}


def check_files(place: Location) -> None:
    """Every table of the current snapshot is there, and its Delta log says the same."""
    from deltalake import DeltaTable

    snapshot = read_current(place)
    assert snapshot is not None
    for name, state in snapshot.tables.items():
        table = place.child(snapshot.build, name)
        assert all((Path(table.uri) / f.path).stat().st_size == f.size for f in state.files)
        found = DeltaTable(table.delta, version=state.version).file_uris()
        assert sorted(found) == sorted(f"{table.delta}/{f.path}" for f in state.files)
