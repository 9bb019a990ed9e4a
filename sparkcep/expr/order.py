"""Spark's order of values, as the interpreter holds them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any


def compare(x: Any, y: Any) -> int:
    """-1, 0 or 1 in Spark's order (NaN is greatest and equal to itself)."""
    if isinstance(x, float) and math.isnan(x):
        return 0 if isinstance(y, float) and math.isnan(y) else 1
    if isinstance(y, float) and math.isnan(y):
        return -1
    if isinstance(x, str) and isinstance(y, str):
        x, y = x.encode(), y.encode()
    if isinstance(x, dict) and isinstance(y, dict):  # structs of one type
        x, y = list(x.values()), list(y.values())
    if isinstance(x, list) and isinstance(y, list):
        for a, b in zip(x, y, strict=False):
            if a is None or b is None:
                if a is not b:
                    return -1 if a is None else 1
            elif order := compare(a, b):
                return order
        return (len(x) > len(y)) - (len(x) < len(y))
    return int(x > y) - int(x < y)


def extreme(values: Iterable[Any], sign: int) -> Any:
    """The greatest value, the least one where ``sign`` is -1; NULLs are left out, NULL where there are no others."""
    best = None
    for v in values:
        if v is not None and (best is None or compare(v, best) * sign > 0):
            best = v
    return best
