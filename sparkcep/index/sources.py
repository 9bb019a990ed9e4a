"""Where events come from, and what of them is new.

How REFRESH knows: a Delta table by the files between two of its versions; other files (Parquet, ORC, CSV ... by table
or path) by the listing of their paths, sizes and times; anything else (views, JDBC) by reading it whole and comparing
its cases with those indexed. A file that is gone or has changed is no addition, and the index is built anew; so it is
where the files are read in another way (:mod:`sparkcep.index.reading`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.catalog import Table

from sparkcep.errors import PatternIndexError
from sparkcep.index.delta_log import root_of, touched_files, version_of
from sparkcep.index.object_store import store_options
from sparkcep.index.reading import delta_reading, depends_on_columns, difference, reading_of
from sparkcep.index.storage import Location, call
from sparkcep.index.storage_errors import cause_of
from sparkcep.index.tables import Definition, Source
from sparkcep.spark.plan import bare, file_relation, is_bare

State = Mapping[str, Any]
UNKNOWN: State = {"kind": "unknown"}
#: More new files than this are not named one by one in a filter.
MAX_NAMED_FILES = 5_000


@dataclass(frozen=True, slots=True)
class Changes:
    """What a refresh has to read.

    ``mode``: `none`, `added` (``frame`` holds new events only), `all` (``frame`` is everything, to be compared with
    what is indexed) or `rebuild` (``frame`` is everything; the index begins anew). ``reason`` says why, for people.
    """

    mode: str
    frame: DataFrame
    state: State
    reason: str


def load(spark: SparkSession, source: Source) -> DataFrame:
    """The source as it is now.

    Raises:
        PatternIndexError: CEP_INDEX_SOURCE.
    """
    try:
        if source.kind == "table":
            frame = spark.table(source.table_name)
        elif source.kind == "path":
            frame = spark.read.format(source.format).load(source.path)
        else:
            raise PatternIndexError(
                "CEP_INDEX_SOURCE",
                "This pattern index is fed by batches and has no source to read.",
                blame="source",
                hint="give the events: sparkcep.index.refresh(spark, name, batch=...)",
            )
        _ = frame.schema  # Connect analyses lazily; a missing table belongs here
    except PatternIndexError:
        raise
    except Exception as error:  # what Spark has no class for comes as the bridge to the JVM found it
        raise unreadable(source, error) from None
    return frame


def unreadable(source: Source, error: Exception) -> PatternIndexError:
    """Why a source cannot be read, in Spark's words."""
    cause = cause_of(error)
    hint = "name a table or a path that can be read; DROP PATTERN INDEX ends an index whose source is gone"
    if "DATA_SOURCE_NOT_" in cause:
        hint = f"this session has no {source.format or 'such'} format: start it with the format's package"
        if source.format == "delta":
            hint += " (spark.jars.packages io.delta:delta-spark_..., and Delta's spark.sql.extensions)"
    elif re.search(r"ClassNotFoundException: Class \S*(?i:filesystem)|UnsupportedFileSystem|No FileSystem", cause):
        hint = "this session has no connector for this storage: start it with the connector's package"
    return PatternIndexError("CEP_INDEX_SOURCE", f"{source} cannot be read: {cause}.", blame="source", hint=hint)


def listed(spark: SparkSession, source: Source) -> Table | None:
    """The table or view of a name as the session's catalogs have it; None where there is none, and of a path."""
    if source.kind != "table":
        return None
    try:
        return spark.catalog.getTable(source.table_name)
    except AnalysisException:
        return None


def is_view(table: Table) -> bool:
    """Whether it is a view, whose text tells more than its name."""
    return bool(table.isTemporary) or "VIEW" in (table.tableType or "VIEW")


def state_of(spark: SparkSession, source: Source, frame: DataFrame) -> State:
    """What identifies the source's present content, without reading it."""
    if source.kind == "path" and source.format == "delta":
        return _delta_state(spark, str(source))
    if source.kind == "table":
        name = source.table_name
        table = listed(spark, source)
        if table is None:
            return UNKNOWN
        if is_view(table):
            # A view's files say nothing about its filters and joins.
            return files_state(spark, frame, source) if is_bare(frame) else UNKNOWN
        provider = [r[1] for r in spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect() if r[0] == "Provider"]
        if provider and provider[0].lower() == "delta":
            return _delta_state(spark, name)
    return files_state(spark, frame, source)


def in_files(frame: DataFrame, files: Collection[str]) -> DataFrame:
    """Rows of a relation's files; views hide their files, so these are looked for below them."""
    below = bare(frame)
    return (frame if below is None else below).where(F.col("_metadata.file_path").isin(list(files)))


def files_state(spark: SparkSession, frame: DataFrame, source: Source | None = None) -> State:
    """The files that Spark reads for a relation, and how; unknown where it has none.

    Args:
        source: the relation's name, where it has one.
    """
    reading = reading_of(spark, source, frame)
    if reading is None or depends_on_columns(reading):
        return UNKNOWN
    more: dict[str, Any] = {}
    if reading["format"] == "delta":  # before the files are listed: a state is never newer than what is read
        delta = _delta_version(spark, frame)
        if delta is None:
            return UNKNOWN
        more = {"delta": delta}
    files = _files(spark, frame)
    return UNKNOWN if files is None else {"kind": "files", "files": files, "reading": reading, **more}


def _delta_version(spark: SparkSession, frame: DataFrame) -> list[Any] | None:
    """Root, id and version of the Delta table whose files a relation is; None where its log cannot be read here."""
    relation = file_relation(frame)
    if relation is None or not relation.root:
        return None
    try:
        root = root_of(Location(relation.root, store_options(spark, relation.root)))
        version = None if root is None else version_of(root)
    except Exception:  # of deltalake and of file systems, which have classes of their own
        return None
    return None if root is None or version is None else [root.uri, *version]


