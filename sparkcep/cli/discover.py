"""`sparkcep discover FILE`: what is in a log, and three patterns to try, as commands."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from sparkcep.cli.options import Connection, Reading, session_of, with_connection, with_reading

if TYPE_CHECKING:
    from sparkcep.data.discovery import Discovered

FORMATS = ("csv", "parquet", "json", "delta", "xes")
_STEPS = 8


@click.command("discover")
@click.argument("path", metavar="[NAME=]PATH")
@click.option("--format", "form", type=click.Choice(FORMATS), help="Format of the file, if its name does not say.")
@click.option("--one-case", is_flag=True, help="The whole log is one case.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--top", default=10, type=click.IntRange(1), help="Length of lists (10).")
@with_connection
@with_reading
def discover_command(
    path: str, form: str | None, one_case: bool, as_json: bool, top: int, connection: Connection, reading: Reading
) -> None:
    """Describe a log: cases, event types, variants, what follows what, and three patterns to try."""
    from sparkcep.cli.logs import open_logs
    from sparkcep.data.discovery import LogColumns, discover
    from sparkcep.data.files import check_files, file_of
    from sparkcep.data.quality import quality, sentences
    from sparkcep.errors import SparkCepError
    from sparkcep.progress import activity
    from sparkcep.session.machine.interrupts import interruptible

    file = file_of(path, form)
    if connection.remote is None:
        check_files([file])
    how = reading.how()
    spark = session_of(connection)
    with interruptible(spark):
        (log,) = open_logs(spark, [file], how, alone=True, quiet=reading.quiet)
        found = {role: log.column(role) for role in log.roles}
        needed = ("time", "event") if one_case else ("time", "event", "case")
        if lacking := [role for role in needed if found[role] is None]:
            why = "; ".join(f"{role}: {log.roles[role].why}" for role in lacking)
            named = " and ".join(f"--{role}" for role in lacking)
            or_whole = ", --one-case takes the whole log for one" if lacking[0] == "case" else ""
            raise SparkCepError(
                "CEP_LOG_COLUMNS", f"sparkcep cannot tell the {' and the '.join(lacking)} of {file.path} ({why}).",
                hint=f"{named} COLUMN{or_whole}; its columns are {', '.join(log.frame.columns)}",
            )  # fmt: skip
        columns = LogColumns(() if one_case else log.cases, str(found["time"]), str(found["event"]), found["tiebreak"])
        with activity(f"Looking at {file.path}"):
            result = discover(log.frame, columns, file.name, top)
            flaws = quality(log.frame, columns, log.place)
    words = ["sparkcep", "sql", f"--{file.format}", file.path, "--as", file.name, *reading.words()]
    proposed = list(commands(result, words))
    if as_json:
        roles = {role: guess.column for role, guess in log.roles.items()}
        read = [asdict(column) for column in log.columns]
        rest = {"quality": asdict(flaws), "commands": proposed[2::3]}
        click.echo(
            json.dumps(
                {"roles": roles, "read": read, **asdict(result), **rest}, ensure_ascii=False, indent=2, default=str
            )
        )
        return
    questionable = list(sentences(flaws, columns)) or ["no duplicates, no NULL, and one spelling for each type"]
    lines = report(result, top, log.roles["tiebreak"].column)
    lines += ["", "Data quality:", *(f"  {line}" for line in questionable)]
    click.echo("\n".join([*lines, "", "Three patterns to try, as commands:", *proposed]))


def commands(log: Discovered, words: list[str]) -> list[str]:
    """The proposals as lines of a shell, each behind its question.

    Args:
        words: the command in front of the statement.
    """
    out = []
    for proposal in log.proposals:
        count = "" if proposal.cases is None else f": {proposal.cases:,} case{'s' * (proposal.cases != 1)}"
        out += ["", f"# {proposal.question}{count}", f"{shlex.join(words)} {for_shell(proposal.block)}"]
    return out


def for_shell(text: str) -> str:
    """A statement as one word of a POSIX shell, in double quotes if it can be, since it has single ones.

    >>> print(for_shell("FROM log PATTERN SEQ('A' a)"))
    "FROM log PATTERN SEQ('A' a)"
    """
    line = " ".join(part.strip() for part in text.split("\n"))
    # Shells that are typed to take ! for the history, also behind a backslash.
    return shlex.quote(line) if "!" in line else '"' + re.sub(r'(["$`\\])', r"\\\1", line) + '"'


def report(log: Discovered, top: int, tiebreak: str | None) -> list[str]:
    """What was found, as lines. ``tiebreak``: the column that orders events of one time."""
    from sparkcep.cli.printing import table
    from sparkcep.pictures.durations import in_words
    from sparkcep.session.inspection.ties import ordered_by

    def lasting(value: float) -> str:
        return in_words(value) if log.clock else f"{value:,.6g}"

    if not log.cases:
        return ["The log is empty."]
    out = [
        f"{log.events:,} events in {log.cases:,} case{'s' * (log.cases != 1)}, of {len(log.types):,} types, "
        f"from {log.first} to {log.last}",
        f"A case lasts {lasting(log.median_duration)} (median), {lasting(log.p90_duration)} (nine of ten are "
        f"shorter), {lasting(log.most_duration)} (the longest), and has up to {log.longest:,} events",
    ]
    if log.without_time:
        out.append(f"{log.without_time:,} events have no time (NULL)")
    if log.tied:
        by = ordered_by(tiebreak, log.undecided, "the names of their types")
        out.append(f"{log.tied:,} events share their time with another event of their case: they {by}")
    rows: list[list[str | None]] = [
        [t.name, f"{t.events:,}", f"{t.cases:,}", f"{t.repeated:,}"] for t in log.types[:top]
    ]
    out += ["", _heading("Event types", len(log.types), top), table(["type", "events", "cases", "repeated in"], rows)]
    if log.variants is None:
        out += ["", f"Variants are not listed: a case has up to {log.longest:,} events"]
    else:
        rows = [[f"{n:,}", f"{n / log.cases:.1%}", _sequence(v)] for v, n in log.variants]
        out += ["", _heading("Variants", log.variant_count, top), table(["cases", "share", "events in order"], rows)]
    rows = [
        [f.event, f.next, f"{f.events:,}", f"{f.cases:,}", lasting(f.least), lasting(f.median), lasting(f.most)]
        for f in log.follows[:top]
    ]
    names = ["event", "followed by", "times", "cases", "fastest", "median", "slowest"]
    return [*out, "", _heading("What follows what", len(log.follows), top), table(names, rows)]


def _heading(what: str, count: int, top: int) -> str:
    return f"{what}: {count:,}" + (f", the {top} most frequent (--top {count} shows all)" if count > top else "")


def _sequence(steps: object) -> str:
    names = list(steps)  # type: ignore[call-overload]
    shown = " > ".join(names[:_STEPS])
    return shown if len(names) <= _STEPS else f"{shown} > ... ({len(names)} events)"
