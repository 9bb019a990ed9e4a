"""The grouped map of the event selection strategies, in the layouts of lists.py and rows.py.

The output columns are the same, and where they are wanted ``__cep_events``: for each match an array of its events as
(component code ``c``, row of the partition ``r``, traced fields ``f*``). A matcher may have columns of its own for each
match (:class:`Matches`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, IntegerType, LongType, StructField, StructType

from sparkcep.exec.arrays import Ints, Rows
from sparkcep.exec.batch import Batch
from sparkcep.exec.engines.runs.matcher import RunMatcher
from sparkcep.exec.engines.runs.search import RunSearch
from sparkcep.exec.engines.runs.spec import RunSpec
from sparkcep.exec.kernels.rows import rows as kernel
from sparkcep.exec.layouts.grouped import (
    ROWS,
    Body,
    as_lists,
    key_columns,
    list_batch,
    list_inputs,
    partitions_of,
    table_batch,
)
from sparkcep.exec.layouts.rows import column, int32, key_fields, match_fields, needed_columns, record_batch
from sparkcep.exec.reports import FOUND, ListsReport, Matched, reported_type
from sparkcep.exec.shape import FIXED_COLUMNS, OperatorColumns
from sparkcep.query import PREFIX

EVENTS = PREFIX + "events"
S = TypeVar("S")
M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Matches:
    """``out`` and ``trace`` as of RunMatcher; ``own``: the matcher's own columns, a value for each row of ``out``."""

    out: Ints
    trace: Ints | Rows
    own: Mapping[str, pa.Array] = field(default_factory=dict)


class MatchBody(Body[S, M], Generic[S, M]):
    """Each match a row; a subclass says what matches a batch."""

    def matches(self, batch: Batch) -> Matches:
        raise NotImplementedError

    def pieces(self, batch: Batch) -> Iterator[Matches]:
        """The same where not all are wanted at once; a piece is done with when the next one is asked for."""
        yield self.matches(batch)

    def of_lists(self, *lists: pa.Array) -> pa.Array:
        """A list of matches per partition."""
        found = self.matches(list_batch(lists, self.shape))
        columns = {f"c{p}": int32(found.out[:, p]) for p in self.shape.places} | dict(found.own)
        if self.shape.trace is not None:
            events = pa.StructArray.from_arrays([int32(found.trace[:, 0]), int32(found.trace[:, 1])], names=["c", "r"])
            columns["e"] = pa.ListArray.from_arrays(event_offsets(found.out), events)
        return as_lists(found.out[:, kernel.PARTITION], len(lists[0]), columns)

    def of_table(self, table: pa.Table) -> pa.RecordBatch:
        batch = table_batch(table, self.shape)
        return self.of_piece(table, batch, self.matches(batch))

    def of_rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in partitions_of(batches, self.shape):
            batch = table_batch(table, self.shape)
            for piece in self.pieces(batch):
                yield self.of_piece(table, batch, piece)

    def of_piece(self, table: pa.Table, batch: Batch, whole: Matches) -> pa.RecordBatch:
        """Output rows of some matches."""
        shape = self.shape
        found, trace = whole.out, whole.trace
        columns = key_columns(table, batch, found[:, kernel.PARTITION], shape)
        columns[f"{PREFIX}number"] = pa.array(np.ascontiguousarray(found[:, kernel.NUMBER]))
        columns |= {PREFIX + name: int32(found[:, p]) for name, p in FIXED_COLUMNS if name != "number"}
        columns |= {f"{PREFIX}l{s}": int32(found[:, kernel.FIXED + s]) for s in shape.labels}
        base = batch.offsets[found[:, kernel.PARTITION]]
        for n, g in enumerate(shape.gathers):
            rows = found[:, g.place]
            at = pa.array(base + rows, pa.int64(), mask=rows < 0)
            columns[f"{PREFIX}g{n}"] = column(table, f"f{g.field}").take(at)
        columns |= {PREFIX + name: values for name, values in whole.own.items()}
        if shape.trace is not None:
            lengths = np.diff(np.append(0, found[:, -1]))
            at = pa.array(trace[:, 1] + np.repeat(base, lengths))
            children = [int32(trace[:, 0]), int32(trace[:, 1])]
            children += [column(table, f"f{f}").take(at) for f in shape.trace]
            events = pa.StructArray.from_arrays(children, names=["c", "r", *(f"f{f}" for f in shape.trace)])
            columns[EVENTS] = pa.ListArray.from_arrays(event_offsets(found), events)
        return record_batch(columns)


