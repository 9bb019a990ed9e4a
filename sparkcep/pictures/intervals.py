"""Intervals of a result as numbers."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from sparkcep.pictures.durations import UNITS


def seconds(interval: Column, type_: str) -> Column:
    """The seconds of an interval, as a double; of other types the number.

    Args:
        type_: Spark's, such as ``interval day to second``, which has four units.
    """
    if not type_.startswith("interval"):
        return interval.cast("double")
    units = [unit.removesuffix("s") for unit in reversed(UNITS)]
    ends = [units.index(word) for word in type_.split() if word in units]
    has = units[ends[0] : ends[-1] + 1]
    parts = [F.extract(F.lit(unit.upper()), interval).cast("double") * UNITS[f"{unit}s"] for unit in has]
    return sum(parts[1:], parts[0])
