"""Files and Delta commits of an index, and where they can be reached from.

A classic session's driver sees the storage that its executors see. A Spark Connect client may not, so there everything
in this module runs inside a Spark task, through :func:`call`.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import pickle
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.fs as pafs
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sparkcep.errors import PatternIndexError, SparkCepError, error_behind
from sparkcep.index.storage_errors import classed, redacted
from sparkcep.spark.plan import is_remote
from sparkcep.spark.shipping import shipped

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Location:
    """A directory by its URI, with what delta-rs needs to open it."""

    uri: str
    # Secrets are among them.
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def child(self, *names: str) -> Location:
        """A place below, with the same options."""
        return Location("/".join((self.uri.rstrip("/"), *names)), self.options)

    @property
    def local(self) -> Path | None:
        """The path of a local directory, None for object stores.

        >>> [str(Location(uri).local) for uri in ("file:///a/b", "file:/a/b", "file://localhost/a/b", "/a/b")]
        ['/a/b', '/a/b', '/a/b', '/a/b']
        >>> Location("file:b").local, Location("file://b/c").local, Location("s3a://b/c").local
        (PosixPath('b'), None, None)
        """
        path = re.fullmatch(r"(?i)file:(?://(?:localhost)?(?=/))?(?!//[^/])(.*)", self.uri)
        if path is not None:
            return Path(re.sub("^/+", "/", path[1]))
        return None if "://" in self.uri else Path(self.uri)

    @property
    def spark(self) -> str:
        """The path as Spark takes it; with its scheme, whatever Spark's default file system is."""
        return f"file://{self.local}" if self.local is not None else self.uri

    @property
    def delta(self) -> str:
        """The URI as delta-rs takes it."""
        return str(self.local) if self.local is not None else self.uri

    def storage_options(self) -> dict[str, str]:
        """As deltalake takes them."""
        return dict(self.options)


def call(spark: SparkSession, function: Callable[..., T], *args: Any) -> T:
    """Run a function of plain values where the storage can be seen.

    Raises:
        PatternIndexError: CEP_INDEX_DAMAGED, CEP_INDEX_STORAGE and those of the function.
    """
    if not is_remote(spark):
        return _run(function, args)
    task = shipped(functools.partial(_task, pickle.dumps((function, args))), f"sparkcep_{function.__name__.strip('_')}")
    try:
        rows = spark.range(0, 1, 1, 1).mapInArrow(task, "answer string").collect()
    except PySparkException as error:
        own = error_behind(error)
        if own is None:
            raise
        raise PatternIndexError(own.error_class, own.sentence, blame="name", hint=own.hint) from None
    done, value = pickle.loads(base64.b64decode(rows[0][0]))
    if not done:
        raise value
    return value  # type: ignore[no-any-return]


def _run(function: Callable[..., T], args: Sequence[Any]) -> T:
    try:
        return function(*args)
    except SparkCepError:
        raise
    except Exception as error:
        found = classed(error)
        if found is None:
            raise
        # A traceback shows causes too; one whose text had to be changed holds a secret.
        raise found from (error if str(error) in str(found) else None)


