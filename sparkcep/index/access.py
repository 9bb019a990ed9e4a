"""A query's events, read through an index: which cases, and from which of its tables.

Candidate cases come from posting lists, or from a scan of all events where that is cheaper.
Their events come from `activities` (only some types matter, and nothing but case, time and type is asked for), from
`sequences` (all columns asked for are there), or from the source, joined to the candidates' keys. All three give the
same rows; estimated bytes decide which, and the work that they take whether (:mod:`sparkcep.index.costs`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from sparkcep.executors import usable_cores
from sparkcep.index import sources
from sparkcep.index.costs import Work, seconds
from sparkcep.index.lookup import Lists
from sparkcep.index.pairs import Longs
from sparkcep.index.reader import EVERYTHING, Candidates, Coverage, Reader, Scope
from sparkcep.index.tables import ACTIVITIES, COUNTS, SEQUENCES, Definition, include_columns
from sparkcep.planner.pruning import MAX_BRANCHES, Requirements
from sparkcep.query import in_backticks
from sparkcep.spark_plan import is_remote

#: Where events may come from.
FROM_ACTIVITIES, FROM_SEQUENCES, FROM_SOURCE = ACCESS_PATHS = ("activities", "sequences", "source")
#: Events that the driver takes from `activities` itself; more are read by Spark.
MAX_LOCAL_EVENTS = 4_000_000
#: So few events are grouped by one task, without a shuffle.
ONE_TASK = 50_000
#: So many looks of a branch at an event are cheaper than reading posting lists.
SCANNED_EVENTS = 3_000_000
#: What is left of a source that is joined to its candidates must be less than this share of the cases.
MAX_SHARE = 0.8
#: Types whose values Parquet, Arrow and Spark read alike.
_ARROW_TYPES = {
    "string": pa.string(), "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(),
}  # fmt: skip
#: Held while a setting of the session is another than the user's.
_SETTING = Lock()


@dataclass(frozen=True, slots=True)
class Access:
    """``frame``: rows of all cases that can match, with the columns asked for; ``access_path``: where they come from.

    ``candidates``: None: cases are picked while they are read. ``cost``: estimated bytes by access path, ``work``: what
    the query asks of the log.
    """

    frame: DataFrame
    access_path: str
    candidates: Candidates | None
    cost: dict[str, int]
    work: Work


@dataclass(frozen=True, slots=True)
class Input:
    """What a query reads, and how it comes from the indexed relation.

    ``frame``: the rows it reads, ``case``: their column that is CASE. ``files``: the indexed relation. ``needed``:
    columns of that which the query's rows are made from; None: they must be made from all of its rows. ``placed``: as
    in :class:`Requirements`, of ``files``. ``over``: the query's rows from other rows of ``files``. ``scope``: what
    filters of the query leave of these.
    """

    frame: DataFrame
    case: str
    files: DataFrame
    needed: frozenset[str] | None
    placed: frozenset[str]
    over: Callable[[DataFrame], DataFrame]
    scope: Scope = EVERYTHING


def order_kept(type_: str) -> str | None:
    """SQL of a type's value for a number `position`, so that values are ordered as the numbers; None: there is none."""
    return {
        "int": "position", "bigint": "CAST(position AS BIGINT)", "double": "CAST(position AS DOUBLE)",
        "string": "lpad(CAST(position AS STRING), 10, '0')", "timestamp": "timestamp_micros(position)",
    }.get(type_)  # fmt: skip


class IndexNotBeneficial(Exception):
    """Why reading through the index does not pay."""


