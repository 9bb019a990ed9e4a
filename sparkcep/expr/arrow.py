"""Python's values of conditions as Arrow arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from sparkcep.expr.types import Type


def arrow(values: Sequence[Any], kind: Type) -> pa.Array:
    """Values as the kernel takes them."""
    types: dict[str, Callable[[], pa.DataType]] = {
        "int": pa.int64, "double": pa.float64, "float": pa.float32, "boolean": pa.bool_, "string": pa.string,
        "date": pa.date32, "timestamp": lambda: pa.timestamp("us", "UTC"), "timestamp_ntz": lambda: pa.timestamp("us"),
        "interval": lambda: pa.duration("us"), "decimal": lambda: pa.decimal128(kind.size, kind.scale),
    }  # fmt: skip
    return pa.array(values, types[kind.kind]() if kind.kind in types else None)
