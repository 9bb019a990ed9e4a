"""PatternQuery: one pattern form after binding, as frozen dataclasses. No Spark, no parser objects.

Scalar expressions stay the user's own text, cut into pieces: text that Spark evaluates as it stands, and slots whose
values depend on the match.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TypeAlias

from sparkcep.pattern import Pattern, can_be_empty, has_exclusion, variables

# Names that sparkcep gives to columns of its own; a user's column may not start with it.
PREFIX = "__cep_"
LABEL = PREFIX + "label"
# How generated SQL names the relation it reads.
SOURCE = PREFIX + "source"
MATCH_NUMBER = PREFIX + "match_number"
# An event's position in its partition, from 0; row expressions of the skip strategies may name it.
POSITION = PREFIX + "position"
# What went wrong while a row's partition was matched, as text; NULL for nothing.
ERROR = PREFIX + "error"
# The window over a whole partition in order, for columns that hold a value for each of its rows.
WHOLE = PREFIX + "whole"


def string_literal(text: str) -> str:
    """A SQL string literal, safe inside text that Spark formats (braces doubled)."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + escaped.replace("{", "{{").replace("}", "}}") + "'"


def unescape(text: str) -> str:
    """Undo the doubling of braces that text for Spark to format carries."""
    return text.replace("{{", "{").replace("}}", "}")


class RowsPerMatch(enum.Enum):
    ONE = "ONE ROW PER MATCH"
    ALL_SHOW_EMPTY = "ALL ROWS PER MATCH SHOW EMPTY MATCHES"
    ALL_OMIT_EMPTY = "ALL ROWS PER MATCH OMIT EMPTY MATCHES"
    ALL_WITH_UNMATCHED = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"

    @property
    def is_all(self) -> bool:
        return self is not RowsPerMatch.ONE


class SkipMode(enum.Enum):
    PAST_LAST_ROW = "SKIP PAST LAST ROW"
    TO_NEXT_ROW = "SKIP TO NEXT ROW"
    TO_FIRST = "SKIP TO FIRST"
    TO_LAST = "SKIP TO LAST"


@dataclass(frozen=True, slots=True)
class Skip:
    """AFTER MATCH SKIP; ``variables`` are the primary variables of the target."""

    mode: SkipMode
    target: str | None = None
    variables: tuple[str, ...] = ()


class Selection(enum.Enum):
    """Event selection strategies (SASE+, section 2)."""

    STRICT = "STRICT CONTIGUITY"
    NEXT = "SKIP TILL NEXT MATCH"
    ANY = "SKIP TILL ANY MATCH"


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
        return frozenset(p for p in self.pieces if isinstance(p, RowMarker))

    @property
    def is_label(self) -> bool:
        return [p for p in self.pieces if p != ""] == [RowMarker.LABEL]


@dataclass(frozen=True, slots=True)
class Navigation:
    """``PREV/NEXT(FIRST/LAST(argument, logical), physical)`` over the rows mapped to ``variables`` (None: all rows).

    ``physical`` is negative for PREV. ``each``: counts only the rows up to the one that a condition over every event
    of these variables is at (block.Condition.each).
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
class Aggregate:
    """``function(arguments)`` over the rows mapped to ``variables`` (None: all rows); ``star`` for count(*), count(v.*)
    and count(). ``each`` as for :class:`Navigation`. ``before``: without the last of the rows (``v[..i-1]``)."""

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


@dataclass(frozen=True, slots=True)
class MatchNumber:
    """``MATCH_NUMBER()``"""

    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Events:
    """All events of a match: array<struct<variable, position, time>>, the default output of a pattern block.

    ``time`` is the expression of an event's time, ``shown`` the names of components.
    """

    time: str
    shown: tuple[str, ...]
    position: int = field(default=0, compare=False)


Slot: TypeAlias = Navigation | Aggregate | MatchNumber | Events


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar expression: pieces of the user's text with slots between them. ``position`` is its offset."""

    pieces: tuple[str | Slot, ...]
    position: int = field(default=0, compare=False)

    @property
    def slots(self) -> tuple[Slot, ...]:
        return tuple(p for p in self.pieces if not isinstance(p, str))

    @property
    def text(self) -> str:
        return "".join(p if isinstance(p, str) else "?" for p in self.pieces)


@dataclass(frozen=True, slots=True)
class SortKey:
    """One ORDER BY key: the expression's text and its direction."""

    expression: str
    ascending: bool = True
    nulls_first: bool = True
    position: int = field(default=0, compare=False)

    @property
    def text(self) -> str:
        return (
            f"{self.expression} {'ASC' if self.ascending else 'DESC'} NULLS {'FIRST' if self.nulls_first else 'LAST'}"
        )


@dataclass(frozen=True, slots=True)
class KeyExpression:
    """A PARTITION BY expression."""

    expression: str
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Measure:
    name: str
    expression: Scalar


@dataclass(frozen=True, slots=True)
class Definition:
    """``variable AS condition``; the condition is split into its conjuncts. ``source`` is the user's text."""

    variable: str
    conjuncts: tuple[Scalar, ...]
    source: str


@dataclass(frozen=True, slots=True)
class NonAnswers:
    """EXPLAIN NON ANSWERS (k, uncertainty, step), each as the user's text; ``positions``: where they stand.

    ``repairs_only``: the statement around it drops the rows of partitions that are not repaired.
    """

    cost: str
    uncertainty: str
    step: str
    position: int = field(default=0, compare=False)
    positions: tuple[int, ...] = field(default=(), compare=False)
    repairs_only: bool = False


@dataclass(frozen=True, slots=True)
class PatternQuery:
    """A bound row pattern clause.

    ``columns`` are the input's column names in table order; ``identifiers`` every name that occurs in the clause's
    expressions (an upper bound of the columns they use). ``wanted``: case-folded names of the output columns that the
    statement around the clause may use, None for all. ``partition_predicate``: what that statement demands of
    PARTITION BY columns. ``with_prefix`` is the WITH list that the clause's subqueries may need.
    """

    columns: tuple[str, ...]
    partition_by: tuple[KeyExpression, ...]
    order_by: tuple[SortKey, ...]
    event_type: str | None
    measures: tuple[Measure, ...]
    rows_per_match: RowsPerMatch
    skip: Skip
    pattern: Pattern
    within: str | None
    within_position: int
    subsets: tuple[tuple[str, tuple[str, ...]], ...]
    definitions: tuple[Definition, ...]
    identifiers: frozenset[str]
    selection: Selection = Selection.STRICT
    non_answers: NonAnswers | None = None
    wanted: frozenset[str] | None = None
    partition_predicate: str = ""
    with_prefix: str = ""
    text: str = field(default="", compare=False)
    start: int = field(default=0, compare=False)

    @property
    def labels(self) -> tuple[str, ...]:
        """Primary pattern variables; a variable's code is its place here."""
        return variables(self.pattern)

    @property
    def nullable_match(self) -> bool:
        """Whether an output row may have no current row (empty match, unmatched row)."""
        return can_be_empty(self.pattern) or self.rows_per_match is RowsPerMatch.ALL_WITH_UNMATCHED

    @property
    def filters_excluded(self) -> bool:
        """Whether rows inside `{- -}` are matched and not shown."""
        return has_exclusion(self.pattern) and self.rows_per_match.is_all
