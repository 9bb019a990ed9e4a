"""Questions to a table's files that need no Spark job: a few row groups are read, footers are remembered.

All functions take plain values, so that they can run in a Spark task where the client cannot see the storage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from sparkcep.index import files
from sparkcep.index.pairs import Longs, intersect, unpack
from sparkcep.index.snapshots import TableState
from sparkcep.index.storage import DataFile, Location

NO_IDS: Longs = np.empty(0, np.int64)
#: Posting lists of so many pairs are read together.
PAIRS_AT_ONCE = 3
#: CASE values of an index of so many rows of cases are kept in memory, mostly some tens of bytes each.
MAX_KEYS_KEPT = 4_000_000


@dataclass(frozen=True, slots=True)
class PairCount:
    """A row of `counts`: how often a pair is completed, and in how many cases.

    ``total``, ``shortest``, ``longest``: its durations, in units of the index's times (0, None, None if it never is).
    """

    completions: int
    cases: int
    total: int
    shortest: int | None
    longest: int | None


@dataclass(frozen=True, slots=True)
class Footer:
    """A file's metadata, and between which keys (as one number each) the rows of each of its row groups are."""

    metadata: pq.FileMetaData
    first: Longs
    last: Longs


@lru_cache(maxsize=4096)
def footer(table: Location, file: DataFile, keys: tuple[str, ...]) -> Footer:
    """A file's footer. Files never change, so neither do footers.

    Args:
        keys: the columns that the file is sorted by, one or two.
    """
    metadata = files.metadata_of(table, file)
    return Footer(metadata, *key_bounds(metadata, keys))


def key_bounds(metadata: pq.FileMetaData, keys: Sequence[str]) -> tuple[Longs, Longs]:
    """Bounds of row groups' keys, as near as statistics of single columns and the order of the rows tell.

    In a group with more than one first key any second key may be combined with any of them, by its own statistics. But
    its rows come after those of the group before and ahead of those of the group behind.
    """
    places = {metadata.schema.column(k).path: k for k in range(metadata.num_columns)}
    groups = [metadata.row_group(g) for g in range(metadata.num_row_groups)]
    stats = [[group.column(places[key]).statistics for group in groups] for key in keys]
    least = [np.array([s.min for s in own], np.int64) for own in stats]
    most = [np.array([s.max for s in own], np.int64) for own in stats]
    first, last = _joined(least), _joined(most)
    exact = least[0] == most[0] if len(keys) > 1 else np.ones(len(groups), bool)
    ends = np.where(exact, last, _joined([most[0], *least[1:]]))  # the last row's key is no less
    begins = np.where(exact, first, _joined([least[0], *most[1:]]))  # the first row's key is no more
    if (ends[:-1] <= begins[1:]).all():  # what is out of order would be missed
        first[1:] = np.where(exact, first, np.maximum(first, np.roll(ends, 1)))[1:]
        last[:-1] = np.where(exact, last, np.minimum(last, np.roll(begins, -1)))[:-1]
    return first, last


def _joined(keys: Sequence[Longs]) -> Longs:
    """Keys of one or two columns as one number each, in their order; a key has 31 bits."""
    return keys[0] if len(keys) == 1 else keys[0] << 32 | keys[1]


def groups_with(footer: Footer, wanted: Sequence[tuple[int, ...]]) -> Longs:
    """Row groups that can hold some of the wanted keys."""
    numbers = _joined(list(np.array(wanted, np.int64).T))[:, np.newaxis]
    return np.flatnonzero(((footer.first <= numbers) & (numbers <= footer.last)).any(axis=0))


def read_groups(
    table: Location, file: DataFile, footer: Footer, groups: Sequence[int], columns: Sequence[str]
) -> pa.Table:
    """Some row groups of a file, whose footer is ``footer``."""
    return files.read_groups(table, file, footer.metadata, groups, columns)


#: First and last interval whose lists are looked at; None: all.
Intervals: TypeAlias = tuple[int, int] | None


