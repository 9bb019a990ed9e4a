"""What builds, refreshes and compactions of an index begin and end with: a batch to write, its commit, a summary."""

from __future__ import annotations

import time as clock
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sparkcep.index import facts
from sparkcep.index.build import Progress, Work, with_ids
from sparkcep.index.snapshots import Snapshot, commit, commit_as_refresher
from sparkcep.index.storage import Location, call
from sparkcep.index.tables import COUNTS, Definition
from sparkcep.spark.jobs import log
from sparkcep.spark.plan import is_remote


@dataclass(frozen=True, slots=True)
class Summary:
    """What a build, refresh or merge of batches did. All numbers except the seconds are those of the whole index.

    ``action``: built, extended, compacted, merged or unchanged. ``reason``: why. ``rows``, ``sizes`` (bytes) and
    ``seconds``: by table.
    """

    name: str
    action: str
    reason: str
    events: int
    cases: int
    pairs: int
    rejected: int
    total_seconds: float
    rows: Mapping[str, int] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes of all tables of the index."""
        return sum(self.sizes.values())


def new_work(
    spark: SparkSession, index: Location, d: Definition, build_name: str, number: int, progress: Progress
) -> Work:
    """A batch that is to be written.

    Args:
        build_name: directory of the build. number: of the batch, above those of earlier ones.
    """
    # The suffix keeps a retry from meeting the files of an attempt that died.
    return Work(spark, d, index.child(build_name), f"{number:05d}-{uuid.uuid4().hex[:8]}", progress)


def work_build(work: Work) -> str:
    """Name of the build directory, in which all batches of one build lie."""
    return work.build.uri.rsplit("/", 1)[1]


def write_first(work: Work, cases: DataFrame, types: int) -> None:
    """Write cases that are all new."""
    nothing = F.lit(None).cast("bigint")
    rows = cases.select(nothing.alias("id"), "case_key", F.lit(0).alias("start"), nothing.alias("replaces"), "ev")
    work.write_sequences(with_ids(rows, 0), types)


def pairs_of(work: Work) -> int:
    """Pairs that a batch's counts hold."""
    written = work.written.get(COUNTS)
    if written is None:
        return 0
    return call(work.spark, facts.sum_column, work.build.child(COUNTS), written.files, "completions")


def commit_work(
    work: Work, index: Location, base: Snapshot | None, target: Snapshot, started: float, action: str, reason: str
) -> tuple[Snapshot, Summary]:
    """Commit what was written, behind a snapshot, and say what was done.

    Raises:
        PatternIndexError: CEP_INDEX_BUSY.
    """
    work.progress("commit", 0.97)
    done = call(work.spark, commit_as_refresher if is_remote(work.spark) else commit, index, base, target, work.written)
    work.progress("done", 1.0)
    summary = summary_of(done, action, reason, started, work.seconds)
    log(
        f"pattern index {summary.name}: {action} ({reason})", index=summary.name, action=action, reason=reason,
        snapshot=done.number, events=summary.events, cases=summary.cases, bytes=summary.size,
        seconds=round(summary.total_seconds, 3),
    )  # fmt: skip
    return done, summary


def summary_of(snapshot: Snapshot, action: str, reason: str, started: float, seconds: Mapping[str, float]) -> Summary:
    """What a snapshot holds, and what was done to make it."""
    t = snapshot.totals
    return Summary(
        snapshot.definition.name, action, reason, t.events, t.cases, t.pairs, t.rejected,
        clock.perf_counter() - started,
        {name: state.rows for name, state in snapshot.tables.items()},
        {name: state.size for name, state in snapshot.tables.items()},
        dict(seconds),
    )  # fmt: skip
