"""Whether an index has the files that its snapshot names, with the footers that they were written with.

Spark lists a batch's directory and would miss a file that is gone, or has no bytes, without a word; and it checks pages
but no footers. So whoever reads by directory looks first whether it holds what the snapshot names.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.fs as pafs

from sparkcep.errors import PatternIndexError
from sparkcep.index.files import metadata_of
from sparkcep.index.snapshots import Snapshot, TableState
from sparkcep.index.storage import DataFile, Location, filesystem
from sparkcep.index.storage_errors import ANEW, STORAGE, classed, damaged

#: Footers that are read at once.
THREADS = 16
#: Files whose footers this process has found well, as they were written then; so many are remembered.
_checked: set[tuple[Location, DataFile, int | None]] = set()
MAX_CHECKED = 100_000


def check_table(table: Location, state: TableState) -> None:
    """Refuse a table that is not there as a snapshot names it.

    Raises:
        PatternIndexError: CEP_INDEX_DAMAGED.
    """
    fs = filesystem(table)
    unchecked = []
    for batch, files in state.batches:
        infos = fs.get_file_info(pafs.FileSelector(f"data/{batch}", allow_not_found=True, recursive=True))
        listed = {f.path: f for f in infos if f.type == pafs.FileType.File}
        wrong = [f.path for f in files if f.path not in listed or listed[f.path].size != f.size]
        if wrong:
            raise damaged(
                f"{len(wrong)} of its files are gone or have another size, first {table.uri}/{wrong[0]}",
                f"if it was refreshed and vacuumed meanwhile, run this again; else {ANEW}",
            )
        found = [(table, f, listed[f.path].mtime_ns) for f in files if f.tail]
        unchecked += [file for file in found if file not in _checked]
    if unchecked:
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(lambda file: metadata_of(*file[:2]), unchecked))
        if len(_checked) > MAX_CHECKED:
            _checked.clear()
        _checked.update(unchecked)


def found_in(index: Location, snapshot: Snapshot) -> str | None:
    """What is wrong with the tables of a snapshot, data and Delta logs; None: nothing."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    for name, state in snapshot.tables.items():
        table = index.child(snapshot.build, name)
        try:
            check_table(table, state)
            log = DeltaTable(table.delta, version=state.version, storage_options=table.storage_options())
            if {f.path for f in state.files} != {a["path"] for a in pa.table(log.get_add_actions()).to_pylist()}:
                return f"the Delta log of {name} names other files than the snapshot"
        except PatternIndexError as error:
            return error.sentence.rstrip(".")
        except DeltaError as error:
            found = classed(error)
            assert found is not None
            if found.error_class == STORAGE:
                raise found from None
            return f"the Delta log of {name} cannot be read"
    return None
