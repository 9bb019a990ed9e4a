"""What conditions look back at, by position of the automaton: what a search has to keep track of, and where."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

import numpy as np

from sparkcep.exec.arrays import Ints
from sparkcep.exec.compiler import ConditionPrograms
from sparkcep.exec.program import Program

T = TypeVar("T", bound=Hashable)


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
    """What each position advances.

    ``registers``: the registers that a row taken there enters; ``folds``: the aggregates that it enters. Only such as a
    condition there or later reads.
    """

    def __init__(self, program: Program, programs: ConditionPrograms, members: Sequence[frozenset[int]]) -> None:
        labels = program.labels.tolist()
        registers = range(len(members))
        # One bit per register, then one per aggregate; reading an aggregate reads its register's count.
        own = {}
        for label, reads in programs.reads.items():
            bits = sum({1 << register for register, _, _ in reads.navigations})
            for k in reads.aggregates:
                bits |= 1 << programs.agg[k][1] | 1 << len(members) + k
            own[label] = bits
        read = [own.get(label, 0) for label in labels]

        def update(p: int) -> bool:
            before = read[p]
            for target in after[p]:
                read[p] |= read[target]
            return read[p] != before

        after = [[t for t, _ in program.successors(p) if t >= 0] for p in range(program.positions)]
        settle(after, update)
        self.registers = Lists(
            [tuple(g for g in registers if read[p] >> g & 1 and label in members[g]) for p, label in enumerate(labels)]
        )
        self.folds = Lists(
            [
                tuple(
                    k
                    for k, (_, register, _) in enumerate(programs.agg)
                    if read[p] >> len(members) + k & 1 and label in members[register]
                )
                for p, label in enumerate(labels)
            ]
        )
