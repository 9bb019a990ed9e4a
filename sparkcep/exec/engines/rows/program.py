"""Compile a pattern tree to a position automaton with ordered edges.

The tree becomes a program of split, jump, take, anchor and accept instructions (as in Pike's VM and Trino's matcher);
then every empty move is folded away. What is left is one state per variable occurrence and, for each, its successors in
order of preference: the first viable one is always the right one to take.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparkcep.exec.arrays import Ints
from sparkcep.exec.instructions import DONE, OTHER, PER_POSITION, SPLIT, TAKE, Instructions, too_large
from sparkcep.pattern import (
    Anchor,
    Exclusion,
    Pattern,
    Quantified,
    Variable,
    can_be_empty,
    variables,
)
from sparkcep.settings import LIMIT_PROGRAM

ACCEPT = -1
#: Edge conditions, bits: the boundary must be the partition's start, its end.
AT_START, AT_END = 1, 2


@dataclass(frozen=True, slots=True)
class Program:
    """The automaton as arrays.

    ``labels`` (P,): variable code of each position. ``excluded`` (P,): inside `{- -}`. ``edge_start`` (P + 2,): edges
    of position p are ``edge_start[p]`` to ``edge_start[p + 1]``; the initial edges are those of position P.
    ``edge_target`` and ``edge_condition`` (E,): position or ACCEPT, and AT_START | AT_END bits.
    """

    names: tuple[str, ...]
    labels: Ints
    excluded: Ints
    edge_start: Ints
    edge_target: Ints
    edge_condition: Ints

    @property
    def positions(self) -> int:
        """How many variables the pattern has, each occurrence counted."""
        return len(self.labels)

    def successors(self, state: int) -> list[tuple[int, int]]:
        """(target, condition) of a state's edges in order of preference; state P is the start."""
        span = slice(self.edge_start[state], self.edge_start[state + 1])
        return list(zip(self.edge_target[span].tolist(), self.edge_condition[span].tolist(), strict=True))

    def describe(self) -> str:
        """One line per state, successors in order of preference; for EXPLAIN."""

        def edge(target: int, condition: int) -> str:
            text = "accept" if target == ACCEPT else f"{self.names[self.labels[target]]}.{target}"
            return text + ("^" if condition & AT_START else "") + ("$" if condition & AT_END else "")

        lines = []
        for state in (self.positions, *range(self.positions)):
            name = "start" if state == self.positions else f"{self.names[self.labels[state]]}.{state}"
            if state < self.positions and self.excluded[state]:
                name = "{-" + name + "-}"
            edges = [edge(*successor) for successor in self.successors(state)]
            lines.append(f"{name} -> {', '.join(edges) or 'dead end'}")
        return "\n".join(lines)


#: ^ and $; the argument is AT_START or AT_END.
_ANCHOR = OTHER


