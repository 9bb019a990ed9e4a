"""GROUPS through an index: which cases the groups have, and which of these hold what a match needs between them.

All functions take plain values, as those of lookup.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.index import lookup
from sparkcep.index.pairs import Longs
from sparkcep.index.snapshots import TableState
from sparkcep.index.storage import Location

#: Cases of each group, as a block lists them.
Groups = Sequence[Sequence[int | str]]


def members(table: Location, state: TableState, groups: Groups) -> list[Longs]:
    """Ids of each group's cases, ascending. A case that was replaced has more than one."""
    found: list[list[Longs]] = [[] for _ in groups]
    for ids, keys in lookup.keys_of_cases(table, state):
        rows = _rows_of_numbers if pa.types.is_integer(keys.type) else _rows_of_names
        for own, at in zip(found, rows(keys, groups), strict=True):
            own.append(ids[at])
    return [lookup.ascending(parts) for parts in found]


def _rows_of_numbers(keys: pa.Array, groups: Groups) -> list[Longs]:
    numbers = keys.to_numpy().astype(np.int64)
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    out = []
    for group in groups:
        wanted = np.array([n for n in map(int, group) if abs(n) < 1 << 63], np.int64)
        low, high = np.searchsorted(ordered, wanted, "left"), np.searchsorted(ordered, wanted, "right")
        out.append(np.concatenate([lookup.NO_IDS, *(order[a:b] for a, b in zip(low, high, strict=True) if a < b)]))
    return out


def _rows_of_names(keys: pa.Array, groups: Groups) -> list[Longs]:
    of: dict[str, list[int]] = {}
    for number, group in enumerate(groups):
        for name in {str(member) for member in group}:
            of.setdefault(name, []).append(number)
    rows = np.flatnonzero(pc.is_in(keys, value_set=pa.array(list(of), keys.type)))
    out: list[list[int]] = [[] for _ in groups]
    for row, name in zip(rows.tolist(), keys.take(pa.array(rows)).to_pylist(), strict=True):
        for number in of[name]:
            out[number].append(row)
    return [np.array(own, np.int64) for own in out]


def present(groups: Sequence[Longs], cases: Mapping[int, Longs]) -> dict[int, npt.NDArray[np.bool_]]:
    """Per type whether each group has a case with an event of it.

    Args:
        groups: ids of each group's cases. cases: per type the ids of cases that contain it.
    """
    flat = np.concatenate([lookup.NO_IDS, *groups])
    number = np.repeat(np.arange(len(groups)), [len(ids) for ids in groups])
    return {type_: np.bincount(number[np.isin(flat, ids)], minlength=len(groups)) > 0 for type_, ids in cases.items()}