def access(
    reader: Reader,
    ask: Requirements,
    source: Input,
    coverage: Coverage,
    source_bytes: int,
    access_path: str = "auto",
    cases: str = "auto",
    set_aside: bool = False,
) -> Access:
    """Read the events of the cases that can match.

    Args:
        ask: what a match needs. source: the query's input.
        coverage: how the index stands to it; `current`, or `stale` with files added.
        source_bytes: its size.
        access_path: one of ACCESS_PATHS, where it can serve; auto: the cheapest.
        cases: how they are found, `lists` or `scan` (only with sequences); auto: the cheapest.
        set_aside: whether rows that could not be indexed may matter; all events of their cases come from the source.

    Raises:
        IndexNotBeneficial: with the reason.
    """
    if ask.groups and coverage.state != "current":
        raise IndexNotBeneficial("files that are not indexed may have events of a group's cases")
    if ask.groups and set_aside:
        raise IndexNotBeneficial("rows that were set aside may be events of a group's cases")
    case_type = reader.definition.case_type
    if (ask.groups or set_aside) and case_type not in _ARROW_TYPES:
        what = "for GROUPS" if ask.groups else "by rows that were set aside"
        raise IndexNotBeneficial(f"cases of type {case_type} are not looked up {what}")
    costs = _costs(reader, ask, source, coverage.state == "current" and not set_aside, source_bytes)
    work = Work(reader.snapshot.totals.events, source_bytes, _wanted(reader, ask.only), usable_cores(reader.spark))
    is_free = access_path == cases == "auto"
    if access_path not in costs:
        access_path = min(costs, key=costs.__getitem__)
    if is_free and access_path != FROM_ACTIVITIES and not ask.groups:
        _demand_gain(reader, ask, work, access_path)
    d = reader.definition
    if access_path == FROM_SEQUENCES and _scans(reader, ask, cases):
        frame = _over(source, _exploded(reader, _scan(reader, ask), ask, source))
        return Access(frame, access_path, None, costs, work)
    if len(ask.branches) > MAX_BRANCHES and access_path == FROM_SOURCE and (share := _likely(reader, ask)) > MAX_SHARE:
        raise IndexNotBeneficial(f"by the counts of pairs about {share:.0%} of the cases can match one of the rules")
    types = sorted(t for t in ask.only or () if t in reader.dictionary())
    is_local = access_path == FROM_ACTIVITIES and _is_local(reader, types)
    with ThreadPoolExecutor(1) as aside:
        # Which events are needed does not wait for which cases.
        lists = aside.submit(reader.lists_of_types, types, bool(source.placed)) if is_local else None
        if ask.groups:
            found = reader.candidates_of_groups(ask.branches, ask.groups)
        else:
            found = reader.candidates(ask.branches, ask.bound, ask.ordered, source.scope)
    if access_path == FROM_SOURCE and found.share > MAX_SHARE:
        raise IndexNotBeneficial(f"{found.share:.0%} of the cases can match, and the events must come from the source")
    if lists is not None:
        frame = _over(source, _from_lists(reader, types, lists.result(), found.ids, source))
    elif access_path == FROM_ACTIVITIES:
        frame = _over(source, _from_activities(reader, types, found.ids, source.placed))
    elif access_path == FROM_SEQUENCES:
        ids = None if found.share == 1 else found.ids
        frame = _over(source, _exploded(reader, reader.lists(ids), ask, source))
    else:
        keys = reader.case_keys(found.ids)
        if coverage.added:
            new = sources.in_files(source.files, coverage.added)
            keys = keys.union(new.select(F.col(in_backticks(d.case)))).distinct()
        if set_aside:
            keys = keys.union(reader.keys_set_aside()).distinct()
        keys, rows = keys.toDF("__cep_case"), source.frame
        frame = rows.join(
            F.broadcast(keys), rows[in_backticks(source.case)].eqNullSafe(keys["__cep_case"]), "left_semi"
        )
    return Access(frame, access_path, found, costs, work)


def _wanted(reader: Reader, types: Collection[str] | None) -> float:
    """The share of events that are of some types, were all types as frequent; None: of any."""
    if types is None:
        return 1.0
    known = reader.dictionary()
    return len(known.keys() & types) / max(1, len(known))


def _demand_gain(reader: Reader, ask: Requirements, work: Work, access_path: str) -> None:
    """Compare the way through an index with that without.

    Raises:
        IndexNotBeneficial: it is slower by estimate.
    """
    # Counts are read only where it matters how many cases can match.
    if work.loses(access_path, 1.0) and work.loses(access_path, share := _likely(reader, ask)):
        through, without = seconds(work.through(access_path, share)), seconds(work.without())
        raise IndexNotBeneficial(
            f"by estimate it would take {through}, with events from {access_path}, and {without} without it"
        )


def _over(source: Input, rows: DataFrame) -> DataFrame:
    """The query's rows from rows of the index.

    Raises:
        IndexNotBeneficial: Spark does not make them.
    """
    try:
        return source.over(rows)
    except Exception as error:  # plans have no public interface: what fails there is no reason to fail the query
        raise IndexNotBeneficial(f"Spark does not read the input over the index's rows ({error})") from error


