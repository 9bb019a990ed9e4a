"""Queries over one table, in each other: what is known of the columns and the rows of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from sparkcep.index.tables import Source
from sparkcep.lineage.comparisons import Comparison
from sparkcep.lineage.descent import Made, same
from sparkcep.lineage.descent import Step as Passed


class UnknownOrigin(Exception):
    """Why it is not known which table the rows of a relation come from, one by one."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text stands: in the user's statement, or in a view, whose names are looked up in a ``namespace`` that
    begins with its catalog. ``temporary``: a view that may read temporary views. ``same_clock``: whether times as text
    mean there what they mean in the session. ``case_sensitive``: None: not known."""

    namespace: tuple[str, ...] = ()
    temporary: bool = False
    same_clock: bool = True
    case_sensitive: bool | None = None

    @property
    def is_view(self) -> bool:
        """Whether it is a view."""
        return bool(self.namespace)


@dataclass(frozen=True, slots=True)
class PlacedComparison:
    """A comparison with texts of constants, and where it stands, which says what they mean."""

    comparison: Comparison
    place: Place


@dataclass(frozen=True, slots=True)
class Leaf:
    """A table or files."""

    source: Source
    files: DataFrame
    format: str

    @property
    def names(self) -> tuple[str | None, ...]:
        """Its columns."""
        return tuple(self.files.schema.names)

    @property
    def gap(self) -> None:
        """See :class:`Step`: all of its columns are known."""
        return None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a query. ``below``: the column of its relation that it is nothing but; ``reads``: those that its
    ``text`` is made of, None where that is not known. ``name``: None: as Spark finds one."""

    name: str | None
    below: int | None = None
    reads: frozenset[int] | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """A query over a relation, each row of which comes from one row of that.

    ``columns``: those known; ``gap``: before which of them there are others, None: before none. ``where``: a condition,
    ``tested``: the columns below that it reads, None where it may read anything. ``asks``: what it asks of columns
    below. ``whole``, ``repeats``: as of :class:`Select`.
    """

    below: Leaf | Step
    columns: tuple[Column, ...]
    alias: str | None = None
    gap: int | None = None
    where: str | None = None
    tested: frozenset[int] | None = frozenset()
    asks: tuple[tuple[int, PlacedComparison], ...] = ()
    whole: bool = True
    repeats: bool = False
    place: Place = Place()

    @property
    def names(self) -> tuple[str | None, ...]:
        """Those of its columns; None where Spark finds one."""
        return tuple(column.name for column in self.columns)

    def made(self, column: int) -> Made:
        """What a column is made of, by its place."""
        own = self.columns[column]
        return Made(own.below, own.reads) if own.below is None else same(own.below)

    @property
    def passed(self) -> Passed[PlacedComparison]:
        """It as a step on the way down."""
        # A column that nobody reads may be a generator, which says how many rows there are.
        return Passed(self.made, self.tested, self.asks, self.whole and not self.repeats, self.repeats)

    @property
    def certain(self) -> int:
        """How many columns are known with their places."""
        return len(self.columns) if self.gap is None else self.gap


def as_named(names: Sequence[str | None]) -> list[Column]:
    """The first columns of a relation, by these names."""
    return [Column(name, at) for at, name in enumerate(names)]


def folded(name: str) -> str:
    """A name without the difference of upper and lower case, as far as rules agree on it."""
    # Spark's rules for other letters are not those of Python.
    return name.lower() if name.isascii() else name


def find(
    names: Sequence[str | None], parts: Sequence[str], alias: str | None = None, beside: Sequence[str | None] = ()
) -> int | None:
    """Which of some columns a name means, by any rule for upper and lower case that lets it mean something; None where
    that may be another one, or none.

    Args:
        parts: of the name. alias: of the relation whose columns these are.
        beside: names that are given beside it, which it may mean if it is none of the columns.
    """
    own = [None if name is None else folded(name) for name in names]
    if len(parts) == 2:
        if alias is None or not is_called(parts[0], alias, names):
            return None
    elif len(parts) != 1:
        return None
    name = parts[-1]
    if own.count(folded(name)) != 1:
        return None
    found = own.index(folded(name))
    others = {folded(other) for other in beside if other is not None}
    return found if names[found] == name or folded(name) not in others else None


def is_called(name: str, alias: str, names: Sequence[str | None]) -> bool:
    """Whether a name before a dot is that of a relation, and no column of it with fields."""
    if name == alias:
        return True
    fields = {folded(own) for own in names if own is not None}
    return folded(name) == folded(alias) and folded(name) not in fields


def origin_of(relation: Leaf | Step, at: int | None) -> tuple[str | None, Any]:
    """Name and type of the table's column that a column is nothing but; None of others."""
    while isinstance(relation, Step) and at is not None:
        at, relation = relation.columns[at].below, relation.below
    if not isinstance(relation, Leaf) or at is None:
        return None, None
    field = relation.files.schema.fields[at]
    return field.name, field.dataType
