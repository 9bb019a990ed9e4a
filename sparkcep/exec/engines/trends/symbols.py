"""What each kind of row does, tabulated, where nothing but the states decides; see kernels/trends/states.py."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sparkcep.exec.automaton import ACCEPT
from sparkcep.exec.engines.trends.spec import Granularity, TrendSpec
from sparkcep.exec.kernels.runs.graph_tables import Machine
from sparkcep.exec.kernels.trends.tables import GRID, STATE, TREE, EdgeClasses, Fields, Rows, Single, Symbols
from sparkcep.exec.masks import BITS_PER_WORD
from sparkcep.query import Selection

#: More bits than this make too large a table.
MAX_BITS = 10

_EMPTY, _NO_ROWS, _NO_FLAGS = np.zeros(1, np.int64), np.zeros(1, np.int32), np.zeros(1, np.uint8)
_NOT_SINGLE = Single(np.zeros(1, np.uint64), _NO_FLAGS, 0, 0, _NO_ROWS, _NO_ROWS)
NO_SYMBOLS = Symbols(
    0, 0, np.uint64(0), _EMPTY, _EMPTY, _EMPTY, _EMPTY, np.zeros(1), _NO_FLAGS, _EMPTY, _NO_ROWS, _NO_FLAGS, _EMPTY,
    _EMPTY, np.zeros(0, np.int64), _NOT_SINGLE,
)  # fmt: skip


def applies(spec: TrendSpec) -> bool:
    """Whether a trend's next event depends on its state alone, and on orders, for windows that do not overlap."""
    bits = spec.run.condition_bits.values()
    kinds = {c.granularity for c in spec.classes}
    return (
        spec.run.selection is not Selection.STRICT
        and not spec.run.strict_time
        and not spec.automaton.negations
        and max(bits, default=0) < min(MAX_BITS, BITS_PER_WORD)
        and (kinds <= {Granularity.STATE} or (spec.run.selection is Selection.ANY and Granularity.PAIRS not in kinds))
        and all(c.bit < 0 for c in spec.classes)
        and all(bit < 0 for row in spec.edge_bits for bit in row)
    )


def trend_symbols(spec: TrendSpec, machine: Machine, edge_classes: EdgeClasses, fields: Fields) -> Symbols:
    """The table, or NO_LETTERS where it does not apply."""
    if not applies(spec):
        return NO_SYMBOLS
    automaton = spec.automaton
    states, classes, kinds = automaton.states, len(edge_classes.kind), len(fields.kind)
    bits = spec.run.condition_bits
    width = max(bits.values(), default=-1) + 1
    classes_of: dict[int, list[int]] = {}
    for c, state in enumerate(edge_classes.state):
        classes_of.setdefault(int(state), []).append(c)
    # The sum that has all of a state's trends.
    sum_of = {int(edge_classes.state[c]): c for c in range(classes) if edge_classes.kind[c] == STATE}
    accepting = [any(e.target == ACCEPT for e in automaton.edges[s]) for s in range(states)]
    stays = spec.run.selection is Selection.ANY  # what a state's sum has seen it keeps
    members = fields.member.reshape(kinds, -1)
    start, into_start, sources, leave_start = [0], [0], [0], [0]
    made: list[int] = []
    into: list[int] = []
    begins: list[float] = []
    ends: list[int] = []
    source: list[int] = []
    member: list[np.ndarray] = []
    leave: list[int] = []
    for symbol in range(1 << width):
        taken = {k for k in range(len(automaton.names)) if k not in bits or symbol >> bits[k] & 1}
        classes_in: dict[int, list[int]] = {}
        left: set[int] = set()
        for s, edges in enumerate(automaton.edges):
            for k, e in enumerate(edges):
                if e.target != ACCEPT and e.component in taken:
                    c = int(edge_classes.edge_class[machine.edge_start[s] + k]) if s < states else -1
                    classes_in.setdefault(e.target, []).append(c)
                    if s < states and not stays and not e.ends:
                        left.update(classes_of[s])
        for t, before in sorted(classes_in.items()):
            made.append(classes + t)
            into += classes_of.get(t, [])
            into_start.append(len(into))
            begins.append(float(-1 in before))
            ends.append(int(accepting[t] and not (stays and t in sum_of)))
            source += [c for c in before if c >= 0]
            sources.append(len(source))
            member.append(members[:, automaton.components[t]])
        start.append(len(made))
        leave += sorted(left)
        leave_start.append(len(leave))
    final = [sum_of[s] for s in range(states) if accepting[s] and stays and s in sum_of]

    def ints(values: list[int]) -> np.ndarray:
        return np.array(values, np.int64)

    found = Symbols(
        1, int(np.isin(edge_classes.kind, (TREE, GRID)).any()), np.uint64((1 << width) - 1), ints(start),
        ints([*made, 0]), ints(into_start), ints([*into, 0]), np.array([*begins, 0.0]), np.array([*ends, 0], np.uint8),
        ints([*sources, 0]), np.array([*source, 0], np.int32), np.concatenate([*member, np.zeros(1, np.uint8)]),
        ints(leave_start), ints([*leave, 0]), ints(final), _NOT_SINGLE,
    )  # fmt: skip
    return found if leave else found._replace(single=_single(found, classes + states))


def _single(symbols: Symbols, result: int) -> Single:
    """Behind the ``result`` is a record that stays empty, and one that nothing reads."""
    empty, unread = result + 1, result + 2
    none: list[int] = []
    sources, targets, begins, several = [], [], [], []
    for low, high in pairwise(symbols.start.tolist()):
        takes = low < high
        sources.append(symbols.source[slice(*symbols.source_start[low : low + 2])].tolist() if takes else none)
        into = symbols.into[slice(*symbols.into_start[low : low + 2])].tolist() if takes else none
        targets.append([*into, *[result] * (takes and int(symbols.ends[low]))])
        begins.append(int(symbols.begins[low]) if takes else 0)
        several.append(high - low > 1)
    most_sources, most_targets = (max(1, *map(len, lists)) for lists in (sources, targets))
    return Single(
        np.array(begins, np.uint64), np.array(several, np.uint8), most_sources, most_targets,
        _padded(sources, most_sources, empty), _padded(targets, most_targets, unread),
    )  # fmt: skip


def _padded(lists: list[list[int]], width: int, filler: int) -> Rows:
    return np.array([[*x, *[filler] * (width - len(x))] for x in lists], np.int32).ravel()
