"""Events that the driver itself reads, without a Spark job: from posting lists of types, or from cases as stored.

All functions take plain values, as those of :mod:`sparkcep.index.lookup` do.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from sparkcep.index.lookup import LIST_COLUMNS, NO_IDS, file_system, footer, overlapping, read_lists
from sparkcep.index.pairs import Longs, unpack_within
from sparkcep.index.snapshots import TableState
from sparkcep.index.storage import DataFile, Location

#: Rows of posting lists, by the type that they are lists of.
Lists: TypeAlias = list[list[pa.RecordBatch]]
#: Threads that read and decode; more of them wait for memory, not for each other.
THREADS = max(1, min(8, os.cpu_count() or 1))


@lru_cache(maxsize=16)
def events_by_type(table: Location, state: TableState) -> Mapping[int, int]:
    """How many events of each type, by its code, posting lists have; those of replaced cases too."""
    out: dict[int, int] = {}
    for file in state.files:
        rows = pq.read_table(file.path, columns=["type", "count"], filesystem=file_system(table))
        for code, events in zip(rows["type"].to_pylist(), rows["count"].to_pylist(), strict=True):
            out[code] = out.get(code, 0) + events
    return out


def lists_of_types(table: Location, state: TableState, wanted: Sequence[int], placed: bool = False) -> Lists:
    """Posting lists of some types, with times, in their order. ``placed``: with positions in the cases, too."""
    columns = (*LIST_COLUMNS, "times", *(["positions"] if placed else []))
    lists, _ = read_lists(table, state, ("type",), [(w,) for w in wanted], columns)
    return [lists[w,] for w in wanted]


def events_in(
    lists: Lists, ids: Longs, least: int | None = None, most: int | None = None
) -> tuple[Longs, Longs, Longs, Longs]:
    """Events of some lists in some cases (ascending ids): places of their cases and of their lists, times, and
    positions in the cases, which are empty where the lists have none.

    Args:
        least, most: of the times that matter, None: any.
    """
    if not len(ids):
        return NO_IDS, NO_IDS, NO_IDS, NO_IDS
    parts = [(place, batch) for place, batches in enumerate(lists) for batch in batches]

    def decoded(part: tuple[int, pa.RecordBatch]) -> tuple[Longs, Longs, Longs, Longs]:
        place, batch = part
        of, own, positions = unpack_within(batch.filter(overlapping(batch, ids[0], ids[-1])), ids)
        if least is not None or most is not None:
            near = _near(own, least, most)
            of, own, positions = of[near], own[near], positions[near] if len(positions) else positions
        return of, np.full(len(of), place, np.int64), own, positions

    with ThreadPoolExecutor(THREADS) as threads:
        found = [(NO_IDS, NO_IDS, NO_IDS, NO_IDS), *threads.map(decoded, parts)]
    cases, types, times, positions = (np.concatenate(column) for column in zip(*found, strict=True))
    return cases, types, times, positions


def _near(times: Longs, least: int | None, most: int | None) -> npt.NDArray[np.bool_]:
    near = np.ones(len(times), bool)
    if least is not None:
        near &= times >= least
    if most is not None:
        near &= times <= most
    return near


@dataclass(frozen=True, slots=True)
class CaseGroups:
    """Row groups of `sequences` that can hold some cases, file by file, and how many rows they have."""

    groups: tuple[tuple[DataFile, tuple[int, ...]], ...]
    rows: int


def groups_of_cases(table: Location, state: TableState, ids: Longs) -> CaseGroups:
    """Where rows of some cases (ascending ids) can be."""
    found, rows = [], 0
    with ThreadPoolExecutor(THREADS) as threads:  # each footer is a request to an object store
        footers = list(threads.map(lambda file: footer(table, file, ("id",)), state.files))
    for file, own in zip(state.files, footers, strict=True):
        at = np.searchsorted(ids, own.first) < np.searchsorted(ids, own.last, side="right")
        groups = tuple(np.flatnonzero(at).tolist())
        if groups:
            found.append((file, groups))
            rows += sum(own.metadata.row_group(g).num_rows for g in groups)
    return CaseGroups(tuple(found), rows)


def events_of_cases(
    table: Location, where: CaseGroups, ids: Longs, types: int, wanted: Sequence[int] | None,
    columns: Mapping[str, pa.DataType], least: int | None = None, most: int | None = None,
) -> pa.Table:  # fmt: skip
    """Events of some cases (ascending ids), as `sequences` has them: code, time, and columns that are asked for.

    Args:
        where: row groups that can hold them. types: how many codes there are; ``wanted``: those that matter, None: all.
        columns: of `sequences`, `case_key` and lists beside codes and times, and what their values become.
        least, most: of the times that matter, None: any.
    """
    is_wanted = np.ones(types, bool) if wanted is None else np.zeros(types, bool)
    is_wanted[[] if wanted is None else list(wanted)] = True
    schema = pa.schema({"code": pa.int32(), "time": pa.int64(), **columns})
    events_of = partial(_events_of, ids=ids, is_wanted=is_wanted, columns=columns, least=least, most=most)
    parts = [events_of(rows).cast(schema) for rows in _rows(table, where, ["id", "codes", "times", *columns])]
    return pa.concat_tables([schema.empty_table(), *parts])


def _rows(table: Location, where: CaseGroups, columns: Sequence[str]) -> Iterator[pa.Table]:
    for file, groups in where.groups:
        metadata = footer(table, file, ("id",)).metadata
        with pq.ParquetFile(file.path, filesystem=file_system(table), metadata=metadata, pre_buffer=True) as reader:
            yield reader.read_row_groups(list(groups), columns=list(columns))


def _events_of(
    rows: pa.Table, ids: Longs, is_wanted: npt.NDArray[np.bool_], columns: Iterable[str],
    least: int | None, most: int | None,
) -> pa.Table:  # fmt: skip
    own = rows["id"].to_numpy()
    at = np.minimum(np.searchsorted(ids, own), len(ids) - 1)
    if not (held := ids[at] == own).all():
        rows = rows.take(pa.array(np.flatnonzero(held)))
    rows = rows.combine_chunks()
    lists = _one(rows["codes"])
    codes, times = (own.flatten().to_numpy(zero_copy_only=False) for own in (lists, _one(rows["times"])))
    kept = is_wanted[codes] & _near(times, least, most)
    places = pa.array(np.flatnonzero(kept))
    case = pa.array(np.repeat(np.arange(rows.num_rows), np.asarray(lists.value_lengths()))[kept])
    found = {"code": pa.array(codes[kept]), "time": pa.array(times[kept])}
    for name in columns:
        own = _one(rows[name])
        found[name] = own.flatten().take(places) if pa.types.is_list(own.type) else own.take(case)
    return pa.table(found)


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)
