"""The commit point: one row of `snapshots` names the version and the files of every table.

A refresh commits table by table and then this row. Readers know tables only through a snapshot, so whatever a refresh
that died has left behind does not exist for them, and the next refresh starts from the snapshot again.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from sparkcep.errors import PatternIndexError
from sparkcep.index.claims import claimed
from sparkcep.index.storage import (
    DataFile,
    Location,
    busy,
    commit_files,
    conflicts_are_busy,
    delta_table,
    filesystem,
    opened,
)
from sparkcep.index.storage_errors import STORAGE, classed, damaged, redacted, refusal
from sparkcep.index.tables import FORMAT_VERSION, SNAPSHOTS, Definition

READY, DROPPED = "ready", "dropped"

#: Called with the name of each step of a commit; the crash tests stop the process here.
_fault: Callable[[str], None] = lambda step: None  # noqa: E731


def on_fault_point(action: Callable[[str], None]) -> None:
    """Set what happens at each step of a commit (tests only)."""
    global _fault  # noqa: PLW0603
    _fault = action


def fault_point(step: str) -> None:
    """A step of a commit with this name is about to happen; see :func:`on_fault_point`."""
    _fault(step)


@dataclass(frozen=True, slots=True)
class TableState:
    """A table in a snapshot: its Delta version and its live batches with their files."""

    version: int
    schema: str
    batches: tuple[tuple[str, tuple[DataFile, ...]], ...] = ()

    @property
    def files(self) -> tuple[DataFile, ...]:
        """Files of all live batches, batch by batch."""
        return tuple(f for _, files in self.batches for f in files)

    @property
    def rows(self) -> int:
        """Rows of all live files, as Parquet counts them."""
        return sum(f.rows for f in self.files)

    @property
    def size(self) -> int:
        """Bytes of all live files."""
        return sum(f.size for f in self.files)


@dataclass(frozen=True, slots=True)
class Totals:
    """How much is indexed. ``next_id``: the first unused id. ``ties``: events that only their type puts after others.

    ``segmented``: some case has more than one row in `sequences`. ``replaced``: some case has been given a new id, or
    is gone.
    """

    events: int = 0
    cases: int = 0
    pairs: int = 0
    rejected: int = 0
    ties: int = 0
    next_id: int = 0
    first_time: int | None = None
    last_time: int | None = None
    segmented: bool = False
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One state of an index.

    ``committed_at``: seconds since 1970. ``state``: ready or dropped. ``build``: directory of the tables' files.
    ``definition``: as ALTER has left it; ``built_with``: as it was when the files were written. ``source_state``: the
    source's state then, to find out what is new. ``batch_ids``: of batches, so that none is indexed twice.
    """

    number: int
    committed_at: float
    state: str
    build: str
    definition: Definition
    built_with: Definition
    tables: Mapping[str, TableState]
    source_state: Mapping[str, Any]
    batch_ids: tuple[str, ...] = ()
    totals: Totals = field(default_factory=Totals)

    @property
    def size(self) -> int:
        """Bytes of all tables."""
        return sum(t.size for t in self.tables.values())

    @property
    def batches(self) -> int:
        """How many live batches the table with the most of them has."""
        return max((len(t.batches) for t in self.tables.values()), default=0)

    def as_json(self) -> str:
        """The body of a row of the table `snapshots`, which ends with its own checksum; :meth:`from_row` reads it."""
        tables = {
            name: [
                t.version,
                t.schema,
                [[b, [[f.path, f.size, f.rows, f.tail, f.crc] for f in fs]] for b, fs in t.batches],
            ]
            for name, t in self.tables.items()
        }
        totals = {k: getattr(self.totals, k) for k in Totals.__dataclass_fields__}
        body = json.dumps(
            {
                "build": self.build,
                "definition": self.definition.as_json(),
                "built_with": self.built_with.as_json(),
                "tables": tables,
                "source_state": dict(self.source_state),
                "batch_ids": list(self.batch_ids),
                "totals": totals,
            }
        )
        return f'{body[:-1]}, "crc": {_crc(self.number, self.committed_at, self.state, body)}}}'

    @classmethod
    def from_row(cls, number: int, committed_at: float, state: str, body: str) -> Snapshot:
        """A row of the table `snapshots`. ``committed_at``: seconds since 1970.

        Raises:
            KeyError, TypeError, ValueError: the body is of another format.
        """
        data = json.loads(body)
        written, crc, _ = body.rpartition(', "crc": ')
        if crc and data["crc"] != _crc(number, committed_at, state, written + "}"):
            raise ValueError("it has another checksum than when it was written")
        tables = {
            name: TableState(version, schema, tuple((b, tuple(DataFile(*f) for f in fs)) for b, fs in batches))
            for name, (version, schema, batches) in data["tables"].items()
        }
        return cls(
            number,
            committed_at,
            state,
            data["build"],
            Definition.from_json(data["definition"]),
            Definition.from_json(data["built_with"]),
            tables,
            data["source_state"],
            tuple(data["batch_ids"]),
            Totals(**data["totals"]),
        )


