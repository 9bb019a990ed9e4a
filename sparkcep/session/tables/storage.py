"""A pattern table on disk: one Delta table, each of whose commits is a whole version with all that is known of it.

Rows lie in Parquet files. A refresh writes a directory of its own with the rows that are new (`change=insert`), those
that are withdrawn (`change=withdraw`) and those that stay of files that lose some (`change=kept`), then commits once:
until then nothing has happened, and what was written is for VACUUM. Files with withdrawn rows are never part of the
table; with those of the new rows they are the version's change feed.

All functions take plain values, so that they can run in a Spark task where the client cannot see the storage.
"""

from __future__ import annotations

import json
import time
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow.fs as pafs
from pyspark.sql.types import DataType, LongType, StringType, StructField, StructType, TimestampType

from sparkcep.errors import PatternIndexError
from sparkcep.index.snapshots import fault_point
from sparkcep.index.storage import DataFile, Location, can_remove_files, conflicts_are_busy, delta_table, filesystem
from sparkcep.session.tables.case_sets import CaseSet, CaseSets
from sparkcep.session.tables.errors import busy, changed_by_others

#: Columns of a pattern table behind its query's: which case a row is of, and which match it is.
CASE, MATCH_ID = "_case", "match_id"
#: Since which version a row is there, and since when.
FOUND_VERSION, FOUND_AT = "found_version", "found_at"
#: Of a rule set's rows: whose they are.
RULE = "_rule"
OWN_COLUMNS = (CASE, RULE, MATCH_ID, FOUND_VERSION, FOUND_AT)
#: A column that says what becomes of a row: by it the files of a version are parted, and its changes are told.
CHANGE = "change"
#: Under which key a commit holds a version, and the layout of it.
_KEY, FORMAT = "sparkcep.pattern_table", 1
#: Operations of other programs that leave a table's rows as they are.
_HARMLESS = ("OPTIMIZE", "VACUUM START", "VACUUM END", "SET TBLPROPERTIES", "FSCK")


@dataclass(frozen=True, slots=True)
class Definition:
    """What a pattern table is.

    ``columns``: of its query, as Spark's JSON. ``keys``: names of the partition columns in the pattern's relation; None
    where the query is always run over everything. ``whole``: why; or how the keys are called. ``settings``: of the
    session, as far as the rows depend on them. ``by_rule``: whether rows are of rules, which come and go.
    """

    name: str
    query: str
    comment: str
    columns: str
    keys: tuple[str, ...] | None
    whole: str
    settings: Mapping[str, str]
    by_rule: bool = False

    def schema(self) -> StructType:
        """Columns of the table, as other programs see them."""
        own: dict[str, DataType] = {CASE: StringType(), **({RULE: StringType()} if self.by_rule else {})}
        own |= {MATCH_ID: StringType(), FOUND_VERSION: LongType(), FOUND_AT: TimestampType()}
        fields = [StructField(f.name, f.dataType) for f in StructType.fromJson(json.loads(self.columns)).fields]
        return StructType([*fields, *(StructField(name, type_) for name, type_ in own.items())])


@dataclass(frozen=True, slots=True)
class Version:
    """A committed version of a pattern table.

    ``begins``: the version from which on its changes can be told. ``action``, ``reason``: what was done and why.
    ``state``: of the source. ``plan``: digest of how the input is made of it, ``meaning``: of what the query makes of
    that. ``log_end``: of the log's last event, as SQL; empty where nothing depends on it. ``cases``: that were matched
    again, -1: all. ``rules``: digests by name. ``case_sets``: as of
    :mod:`~sparkcep.session.tables.file_cases`. ``withdrawals``: files of the rows withdrawn, ``insertions``: of those
    that are new. ``files``: of the rows that there are.
    """

    definition: Definition
    number: int
    begins: int
    committed_at: float
    action: str
    reason: str
    state: Mapping[str, Any]
    plan: str
    meaning: str
    log_end: str
    cases: int
    inserted: int
    withdrawn: int
    insertions: tuple[str, ...] = ()
    withdrawals: tuple[str, ...] = ()
    rules: Mapping[str, str] = field(default_factory=dict)
    case_sets: CaseSets = field(default_factory=dict)
    files: tuple[DataFile, ...] = field(default=(), compare=False)

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return sum(file.rows for file in self.files)

    def as_text(self) -> str:
        """For the commit: without ``files``, which Delta keeps."""
        body = {**asdict(self), "format": FORMAT}
        del body["files"]
        return b64encode(zlib.compress(json.dumps(body).encode())).decode()

    @classmethod
    def from_text(cls, text: str, files: Sequence[DataFile] = ()) -> Version:
        """Read what :meth:`as_text` wrote.

        Raises:
            PatternIndexError: CEP_INDEX_FORMAT, it is of another release.
        """
        body = json.loads(zlib.decompress(b64decode(text)))
        if body.pop("format") != FORMAT:
            raise PatternIndexError(
                "CEP_INDEX_FORMAT", "The pattern table was written by a release with another format.", blame="name",
                hint="DROP PATTERN TABLE it and create it again, or use the release that wrote it",
            )  # fmt: skip
        definition = body.pop("definition")
        definition["keys"] = None if definition["keys"] is None else tuple(definition["keys"])
        for name in ("insertions", "withdrawals"):
            body[name] = tuple(body[name])
        sets = body["case_sets"].items()
        body["case_sets"] = {name: CaseSet(tuple(own["files"]), own["by_file"]) for name, own in sets}
        return cls(definition=Definition(**definition), files=tuple(files), **body)


