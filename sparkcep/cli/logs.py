"""Files of the command line as views, and what their columns are taken for, said on standard error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

import click
from pyspark.sql import functions as F

from sparkcep.data.discovery import quoted
from sparkcep.data.files import STDIN, LogFile, read_file, spooled
from sparkcep.data.roles import ROLES, TEMPORAL, Guess, guess_roles, sampled, type_text
from sparkcep.data.row_order import ROW_IN_FILE, row_order
from sparkcep.data.times import time_reading
from sparkcep.errors import SparkCepError, near_hint
from sparkcep.progress import activity
from sparkcep.query import in_backticks
from sparkcep.sql.log_columns import KEYS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from sparkcep.data.row_order import RowOrder


@dataclass(frozen=True, slots=True)
class OpenLog:
    """A file as a view, with its guesses by role. ``texts``: columns that look like times and are left as text."""

    file: LogFile
    frame: DataFrame
    roles: Mapping[str, Guess]
    texts: Sequence[str] = ()

    @property
    def cases(self) -> tuple[str, ...]:
        """The columns of a case."""
        column = self.column("case")
        if column is None:
            return ()
        return tuple(c.strip().strip("`") for c in column.split(",")) if self.roles["case"].named else (column,)

    def column(self, role: str) -> str | None:
        """The column of a role."""
        return self.roles[role].column


def open_logs(
    spark: SparkSession, files: Sequence[LogFile], options: Mapping[str, str], named: Mapping[str, str], *,
    alone: bool, quiet: bool, time_format: str | None = None,
) -> list[OpenLog]:  # fmt: skip
    """Make views of files. The columns of the only one become the session's spark.sparkcep.log.* settings.

    Args:
        options: of Spark's reader. named: columns by role that are not guessed. alone: no other log is loaded.
        time_format: how the times of the only file are written, where that is told.

    Raises:
        SparkCepError: CEP_UNRESOLVED_COLUMN where a named column is not there, CEP_TIME_FORMAT or CEP_TIME_TYPE where a
            named time is none, CEP_FILE, CEP_ARGUMENTS.
    """
    of_one = [*named, *(["time-format"] if time_format else [])]
    if len(files) > 1 and of_one:
        raise SparkCepError(
            "CEP_ARGUMENTS", f"--{of_one[0]} is of one file, but there are {len(files)}.",
            hint="blocks name their columns: PARTITION BY case ORDER BY time EVENT TYPE type",
        )  # fmt: skip
    before = {role: value for role, key in KEYS.items() if (value := spark.conf.get(key, None))}
    # Of several files, whose rows may be joined, the columns of rows' places have different names.
    places = [ROW_IN_FILE if len(files) == 1 else f"row_in_{file.name}" for file in files]
    out = [
        open_log(spark, file, options, {**before, **named}, time_format, place)
        for file, place in zip(files, places, strict=True)
    ]
    single = alone and len(out) == 1
    if single:
        for role, guess in out[0].roles.items():
            if role in named:
                spark.conf.set(KEYS[role], named[role])
            elif guess.column is not None and role not in before:
                spark.conf.set(KEYS[role], in_backticks(guess.column))
    for log in out if not quiet else ():
        click.echo("\n".join(told(log, single)), err=True)
    return out


def open_log(
    spark: SparkSession, file: LogFile, options: Mapping[str, str], named: Mapping[str, str],
    time_format: str | None = None, place: str = ROW_IN_FILE,
) -> OpenLog:  # fmt: skip
    """Make a view of a file, guess its columns, read its time, and number its rows where nothing else breaks ties.

    Args:
        place: what the column of rows' places is called.

    Raises:
        SparkCepError: as :func:`open_logs`.
    """
    with activity(f"Reading {_called(file)}"):
        source = spooled(file)
        frame = read_file(spark, source, options)
        for role, given in named.items():
            for name in given.split(",") if role == "case" else [given]:
                _check(file, frame.columns, role, name.strip().strip("`"))
        samples = sampled(frame)
        roles = guess_roles(samples, {r: n.strip("`") for r, n in named.items()})
        time = roles["time"].column
        if time_format and time is not None and file.format == "csv":
            frame = read_file(spark, source, options, [n for n in frame.columns if n.casefold() == time.casefold()])
        columns: dict[str, Column] = {}
        order = row_order(frame, file.format, is_one_file=source.is_one)
        if time is not None:
            roles["time"], columns = _timed(frame, file, roles["time"], time_format, order)
        elif time_format:
            raise SparkCepError(
                "CEP_ARGUMENTS", f"--time-format: {roles['time'].why} in {_called(file)}.", hint="--time COLUMN"
            )
        if order is not None and roles["tiebreak"].column is None:
            taken = {c.casefold() for c in frame.columns}
            name = next(n for i in count(1) if (n := place + f"_{i}" * (i > 1)).casefold() not in taken)
            columns[name] = order.place
            why = "the order of the rows in " + ("their files" if order.several else "the file")
            roles["tiebreak"] = Guess("tiebreak", name, why)
        frame = frame.withColumns(columns) if columns else frame
        frame.createOrReplaceTempView(in_backticks(file.name))
    return OpenLog(file, frame, roles, [c.name for c in samples if c.is_text_of_times and c.name not in columns])


def _timed(
    frame: DataFrame, file: LogFile, guess: Guess, time_format: str | None, order: RowOrder | None
) -> tuple[Guess, dict[str, Column]]:
    """The guess of a time with how it is read, and the column that is read anew.

    Raises:
        SparkCepError: CEP_TIME_FORMAT, CEP_TIME_TYPE of a time that the user named.
    """
    name, type_ = next(f for f in frame.dtypes if f[0].casefold() == str(guess.column).casefold())
    try:
        reading = time_reading(frame, name, time_format, _called(file), order)
    except SparkCepError as error:
        if guess.named or time_format:
            raise
        return Guess("time", None, f"{error.sentence.rstrip('.')} ({error.hint})"), {}
    why = guess.why + (f", {type_text(type_)}" if guess.named else "")
    if reading is None:
        return replace(guess, why=why + ("" if type_ in TEMPORAL else " without a unit")), {}
    return replace(guess, why=f"{why}, read as {reading.format}"), {name: F.expr(reading.sql)}


def _called(file: LogFile) -> str:
    return "standard input" if file.path == STDIN else file.path


def _check(file: LogFile, columns: Sequence[str], role: str, name: str) -> None:
    if name.casefold() not in (c.casefold() for c in columns):
        raise SparkCepError(
            "CEP_UNRESOLVED_COLUMN", f"--{role} names {name}, but {file.path} has no such column.",
            hint=near_hint(name, columns, f"its columns are {', '.join(columns)}"),
        )  # fmt: skip


def told(log: OpenLog, single: bool) -> list[str]:
    """What was guessed, as lines, with what to write where it is wrong or missing."""
    found = [f"{r} = {g.column} ({g.why})" for r in ROLES if (g := log.roles[r]).column is not None]
    lines = [f"{log.file.name} is {_called(log.file)}: {'; '.join(found) or 'no columns were recognised'}"]
    for role in ("case", "time", "event"):
        guess = log.roles[role]
        if guess.column is None:
            effect = {"case": "so the whole log is one case", "time": "so blocks need ORDER BY",
                      "event": "so blocks need EVENT TYPE"}[role]  # fmt: skip
            lines.append(f"  no {role}: {guess.why}, {effect}; --{role} COLUMN names it")
    if log.texts:
        lines.append(
            f"  text that looks like times: {', '.join(log.texts)}; to_timestamp(column, 'dd.MM.yyyy') reads it"
        )
    if log.column("tiebreak") is None:
        lines.append("  no tiebreak: a Delta table's rows have no order, so events of one time are ordered by "
                     "the names of their types; --tiebreak COLUMN names it")  # fmt: skip
    if not single:
        order = ", ".join(in_backticks(c) for role in ("time", "tiebreak") if (c := log.column(role)) is not None)
        parts = {"PARTITION BY": ", ".join(map(in_backticks, log.cases)), "ORDER BY": order,
                 "EVENT TYPE": "".join(in_backticks(c) for c in [log.column("event")] if c)}  # fmt: skip
        clause = " ".join(f"{word} {columns}" for word, columns in parts.items() if columns)
        lines.append(f"  several logs: write FROM {quoted(log.file.name)} {clause} PATTERN ...")
    elif found:
        lines.append("  blocks need no PARTITION BY, ORDER BY or EVENT TYPE for these; other columns: "
                     "--case, --time, --event, --tiebreak")  # fmt: skip
    return lines
