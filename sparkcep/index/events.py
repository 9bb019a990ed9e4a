"""Events on their way in: the source's columns as the index keeps them, what is wrong with them, the dictionary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sparkcep import settings
from sparkcep.errors import LimitError, PatternIndexError, near_hint
from sparkcep.exec.kernels.index.keys import TYPE_BITS
from sparkcep.index.tables import (
    INTEGERS,
    LARGEST_INTERVALS,
    LARGEST_TIME,
    MAX_TYPES,
    Definition,
    Options,
    Source,
    include_columns,
    symbol,
)
from sparkcep.query import in_backticks

#: Expressions that give a TIME as a whole number; None of them depends on the session's time zone.
TIMES = {
    "timestamp": "unix_micros({0})",
    "timestamp_ntz": "timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01 00:00:00', {0})",
    "date": "CAST(unix_date({0}) AS BIGINT) * 86400000000",
    **dict.fromkeys(INTEGERS, "CAST({0} AS BIGINT)"),
}
_PLAIN = (*INTEGERS, "string", "boolean", "date", "timestamp", "timestamp_ntz", "float", "double", "binary")


def define(
    frame: DataFrame,
    name: str,
    source: Source,
    case: str,
    time: str,
    event: str,
    tiebreak: str | None,
    include: tuple[str, ...],
    kind: str,
    options: Options,
) -> Definition:
    """A definition whose columns exist and have types that an index can hold.

    Raises:
        PatternIndexError: CEP_INDEX_COLUMN, CEP_INDEX_TYPE.
    """
    types = {f.name: f.dataType.simpleString() for f in frame.schema.fields}
    by_fold = {n.casefold(): n for n in types}

    def column(given: str, role: str) -> str:
        found = given if given in types else by_fold.get(given.casefold())
        if found is None:
            hint = near_hint(given, types, f"it has {', '.join(types)}")
            raise PatternIndexError("CEP_INDEX_COLUMN", f"{source} has no column {given}.", blame=role, hint=hint)
        return found

    def plain(name: str, role: str, allowed: tuple[str, ...], wanted: str) -> str:
        type_ = types[name]
        if type_ not in allowed and not type_.startswith(("decimal", "varchar", "char")):
            raise PatternIndexError(
                "CEP_INDEX_TYPE", f"{role.split(':', maxsplit=1)[0].upper()} {name} is {type_}; {wanted}.", blame=role
            )
        return type_

    case, time, event = column(case, "case"), column(time, "time"), column(event, "event")
    if types[time] not in TIMES:
        raise PatternIndexError(
            "CEP_INDEX_TYPE",
            f"TIME {time} is {types[time]}; it must be a TIMESTAMP, TIMESTAMP_NTZ, DATE or a whole number.",
            blame="time",
            hint="cast it in a view and index the view",
        )
    event_types = ("string", "boolean", "date", *INTEGERS)
    plain(event, "event", event_types, "it must be text, a whole number, BOOLEAN, DATE or DECIMAL")
    plain(case, "case", _PLAIN, "its type must not be a list, map or struct")
    tie_type = ""
    if tiebreak is not None:
        tiebreak = column(tiebreak, "tiebreak")
        tie_type = plain(tiebreak, "tiebreak", _PLAIN, "it must be of a type that can be ordered")
    found = tuple(column(c, f"include:{c}") for c in include)
    for given, own in zip(include, found, strict=True):
        plain(own, f"include:{given}", _PLAIN, "its type must not be a list, map or struct")
    if len(set(found)) != len(found):
        raise PatternIndexError("CEP_INDEX_COLUMN", "INCLUDE names a column twice.", blame="include")
    return Definition(
        name, source, case, time, event, tiebreak, found, kind, options,
        types[case], types[time], types[event], tie_type, tuple(types[c] for c in found),
    )  # fmt: skip


def check_columns(frame: DataFrame, d: Definition) -> None:
    """Refuse a source whose columns are no longer what they were when the index was made."""
    again = define(
        frame, d.name, d.source, d.case, d.time, d.event, d.tiebreak, d.include, d.kind, d.options
    )  # fmt: skip
    if again != d:
        raise PatternIndexError(
            "CEP_INDEX_SOURCE_CHANGED",
            f"The types of {d.source}'s columns have changed since {d.name} was made.",
            blame="name",
            hint=f"DROP PATTERN INDEX {d.name} and create it again",
        )


def events_of(frame: DataFrame, d: Definition) -> DataFrame:
    """Columns case_key, time (whole numbers), [tie], event (text), include_0, include_1, ..."""
    columns = [f"{in_backticks(d.case)} AS case_key", f"{TIMES[d.time_type].format(in_backticks(d.time))} AS time"]
    if d.tiebreak is not None:
        columns.append(f"{in_backticks(d.tiebreak)} AS tie")
    columns.append(f"CAST({in_backticks(d.event)} AS STRING) AS event")
    columns += [f"{in_backticks(c)} AS {own}" for c, own in zip(d.include, include_columns(d), strict=True)]
    return frame.selectExpr(*columns)


BAD_REASON = (
    "CASE WHEN case_key IS NULL THEN 'NULL case' WHEN time IS NULL THEN 'NULL time' "
    "WHEN event IS NULL THEN 'NULL event' END"
)


@dataclass(frozen=True, slots=True)
class Survey:
    """A first look at a batch: its event types with their first times, its rows, and those that cannot be indexed.

    ``bad``: rows by what is wrong with them. Times are stored ones, microseconds or units of an integer TIME; the first
    and last are None of a batch without good rows.
    """

    events: int
    types: Mapping[str, int]
    bad: Mapping[str, int]
    first_time: int | None
    last_time: int | None

    @property
    def rejected(self) -> int:
        """Rows that cannot be indexed, whatever the reason."""
        return sum(self.bad.values())


def survey(events: DataFrame) -> Survey:
    """One pass over a batch."""
    reason = F.expr(BAD_REASON)
    rows = (
        events.select("time", reason.alias("bad"), F.when(reason.isNull(), F.col("event")).alias("event"))
        .groupBy("bad", "event")
        .agg(F.count("*").alias("n"), F.min("time").alias("low"), F.max("time").alias("high"))
        .collect()
    )
    good = [r for r in rows if r.bad is None]
    bad: dict[str, int] = {}
    for r in rows:
        if r.bad is not None:
            bad[r.bad] = bad.get(r.bad, 0) + r.n
    return Survey(
        sum(r.n for r in good),
        {r.event: r.low for r in good},
        bad,
        min((r.low for r in good), default=None),
        max((r.high for r in good), default=None),
    )


def check_survey(spark: SparkSession, surveyed: Survey, d: Definition) -> None:
    """Refuse bad rows and times that an index cannot hold.

    Raises:
        PatternIndexError: CEP_INDEX_BAD_ROWS, CEP_INDEX_TIME.
    """
    if surveyed.bad and d.options.on_bad_rows == "error":
        counts = ", ".join(f"{n:,} with {reason}" for reason, n in sorted(surveyed.bad.items()))
        raise PatternIndexError(
            "CEP_INDEX_BAD_ROWS",
            f"{surveyed.rejected:,} rows of {d.source} cannot be indexed: {counts}.",
            blame="source",
            hint=f"WITH (on_bad_rows = 'quarantine'), or ALTER PATTERN INDEX {d.name} SET (...), sets them aside",
        )
    if surveyed.first_time is None or surveyed.last_time is None:
        return
    far = max(abs(surveyed.first_time), abs(surveyed.last_time)) > LARGEST_TIME
    if far or (surveyed.last_time - surveyed.first_time) // d.interval >= LARGEST_INTERVALS - 1:
        raise PatternIndexError(
            "CEP_INDEX_TIME",
            f"TIME {d.time} reaches from {surveyed.first_time} to {surveyed.last_time}, more than an index can hold.",
            blame="time",
            hint="leave out rows with times that cannot be, or set a larger interval_days",
        )


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Event types and their codes. ``first_seen``: the time of the first event of each."""

    codes: Mapping[str, int]

    def extended(self, spark: SparkSession, first_seen: Mapping[str, int]) -> tuple[Dictionary, pa.Table]:
        """The dictionary with the types of a batch, and the rows that are new, in order of their first events."""
        new = sorted((first, name) for name, first in first_seen.items() if name not in self.codes)
        codes = dict(self.codes)
        low = len(codes)
        limit = min(settings.read_event_types(spark.conf.get), MAX_TYPES, 1 << TYPE_BITS)
        if low + len(new) > limit:
            raise LimitError(
                "CEP_TYPE_LIMIT",
                f"There are {low + len(new):,} event types; {settings.LIMIT_TYPES.key} is {limit:,}.",
                hint="index a column with fewer distinct values, or raise the limit",
            )
        for k, (_, name) in enumerate(new):
            codes[name] = low + k
        rows = pa.table(
            {
                "code": pa.array(range(low, low + len(new)), pa.int32()),
                "type": pa.array([name for _, name in new], pa.string()),
                "symbol": pa.array([symbol(low + k) for k in range(len(new))], pa.string()),
                "first_seen": pa.array([first for first, _ in new], pa.int64()),
            }
        )
        return Dictionary(codes), rows


def coded(spark: SparkSession, events: DataFrame, dictionary: Dictionary, types: Mapping[str, int]) -> DataFrame:
    """Good events with their code, by a broadcast join.

    A type that the survey did not see means that the source changed in between: an error, not a lost row.
    """
    names = sorted(types)
    known = spark.createDataFrame([(n, dictionary.codes[n]) for n in names], "known string, code int")
    joined = events.where(f"({BAD_REASON}) IS NULL").join(F.broadcast(known), F.col("event") == F.col("known"), "left")
    changed = "raise_error('[CEP_INDEX_SOURCE_CHANGED] The source changed while it was indexed. Hint: run this again.')"
    return joined.withColumn("code", F.expr(f"coalesce(code, {changed})"))
