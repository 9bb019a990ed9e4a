"""Output columns as both layouts make them: SQL over lists in the JVM, Arrow arrays beside the rows in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql.types import ArrayType, DataType, StructField, StructType

from sparkcep.exec.arrays import Ints, int32
from sparkcep.exec.engine import Events, MatchTable, OutputColumn, Value
from sparkcep.query import PREFIX
from sparkcep.spark.releases import parse_type

#: The lists layout's column of a partition's rows.
ROWS = PREFIX + "rows"


def matcher_types(columns: Sequence[OutputColumn]) -> dict[str, str]:
    """What a matcher gives for output columns, with Spark types."""
    out: dict[str, str] = {}
    for column in columns:
        if isinstance(column, Value):
            out[column.name] = column.type
        elif isinstance(column, Events):
            out[column.name] = f"array<struct<{','.join(f'{name}:{type_}' for name, type_ in column.members)}>>"
        else:
            out.setdefault(column.row, "int")
    return out


def is_plain(columns: Sequence[OutputColumn]) -> bool:
    """Whether what a matcher gives is the output as it stands."""
    return all(isinstance(column, Value) for column in columns)


def list_members(columns: Sequence[OutputColumn]) -> dict[str, str]:
    """Names and Spark types of what goes back from Python for each output row of a list."""
    prefix = PREFIX if is_plain(columns) else ""
    return {prefix + name: type_ for name, type_ in matcher_types(columns).items()}


def list_type(members: Mapping[str, str]) -> str:
    """The Spark type of a list of these."""
    return f"array<struct<{','.join(f'{name}:{type_}' for name, type_ in members.items())}>>"


def list_rows(rows: str, columns: Sequence[OutputColumn]) -> str:
    """SQL of the array of output rows, from that of what went back."""
    return rows if is_plain(columns) else f"transform({rows}, m -> {list_items(columns)})"


def fields_read(columns: Sequence[OutputColumn]) -> list[int]:
    """Prepared fields whose values come out."""
    out: list[int] = []
    for column in columns:
        if isinstance(column, Events):
            out += [field for _, field in column.fields]
        elif not isinstance(column, Value):
            out.append(column.field)
    return list(dict.fromkeys(out))


def list_items(columns: Sequence[OutputColumn]) -> str:
    """SQL of a struct of output columns, from a matcher's struct ``m`` and the partition's rows."""
    out: list[str] = []
    for column in columns:
        name = PREFIX + column.name
        if isinstance(column, Value):
            out.append(f"m.{column.name} AS {name}")
        elif isinstance(column, Events):
            # What is called otherwise than ``r`` says where fields are, and is not shown.
            items = [f"e.{own} AS {own}" for own, _ in column.members if own == "r" or own != column.row]
            items += [f"get({ROWS}, e.{column.row}).{PREFIX}f{field} AS {own}" for own, field in column.fields]
            out.append(f"transform(m.{column.name}, e -> struct({', '.join(items)})) AS {name}")
        else:
            out.append(f"get({ROWS}, m.{column.row}).{PREFIX}f{column.field} AS {name}")
    return f"struct({', '.join(out)})"


def struct_fields(columns: Sequence[OutputColumn], types: Mapping[str, DataType]) -> list[StructField]:
    """Spark fields of output columns. ``types``: of the prepared columns."""
    out: list[StructField] = []
    for column in columns:
        if isinstance(column, Value):
            type_ = parse_type(column.type)
        elif isinstance(column, Events):
            event = [StructField(own, parse_type(type_)) for own, type_ in column.members]
            event += [StructField(own, types[f"{PREFIX}f{field}"]) for own, field in column.fields]
            type_ = ArrayType(StructType(event))
        else:
            type_ = types[f"{PREFIX}f{column.field}"]
        out.append(StructField(PREFIX + column.name, type_))
    return out


def arrays(
    columns: Sequence[OutputColumn],
    table: MatchTable,
    first_rows: Ints,
    field: Callable[[int], pa.Array],
    origin: Ints | None = None,
) -> dict[str, pa.Array]:
    """Output columns by name.

    Args:
        first_rows: (n,) where each output row's partition begins in the prepared rows.
        field: a prepared field of all rows.
        origin: (n,) rows of the partition that came before those.
    """
    out: dict[str, pa.Array] = {}
    for column in columns:
        if isinstance(column, Value):
            values = table.columns[column.name]
            if column.is_row and origin is not None:
                values = int32(values.to_numpy() + origin)
        elif isinstance(column, Events):
            values = _events(column, table.columns[column.name], first_rows, field, origin)
        else:
            rows = table.columns[column.row].fill_null(-1).to_numpy()
            values = field(column.field).take(pa.array(first_rows + rows, pa.int64(), mask=rows < 0))
        out[PREFIX + column.name] = values
    return out


def _events(
    column: Events, lists: pa.ListArray, first_rows: Ints, field: Callable[[int], pa.Array], origin: Ints | None
) -> pa.Array:
    offsets = lists.offsets.to_numpy()
    events = lists.flatten()
    rows = events.field("r").to_numpy()
    children = [events.field(members) for members, _ in column.members]
    if origin is not None:
        position = int32(rows + np.repeat(origin, np.diff(offsets)))
        children = [position if own == "r" else child for (own, _), child in zip(column.members, children, strict=True)]
    at = pa.array(rows + np.repeat(first_rows, np.diff(offsets)))
    children += [field(number).take(at) for _, number in column.fields]
    names = [own for own, _ in (*column.members, *column.fields)]
    return pa.ListArray.from_arrays(pa.array(offsets - offsets[0]), pa.StructArray.from_arrays(children, names=names))


def record_batch(columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """Columns by name, in order, of equal length."""
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
