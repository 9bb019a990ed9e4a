"""Numbers about what was just written: read from its files in one process, or by Spark where they are large."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from sparkcep.exec.kernels.index.postings import SPLIT
from sparkcep.index.files import read
from sparkcep.index.pairs import Longs
from sparkcep.index.storage import DataFile, Location
from sparkcep.index.tables import Definition


@dataclass(frozen=True, slots=True)
class Facts:
    """What written sequences hold. ``begun``: cases with their first event; ``ended``: ids that are replaced.

    ``ties``: events that differ from one before in their type only, so that their order is the index's own.
    """

    events: int
    begun: int
    continued: int
    ended: int
    ties: int
    highest_id: int


def of_sequences(frame: DataFrame, d: Definition) -> Facts:
    """By Spark."""
    keys = "times" if d.tiebreak is None else "arrays_zip(times, ties)"
    row = frame.selectExpr(
        "CAST(coalesce(sum(size(times)), 0) AS BIGINT) AS events",
        "count_if(start = 0 AND size(times) > 0) AS begun",
        "count_if(start > 0) AS continued",
        "count(replaces) AS ended",
        f"CAST(coalesce(sum(size(times) - size(array_distinct({keys}))), 0) AS BIGINT) AS ties",
        "coalesce(max(id), -1) AS highest_id",
    ).collect()[0]
    return Facts(*row)


def tables(table: Location, files: Sequence[DataFile], columns: Sequence[str]) -> Iterator[pa.Table]:
    """Some columns of each file."""
    for file in files:
        yield read(table, file, columns).combine_chunks()


def of_files(table: Location, files: Sequence[DataFile], with_ties: bool) -> Facts:
    """From the files. Ties are found between neighbours, which events of a case in their order are."""
    events = begun = continued = ended = ties = 0
    highest = -1
    columns = ["id", "start", "replaces", "times", *(["ties"] if with_ties else [])]
    for rows in tables(table, files, columns):
        if not rows.num_rows:
            continue
        lists = rows["times"].chunk(0)
        lengths = np.asarray(lists.value_lengths())
        start = rows["start"].to_numpy()
        events += int(lengths.sum())
        begun += int(((start == 0) & (lengths > 0)).sum())
        continued += int((start > 0).sum())
        ended += rows.num_rows - rows["replaces"].null_count
        highest = max(highest, pc.max(rows["id"]).as_py())
        times = lists.flatten().to_numpy()
        same = times[1:] == times[:-1]
        case = np.repeat(np.arange(len(lengths)), lengths)
        same &= case[1:] == case[:-1]
        if with_ties and same.any():
            keys, at = rows["ties"].chunk(0).flatten(), np.flatnonzero(same)
            ties += int(same_keys(keys, at, at + 1).sum())
        else:
            ties += int(same.sum())
    return Facts(events, begun, continued, ended, ties, highest)


def same_keys(keys: pa.Array, one: Longs, other: Longs) -> npt.NDArray[np.bool_]:
    """Whether values at some places are those at others, as Spark's `<=>` has it."""
    left, right = keys.take(pa.array(one)), keys.take(pa.array(other))
    equal = pc.or_(pc.fill_null(pc.equal(left, right), False), pc.and_(left.is_null(), right.is_null()))
    if pa.types.is_floating(keys.type):  # NaN is one value to Spark's order
        equal = pc.or_(equal, pc.fill_null(pc.and_(pc.is_nan(left), pc.is_nan(right)), False))
    return np.asarray(equal, bool)


def counts(table: Location, files: Sequence[DataFile]) -> pa.Table:
    """Rows of `counts` from the numbers of posting lists."""
    columns = ["a", "b", "count", "fresh", "sum_high", "sum_low", "shortest", "longest"]
    parts = list(tables(table, files, columns))
    return counts_of(pa.concat_tables(parts)) if parts else pa.table({"a": pa.array([], pa.int32())})


def counts_of(lists: pa.Table) -> pa.Table:
    """Rows of `counts` from posting lists."""
    found = lists.group_by(["a", "b"]).aggregate(
        [("count", "sum"), ("fresh", "sum"), ("sum_high", "sum"), ("sum_low", "sum"), ("shortest", "min"),
         ("longest", "max")]
    )  # fmt: skip
    pairs = zip(found["sum_high_sum"].to_pylist(), found["sum_low_sum"].to_pylist(), strict=True)
    total = [Decimal((high << SPLIT) + low) for high, low in pairs]
    return pa.table(
        {
            "a": found["a"],
            "b": found["b"],
            "completions": found["count_sum"].cast(pa.int64()),
            "cases": found["fresh_sum"],
            "sum": pa.array(total, pa.decimal128(38, 0)),
            "min": found["shortest_min"],
            "max": found["longest_max"],
        }
    )


def added_counts(table: Location, files: Sequence[DataFile]) -> pa.Table:
    """Rows of `counts` of several batches as those of one."""
    parts = list(tables(table, files, ["a", "b", "completions", "cases", "sum", "min", "max"]))
    if not parts:
        return pa.table({"a": pa.array([], pa.int32())})
    found = (
        pa.concat_tables(parts)
        .group_by(["a", "b"])
        .aggregate([("completions", "sum"), ("cases", "sum"), ("sum", "sum"), ("min", "min"), ("max", "max")])
    )
    return pa.table(
        {
            "a": found["a"],
            "b": found["b"],
            "completions": found["completions_sum"].cast(pa.int64()),
            "cases": found["cases_sum"].cast(pa.int64()),
            "sum": found["sum_sum"].cast(pa.decimal128(38, 0)),
            "min": found["min_min"],
            "max": found["max_max"],
        }
    )


def rows_of(table: Location, files: Sequence[DataFile]) -> pa.Table:
    """All rows of some files of a small table."""
    return pa.concat_tables([read(table, file) for file in files])


def sum_column(table: Location, files: Sequence[DataFile], column: str) -> int:
    """Sum of a whole-number column."""
    return sum(pc.sum(rows[column]).as_py() or 0 for rows in tables(table, files, [column]))
