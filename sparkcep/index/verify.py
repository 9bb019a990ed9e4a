"""Whether an index has the files that its snapshot names.

Spark lists a batch's directory and would miss a file that is gone, or has no bytes, without a word; so whoever reads by
directory looks first whether it holds what the snapshot names.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.fs as pafs

from sparkcep.errors import PatternIndexError
from sparkcep.index.snapshots import Snapshot, TableState
from sparkcep.index.storage import Location, filesystem
from sparkcep.index.storage_errors import ANEW, STORAGE, classed, damaged


def check_table(table: Location, state: TableState) -> None:
    """Refuse a table that is not there as a snapshot names it.

    Raises:
        PatternIndexError: CEP_INDEX_DAMAGED.
    """
    fs = filesystem(table)
    for batch, files in state.batches:
        listed = fs.get_file_info(pafs.FileSelector(f"data/{batch}", allow_not_found=True, recursive=True))
        sizes = {f.path: f.size for f in listed if f.type == pafs.FileType.File}
        wrong = [f.path for f in files if sizes.get(f.path) != f.size]
        if wrong:
            raise damaged(
                f"{len(wrong)} of its files are gone or have another size, first {table.uri}/{wrong[0]}",
                f"if it was refreshed and vacuumed meanwhile, run this again; else {ANEW}",
            )


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