def read_lists(
    table: Location, state: TableState, keys: tuple[str, ...], wanted: Sequence[tuple[int, ...]],
    columns: Sequence[str], intervals: Intervals = None,
) -> tuple[dict[tuple[int, ...], list[pa.RecordBatch]], int]:  # fmt: skip
    """Posting lists of some keys, and how many compressed bytes held them."""
    out: dict[tuple[int, ...], list[pa.RecordBatch]] = {key: [] for key in wanted}
    size = 0
    for file in state.files if wanted else ():
        found = footer(table, file, keys)
        groups = groups_with(found, wanted)
        if intervals is not None:
            groups = groups[_between(found.metadata, intervals)[groups]]
        if not len(groups):
            continue
        needed = [*keys, *columns, *(["interval"] if intervals is not None else [])]
        rows = read_groups(table, file, found, groups.tolist(), needed).combine_chunks()
        for group in groups:
            own = found.metadata.row_group(int(group))
            size += sum(
                own.column(c).total_compressed_size
                for c in range(own.num_columns)
                if own.column(c).path_in_schema in needed
            )
        values = [rows[k].to_numpy() for k in keys]
        near = np.ones(rows.num_rows, bool)
        if intervals is not None:
            near = (rows["interval"].to_numpy() >= intervals[0]) & (rows["interval"].to_numpy() <= intervals[1])
        for key in wanted:
            mask = near.copy()
            for column, value in zip(values, key, strict=True):
                mask &= column == value
            picked = np.flatnonzero(mask)
            if len(picked):
                out[key] += rows.take(pa.array(picked)).combine_chunks().to_batches()
    return out, size


def _between(metadata: pq.FileMetaData, intervals: tuple[int, int]) -> npt.NDArray[np.bool_]:
    """Which row groups may have lists of some intervals."""
    place = next(k for k in range(metadata.num_columns) if metadata.schema.column(k).path == "interval")
    stats = [metadata.row_group(g).column(place).statistics for g in range(metadata.num_row_groups)]
    return np.array([s is None or (s.min <= intervals[1] and intervals[0] <= s.max) for s in stats], bool)


def _cases(batches: Iterable[pa.RecordBatch]) -> Longs:
    """Ids of the cases in some lists, ascending, each once."""
    parts = [unpack(b["cases"], b["count"].to_numpy().astype(np.int64), b["first_case"].to_numpy(), 1) for b in batches]
    return ascending(parts)


def ascending(parts: Sequence[Longs]) -> Longs:
    """Ids of all parts, ascending, each once. Those of packed lists mostly are in order already."""
    ids = np.concatenate([NO_IDS, *parts])
    if (ids[1:] < ids[:-1]).any():
        ids.sort(kind="stable")
    return ids[np.append(True, ids[1:] != ids[:-1])] if len(ids) else ids


def _shared(lists: dict[tuple[int, ...], list[pa.RecordBatch]], cases: Longs | None = None) -> Longs:
    """Cases in all lists, and in ``cases``: the shortest is crosscut with the next, as in LCJoin, and leaps."""
    order = sorted(lists.values(), key=lambda batches: sum(sum(b["count"].to_pylist()) for b in batches))
    if cases is None:
        cases = _cases(order.pop(0))
    for batches in order:
        if not len(cases):
            break
        low, high = cases[0], cases[-1]
        near = [b.filter(overlapping(b, low, high)) for b in batches]
        cases = intersect(cases, _cases(near))
    return cases


def overlapping(batch: pa.RecordBatch, low: int, high: int) -> pa.Array:
    """Which lists have cases between two ids, as far as their first and last tell."""
    return pa.array((batch["first_case"].to_numpy() <= high) & (batch["last_case"].to_numpy() >= low))


LIST_COLUMNS = ("count", "first_case", "last_case", "cases")


def cases_of_pairs(
    table: Location,
    state: TableState,
    counts: tuple[Location, TableState],
    wanted: Sequence[Sequence[tuple[int, int]]],
    enough: int,
    among: Longs | None = None,
    intervals: Intervals = None,
) -> tuple[list[tuple[Longs, int]], int]:
    """For each of some sets of pairs the cases that have every one of it, the rarest first; where few are left, further
    pairs are not asked for. Lists that several sets ask for at a time are read once.

    Args:
        counts: the table of pair counts. enough: so few cases that further lists cost more than they save. among: the
            only cases that matter (ascending ids), ``intervals``: the only ones, by a pair's second event.

    Returns:
        For each set ids, and how many of its pairs were asked for; compressed bytes read.
    """
    many = any(len(own) > PAIRS_AT_ONCE for own in wanted)
    rarest = [sorted(own, key=_popularity(*counts)) if many else list(own) for own in wanted]
    found: list[Longs | None] = [among] * len(rarest)
    pairs_read = [0] * len(rarest)
    size = 0
    while left := [
        n for n, own in enumerate(rarest)
        if pairs_read[n] < len(own) and ((cases := found[n]) is None or len(cases) > enough)
    ]:  # fmt: skip
        now = {n: rarest[n][pairs_read[n] : pairs_read[n] + PAIRS_AT_ONCE] for n in left}
        keys = list(dict.fromkeys(pair for own in now.values() for pair in own))
        lists, more = read_lists(table, state, ("a", "b"), keys, LIST_COLUMNS, intervals)
        size += more
        for n, own in now.items():
            found[n] = _shared({pair: lists[pair] for pair in own}, found[n])
            pairs_read[n] += len(own)
    return [(NO_IDS if cases is None else cases, own) for cases, own in zip(found, pairs_read, strict=True)], size


