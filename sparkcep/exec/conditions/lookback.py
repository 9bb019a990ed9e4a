"""What conditions look back at, by position of the automaton: what a search has to keep track of, and where."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeAlias, TypeVar

import numpy as np

from sparkcep.exec.arrays import Ints
from sparkcep.exec.conditions.programs import ConditionPrograms
from sparkcep.exec.engines.rows.program import Program
from sparkcep.exec.kernels.conditions import codes as op
from sparkcep.exec.kernels.rows import memo

T = TypeVar("T", bound=Hashable)
#: ("register", g), ("aggregate", k) or ("first", g, logical offset).
Read: TypeAlias = tuple[str, int] | tuple[str, int, int]


class Lists(Generic[T]):
    """One list per position in one array: position p has ``items[low[p]:high[p]]``; equal lists are stored once."""

    def __init__(self, lists: Sequence[tuple[T, ...]]) -> None:
        self.items: list[T] = []
        places: dict[tuple[T, ...], int] = {}
        for each in lists:
            if each not in places:
                places[each] = len(self.items)
                self.items.extend(each)
        self.low: Ints = np.array([places[each] for each in lists], np.int64)
        self.high: Ints = self.low + np.array([len(each) for each in lists], np.int64)


def settle(after: Sequence[Sequence[int]], update: Callable[[int], bool]) -> None:
    """Update positions from their followers until none changes; ``update`` says whether its position did."""
    before: list[list[int]] = [[] for _ in after]
    for p, targets in enumerate(after):
        for target in targets:
            before[target].append(p)
    pending = deque(range(len(after)))  # the pattern is compiled from its end, so followers mostly come first
    waiting = [True] * len(after)
    while pending:
        p = pending.popleft()
        waiting[p] = False
        if update(p):
            for q in before[p]:
                if not waiting[q]:
                    waiting[q] = True
                    pending.append(q)


class Lookback:
    """What each position advances, and what makes up the state of a search there.

    ``registers``: the registers that a row taken there enters; ``folds``: the aggregates that it enters. Only such as a
    condition there or later reads. ``signature``: what conditions later on look back at, as (kind, a, b) of
    kernels.memo: two attempts at which it is equal have the same future.
    """

    def __init__(self, program: Program, programs: ConditionPrograms, members: Sequence[frozenset[int]]) -> None:
        self.labels: list[int] = program.labels.tolist()
        self.after = [[t for t, _ in program.successors(p) if t >= 0] for p in range(program.positions)]
        self.members = members
        self.programs = programs
        read = self.reached(self.own_reads())
        aggregates = range(len(programs.agg))
        self.registers = Lists(
            [
                tuple(g for g, of in enumerate(members) if ("register", g) in read[p] and label in of)
                for p, label in enumerate(self.labels)
            ]
        )
        self.folds = Lists(
            [
                tuple(k for k in aggregates if ("aggregate", k) in read[p] and label in members[programs.agg[k][1]])
                for p, label in enumerate(self.labels)
            ]
        )
        last = self.last_rows()
        later = [frozenset[Read]().union(*(read[t] for t in targets)) for targets in self.after]
        self.signature = Lists([self.state(later[p], last[p]) for p in range(program.positions)])

    def own_reads(self) -> dict[int, frozenset[Read]]:
        """What each variable's condition reads: registers, aggregates, and from the first rows of which registers."""
        own = {}
        for label, reads in self.programs.reads.items():
            found: set[Read] = {("register", register) for register, _, _ in reads.navigations}
            found |= {("first", register, logical) for register, first, logical in reads.navigations if first}
            found |= {("register", register) for register in reads.everything}
            for k in reads.aggregates:  # with the count of its register
                found |= {("aggregate", k), ("register", self.programs.agg[k][1])}
            own[label] = frozenset(found)
        return own

    def reached(self, reads: dict[int, frozenset[Read]]) -> list[frozenset[Read]]:
        """What conditions at or after each position read."""
        read = [reads.get(label, frozenset()) for label in self.labels]

        def update(p: int) -> bool:
            before = read[p]
            read[p] = before.union(*(read[t] for t in self.after[p]))
            return len(read[p]) > len(before)

        settle(self.after, update)
        return read

    def last_rows(self) -> list[list[int]]:
        """How many of each register's last rows, as they are at a position, conditions after it may still look at.

        What LAST(x, k) finds moves back by one with each row that enters x on the way, the tested row included.
        """
        own: dict[int, list[int]] = {}
        for label, reads in self.programs.reads.items():
            own[label] = [0] * len(self.members)
            for register, first, logical in reads.navigations:
                if not first:
                    own[label][register] = max(own[label][register], logical + 1)
        nothing = [0] * len(self.members)
        later = [list(nothing) for _ in self.labels]

        def update(p: int) -> bool:
            before = list(later[p])
            for t in self.after[p]:
                wanted = own.get(self.labels[t], nothing)
                for g, of in enumerate(self.members):
                    still = max(wanted[g], later[t][g]) - (self.labels[t] in of)
                    later[p][g] = max(later[p][g], still)
            return later[p] != before

        settle(self.after, update)
        return later

    def state(self, later: frozenset[Read], last: list[int]) -> tuple[tuple[int, int, int], ...]:
        """A position's signature."""
        words = [(memo.LAST_ROW, register, k) for register, rows in enumerate(last) for k in range(rows)]
        for what, *numbers in sorted(later):
            if what == "first":
                words.append((memo.FIRST_ROW, numbers[0], numbers[1]))
            elif what == "aggregate":
                kind, register, _ = self.programs.agg[numbers[0]]
                if kind != op.HIGH:
                    words.append((memo.AGGREGATE_COUNT, numbers[0], register))
                if kind > op.COUNT + op.WIDE:
                    words.append((memo.AGGREGATE_VALUE, numbers[0], register))
        return tuple(words)
