"""Scalar expressions after binding: the user's own text, cut into pieces.

Text that Spark evaluates as it stands, and slots between, whose values depend on the match.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TypeAlias

from sparkcep.query.names import LABEL, MATCH_NUMBER, PREFIX


class RowMarker(enum.Enum):
    """What a row expression may need beside the row's own columns."""

    LABEL = LABEL
    MATCH_NUMBER = MATCH_NUMBER


@dataclass(frozen=True, slots=True)
class RowExpression:
    """An expression over the columns of one row: the user's text with qualifiers dropped and markers in place."""

    pieces: tuple[str | RowMarker, ...]

    @property
    def text(self) -> str:
        """Spark SQL text; markers become columns named by their value."""
        return "".join(p if isinstance(p, str) else p.value for p in self.pieces)

    @property
    def markers(self) -> frozenset[RowMarker]:
        """What the expression needs of the match beside columns of the row."""
        return frozenset(p for p in self.pieces if isinstance(p, RowMarker))

    @property
    def is_label(self) -> bool:
        """Whether it is CLASSIFIER() and nothing else."""
        return [p for p in self.pieces if p != ""] == [RowMarker.LABEL]


@dataclass(frozen=True, slots=True)
class Navigation:
    """``PREV/NEXT(FIRST/LAST(argument, logical), physical)`` over the rows mapped to ``variables`` (None: all rows).

    ``physical`` is negative for PREV. ``running``: up to the current row, not to the match's last one. ``each``: counts
    only the rows up to the one that a condition over every event of these variables is at (:class:`Condition`).
    """

    argument: RowExpression
    variables: tuple[str, ...] | None
    from_first: bool
    logical: int
    physical: int
    running: bool
    position: int = field(default=0, compare=False)
    each: bool = False


@dataclass(frozen=True, slots=True)
class OwnAggregate:
    """A user's aggregate: a function of one Arrow array for each argument, in row order, to a value.

    ``name``: in lower case. ``type``: Spark's name of the result's type. ``code``: the function, pickled: by name where
    its module can be imported, else by value.
    """

    name: str
    type: str
    code: bytes

    @property
    def sql_name(self) -> str:
        """Spark's function that has, before the arguments, which rows are the aggregate's."""
        return f"{PREFIX}{self.name}"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """``function(arguments)`` over the rows mapped to ``variables`` (None: all rows); ``star`` for count(*), count(v.*)
    and count(). ``running``, ``each`` as for :class:`Navigation`. ``before``: without the last row (``v[..i-1]``).
    ``own_aggregate``: where the function is a user's."""

    function: str
    arguments: tuple[RowExpression, ...]
    distinct: bool
    variables: tuple[str, ...] | None
    running: bool
    star: bool
    filter: RowExpression | None = None
    position: int = field(default=0, compare=False)
    each: bool = False
    before: bool = False
    own_aggregate: OwnAggregate | None = None


@dataclass(frozen=True, slots=True)
class MatchNumber:
    """``MATCH_NUMBER()``"""

    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Events:
    """All events of a match: array<struct<variable, position, time>>, the default output of a pattern block.

    ``time`` is the expression of an event's time, ``shown`` the names of components. ``event_id``: the expression of a
    further member ``id``; empty for none.
    """

    time: str
    shown: tuple[str, ...]
    event_id: str = ""
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Which component a run that timed out lacked; NULL of a match. ``shown``: names of components by code."""

    shown: tuple[str, ...]
    position: int = field(default=0, compare=False)


Slot: TypeAlias = Navigation | Aggregate | MatchNumber | Events | Waiting


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar expression: pieces of the user's text with slots between them. ``position`` is its offset."""

    pieces: tuple[str | Slot, ...]
    position: int = field(default=0, compare=False)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """What Spark cannot evaluate by itself, in order; a slot may come more than once."""
        return tuple(p for p in self.pieces if not isinstance(p, str))

    @property
    def text(self) -> str:
        """For messages and EXPLAIN, each slot as ``?``."""
        return "".join(p if isinstance(p, str) else "?" for p in self.pieces)