def newest_commit(table: Location) -> str:
    """Tells the newest commit from all others, also of other tables; empty where there is no table."""
    found = filesystem(table).get_file_info(pafs.FileSelector("_delta_log", allow_not_found=True))
    commits = [(f.base_name, f.mtime_ns) for f in found if f.extension == "json"]
    return f"{table.uri} {max(commits)}" if commits else ""


def read_newest(table: Location, checked: bool = True) -> Version | None:
    """The newest version; None where there is no table.

    Args:
        checked: whether to refuse rows that another program has changed since.

    Raises:
        PatternIndexError: CEP_PATTERN_TABLE_CHANGED; CEP_INDEX_FORMAT.
    """
    import pyarrow as pa

    delta = delta_table(table)
    if delta is None:
        return None
    commits = delta.history(1)
    if _KEY not in commits[0]:
        commits = delta.history()
    for commit in commits:
        if _KEY in commit:
            added = pa.table(delta.get_add_actions(flatten=True)).to_pydict()
            files = zip(added["path"], added["size_bytes"], added["num_records"], strict=True)
            return Version.from_text(commit[_KEY], [DataFile(path, size, rows) for path, size, rows in files])
        if checked and commit.get("operation") not in _HARMLESS:
            raise changed_by_others(str(commit.get("operation")))
    return None


def is_own(table: Location) -> bool:
    """Whether no other program has changed a table's rows."""
    try:
        return read_newest(table) is not None
    except PatternIndexError:
        return False


def read_versions(table: Location) -> tuple[list[Version], int]:
    """All versions whose commits are kept, oldest first, without their files; and the number of the oldest commit."""
    delta = delta_table(table)
    commits = [] if delta is None else delta.history()
    versions = [Version.from_text(c[_KEY]) for c in commits if _KEY in c]
    return sorted(versions, key=lambda v: v.number), min((int(c["version"]) for c in commits), default=0)


def missing(table: Location, paths: Sequence[str]) -> list[str]:
    """Those of some files that are not there."""
    found = filesystem(table).get_file_info(list(paths))
    return [info.path for info in found if info.type == pafs.FileType.NotFound]


def commit_version(
    table: Location, version: Version, added: Sequence[DataFile], removed: Sequence[DataFile], schema_json: str
) -> None:
    """Commit a version behind the one it extends, or as the first. One that begins anew may have other columns.

    Args:
        version: with all files that it has then.

    Raises:
        PatternIndexError: CEP_PATTERN_TABLE_BUSY, another refresh has committed meanwhile.
    """
    from deltalake import CommitProperties, Schema
    from deltalake.transaction import AddAction, create_table_with_add_actions

    now = int(time.time() * 1000)
    is_data = version.action != "optimized"
    replaces = version.begins == version.number or bool(removed and not can_remove_files())
    actions: list[Any] = [
        AddAction(f.path, f.size, {}, now, is_data, json.dumps({"numRecords": f.rows}))
        for f in (version.files if replaces else added)
    ]
    properties = CommitProperties(custom_metadata={_KEY: version.as_text()}, max_commit_retries=0)
    schema = Schema.from_json(schema_json)
    fault_point("before commit")
    try:
        with conflicts_are_busy():
            delta = delta_table(table)
            if delta is None and version.number == 0:
                create_table_with_add_actions(
                    table.delta, schema, actions, mode="error", name=version.definition.name,
                    description=version.definition.comment or None, storage_options=table.storage_options(),
                    commit_properties=properties,
                )  # fmt: skip
            elif delta is None or delta.version() + 1 != version.number:
                raise busy(f"version {version.number} is there")
            else:
                if removed and not replaces:
                    from deltalake.transaction import RemoveAction

                    actions += [RemoveAction(f.path, is_data, now, f.size, {}) for f in removed]
                mode = "overwrite" if replaces else "append"
                delta.create_write_transaction(actions, mode, schema, commit_properties=properties)
    except PatternIndexError as error:
        raise busy(error.sentence) if error.error_class == "CEP_INDEX_BUSY" else error from None
    fault_point("after commit")


def next_number(table: Location) -> int:
    """The number that the next version gets."""
    delta = delta_table(table)
    return 0 if delta is None else int(delta.version()) + 1


def vacuum(table: Location, retain_hours: float) -> tuple[int, int]:
    """Delete files that no version needs that was the newest within some hours; gives their number and bytes."""
    delta = delta_table(table)
    options = {"retention_hours": int(retain_hours), "enforce_retention_duration": False, "full": True}
    paths = delta.vacuum(dry_run=True, **options)
    size = sum(info.size or 0 for info in filesystem(table).get_file_info(list(paths)))
    delta.vacuum(dry_run=False, **options)
    return len(paths), size


def list_tables(root: Location) -> list[str]:
    """Names of the pattern tables below a directory."""
    fs = filesystem(root)
    entries = fs.get_file_info(pafs.FileSelector("", allow_not_found=True))
    logs = fs.get_file_info([f"{e.base_name}/_delta_log" for e in entries if e.type == pafs.FileType.Directory])
    return sorted(log.path.split("/")[0] for log in logs if log.type == pafs.FileType.Directory)
