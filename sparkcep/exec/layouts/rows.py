"""The rows layout: rows sorted by a window, sent as they are, partitions stitched across Arrow batches.

Any size of a partition, any order. A matcher that can go on in the middle of a partition gets the stream in chunks of
bounded size, any other one gets whole partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from sparkcep.exec.arrays import Ints
from sparkcep.exec.batch import CHUNK, Batch, Resume
from sparkcep.exec.engine import Engine, MatchTable, OutputColumn, ResumableMatcher
from sparkcep.exec.layouts.body import Body, within_limit
from sparkcep.exec.layouts.output import arrays, fields_read, record_batch, struct_fields
from sparkcep.exec.memory import too_much_memory
from sparkcep.exec.reports import Matched, RowsReport, matched_rows
from sparkcep.exec.shape import OperatorColumns, batch_of
from sparkcep.exec.statuses import too_many_events
from sparkcep.query import PREFIX

S = TypeVar("S")


def match_rows(df: DataFrame, engine: Engine[S], shape: OperatorColumns, spec: S) -> Matched:
    """Run an engine over sorted rows; see operator.match."""
    body = RowsBody(engine, shape, spec)
    types = {f.name: f.dataType for f in df.schema.fields}
    out = StructType([*key_fields(df, shape), *struct_fields(body.columns, types)])
    return matched_rows(df.select(*needed_columns(shape, body.columns)), RowsReport(body.run, body.empty), out)


def key_fields(df: DataFrame, shape: OperatorColumns) -> list[StructField]:
    """Types of the partition keys (``k0``, ``k1``, ...) in the output, as the input has them."""
    return [f for f in df.schema.fields if f.name in {f"{PREFIX}k{i}" for i in range(shape.keys)}]


def needed_columns(shape: OperatorColumns, columns: Sequence[OutputColumn] = ()) -> list[str]:
    """Columns that the rows layout sends to Python, for some output columns."""
    fields = dict.fromkeys([*shape.kernel_fields, *fields_read(columns)])
    keys, masks = range(shape.keys), range(shape.masks)
    return [PREFIX + n for n in (*(f"k{i}" for i in keys), *(f"m{w}" for w in masks), *(f"f{i}" for i in fields))]


def whole_partitions(
    batches: Iterator[pa.RecordBatch],
    starts_of: Callable[[pa.RecordBatch], npt.NDArray[np.bool_]],
    shape: OperatorColumns,
    most: int | None = None,
) -> Iterator[pa.Table]:
    """Cut a stream of rows at partition starts, into tables of whole partitions of at least CHUNK rows or
    ``shape.chunk_bytes``.

    Raises:
        LimitError: CEP_EVENT_LIMIT, a partition has more than ``most`` rows; CEP_MEMORY_LIMIT, it takes more memory
            than a task may; before much more of them are held.
    """
    held: list[pa.RecordBatch] = []
    rows = size = open_rows = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        rest = batch
        if rows >= CHUNK or size >= shape.chunk_bytes:
            starts = np.flatnonzero(starts_of(batch))
            if len(starts):
                cut = int(starts[-1])
                held.append(batch.slice(0, cut))
                yield combined(held)
                rest, rows, size, open_rows = batch.slice(cut), 0, 0, 0
            open_rows += rest.num_rows
            # Combining them takes as much again.
            if 2 * (size + rest.nbytes) > shape.task_memory:
                raise too_much_memory(2 * (size + rest.nbytes), shape.task_memory, open_rows)
            if most is not None and open_rows > most:
                raise too_many_events(most)
        held.append(rest)
        rows += rest.num_rows
        size += rest.nbytes
    if rows:
        yield combined(held)


def combined(held: list[pa.RecordBatch]) -> pa.Table:
    """Batches as one table of a chunk a column; they are let go, as it is a copy."""
    table = pa.Table.from_batches(held).combine_chunks()
    held.clear()
    return table


def starts_partition(batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    """Which rows are the first of their partition: their mask is inverted."""
    starts: npt.NDArray[np.bool_] = batch.column(batch.schema.names.index(f"{PREFIX}m0")).to_numpy() < 0
    return starts


def column(table: pa.Table, name: str) -> pa.Array:
    """A prepared column of a table as one array."""
    chunked = table.column(PREFIX + name)
    return chunked.chunk(0) if chunked.num_chunks == 1 else chunked.combine_chunks()


@dataclass(frozen=True, slots=True)
class CarryOver:
    """What a chunk of the stream leaves of its last partition: rows to match again, and the partition's keys."""

    table: pa.Table
    keys: list[pa.Array]
    resume: Resume


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows of the stream, cut at partition starts. ``keys``: per key column, a value for each partition."""

    table: pa.Table
    batch: Batch
    keys: list[pa.Array]

    def field(self, number: int) -> pa.Array:
        """A prepared field of all of the chunk's rows."""
        return column(self.table, f"f{number}")

    def key_columns(self, partitions: Ints) -> dict[str, pa.Array]:
        """Keys of output rows by the partitions they are of."""
        at = pa.array(partitions)
        return {f"{PREFIX}k{i}": values.take(at) for i, values in enumerate(self.keys)}

    def carried(self, resume: Resume) -> CarryOver:
        """What is left for the next chunk."""
        last = self.table.slice(int(self.batch.offsets[-2]) + resume.drop)
        return CarryOver(last, [values.slice(len(values) - 1) for values in self.keys], resume)


