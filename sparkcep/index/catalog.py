"""Indexes by name: made, found, listed, described, altered, dropped."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow.fs as pafs
from pyspark.sql import DataFrame, SparkSession

from sparkcep import settings
from sparkcep.errors import PatternIndexError, near_hint
from sparkcep.index import sources
from sparkcep.index.build import Progress, no_progress
from sparkcep.index.commits import Summary
from sparkcep.index.compaction import compact
from sparkcep.index.events import define
from sparkcep.index.path import WRONG_PATH, check_index, index_path
from sparkcep.index.snapshots import (
    DROPPED,
    READY,
    Snapshot,
    commit_snapshot,
    exists,
    read_current,
    refresher,
)
from sparkcep.index.storage import Location, call, delete_directory, filesystem
from sparkcep.index.storage_errors import ANEW, DAMAGED, FORMAT, damaged, unread_by_spark
from sparkcep.index.tables import KINDS, SNAPSHOTS, Definition, Source, checked_name, read_options
from sparkcep.index.updates import build
from sparkcep.index.updates import refresh as run_refresh
from sparkcep.index.verify import found_in
from sparkcep.spark.jobs import described, tagged
from sparkcep.spark.plan import is_remote

Answer = tuple[Snapshot, Summary]


#: Snapshots by where they are, so that a query need not read again what has not changed.
_kept: dict[tuple[str, str, int], Snapshot] = {}
#: The indexes that a Connect session last saw: listing them costs a Spark job.
_listing_cache: dict[str, tuple[float, Indexes]] = {}
LISTING_CACHE_SECONDS = 10.0


@contextmanager
def changing(spark: SparkSession, index: Location) -> Iterator[None]:
    """The only one at work on an index; what was known of it is then forgotten.

    The tag `sparkcep-index-NAME` cancels its jobs, see :func:`sparkcep.spark.jobs.tagged`.
    """
    name = index.uri.rpartition("/")[2]
    try:
        with (
            refresher(index, not is_remote(spark)),
            tagged(spark, f"sparkcep-index-{name}"),
            described(spark, f"pattern index {name}"),
        ):
            yield
    except Exception as error:
        if (damage := unread_by_spark(str(error))) is not None:
            raise damage from None
        raise
    finally:
        _listing_cache.clear()


def locate(spark: SparkSession, name: str) -> Location:
    """The directory of an index, whether or not it is there."""
    return index_path(spark).child(checked_name(name))


def _current(root: Location, name: str) -> Snapshot | None:
    return read_current(root.child(name)) if exists(root, name) else None


def current(spark: SparkSession, name: str) -> tuple[Location, Snapshot]:
    """An index and its newest snapshot.

    Raises:
        PatternIndexError: CEP_INDEX_NOT_FOUND, CEP_INDEX_FORMAT.
    """
    root, name = index_path(spark), checked_name(name)
    snapshot = call(spark, _current, root, name)
    if snapshot is None or snapshot.state == DROPPED:
        raise PatternIndexError(
            "CEP_INDEX_NOT_FOUND",
            f"There is no pattern index {name}.",
            blame="name",
            hint=near_hint(
                name, [s.definition.name for _, s in all_indexes(spark).indexes], "SHOW PATTERN INDEXES lists them"
            ),
        )
    return root.child(name), snapshot


def create(
    spark: SparkSession,
    name: str,
    source: Source,
    frame: DataFrame | None,
    *,
    case: str,
    time: str,
    event: str,
    tiebreak: str | None = None,
    include: Sequence[str] = (),
    kind: str = "siesta",
    options: Mapping[str, object] | None = None,
    if_not_exists: bool = False,
    progress: Progress = no_progress,
) -> Answer | None:
    """Make an index and fill it.

    Args:
        frame: the events where ``source`` is not readable by name; None: what ``source`` names.
        if_not_exists: leave an index of this name alone.

    Returns:
        The first snapshot and what was done; None where the index was there.
    """
    root, name = index_path(spark), checked_name(name)
    index = root.child(name)
    base = call(spark, _current, root, name)
    if base is not None and base.state == READY:
        if if_not_exists:
            return None
        raise PatternIndexError(
            "CEP_INDEX_EXISTS",
            f"Pattern index {name} already exists.",
            blame="name",
            hint="CREATE PATTERN INDEX IF NOT EXISTS leaves it, REFRESH PATTERN INDEX brings it up to date",
        )
    kind = kind.lower()
    if kind not in KINDS:
        hint = near_hint(kind, KINDS, f"there are {', '.join(KINDS)}")
        raise PatternIndexError("CEP_INDEX_KIND", f"There is no index kind {kind}.", blame="using", hint=hint)
    index_options = read_options(options or {})
    state: sources.State = sources.UNKNOWN
    if frame is None:
        frame, state = sources.current(spark, source)
    definition = define(frame, name, source, case, time, event, tiebreak, tuple(include), kind, index_options)
    if index_options.lookback is not None and not definition.is_clock and not _is_number(options, "lookback"):
        raise PatternIndexError(
            "CEP_INDEX_OPTION",
            f"TIME {time} is {definition.time_type}; its lookback is a whole number.",
            blame="option:lookback",
        )
    with changing(spark, index):
        check_index(spark, index)
        return build(spark, index, definition, frame, state, base, progress, "created")


def _is_number(options: Mapping[str, object] | None, name: str) -> bool:
    values = [str(v) for k, v in (options or {}).items() if k.lower() == name]
    return bool(values) and values[-1].strip().isdigit()


def refresh(
    spark: SparkSession,
    name: str,
    *,
    full: bool = False,
    batch: DataFrame | None = None,
    batch_id: str | None = None,
    progress: Progress = no_progress,
) -> Answer:
    """Bring an index up to date; see :func:`sparkcep.index.updates.refresh`."""
    index, _ = current(spark, name)
    with changing(spark, index):
        # Read again behind the lock: whoever held it may have committed.
        index, base = current(spark, name)
        check_index(spark, index)
        return run_refresh(spark, index, base, full, batch, batch_id, progress)


def optimize(spark: SparkSession, name: str, progress: Progress = no_progress) -> Answer:
    """Write an index anew as one batch; see :func:`sparkcep.index.compaction.compact`."""
    index, _ = current(spark, name)
    with changing(spark, index):
        index, base = current(spark, name)
        check_index(spark, index)
        lost = call(spark, found_in, index, base)
        if lost:
            raise damaged(lost, ANEW)
        return compact(spark, index, base, progress)


def alter(spark: SparkSession, name: str, options: Mapping[str, object]) -> Snapshot:
    """Change options. What the stored data depend on takes effect with the next refresh, which is then a full one."""
    index, base = current(spark, name)
    d = base.definition
    changed = replace(d, options=read_options(options, d.options))
    return _append(spark, index, base, replace(base, definition=changed))


def drop(spark: SparkSession, name: str, if_exists: bool = False) -> bool:
    """Stop using an index; VACUUM deletes its data. Returns whether there was one.

    Of an index that cannot be read the snapshots are deleted: nothing else tells that there is one.
    """
    try:
        index, base = current(spark, name)
    except PatternIndexError as error:
        if if_exists and error.error_class == "CEP_INDEX_NOT_FOUND":
            return False
        if error.error_class not in (DAMAGED, FORMAT):
            raise
        index = locate(spark, name)
        with changing(spark, index):
            call(spark, delete_directory, index, SNAPSHOTS)
        return True
    _append(spark, index, base, replace(base, state=DROPPED))
    return True


def _append(spark: SparkSession, index: Location, base: Snapshot, target: Snapshot) -> Snapshot:
    with changing(spark, index):
        return call(spark, commit_snapshot, index, replace(target, number=base.number + 1))


@dataclass(frozen=True, slots=True)
class Indexes:
    """Indexes with their newest snapshots by name, and the names of those that cannot be read, with the reason.

    One index that is damaged, or of another release, takes nothing from queries that have no use for it.
    """

    indexes: tuple[tuple[Location, Snapshot], ...] = ()
    unreadable: tuple[tuple[str, PatternIndexError], ...] = ()


def all_indexes(spark: SparkSession) -> Indexes:
    """All indexes."""
    return call(spark, _all_indexes, index_path(spark))


def show(spark: SparkSession, source: Source | None = None) -> list[dict[str, Any]]:
    """Facts about all indexes, or those on a source; see :func:`sparkcep.index.show`."""
    all_of = all_indexes(spark)
    facts = [
        {
            "name": s.definition.name,
            "source": str(s.definition.source),
            "kind": s.definition.kind,
            "cases": s.totals.cases,
            "events": s.totals.events,
            "pairs": s.totals.pairs,
            "bytes": s.size,
            "snapshot": s.number,
        }
        for _, s in all_of.indexes
        if source is None or same(s.definition.source, source)
    ]
    if source is not None:
        return facts
    nothing = dict.fromkeys(("source", "cases", "events", "pairs", "bytes", "snapshot"))
    facts += [{**nothing, "name": name, "kind": error.error_class} for name, error in all_of.unreadable]
    return sorted(facts, key=lambda f: str(f["name"]))


def known(spark: SparkSession) -> Indexes:
    """As :func:`all_indexes`, of a Connect session as of some seconds ago; none where there is no path for indexes."""
    try:
        return _known(spark)
    except PatternIndexError as error:
        if error.error_class not in (WRONG_PATH, "CEP_INDEX_STORAGE_OPTION"):
            raise
        return Indexes()


def _known(spark: SparkSession) -> Indexes:
    if not is_remote(spark):
        return all_indexes(spark)
    at = f"{id(spark)}:{spark.conf.get(settings.INDEX_PATH.key, settings.INDEX_PATH.default)}"
    now = time.monotonic()
    if at not in _listing_cache or now - _listing_cache[at][0] > LISTING_CACHE_SECONDS:
        _listing_cache[at] = now, all_indexes(spark)
    return _listing_cache[at][1]


def _all_indexes(root: Location) -> Indexes:
    fs = filesystem(root)
    out: list[tuple[Location, Snapshot]] = []
    unreadable = []
    entries = fs.get_file_info(pafs.FileSelector("", allow_not_found=True))
    for entry in sorted(entries, key=lambda e: e.base_name):
        if entry.type != pafs.FileType.Directory:
            continue
        log = fs.get_file_info(pafs.FileSelector(f"{entry.base_name}/{SNAPSHOTS}/_delta_log", allow_not_found=True))
        commits = [f for f in log if f.extension == "json"]
        if not commits:
            continue
        newest = max(commits, key=lambda f: f.base_name)
        key = (root.child(entry.base_name).uri, newest.base_name, newest.mtime_ns or 0)
        if key not in _kept:
            try:
                snapshot = read_current(root.child(entry.base_name))
            except PatternIndexError as error:
                unreadable.append((entry.base_name, error))
                continue
            if snapshot is None:
                continue
            for old in [k for k in _kept if k[0] == key[0]]:
                del _kept[old]
            _kept[key] = snapshot
        if _kept[key].state == READY:
            out.append((root.child(entry.base_name), _kept[key]))
    return Indexes(tuple(out), tuple(unreadable))


def same(one: Source, other: Source) -> bool:
    """Whether two sources have the same name, of which one may lack catalog and schema. Links are not resolved."""
    if one.kind != other.kind:
        return False
    if one.kind == "table":
        # A name with fewer parts means any catalog or schema.
        left, right = ([p.casefold() for p in s.parts] for s in (one, other))
        n = min(len(left), len(right))
        return left[-n:] == right[-n:]
    return (one.format, one.path.rstrip("/")) == (other.format, other.path.rstrip("/"))


def describe(definition: Definition, snapshot: Snapshot, extended: bool) -> list[tuple[str, str]]:
    """Facts about an index as name and value."""
    import datetime

    d, t = definition, snapshot.totals
    moment = datetime.datetime.fromtimestamp(snapshot.committed_at, datetime.UTC)
    rows: list[tuple[str, Any]] = [
        ("Name", d.name),
        ("Source", d.source),
        ("Kind", d.kind),
        ("Case", f"{d.case} {d.case_type}"),
        ("Time", f"{d.time} {d.time_type}"),
        ("Event", f"{d.event} {d.event_type}"),
    ]
    if d.tiebreak is not None:
        rows.append(("Tiebreak", f"{d.tiebreak} {d.tiebreak_type}"))
    if d.include:
        rows.append(("Include", ", ".join(d.include)))
    o = d.options
    rows += [
        ("lookback", d.lookback_text()),
        ("interval_days", o.interval_days),
        ("cases_per_bucket", o.cases_per_bucket),
        ("postings", o.postings),
        ("compression", o.compression),
        ("on_bad_rows", o.on_bad_rows),
        ("Cases", t.cases),
        ("Events", t.events),
        ("Pairs", t.pairs),
        ("Rejected rows", t.rejected),
        ("Bytes", snapshot.size),
        ("Snapshot", snapshot.number),
        ("Refreshed", moment.strftime("%Y-%m-%d %H:%M:%S UTC")),
    ]
    if d.options.layout() != snapshot.built_with.options.layout():
        rows.append(("Pending", "options have changed; the next REFRESH builds the index anew"))
    if extended:
        rows += [
            ("Batches", snapshot.batches),
            ("Events without an order of their own", t.ties),
            ("Knows what is new by", snapshot.source_state["kind"]),
        ]
        for name, state in snapshot.tables.items():
            rows.append(
                (
                    f"Table {name}",
                    f"version {state.version}, {state.rows} rows, {len(state.files)} files, {state.size} bytes",
                )
            )
    return [(name, str(value)) for name, value in rows]