class _Compiler(Instructions):
    def __init__(self, names: tuple[str, ...], limit: int) -> None:
        super().__init__({name: k for k, name in enumerate(names)}, limit)
        self.excluded: list[int] = []
        self.inside_exclusion = 0
        #: Unbounded loops, and which of their ways begins another iteration.
        self.again: dict[int, int] = {}

    def take(self, node: Variable, after: int) -> int:
        self.excluded.append(int(self.inside_exclusion > 0))
        return super().take(node, after)

    def other(self, node: Pattern, after: int) -> int:
        if isinstance(node, Exclusion):
            self.inside_exclusion += 1
            entry = self.add(node.item, after)
            self.inside_exclusion -= 1
            return entry
        if isinstance(node, Anchor):
            here = self.emit(_ANCHOR, AT_START if node.at_start else AT_END)
            self.next[here] = [after]
            return here
        raise ValueError(f"{type(node).__name__} has no meaning under strict contiguity")

    def quantified(self, node: Quantified, after: int) -> int:
        rest = node.minimum
        if node.maximum is None:
            loop = self.emit(SPLIT)
            body = self.add(node.item, loop)
            self.again[loop] = 0 if node.greedy else 1
            self.next[loop] = [body, after] if node.greedy else [after, body]
            entry = loop
            if node.minimum == 1 and not can_be_empty(node.item):
                entry, rest = body, 0
        else:
            entry = after
            for _ in range(node.maximum - node.minimum):
                split = self.emit(SPLIT)
                body = self.add(node.item, entry)
                self.next[split] = [body, after] if node.greedy else [after, body]
                entry = split
        return self.repeated(node.item, rest, entry)

    def closure(self, start: int, at_partition_start_possible: bool) -> list[tuple[int, int]]:
        """Edges reachable from an instruction without taking a row, in order of preference.

        An instruction reached again under the same or stricter conditions adds nothing. An iteration of a loop that
        takes no row is not continued, so a loop under way is not come back to.
        """
        edges: list[tuple[int, int]] = []
        conditions: dict[int, list[int]] = {}
        seen: dict[tuple[int, frozenset[int]], list[int]] = {}
        stack: list[tuple[int, int, frozenset[int]]] = [(start, 0, frozenset())]

        def add(target: int, condition: int) -> None:
            known = conditions.setdefault(target, [])
            if not any(c & ~condition == 0 for c in known):
                known.append(condition)
                edges.append((target, condition))

        while stack:
            at, condition, loops = stack.pop()
            earlier = seen.setdefault((at, loops), [])
            if at in loops or any(e & ~condition == 0 for e in earlier):
                continue
            earlier.append(condition)
            kind = self.kind[at]
            if kind == TAKE:
                target = self.argument[at]
                if not condition & AT_END:  # no row follows the end
                    add(target, condition)
            elif kind == DONE:
                add(ACCEPT, condition)
            elif kind == _ANCHOR:
                if self.argument[at] == AT_END or at_partition_start_possible:
                    stack.append((self.next[at][0], condition | self.argument[at], loops))
            else:
                for k in reversed(range(len(self.next[at]))):
                    under_way = loops | {at} if self.again.get(at) == k else loops
                    stack.append((self.next[at][k], condition, under_way))
        return edges


def compile_pattern(pattern: Pattern, limit: int = int(LIMIT_PROGRAM.default)) -> Program:
    """Compile a pattern; variable codes follow the order of first appearance.

    Raises:
        LimitError: the pattern unrolls to more than ``limit`` positions or 20 times as many edges
            (CEP_PROGRAM_TOO_LARGE).
    """
    names = variables(pattern)
    compiler = _Compiler(names, limit)
    done = compiler.emit(DONE)
    entry = compiler.add(pattern, done)
    take_of = {compiler.argument[k]: k for k, kind in enumerate(compiler.kind) if kind == TAKE}
    edges, count = [], 0
    for position in range(len(compiler.labels)):
        edges.append(compiler.closure(compiler.next[take_of[position]][0], False))
        count += len(edges[-1])
        if count > PER_POSITION * limit:
            raise too_large(limit)
    edges = without_dead_ends([*edges, compiler.closure(entry, True)])
    every = [edge for own in edges for edge in own]
    return Program(
        names,
        np.array(compiler.labels, np.int64),
        np.array(compiler.excluded, np.int64),
        np.cumsum([0, *map(len, edges)], dtype=np.int64),
        np.array([target for target, _ in every], np.int64),
        np.array([condition for _, condition in every], np.int64),
    )


def without_dead_ends(edges: list[list[tuple[int, int]]]) -> list[list[tuple[int, int]]]:
    """Edges of states without those to positions from which no match ends, whatever rows come, as in `A* ^ B`."""
    before: dict[int, list[int]] = {}
    for state, own in enumerate(edges):
        for target, _ in own:
            before.setdefault(target, []).append(state)
    ending, todo = {ACCEPT}, [ACCEPT]
    while todo:
        found = [state for state in before.get(todo.pop(), ()) if state not in ending]
        ending.update(found)
        todo += found
    return [[edge for edge in own if edge[0] in ending] for own in edges]
