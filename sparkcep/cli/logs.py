"""Files of the command line as views, and what their columns are taken for, said on standard error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from sparkcep.data.files import LogFile, read_file
from sparkcep.data.roles import ROLES, Guess, guess_roles, sampled
from sparkcep.errors import SparkCepError, near_name
from sparkcep.progress import activity
from sparkcep.query import in_backticks
from sparkcep.settings import LOG_CASE, LOG_EVENT, LOG_TIEBREAK, LOG_TIME

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEYS = {"case": LOG_CASE.key, "time": LOG_TIME.key, "event": LOG_EVENT.key, "tiebreak": LOG_TIEBREAK.key}
#: Formats of times that are tried, to name one where Spark reads text; the user decides, since days and months differ.
_TIMES = {
    "%d.%m.%Y %H:%M:%S": "dd.MM.yyyy HH:mm:ss", "%d.%m.%Y %H:%M": "dd.MM.yyyy HH:mm", "%d.%m.%Y": "dd.MM.yyyy",
    "%Y/%m/%d %H:%M:%S.%f": "yyyy/MM/dd HH:mm:ss.SSS", "%Y/%m/%d %H:%M:%S": "yyyy/MM/dd HH:mm:ss",
    "%Y/%m/%d %H:%M": "yyyy/MM/dd HH:mm", "%d-%m-%Y %H:%M:%S": "dd-MM-yyyy HH:mm:ss",
    "%d-%m-%Y %H:%M": "dd-MM-yyyy HH:mm", "%d/%m/%Y %H:%M:%S": "dd/MM/yyyy HH:mm:ss",
    "%d/%m/%Y %H:%M": "dd/MM/yyyy HH:mm", "%m/%d/%Y %H:%M:%S": "MM/dd/yyyy HH:mm:ss",
    "%m/%d/%Y %H:%M": "MM/dd/yyyy HH:mm", "%m/%d/%Y %I:%M:%S %p": "MM/dd/yyyy hh:mm:ss a", "%Y%m%d": "yyyyMMdd",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class OpenLog:
    """A file as a view, with its guesses by role."""

    file: LogFile
    frame: DataFrame
    roles: Mapping[str, Guess]

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
    alone: bool, quiet: bool,
) -> list[OpenLog]:  # fmt: skip
    """Make views of files. The columns of the only one become the session's spark.sparkcep.log.* settings.

    Args:
        options: of Spark's reader. named: columns by role that are not guessed. alone: no other log is loaded.

    Raises:
        SparkCepError: CEP_UNRESOLVED_COLUMN where a named column is not there, CEP_FILE, CEP_ARGUMENTS.
    """
    if len(files) > 1 and named:
        raise SparkCepError(
            "CEP_ARGUMENTS", f"--{next(iter(named))} is of one file, but there are {len(files)}.",
            hint="blocks name their columns: PARTITION BY case ORDER BY time EVENT TYPE type",
        )  # fmt: skip
    before = {role: value for role, key in KEYS.items() if (value := spark.conf.get(key, None))}
    out = [open_log(spark, file, options, {**before, **named}) for file in files]
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


def open_log(spark: SparkSession, file: LogFile, options: Mapping[str, str], named: Mapping[str, str]) -> OpenLog:
    """Make a view of a file, and guess its columns.

    Raises:
        SparkCepError: CEP_UNRESOLVED_COLUMN, CEP_FILE.
    """
    with activity(f"Reading {file.path}"):
        frame, _ = read_file(spark, file, options)
        frame.createOrReplaceTempView(file.name)
        for role, given in named.items():
            for name in given.split(",") if role == "case" else [given]:
                _check(file, frame.columns, role, name.strip().strip("`"))
        columns = sampled(frame)
    return OpenLog(file, frame, guess_roles(columns, {r: n.strip("`") for r, n in named.items()}))


def _check(file: LogFile, columns: Sequence[str], role: str, name: str) -> None:
    if name.casefold() not in (c.casefold() for c in columns):
        near = near_name(name, columns)
        raise SparkCepError(
            "CEP_UNRESOLVED_COLUMN", f"--{role} names {name}, but {file.path} has no such column.",
            hint=f"did you mean {near}?" if near else f"its columns are {', '.join(columns)}",
        )  # fmt: skip


def told(log: OpenLog, single: bool) -> list[str]:
    """What was guessed, as lines, with what to write where it is wrong or missing."""
    found = [f"{r} = {g.column} ({g.why})" for r in ROLES if (g := log.roles[r]).column is not None]
    lines = [f"{log.file.name} is {'standard input' if log.file.path == '-' else log.file.path}: "
             f"{'; '.join(found) or 'no columns were recognised'}"]  # fmt: skip
    for role in ("case", "time", "event"):
        guess = log.roles[role]
        if guess.column is None:
            effect = {"case": "so the whole log is one case", "time": "so blocks need ORDER BY",
                      "event": "so blocks need EVENT TYPE"}[role]  # fmt: skip
            lines.append(f"  no {role}: {guess.why}, {effect}; --{role} COLUMN names it{_format_hint(log, role)}")
    if not single:
        clause = [f"{word} {in_backticks(c)}" for word, role in
                  (("PARTITION BY", "case"), ("ORDER BY", "time"), ("EVENT TYPE", "event"))
                  if (c := log.column(role)) is not None]  # fmt: skip
        lines.append(f"  several logs: write FROM {log.file.name} {' '.join(clause)} PATTERN ...")
    elif found:
        lines.append("  blocks need no PARTITION BY, ORDER BY or EVENT TYPE for these; other columns: "
                     "--case, --time, --event, --tiebreak")  # fmt: skip
    return lines


def _format_hint(log: OpenLog, role: str) -> str:
    """The option that would make a time of a text, where a format fits."""
    name = log.roles[role].why.removesuffix(" was read as text")
    if role != "time" or name == log.roles[role].why:
        return ""
    values = [
        r[0]
        for r in log.frame.select(in_backticks(name)).where(f"{in_backticks(name)} IS NOT NULL").limit(100).collect()
    ]
    fits = [java for python, java in _TIMES.items() if values and all(_parses(v, python) for v in values)]
    if not fits:
        return f"; {name} is text such as {values[0]!r}: --option timestampFormat=..." if values else ""
    also = f" (or {' or '.join(fits[1:])})" if len(fits) > 1 else ""
    return f"; {name} is text such as {values[0]!r}: --option 'timestampFormat={fits[0]}'{also}"


def _parses(value: Any, form: str) -> bool:
    try:
        datetime.strptime(value, form)
    except (ValueError, TypeError):
        return False
    return True
