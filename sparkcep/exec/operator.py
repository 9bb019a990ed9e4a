"""The grouped map: a DataFrame of prepared rows in, a DataFrame of matched rows out, in one of two layouts.

* lists: one row per partition with a sorted list of structs. A scalar Arrow UDF gets the few lists the kernel reads and
  returns row numbers; payload columns never leave the JVM and filters on the keys reach the scan.
* rows: rows sorted by a window, sent as they are; partitions are stitched across Arrow batches. Any size, any order.

Both give the same columns: keys, match number, label code, row, flags, label slots and gathered values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from sparkcep.exec.arrays import Ints, ordered_ints
from sparkcep.exec.kernels import rows as kernel
from sparkcep.exec.matcher import Batch, Matcher
from sparkcep.exec.spec import MatchSpec
from sparkcep.query import PREFIX

#: Rows a gather can take its value from, beside slots (0, 1, ...).
CURRENT_ROW, SELF_ROW = -1, -2

_ROWS = PREFIX + "rows"
_FIXED = (("number", kernel.NUMBER), ("code", kernel.LABEL), ("self", kernel.SELF), ("flags", kernel.FLAGS))


@dataclass(frozen=True, slots=True)
class Gather:
    """An output value: field ``field`` at row ``row`` (a slot's number, CURRENT_ROW or SELF_ROW)."""

    row: int
    field: int

    @property
    def place(self) -> int:
        """Column of the kernel's output that holds the row."""
        return {CURRENT_ROW: kernel.CURRENT, SELF_ROW: kernel.SELF}.get(self.row, kernel.FIXED + self.row)


@dataclass(frozen=True, slots=True)
class Within:
    """Fields of the ORDER BY key and of key plus interval; or a fixed ``distance`` in the kernel's units of the key."""

    key: int
    bound: int | None
    distance: int | None

    def bounds(self, keys: pa.Array) -> pa.Array:
        """Keys plus the fixed distance, as int64; the largest int64 where there is no room."""
        values, nulls = ordered_ints(keys)
        distance = self.distance or 0
        most = np.iinfo(np.int64).max - distance
        return pa.array(np.minimum(values, most) + distance, mask=nulls.astype(bool))


@dataclass(frozen=True, slots=True)
class OperatorShape:
    """Which prepared columns go where.

    ``columns``: fields that match-dependent conditions load. ``labels``: slots that hold labels. ``mask_updates``:
    lists layout only, per mask word the lambda body that finishes conditions with PREV or NEXT.
    """

    keys: int
    masks: int
    columns: tuple[int, ...]
    within: Within | None
    gathers: tuple[Gather, ...]
    labels: tuple[int, ...]
    mask_updates: tuple[str | None, ...] = ()

    @property
    def kernel_fields(self) -> tuple[int, ...]:
        """Fields the kernel reads: condition columns, then those of WITHIN."""
        if self.within is None:
            return self.columns
        bound = () if self.within.bound is None else (self.within.bound,)
        return (*self.columns, self.within.key, *bound)

    @property
    def places(self) -> tuple[int, ...]:
        """Columns of the kernel's output that are needed outside."""
        fixed = [p for _, p in _FIXED]
        return tuple(
            dict.fromkeys([*fixed, *(kernel.FIXED + s for s in self.labels), *(g.place for g in self.gathers)])
        )


def _batch(offsets: Ints, arrays: list[pa.Array], shape: OperatorShape) -> Batch:
    """A batch from mask arrays followed by kernel fields."""
    masks, fields = arrays[: shape.masks], arrays[shape.masks :]
    columns, rest = fields[: len(shape.columns)], fields[len(shape.columns) :]
    within = None
    if shape.within is not None:
        within = (rest[0], rest[1] if len(rest) > 1 else shape.within.bounds(rest[0]))
    return Batch(offsets, masks, columns, within)


def match(df: DataFrame, layout: str, shape: OperatorShape, spec: MatchSpec) -> DataFrame:
    """Run a spec over prepared rows.

    Args:
        df: lists layout: keys ``__cep_k*`` and ``__cep_rows``; rows layout: fields ``__cep_f*`` and masks
            ``__cep_m*``, rows of a partition together; its first row has the keys, and ``__cep_m0`` inverted.
    """
    return _match_lists(df, shape, spec) if layout == "lists" else _match_rows(df, shape, spec)


# -- lists -------------------------------------------------------------------------------------------------------------


def _match_lists(df: DataFrame, shape: OperatorShape, spec: MatchSpec) -> DataFrame:
    names = [f"c{p}" for p in shape.places]
    inputs: list[str] = []
    for w in range(shape.masks):
        update = shape.mask_updates[w] if w < len(shape.mask_updates) else None
        inputs.append(
            f"{_ROWS}.{PREFIX}m{w}" if update is None else f"transform({_ROWS}, ({PREFIX}r, {PREFIX}i) -> {update})"
        )
    inputs += [f"{_ROWS}.{PREFIX}f{i}" for i in shape.kernel_fields]
    returns = f"array<struct<{','.join(f'{n}:int' for n in names)}>>"
    found = F.arrow_udf(ListsMatcher(shape, spec).run, returns)  # type: ignore[attr-defined]
    keys = [f"{PREFIX}k{i}" for i in range(shape.keys)]
    matched = df.select(*keys, _ROWS, found(*(F.expr(i) for i in inputs)).alias(f"{PREFIX}found"))
    out = [f"m.c{place} AS {PREFIX}{name}" for name, place in _FIXED]
    out += [f"m.c{kernel.FIXED + s} AS {PREFIX}l{s}" for s in shape.labels]
    out += [f"get({_ROWS}, m.c{g.place}).{PREFIX}f{g.field} AS {PREFIX}g{n}" for n, g in enumerate(shape.gathers)]
    return matched.selectExpr(*keys, f"inline(transform({PREFIX}found, m -> struct({', '.join(out)})))")


class ListsMatcher:
    """Body of the Arrow UDF. Its state is made on the executor at the first batch, never pickled."""

    def __init__(self, shape: OperatorShape, spec: MatchSpec) -> None:
        self.shape = shape
        self.spec = spec
        self._matcher: Matcher | None = None

    def __getstate__(self) -> tuple[OperatorShape, MatchSpec]:
        return self.shape, self.spec

    def __setstate__(self, state: tuple[OperatorShape, MatchSpec]) -> None:
        self.__init__(*state)  # type: ignore[misc]

    def run(self, *lists: pa.Array) -> pa.Array:
        """List columns of a batch of partitions to a list of matched rows per partition."""
        if self._matcher is None:
            self._matcher = Matcher(self.spec)
        arrays = [a.combine_chunks() if isinstance(a, pa.ChunkedArray) else a for a in lists]
        offsets = arrays[0].offsets.to_numpy().astype(np.int64)
        table = self._matcher.match(_batch(offsets - offsets[0], [a.flatten() for a in arrays], self.shape))
        partitions = len(arrays[0])
        borders = np.searchsorted(table[:, kernel.PARTITION], np.arange(partitions + 1)).astype(np.int32)
        places = self.shape.places
        children = [pa.array(np.ascontiguousarray(table[:, p]), pa.int64()).cast(pa.int32()) for p in places]
        structs = pa.StructArray.from_arrays(children, names=[f"c{p}" for p in places])
        return pa.ListArray.from_arrays(pa.array(borders), structs)


# -- rows --------------------------------------------------------------------------------------------------------------


def _match_rows(df: DataFrame, shape: OperatorShape, spec: MatchSpec) -> DataFrame:
    types = {f.name: f.dataType for f in df.schema.fields}
    out = [StructField(f"{PREFIX}k{i}", types[f"{PREFIX}k{i}"]) for i in range(shape.keys)]
    out += [StructField(PREFIX + name, IntegerType() if name != "number" else LongType()) for name, _ in _FIXED]
    out += [StructField(f"{PREFIX}l{s}", IntegerType()) for s in shape.labels]
    out += [StructField(f"{PREFIX}g{n}", types[f"{PREFIX}f{g.field}"]) for n, g in enumerate(shape.gathers)]
    needed = [f"{PREFIX}k{i}" for i in range(shape.keys)]
    needed += [f"{PREFIX}m{w}" for w in range(shape.masks)]
    fields = dict.fromkeys([*shape.kernel_fields, *(g.field for g in shape.gathers)])
    needed += [f"{PREFIX}f{i}" for i in fields]
    return df.select(*needed).mapInArrow(RowsMatcher(shape, spec).run, StructType(out))


class RowsMatcher:
    """Body of mapInArrow: cuts the stream at partition starts and matches whole partitions together."""

    #: Rows to gather before matching; a partition that is longer is taken whole.
    CHUNK = 200_000

    def __init__(self, shape: OperatorShape, spec: MatchSpec) -> None:
        self.shape = shape
        self.spec = spec

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        matcher = Matcher(self.spec)
        held: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            if batch.num_rows == 0:
                continue
            rest = batch
            if rows >= self.CHUNK:
                starts = np.flatnonzero(batch.column(f"{PREFIX}m0").to_numpy() < 0)
                if len(starts):
                    cut = int(starts[-1])
                    yield from self.emit(matcher, [*held, batch.slice(0, cut)])
                    held, rest, rows = [], batch.slice(cut), 0
            held.append(rest)
            rows += rest.num_rows
        if rows:
            yield from self.emit(matcher, held)

    def emit(self, matcher: Matcher, held: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table = pa.Table.from_batches(held).combine_chunks()
        rows = table.num_rows
        if rows == 0:
            return

        def column(name: str) -> pa.Array:
            chunked = table.column(PREFIX + name)
            return chunked.chunk(0) if chunked.num_chunks == 1 else chunked.combine_chunks()

        masks = [column(f"m{w}").to_numpy().astype(np.int64) for w in range(self.shape.masks)]
        starts = np.flatnonzero(masks[0] < 0)
        offsets = np.append(starts, rows).astype(np.int64)
        masks[0][starts] = ~masks[0][starts]
        arrays = [pa.array(mask) for mask in masks]
        arrays += [column(f"f{i}") for i in self.shape.kernel_fields]
        found = matcher.match(_batch(offsets, arrays, self.shape))
        base = offsets[:-1][found[:, kernel.PARTITION]] if len(found) else np.zeros(0, np.int64)
        for low in range(0, len(found), self.CHUNK):
            part, begin = found[low : low + self.CHUNK], base[low : low + self.CHUNK]
            out: dict[str, Any] = {f"{PREFIX}k{i}": column(f"k{i}").take(begin) for i in range(self.shape.keys)}
            for name, place in _FIXED:
                out[PREFIX + name] = pa.array(part[:, place]).cast(pa.int64() if name == "number" else pa.int32())
            for s in self.shape.labels:
                out[f"{PREFIX}l{s}"] = pa.array(part[:, kernel.FIXED + s]).cast(pa.int32())
            for n, g in enumerate(self.shape.gathers):
                rows_in = part[:, g.place]
                at = pa.array(begin + rows_in, pa.int64(), mask=rows_in < 0)
                out[f"{PREFIX}g{n}"] = column(f"f{g.field}").take(at)
            yield pa.RecordBatch.from_arrays(list(out.values()), names=list(out))
