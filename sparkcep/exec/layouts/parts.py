"""Patterns that read the same lists: the rows that each of them would have by itself, cut from those that all share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sparkcep.exec.arrays import Ints
from sparkcep.exec.batch import Batch
from sparkcep.exec.engine import Engine, Events, FieldAt, MatchTable, OutputColumn
from sparkcep.exec.engines.shared.rows import SharedRows
from sparkcep.exec.engines.shared.rule import OwnRows, own_rows
from sparkcep.exec.engines.shared.spec import ComponentTest
from sparkcep.exec.shape import OperatorColumns, batch_of

#: What is put before a matcher's names of rows, where they count in the shared list.
AT = "at_"


@dataclass(frozen=True, slots=True)
class Part:
    """One pattern. ``engine``, ``spec``, ``shape``: as it runs by itself, over fields of its own.

    ``tests``: of ``bits`` of its mask. ``keep``: what the rows it looks at satisfy, None where it looks at all;
    ``drops``: of those it looks at the ones with a bit. ``columns``: for each of its kernel's fields, the column of the
    shared batch. ``fields``: own fields that come out, by number, as fields of the shared list. ``ties``: columns of
    the shared batch that order rows of equal keys, where the shared order is another.
    """

    engine: Engine[Any]
    spec: Any
    shape: OperatorColumns
    tests: tuple[ComponentTest, ...]
    bits: tuple[int, ...]
    keep: ComponentTest | None
    drops: bool
    columns: tuple[int, ...]
    fields: tuple[tuple[int, int], ...]
    ties: tuple[int, ...] | None

    def output(self) -> tuple[OutputColumn, ...]:
        """Its engine's output columns over the shared list: fields by its numbers, rows by places in it."""
        shared = dict(self.fields)
        out: list[OutputColumn] = []
        for column in self.engine.columns(self.spec, self.shape):
            if isinstance(column, FieldAt):
                out.append(replace(column, row=AT + column.row, field=shared[column.field]))
            elif isinstance(column, Events):
                fields = tuple((name, shared[field]) for name, field in column.fields)
                out.append(replace(column, members=(*column.members, (AT + "r", "int")), fields=fields, row=AT + "r"))
            else:
                out.append(column)
        return tuple(out)


@dataclass(frozen=True, slots=True)
class Cut:
    """The rows of a part. ``batch``: its own. ``partitions`` (own partitions,): which of the shared batch's they are.
    ``row`` (own rows,): their rows in the shared batch."""

    batch: Batch
    partitions: Ints
    row: Ints


def cut(part: Part, rows: SharedRows) -> Cut:
    """A part's rows in its order."""
    seen = None
    if part.keep is not None:
        seen = np.zeros(rows.rows, bool)
        seen[rows.passing(part.keep)] = True
    words = part.shape.masks
    order = rows.order(part.ties)
    own = own_rows(rows, part.tests, order, drops=part.drops, words=words, seen=seen, bits=part.bits)
    if own is None:
        none = np.zeros(0, np.int64)
        own = OwnRows(none, none, [none] * words, none, np.zeros(1, np.int64))
    at = None if own.row is None else pa.array(own.row)
    columns = [rows.batch.columns[c] if at is None else rows.batch.columns[c].take(at) for c in part.columns]
    masks = [pa.array(word) for word in own.masks]
    batch = batch_of(own.offsets.astype(np.int64), [*masks, *columns], part.shape, rows.batch.held)
    return Cut(batch, own.partitions, rows.all_rows() if own.row is None else own.row)


def in_shared_rows(columns: Sequence[OutputColumn], table: MatchTable, cut: Cut, rows: SharedRows) -> MatchTable:
    """A part's output rows with its partitions, and rows whose fields come out, as those of the shared batch.

    Args:
        columns: as its engine gives them.
    """
    begins = np.asarray(cut.batch.offsets)[:-1]

    def shared_rows(values: Ints, partition: Ints) -> Ints:
        """Places in the shared list for rows of own partitions; below 0 stays so."""
        at = np.minimum(begins[partition] + np.maximum(values, 0), len(cut.row) - 1)
        return np.where(values < 0, values, cut.row[at] - rows.offsets[cut.partitions[partition]])

    values_of = dict(table.columns)
    for column in columns:
        if isinstance(column, FieldAt):
            values = np.asarray(table.columns[column.row].fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
            values_of[AT + column.row] = pa.array(shared_rows(values, table.partition).astype(np.int32))
        elif isinstance(column, Events):
            lists = table.columns[column.name]
            offsets = lists.offsets.to_numpy()
            events = lists.flatten()
            names = [name for name, _ in column.members]
            of = np.repeat(table.partition, np.diff(offsets))
            at = shared_rows(np.asarray(events.field(column.row).to_numpy(), np.int64), of)
            children = [*(events.field(name) for name in names), pa.array(at.astype(np.int32))]
            structs = pa.StructArray.from_arrays(children, names=[*names, AT + "r"])
            values_of[column.name] = pa.ListArray.from_arrays(pa.array(offsets - offsets[0]), structs)
    return MatchTable(cut.partitions[table.partition], values_of)
