"""Delete what nobody reads any more: files that no kept snapshot names, and all of a dropped index."""

from __future__ import annotations

import time

import pyarrow.fs as pafs
from pyspark.sql import SparkSession

from sparkcep.errors import PatternIndexError
from sparkcep.index.catalog import changing, locate
from sparkcep.index.snapshots import DROPPED, Snapshot, read_snapshots
from sparkcep.index.storage import Location, call, delete_directory, filesystem
from sparkcep.index.tables import CLAIMS, SNAPSHOTS


def vacuum(spark: SparkSession, name: str, retain_hours: float = 168) -> tuple[int, int]:
    """Delete files of an index that no snapshot of the last hours names.

    The newest snapshot is kept, and every one that was the newest within the last ``retain_hours``. Files that a
    refresh is writing at this moment are younger than that, so only a RETAIN near 0 could hit them; on a local file
    system the refresher's lock prevents it.

    Returns:
        How many files were deleted, and their bytes.
    """
    index = locate(spark, name)
    if retain_hours < 0:
        raise PatternIndexError("CEP_INDEX_OPTION", "RETAIN takes hours from 0 on.", blame="retain")
    with changing(spark, index):
        return call(spark, sweep, index, time.time() - retain_hours * 3600)


def sweep(index: Location, horizon: float) -> tuple[int, int]:
    """Delete what is older than a moment and not named by a kept snapshot."""
    snapshots = read_snapshots(index)
    fs = filesystem(index)
    entries = fs.get_file_info(pafs.FileSelector("", allow_not_found=True))
    built = [e for e in entries if e.type == pafs.FileType.Directory and e.base_name.startswith("build-")]
    if not snapshots and not built:
        raise PatternIndexError("CEP_INDEX_NOT_FOUND", f"There is no pattern index {index.uri}.", blame="name")
    # Without a snapshot: what a first build that died, or a dropped damaged index, has left behind.
    kept = _kept(snapshots, horizon) if snapshots else []
    dropped = bool(snapshots) and snapshots[-1].state == DROPPED and snapshots[-1].committed_at < horizon
    if dropped:
        kept = []
    named = {f"{s.build}/{table}/{f.path}" for s in kept for table, t in s.tables.items() for f in t.files}
    builds = {s.build for s in kept}
    files = size = 0
    for entry in built:
        old = True
        for info in fs.get_file_info(pafs.FileSelector(entry.path, recursive=True)):
            if info.type != pafs.FileType.File:
                continue
            young = info.mtime is not None and info.mtime.timestamp() >= horizon
            old = old and not young
            if info.path in named or young or "/_delta_log/" in info.path or _checked_file(info.path) in named:
                continue
            fs.delete_file(info.path)
            files, size = files + 1, size + info.size
        if old and entry.base_name not in builds:
            fs.delete_dir(entry.path)
    if dropped:
        fs.delete_dir(SNAPSHOTS)
        delete_directory(index, CLAIMS)
    return files, size


def _checked_file(path: str) -> str | None:
    """The file whose bytes Hadoop's local checksum file vouches for; None: the path is none."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/{name[1:-4]}" if name.startswith(".") and name.endswith(".crc") else None


def _kept(snapshots: list[Snapshot], horizon: float) -> list[Snapshot]:
    """The newest, and those that were the newest at some moment since the horizon."""
    ends = [s.committed_at for s in snapshots[1:]]
    return [*(s for s, end in zip(snapshots, ends, strict=False) if end >= horizon), snapshots[-1]]
