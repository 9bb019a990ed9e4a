"""One partition matched as overlapping ranges of its ORDER BY key, in parallel.

WITHIN bounds how far a match reaches, so a range with copies of the rows behind its end holds every match that starts
in it. Where matching resumes in a range depends on the ranges before it. So the first pass finds, for every row at
which a match of an earlier range can let it resume, all matches that follow from there; these chains soon run together.
The second pass sees matches only, follows the one chain that begins at the partition's first row, and numbers it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from sparkcep.errors import reported
from sparkcep.exec.arrays import Ints, int32, int_values, ordered_ints
from sparkcep.exec.batch import CHUNK, Batch
from sparkcep.exec.engines.rows.matcher import Matcher
from sparkcep.exec.engines.rows.output import match_table, value_columns
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.engines.rows.tables import owned
from sparkcep.exec.kernels.rows import rows as kernel
from sparkcep.exec.kernels.rows.output import MAX_RANGE_ROWS, ROW_BITS
from sparkcep.exec.kernels.rows.ranges import SUMMARY, mark_ranges, select_chain
from sparkcep.exec.kernels.statuses import TOO_MANY_ROWS
from sparkcep.exec.layouts.output import arrays, record_batch, struct_fields
from sparkcep.exec.layouts.rows import (
    Chunk,
    chunk_of,
    column,
    key_fields,
    needed_columns,
    starts_partition,
    whole_partitions,
)
from sparkcep.exec.reports import Matched, RowsReport, matched_rows
from sparkcep.exec.shape import OperatorColumns
from sparkcep.exec.statuses import too_large_range
from sparkcep.query import ERROR, PREFIX

_RANGE = PREFIX + "range"
_START = PREFIX + "start"
_RESUME = PREFIX + "resume"


def match_ranges(df: DataFrame, shape: OperatorColumns, spec: MatchSpec) -> Matched:
    """Run a spec over prepared ranges; the columns of the plain rows layout come back."""
    assert shape.ranges is not None
    columns = value_columns(shape)
    keys, values = key_fields(df, shape), struct_fields(columns, {f.name: f.dataType for f in df.schema.fields})
    place = [StructField(_RANGE, LongType()), StructField(_START, IntegerType()), StructField(_RESUME, IntegerType())]
    ranges = RangeMatcher(shape, spec)
    first = RowsReport(ranges.run, ranges.empty)
    read = df.select(*needed_columns(shape, columns), _RANGE)
    found = matched_rows(read, first, StructType([*keys, *place, *values]), "sparkcep_ranges").frame
    partition = f"PARTITION BY {', '.join(f.name for f in keys)} " if keys else ""
    nulls = "FIRST" if shape.ranges.nulls_first else "LAST"
    order = f"ORDER BY {_RANGE} NULLS {nulls}, {_START}, {PREFIX}self"
    ordered = found.selectExpr("*", f"row_number() OVER ({partition}{order}) AS {PREFIX}row").drop(_RANGE)
    out = StructType([*keys, StructField(f"{PREFIX}number", LongType()), *values])
    selector = ChainSelector(spec, shape)
    return matched_rows(ordered, RowsReport(selector.run, selector.empty), out, "sparkcep_chain")


class RangeMatcher:
    """The first pass: all matches that can be reached, and per range a SUMMARY with the number of its own rows."""

    def __init__(self, shape: OperatorColumns, spec: MatchSpec) -> None:
        self.shape = shape
        self.spec = spec

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Body of mapInArrow over rows sorted by partition and range."""
        matcher = Matcher(self.spec)
        for table in whole_partitions(batches, starts_partition, self.shape):
            yield from self.match_ranges(matcher, table)

    def match_ranges(self, matcher: Matcher, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """Matches of the ranges of a table, with where each range would go on."""
        chunk = chunk_of(table, self.shape)
        if int(np.diff(chunk.batch.offsets).max(initial=0)) > MAX_RANGE_ROWS:
            raise too_large_range(MAX_RANGE_ROWS)
        numbers = column(table, "range").take(pa.array(chunk.batch.offsets[:-1]))
        own, marked = self.marked(chunk.batch, numbers)
        found = matcher.match(marked)
        ranges = len(own)
        # Not rows of a match: the borders of ranges.
        summaries = np.full((ranges, found.shape[1]), -1, np.int64)
        summaries[:, kernel.PARTITION] = np.arange(ranges)
        summaries[:, kernel.NUMBER] = SUMMARY << ROW_BITS | own
        found = np.concatenate([summaries, found])
        for low in range(0, len(found), CHUNK):
            yield self.placed(chunk, numbers, found[low : low + CHUNK])

    def placed(self, chunk: Chunk, numbers: pa.Array, part: Ints) -> pa.RecordBatch:
        """Output rows with their ranges, and where matching starts and resumes."""
        ranges = part[:, kernel.PARTITION]
        place = {
            _RANGE: numbers.take(pa.array(ranges)),
            _START: int32(part[:, kernel.NUMBER] >> ROW_BITS),
            _RESUME: int32(part[:, kernel.NUMBER] & (1 << ROW_BITS) - 1),
        }
        first_rows = np.asarray(chunk.batch.offsets, np.int64)[ranges]
        values = arrays(value_columns(self.shape), match_table(part, self.shape), first_rows, chunk.field)
        return record_batch(chunk.key_columns(ranges) | place | values)

    def empty(self, table: pa.Table) -> pa.RecordBatch:
        """The output without rows, from an input without rows."""
        none = np.zeros((0, kernel.FIXED + len(self.spec.slots)), np.int64)
        return self.placed(chunk_of(table, self.shape), column(table, "range"), none)

    def marked(self, batch: Batch, numbers: pa.Array) -> tuple[Ints, Batch]:
        """Own rows of each range, and the batch with marks where matching may resume and where it ends."""
        assert batch.within is not None and self.shape.ranges is not None
        keys, nulls = ordered_ints(batch.within[0])
        marks = np.full(len(keys), kernel.UNREACHED, np.uint8)
        own = np.zeros(len(numbers), np.int64)
        width, distance = self.shape.ranges.width, self.shape.ranges.distance
        places = owned(int_values(numbers)[0])
        mark_ranges(owned(batch.offsets), owned(keys), nulls, places, width, distance, marks, own)
        return own, replace(batch, marks=marks)


class ChainSelector:
    """The second pass: rows of matches that the partition as a whole has, numbered."""

    def __init__(self, spec: MatchSpec, shape: OperatorColumns) -> None:
        self.spec = spec
        self.shape = shape

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Body of mapInArrow over the ranges' matches, sorted by partition."""
        matcher = Matcher(self.spec)
        for table in whole_partitions(batches, lambda b: b.column(f"{PREFIX}row").to_numpy() == 1, self.shape):
            yield from self.select(matcher, table)

    def select(self, matcher: Matcher, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """Those matches that AFTER MATCH SKIP comes to, from a partition's first row on."""
        if (errors := column(table, "error").drop_null()) and (error := reported(errors[0].as_py())):
            raise error

        def ints(name: str) -> Ints:
            return np.ascontiguousarray(column(table, name).to_numpy(), np.int64)

        borders = np.append(np.flatnonzero(ints("row") == 1), table.num_rows).astype(np.int64)
        numbers, origins = np.zeros(table.num_rows, np.int64), np.zeros(table.num_rows, np.int64)
        select_chain(borders, ints("start"), ints("resume"), numbers, origins)
        failed = np.flatnonzero((ints("flags") & kernel.FAILED != 0) & (numbers > 0) & (ints("start") != SUMMARY))
        if len(failed):
            matcher.check(int(ints("code")[failed[0]]))
        counted = numbers > 0
        if not self.spec.rows_per_match.is_all:
            counted &= ints("flags") & kernel.LAST_OF_MATCH != 0
        if len(numbers) and np.diff(np.append(0, np.cumsum(counted))[borders]).max() > self.spec.limit_rows:
            matcher.check(TOO_MANY_ROWS)
        yield self.kept(table, numbers, ints("self") + origins)

    def empty(self, table: pa.Table) -> pa.RecordBatch:
        """The output without rows, from an input without rows."""
        none = np.zeros(0, np.int64)
        return self.kept(table, none, none)

    def kept(self, table: pa.Table, numbers: Ints, own_rows: Ints) -> pa.RecordBatch:
        """The numbered rows, with their places in the partition."""
        rows = pa.array(np.flatnonzero(numbers))
        out = {n: column(table, n.removeprefix(PREFIX)).take(rows) for n in table.column_names}
        for name in (_START, _RESUME, ERROR, f"{PREFIX}row"):
            del out[name]
        self_rows = int32(own_rows[rows.to_numpy()])
        kept = {n: self_rows if n == f"{PREFIX}self" else a for n, a in out.items()}
        keys = {n: a for n, a in kept.items() if n.startswith(f"{PREFIX}k")}
        number = {f"{PREFIX}number": pa.array(numbers[rows.to_numpy()])}
        return record_batch(keys | number | {n: a for n, a in kept.items() if n not in keys})
