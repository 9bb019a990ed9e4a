"""Rows of events as DataFrames, from what an index has of them: posting lists, or cases as stored."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from sparkcep.index import read_here
from sparkcep.index.local_events import CaseGroups, Lists
from sparkcep.index.pairs import Longs
from sparkcep.index.reader import EVERYTHING, Reader, Scope
from sparkcep.index.tables import Definition, include_columns
from sparkcep.planner.pruning import Requirements
from sparkcep.query import in_backticks
from sparkcep.spark.executors import usable_cores
from sparkcep.spark.plan import is_remote
from sparkcep.spark.releases import frame_of
from sparkcep.spark.session_settings import changed

#: So few events are grouped by one task, without a shuffle.
ONE_TASK = 50_000
#: Types whose values Parquet, Arrow and Spark read alike.
ARROW_TYPES = {
    "string": pa.string(), "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(),
}  # fmt: skip
#: The same of TIEBREAK and INCLUDEd columns, beside decimals.
_VALUE_TYPES = ARROW_TYPES | {
    "float": pa.float32(), "double": pa.float64(), "boolean": pa.bool_(), "date": pa.date32(),
}  # fmt: skip
#: Held while a setting of the session is another than the user's.


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


def exploded(reader: Reader, cases: DataFrame, ask: Requirements, source: Input) -> DataFrame:
    """Rows of events from rows of cases."""
    d, codes = reader.definition, reader.dictionary()
    names = sorted(codes, key=codes.__getitem__)
    values = {name: own for name, (own, _) in _value_columns(reader, source).items()}
    lists = ["codes", "times", *values.values()]
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
    columns |= {name: F.col(own) for name, own in values.items()}
    # What orders events behind TIME and TIEBREAK, which tell them apart, orders nothing.
    columns |= {c: F.lit(0) for c in source.placed - columns.keys()}
    return events.select(*(column.alias(name) for name, column in columns.items()))


def _value_columns(reader: Reader, source: Input) -> dict[str, tuple[str, str]]:
    """Columns of `sequences` and their types, by what a query asks for or orders by beside CASE, TIME and EVENT."""
    d, needed = reader.definition, (source.needed or frozenset()) | source.placed
    own = {d.tiebreak: ("ties", d.tiebreak_type)} if d.tiebreak is not None else {}
    own |= dict(zip(d.include, zip(include_columns(d), d.include_types, strict=True), strict=True))
    return {name: column for name, column in own.items() if name in needed}


def can_be_read_here(reader: Reader, source: Input) -> bool:
    """Whether the driver itself can read cases as `sequences` has them."""
    d = reader.definition
    fits = all(_value_type(type_) is not None for _, type_ in _value_columns(reader, source).values())
    return fits and not is_remote(reader.spark) and {d.case_type, d.event_type} <= ARROW_TYPES.keys()


def _value_type(name: str) -> pa.DataType | None:
    """The Arrow type of values of a Spark type; None: they are not read here."""
    decimal = re.fullmatch(r"decimal\((\d+),(\d+)\)", name)
    return pa.decimal128(int(decimal[1]), int(decimal[2])) if decimal else _VALUE_TYPES.get(name)


def from_cases(reader: Reader, ask: Requirements, where: CaseGroups, ids: Longs, source: Input) -> DataFrame:
    """Rows of events of some cases, which the driver reads from `sequences`."""
    d, columns = reader.definition, _value_columns(reader, source)
    column_types = {"case_key": ARROW_TYPES[d.case_type]} | {own: _value_type(type_) for own, type_ in columns.values()}
    found = read_here.stored_events(reader, where, ids, ask.only, column_types, source.scope)
    events = _typed(d, found)
    for name, (own, _) in columns.items():
        events = events.append_column(name, found[own])
    frame = in_few_tasks(reader.spark, events)
    # What orders events behind TIME and TIEBREAK, which tell them apart, orders nothing.
    more = sorted(source.placed - columns.keys())
    return frame.select("*", *(F.lit(0).alias(name) for name in more)) if more else frame


def from_lists(reader: Reader, types: Sequence[str], lists: Lists, ids: Longs, source: Input) -> DataFrame:
    """Rows of events of some types, from their posting lists that the driver has read.

    Args:
        lists: with positions, where the events' positions in their cases stand for columns (``placed``).
    """
    d, placed = reader.definition, source.placed
    found = read_here.listed_events(reader, types, lists, ids, source.scope)
    events = _typed(d, found)
    if placed:
        events = events.append_column("position", found["position"])
    frame = in_few_tasks(reader.spark, events)
    if d.event_type in ARROW_TYPES and not placed:
        return frame
    event = f"CAST({in_backticks(d.event)} AS {d.event_type}) AS {in_backticks(d.event)}"
    return frame.selectExpr(in_backticks(d.case), in_backticks(d.time), event, *_placed_items(d, placed))


def _placed_items(d: Definition, placed: Collection[str]) -> list[str]:
    """SELECT items of columns that a column `position` stands for."""
    types = {d.tiebreak: d.tiebreak_type}
    return [f"{order_kept(types.get(name, '')) or 'position'} AS {in_backticks(name)}" for name in placed]


def in_few_tasks(spark: SparkSession, events: pa.Table) -> DataFrame:
    """An Arrow table as a DataFrame, of one partition where there are few events. Of itself it has one for every ten
    thousand, of which each costs a task."""
    tasks = 1 + events.num_rows // ONE_TASK
    return _decoded_by_tasks(spark, events).coalesce(tasks if tasks == 1 else min(usable_cores(spark), tasks))


def _decoded_by_tasks(spark: SparkSession, table: pa.Table) -> DataFrame:
    """An Arrow table as a DataFrame whose rows tasks make: rows made here would become a part of the plan, which is
    hashed and sent around more than once."""
    with changed(spark, "spark.sql.execution.arrow.localRelationThreshold", "0"):
        return frame_of(spark, table)


def from_activities(reader: Reader, types: Sequence[str], ids: Longs, placed: Collection[str]) -> DataFrame:
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
    """Columns case_key, type and time as CASE, TIME and EVENT have them, types that Arrow has no like of as text."""
    times = events["time"]
    if d.time_type == "date":
        times = pa.array(times.to_numpy() // 86_400_000_000, pa.int32()).cast(pa.date32())
    elif d.time_type in ("timestamp", "timestamp_ntz"):
        times = times.cast(pa.timestamp("us", tz="UTC" if d.time_type == "timestamp" else None))
    else:
        times = times.cast(ARROW_TYPES[d.time_type])
    keys, types = events["case_key"].cast(ARROW_TYPES[d.case_type]), events["type"]
    return pa.table({d.case: keys, d.time: times, d.event: types.cast(ARROW_TYPES.get(d.event_type, pa.string()))})