def _costs(reader: Reader, ask: Requirements, source: Input, is_all: bool, source_bytes: int) -> dict[str, int]:
    """Estimated bytes to read, by access path that can serve. ``is_all``: the index has all rows that matter."""
    d, sizes = reader.definition, reader.sizes()
    costs = {FROM_SOURCE: source_bytes}
    if not is_all or source.needed is None:
        return costs
    stored = {d.case, d.time, d.event}
    tie = {d.tiebreak} if d.tiebreak is not None else set()
    if source.needed <= stored | tie | set(d.include):
        costs[FROM_SEQUENCES] = sizes[SEQUENCES][0]
    if ACTIVITIES in sizes and ask.only is not None and source.needed <= stored:
        costs[FROM_ACTIVITIES] = round(sizes[ACTIVITIES][0] * _wanted(reader, ask.only))
    return costs


def _scans(reader: Reader, ask: Requirements, cases: str) -> bool:
    """Whether looking at all events is cheaper than posting lists. Segments would have to be stitched first."""
    totals = reader.snapshot.totals
    # A test for each branch is a part of Spark's plan, and looks at all events.
    can = ask.ordered and not totals.segmented and len(ask.branches) <= MAX_BRANCHES
    looked_at = totals.events * max(1, len(ask.branches))
    return can and (cases == "scan" or (cases == "auto" and looked_at <= SCANNED_EVENTS))


def _likely(reader: Reader, ask: Requirements) -> float:
    """The share of cases that hold one of many branches, as far as counts tell without posting lists: each branch is
    taken to be in as many cases as its rarest pair, and branches not to depend on each other. 0 where nothing tells."""
    if COUNTS not in reader.sizes() or not ask.ordered or not reader.tells_order(ask.bound):
        return 0.0
    pairs = {branch: list(pairwise(branch)) for branch in ask.branches if len(branch) > 1}
    counts = reader.counts(dict.fromkeys(pair for own in pairs.values() for pair in own))
    total = max(1, reader.snapshot.totals.cases)
    missing = 1.0
    for own in pairs.values():
        missing *= 1 - min(min(counts[pair].cases for pair in own) / total, 1)
    return 1 - missing


def _scan(reader: Reader, ask: Requirements) -> DataFrame:
    codes = reader.dictionary()
    known = [[codes[t] for t in b] for b in ask.branches if all(t in codes for t in b)]
    return reader.lists().where(holds(known) if known else F.lit(False))


def holds(branches: Sequence[Sequence[int]]) -> Column:
    """Whether `codes` has, for some branch, all of its codes in order, with whatever in between.

    Each code is looked for behind the first event that fits the one before it, so that no event is looked at more than
    once for a code. A regular expression over `symbols`, which is no faster, would have to go back.
    """
    behind = "slice(rest, CAST(nullif(array_position(rest, code), 0) AS INT) + 1, size(rest))"
    wanted = [
        f"aggregate(array({', '.join(map(str, b))}), codes, (rest, code) -> {behind}) IS NOT NULL" for b in branches
    ]
    return F.expr(" OR ".join(wanted))


# -- events ------------------------------------------------------------------------------------------------------------


def _time_sql(d: Definition, time: str) -> str:
    """A stored time as a value of TIME's type."""
    return {
        "timestamp": f"timestamp_micros({time})",
        "timestamp_ntz": f"timestampadd(MICROSECOND, {time}, TIMESTAMP_NTZ'1970-01-01 00:00:00')",
        "date": f"date_from_unix_date(CAST({time} div 86400000000 AS INT))",
    }.get(d.time_type, f"CAST({time} AS {d.time_type})")


def _type_of(names: Sequence[str], code: str) -> Column:
    """The text of a code: a constant list, told apart by a character that no name has."""
    for separator in "\u0001\u0002\u0003\u0004":
        if not any(separator in n for n in names):
            return F.get(F.split(F.lit(separator.join(names)), separator, -1), F.col(code))
    return F.get(F.array(*(F.lit(n) for n in names)), F.col(code))


def _exploded(reader: Reader, cases: DataFrame, ask: Requirements, source: Input) -> DataFrame:
    """Rows of events from rows of cases."""
    d, codes = reader.definition, reader.dictionary()
    names = sorted(codes, key=codes.__getitem__)
    needed = source.needed or frozenset()
    include = {c: own for c, own in zip(d.include, include_columns(d), strict=True) if c in needed}
    lists = ["codes", "times", *(["ties"] if d.tiebreak is not None else []), *include.values()]
    rows = cases.select("case_key", F.explode(F.arrays_zip(*lists)).alias("e"))
    events = rows.select("case_key", *(F.col("e")[name].alias(name) for name in lists))
    if ask.only is not None:
        wanted = sorted(codes[t] for t in ask.only if t in codes)
        events = events.where(F.col("codes").isin(wanted) if wanted else F.lit(False))
    columns = {
        d.case: F.col("case_key"),
        d.time: F.expr(_time_sql(d, "times")),
        d.event: _type_of(names, "codes").cast(d.event_type),
    }
    if d.tiebreak is not None:
        columns[d.tiebreak] = F.col("ties")
    columns |= {c: F.col(own) for c, own in include.items()}
    # What orders events behind TIME and TIEBREAK, which tell them apart, orders nothing.
    columns |= {c: F.lit(0) for c in source.placed - columns.keys()}
    return events.select(*(column.alias(name) for name, column in columns.items()))