def _files(spark: SparkSession, frame: DataFrame) -> dict[str, list[int]] | None:
    """Sizes and times by path; None: the relation has no files."""
    paths = [re.sub(r"^file:/+", "file:/", path) for path in frame.inputFiles()]
    if paths and all(path.startswith("file:/") for path in paths):
        return call(spark, _listed, paths)
    try:
        meta = frame.select("_metadata.file_path", "_metadata.file_size", "_metadata.file_modification_time")
        rows = meta.toDF("path", "size", "time").distinct().selectExpr("path", "size", "unix_micros(time)").collect()
    except AnalysisException:
        return None
    return {r[0]: [r[1], r[2]] for r in rows}


def _listed(paths: list[str]) -> dict[str, list[int]] | None:
    """Sizes and times of local files as `_metadata` has them: microseconds, but whole milliseconds."""
    out = {}
    for path in paths:
        try:
            found = os.stat(unquote(path.removeprefix("file:")))
        except OSError:
            return None
        out[path] = [found.st_size, found.st_mtime_ns // 1_000_000 * 1000]
    return out


def _delta_state(spark: SparkSession, name: str) -> State:
    """Version of a Delta table, where the session has the format."""
    try:
        row = spark.sql(f"DESCRIBE HISTORY {name} LIMIT 1").collect()[0]
        table = spark.sql(f"DESCRIBE DETAIL {name}").collect()[0]
    except Exception:  # not every catalog that says delta has both statements
        return UNKNOWN
    return {"kind": "delta", "id": table["id"], "version": row["version"], "reading": delta_reading(spark)}


def at_state(frame: DataFrame, state: State) -> DataFrame:
    """The frame held to the files of a state: what is added while an index is built belongs to the next refresh."""
    files = state.get("files")
    if files is None or len(files) > MAX_NAMED_FILES:
        return frame
    return in_files(frame, files)


def current(spark: SparkSession, source: Source) -> tuple[DataFrame, State]:
    """The source and its state. A state may be older than what is read, never newer: then nothing is missed.

    Raises:
        PatternIndexError: CEP_INDEX_SOURCE.
    """
    frame = load(spark, source)
    reading = reading_of(spark, source, frame)
    if reading is not None and depends_on_columns(reading):
        raise PatternIndexError(
            "CEP_INDEX_SOURCE",
            f"Which rows {source} has depends on the columns that are read: its mode is DROPMALFORMED.",
            blame="source",
            hint="index a table without this mode, or a copy of the rows",
        )
    state = state_of(spark, source, frame)
    if state["kind"] == "delta":
        frame = load(spark, source)
    return at_state(frame, state), state


def changes(spark: SparkSession, definition: Definition, before: State) -> Changes:
    """What has happened to the source since a state of it was indexed."""
    frame, now = current(spark, definition.source)
    found = compared(spark, before, now)
    if found.mode == "added":
        frame = in_files(frame, found.added)
    return Changes(found.mode, frame, now, found.reason)


@dataclass(frozen=True, slots=True)
class Compared:
    """How two states differ: a mode of :class:`Changes`, and its reason. ``added``: files that are new, ``gone``: those
    that are no more; what was written again is both. Without any, that is not known."""

    mode: str
    reason: str
    added: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


def compared(spark: SparkSession, before: State, now: State) -> Compared:
    """What has become of a state."""
    if now["kind"] == "unknown" or before.get("kind") != now["kind"]:
        return Compared("all", "the source does not tell what is new: all cases are compared")
    other = difference(before.get("reading"), now.get("reading"))
    if other:
        return Compared("rebuild", f"the source is read otherwise than it was: {other}")
    if now["kind"] == "delta":
        if [now[k] for k in ("id", "version")] == [before.get(k) for k in ("id", "version")]:
            return Compared("none", f"the source is still at version {now['version']}")
        return Compared("all", f"version {before['version']} has become {now['version']}")
    old, new = before["files"], now["files"]
    in_place = _changed_in_place(spark, before, now)
    if in_place is None:
        return Compared("rebuild", "the log of the Delta table does not tell what has changed")
    gone = tuple(path for path, facts in old.items() if new.get(path) != facts or path in in_place)
    added = tuple(path for path, facts in new.items() if old.get(path) != facts or path in in_place)
    if gone:
        one = "1 file of the source is gone or has changed"
        several = f"{len(gone)} files of the source are gone or have changed"
        return Compared("rebuild", one if len(gone) == 1 else several, added, gone)
    if len(added) > MAX_NAMED_FILES:
        return Compared("all", f"{len(added)} files are new")
    if not added:
        return Compared("none", "no file of the source is new")
    return Compared("added", "1 file is new" if len(added) == 1 else f"{len(added)} files are new", added)


def _changed_in_place(spark: SparkSession, before: State, now: State) -> frozenset[str] | None:
    """Files of both states whose rows a Delta table's commits have changed; None where its log does not tell."""
    old, new = before.get("delta"), now.get("delta")
    if old == new:
        return frozenset()
    if old is None or new is None or old[:2] != new[:2]:
        return None
    touched = touched_files(Location(new[0], store_options(spark, new[0])), old[2], new[2])
    if touched is None:
        return None
    paths = {_plain(path if path[0] == "/" or ":/" in path else f"{new[0]}/{path}") for path in touched}
    return frozenset(path for path in now["files"] if _plain(unquote(path)) in paths)


def _plain(path: str) -> str:
    """A path as other paths to the same file are written."""
    return re.sub("^(file:)?/+", "/", path)
