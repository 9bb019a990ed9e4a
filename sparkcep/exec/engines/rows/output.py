"""Output columns of matches: what the kernels' tables of output rows hold, as the layouts want it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sparkcep.exec.arrays import Ints, int32
from sparkcep.exec.engine import FieldAt, MatchTable, OutputColumn, Value
from sparkcep.exec.kernels.rows.output import FIXED, FLAGS, LABEL, NUMBER, PARTITION, SELF
from sparkcep.exec.shape import OperatorColumns


def match_columns(shape: OperatorColumns) -> tuple[OutputColumn, ...]:
    """Match number, label code, row, flags, label slots and gathered values of each output row."""
    return (Value("number", "bigint"), *value_columns(shape))


def value_columns(shape: OperatorColumns) -> tuple[OutputColumn, ...]:
    """Those without the match number."""
    return (
        Value("code", "int"), Value("self", "int", is_row=True), Value("flags", "int"),
        *(Value(f"l{s}", "int") for s in shape.labels),
        *(FieldAt(f"g{n}", f"c{g.place}", g.field) for n, g in enumerate(shape.gathers)),
    )  # fmt: skip


def match_table(out: Ints, shape: OperatorColumns, **more: pa.Array) -> MatchTable:
    """Output rows (n, FIXED + slots) of kernels.rows as columns. ``more``: an engine's own."""
    columns = {
        "number": pa.array(np.ascontiguousarray(out[:, NUMBER])),
        "code": int32(out[:, LABEL]), "self": int32(out[:, SELF]), "flags": int32(out[:, FLAGS]),
    }  # fmt: skip
    columns |= {f"l{s}": int32(out[:, FIXED + s]) for s in shape.labels}
    columns |= {f"c{place}": int32(out[:, place]) for place in {g.place for g in shape.gathers}}
    return MatchTable(np.ascontiguousarray(out[:, PARTITION]), columns | more)