def _crc(number: int, committed_at: float, state: str, body: str) -> int:
    return zlib.crc32(f"{number} {round(committed_at * 1e6)} {state} {body}".encode())


def read_snapshots(index: Location) -> list[Snapshot]:
    """All snapshots that VACUUM has left, oldest first; none: there is no such index."""
    return [_read(index, path) for _, path in _snapshot_files(index)]


def read_current(index: Location) -> Snapshot | None:
    """The newest snapshot, None where there is no such index.

    Raises:
        PatternIndexError: CEP_INDEX_FORMAT, the index was written by another release; CEP_INDEX_DAMAGED.
    """
    files = _snapshot_files(index)
    return _read(index, files[-1][1]) if files else None


def _snapshot_files(index: Location) -> list[tuple[int, str]]:
    from deltalake.exceptions import DeltaError

    table = index.child(SNAPSHOTS)
    try:
        delta = delta_table(table)
    except DeltaError as error:
        raise _unreadable(table, error) from None
    if delta is None:
        return []
    actions = pa.table(delta.get_add_actions(flatten=True)).to_pydict()
    if "max.snapshot" not in actions:
        raise _unreadable(table, KeyError("max.snapshot"))
    return sorted(zip(actions["max.snapshot"], actions["path"], strict=True))


def _unreadable(table: Location, error: Exception) -> PatternIndexError:
    """Without its snapshots an index cannot tell what it is; DROP then takes them away."""
    found = classed(error)
    if found is not None and found.error_class == STORAGE:
        return found
    reason = redacted(str(error)).split(chr(10), maxsplit=1)[0]
    return damaged(f"{table.uri} cannot be read ({reason})", "DROP PATTERN INDEX it and create it again")


