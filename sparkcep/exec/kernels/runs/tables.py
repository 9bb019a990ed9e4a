"""What the runs kernel and that of collapsed matches are given, beside the event graph; see graph_tables.py."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sparkcep.exec.kernels.runs.graph_tables import Closest, Merging
from sparkcep.exec.kernels.tables import Output, SearchState

Ints2 = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
Rows2 = npt.NDArray[np.int32]
Flags2 = npt.NDArray[np.uint8]


class Emission(NamedTuple):
    """What matches emit. ``every_row``: which of their rows, LAST_ROW, MAPPED_ROWS or SHOWN_ROWS. ``traced``: whether
    ``Buffers.trace`` gets their events. ``max_rows``: of a partition; where all matches are wanted, matching may go on
    past it."""

    output: Output
    every_row: int
    traced: int
    max_rows: int


class Query(NamedTuple):
    """Which matches are wanted. ``one_per_start``: only the preferred match of a start row, after which matching goes
    on as ``skip`` says (``or_past``: behind the last row where its variable has none); else all matches of every start
    row. ``first_only``: end with the first match. ``most_matches``: after so many a partition is left, as nobody asks
    for more."""

    emission: Emission
    one_per_start: int
    skip: int
    or_past: int
    first_only: int
    most_matches: int


class Room(NamedTuple):
    """Scratch of what not every query asks for."""

    merging: Merging
    closest: Closest


class Sweeps(NamedTuple):
    """Scratch of collapsing. ``forward``, ``backward`` (nodes, rows + 1): whether a state can be reached at a live row,
    and the end from it. ``seen`` (edges, 2). ``live`` (rows + 1,): rows that are reached, in order. ``ends`` (2,
    rows + 1): numbers of live rows that a match may end at, and these rows."""

    forward: Flags2
    backward: Flags2
    seen: Ints2
    live: Rows
    ends: Rows2


class Buffers(NamedTuple):
    """What matches are written to. ``out`` (n, FIXED + slots + 1): output rows; the last column is where the match's
    events end in ``trace`` (m, 2): component and row. ``shown``: registers of the output's slots, as a search's state.
    """

    out: Ints2
    trace: Rows2
    shown: SearchState