def _task(packed: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        yield pa.record_batch({"answer": pa.array([_answer(packed)])})


def _answer(packed: bytes) -> str:
    function, args = pickle.loads(packed)
    try:
        answer = (True, _run(function, args))
    except SparkCepError as error:
        answer = (False, error)
    return base64.b64encode(pickle.dumps(answer)).decode()


# -- files -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of a table: its path below the table, bytes and rows.

    ``tail``: bytes behind its last page, and ``crc``, their checksum; 0 in an index of a release that had none.
    """

    path: str
    size: int
    rows: int
    tail: int = 0
    crc: int = 0


def filesystem(location: Location) -> pafs.FileSystem:
    """The file system below a location, with paths relative to it."""
    if location.local is not None:
        return pafs.SubTreeFileSystem(str(location.local), pafs.LocalFileSystem())
    from deltalake.fs import DeltaStorageHandler

    return pafs.PyFileSystem(DeltaStorageHandler(location.delta, options=location.storage_options()))


def delete_directory(location: Location, below: str) -> None:
    """Delete a directory under ``location`` with all in it; one that is not there is no error."""
    fs = filesystem(location)
    if fs.get_file_info(below).type == pafs.FileType.Directory:
        fs.delete_dir(below)


# -- commits -----------------------------------------------------------------------------------------------------------


def commit_files(
    table: Location,
    version: int | None,
    files: Sequence[DataFile],
    schema_json: str,
    replaces: bool,
    batch: str,
    removed: Sequence[DataFile] = (),
) -> int:
    """Add files to a Delta table by one transaction.

    Args:
        version: the table's version in the snapshot that is extended; None: the table begins here.
        schema_json: the columns, as Spark's (and Delta's) JSON.
        replaces: whether the files take the place of all earlier ones.
        batch: the application transaction, so that readers of the log see which refresh a commit belongs to.
        removed: earlier files that hold the same rows, arranged otherwise; see :func:`can_remove_files`.

    Returns:
        The new version.

    Raises:
        PatternIndexError: CEP_INDEX_BUSY, another refresh has committed meanwhile.
    """
    from deltalake import CommitProperties, DeltaTable, Schema, Transaction
    from deltalake.transaction import AddAction, create_table_with_add_actions

    now = int(time.time() * 1000)
    is_new = not removed
    actions = [AddAction(f.path, f.size, {}, now, is_new, json.dumps({"numRecords": f.rows})) for f in files]
    # Without retries: a commit of somebody else must be seen, not stepped over.
    properties = CommitProperties(app_transactions=[Transaction(batch, 1)], max_commit_retries=0)
    schema = Schema.from_json(schema_json)
    options = table.storage_options()
    with conflicts_are_busy():
        if version is None:
            create_table_with_add_actions(
                table.delta, schema, actions, mode="error", storage_options=options, commit_properties=properties
            )
            return 0
        delta = DeltaTable(table.delta, storage_options=options)
        if delta.version() != version:
            # A refresh that died after this commit left files that no snapshot names.
            delta.restore(version)
        before = int(delta.version())
        mode = "overwrite" if replaces else "append"
        if removed:
            from deltalake.transaction import RemoveAction

            actions += [RemoveAction(f.path, False, now, f.size, {}) for f in removed]
        delta.create_write_transaction(actions, mode, schema, commit_properties=properties)
        return before + 1


@contextlib.contextmanager
def conflicts_are_busy() -> Iterator[None]:
    """Raise CEP_INDEX_BUSY where a commit of the block fails since another one was there."""
    from deltalake.exceptions import DeltaError

    try:
        yield
    except DeltaError as error:
        if not is_conflict(error):
            raise
        raise busy(str(error)) from None


def can_remove_files() -> bool:
    """Whether this deltalake takes files out of a table in the transaction that adds others (from 1.6.6 on)."""
    import deltalake.transaction

    return hasattr(deltalake.transaction, "RemoveAction")


def delta_table(table: Location) -> Any:
    """A table as deltalake's; None where there is none."""
    from deltalake import DeltaTable
    from deltalake.exceptions import TableNotFoundError

    try:
        return DeltaTable(table.delta, storage_options=table.storage_options())
    except TableNotFoundError:
        return None


def opened(table: Location) -> Any:
    """A table that is to be extended, as deltalake's; None where it begins, for which a local folder is made."""
    delta = delta_table(table)
    if delta is None and table.local is not None:
        table.local.mkdir(parents=True, exist_ok=True)
    return delta


def is_conflict(error: Exception) -> bool:
    """Whether a commit failed since another one was there."""
    from deltalake.exceptions import CommitFailedError

    return isinstance(error, CommitFailedError) or "already exists" in str(error)


def busy(reason: str) -> PatternIndexError:
    """CEP_INDEX_BUSY; the caller raises it."""
    return PatternIndexError(
        "CEP_INDEX_BUSY",
        f"Another refresh of this pattern index is running ({redacted(reason)}).",
        blame="name",
        hint="wait until it has ended and run this again; nothing was changed",
    )
