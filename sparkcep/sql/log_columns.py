"""Columns of a log that a statement does not name: what the table's properties say, else the session's settings, else
what :func:`sparkcep.read_log` has found in the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sparkcep.errors import PatternAnalysisError, near_hint
from sparkcep.settings import LOG_CASE, LOG_EVENT, LOG_TIEBREAK, LOG_TIME, Settings

KEYS = {"case": LOG_CASE.key, "time": LOG_TIME.key, "tiebreak": LOG_TIEBREAK.key, "event": LOG_EVENT.key}
#: Before a role: what the columns themselves say (:func:`roles_of`).
READ = "sparkcep.read."
#: Between names, which may hold any other sign.
_BETWEEN = "\u0001"


def roles_of(fields: Iterable[Any]) -> dict[str, str]:
    """Columns by their roles, as the metadata of the fields of a Spark schema says that a log was read with.

    A role whose columns are not all there, or there twice, as in views and joins, is nobody's.

    Returns:
        What :func:`names_of` takes apart, by READ and the role.
    """
    said: dict[str, list[tuple[int, int, str]]] = {}
    for column in fields:
        for key, place in column.metadata.items():
            if key.startswith(READ):
                said.setdefault(key, []).append((*place, column.name))
    return {
        key: _BETWEEN.join(name for _, _, name in sorted(found))
        for key, found in said.items()
        if sorted(k for k, _, _ in found) == list(range(found[0][1]))
    }


def names_of(said: str) -> tuple[str, ...]:
    """The names of columns in a value of :func:`roles_of`."""
    return tuple(said.split(_BETWEEN)) if said else ()


@dataclass(frozen=True, slots=True)
class LogColumns:
    """What is told of one log.

    Args:
        columns: the log's names. is_column: whether it has one of this name. type_of: Spark's type of a column.
        properties: of the table, where the log is one. read: columns by roles, see :func:`roles_of`. error: makes an
            error of a class, a sentence and a hint.
        notes: sentences about settings that are passed over.
    """

    columns: Callable[[], Sequence[str]]
    is_column: Callable[[str], bool]
    type_of: Callable[[str], str]
    properties: Callable[[], Mapping[str, str]]
    read: Callable[[], Mapping[str, str]]
    settings: Settings
    error: Callable[[str, str, str | None], PatternAnalysisError]
    notes: list[str] = field(default_factory=list)

    def of(self, role: str, *, needed: bool = True) -> tuple[str, ...]:
        """Columns of `case`, `time`, `tiebreak` or `event`; none where nothing names them.

        A setting may have been made for another log. Where the statement can do without it, a setting that names no
        column of this log is passed over with a note.

        Args:
            needed: whether the statement needs the role: not a tiebreak, nor the case of a log whose order it names,
                nor the event type of a pattern that names no type.

        Raises:
            PatternAnalysisError: CEP_UNRESOLVED_COLUMN; CEP_TIME_TYPE where the time is text.
        """
        key, names = self.named(role)
        for name in names:
            if self.is_column(name):
                continue
            if key == KEYS[role] and not needed:
                self.notes.append(f"{key} is ignored, as the input has no column {name}")
                return ()
            raise self.unresolved(key, name)
        if role == "time" and names and re.match("string|(var)?char", self.type_of(names[0])):
            raise self.error(
                "CEP_TIME_TYPE", f"{key} names {names[0]}, which is text, and text is not in the order of time.",
                f"read it through a view: SELECT *, to_timestamp(`{names[0]}`, 'dd.MM.yyyy HH:mm') AS at; "
                f"or write ORDER BY `{names[0]}` to sort by the text",
            )  # fmt: skip
        return names

    def named(self, role: str) -> tuple[str, tuple[str, ...]]:
        """What names the role's columns, and the names; none where nothing does."""
        key, value = f"sparkcep.{role}", self.properties().get(f"sparkcep.{role}", "").strip()
        if not value:
            key, value = KEYS[role], getattr(self.settings, f"log_{role}").strip()
        if not value:
            return READ + role, names_of(self.read().get(READ + role, ""))
        return key, tuple(n.strip().strip("`") for n in (value.split(",") if role == "case" else [value]) if n.strip())

    def unresolved(self, key: str, name: str) -> PatternAnalysisError:
        """CEP_UNRESOLVED_COLUMN; the caller raises it."""
        columns = self.columns()
        hint = near_hint(name, columns, f"its columns are {', '.join(columns)}")
        return self.error("CEP_UNRESOLVED_COLUMN", f"{key} names {name}, but the input has no such column.", hint)
