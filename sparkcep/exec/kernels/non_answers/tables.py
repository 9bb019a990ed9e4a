"""What the repair kernel is given, as named tuples of one type each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
Flags = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]

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


class Found(NamedTuple):
    """Repairs by partition: ``cost`` (partitions,) in ticks, -1: none. ``row``, ``shift`` (partitions * length,)."""

    cost: Ints
    row: Ints
    shift: Ints
