"""What the trends kernel is given, as named tuples of one type each; see trends.py."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sparkcep.exec.kernels.runs.graph_tables import Machine, Work
from sparkcep.exec.kernels.tables import Columns, Conditions, SearchState

Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.uint8]

#: How what stands before an event is added up: one sum per state, a tree over an order, a tree of trees over two
#: orders, or one predecessor at a time.
STATE, TREE, GRID, PAIRS = range(4)
#: Outcomes of a comparison, as bits.
LESS, EQUAL, GREATER = 1, 2, 4

#: What is known of a row's rank in an order, and how many numbers that is.
AT, FIRST, QUERY, PRECEDING = range(4)
RANK_WIDTH = 4
#: Records of a block that are neither of classes nor of states nor of events: the result, and two after it.
SPECIAL = 3


class EdgeClasses(NamedTuple):
    """How edges of the main automaton read what stands before them.

    Edges of one source state, with the same negations and conditions, share a class. Per edge: ``edge_class`` (-1: from
    the start, or to acceptance), ``edge_bit``: bit of what must hold of the taken event beside its component's test,
    -1 for nothing. Per class: ``kind``, ``state``, ``absent`` and ``present`` negations, ``bit``: of what must hold of
    the event before, ``order`` (-1 for none), ``tree``: number of its tree or of its grid's sums, ``grid`` (-1 for
    none), ``deferred``: whether events become visible
    later than at once or cease to be so, ``tests[test_start[c]:test_start[c + 1]]``: programs of two events, and from
    ``compare_start[c]`` on triples of ``compare``: key columns of the event before and after, and which outcomes (LESS,
    EQUAL, GREATER) hold. Classes of state s are ``class_start[s]`` to ``class_start[s + 1]``. Per state: ``stored``:
    number of its events' sums, -1 where they are not kept; ``accept_bit``: of what must hold of a trend's last event.
    """

    edge_class: Ints
    edge_bit: Ints
    kind: Ints
    state: Ints
    absent: Words
    present: Words
    bit: Ints
    order: Ints
    tree: Ints
    grid: Ints
    deferred: Flags
    test_start: Ints
    tests: Ints
    compare_start: Ints
    compare: Ints
    class_start: Ints
    stored: Ints
    accept_bit: Ints


class Orders(NamedTuple):
    """Orders of trees. Order o compares key columns ``keys[start[o]:start[o + 1]]`` (n, 2; flat): of the event before
    and of the event after; all must be equal but, where ``ordered``, the first pair, which grows (with ``or_equal``:
    does not fall). ``flipped``: keys are taken in descending order. ``same``: both sides are the same columns.
    """

    start: Ints
    keys: Ints
    ordered: Flags
    or_equal: Flags
    flipped: Flags
    same: Flags


class Ranks(NamedTuple):
    """Where a row of a block stands in each order: ``row`` (orders, RANK_WIDTH * rows) says its rank AT (-1: nowhere)
    in the tree whose FIRST rank it is, and that the PRECEDING ranks of the tree from QUERY on are those before it.
    ``size`` (orders, rows): ranks of a tree, by its first.

    ``words``, ``entries``: scratch of sorting.
    """

    row: Rows
    size: Rows
    words: Words
    entries: Rows


class Grids(NamedTuple):
    """Grid g is over the orders ``order[g]`` and ``second[g]``, of which the second is of a single pair."""

    order: Ints
    second: Ints


class Nodes(NamedTuple):
    """Nodes of grids over a block's rows; see grids.py. Of the node of rank r of the first order, ``start[g, r]``:
    where its events begin in ``rank[g]``, which says their ranks in the second order, rising; ``filled[g, r]``: how
    many they are. ``used[g]``: places that all nodes take up, ``room``: how many there are. Scratch: ``by_second``
    (rows,), ``path`` (most records of one row).
    """

    start: Ints
    filled: Rows
    rank: Rows
    by_second: Rows
    path: Rows
    used: Ints
    room: int


class Fields(NamedTuple):
    """What is added up; see sums.py. Per field: ``kind``, ``offset`` in its pool, ``value`` (column, -1: one),
    ``nulls`` (column, -1: never NULL), ``weight``: offset of the count it weighs by. ``member`` (fields * components,):
    whether a component's events count. ``words``, ``floats``: width of a record in each pool; ``empty`` (words,): the
    words of a record of no trends. ``plain``: nothing but COUNT_FLOAT.
    """

    kind: Ints
    offset: Ints
    value: Ints
    nulls: Ints
    weight: Ints
    member: Flags
    words: int
    floats: int
    empty: Words
    plain: int


class Values(NamedTuple):
    """Columns that fields read (columns * rows,), flat."""

    ints: Ints
    floats: Floats
    nulls: Flags


class Sums(NamedTuple):
    """Records, each of ``lanes`` windows: ``words`` and ``floats`` hold word w of lane l of record r at
    ``(r * width + w) * lanes + l``."""

    words: Words
    floats: Floats
    lanes: int


class Windows(NamedTuple):
    """Windows [k * slide, k * slide + width) of ``time`` (rows,); no windows where ``width`` is 0. ``first``, ``last``
    (lanes,): rows of the windows of a block."""

    time: Ints
    width: int
    slide: int
    first: Ints
    last: Ints


class Lists(NamedTuple):
    """Scratch of a block. Per stored state: ``row`` (stored, rows) of events that may be followed, ``marked`` those
    which are not any more, ``length`` (stored,); ``has`` (stored, rows): whether the state has taken a row. Per class:
    ``low``, ``high``: rows that are in its sum. ``candidates`` (rows,): places of those of one state that are looked
    at. ``touched`` (states,). ``room``: most rows of a block.
    """

    row: Rows
    candidates: Rows
    marked: Flags
    length: Ints
    has: Flags
    low: Ints
    high: Ints
    touched: Flags
    room: int


class Single(NamedTuple):
    """Letters of one state at most, where nothing leaves: how many trends one ``begins``, and as many ``sources`` and
    ``targets`` for each, among them records that are always empty or never read. ``several``: symbols of more states.
    No ``sources``: all this does not apply.
    """

    begins: Words
    several: Flags
    sources: int
    targets: int
    source: Rows
    target: Rows


class Symbols(NamedTuple):
    """What a row does where only the components that can take it matter, told by its bits in ``mask`` (its symbol).

    Letter l lets the states ``start[l]`` to ``start[l + 1]`` take the row; of each: the record it makes (``made``), the
    classes that it goes ``into[into_start[n]:into_start[n + 1]]``, whether it ``begins`` a trend, whether it ``ends``
    one here and now, the classes ``source[source_start[n]:source_start[n + 1]]`` that it follows, and which fields
    count its event: ``member`` (n * fields,). ``leave``: classes that nothing is left of. ``accepting``: sums that are
    part of the result at the end. ``used``: whether all this applies; ``trees``: whether classes have trees.
    """

    used: int
    trees: int
    mask: np.uint64
    start: Ints
    made: Ints
    into_start: Ints
    into: Ints
    begins: Floats
    ends: Flags
    source_start: Ints
    source: Rows
    member: Flags
    leave_start: Ints
    leave: Ints
    accepting: Ints
    single: Single


class Trends(NamedTuple):
    """All that is known before any event: the pattern's automaton, how its edges are read, and what is added up."""

    machine: Machine
    classes: EdgeClasses
    orders: Orders
    grids: Grids
    fields: Fields
    symbols: Symbols
    selection: int
    strict: int


class Events(NamedTuple):
    """A batch: condition bits (words, rows), what fields and orders read, and how many rows there are."""

    masks: Words
    values: Values
    keys: Ints
    key_nulls: Flags
    rows: int


class Tests(NamedTuple):
    """Programs of two events (see tables.py), over registers 0 (the event before) and 1 (the event after)."""

    conditions: Conditions
    columns: Columns
    search: SearchState
    max_steps: int


class Scratch(NamedTuple):
    """Room for one partition (``work``) and one block; ``jobs``: pairs of records to add up, see sums.py."""

    work: Work
    ranks: Ranks
    nodes: Nodes
    counts: Ints
    lists: Lists
    sums: Sums
    jobs: Rows


class Block(NamedTuple):
    """Rows ``low`` to ``after`` (exclusive) of the partition whose first row is ``base``.

    Records: one per class (its sum), then from ``made`` on one per state (what the row at hand makes), the ``result``,
    one that stays empty, one that nothing reads, from ``trees`` on the trees' ranks, from ``grids`` on the events of
    the grids' nodes, and from ``single`` on the sums of single events.
    """

    base: int
    low: int
    after: int
    made: int
    result: int
    trees: int
    grids: int
    single: int
