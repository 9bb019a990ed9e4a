"""XES logs as tables: an event is a row, with the attributes of its trace."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from sparkcep.data.xes import Trace, XesLog
from sparkcep.errors import SparkCepError, warn
from sparkcep.session.machine.temporary import temporary_folder
from sparkcep.spark.plan import is_remote
from sparkcep.spark.releases import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Columns as pm4py calls them: attributes of traces stand behind ``case:``. POSITION is ours: an event's place in its
#: trace, from 0, which orders events of one time.
CASE, EVENT, TIME, POSITION = "case:concept:name", "concept:name", "time:timestamp", "event:position"
_OF_TRACE = "case:"
_NAME = "concept:name"
_TYPES = {
    "string": pa.string(), "id": pa.string(), "date": pa.timestamp("us", "UTC"), "int": pa.int64(),
    "float": pa.float64(), "boolean": pa.bool_(),
}  # fmt: skip
#: So many events are held at a time.
_EVENTS = 100_000


def read_xes(spark: SparkSession, path: str | Path, into: str | Path | None = None) -> DataFrame:
    """Read a log in XES (IEEE 1849), plain or gzipped, as a table with one row for each event.

    Args:
        path: a file on this machine.
        into: a new folder for the Parquet files that the table reads. By default, a temporary folder that is deleted
            when the process ends. On Spark Connect, the server gets a copy of the rows.

    Returns:
        Columns `case:concept:name` (text; a trace without a name gets its number, as ``#3``), `concept:name`,
        `time:timestamp` (TIMESTAMP; times without an offset are in UTC), `event:position` (an event's place in its
        trace, from 0), then the other attributes of events by their keys, and those of traces with the prefix
        ``case:``. Types are those of XES: STRING, BIGINT, DOUBLE, BOOLEAN, TIMESTAMP. A key with values of several
        types is DOUBLE if all are numbers, otherwise STRING. If names differ only in capitals, later ones get a number.
        Lists, containers, and events outside of traces are left out; a warning says how many. Attributes of attributes
        are left out without a warning.

    Raises:
        SparkCepError: CEP_XES if the file is not an XES log, with the line; CEP_FILE if it cannot be read, or if the
            folder already exists.
    """
    folder = temporary_folder() / "log" if into is None else Path(into)
    write_xes(str(path), folder)
    if is_remote(spark):  # which does not see this machine's files
        return frame_of(spark, pq.read_table(folder))
    return spark.read.parquet(str(folder.absolute()))


def write_xes(path: str, folder: Path) -> None:
    """Make a folder of Parquet of a log, and warn of what is not in it. See :func:`read_xes`.

    Raises:
        SparkCepError: CEP_XES, CEP_FILE.
    """
    if folder.exists():
        raise SparkCepError("CEP_FILE", f"{folder} cannot be written: it is there already.", hint="name a new folder")
    log = XesLog(path)
    names: set[str] = set()
    repeated = 0
    with tempfile.TemporaryDirectory(prefix="sparkcep-xes-") as spool:
        parts = 0
        for traces in _chunks(log):
            for trace in traces:
                name = _name(trace)
                repeated += name in names
                names.add(name)
            pq.write_table(_part(log, traces), Path(spool, f"{parts}.parquet"))
            parts += 1
        try:
            folder.mkdir(parents=True)
            for part in range(max(parts, 1)):
                table = pq.read_table(Path(spool, f"{part}.parquet")) if parts else _part(log, [])
                pq.write_table(_named(log, table), folder / f"part-{part:05}.parquet")
        except OSError as error:
            raise SparkCepError("CEP_FILE", f"{folder} cannot be written: {error.strerror or error}.") from None
    for sentence in _warnings(log, repeated):
        warn(sentence)


def _warnings(log: XesLog, repeated: int) -> Iterator[str]:
    if log.nested:
        found = ", ".join(f"{count:,} of <{tag}>" for tag, count in sorted(log.nested.items()))
        yield f"{log.path}: attributes that hold others are left out ({found})"
    if log.outside:
        yield f"{log.path}: {log.outside:,} events in no trace are left out"
    if repeated:
        are = "1 trace has" if repeated == 1 else f"{repeated:,} traces have"
        yield f"{log.path}: {are} the name of an earlier one, with which they are one case"


def _chunks(log: XesLog) -> Iterator[list[Trace]]:
    held: list[Trace] = []
    events = 0
    for trace in log.traces():
        held.append(trace)
        events += len(trace.events)
        if events >= _EVENTS:
            yield held
            held, events = [], 0
    if held:
        yield held


def _name(trace: Trace) -> str:
    name = trace.attributes.get(_NAME)
    return f"#{trace.number}" if name is None else str(name)


def _keys(log: XesLog) -> Iterator[tuple[bool, str, set[str]]]:
    """Keys of attributes so far with the kinds of their values; True: of traces."""
    yield from ((False, key, kinds) for key, kinds in log.event_kinds.items())
    yield from ((True, key, kinds) for key, kinds in log.trace_kinds.items() if key != _NAME)


def _own(of_trace: bool, key: str) -> str:
    """The column of a key in a part of the log: no two keys have one, whatever else the log will have."""
    return f"{'trace' if of_trace else 'event'} {key}"


def _type(kinds: Collection[str]) -> pa.DataType:
    types = {_TYPES[kind] for kind in kinds}
    if len(types) == 1:
        return types.pop()
    return pa.float64() if types == {pa.int64(), pa.float64()} else pa.string()


def _part(log: XesLog, traces: Sequence[Trace]) -> pa.Table:
    """The events of some traces, with the columns and types that are known so far."""
    counts = [len(trace.events) for trace in traces]
    of = pa.array([n for n, count in enumerate(counts) for _ in range(count)], pa.int64())
    out = {
        CASE: pa.array([_name(t) for t in traces], pa.string()).take(of),
        POSITION: pa.array([n for count in counts for n in range(count)], pa.int32()),
    }
    events = [event for trace in traces for event in trace.events]
    attributes = [trace.attributes for trace in traces]
    for of_trace, key, kinds in _keys(log):
        values = _array([owner.get(key) for owner in (attributes if of_trace else events)], _type(kinds))
        out[_own(of_trace, key)] = values.take(of) if of_trace else values
    return pa.table(out)


def _array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    return pa.array(map(_text, values) if type_ == pa.string() else values, type_)


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat()
    return None if value is None else str(value)


def _named(log: XesLog, part: pa.Table) -> pa.Table:
    """A part of the log with the columns and types of the whole."""
    empty = {EVENT: pa.string(), TIME: _TYPES["date"]}
    out = {CASE: part[CASE], **{name: pa.nulls(part.num_rows, type_) for name, type_ in empty.items()}}
    out[POSITION] = part[POSITION]
    for of_trace, key, kinds in _keys(log):
        own, type_ = _own(of_trace, key), _type(kinds)
        values = part[own] if own in part.column_names else pa.nulls(part.num_rows, type_)
        if values.type != type_:
            values = _array(values.to_pylist(), type_)
        out[key if not of_trace and key in empty else _free(_OF_TRACE + key if of_trace else key, out)] = values
    return pa.table(out)


def _free(name: str, taken: Collection[str]) -> str:
    """A name that differs from others in more than capitals, which Spark does not tell apart."""
    folded = {t.casefold() for t in taken}
    number, out = 1, name
    while out.casefold() in folded:
        number += 1
        out = f"{name}_{number}"
    return out
