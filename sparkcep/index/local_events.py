"""Events that the driver itself reads, without a Spark job: from posting lists of types, or from cases as stored.

All functions take plain values, as those of :mod:`sparkcep.index.lookup` do.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sparkcep.index.lookup import LIST_COLUMNS, NO_IDS, footer, overlapping, read_groups, read_lists
from sparkcep.index.pairs import Longs, one_chunk, unpack_within
from sparkcep.index.snapshots import TableState
from sparkcep.index.storage import DataFile, Location

#: Rows of posting lists, by the type that they are lists of.
Lists: TypeAlias = list[list[pa.RecordBatch]]
#: Threads that read and decode; more of them wait for memory, not for each other.
THREADS = max(1, min(8, os.cpu_count() or 1))


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
    is_wanted = np.full(types, wanted is None)
    is_wanted[list(wanted or ())] = True
    schema = pa.schema({"code": pa.int32(), "time": pa.int64(), **columns})
    events_of = partial(_events_of, ids=ids, is_wanted=is_wanted, columns=columns, least=least, most=most)
    columns_read, parts = ["id", "codes", "times", *columns], [schema.empty_table()]
    for file, groups in where.groups:
        rows = read_groups(table, file, footer(table, file, ("id",)), groups, columns_read)
        parts.append(events_of(rows).cast(schema))
    return pa.concat_tables(parts)


def _events_of(
    rows: pa.Table, ids: Longs, is_wanted: npt.NDArray[np.bool_], columns: Iterable[str],
    least: int | None, most: int | None,
) -> pa.Table:  # fmt: skip
    own = rows["id"].to_numpy()
    at = np.minimum(np.searchsorted(ids, own), len(ids) - 1)
    if not (held := ids[at] == own).all():
        rows = rows.take(pa.array(np.flatnonzero(held)))
    rows = rows.combine_chunks()
    lists = one_chunk(rows["codes"])
    codes, times = (own.flatten().to_numpy(zero_copy_only=False) for own in (lists, one_chunk(rows["times"])))
    kept = is_wanted[codes] & _near(times, least, most)
    places = pa.array(np.flatnonzero(kept))
    case = pa.array(np.repeat(np.arange(rows.num_rows), np.asarray(lists.value_lengths()))[kept])
    found = {"code": pa.array(codes[kept]), "time": pa.array(times[kept])}
    for name in columns:
        own = one_chunk(rows[name])
        found[name] = own.flatten().take(places) if pa.types.is_list(own.type) else own.take(case)
    return pa.table(found)
