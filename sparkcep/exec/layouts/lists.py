"""The lists layout: one row per partition with a sorted list of structs.

A scalar Arrow UDF gets the few lists the kernel reads and returns row numbers; payload columns never leave the JVM and
filters on the keys reach the scan.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sparkcep.exec.engines.rows.matcher import Matcher
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.kernels.rows import rows as kernel
from sparkcep.exec.layouts.grouped import ROWS, OnExecutor, as_lists, list_batch, list_inputs
from sparkcep.exec.layouts.rows import int32
from sparkcep.exec.reports import FOUND, ListsReport, Matched, reported_type
from sparkcep.exec.shape import FIXED_COLUMNS, OperatorColumns
from sparkcep.query import PREFIX


def match_lists(df: DataFrame, shape: OperatorColumns, spec: MatchSpec) -> Matched:
    names = [f"c{p}" for p in shape.places]
    returns = reported_type(f"array<struct<{','.join(f'{n}:int' for n in names)}>>")
    found = F.arrow_udf(ListsReport(ListsMatcher(shape, spec).run).run, returns)  # type: ignore[attr-defined]
    keys = [f"{PREFIX}k{i}" for i in range(shape.keys)]
    matched = df.select(*keys, ROWS, found(*map(F.expr, list_inputs(shape))).alias(f"{PREFIX}found"))
    out = [f"m.c{place} AS {PREFIX}{name}" for name, place in FIXED_COLUMNS]
    out += [f"m.c{kernel.FIXED + s} AS {PREFIX}l{s}" for s in shape.labels]
    out += [f"get({ROWS}, m.c{g.place}).{PREFIX}f{g.field} AS {PREFIX}g{n}" for n, g in enumerate(shape.gathers)]
    return Matched(matched.selectExpr(*keys, f"inline(transform({FOUND}, m -> struct({', '.join(out)})))"))


class ListsMatcher(OnExecutor[MatchSpec, Matcher]):
    """Body of the Arrow UDF."""

    def make(self) -> Matcher:
        return Matcher(self.spec)

    def run(self, *lists: pa.Array) -> pa.Array:
        """List columns of a batch of partitions to a list of matched rows per partition."""
        table = self.matcher.match(list_batch(lists, self.shape))
        columns = {f"c{p}": int32(table[:, p]) for p in self.shape.places}
        return as_lists(table[:, kernel.PARTITION], len(lists[0]), columns)
