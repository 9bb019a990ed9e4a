"""An index whose files are gone, cut short or unreadable: how that is found, and what is said.

Spark lists a batch's directory and would miss a file that is gone, or has no bytes, without a word; so whoever reads by
directory looks first whether it holds what the snapshot names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.fs as pafs

from sparkcep.errors import PatternIndexError

if TYPE_CHECKING:
    from sparkcep.index.snapshots import Snapshot, TableState
    from sparkcep.index.storage import Location

#: Files are not as the snapshot says; the storage refuses; the index is of another release.
DAMAGED, STORAGE, FORMAT = "CEP_INDEX_DAMAGED", "CEP_INDEX_STORAGE", "CEP_INDEX_FORMAT"
#: Errors that a query without the index can do without.
UNUSABLE = (DAMAGED, STORAGE, FORMAT)

ANEW = "REFRESH PATTERN INDEX builds it anew from its source; of batches, DROP PATTERN INDEX and create it again"


def damaged(reason: str, hint: str = ANEW) -> PatternIndexError:
    return PatternIndexError("CEP_INDEX_DAMAGED", f"The pattern index is damaged: {reason}.", blame="name", hint=hint)


def classed(error: Exception) -> PatternIndexError | None:
    """What a storage library's error means for an index; None: it is no error of storage.

    Raised by `pyarrow` and `deltalake`, which tell what is wrong by OSError with a number or by words only.
    """
    from deltalake.exceptions import DeltaError

    if not isinstance(error, (OSError, pa.ArrowException, DeltaError)):
        return None
    text = str(error)
    reason = " ".join(text.split("stack backtrace", maxsplit=1)[0].split())[:300].rstrip(". ")
    refused = isinstance(error, OSError) and error.errno is not None and not isinstance(error, FileNotFoundError)
    if refused or re.search(r"os error|Generic (?!delta )\w+ error", text):
        return refusal(reason)
    return damaged(reason)


def refusal(reason: str) -> PatternIndexError:
    return PatternIndexError(
        "CEP_INDEX_STORAGE",
        f"The pattern index's storage refuses: {reason}.",
        blame="name",
        hint="nothing that readers see was changed; mend the storage (space, rights, network) and try again",
    )


def disk_full(error: Exception) -> PatternIndexError | None:
    """What a Spark job says that could not write its files; None: it died of something else."""
    found = re.search(r"No space left on device|Disk quota exceeded|File too large|Read-only file system", str(error))
    return refusal(found[0]) if found else None


def check_table(table: Location, state: TableState) -> None:
    """Refuse a table that is not there as a snapshot names it.

    Raises:
        PatternIndexError: CEP_INDEX_DAMAGED.
    """
    from sparkcep.index.storage import filesystem

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
