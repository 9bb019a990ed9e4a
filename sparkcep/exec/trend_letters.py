"""What each kind of row does, tabulated, where nothing but the states decides; see kernels/trend_states.py."""

from __future__ import annotations

import numpy as np

from sparkcep.block import Selection
from sparkcep.exec.automaton import ACCEPT
from sparkcep.exec.kernels.trend_tables import Fields, Letters, Ways
from sparkcep.exec.spec import BITS_PER_WORD
from sparkcep.exec.trend_spec import Granularity, TrendSpec

#: More bits than this make too large a table.
MOST_BITS = 10

_EMPTY = np.zeros(1, np.int64)
NO_LETTERS = Letters(
    0, np.uint64(0), _EMPTY, _EMPTY, _EMPTY, np.zeros(1), np.zeros(1, np.uint8), _EMPTY, _EMPTY, np.zeros(1, np.uint8),
    _EMPTY, _EMPTY, np.zeros(0, np.int64),
)  # fmt: skip


def applies(spec: TrendSpec) -> bool:
    """Whether a trend's next event depends on its state alone, for windows that do not overlap."""
    bits = spec.run.condition_bits.values()
    states = [c.state for c in spec.classes]
    return (
        spec.run.selection is not Selection.STRICT
        and not spec.run.strict_time
        and not spec.automaton.negations
        and max(bits, default=0) < min(MOST_BITS, BITS_PER_WORD)
        and all(c.granularity is Granularity.STATE and c.bit < 0 for c in spec.classes)
        and len(set(states)) == len(states)
        and all(bit < 0 for row in spec.edge_bits for bit in row)
    )


def trend_letters(spec: TrendSpec, ways: Ways, fields: Fields) -> Letters:
    """The table, or NO_LETTERS where it does not apply."""
    if not applies(spec):
        return NO_LETTERS
    automaton = spec.automaton
    states, classes, kinds = automaton.states, len(ways.kind), len(fields.kind)
    bits = spec.run.condition_bits
    width = max(bits.values(), default=-1) + 1
    class_of = {int(state): c for c, state in enumerate(ways.state)}
    accepting = [any(e.target == ACCEPT for e in automaton.edges[s]) for s in range(states)]
    stays = spec.run.selection is Selection.ANY  # what a state's sum has seen it keeps
    members = fields.member.reshape(kinds, -1)
    start, sources, leave_start = [0], [0], [0]
    made: list[int] = []
    into: list[int] = []
    begins: list[float] = []
    ends: list[int] = []
    source: list[int] = []
    member: list[np.ndarray] = []
    leave: list[int] = []
    for letter in range(1 << width):
        taken = {k for k in range(len(automaton.names)) if k not in bits or letter >> bits[k] & 1}
        ways_in: dict[int, list[int]] = {}
        left: set[int] = set()
        for s, edges in enumerate(automaton.edges):
            for e in edges:
                if e.target != ACCEPT and e.component in taken:
                    ways_in.setdefault(e.target, []).append(s)
                    if s < states and not stays and not e.ends:
                        left.add(s)
        for t, before in sorted(ways_in.items()):
            made.append(classes + t)
            into.append(class_of.get(t, -1))
            begins.append(float(states in before))
            ends.append(int(accepting[t] and not (stays and t in class_of)))
            source += [class_of[s] for s in before if s < states]
            sources.append(len(source))
            member.append(members[:, automaton.components[t]])
        start.append(len(made))
        leave += [class_of[s] for s in sorted(left)]
        leave_start.append(len(leave))
    final = [class_of[s] for s in range(states) if accepting[s] and stays and s in class_of]

    def ints(values: list[int]) -> np.ndarray:
        return np.array(values, np.int64)

    return Letters(
        1, np.uint64((1 << width) - 1), ints(start), ints([*made, 0]), ints([*into, 0]), np.array([*begins, 0.0]),
        np.array([*ends, 0], np.uint8), ints([*sources, 0]), ints([*source, 0]),
        np.concatenate([*member, np.zeros(1, np.uint8)]), ints(leave_start), ints([*leave, 0]), ints(final),
    )  # fmt: skip
