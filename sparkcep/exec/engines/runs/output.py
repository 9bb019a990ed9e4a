"""Output columns of runs: those of matches and, where they are wanted, their events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sparkcep.exec.arrays import Ints, Rows, int32, struct_lists
from sparkcep.exec.engine import Events, MatchTable, OutputColumn
from sparkcep.exec.engines.rows.output import match_columns, match_table
from sparkcep.exec.shape import OperatorColumns


def run_columns(shape: OperatorColumns) -> tuple[OutputColumn, ...]:
    """Columns of matches, and where they are wanted their events: component code ``c``, row ``r`` and traced fields."""
    events = () if shape.trace is None else (event_column("events", shape.trace),)
    return (*match_columns(shape), *events)


def event_column(name: str, fields: Sequence[int]) -> Events:
    """An array of (component code ``c``, row of the partition ``r``, prepared fields ``f*``)."""
    return Events(name, (("c", "int"), ("r", "int")), tuple((f"f{f}", f) for f in fields))


def run_table(out: Ints, trace: Ints | Rows, shape: OperatorColumns, **more: pa.Array) -> MatchTable:
    """Output rows as :meth:`RunMatcher.pieces` gives them. ``more``: an engine's own columns."""
    if shape.trace is not None:
        events = {"c": int32(trace[:, 0]), "r": int32(trace[:, 1])}
        more["events"] = struct_lists(np.ascontiguousarray(out[:, -1]), events)
    return match_table(out, shape, **more)
