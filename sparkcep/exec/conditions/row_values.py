"""Values of row expressions over Python lists of columns, for patterns that run as table functions."""

from __future__ import annotations

import datetime as dt
import functools
import math
import zoneinfo
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sparkcep.exec.conditions import columns as columnwise
from sparkcep.expr.nodes import Expression, RowValue
from sparkcep.expr.order import compare
from sparkcep.expr.types import Type
from sparkcep.expr.typing_pass import Typing

Values = Sequence[Any]


@dataclass(frozen=True, slots=True)
class RowProgram:
    """An expression over one row. ``tree`` None: the whole row. ``spark``: its Spark type. ``zone``: a TIMESTAMP is
    wanted as local time there."""

    tree: Expression | None
    kind: Type
    spark: str
    zone: str = ""

    def values(self, columns: Sequence[Values], rows: Sequence[int], kinds: tuple[Type, ...], ansi: bool) -> Values:
        """The expression's values at some rows."""
        if self.tree is None:
            return [tuple(c[r] for c in columns) for r in rows]
        if isinstance(self.tree, RowValue):
            column = columns[self.tree.column]
            out: Values = column if isinstance(rows, range) and len(rows) == len(column) else [column[r] for r in rows]
        else:
            evaluate = columnwise.evaluator(Typing((), kinds, ansi).typed(self.tree))
            out = columnwise.values(evaluate, columnwise.Rows(columnwise.Values(columns), rows))
        if self.zone:
            zone = zoneinfo.ZoneInfo(self.zone)
            out = [None if v is None else v.astimezone(zone).replace(tzinfo=None) for v in out]
        return out


def ordered(rows: int, keys: Sequence[tuple[Values, bool, bool]]) -> list[int]:
    """Row numbers in Spark's order by (values, ascending, NULLs first)."""
    order = list(range(rows))
    for values, ascending, nulls_first in reversed(keys):
        order.sort(key=_key(values, nulls_first is ascending), reverse=not ascending)
    return order


def _key(values: Values, nulls_low: bool) -> Callable[[int], tuple[Any, ...]]:
    place = _placing(values)
    return lambda r: (not nulls_low,) if values[r] is None else (nulls_low, place(values[r]))


def _placing(values: Values) -> Callable[[Any], Any]:
    """A sort key of values that are not NULL."""
    sample = next((v for v in values if v is not None), None)
    if isinstance(sample, float):
        return lambda v: (math.isnan(v), 0.0 if math.isnan(v) else v)
    if isinstance(sample, str):
        return str.encode
    if isinstance(sample, bytearray):
        return bytes
    if isinstance(sample, (list, tuple)):
        return functools.cmp_to_key(lambda a, b: compare(list(a), list(b)))
    return lambda v: v


def local(value: Any) -> Any:
    """A TIMESTAMP as Spark hands it to a Python function: local time of the worker, here an instant."""
    return value if value is None else value.astimezone(dt.UTC)
