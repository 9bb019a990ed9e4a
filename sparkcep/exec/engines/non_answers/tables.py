"""Tables of the repair kernel: of a spec once per matcher, of a batch once per batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from sparkcep.exec.arrays import Ints
from sparkcep.exec.automaton import ACCEPT, Automaton, Edge
from sparkcep.exec.engines.non_answers.spec import Bound, Repair
from sparkcep.exec.engines.runs.spec import RunSpec
from sparkcep.exec.kernels.non_answers import tables
from sparkcep.exec.kernels.non_answers.tables import UNBOUNDED, Limits, Repairs, Scratch
from sparkcep.exec.masks import BITS_PER_WORD
from sparkcep.expr.nodes import Call, Constant
from sparkcep.expr.types import BIGINT
from sparkcep.pattern import Concatenation, Variable
from sparkcep.query import Selection

_TRUE = Call("=", (Constant(1, BIGINT), Constant(1, BIGINT)))


def chain(run: RunSpec, repair: Repair) -> RunSpec:
    """The run spec whose automaton is the sequence, place p its state p; conditions that are bounds are not tested."""
    length = len(repair.places)
    edges = [(Edge(p + 1, repair.places[p + 1]) if p + 1 < length else Edge(ACCEPT, -1),) for p in range(length)]
    start = (Edge(0, repair.places[0]),)
    automaton = Automaton(run.automaton.names, repair.places, (*edges, start), ())
    # A bound is tested at times that no row has; its program is never run.
    untested = {k: _TRUE if k in repair.timed else c for k, c in run.conditions.conditions.items()}
    pattern = Concatenation(tuple(Variable(run.automaton.names[c]) for c in repair.places))
    return replace(
        run,
        automaton=automaton,
        pattern=pattern,
        conditions=replace(run.conditions, conditions=untested),
        postponed=repair.timed,
        selection=Selection.NEXT,
        use_within=False,
    )


def closed_bounds(length: int, bounds: Iterable[Bound]) -> tuple[Ints, Ints]:
    """Least and most times from place i to place j, closed under sums; times grow by one unit at least.

    They contradict each other where ``least > most``.
    """
    # Distances: t_j - t_i <= far[i, j], as Python's integers.
    far = [[0 if i == j else UNBOUNDED for j in range(length)] for i in range(length)]
    for p in range(length - 1):
        far[p + 1][p] = -1
    for b in bounds:
        if b.gap:
            continue
        if b.most is not None:
            far[b.first][b.second] = min(far[b.first][b.second], b.most)
        if b.least is not None:
            far[b.second][b.first] = min(far[b.second][b.first], -b.least)
    for k in range(length):
        for i in range(length):
            for j in range(length):
                if far[i][k] < UNBOUNDED and far[k][j] < UNBOUNDED:
                    far[i][j] = min(far[i][j], far[i][k] + far[k][j])
    if any(far[i][i] < 0 for i in range(length)):
        return np.full(length * length, 1, np.int64), np.zeros(length * length, np.int64)
    most = [min(max(far[i][j], -UNBOUNDED), UNBOUNDED) for i in range(length) for j in range(length)]
    least = [max(min(-far[j][i], UNBOUNDED), -UNBOUNDED) for i in range(length) for j in range(length)]
    return np.array(least, np.int64), np.array(most, np.int64)


def is_chained(length: int, least: Ints, most: Ints) -> bool:
    """Whether the bounds between neighbours imply all others."""
    for i in range(length):
        near = far = 0
        for j in range(i + 1, length):
            near += int(least[(j - 1) * length + j])
            step = int(most[(j - 1) * length + j])
            far = UNBOUNDED if step >= UNBOUNDED or far >= UNBOUNDED else far + step
            if least[i * length + j] > near or most[i * length + j] < far:
                return False
    return True


def sequence_tables(run: RunSpec, repair: Repair) -> tuple[tables.Sequence, Limits, Ints]:
    """The sequence, its limits (without partitions) and its gaps."""
    length = len(repair.places)
    bits = [run.condition_bits.get(c, -1) for c in repair.places]
    least, most = closed_bounds(length, repair.bounds)
    gaps = [b for b in repair.bounds if b.gap]
    tested = any(k not in repair.timed for k in range(len(run.checks)))
    chained = is_chained(length, least, most) and not gaps and not tested
    words = _ints(max(b, 0) // BITS_PER_WORD for b in bits)
    places = _ints(b % BITS_PER_WORD if b >= 0 else -1 for b in bits)
    sequence = tables.Sequence(length, words, places, int(chained))
    none = np.zeros(0, np.int64)
    most_cost = min(repair.most_cost, length * repair.most_shift)
    limits = Limits(least, most, none, none, repair.step, most_cost, min(repair.most_shift, most_cost))
    rows = [
        (b.first, b.second, -UNBOUNDED if b.least is None else b.least, UNBOUNDED if b.most is None else b.most)
        for b in gaps
    ]
    return sequence, limits, _ints(v for row in rows for v in row)


def new_scratch(length: int, nodes: int) -> Scratch:
    """Room for partitions of so many events, of a pattern of so many components."""

    def rows() -> tables.Rows:
        return np.empty(nodes, np.int32)

    def ints(n: int) -> Ints:
        return np.empty(n, np.int64)

    return Scratch(
        ints(nodes), rows(), rows(), ints(nodes), rows(), rows(), ints(length * nodes), ints(nodes), ints(length + 1),
        ints(length + 1), ints(2 * length + 1), ints(length + 1),
    )  # fmt: skip


def no_repairs(length: int, partitions: int) -> Repairs:
    """Room for what is found of so many partitions."""
    return Repairs(
        np.full(partitions, -1, np.int64), np.zeros(partitions * length, np.int64),
        np.zeros(partitions * length, np.int64),
    )  # fmt: skip


def _ints(values: Iterable[int] | Sequence[int]) -> Ints:
    return np.array(list(values), np.int64)
