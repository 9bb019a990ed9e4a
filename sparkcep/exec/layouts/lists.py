"""The lists layout: one row per partition with a sorted list of structs.

A scalar Arrow UDF gets the few lists the kernel reads and returns row numbers; payload columns never leave the JVM and
filters on the keys reach the scan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sparkcep.exec.arrays import struct_lists
from sparkcep.exec.batch import Batch
from sparkcep.exec.engine import Engine, MatchTable
from sparkcep.exec.layouts.body import Body, within_limit
from sparkcep.exec.layouts.output import ROWS, is_plain, list_members, list_rows, list_type
from sparkcep.exec.reports import FOUND, REPORTED, ListsReport, Matched, reported_type
from sparkcep.exec.shape import OperatorColumns, batch_of
from sparkcep.query import PREFIX
from sparkcep.spark.releases import parse_type
from sparkcep.spark.shipping import shipped

S = TypeVar("S")


def match_lists(df: DataFrame, engine: Engine[S], shape: OperatorColumns, spec: S) -> Matched:
    """Run an engine over one row per partition; see operator.match."""
    body = ListsBody(engine, shape, spec)
    keys = [f"{PREFIX}k{i}" for i in range(shape.keys)]
    found = list_function(body.run, list_type(list_members(body.columns)))
    matched = df.select(*keys, ROWS, found(*map(F.expr, list_inputs(shape))).alias(REPORTED))
    if is_plain(body.columns):
        return Matched(matched.selectExpr(*keys, f"inline(coalesce({FOUND}, array()))"))
    return Matched(matched.selectExpr(*keys, f"inline({list_rows(FOUND, body.columns)})"))


def list_function(body: Callable[..., pa.Array], type_: str, *, repeats: bool = True) -> Callable[..., Column]:
    """A body as a function of columns.

    Args:
        type_: the Spark type of what it gives for each partition. repeats: whether Spark may run it again where its
            result is read again.
    """
    given = parse_type(reported_type(type_))
    function = F.arrow_udf(shipped(ListsReport(body).run, "sparkcep_lists"), given)  # type: ignore[attr-defined]
    called: Callable[..., Column] = function if repeats else function.asNondeterministic()
    return called


class ListsBody(Body[S]):
    """Body of the Arrow UDF."""

    def run(self, *lists: pa.Array) -> pa.Array:
        """List columns of a batch of partitions to a list of output rows per partition."""
        table = self.matcher.match(list_batch(lists, self.shape))
        return as_lists(table, len(lists[0]), list_members(self.columns))


def list_inputs(shape: OperatorColumns) -> list[str]:
    """SQL of the lists that the kernel reads, from one row per partition."""
    out: list[str] = []
    for w in range(shape.masks):
        update = shape.mask_updates[w] if w < len(shape.mask_updates) else None
        out.append(
            f"{ROWS}.{PREFIX}m{w}" if update is None else f"transform({ROWS}, ({PREFIX}r, {PREFIX}i) -> {update})"
        )
    return [*out, *(f"{ROWS}.{PREFIX}f{i}" for i in shape.kernel_fields)]


def list_batch(lists: tuple[pa.Array, ...], shape: OperatorColumns) -> Batch:
    """Those lists as a batch of partitions."""
    arrays = [a.combine_chunks() if isinstance(a, pa.ChunkedArray) else a for a in lists]
    offsets = arrays[0].offsets.to_numpy().astype(np.int64)
    values = [a.flatten() for a in arrays]
    return batch_of(within_limit(offsets - offsets[0], shape), values, shape, sum(a.nbytes for a in values))


def as_lists(table: MatchTable, partitions: int, members: Iterable[str]) -> pa.Array:
    """Output rows, in the order of their partitions, as one list of structs of these members per partition."""
    columns = {name: table.columns[name.removeprefix(PREFIX)] for name in members}
    return struct_lists(np.searchsorted(table.partition, np.arange(1, partitions + 1)), columns)
