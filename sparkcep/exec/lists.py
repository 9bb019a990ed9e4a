"""The lists layout: one row per partition with a sorted list of structs.

A scalar Arrow UDF gets the few lists the kernel reads and returns row numbers; payload columns never leave the JVM and
filters on the keys reach the scan.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sparkcep.exec.kernels import rows as kernel
from sparkcep.exec.matcher import Matcher
from sparkcep.exec.shape import FIXED_COLUMNS, OperatorShape, batch_of
from sparkcep.exec.spec import MatchSpec
from sparkcep.query import PREFIX

_ROWS = PREFIX + "rows"


def match_lists(df: DataFrame, shape: OperatorShape, spec: MatchSpec) -> DataFrame:
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
    out = [f"m.c{place} AS {PREFIX}{name}" for name, place in FIXED_COLUMNS]
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
        table = self._matcher.match(batch_of(offsets - offsets[0], [a.flatten() for a in arrays], self.shape))
        partitions = len(arrays[0])
        borders = np.searchsorted(table[:, kernel.PARTITION], np.arange(partitions + 1)).astype(np.int32)
        places = self.shape.places
        children = [pa.array(np.ascontiguousarray(table[:, p]), pa.int64()).cast(pa.int32()) for p in places]
        structs = pa.StructArray.from_arrays(children, names=[f"c{p}" for p in places])
        return pa.ListArray.from_arrays(pa.array(borders), structs)
