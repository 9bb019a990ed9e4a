"""The quality of a log: duplicates, types spelled in several ways, missing values, strange times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sparkcep.data.cleaning import spellings
from sparkcep.data.discovery import LogColumns, quoted
from sparkcep.data.roles import TEMPORAL
from sparkcep.query import in_backticks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Times before it are rarely meant, as those that a missing date becomes: 1900, 1970.
EARLIEST = 1990
#: So many groups of spellings are shown, and so many of each.
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Quality:
    """Counts of rows, but for ``single``: cases of one event.

    ``duplicates``: rows that are equal to an earlier one in all columns. ``spellings``: event types that differ by
    capitals, blanks or accents alone, with their events. ``no_case``, ``no_event``, ``no_time``: NULL. ``future``:
    times after now; ``early``: before 1990. ``backwards``: rows that are earlier than a row of their case that stands
    before them in the file; None where the file has no order.
    """

    duplicates: int
    spellings: Sequence[Sequence[tuple[str, int]]]
    no_case: int
    no_event: int
    no_time: int
    future: int
    early: int
    single: int
    backwards: int | None


def quality(frame: DataFrame, columns: LogColumns, place: str | None = None) -> Quality:
    """Look at a log.

    Args:
        place: the column of rows' places in their file, which is none of the log's own.
    """
    own = [n for n in frame.columns if n != place]
    types = dict(frame.dtypes)
    # Maps cannot be grouped by.
    keys = [f"to_json({quoted(n)})" if "map<" in types[n] else quoted(n) for n in own]
    equal = frame.selectExpr(*(f"{key} AS k{n}" for n, key in enumerate(keys)))
    counted = equal.groupBy(*equal.columns).count()
    (duplicates,) = counted.selectExpr("coalesce(sum(count - 1), 0)").collect()[0]
    case = f"struct({', '.join(map(quoted, columns.case))})" if columns.case else "0"
    caseless = " OR ".join(f"{quoted(c)} IS NULL" for c in columns.case) or "false"
    at, event = quoted(columns.time), quoted(columns.event)
    clock = types[columns.time] in TEMPORAL
    now = f"{at} > current_timestamp()" if clock else "false"
    early = f"year({at}) < {EARLIEST}" if clock else "false"
    base = frame.selectExpr(
        f"{case} AS c", f"{at} AS t", f"({caseless}) AS nc", f"{event} IS NULL AS ne", f"{at} IS NULL AS nt",
        f"{now} AS future", f"{early} AS early", f"{in_backticks(place) if place else '0'} AS p",
    )  # fmt: skip
    spark = base.sparkSession
    counts = spark.sql(
        "SELECT sum(nc), sum(ne), sum(nt), sum(f), sum(y), count_if(n = 1) FROM (SELECT count(*) AS n, count_if(nc) AS "
        "nc, count_if(ne) AS ne, count_if(nt) AS nt, count_if(future) AS f, count_if(early) AS y FROM {log} "
        "GROUP BY c)",
        log=base,
    ).collect()[0]
    backwards = None
    if place is not None:
        (backwards,) = spark.sql(
            "SELECT count_if(t < m) FROM (SELECT t, max(t) OVER (PARTITION BY c ORDER BY p ROWS BETWEEN UNBOUNDED "
            "PRECEDING AND 1 PRECEDING) AS m FROM {log})", log=base,
        ).collect()[0]  # fmt: skip
    no_case, no_event, no_time, future, early_ones, single = (n or 0 for n in counts)
    spelled = spellings(frame, columns.event)
    return Quality(duplicates, spelled, no_case, no_event, no_time, future, early_ones, single, backwards)


def sentences(flaws: Quality, columns: LogColumns) -> Iterator[str]:
    """Sentences about what was found, each with what mends it."""
    if flaws.duplicates:
        yield f"{_rows(flaws.duplicates)} equal to an earlier row in all columns: --drop-duplicates keeps the first one"
    if flaws.spellings:
        groups = ["/".join(f"{name!r} ({n:,})" for name, n in group[:_SHOWN]) for group in flaws.spellings[:_SHOWN]]
        more = ", ..." if len(flaws.spellings) > _SHOWN else ""
        yield (
            f"event types that differ only in case, blanks or accents: {', '.join(groups)}{more}; --fold-types merges "
            "them"
        )
    for number, what, column in (
        (flaws.no_case, "case", " or ".join(columns.case)), (flaws.no_event, "type", columns.event),
        (flaws.no_time, "time", columns.time),
    ):  # fmt: skip
        if number:
            yield f"{_rows(number)} without a {what} (NULL): WHERE {quoted(column)} IS NOT NULL leaves them out"
    if flaws.future:
        yield f"{_rows(flaws.future)} later than now"
    if flaws.early:
        yield (
            f"{_rows(flaws.early)} before {EARLIEST}: if such a date means none, --option nullValue=TEXT makes it NULL"
        )
    if flaws.single:
        yield f"{flaws.single:,} case{'s have' if flaws.single != 1 else ' has'} one event"
    if flaws.backwards:
        yield (
            f"{_rows(flaws.backwards)} earlier than a row of the same case before it in the file; patterns use the "
            "time, not the order in the file"
        )


def _rows(number: int) -> str:
    return f"{number:,} row{'s are' if number != 1 else ' is'}"
