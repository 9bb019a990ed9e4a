"""The pattern index: SIESTA's inverted lists as Delta tables.

>>> from sparkcep import index
>>> index.create(spark, "orders", "shop.events", case="order_id", time="ts", event="activity")
>>> index.refresh(spark, "orders")
>>> index.open_index(spark, "orders").candidates([["pay", "ship"]])
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sparkcep.errors import PatternIndexError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sparkcep.index.commits import Summary
    from sparkcep.index.reader import Reader

Progress = Callable[[str, float], None]


def create(
    spark: SparkSession,
    name: str,
    source: str | DataFrame,
    *,
    case: str,
    time: str,
    event: str,
    tiebreak: str | None = None,
    include: Sequence[str] = (),
    using: str = "siesta",
    options: Mapping[str, object] | None = None,
    if_not_exists: bool = False,
    progress: Progress | None = None,
) -> Summary | None:
    """Create a pattern index and fill it.

    Args:
        source: a table or view (``"shop.events"``), a path (``"parquet.`/data/events`"``), or a DataFrame. The index
            cannot read a DataFrame again, so only batches can refresh it.
        case: the column of the case.
        time: the column of the time.
        event: the column of the event type.
        tiebreak: the column that orders events of a case with the same time.
        include: more columns to store in `sequences`.
        using: siesta, signature or set_containment.
        options: as in WITH: lookback, interval_days, cases_per_bucket, postings, compression, on_bad_rows.
        if_not_exists: if an index of this name exists, leave it alone and return None.
        progress: called with the name of a step and the share of the work that is done, from 0 to 1.

    Raises:
        PatternIndexError: the index cannot be created as requested.
        LimitError: CEP_TYPE_LIMIT, CEP_INDEX_PAIR_LIMIT.
    """
    from sparkcep.index import catalog
    from sparkcep.index.tables import Source

    frame = source if not isinstance(source, str) else None
    named = parse_source(source) if isinstance(source, str) else Source("batches")
    made = catalog.create(
        spark, name, named, frame, case=case, time=time, event=event, tiebreak=tiebreak, include=include, kind=using,
        options=options, if_not_exists=if_not_exists, progress=progress or _silent,
    )  # fmt: skip
    return made[1] if made else None


def refresh(
    spark: SparkSession,
    name: str,
    *,
    full: bool = False,
    batch: DataFrame | None = None,
    batch_id: str | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Bring an index up to date with its source, or add a batch of new events.

    Args:
        full: rebuild everything from the source.
        batch: new events, with the source's columns; the source is then not read.
        batch_id: the batch's name. A batch whose name is known is ignored, so you may pass it twice.
        progress: as for :func:`create`.

    Raises:
        PatternIndexError: CEP_INDEX_BUSY if another refresh is running, CEP_INDEX_BAD_ROWS and others.
        LimitError: as :func:`create`.
    """
    from sparkcep.index import catalog

    return catalog.refresh(
        spark, name, full=full, batch=batch, batch_id=batch_id, progress=progress or _silent
    )[1]  # fmt: skip


def optimize(spark: SparkSession, name: str, progress: Progress | None = None) -> Summary:
    """Rewrite an index as one batch, so that queries open as few files as after a build. It does not read the source.

    Refreshes already keep the number of batches small. This merges the remaining ones, and drops the postings of cases
    that late events have replaced.

    Args:
        progress: as for :func:`create`.

    Raises:
        PatternIndexError: CEP_INDEX_NOT_FOUND, CEP_INDEX_BUSY, CEP_INDEX_DAMAGED.
    """
    from sparkcep.index import catalog

    return catalog.optimize(spark, name, progress or _silent)[1]


def foreach_batch(name: str, stream: str = "default") -> Callable[[DataFrame, int], None]:
    """A function for ``writeStream.foreachBatch`` that feeds an index. It ignores repeated micro-batches.

    Args:
        name: the index.
        stream: the stream's name, if several streams feed the index. It must stay the same across restarts.
    """

    def feed(batch: DataFrame, epoch: int) -> None:
        from sparkcep.index.updates import stream_batch

        refresh(batch.sparkSession, name, batch=batch, batch_id=stream_batch(stream, epoch))

    return feed


def open_index(spark: SparkSession, name: str) -> Reader:
    """A reader pinned to the newest snapshot of an index.

    Raises:
        PatternIndexError: CEP_INDEX_NOT_FOUND, CEP_INDEX_DAMAGED, CEP_INDEX_FORMAT.
    """
    from sparkcep.index import catalog
    from sparkcep.index.reader import Reader

    return Reader(spark, *catalog.current(spark, name))


def show(spark: SparkSession, on: str | None = None) -> list[dict[str, Any]]:
    """Facts about all indexes, or about those on a source, such as name, source, kind, cases, events and bytes.

    Without ``on``, indexes that cannot be read are listed too; their ``kind`` is the error's class.
    """
    from sparkcep.index import catalog

    return catalog.show(spark, parse_source(on) if on is not None else None)


def describe(spark: SparkSession, name: str, extended: bool = False) -> list[tuple[str, str]]:
    """Facts about an index as pairs of name and value. ``extended`` adds its batches and tables.

    Raises:
        PatternIndexError: as :func:`open_index`.
    """
    from sparkcep.index import catalog

    _, snapshot = catalog.current(spark, name)
    return catalog.describe(snapshot.definition, snapshot, extended)


def alter(spark: SparkSession, name: str, options: Mapping[str, object]) -> None:
    """Change options. The next refresh applies lookback, interval_days and postings, and rebuilds the index for them.

    Raises:
        PatternIndexError: CEP_INDEX_OPTION, CEP_INDEX_BUSY, and those of :func:`open_index`.
    """
    from sparkcep.index import catalog

    catalog.alter(spark, name, options)


