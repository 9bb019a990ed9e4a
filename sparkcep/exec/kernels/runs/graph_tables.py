"""What all kernels that walk runs are given, as named tuples of one type each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sparkcep.exec.kernels.tables import Columns, Conditions, SearchState

Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.uint8]
Ints3 = npt.NDArray[np.int64]
Flags2 = npt.NDArray[np.uint8]
Words2 = npt.NDArray[np.uint64]


class Machine(NamedTuple):
    """A pattern's automaton and those of its negations, one after the other (see exec.automaton).

    ``edge_start`` (nodes + 1,): edges of node s are ``edge_start[s]`` to ``edge_start[s + 1]``; a node is a state or
    an automaton's start. ``state_component`` (nodes,): -1 for starts. ``accept_edge`` (nodes,): a state's first
    edge to acceptance (others follow it), -1 without.
    Per edge: ``target`` (-1: accept), ``component``, bits of negations that must be ``absent``
    and ``present`` between the two events, whether it ``ends`` a Kleene, ``group`` of checks on taking it (of an
    accepting edge: on accepting), ``deferred``: bits of negations stepped over before that may be
    decided now.
    ``test_word``, ``test_bit`` (components,): where a component's match-independent condition is in the masks.
    ``automata`` (1 + negations, 3), flat: first node, start node, single component of a negation or -1. ``dependent``:
    bits of negations (each of one component) with conditions that depend on the match. ``negation_group``
    (negations,): their checks; ``required[required_start[x]:required_start[x + 1]]``: registers that negation x waits
    for, as long as they are empty and events of theirs can come. ``ahead`` (states + 1, registers): whether any can,
    behind a state. ``steps`` (components,): under BY_STEP, the strategy by which a run comes to a component.
    """

    edge_start: Ints
    state_component: Ints
    accept_edge: Ints
    target: Ints
    component: Ints
    absent: Words
    present: Words
    ends: Flags
    group: Ints
    deferred: Words
    test_word: Ints
    test_bit: Ints
    automata: Ints
    dependent: int
    negation_group: Ints
    required_start: Ints
    required: Ints
    ahead: Flags2
    steps: Ints


class Checks(NamedTuple):
    """Match-dependent conditions and when they apply.

    Group g has the checks ``group_start[g]`` to ``group_start[g + 1]``; ``checks`` (n, CHECK_WIDTH), flat: program,
    register whose events count, minimum, whether only its first event is tested, register to go through (-1: none),
    ``required[low:high]`` registers that must not be empty, ``after[low:high]`` components of which one must have been
    taken before (low = high: any), register that must be empty (-1: none).

    ``spans`` (programs, 5), flat: whether a condition compares an event with what lies between the least and the
    greatest value of its variable's earlier events, column, whether that is of doubles, orders that hold, and at which
    of ``members`` its components begin (they end at a -1). ``prechecked`` (programs, rows + 1): what that says of each
    row, for the start row in ``prechecked_start`` (programs,). ``window``: the last row of this start row,
    and whether to precheck.
    """

    group_start: Ints
    checks: Ints
    required: Ints
    after: Ints
    spans: Ints
    members: Ints
    prechecked: Flags
    prechecked_start: Ints
    window: Ints


class Merging(NamedTuple):
    """Merging of equivalent runs under SKIP TILL NEXT MATCH (SASE+, section 5.2).

    Runs that have taken the same event in the same state go on to the same event, if what the state's conditions look
    at is equal too. ``low``, ``high`` (nodes,): that are ``reads[low:high]`` (n, 4; flat); high < low: no merging.
    ``known`` (nodes, rows + 1, 1 + WORDS): the first row that may extend a run in this state after this row, 0 where
    nobody has looked yet, and what the conditions looked at. ``words``: scratch. ``on``: whether to merge at all.
    """

    low: Ints
    high: Ints
    reads: Ints
    known: Ints3
    words: Ints
    on: int


class Interval(NamedTuple):
    """(rows,) ORDER BY key, key plus and key minus WITHIN; ``null`` (3, rows): which of them is NULL."""

    key: Ints
    bound: Ints
    lower: Ints
    null: Flags


class Work(NamedTuple):
    """What is computed of a partition before matching; see graph.py. Columns are rows of the partition.

    ``next_row`` (components, rows + 2): the first row from here on that the component can take. ``end`` (nodes, rows +
    1): the earliest row at which a match can be complete that is in this state after this row; ``earliest`` (nodes,
    rows + 2): the same of this or any later row. ``until`` (negations, rows + 1): place i + 1 holds the last row that
    can follow row i without a negation's match in between; place 0: without one from the partition's start.
    ``last_equal`` (rows + 1,): under STRICT TIME the last row of the same time, else the row itself. ``from_row``
    (rows,): the first row within the interval before this one. ``best`` (edges,): scratch.
    """

    next_row: Rows
    end: Rows
    earliest: Rows
    until: Rows
    last_equal: Rows
    from_row: Rows
    best: Rows


class Closest(NamedTuple):
    """Of runs that time out, see timed_out.py.

    ``on``: whether they are wanted. ``missing`` (states,): the fewest events between a state and a match.
    ``reached`` (states,): scratch. ``state``, ``row`` (rows + 2,): frames of the closest run so far. ``waiting`` (2,):
    the component that it lacks next, and that of the run looked at.
    """

    on: int
    missing: Ints
    reached: Ints
    state: Ints
    row: Ints
    waiting: Ints


class Frames(NamedTuple):
    """The search's stack, one frame per event taken (and one for the start).

    ``state``, ``row``, ``edge`` (the one taken to come here; in the first frame the number the match would have): what
    the frame has taken. ``candidate``: the row looked
    at, -1 before the first; ``cursor``: the edge to try on it; ``phase`` and ``taken``: see progress.py;
    ``fresh``: whether no row is known yet that extends the run.
    """

    state: Ints
    row: Ints
    edge: Ints
    candidate: Ints
    cursor: Ints
    phase: Ints
    taken: Ints
    fresh: Ints


class Strategy(NamedTuple):
    """How runs go on. ``selection``: STRICT, NEXT, ANY or BY_STEP. ``strict``: whether time must grow. ``use_within``:
    whether there is a WITHIN. ``leading``: whether what comes before the first event is decided as soon as the events
    are there that its conditions name, else on accepting. ``max_steps``: of a partition."""

    selection: int
    strict: int
    use_within: int
    leading: int
    max_steps: int


class Walk(NamedTuple):
    """What a walk over the event graph reads, whatever it looks for, and where it stands: in ``frames``, and in
    ``search`` what the registers have seen of their events. ``checks`` and ``work`` are of the partition at hand."""

    strategy: Strategy
    machine: Machine
    checks: Checks
    conditions: Conditions
    columns: Columns
    work: Work
    frames: Frames
    search: SearchState


class Partitions(NamedTuple):
    """Partitions of one batch. ``offsets`` (partitions + 1,): row borders. ``masks`` (words, rows): one bit per
    match-independent condition."""

    offsets: Ints
    masks: Words2
    within: Interval


class Partition(NamedTuple):
    """The partition that a kernel is at: its number and first row in the batch, and how many rows it has."""

    number: int
    base: int
    rows: int


class Start(NamedTuple):
    """A start row, and the last row that a match from there may take."""

    row: int
    limit: int | np.int64
