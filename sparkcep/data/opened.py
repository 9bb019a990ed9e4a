"""A log's file once it is read: its columns and what they are taken for, and the lines that say so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sparkcep.data.discovery import quoted
from sparkcep.data.files import STDIN, LogFile
from sparkcep.data.roles import Guess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: What follows where a column of a log is not known.
_WITHOUT = {
    "case": "the whole log is one case", "time": "blocks need ORDER BY", "event": "blocks need EVENT TYPE",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReadColumn:
    """A column that is not as Spark's reader has it. ``found``: what it is found as. ``example``: one of its texts.
    ``misfits``: rows that do not fit, ``outcome``: what became of them."""

    name: str
    found: str
    example: str
    misfits: int = 0
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class OpenLog:
    """A file as a view.

    ``roles``: what its columns are taken for. ``columns``: those that are read otherwise than by Spark. ``texts``:
    columns that look like times and are left as text, with why. ``notes``: what else is to be said. ``aside``: the
    view of rows that did not fit, where they were kept. ``place``: the column of rows' places in their file, if there
    is one.
    """

    file: LogFile
    frame: DataFrame
    roles: Mapping[str, Guess]
    columns: Sequence[ReadColumn] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    aside: str | None = None
    place: str | None = None

    @property
    def cases(self) -> tuple[str, ...]:
        """The columns of a case."""
        return self.roles["case"].columns

    def column(self, role: str) -> str | None:
        """The column of a role."""
        return self.roles[role].column


def described(log: OpenLog) -> Iterator[str]:
    """What was found, as lines: roles, columns that are not as Spark's reader has them, what could not be told."""
    found = [f"{role} = {g.column} ({g.why})" for role, g in log.roles.items() if g.column is not None]
    yield f"{log.file.name} is {called(log.file)}: {'; '.join(found) or 'no columns were recognised'}"
    if log.columns:
        width = max(len(c.name) for c in log.columns)
        kinds = max(len(c.found) for c in log.columns)
        for own in log.columns:
            missed = f"  {rows_of(own.misfits)} not fit: {own.outcome}" if own.misfits else ""
            yield f"  {own.name:{width}}  {own.found:{kinds}}  {own.example}{missed}"
    for note in log.notes:
        yield f"  {note}"
    for role, effect in _WITHOUT.items():
        guess = log.roles[role]
        if guess.column is None:
            yield f"  no {role}: {guess.why}, so {effect}; --{role} COLUMN names it"
    for name, why in log.texts.items():
        if why != "--text":
            yield f"  {name} looks like times and stays text: {why}"


def block(log: OpenLog) -> str:
    """How a pattern block over the log begins: only with clauses for columns that were not found."""
    lacking = {"ORDER BY": log.column("time"), "EVENT TYPE": log.column("event")}
    said = (f"{word} COLUMN" for word, column in lacking.items() if column is None)
    return " ".join(["FROM", quoted(log.file.name), *said, "PATTERN ..."])


def rows_of(number: int) -> str:
    """So many rows, with the verb.

    >>> rows_of(1), rows_of(2000)
    ('1 row does', '2,000 rows do')
    """
    return "1 row does" if number == 1 else f"{number:,} rows do"


def called(file: LogFile) -> str:
    """How messages call a file."""
    return "standard input" if file.path == STDIN else file.path