def cases_with(table: Location, state: TableState, wanted: Sequence[tuple[int, int]]) -> list[int]:
    """In how many cases each of some pairs is, by the table of counts; 0 where none has it."""
    return list(map(_popularity(table, state), wanted))


def _popularity(table: Location, state: TableState) -> Callable[[tuple[int, int]], int]:
    keys, cases = _cases_by_pair(table, state)

    def of(pair: tuple[int, int]) -> int:
        key = (pair[0] << 32) | pair[1]
        place = int(np.searchsorted(keys, key))
        return int(cases[place]) if place < len(keys) and keys[place] == key else 0

    return of


@lru_cache(maxsize=4)
def _cases_by_pair(table: Location, state: TableState) -> tuple[Longs, Longs]:
    """Pairs as one number each, ascending, and how many cases have them."""
    keys, cases = [NO_IDS], [NO_IDS]
    for rows in _tables(table, state, ["a", "b", "cases"]):
        keys.append((rows["a"].to_numpy().astype(np.int64) << 32) | rows["b"].to_numpy())
        cases.append(rows["cases"].to_numpy().astype(np.int64))
    found, places = np.unique(np.concatenate(keys), return_inverse=True)
    totals = np.zeros(len(found), np.int64)
    np.add.at(totals, places, np.concatenate(cases))
    return found, totals


def cases_of_types(
    table: Location, state: TableState, wanted: Sequence[Sequence[int]], among: Longs | None = None
) -> tuple[list[Longs], int]:
    """For each of some sets of types the cases that contain every one of it, and bytes read; each list is read once.

    Args:
        among: the only cases that matter (ascending ids).
    """
    keys = list(dict.fromkeys((type_,) for own in wanted for type_ in own))
    lists, size = read_lists(table, state, ("type",), keys, LIST_COLUMNS)
    return [_shared({(type_,): lists[type_,] for type_ in own}, among) for own in wanted], size


def cases_by_type(table: Location, state: TableState, wanted: Sequence[int]) -> tuple[dict[int, Longs], int]:
    """Cases that contain each of some types, and bytes read."""
    lists, size = read_lists(table, state, ("type",), [(w,) for w in wanted], LIST_COLUMNS)
    return {w: _cases(lists[w,]) for w in wanted}, size


@lru_cache(maxsize=16)
def events_by_type(table: Location, state: TableState) -> Mapping[int, int]:
    """How many events of each type, by its code, posting lists have; those of replaced cases too."""
    out: dict[int, int] = {}
    for rows in _tables(table, state, ["type", "count"]):
        for code, events in zip(rows["type"].to_pylist(), rows["count"].to_pylist(), strict=True):
            out[code] = out.get(code, 0) + events
    return out


def case_keys(table: Location, state: TableState, ids: Longs) -> pa.Array:
    """CASE values of some cases (ascending ids), in their order."""
    parts = []
    for own, values in keys_of_cases(table, state, ids):
        # What a file's cases can be among, then what of these it has.
        wanted = ids[slice(*np.searchsorted(ids, [own[0], own[-1] + 1]))] if len(own) else NO_IDS
        places = np.searchsorted(own, wanted)
        has = own[places] == wanted
        parts.append((wanted[has], values.take(pa.array(places[has]))))
    if not parts:
        return pa.array([], pa.string())
    found = np.concatenate([part for part, _ in parts])
    keys = pa.concat_arrays([part for _, part in parts])
    return keys if (found[1:] >= found[:-1]).all() else keys.take(pa.array(np.argsort(found, kind="stable")))


def cases_where(table: Location, state: TableState, met: Callable[[pa.Array], pa.Array]) -> Longs:
    """Ids (ascending) of the cases whose CASE values meet a condition, which gives booleans for values."""
    return ascending([ids[met(keys).to_numpy(zero_copy_only=False)] for ids, keys in keys_of_cases(table, state)])


def is_kept(state: TableState) -> bool:
    """Whether CASE values of all cases are kept in memory, once they have been read."""
    return sum(file.rows for file in state.files) <= MAX_KEYS_KEPT