def chunk_of(table: pa.Table, shape: OperatorColumns, before: CarryOver | None = None) -> Chunk:
    """Rows as a matcher wants them. The first row of each partition has its mask inverted, and the keys.

    Args:
        before: what the chunk before left; its rows are the table's first.
    """
    table = table.combine_chunks()
    masks = [column(table, f"m{w}").to_numpy().astype(np.int64) for w in range(shape.masks)]
    starts = np.flatnonzero(masks[0] < 0)
    masks[0][starts] = ~masks[0][starts]
    values = [pa.array(mask) for mask in masks] + [column(table, f"f{i}") for i in shape.kernel_fields]
    keys = [column(table, f"k{i}").take(pa.array(starts)) for i in range(shape.keys)]
    offsets = np.append(starts, table.num_rows).astype(np.int64)
    # Rows of a partition whose first row came before; they may be none, if the next partition begins here.
    if before is not None and not (before.table.num_rows and offsets[0] == 0):
        offsets = np.append(0, offsets)
        keys = [pa.concat_arrays([of_rest, own]) for of_rest, own in zip(before.keys, keys, strict=True)]
    return Chunk(table, batch_of(offsets, values, shape, table.nbytes), keys)


class RowsBody(Body[S]):
    """Body of mapInArrow. Memory is bounded by a chunk and what is undecided at its end where the matcher is resumable,
    else by a chunk and the longest partition."""

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Output rows."""
        if isinstance(self.matcher, ResumableMatcher):
            yield from self.resumed(self.matcher, batches)
            return
        for chunk in self.whole_chunks(batches):
            for piece in self.matcher.pieces(chunk.batch):
                yield from self.emit(chunk, piece)

    def whole_chunks(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Chunk]:
        """Rows as chunks of whole partitions.

        Raises:
            LimitError: CEP_EVENT_LIMIT, CEP_MEMORY_LIMIT.
        """
        for table in whole_partitions(batches, starts_partition, self.shape, self.shape.limit_events):
            chunk = chunk_of(table, self.shape)
            within_limit(chunk.batch.offsets, self.shape)
            yield chunk

    def resumed(self, matcher: ResumableMatcher, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Output rows of chunks that need not end where a partition does."""
        held: list[pa.RecordBatch] = []
        rows = size = 0
        before: CarryOver | None = None
        for batch in batches:
            held.append(batch)
            rows += batch.num_rows
            size += batch.nbytes
            # A chunk that decides nothing is matched again with the next one, so chunks grow with what is kept.
            full = rows >= matcher.chunk or size >= self.shape.chunk_bytes
            if full and (before is None or rows >= before.table.num_rows):
                before = yield from self.advance(matcher, held, before, more=True)
                held, rows, size = [], 0, 0
        if rows or before is not None:
            yield from self.advance(matcher, held, before, more=False)

    def advance(
        self, matcher: ResumableMatcher, held: list[pa.RecordBatch], before: CarryOver | None, more: bool
    ) -> Generator[pa.RecordBatch, None, CarryOver | None]:
        """Match one chunk."""
        tables = [before.table] if before is not None else []
        tables += [pa.Table.from_batches([batch]) for batch in held]
        chunk = chunk_of(pa.concat_tables(tables), self.shape, before)
        parts = matcher.parts(chunk.batch, before.resume if before is not None else None, more)
        while True:
            try:
                found = next(parts)
            except StopIteration as end:
                resume: Resume | None = end.value
                return chunk.carried(resume) if resume is not None else None
            yield from self.emit(chunk, found, 0 if before is None else before.resume.first_row)

    def emit(self, chunk: Chunk, matches: MatchTable, first_row: int = 0) -> Iterator[pa.RecordBatch]:
        """Output rows in record batches. ``first_row``: rows of the first partition that came before the chunk."""
        step = self.rows_at_once(chunk)
        for low in range(0, len(matches), step):
            yield self.batch(chunk, matches.slice(low, step), first_row)

    def rows_at_once(self, chunk: Chunk) -> int:
        """Output rows of a record batch: what a row's fields take on average is taken for each that goes out."""
        read = [chunk.table.column(PREFIX + f"f{i}") for i in fields_read(self.columns)]
        width: int = sum(values.nbytes for values in read) // max(1, chunk.table.num_rows)
        return max(1, min(CHUNK, self.shape.chunk_bytes // max(1, width)))

    def batch(self, chunk: Chunk, part: MatchTable, first_row: int = 0) -> pa.RecordBatch:
        """One record batch: keys, then the engine's columns, a row for each of the table's.

        ``first_row``: rows of the first partition that came before the chunk; row numbers count from the partition's
        first.
        """
        origin = np.where(part.partition == 0, first_row, 0) if first_row else None
        first_rows = np.asarray(chunk.batch.offsets, np.int64)[part.partition]
        values = arrays(self.columns, part, first_rows, chunk.field, origin)
        return record_batch(chunk.key_columns(part.partition) | values)

    def empty(self, table: pa.Table) -> pa.RecordBatch:
        """The output without rows, from an input without rows."""
        chunk = chunk_of(table, self.shape)
        return self.batch(chunk, self.matcher.match(chunk.batch))