def _is_local(reader: Reader, types: Sequence[str]) -> bool:
    """Whether the driver itself reads the events of some types."""
    share = _wanted(reader, types)
    can = not is_remote(reader.spark) and reader.definition.case_type in _ARROW_TYPES
    return can and share * reader.snapshot.totals.events <= MAX_LOCAL_EVENTS


def _from_lists(reader: Reader, types: Sequence[str], lists: Lists, ids: Longs, source: Input) -> DataFrame:
    """Rows of events of some types, from their posting lists that the driver has read.

    Args:
        lists: with positions, where the events' positions in their cases stand for columns (``placed``).
    """
    d, placed = reader.definition, source.placed
    found = reader.local_events(types, lists, ids, source.scope)
    events = _typed(d, found)
    if placed:
        events = events.append_column("position", found["position"])
    frame = _decoded_by_tasks(reader.spark, events)
    if events.num_rows <= ONE_TASK:
        frame = frame.coalesce(1)
    if d.event_type in _ARROW_TYPES and not placed:
        return frame
    event = f"CAST({in_backticks(d.event)} AS {d.event_type}) AS {in_backticks(d.event)}"
    return frame.selectExpr(in_backticks(d.case), in_backticks(d.time), event, *_placed_items(d, placed))


def _placed_items(d: Definition, placed: Collection[str]) -> list[str]:
    """SELECT items of columns that a column `position` stands for."""
    types = {d.tiebreak: d.tiebreak_type}
    return [f"{order_kept(types.get(name, '')) or 'position'} AS {in_backticks(name)}" for name in placed]


def _decoded_by_tasks(spark: SparkSession, table: pa.Table) -> DataFrame:
    """An Arrow table as a DataFrame whose rows tasks make: rows made here would become a part of the plan, which is
    hashed and sent around more than once."""
    key = "spark.sql.execution.arrow.localRelationThreshold"
    with _SETTING:
        before = spark.conf.get(key, None)
        spark.conf.set(key, "0")
        try:
            return spark.createDataFrame(table)
        finally:
            if before is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, before)


def _from_activities(reader: Reader, types: Sequence[str], ids: Longs, placed: Collection[str]) -> DataFrame:
    """Rows of events of some types, from their posting lists, which Spark reads.

    Args:
        placed: columns that the events' positions in their cases stand for.
    """
    d = reader.definition
    lists = reader.activities(types, ids)
    keys = reader.case_keys(ids, with_ids=True)
    return lists.join(F.broadcast(keys) if len(ids) < 100_000 else keys, "id").selectExpr(
        f"case_key AS {in_backticks(d.case)}", f"{_time_sql(d, 'time')} AS {in_backticks(d.time)}",
        f"CAST(type AS {d.event_type}) AS {in_backticks(d.event)}", *_placed_items(d, placed),
    )  # fmt: skip


def _typed(d: Definition, events: pa.Table) -> pa.Table:
    """Columns key, type and time as CASE, TIME and EVENT have them; an event type that Arrow has no like of as text."""
    times = events["time"]
    if d.time_type == "date":
        times = pa.array(times.to_numpy() // 86_400_000_000, pa.int32()).cast(pa.date32())
    elif d.time_type in ("timestamp", "timestamp_ntz"):
        times = times.cast(pa.timestamp("us", tz="UTC" if d.time_type == "timestamp" else None))
    else:
        times = times.cast(_ARROW_TYPES[d.time_type])
    keys, types = events["key"].cast(_ARROW_TYPES[d.case_type]), events["type"]
    return pa.table({d.case: keys, d.time: times, d.event: types.cast(_ARROW_TYPES.get(d.event_type, pa.string()))})


def describe_bytes(size: int) -> str:
    """Bytes in the unit that leaves one to three digits."""
    value, unit = float(size), "B"
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