def keys_of_cases(table: Location, state: TableState, ids: Longs | None = None) -> Iterator[tuple[Longs, pa.Array]]:
    """Ids (ascending) of the cases of each file and their CASE values; of ``ids`` alone, and perhaps of others, where
    reading these is less than reading all."""
    if not is_kept(state):
        for file in state.files:
            found = footer(table, file, ("id",))
            groups = np.arange(len(found.first))
            if ids is not None:
                groups = np.flatnonzero(np.searchsorted(ids, found.first) < np.searchsorted(ids, found.last, "right"))
            if len(groups):
                yield _keys_of(read_groups(table, file, found, groups.tolist(), _KEY_COLUMNS))
        return
    kept = _kept_keys(table)
    live = set(state.files)
    for gone in [file for file in list(kept) if file not in live]:  # other threads may read, too
        kept.pop(gone, None)
    for file in state.files:
        if (keys := kept.get(file)) is None:
            keys = kept[file] = _keys_of(files.read(table, file, _KEY_COLUMNS))
        yield keys


_KEY_COLUMNS = ["id", "start", "case_key"]


@lru_cache(maxsize=2)
def _kept_keys(table: Location) -> dict[DataFile, tuple[Longs, pa.Array]]:
    """Ids and CASE values of files that have been read. Files never change, and refreshes write few new ones."""
    return {}


def _keys_of(rows: pa.Table) -> tuple[Longs, pa.Array]:
    """Ids (ascending) and CASE values of the cases that begin in some rows."""
    first = np.flatnonzero(rows["start"].to_numpy() == 0)
    ids = rows["id"].to_numpy()[first]
    if (ids[1:] < ids[:-1]).any():
        order = np.argsort(ids, kind="stable")
        first, ids = first[order], ids[order]
    return ids, rows["case_key"].combine_chunks().take(pa.array(first))


def _tables(table: Location, state: TableState, columns: Sequence[str]) -> Iterator[pa.Table]:
    for file in state.files:
        yield files.read(table, file, columns)


def dictionary(table: Location, state: TableState) -> dict[str, int]:
    """Event types with their codes; a type has one code over all batches."""
    out: dict[str, int] = {}
    for rows in _tables(table, state, ["code", "type"]):
        out.update(zip(rows["type"].to_pylist(), rows["code"].to_pylist(), strict=True))
    return out


def counts(table: Location, state: TableState, wanted: Sequence[tuple[int, int]]) -> dict[tuple[int, int], PairCount]:
    """Counts of some pairs, added up over batches."""
    keys = set(wanted)
    out: dict[tuple[int, int], PairCount] = {}
    for rows in _tables(table, state, ["a", "b", "completions", "cases", "sum", "min", "max"]):
        a, b = rows["a"].to_numpy(), rows["b"].to_numpy()
        mask = np.isin(a, [k[0] for k in keys]) & np.isin(b, [k[1] for k in keys])
        for row in rows.filter(pa.array(mask)).to_pylist():
            key = (row["a"], row["b"])
            if key not in keys:
                continue
            was = out.get(key)
            total = int(row["sum"])
            if was is None:
                out[key] = PairCount(row["completions"], row["cases"], total, row["min"], row["max"])
            else:
                assert was.shortest is not None
                assert was.longest is not None
                out[key] = PairCount(
                    was.completions + row["completions"], was.cases + row["cases"], was.total + total,
                    min(was.shortest, row["min"]), max(was.longest, row["max"]),
                )  # fmt: skip
    return out


def reasons(table: Location, state: TableState) -> dict[str, int]:
    """Rows of `rejected` by what is wrong with them."""
    out: dict[str, int] = {}
    for rows in _tables(table, state, ["reason"]):
        for reason in rows["reason"].to_pylist():
            out[reason] = out.get(reason, 0) + 1
    return out


def rejected_keys(table: Location, state: TableState) -> pa.Array:
    """CASE values of rows of `rejected` as text, each once."""
    parts = [rows["case_key"].combine_chunks() for rows in _tables(table, state, ["case_key"])]
    return pa.concat_arrays([pa.array([], pa.string()), *parts]).unique()


def all_ids(table: Location, state: TableState) -> Longs:
    """Ids of all cases, ascending."""
    return ascending([r["id"].to_numpy() for r in _tables(table, state, ["id"])])


def dead(table: Location, state: TableState) -> Longs:
    """Ids that are replaced, and ids of rows that only say so."""
    parts = [r["replaces"].drop_null().to_numpy() for r in _tables(table, state, ["replaces"])]
    # A case that is gone has a row without events.
    for rows in _tables(table, state, ["id", "codes"]):
        empty = np.asarray(rows["codes"].combine_chunks().value_lengths()) == 0
        parts.append(rows["id"].to_numpy()[empty])
    return ascending(parts)
