"""A pattern as a Mealy machine over its alphabet, where an attempt to match never has to take a step back.

The position automaton tries its edges in order of preference. An edge that comes behind another one which simulates it
is never the one that succeeds. If for every state and symbol one edge is left, an attempt is a run of a deterministic
machine, and what can be proven of the machine holds for the pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence, Set
from dataclasses import dataclass
from typing import TypeAlias

from sparkcep.exec.engines.rows.program import ACCEPT, Program
from sparkcep.planner.conditions.symbols import Symbol

#: Larger patterns are left to the kernel as they are; reasoning would take longer than planning should.
MAX_POSITIONS = 64


#: What may be seen of a row that a variable takes: the numbers of the lookers that notice it, and the variable's code
#: where its name may be asked for.
Seen: TypeAlias = tuple[frozenset[int], int | None]


@dataclass(frozen=True, slots=True)
class Step:
    """Taking a row: the state after it and what may be seen of the row."""

    target: int
    seen: Seen


@dataclass(frozen=True, slots=True)
class Machine:
    """State 0 is the start. ``steps[state][symbol index]`` is the step or None; ``accepts[state]``: a match may end.

    Where a state accepts and has steps, the steps come first (a greedy end).
    ``simulated[state]``: bits of the states that succeed only where, and not before, ``state`` does.
    """

    symbols: tuple[Symbol, ...]
    steps: tuple[tuple[Step | None, ...], ...]
    accepts: tuple[bool, ...]
    simulated: tuple[int, ...]

    def without(self, dropped: Set[Symbol]) -> Machine:
        """The machine for rows of the other symbols."""
        kept = [k for k, symbol in enumerate(self.symbols) if symbol not in dropped]
        steps = tuple(tuple(row[k] for k in kept) for row in self.steps)
        return Machine(tuple(self.symbols[k] for k in kept), steps, self.accepts, self.simulated)

    @property
    def ends_promptly(self) -> bool:
        """Whether a match is over as soon as it can be."""
        return not any(a and any(s) for a, s in zip(self.accepts, self.steps, strict=True))


def machine(program: Program, symbols: Sequence[Symbol], seen: Callable[[int], Seen]) -> Machine | None:
    """The machine of a program, or None where it has anchors, is too large or has to take steps back.

    Args:
        seen: what may be seen of a row by the code of its variable.
    """
    start = program.positions
    if start > MAX_POSITIONS:
        return None
    edges = [program.successors(p) for p in range(start + 1)]
    if any(condition for own in edges for _, condition in own):
        return None
    labels = program.labels.tolist()
    accepts = [any(t == ACCEPT for t, _ in own) for own in edges]
    # Edges behind the accepting one are never tried: it cannot fail.
    targets = [[t for t, _ in own][: [t for t, _ in own].index(ACCEPT) if a else None]
               for own, a in zip(edges, accepts, strict=True)]  # fmt: skip
    options = [[[t for t in own if labels[t] in symbol] for symbol in symbols] for own in targets]
    simulated = _simulation(options, accepts)
    chosen: list[list[int | None]] = []
    for own in options:
        row: list[int | None] = []
        for candidates in own:
            if any(not simulated[candidates[0]] >> t & 1 for t in candidates[1:]):
                return None
            row.append(candidates[0] if candidates else None)
        chosen.append(row)
    of = _equivalence(chosen, accepts, [seen(label) for label in labels])
    return _quotient(symbols, chosen, accepts, [seen(label) for label in labels], of, simulated)


def _simulation(options: list[list[list[int]]], accepts: list[bool]) -> list[int]:
    """The greatest simulation: bit s of state t says that wherever s comes to accept, t does, and not later."""
    states = len(options)
    everything = (1 << states) - 1
    reached = [[sum(1 << t for t in ts) for ts in own] for own in options]
    result = [everything if a else everything & ~sum(1 << s for s in range(states) if accepts[s]) for a in accepts]
    changed = True
    while changed:
        changed = False
        for t in range(states):
            if accepts[t]:
                continue
            covered = []
            for ts in options[t]:
                bits = 0
                for u in ts:
                    bits |= result[u]
                covered.append(bits)
            for s in range(states):
                if result[t] >> s & 1 and any(r & ~c for r, c in zip(reached[s], covered, strict=True)):
                    result[t] &= ~(1 << s)
                    changed = True
    return result


def _equivalence(chosen: list[list[int | None]], accepts: list[bool], seen: list[Seen]) -> list[int]:
    """Class of each state: equal classes have equal futures, in all that may be seen of them.

    The start is alone in its class: in a state like it, `X*` has taken rows, and a row that fits nowhere ends them.
    """
    of = [*(int(a) for a in accepts[:-1]), 2]
    count = len(set(of))
    while True:
        keys = [(of[s], tuple(None if t is None else (of[t], seen[t]) for t in row)) for s, row in enumerate(chosen)]
        numbers: dict[Hashable, int] = {}
        of = [numbers.setdefault(k, len(numbers)) for k in keys]
        if len(numbers) == count:
            return of
        count = len(numbers)


def _quotient(
    symbols: Sequence[Symbol],
    chosen: list[list[int | None]],
    accepts: list[bool],
    seen: list[Seen],
    of: list[int],
    simulated: list[int],
) -> Machine:
    """The machine on the classes that the start reaches, numbered as they are met."""
    start = len(chosen) - 1
    numbers = {of[start]: 0}
    members = [start]
    steps: list[tuple[Step | None, ...]] = []
    at = 0
    while at < len(members):
        row: list[Step | None] = []
        for t in chosen[members[at]]:
            if t is None:
                row.append(None)
                continue
            if of[t] not in numbers:
                numbers[of[t]] = len(members)
                members.append(t)
            row.append(Step(numbers[of[t]], seen[t]))
        steps.append(tuple(row))
        at += 1
    bits = [sum(1 << k for k, m in enumerate(members) if simulated[own] >> m & 1) for own in members]
    return Machine(tuple(symbols), tuple(steps), tuple(accepts[m] for m in members), tuple(bits))