def event_offsets(table: Ints) -> pa.Array:
    return pa.array(np.append(0, table[:, -1]).astype(np.int32))


def map_matches(df: DataFrame, layout: str, body: MatchBody[S, M], own: Sequence[tuple[str, DataType]] = ()) -> Matched:
    """Run a body over prepared rows; see operator.match. ``own``: its columns with their types."""
    return (_lists if layout == "lists" else _rows)(df, body, own)


def _lists(df: DataFrame, body: MatchBody[S, M], own: Sequence[tuple[str, DataType]]) -> Matched:
    shape = body.shape
    names = [f"c{p}:int" for p in shape.places] + [f"{name}:{type_.simpleString()}" for name, type_ in own]
    names += ["e:array<struct<c:int,r:int>>"] * (shape.trace is not None)
    returns = reported_type(f"array<struct<{','.join(names)}>>")
    found = F.arrow_udf(ListsReport(body.of_lists).run, returns)  # type: ignore[attr-defined]
    keys = [f"{PREFIX}k{i}" for i in range(shape.keys)]
    matched = df.select(*keys, ROWS, found(*map(F.expr, list_inputs(shape))).alias(f"{PREFIX}found"))
    out = [f"m.c{place} AS {PREFIX}{name}" for name, place in FIXED_COLUMNS]
    out += [f"m.{name} AS {PREFIX}{name}" for name, _ in own]
    out += [f"m.c{kernel.FIXED + s} AS {PREFIX}l{s}" for s in shape.labels]
    out += [f"get({ROWS}, m.c{g.place}).{PREFIX}f{g.field} AS {PREFIX}g{n}" for n, g in enumerate(shape.gathers)]
    if shape.trace is not None:
        fields = "".join(f", get({ROWS}, e.r).{PREFIX}f{f} AS f{f}" for f in shape.trace)
        out.append(f"transform(m.e, e -> struct(e.c AS c, e.r AS r{fields})) AS {EVENTS}")
    return Matched(matched.selectExpr(*keys, f"inline(transform({FOUND}, m -> struct({', '.join(out)})))"))


def _rows(df: DataFrame, body: MatchBody[S, M], own: Sequence[tuple[str, DataType]]) -> Matched:
    shape = body.shape
    fields = [*key_fields(df, shape), StructField(f"{PREFIX}number", LongType()), *match_fields(df, shape)]
    fields += [StructField(PREFIX + name, type_) for name, type_ in own]
    names = needed_columns(shape)
    if shape.trace is not None:
        types = {f.name: f.dataType for f in df.schema.fields}
        event = [StructField("c", IntegerType()), StructField("r", IntegerType())]
        event += [StructField(f"f{f}", types[f"{PREFIX}f{f}"]) for f in shape.trace]
        fields.append(StructField(EVENTS, ArrayType(StructType(event))))
        names = list(dict.fromkeys([*names, *(f"{PREFIX}f{f}" for f in shape.trace)]))
    return body.mapped(df.select(*names), StructType(fields))


class RunBody(MatchBody[RunSpec, RunMatcher | RunSearch]):
    """Runs of the kernel, or of the search by definition."""

    def make(self) -> RunMatcher | RunSearch:
        return RunSearch(self.spec) if self.spec.searched else RunMatcher(self.spec)

    def matches(self, batch: Batch) -> Matches:
        return Matches(*self.matcher.match(batch))

    def pieces(self, batch: Batch) -> Iterator[Matches]:
        if isinstance(self.matcher, RunSearch):
            yield self.matches(batch)
        else:
            yield from (Matches(*piece) for piece in self.matcher.pieces(batch))


def match_runs(df: DataFrame, layout: str, shape: OperatorColumns, spec: RunSpec) -> Matched:
    """Run a spec over prepared rows; see operator.match."""
    return map_matches(df, layout, RunBody(shape, spec))
