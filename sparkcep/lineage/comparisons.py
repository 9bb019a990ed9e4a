"""How filters compare one column with constants, and which values that lets through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.exec.arrays import ARROW_COMPARISONS

#: Operators seen from the other side.
TURNED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
#: Longer lists of constants are not read one by one.
MOST_CONSTANTS = 1000


@dataclass(frozen=True, slots=True)
class Comparison:
    """``operator``: how a column compares with one of ``values``: = (any of them), <, <=, >, >=. ``either``: tests of
    which one holds, without an operator. Read from text, values are texts of constants."""

    operator: str = ""
    values: tuple[Any, ...] = ()
    either: tuple[Comparison, ...] = ()


def bounds(comparisons: Sequence[Comparison]) -> tuple[int | None, int | None]:
    """The least and the most of whole numbers that meet all tests; None: any."""
    low, high = None, None
    for test in comparisons:
        own_low, own_high = _bounds(test)
        low = own_low if low is None else low if own_low is None else max(low, own_low)
        high = own_high if high is None else high if own_high is None else min(high, own_high)
    return low, high


def _bounds(test: Comparison) -> tuple[int | None, int | None]:
    if test.either:
        sides = [_bounds(side) for side in test.either]
        lows, highs = [low for low, _ in sides], [high for _, high in sides]
        return (None if None in lows else min(lows)), (None if None in highs else max(highs))  # type: ignore[type-var]
    least, most = min(test.values), max(test.values)
    return {
        "=": (least, most), "<": (None, most - 1), "<=": (None, most), ">": (least + 1, None), ">=": (least, None),
    }[test.operator]  # fmt: skip


def let_through(comparisons: Sequence[Comparison], values: pa.Array) -> pa.Array:
    """Which values meet all tests; those that are NULL do not."""
    return pc.fill_null(reduce(pc.and_kleene, (_met(test, values) for test in comparisons)), False)


def _met(test: Comparison, values: pa.Array) -> pa.Array:
    if test.either:
        return reduce(pc.or_kleene, (_met(side, values) for side in test.either))
    if test.operator == "=":
        return pc.is_in(values, pa.array(test.values, values.type))
    return ARROW_COMPARISONS[test.operator](values, pa.scalar(test.values[0], values.type))
