"""CASE values of cases by their ids, kept in memory or read each time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkcep.index import lookup
from sparkcep.index.snapshots import TableState
from sparkcep.index.storage import DataFile, Location


def written(folder: Path, files: Sequence[Sequence[int]]) -> TableState:
    """A table `sequences` of files with some cases, each in one to three rows."""
    out = []
    for number, ids in enumerate(files):
        rows = [(n, start) for n in ids for start in range(1 + n % 3)]
        path = folder / f"{number}.parquet"
        columns = {
            "id": pa.array([n for n, _ in rows], pa.int64()), "start": pa.array([at for _, at in rows], pa.int32()),
            "case_key": pa.array([f"case {n}" for n, _ in rows], pa.string()),
        }  # fmt: skip
        pq.write_table(pa.table(columns), path, row_group_size=4)
        out.append(DataFile(path.name, path.stat().st_size, len(rows)))
    return TableState(1, "", (("first", tuple(out[:2])), ("second", tuple(out[2:]))))


@pytest.mark.parametrize("most_kept", [0, lookup.MAX_KEYS_KEPT], ids=["read", "kept"])
def test_every_case_has_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_kept: int) -> None:
    monkeypatch.setattr(lookup, "MAX_KEYS_KEPT", most_kept)
    # Of the third file's cases some are between those of the others, as merging leaves them.
    files = [list(range(0, 40, 2)), list(range(41, 90)), [1, 3, 39, 90, 91, 95]]
    state, table = written(tmp_path, files), Location(f"file://{tmp_path}")
    assert lookup.is_kept(state) == (most_kept > 0)
    every = np.array(sorted(n for ids in files for n in ids))
    random = np.random.default_rng(1)
    wanted = [np.sort(random.choice(every, size, replace=False)) for size in range(1, len(every), 7) for _ in range(3)]
    for ids in (every, every[:1], every[-1:], lookup.NO_IDS, *wanted):
        assert lookup.case_keys(table, state, ids).to_pylist() == [f"case {n}" for n in ids]
    found = {
        n: k for own in lookup.keys_of_cases(table, state) for n, k in zip(own[0], own[1].to_pylist(), strict=True)
    }
    assert found == {n: f"case {n}" for n in every}

    # A later snapshot has other files.
    (tmp_path / "new").mkdir()
    (new,) = written(tmp_path / "new", [[7, 200]]).files
    later = TableState(2, "", (("second", (*state.files[2:], replace(new, path=f"new/{new.path}"))),))
    assert lookup.case_keys(table, later, np.array([3, 7, 91, 200])).to_pylist() == [
        "case 3", "case 7", "case 91", "case 200",
    ]  # fmt: skip


def test_the_right_cases_meet_a_condition(tmp_path: Path) -> None:
    state, table = written(tmp_path, [[0, 2, 4], [5, 7]]), Location(f"file://{tmp_path}")
    met = lookup.cases_where(table, state, lambda keys: pa.array([k in ("case 2", "case 7") for k in keys.to_pylist()]))
    assert met.tolist() == [2, 7]
