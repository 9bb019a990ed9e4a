"""What a Delta table's own log says of its files: a listing does not show that deletion vectors have come to one."""

from __future__ import annotations

import json
from urllib.parse import unquote

import pyarrow.fs as pafs

from sparkcep.index.storage import Location, delta_table, filesystem

_LOG = "_delta_log"
#: Of so many commits it is looked up which files they are about.
MOST_COMMITS = 5_000


def root_of(path: Location) -> Location | None:
    """The table that a directory or file is of: the first one above it with a log, or itself."""
    uri = path.uri.rstrip("/")
    while uri and uri[-1] not in ":/":
        place = Location(uri, path.options)
        if filesystem(place).get_file_info(_LOG).type == pafs.FileType.Directory:
            return place
        uri = uri.rpartition("/")[0]
    return None


def version_of(root: Location) -> tuple[str, int] | None:
    """A table's id and newest version; None where it cannot be read."""
    table = delta_table(root)
    return None if table is None else (str(table.metadata().id), int(table.version()))


def touched_files(root: Location, before: int, now: int) -> frozenset[str] | None:
    """Files that commits behind one version, up to another, have added, removed or changed rows of: paths below the
    table, or absolute ones. None where commits are no longer there, or are too many."""
    if not 0 <= now - before <= MOST_COMMITS:
        return None
    fs = filesystem(root)
    found: set[str] = set()
    for version in range(before + 1, now + 1):
        try:
            with fs.open_input_file(f"{_LOG}/{version:020d}.json") as file:
                lines = file.read().decode().split("\n")
        except FileNotFoundError:
            return None
        for line in filter(None, map(str.strip, lines)):
            action = json.loads(line)
            change = action.get("add") or action.get("remove")
            if change is not None and change.get("dataChange", True):
                found.add(unquote(change["path"]))
    return frozenset(found)
