"""The rows of each match as an array beside its output rows: over a stream Spark has no windows to aggregate with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql.types import ArrayType, IntegerType, StructField, StructType

from sparkcep.exec.arrays import Ints
from sparkcep.exec.engine import MatchTable
from sparkcep.exec.kernels.rows.output import LAST_OF_MATCH
from sparkcep.exec.ordering import groups_of
from sparkcep.query import PREFIX

#: Columns that :func:`collected` adds: the match's rows, and the place of the output row among them, from 1.
MATCH, PLACE = PREFIX + "match", PREFIX + "place"
#: Of trends: the window's number, and the partial results of a group's partitions.
WINDOW_NUMBER, PARTIALS = PREFIX + "w", PREFIX + "partials"


def collected_fields(fields: Sequence[StructField], names: Sequence[str]) -> list[StructField]:
    """Types of the added columns. ``fields``: of the engine's output; ``names``: which of them are collected."""
    types = {f.name: f.dataType for f in fields}
    rows = StructType([StructField(name, types[PREFIX + name]) for name in names])
    return [StructField(MATCH, ArrayType(rows)), StructField(PLACE, IntegerType())]


def collected(
    matches: MatchTable, values: Mapping[str, pa.Array], names: Sequence[str], last_only: bool
) -> tuple[dict[str, pa.Array], Ints]:
    """Output columns with those added, and the rows of ``matches`` that they are of.

    Args:
        values: output columns by name. names: which of them are collected, without prefix.
        last_only: whether only the last row of each match is emitted.
    """
    numbers = matches.columns["number"].to_numpy()
    n = len(numbers)
    first = np.ones(n, bool)
    # What no match takes has no number, and is on its own.
    first[1:] = (np.diff(matches.partition) != 0) | (np.diff(numbers) != 0) | (numbers[1:] == 0)
    heads = np.flatnonzero(first)
    sizes = np.diff(np.append(heads, n))
    rows = pa.StructArray.from_arrays([values[PREFIX + name] for name in names], names=list(names))
    lists = pa.ListArray.from_arrays(pa.array(np.append(heads, n), pa.int32()), rows)
    match = np.repeat(np.arange(len(heads)), sizes)
    place = np.arange(n) - np.repeat(heads, sizes) + 1
    chosen = np.arange(n)
    if last_only:
        chosen = np.flatnonzero(matches.columns["flags"].to_numpy() & LAST_OF_MATCH)
    at = pa.array(chosen)
    out = {name: array.take(at) for name, array in values.items()}
    out[MATCH] = lists.take(pa.array(match[chosen]))
    out[PLACE] = pa.array(place[chosen], pa.int32())
    return out, chosen


def partial_fields(fields: Sequence[StructField], keys: Sequence[StructField]) -> list[StructField]:
    """Types of what :func:`partials` gives. ``fields``: of the engine's output; ``keys``: of the groups."""
    window = next(f for f in fields if f.name == WINDOW_NUMBER)
    struct = StructType(
        [StructField(f.name.removeprefix(PREFIX), f.dataType) for f in fields if f.name != WINDOW_NUMBER]
    )
    return [*keys, window, StructField(PARTIALS, ArrayType(struct))]


def partials(keys: Sequence[pa.Array], values: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """A row for each group and window: the group's keys ``__cep_g*``, the window, and an array of its partial results.

    Args:
        keys: of the group of each row. values: output columns of the engine by name.
    """
    n = len(values[WINDOW_NUMBER])
    groups, _ = groups_of([*keys, values[WINDOW_NUMBER]], n)
    order = np.argsort(groups, kind="stable")
    heads = np.flatnonzero(np.diff(groups[order], prepend=-1))
    names = [name for name in values if name != WINDOW_NUMBER]
    rows = pa.StructArray.from_arrays(
        [values[name] for name in names], names=[name.removeprefix(PREFIX) for name in names]
    )
    lists = pa.ListArray.from_arrays(pa.array(np.append(heads, n), pa.int32()), rows.take(pa.array(order)))
    first = pa.array(order[heads])
    out = {f"{PREFIX}g{k}": key.take(first) for k, key in enumerate(keys)}
    return out | {WINDOW_NUMBER: values[WINDOW_NUMBER].take(first), PARTIALS: lists}