def drop(spark: SparkSession, name: str, if_exists: bool = False) -> bool:
    """Stop using an index; :func:`vacuum` deletes its data. Returns whether there was one.

    Raises:
        PatternIndexError: CEP_INDEX_NOT_FOUND without ``if_exists``, CEP_INDEX_BUSY.
    """
    from sparkcep.index import catalog

    return catalog.drop(spark, name, if_exists)


def vacuum(spark: SparkSession, name: str, retain_hours: float = 168) -> tuple[int, int]:
    """Delete files that no snapshot of the last ``retain_hours`` names. Returns the number of files and their bytes.

    If the index was dropped before those hours, everything is deleted.

    Raises:
        PatternIndexError: CEP_INDEX_NOT_FOUND, CEP_INDEX_OPTION, CEP_INDEX_BUSY.
    """
    from sparkcep.index.unreferenced_files import vacuum as run

    return run(spark, name, retain_hours)


def analyze(spark: SparkSession, name: str) -> list[tuple[str, str, str]]:
    """What an index costs and saves, in rows of subject, measure and value.

    Raises:
        PatternIndexError: as :func:`open_index`.
    """
    from sparkcep.index.statistics import analyze as run

    return run(open_index(spark, name))


def pattern_statistics(spark: SparkSession, log: str, pattern: str | Sequence[str]) -> DataFrame:
    """How often, and how fast, each event type of a sequence is followed by the next (SIESTA's statistics query).

    Args:
        log: a pattern index, or a table that has one.
        pattern: event types: ``'A B "Send Fine"'``, or a list of them.

    Returns:
        One row for each consecutive pair: step (from 1), event, next_event, completions (pairs of Def. 3.4: greedy,
        without overlap; if both types are equal, the second event begins the next pair), cases (that hold the pair),
        total_duration, average_duration, minimum_duration, maximum_duration. Durations are INTERVALs if the index's
        time is a date or timestamp, otherwise numbers in its units. They are NULL if nothing completes, and so is a
        total that no INTERVAL can hold. Pairs beyond the index's lookback do not count.

    Raises:
        PatternIndexError: CEP_INDEX_NOT_FOUND, CEP_INDEX_KIND, CEP_INDEX_STALE, CEP_INDEX_SOURCE,
            CEP_UNKNOWN_EVENT_TYPE, CEP_PLAIN_SEQUENCE.
    """
    from sparkcep.index import statistics_queries

    return statistics_queries.statistics(spark, parse_source(log), pattern).frame


def pattern_continuations(
    spark: SparkSession, log: str, pattern: str | Sequence[str], mode: str = "accurate", k: int = 10
) -> DataFrame:
    """Which event types come after a sequence (SIESTA's continuation query).

    Args:
        log: a pattern index, or a table that has one.
        pattern: event types: ``'A B "Send Fine"'``, or a list of them.
        mode: ``accurate`` matches the sequence followed by each type; ``fast`` computes upper bounds from the counts of
            pairs; ``hybrid`` matches only the k best types of ``fast``.
        k: the most rows to return.

    Returns:
        One row for each type, the best score first: next_event, support (cases that hold the continued sequence),
        completions (its matches that do not overlap, with gaps: SKIP TILL NEXT MATCH, NON OVERLAPPING),
        average_duration (from the sequence's last event to next_event), score (completions / average duration, which
        is in seconds if time is a date or timestamp), probability (support / cases that hold the sequence, from 0 to
        1). With ``fast``, support and completions are upper bounds within the index's lookback, the duration is that of
        all pairs of the last and the next event, and probability is a quotient of two bounds.

    Raises:
        PatternIndexError: CEP_CONTINUATION_MODE, CEP_CONTINUATION_K, and those of :func:`pattern_statistics`.
    """
    from sparkcep.index import statistics_queries

    return statistics_queries.continuations(spark, parse_source(log), pattern, mode, k).frame


def parse_source(text: str) -> Any:
    """The source that a table's name, or format.`path`, stands for.

    Raises:
        PatternIndexError: CEP_INDEX_SOURCE.
    """
    names = _names_in(text)
    if not names:
        raise PatternIndexError(
            "CEP_INDEX_SOURCE", f"{text!r} is not a table name.", blame="source", hint="write a.b.c or parquet.`path`"
        )
    return source_of(names)


def _names_in(text: str) -> list[str]:
    """Parts of a name as SQL writes it; none where it is no name."""
    parts = re.findall(r"`(?:[^`]|``)*`|[^.`]+|\.", text.strip())
    if "".join(parts) != text.strip() or len(parts) % 2 == 0 or any(p != "." for p in parts[1::2]):
        return []
    return [p[1:-1].replace("``", "`") if p.startswith("`") else p for p in parts[::2]]


def is_no_table(text: str) -> bool:
    """Whether a relation's text is format.`path`, and its path no name that a table may have.

    >>> [is_no_table(text) for text in ("parquet.`/p`", "CSV.`log.csv`", "parquet.log", "shop.`a.b`", "f(x)")]
    [True, True, False, False, False]
    """
    names = _names_in(text)
    return len(names) == 2 and names[0].lower() in FORMATS and bool(re.search(r"[/\\:.]", names[1]))


#: Formats whose files can be a source by their path.
FORMATS = ("parquet", "orc", "json", "csv", "avro", "delta", "text")


def source_of(names: Sequence[str]) -> Any:
    """A source from the parts of a name; format.`path` is a path, as in Spark."""
    from sparkcep.index.tables import Source

    if len(names) == 2 and names[0].lower() in FORMATS and re.search(r"[/\\:]", names[1]):
        return Source("path", (), names[0].lower(), names[1])
    return Source("table", tuple(names))


def _silent(step: str, share: float) -> None:
    """No progress is shown."""
