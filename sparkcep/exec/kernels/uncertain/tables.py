"""What the kernels of imprecise time are given, as named tuples of one type each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sparkcep.exec.kernels.runs.tables import Buffers, Emission

Ints = npt.NDArray[np.int64]
Ints2 = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Floats2 = npt.NDArray[np.float64]
Floats3 = npt.NDArray[np.float64]
Flags = npt.NDArray[np.uint8]
Words2 = npt.NDArray[np.uint64]


class Events(NamedTuple):
    """Events of a batch, those of a partition by lower bound, upper bound and row.

    ``low``, ``high``: first and last tick of probability above zero. ``row``: the event's row of the partition.
    ``at``: where its ticks are in ``mass`` (probability of each tick), ``upto`` and ``since`` (of this tick and all
    before it, behind it); -1: all its ticks are equally probable. ``widest``: most ticks of an event.
    """

    low: Ints
    high: Ints
    row: Ints
    at: Ints
    mass: Floats
    upto: Floats
    since: Floats
    widest: int


class Query(NamedTuple):
    """``next``: SKIP TILL NEXT MATCH. ``sets`` (components,): whether a Kleene's members are a set. ``within``: ticks
    between the first and the last event at most, NO_BOUND without. ``threshold``: least confidence. ``plain``: the
    confidence of a signature that WITHIN does not bind is the mass of its prefixes. ``most_matches``: after so many a
    partition is left, as nobody asks for more."""

    next: int
    sets: Flags
    within: int
    threshold: float
    plain: int
    most_matches: int


class Given(NamedTuple):
    """Partitions of one batch. ``offsets`` (partitions + 1,): borders of their events. ``masks`` (words, events): one
    bit per match-independent condition, in the order of ``events``."""

    offsets: Ints
    masks: Words2
    events: Events


class Stack(NamedTuple):
    """One frame per event taken, beside graph_tables.Frames; frame 0 is the start.

    ``event``; ``low``: the earliest tick that the run's last element can end at; ``before``: the same of the element
    before; ``first``: the latest tick that the run's first event can have; ``element``: number of the frame's element,
    from 1; ``begin``: its first frame. ``edge``, ``cursor``: where the search for a next event is. ``listed``: where a
    frame's entries in ``next_event``, ``next_edge``, ``next_ends`` begin (SKIP TILL NEXT only). ``sums`` (frames,
    widest): probability that the run is there and its last element ends at most so many ticks after ``low``.
    ``rows`` (some frames, widest, widest): the same where its first event is at least so many ticks after its earliest
    one, filled on demand; ``ready``: whether it is.
    """

    event: Ints
    low: Ints
    before: Ints
    first: Ints
    element: Ints
    begin: Ints
    edge: Ints
    cursor: Ints
    listed: Ints
    sums: Floats2
    next_event: Ints
    next_edge: Ints
    next_ends: Flags
    rows: Floats3
    ready: Flags


class Graph(NamedTuple):
    """What is computed of a partition before matching.

    ``taken`` (rows,): whether the run has the event. ``since`` (rows,): the first event that may follow this one.
    ``latest`` (nodes,): the latest ``low`` from which a run in this state can be completed. ``end`` (nodes, rows):
    the least tick at which a match can end that is in this state after this event; ``least`` (nodes, rows + 1): the
    same of this or any later event.
    """

    taken: Flags
    since: Rows
    latest: Ints
    end: Ints2
    least: Ints2


class Elements(NamedTuple):
    """A signature's elements, from 1: an event, or the set of a Kleene's members.

    Frames ``begin`` to ``end``; ranges of its first tick (``first_low`` to ``first_high``) and its last. Of gap g,
    behind element g: events that must not lie in it, ``forbidden[gap[g]:gap[g + 1]]``, and ``several[g]``, bits of
    those of ``shared`` that must not. ``gaps``, ``mark`` (rows,): scratch.
    """

    begin: Ints
    end: Ints
    first_low: Ints
    first_high: Ints
    last_low: Ints
    last_high: Ints
    gap: Ints
    several: Ints
    forbidden: Ints
    shared: Ints
    gaps: Ints
    mark: Ints


class Masses(NamedTuple):
    """Probability by tick and by which of the shared events have been placed (2^shared, widest).

    ``first``: the element's first tick, ``last``: its last one; ``first_start``, ``last_start``: the least tick of the
    signature's first event that leads there. ``moved``, ``moved_start`` (2^shared,): scratch. ``weights`` (gaps,
    widest, widest): what forbidden events leave of a gap, by the ticks around it. ``latest`` (widest, widest): of the
    last gap, the latest tick behind it up to one, by the tick before it.
    """

    first: Floats2
    last: Floats2
    first_start: Ints2
    last_start: Ints2
    moved: Floats
    moved_start: Ints
    weights: Floats3
    latest: Ints2


class Gap(NamedTuple):
    """The gap behind element ``number``, 0: what is before the first one. An event lies in it at ticks between
    ``lower`` and ``upper``."""

    number: int
    lower: int | np.int64
    upper: int | np.int64


class Terms(NamedTuple):
    """Room for one confidence. ``result`` (1,): the confidence. ``ticks`` (2,): the first event's earliest tick and the
    last one's latest over the worlds that have the match."""

    elements: Elements
    masses: Masses
    result: Floats
    ticks: Ints


class Room(NamedTuple):
    """Scratch. ``best`` (k,): a heap of the k highest confidences so far, zeros at first: lower ones are not asked for;
    k = 0: all are."""

    stack: Stack
    graph: Graph
    terms: Terms
    best: Floats


class Outcome(NamedTuple):
    """What matches emit, and what they are written to: beside the buffers each output row's ``confidence`` (n,), and
    ``ticks`` (n, 2), the earliest of the first event and the latest of the last."""

    emission: Emission
    buffers: Buffers
    confidence: Floats
    ticks: Ints2
