"""The grouped map: a DataFrame of prepared rows in, a DataFrame of matched rows out, in one of two layouts.

* lists: one row per partition with a sorted list of structs. A scalar Arrow UDF gets the few lists the kernel reads and
  returns row numbers; payload columns never leave the JVM and filters on the keys reach the scan.
* rows: rows sorted by a window, sent as they are; partitions are stitched across Arrow batches. Any size, any order.

Both give the same columns: keys, match number, label code, row, flags, label slots and gathered values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
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
class Ranges:
    """Ranges of the WITHIN key: range n has keys from ``n * width`` and copies of rows up to ``distance`` behind it.

    In the kernel's units of the key. ``nulls_first``: where the range of NULL keys stands.
    """

    width: int
    distance: int
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class OperatorShape:
    """Which prepared columns go where.

    ``columns``: fields that match-dependent conditions load. ``labels``: slots that hold labels. ``mask_updates``:
    lists layout only, per mask word the lambda body that finishes conditions with PREV or NEXT. ``ranges``: rows layout
    only, how partitions are cut into ranges.
    """

    keys: int
    masks: int
    columns: tuple[int, ...]
    within: Within | None
    gathers: tuple[Gather, ...]
    labels: tuple[int, ...]
    mask_updates: tuple[str | None, ...] = ()
    ranges: Ranges | None = None

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
            With ranges, a range is a partition and its first row has the range's number in ``__cep_range``.
    """
    if layout == "lists":
        return _match_lists(df, shape, spec)
    if shape.ranges is not None:
        from sparkcep.exec.ranges import match_ranges

        return match_ranges(df, shape, spec)
    return _match_rows(df, shape, spec)


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


def match_fields(df: DataFrame, shape: OperatorShape) -> list[StructField]:
    """Columns of a matched row after keys and match number."""
    types = {f.name: f.dataType for f in df.schema.fields}
    out = [StructField(PREFIX + name, IntegerType()) for name, _ in _FIXED if name != "number"]
    out += [StructField(f"{PREFIX}l{s}", IntegerType()) for s in shape.labels]
    return out + [StructField(f"{PREFIX}g{n}", types[f"{PREFIX}f{g.field}"]) for n, g in enumerate(shape.gathers)]


def key_fields(df: DataFrame, shape: OperatorShape) -> list[StructField]:
    return [f for f in df.schema.fields if f.name in {f"{PREFIX}k{i}" for i in range(shape.keys)}]


def needed_columns(shape: OperatorShape) -> list[str]:
    """Columns that the rows layout sends to Python."""
    fields = dict.fromkeys([*shape.kernel_fields, *(g.field for g in shape.gathers)])
    keys, masks = range(shape.keys), range(shape.masks)
    return [PREFIX + n for n in (*(f"k{i}" for i in keys), *(f"m{w}" for w in masks), *(f"f{i}" for i in fields))]


def _match_rows(df: DataFrame, shape: OperatorShape, spec: MatchSpec) -> DataFrame:
    out = StructType([*key_fields(df, shape), StructField(f"{PREFIX}number", LongType()), *match_fields(df, shape)])
    return df.select(*needed_columns(shape)).mapInArrow(RowsMatcher(shape, spec).run, out)


#: Rows to gather before matching; a partition that is longer is taken whole.
CHUNK = 200_000


def whole_partitions(
    batches: Iterator[pa.RecordBatch], starts_of: Callable[[pa.RecordBatch], npt.NDArray[np.bool_]]
) -> Iterator[pa.Table]:
    """Cut a stream of rows at partition starts, into tables of whole partitions and at least CHUNK rows."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        rest = batch
        if rows >= CHUNK:
            starts = np.flatnonzero(starts_of(batch))
            if len(starts):
                cut = int(starts[-1])
                yield pa.Table.from_batches([*held, batch.slice(0, cut)]).combine_chunks()
                held, rest, rows = [], batch.slice(cut), 0
        held.append(rest)
        rows += rest.num_rows
    if rows:
        yield pa.Table.from_batches(held).combine_chunks()


def column(table: pa.Table, name: str) -> pa.Array:
    """A prepared column of a table as one array."""
    chunked = table.column(PREFIX + name)
    return chunked.chunk(0) if chunked.num_chunks == 1 else chunked.combine_chunks()


class RowsMatcher:
    """Body of mapInArrow: cuts the stream at partition starts and matches whole partitions together."""

    def __init__(self, shape: OperatorShape, spec: MatchSpec) -> None:
        self.shape = shape
        self.spec = spec

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        matcher = Matcher(self.spec)
        for table in whole_partitions(batches, lambda b: b.column(f"{PREFIX}m0").to_numpy() < 0):
            yield from self.emit(matcher, table)

    def prepare(self, table: pa.Table) -> Batch:
        """Whole partitions as the matcher wants them; the first row of each has its mask inverted."""
        masks = [column(table, f"m{w}").to_numpy().astype(np.int64) for w in range(self.shape.masks)]
        starts = np.flatnonzero(masks[0] < 0)
        masks[0][starts] = ~masks[0][starts]
        arrays = [pa.array(mask) for mask in masks] + [column(table, f"f{i}") for i in self.shape.kernel_fields]
        return _batch(np.append(starts, table.num_rows).astype(np.int64), arrays, self.shape)

    def emit(self, matcher: Matcher, table: pa.Table) -> Iterator[pa.RecordBatch]:
        batch = self.prepare(table)
        found = matcher.match(batch)
        begin = batch.offsets[found[:, kernel.PARTITION]]
        for low in range(0, len(found), CHUNK):
            part, base = found[low : low + CHUNK], begin[low : low + CHUNK]
            numbers = {f"{PREFIX}number": pa.array(part[:, kernel.NUMBER])}
            yield record_batch(self.keys(table, base) | numbers | self.values(table, part, base))

    def keys(self, table: pa.Table, base: Ints) -> dict[str, pa.Array]:
        """Keys of output rows whose partition starts at ``base``."""
        return {f"{PREFIX}k{i}": column(table, f"k{i}").take(pa.array(base)) for i in range(self.shape.keys)}

    def values(self, table: pa.Table, part: Ints, base: Ints) -> dict[str, pa.Array]:
        """Columns of output rows (see :func:`match_fields`)."""
        out = {PREFIX + name: int32(part[:, place]) for name, place in _FIXED if name != "number"}
        out |= {f"{PREFIX}l{s}": int32(part[:, kernel.FIXED + s]) for s in self.shape.labels}
        for n, g in enumerate(self.shape.gathers):
            rows = part[:, g.place]
            at = pa.array(base + rows, pa.int64(), mask=rows < 0)
            out[f"{PREFIX}g{n}"] = column(table, f"f{g.field}").take(at)
        return out


def int32(values: Ints) -> pa.Array:
    return pa.array(np.ascontiguousarray(values)).cast(pa.int32())


def record_batch(columns: dict[str, pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
