"""The reference matcher: slow and obvious, straight from the definitions. The oracle of the tests.

It walks the pattern tree itself (no automaton, no masks) and enumerates matches in order of preference:

* concatenation: all ways of the first item, for each all ways of the rest;
* alternation: branches in textual order;
* greedy quantifier: one more iteration before stopping; reluctant: stopping before one more;
* an iteration beyond the minimum of an unbounded quantifier that takes no row is not continued.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sparkcep.pattern import (
    Alternation,
    Anchor,
    Concatenation,
    Empty,
    Exclusion,
    Pattern,
    Permutation,
    Quantified,
    Variable,
)
from sparkcep.query import SkipMode

#: A taken row: (variable, row, inside an exclusion).
Taken = tuple[str, int, bool]
Path = tuple[Taken, ...]
#: Condition of a variable: (path so far with the tested row as its last, match number) -> bool.
Condition = Callable[[Path, int], bool]


@dataclass(frozen=True)
class ReferenceMatch:
    """One match: its number (from 1), start row and taken rows; an empty match has none."""

    number: int
    start: int
    path: Path


def _ways(node: Pattern, path: Path, start: int, rows: int, take: Callable[[Path], bool], out: bool) -> Iterator[Path]:
    """The paths on which a node can go on, in order of preference; one that was there before leads to nothing new."""
    seen: set[Path] = set()
    for way in _all_ways(node, path, start, rows, take, out):
        if way not in seen:
            seen.add(way)
            yield way


def _all_ways(
    node: Pattern, path: Path, start: int, rows: int, take: Callable[[Path], bool], out: bool
) -> Iterator[Path]:
    row = start + len(path)
    if isinstance(node, Variable):
        if row < rows:
            longer = (*path, (node.name, row, out))
            if take(longer):
                yield longer
    elif isinstance(node, Concatenation):
        if not node.items:
            yield path
        else:
            rest = Concatenation(node.items[1:])
            for first in _ways(node.items[0], path, start, rows, take, out):
                yield from _ways(rest, first, start, rows, take, out)
    elif isinstance(node, Alternation):
        for item in node.items:
            yield from _ways(item, path, start, rows, take, out)
    elif isinstance(node, Permutation):
        for order in itertools.permutations(node.items):
            yield from _ways(Concatenation(order), path, start, rows, take, out)
    elif isinstance(node, Exclusion):
        yield from _ways(node.item, path, start, rows, take, True)
    elif isinstance(node, Empty):
        yield path
    elif isinstance(node, Anchor):
        if row == (0 if node.at_start else rows):
            yield path
    elif isinstance(node, Quantified):
        yield from _repeat(node, node.minimum, node.maximum, path, start, rows, take, out)
    else:
        raise ValueError(f"{type(node).__name__} has no meaning under strict contiguity")


def _repeat(
    node: Quantified,
    still: int,
    maximum: int | None,
    path: Path,
    start: int,
    rows: int,
    take: Callable[[Path], bool],
    out: bool,
) -> Iterator[Path]:
    less = None if maximum is None else maximum - 1
    if still > 0:
        for first in _ways(node.item, path, start, rows, take, out):
            yield from _repeat(node, still - 1, less, first, start, rows, take, out)
        return

    def more() -> Iterator[Path]:
        if maximum == 0:
            return
        for first in _ways(node.item, path, start, rows, take, out):
            if maximum is not None or len(first) > len(path):
                yield from _repeat(node, 0, less, first, start, rows, take, out)

    if node.greedy:
        yield from more()
        yield path
    else:
        yield path
        yield from more()


def first_way(node: Pattern, start: int, rows: int, take: Callable[[Path], bool]) -> Path | None:
    """The preferred match from a row, over the rows before ``rows``; None where there is none."""
    return next(_ways(node, (), start, rows, take, False), None)


def reference_matches(
    pattern: Pattern,
    rows: int,
    conditions: dict[str, Condition],
    skip: SkipMode = SkipMode.PAST_LAST_ROW,
    skip_variables: tuple[str, ...] = (),
    within: Callable[[int, int], bool] | None = None,
) -> list[ReferenceMatch]:
    """All matches of one partition under strict contiguity.

    Args:
        conditions: by variable; a missing one is true.
        within: (first row, last row) -> whether the match is short enough.

    Raises:
        ValueError: AFTER MATCH SKIP to the match's first row or to a variable that took no row.
    """
    found: list[ReferenceMatch] = []
    start = 0
    while start < rows:
        number = len(found) + 1

        def take(path: Path, number: int = number) -> bool:
            condition = conditions.get(path[-1][0])
            return condition is None or condition(path, number)

        ways = _ways(pattern, (), start, rows, take, False)
        path = next((p for p in ways if not p or within is None or within(start, p[-1][1])), None)
        if path is None:
            start += 1
            continue
        found.append(ReferenceMatch(number, start, path))
        if not path or skip is SkipMode.TO_NEXT_ROW:
            start += 1
        elif skip is SkipMode.PAST_LAST_ROW:
            start = path[-1][1] + 1
        else:
            targets = [row for name, row, _ in path if name in skip_variables]
            if not targets:
                raise ValueError("skip target absent")
            target = targets[0] if skip is SkipMode.TO_FIRST else targets[-1]
            if target == start:
                raise ValueError("skip to first row")
            start = target
    return found
