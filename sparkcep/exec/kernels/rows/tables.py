"""What the rows kernel is given, as named tuples of one type each; see kernels/tables.py for their parts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sparkcep.exec.kernels.tables import Automaton, Columns, Conditions, Memo, Output, SearchState, Within

Ints = npt.NDArray[np.int64]
Ints2 = npt.NDArray[np.int64]
Words2 = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.uint8]


class Emission(NamedTuple):
    """What matches emit. ``mode``: ONE_ROW, SHOW_EMPTY, OMIT_EMPTY, WITH_UNMATCHED or EACH_ROW. ``rows``: which of
    their rows, LAST_ROW, MAPPED_ROWS or SHOWN_ROWS. ``skip``, ``gap``: where matching resumes behind one, see
    ``next_start``."""

    output: Output
    mode: int
    rows: int
    skip: int
    gap: int


class Query(NamedTuple):
    """One query. ``dependent``: whether conditions depend on the match. ``ahead``, ``output_ahead``: how many rows
    after the tested row, after a match, conditions and slots look at. ``max_steps``, ``max_rows``: of a partition.
    ``undecided``: what becomes of start rows that rows to come could decide otherwise, see rows.py."""

    automaton: Automaton
    conditions: Conditions
    emission: Emission
    dependent: int
    use_within: int
    ahead: int
    output_ahead: int
    max_steps: int
    max_rows: int
    undecided: int


class Rows(NamedTuple):
    """Partitions of one batch.

    ``offsets`` (partitions + 1,): row borders. ``masks`` (words, rows): one bit per match-independent condition.
    ``marks``: empty; or, for matches by range, (rows,) REACHED where matching may resume, STOP at the first row that is
    another range's, else UNREACHED. ``is_open``: whether the last partition goes on in a later batch. ``first_epoch``:
    what stands for the first partition in the memo, above those of earlier calls. ``left``: empty; or, of a stream,
    (partitions, PROGRESS) where each partition was left. ``watermark``: in units of WITHIN's bound, up to where all
    rows have come.
    """

    offsets: Ints
    masks: Words2
    columns: Columns
    within: Within
    marks: Flags
    is_open: int
    first_epoch: int
    left: Ints2
    watermark: int


class Room(NamedTuple):
    """Scratch. ``viable`` (rows of the longest partition + 1, words): see ``viability``, without WITHIN. ``ends`` (as
    many, positions): see ``earliest_ends``, with WITHIN. The other of the two is small."""

    viable: Words2
    ends: Ints2
    search: SearchState
    memo: Memo


class Partition(NamedTuple):
    """The partition that the kernel is at: its number and first row in the batch, its rows in this batch.

    ``origin``: the row where ``^`` holds, -1: none. ``open_row``: the first row that cannot be decided before more rows
    have come; NONE where the partition is whole. ``is_open``: whether more rows may come, ``goes_on``: in a later
    batch. ``epoch``: what stands for it in the memo.
    """

    number: int
    base: int
    rows: int
    origin: int | np.int64
    open_row: int | np.int64
    is_open: bool
    goes_on: bool
    epoch: int


class Start(NamedTuple):
    """A start row, the last row that WITHIN lets a match from there take (of no meaning without), and the number that
    the match would have."""

    row: int
    limit: int
    number: int


class Match(NamedTuple):
    """A match of a partition: the rows from ``start`` on that its path takes; ``rows``: of the partition."""

    partition: int
    number: int
    start: int
    length: int
    rows: int