def _read(index: Location, path: str) -> Snapshot:
    table = index.child(SNAPSHOTS)
    try:
        row = pq.read_table(path, filesystem=filesystem(table)).to_pylist()[0]
        if row["format_version"] != FORMAT_VERSION:
            raise PatternIndexError(
                "CEP_INDEX_FORMAT",
                f"The index at {index.uri} has format {row['format_version']}; this release reads {FORMAT_VERSION}.",
                blame="name",
                hint="DROP PATTERN INDEX it and create it again, or use the release that wrote it",
            )
        return Snapshot.from_row(row["snapshot"], row["committed_at"].timestamp(), row["state"], row["body"])
    except (OSError, pa.ArrowException, LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise _unreadable(table, error) from None  # bytes that have changed are no text, no time, no JSON


def _row(snapshot: Snapshot) -> pa.Table:
    moment = pa.array([round(snapshot.committed_at * 1e6)], pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    return pa.table(
        {
            "snapshot": pa.array([snapshot.number], pa.int64()),
            "committed_at": moment,
            "state": pa.array([snapshot.state]),
            "format_version": pa.array([FORMAT_VERSION], pa.int32()),
            "index": pa.array([snapshot.definition.name]),
            "source": pa.array([str(snapshot.definition.source)]),
            "events": pa.array([snapshot.totals.events], pa.int64()),
            "cases": pa.array([snapshot.totals.cases], pa.int64()),
            "body": pa.array([snapshot.as_json()]),
        }
    )


def commit_snapshot(index: Location, snapshot: Snapshot) -> Snapshot:
    """Append a snapshot behind the one it extends; returns it with its moment.

    Raises:
        PatternIndexError: CEP_INDEX_BUSY, another one came first.
    """
    from deltalake import CommitProperties, Transaction, write_deltalake

    table = index.child(SNAPSHOTS)
    # Moments never go back, though clocks do: VACUUM reads from them how long a snapshot was the newest.
    snapshot = replace(snapshot, committed_at=max(time.time(), snapshot.committed_at))
    properties = CommitProperties(app_transactions=[Transaction("snapshots", snapshot.number)], max_commit_retries=0)
    with conflicts_are_busy():
        if (delta := opened(table)) is None:
            options = table.storage_options()
            write_deltalake(
                table.delta, _row(snapshot), mode="error", storage_options=options, commit_properties=properties
            )
            return snapshot
        if delta.transaction_version("snapshots") != snapshot.number - 1:
            raise busy(f"snapshot {snapshot.number} is there")
        write_deltalake(delta, _row(snapshot), mode="append", commit_properties=properties)
    return snapshot


@dataclass(frozen=True, slots=True)
class Written:
    """What a refresh has written for a table, before it is committed.

    ``replaces``: the table then has nothing but this batch. ``merges``: earlier batches whose place it takes.
    """

    batch: str
    files: tuple[DataFile, ...]
    schema: str
    replaces: bool = False
    merges: tuple[str, ...] = ()


def commit(index: Location, base: Snapshot | None, target: Snapshot, written: Mapping[str, Written]) -> Snapshot:
    """Commit every written table, then the snapshot that names them. Of a local index the caller is its refresher.

    Args:
        base: the snapshot that is extended, None where the build begins.
        target: the new snapshot, its tables still those of ``base``.
        written: new files by table.

    Raises:
        PatternIndexError: CEP_INDEX_BUSY; no table has been touched then.
    """
    if index.local is not None:
        return _commit(index, base, target, written, lambda: None)
    with claimed(index) as check:
        check_newest(index, base)
        return _commit(index, base, target, written, check)


def commit_as_refresher(
    index: Location, base: Snapshot | None, target: Snapshot, written: Mapping[str, Written]
) -> Snapshot:
    """As :func:`commit`, from a task: the client that runs the refresh could not take the lock."""
    with refresher(index):
        check_newest(index, base)
        return commit(index, base, target, written)


def check_newest(index: Location, base: Snapshot | None) -> None:
    """Raises CEP_INDEX_BUSY where a snapshot came behind the one that a refresh extends."""
    newest = read_current(index)
    if newest is not None and (base is None or newest.number != base.number):
        raise busy(f"snapshot {newest.number} is there")


def _commit(
    index: Location,
    base: Snapshot | None,
    target: Snapshot,
    written: Mapping[str, Written],
    check: Callable[[], None],
) -> Snapshot:
    build = index.child(target.build)
    tables = dict(target.tables)
    for name, new in written.items():
        fault_point(f"before {name}")
        check()
        old = tables.get(name)
        batches = old.batches if old else ()
        removed = [file for batch, files in batches if batch in new.merges for file in files]
        version = commit_files(
            build.child(name), old.version if old else None, new.files, new.schema, new.replaces, target.build, removed
        )
        kept = () if new.replaces else tuple(b for b in batches if b[0] not in new.merges)
        own = ((new.batch, new.files),) if new.files else ()
        tables[name] = TableState(version, new.schema, (*kept, *own))
    fault_point("before snapshots")
    check()
    number = base.number + 1 if base else 0
    since = base.committed_at if base else 0.0
    committed = commit_snapshot(index, replace(target, number=number, committed_at=since, tables=tables))
    fault_point("after snapshots")
    return committed


@contextlib.contextmanager
def refresher(index: Location, is_here: bool = True) -> Iterator[None]:
    """Hold an index for one refresher of this machine; the system lets go of it when the process ends, however it ends.

    On object stores, and from a Connect client (``is_here`` False), there is no such lock before :func:`commit`, where
    the second refresher is then told.
    """
    if index.local is None or os.name != "posix" or not is_here:
        yield
        return
    import fcntl

    try:
        index.local.mkdir(parents=True, exist_ok=True)
        handle = (index.local / ".refresher").open("w")
    except OSError as error:
        raise refusal(str(error)) from None
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise busy("it holds the index's lock") from None
        yield


def exists(root: Location, name: str) -> bool:
    """Whether an index of this name has a first commit under ``root``; it may be damaged."""
    log = filesystem(root).get_file_info(f"{name}/{SNAPSHOTS}/_delta_log")
    return bool(log.type == pafs.FileType.Directory)
