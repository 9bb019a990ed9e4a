"""Columns as the values that the interpreter evaluates conditions on."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa

from sparkcep.errors import SparkCepError
from sparkcep.expr.local_times import out_of_calendar


def python_values(column: pa.Array) -> list[Any]:
    """A column's values: times with a zone are in UTC.

    Raises:
        SparkCepError: CEP_CONDITION_FAILED, Python has no such date or time.
    """
    try:
        return [_normalised(v) for v in column.to_pylist()]
    except (OverflowError, ValueError):
        raise SparkCepError(
            "CEP_CONDITION_FAILED",
            f"A condition that depends on the match reads {out_of_calendar()}, which Python does not have.",
            hint="compute it as a column of the input, or filter the input",
        ) from None


def _normalised(value: Any) -> Any:
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC)
    if isinstance(value, dict):
        return {name: _normalised(v) for name, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_normalised, value))
    return value
