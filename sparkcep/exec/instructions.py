"""A pattern as a program of take and split instructions (as in Pike's VM and Trino's matcher), built back to front.

What both automata of the engines are compiled from; each adds instructions of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from sparkcep.errors import LimitError
from sparkcep.pattern import (
    Alternation,
    Concatenation,
    Empty,
    Pattern,
    Permutation,
    Quantified,
    Variable,
    matches_one_way,
)
from sparkcep.settings import LIMIT_PROGRAM

#: Kinds of instructions: TAKE has a position, SPLIT several ways on in order of preference. Others begin at OTHER.
TAKE, SPLIT, DONE, OTHER = range(4)


#: Most instructions, and most edges, for each position that the limit allows.
PER_POSITION = 20


def too_large(limit: int) -> LimitError:
    """CEP_PROGRAM_TOO_LARGE, with ``limit`` in positions; the caller raises it."""
    return LimitError(
        "CEP_PROGRAM_TOO_LARGE",
        f"The pattern unrolls to more than {limit} positions ({LIMIT_PROGRAM.key}).",
        hint="use smaller bounds in {n,m} and fewer elements in PERMUTE, or raise the limit",
    )


class Instructions:
    """Instruction k has ``kind[k]``, ``argument[k]`` and goes on at ``next[k]``; position p takes ``labels[p]``.

    Args:
        codes: what each name of the pattern's leaves is taken as.
        limit: most positions.

    Raises:
        LimitError: CEP_PROGRAM_TOO_LARGE, from ``add``.
    """

    def __init__(self, codes: Mapping[str, int], limit: int) -> None:
        self.codes = codes
        self.limit = limit
        self.kind: list[int] = []
        self.argument: list[int] = []
        self.next: list[list[int]] = []
        self.labels: list[int] = []

    def emit(self, kind: int, argument: int = 0) -> int:
        """Append an instruction that goes nowhere yet; returns its number.

        Raises:
            LimitError: CEP_PROGRAM_TOO_LARGE.
        """
        if len(self.kind) > PER_POSITION * self.limit:
            raise too_large(self.limit)
        self.kind.append(kind)
        self.argument.append(argument)
        self.next.append([])
        return len(self.kind) - 1

    def add(self, node: Pattern, after: int) -> int:
        """Add code for a node that continues at instruction ``after``; returns its entry."""
        if isinstance(node, Variable):
            return self.take(node, after)
        if isinstance(node, Concatenation):
            for item in reversed(node.items):
                after = self.add(item, after)
            return after
        if isinstance(node, Alternation):
            here = self.emit(SPLIT)
            self.next[here] = [self.add(item, after) for item in node.items]
            return here
        if isinstance(node, Permutation):
            return self.permutation(node, after)
        if isinstance(node, Quantified):
            return self.quantified(node, after)
        if isinstance(node, Empty):
            return after
        return self.other(node, after)

    def take(self, node: Variable, after: int) -> int:
        """A position that takes one row as a leaf's code and goes on at ``after``; returns its instruction.

        Raises:
            LimitError: CEP_PROGRAM_TOO_LARGE.
        """
        if len(self.labels) >= self.limit:
            raise too_large(self.limit)
        here = self.emit(TAKE, len(self.labels))
        self.labels.append(self.codes[node.name])
        self.next[here] = [after]
        return here

    def permutation(self, node: Permutation, after: int) -> int:
        """The alternation of all orders, earlier ones in the list first, as ISO/IEC 19075-5 has it.

        Preference is by order first, and only within an order by the ways in which its items match. So orders share
        their suffixes, whatever they are, but a prefix only where it can match in one way: behind such items what
        follows depends on the set of items still to come, behind others the order of the rest is settled.
        """
        items, fixed = node.items, [matches_one_way(item) for item in node.items]
        suffixes: dict[tuple[int, ...], int] = {(): after}
        sets: dict[frozenset[int], int] = {}

        def suffix(order: tuple[int, ...]) -> int:
            if order not in suffixes:
                suffixes[order] = self.add(items[order[0]], suffix(order[1:]))
            return suffixes[order]

        def any_order(remaining: frozenset[int]) -> int:
            if len(remaining) < 2:
                return suffix(tuple(remaining))
            if remaining not in sets:
                here = sets[remaining] = self.emit(SPLIT)
                for k in sorted(remaining):
                    rest = remaining - {k}
                    if fixed[k]:
                        self.next[here].append(self.add(items[k], any_order(rest)))
                    else:
                        orders = itertools.permutations(sorted(rest))
                        self.next[here].extend(suffix((k, *order)) for order in orders)
            return sets[remaining]

        return any_order(frozenset(range(len(items))))

    def repeated(self, item: Pattern, times: int, entry: int) -> int:
        """So many copies of an item in front of ``entry``."""
        for _ in range(times):
            before = len(self.labels)
            entry = self.add(item, entry)
            if len(self.labels) == before:  # what takes no row says no more when it is repeated
                break
        return entry

    def quantified(self, node: Quantified, after: int) -> int:
        """Code of a quantifier that continues at ``after``; returns its entry. Subclasses know what an iteration is."""
        raise NotImplementedError

    def other(self, node: Pattern, after: int) -> int:
        """Code for a node that only one of the automata knows."""
        raise NotImplementedError
