"""The rows layout: rows sorted by a window, sent as they are, partitions stitched across Arrow batches.

Any size of a partition, any order.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from sparkcep.exec.arrays import Ints, Rows
from sparkcep.exec.batch import Batch, Resume
from sparkcep.exec.engines.rows.matcher import Matcher
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.kernels.rows import rows as kernel
from sparkcep.exec.reports import Matched, RowsReport, matched_rows
from sparkcep.exec.shape import FIXED_COLUMNS, OperatorColumns, batch_of
from sparkcep.exec.statuses import too_many_events
from sparkcep.query import PREFIX


def match_fields(df: DataFrame, shape: OperatorColumns) -> list[StructField]:
    """Columns of a matched row after keys and match number."""
    types = {f.name: f.dataType for f in df.schema.fields}
    out = [StructField(PREFIX + name, IntegerType()) for name, _ in FIXED_COLUMNS if name != "number"]
    out += [StructField(f"{PREFIX}l{s}", IntegerType()) for s in shape.labels]
    return out + [StructField(f"{PREFIX}g{n}", types[f"{PREFIX}f{g.field}"]) for n, g in enumerate(shape.gathers)]


def key_fields(df: DataFrame, shape: OperatorColumns) -> list[StructField]:
    return [f for f in df.schema.fields if f.name in {f"{PREFIX}k{i}" for i in range(shape.keys)}]


def needed_columns(shape: OperatorColumns) -> list[str]:
    """Columns that the rows layout sends to Python."""
    fields = dict.fromkeys([*shape.kernel_fields, *(g.field for g in shape.gathers)])
    keys, masks = range(shape.keys), range(shape.masks)
    return [PREFIX + n for n in (*(f"k{i}" for i in keys), *(f"m{w}" for w in masks), *(f"f{i}" for i in fields))]


def match_rows(df: DataFrame, shape: OperatorColumns, spec: MatchSpec) -> Matched:
    out = StructType([*key_fields(df, shape), StructField(f"{PREFIX}number", LongType()), *match_fields(df, shape)])
    matcher = RowsMatcher(shape, spec)
    return matched_rows(df.select(*needed_columns(shape)), RowsReport(matcher.run, matcher.empty), out)


#: Rows to gather before matching.
CHUNK = 200_000
#: The same where a row holds a value for each row of its partition.
WIDE_CHUNK = 2_000


def whole_partitions(
    batches: Iterator[pa.RecordBatch],
    starts_of: Callable[[pa.RecordBatch], npt.NDArray[np.bool_]],
    most: int | None = None,
) -> Iterator[pa.Table]:
    """Cut a stream of rows at partition starts, into tables of whole partitions and at least CHUNK rows.

    Raises:
        LimitError: CEP_EVENT_LIMIT, a partition has more than ``most`` rows; before much more of them are held.
    """
    held: list[pa.RecordBatch] = []
    rows = open_rows = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        rest = batch
        if rows >= CHUNK:
            starts = np.flatnonzero(starts_of(batch))
            if len(starts):
                cut = int(starts[-1])
                yield pa.Table.from_batches([*held, batch.slice(0, cut)]).combine_chunks()
                held, rest, rows, open_rows = [], batch.slice(cut), 0, 0
            open_rows += rest.num_rows
            if most is not None and open_rows > most:
                raise too_many_events(most)
        held.append(rest)
        rows += rest.num_rows
    if rows:
        yield pa.Table.from_batches(held).combine_chunks()


def column(table: pa.Table, name: str) -> pa.Array:
    """A prepared column of a table as one array."""
    chunked = table.column(PREFIX + name)
    return chunked.chunk(0) if chunked.num_chunks == 1 else chunked.combine_chunks()


@dataclass(frozen=True, slots=True)
class CarryOver:
    """What a piece of the stream leaves of its last partition: rows to match again, and the partition's keys."""

    table: pa.Table
    keys: list[pa.Array]
    resume: Resume


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows of the stream, cut at partition starts. ``keys``: per key column, a value for each partition."""

    table: pa.Table
    batch: Batch
    keys: list[pa.Array]

    def key_columns(self, partitions: Ints) -> dict[str, pa.Array]:
        """Keys of output rows by the partitions they are of."""
        at = pa.array(partitions)
        return {f"{PREFIX}k{i}": values.take(at) for i, values in enumerate(self.keys)}

    def rest(self, resume: Resume) -> CarryOver:
        """What is left for the next piece."""
        last = self.table.slice(int(self.batch.offsets[-2]) + resume.drop)
        return CarryOver(last, [values.slice(len(values) - 1) for values in self.keys], resume)


class RowsMatcher:
    """Body of mapInArrow: matches pieces of the stream, which need not end where a partition does.

    Memory is bounded by the piece and by the rows that are undecided at its end, not by the longest partition.
    """

    def __init__(self, shape: OperatorColumns, spec: MatchSpec, chunk: int = CHUNK) -> None:
        self.shape = shape
        self.spec = spec
        wide = any(t.kind == "array" for t in spec.conditions.column_types)
        self.chunk = min(chunk, WIDE_CHUNK) if wide else chunk

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        matcher = Matcher(self.spec)
        held: list[pa.RecordBatch] = []
        rows = 0
        rest: CarryOver | None = None
        for batch in batches:
            held.append(batch)
            rows += batch.num_rows
            # A piece that decides nothing is matched again with the next one, so pieces grow with what is kept.
            if rows >= self.chunk and (rest is None or rows >= rest.table.num_rows):
                rest = yield from self.emit(matcher, held, rest, more=True)
                held, rows = [], 0
        if rows or rest is not None:
            yield from self.emit(matcher, held, rest, more=False)

    def emit(
        self, matcher: Matcher, held: list[pa.RecordBatch], rest: CarryOver | None, more: bool
    ) -> Generator[pa.RecordBatch, None, CarryOver | None]:
        tables = [rest.table] if rest is not None else []
        tables += [pa.Table.from_batches([batch]) for batch in held]
        piece = self.piece(pa.concat_tables(tables), rest)
        before = rest.resume if rest is not None else None
        resume = yield from self.outputs(piece, before, matcher.match_parts(piece.batch, before, more))
        return piece.rest(resume) if resume is not None else None

    def outputs(
        self, piece: Chunk, before: Resume | None, parts: Generator[Ints, None, Resume | None]
    ) -> Generator[pa.RecordBatch, None, Resume | None]:
        """Output rows as record batches; returns what the matcher does."""
        while True:
            try:
                found = next(parts)
            except StopIteration as end:
                resume: Resume | None = end.value
                return resume
            for low in range(0, len(found), CHUNK):
                part = found[low : low + CHUNK]
                columns = self.columns(piece, part)
                if before is not None:  # rows count from the partition's start
                    origin = np.where(part[:, kernel.PARTITION] == 0, before.first_row, 0)
                    columns[f"{PREFIX}self"] = int32(part[:, kernel.SELF] + origin)
                yield record_batch(columns)

    def columns(self, piece: Chunk, part: Ints) -> dict[str, pa.Array]:
        """All columns of some output rows."""
        number = {f"{PREFIX}number": pa.array(np.ascontiguousarray(part[:, kernel.NUMBER]))}
        return piece.key_columns(part[:, kernel.PARTITION]) | number | self.values(piece, part)

    def empty(self, table: pa.Table) -> pa.RecordBatch:
        """The output without rows, from an input without rows."""
        return record_batch(self.columns(self.piece(table), self.no_rows()))

    def no_rows(self) -> Ints:
        return np.zeros((0, kernel.FIXED + len(self.spec.slots)), np.int64)

    def piece(self, table: pa.Table, rest: CarryOver | None = None) -> Chunk:
        """Rows as the matcher wants them. The first row of each partition has its mask inverted, and the keys."""
        table = table.combine_chunks()
        masks = [column(table, f"m{w}").to_numpy().astype(np.int64) for w in range(self.shape.masks)]
        starts = np.flatnonzero(masks[0] < 0)
        masks[0][starts] = ~masks[0][starts]
        arrays = [pa.array(mask) for mask in masks] + [column(table, f"f{i}") for i in self.shape.kernel_fields]
        keys = [column(table, f"k{i}").take(pa.array(starts)) for i in range(self.shape.keys)]
        offsets = np.append(starts, table.num_rows).astype(np.int64)
        # Rows of a partition whose first row came before; they may be none, if the next partition begins here.
        if rest is not None and not (rest.table.num_rows and offsets[0] == 0):
            offsets = np.append(0, offsets)
            keys = [pa.concat_arrays([of_rest, own]) for of_rest, own in zip(rest.keys, keys, strict=True)]
        return Chunk(table, batch_of(offsets, arrays, self.shape), keys)

    def values(self, piece: Chunk, part: Ints) -> dict[str, pa.Array]:
        """Columns of output rows (see :func:`match_fields`)."""
        base = piece.batch.offsets[part[:, kernel.PARTITION]]
        out = {PREFIX + name: int32(part[:, place]) for name, place in FIXED_COLUMNS if name != "number"}
        out |= {f"{PREFIX}l{s}": int32(part[:, kernel.FIXED + s]) for s in self.shape.labels}
        for n, g in enumerate(self.shape.gathers):
            rows = part[:, g.place]
            at = pa.array(base + rows, pa.int64(), mask=rows < 0)
            out[f"{PREFIX}g{n}"] = column(piece.table, f"f{g.field}").take(at)
        return out


def int32(values: Ints | Rows) -> pa.Array:
    return pa.array(np.ascontiguousarray(values)).cast(pa.int32())


def record_batch(columns: dict[str, pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
