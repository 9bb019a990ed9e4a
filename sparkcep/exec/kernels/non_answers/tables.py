"""What the kernels of non-answers are given, as named tuples of one type each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
Flags = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Ints2 = npt.NDArray[np.int64]
Rows2 = npt.NDArray[np.int32]

#: Keys beyond this, both ways, are not moved, so that no sum and no difference of times overflows.
FARTHEST = 1 << 60
#: A time bound that is none.
UNBOUNDED = 1 << 62


class Sequence(NamedTuple):
    """A plain sequence of ``length`` places. ``word``, ``bit`` (length,): where the mask tells what an event itself
    must be, bit -1: nothing. ``chained``: bounds between neighbours imply all others, and nothing else is tested."""

    length: int
    word: Ints
    bit: Ints
    chained: int


class Limits(NamedTuple):
    """Bounds of shifts and times, in the kernel's units of the ORDER BY key.

    ``least``, ``most`` (length * length,): of the time from place i to place j, at i * length + j, closed under sums.
    ``earliest``, ``latest`` (partitions,): bounds of every new time. ``most_cost``, ``most_shift``: in steps.
    """

    least: Ints
    most: Ints
    earliest: Ints
    latest: Ints
    step: int
    most_cost: int
    most_shift: int


class Goal(NamedTuple):
    """What a search looks for among so many ``nodes`` of a partition: a repair that costs ``most`` at most. ``easy``:
    the first one found is the best."""

    nodes: int
    most: int
    easy: int | bool


class Scratch(NamedTuple):
    """Room for nodes: ``time``, ``row``, ``shift`` (in ticks; above ``most_shift`` of a node that may not be), each
    twice for sorting; ``cost`` (length * nodes,): the least cost from a place on; ``queue``. ``at`` (length + 1,): the
    node that each place has; ``last`` (length + 1,): the last node it may have; ``best`` (2 * length + 1,): times,
    then rows of the best repair; ``spent`` (length + 1,): cost before each place."""

    time: Ints
    row: Rows
    shift: Rows
    other_time: Ints
    other_row: Rows
    other_shift: Rows
    cost: Ints
    queue: Ints
    at: Ints
    last: Ints
    best: Ints
    spent: Ints


class Repairs(NamedTuple):
    """Repairs by partition: ``cost`` (partitions,) in ticks, -1: none. ``row``, ``shift`` (partitions * length,)."""

    cost: Ints
    row: Ints
    shift: Ints


class Types(NamedTuple):
    """(components,): where the masks tell a component's type alone, bit -1: every event."""

    word: Ints
    bit: Ints


class Question(NamedTuple):
    """What is to be explained: the partitions of ``wanted`` (partitions,). ``needed``: components that every match
    takes, in order."""

    wanted: Flags
    types: Types
    needed: Ints


class Longest(NamedTuple):
    """Scratch. ``ahead`` (nodes, rows + 2): how many events a run can take from there. ``best`` (2, rows + 2): edge and
    row of each event of the longest run."""

    ahead: Rows2
    best: Ints2


class Reasoned(NamedTuple):
    """``out`` (partitions, 4): see reasons.py. ``trace`` (m, 2): component and row of each event of the longest
    runs."""

    out: Ints2
    trace: Ints2


class Keyed(NamedTuple):
    """Partitions of one batch. ``offsets`` (partitions + 1,): row borders. ``masks`` (words, rows): one bit per
    condition. ``key``, ``null`` (rows,): the ORDER BY key, ascending, and whether it is NULL. ``wanted`` (partitions,):
    which are to be repaired."""

    offsets: Ints
    masks: Words
    key: Ints
    null: Flags
    wanted: Flags


class Plan(NamedTuple):
    """What a repair has to meet. ``gaps`` (n * 4,): places i and j, the least and the most of the positions from i to
    j."""

    sequence: Sequence
    limits: Limits
    gaps: Ints


class Facts(NamedTuple):
    """What is told of a partition. ``types``: of components; ``tests``: and all that these must be by themselves.
    ``pairs`` (n * 2,): components. ``bounds`` (n * 5,): two components, least and most, whether it is of positions."""

    types: Types
    tests: Types
    pairs: Ints
    bounds: Ints
