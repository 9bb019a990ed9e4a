"""The automaton of what two patterns both match: pairs of states that read the same event (GRETA, section 8)."""

from __future__ import annotations

from collections.abc import Mapping

from sparkcep.exec.automaton import ACCEPT, Automaton, Edge, NegatedPattern
from sparkcep.exec.instructions import too_large

#: Codes of two components to the code of the component that is both.
Pairs = Mapping[tuple[int, int], int]


def recoded(automaton: Automaton, names: tuple[str, ...], more: int = 0) -> Automaton:
    """The same automaton over other codes of its names, its negations numbered from ``more`` on."""
    code = {n: names.index(name) for n, name in enumerate(automaton.names) if name in names} | {-1: -1}

    def edge(e: Edge) -> Edge:
        absent, present = (frozenset(n + more for n in guard) for guard in (e.absent, e.present))
        return Edge(e.target, code[e.component], absent, present, e.ends)

    return Automaton(
        names,
        tuple(code[c] for c in automaton.components),
        tuple(tuple(map(edge, edges)) for edges in automaton.edges),
        tuple(NegatedPattern(n.item, recoded(n.automaton, names, more)) for n in automaton.negations),
    )


def intersect(left: Automaton, right: Automaton, pairs: Pairs, limit: int) -> Automaton:
    """Both automata at once, over components that are a pair of theirs.

    Args:
        left, right: over the same names, negations of ``right`` numbered behind those of ``left``.
        pairs: those that some event may be. limit: most states.

    Raises:
        LimitError: CEP_PROGRAM_TOO_LARGE.
    """
    start = (left.states, right.states)
    numbers: dict[tuple[int, int], int] = {}
    components: list[int] = []
    edges: list[tuple[Edge, ...]] = []
    waiting: list[tuple[int, int]] = []

    def number(state: tuple[int, int]) -> int:
        if state not in numbers:
            numbers[state] = len(components)
            components.append(pairs[left.components[state[0]], right.components[state[1]]])
            edges.append(())
            waiting.append(state)
            if len(components) > limit:
                raise too_large(limit)
        return numbers[state]

    def out_of(state: tuple[int, int]) -> tuple[Edge, ...]:
        taking, accepting = [], []
        for e in left.edges[state[0]]:
            for f in right.edges[state[1]]:
                absent, present = e.absent | f.absent, e.present | f.present
                if e.target == ACCEPT and f.target == ACCEPT:
                    accepting.append(Edge(ACCEPT, -1, absent, present))
                elif ACCEPT not in (e.target, f.target) and (e.component, f.component) in pairs:
                    pair = pairs[e.component, f.component]
                    taking.append(Edge(number((e.target, f.target)), pair, absent, present))
        return (*taking, *accepting)

    initial = out_of(start)
    while waiting:
        state = waiting.pop()
        edges[numbers[state]] = out_of(state)
    return Automaton(left.names, tuple(components), (*edges, initial), (*left.negations, *right.negations))
