"""From a relation down to the files that its rows come from: what is made of which of their columns, and who decides.

Spark's plans (from_plan.py) and texts (from_text.py) are read as steps, one below the other; the way down is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

#: What a filter asks of one column, as who reads it says it.
Ask = TypeVar("Ask")


@dataclass(frozen=True, slots=True)
class Made:
    """What a column is made of, by numbers of the columns below. ``below``: the one that it is nothing but; ``reads``:
    None: it may depend on anything."""

    below: int | None
    reads: frozenset[int] | None


def same(column: int) -> Made:
    """One column as it is."""
    return Made(column, frozenset({column}))


@dataclass(frozen=True, slots=True)
class Step(Generic[Ask]):
    """Something on the way that gives rows, each made from one row below, and then lets some of them through.

    ``made``: what one of its columns is made of; None: of no row below. ``tested``: the columns below that decide
    which rows there are, None where anything may; ``asks``: what it asks of columns below; ``by_row``: whether nothing
    else decides. ``repeats``: whether a row below may come more than once.
    """

    made: Callable[[int], Made | None] = same
    tested: frozenset[int] | None = frozenset()
    asks: Sequence[tuple[int, Ask]] = ()
    by_row: bool = True
    repeats: bool = False


@dataclass(slots=True)
class Reached(Generic[Ask]):
    """What is known at the end of the way, of the columns there.

    ``plain``: the columns of the relation that each is as it is; ``used``: those that are made from it. ``tested``:
    what decides of rows; ``asks``: what filters ask. ``needed``: below each step, the columns that are read there.
    """

    plain: dict[int, frozenset[str]]
    used: dict[int, frozenset[str]]
    tested: frozenset[int] = frozenset()
    asks: list[tuple[int, Ask]] = field(default_factory=list)
    by_row: bool = True
    repeats: bool = False
    needed: list[frozenset[int]] = field(default_factory=list)

    def by_name(self, names: Mapping[int, str]) -> Iterator[tuple[str, str]]:
        """Columns of the relation, and those at the end that they are."""
        return ((column, names[at]) for at, of in self.plain.items() for column in of)

    def made_from(self, names: Mapping[int, str]) -> dict[str, frozenset[str]]:
        """By column of the relation those at the end that its value is made from."""
        made: dict[str, frozenset[str]] = {}
        for at, of in self.used.items():
            for column in of:
                made[column] = made.get(column, frozenset()) | {names[at]}
        return made


def descended(
    steps: Sequence[Step[Ask]], columns: Mapping[int, str], asks: Sequence[tuple[int, Ask]]
) -> Reached[Ask]:  # fmt: skip
    """The way down through some steps, the first one on top.

    Args:
        columns: those of the relation whose values matter, by their numbers.
        asks: what each row that matters meets.
    """
    wanted = {n: frozenset({c}) for n, c in columns.items()}
    at = Reached(wanted, wanted, asks=list(asks))
    for step in steps:
        at = _below(at, step)
    return at


def _below(at: Reached[Ask], step: Step[Ask]) -> Reached[Ask]:
    known: dict[int, Made | None] = {}

    def made(column: int) -> Made | None:
        if column not in known:
            known[column] = step.made(column)
        return known[column]

    plain: dict[int, frozenset[str]] = {}
    used: dict[int, frozenset[str]] = {}
    tested = step.tested or frozenset()
    by_row = at.by_row and step.by_row and step.tested is not None
    for column in (*at.used, *at.tested):
        found = made(column)
        by_row = by_row and found is not None and found.reads is not None
        reads = (found.reads if found is not None else None) or frozenset()
        if column in at.tested:
            tested |= reads
        if (of := at.used.get(column)) is not None:
            for below in reads:
                used[below] = used.get(below, frozenset()) | of
            if found is not None and found.below is not None and column in at.plain:
                plain[found.below] = plain.get(found.below, frozenset()) | at.plain[column]
    carried = ((found.below, test) for column, test in at.asks if (found := made(column)) is not None)
    asks = [(below, test) for below, test in carried if below is not None]
    needed = [*at.needed, frozenset(used) | tested]
    return Reached(plain, used, tested, [*asks, *step.asks], by_row, at.repeats or step.repeats, needed)
