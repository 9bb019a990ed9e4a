"""What the kernels are given: arrays by theme, as named tuples of one type each, so a kernel is compiled once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.uint8]
Answers = npt.NDArray[np.int8]


class Automaton(NamedTuple):
    """A position automaton (see exec.program) over P positions, E edges and L labels.

    ``followers`` (P, words): bits of the positions after each. ``accepts`` (P,): 0 no, 1 yes, 2 at the partition's end
    only. ``test_word``, ``test_bit`` (L,): where a label's match-independent condition is in the masks; bit -1: always
    true.
    """

    labels: Ints
    excluded: Ints
    edge_start: Ints
    edge_target: Ints
    edge_condition: Ints
    followers: Words
    accepts: Ints
    test_word: Ints
    test_bit: Ints


class Conditions(NamedTuple):
    """Match-dependent conditions.

    ``code`` (instructions, 8): see conditions.py; those of label k are ``code_start[k]`` to ``code_start[k + 1]``.
    ``navigations`` (n, 4): register, whether from the first row, logical and physical offset. ``aggregates`` (n, 3):
    kind, register, column. These three are flat, row after row. Taking a row at position p advances
    ``registers[register_low[p]:register_high[p]]`` and the aggregates ``folds[fold_low[p]:fold_high[p]]``. ``ansi``:
    whether overflow and division by zero are errors. ``label_column``: the integer column where the rows of a match
    have their variables' names, of which ``const_i`` holds the first at ``label_names``; -1 where none is read.
    ``functions``: addresses of the C library's, see conditions/functions.py. ``callback``: address of a function that
    is asked where there are no instructions, see exec/conditions/external.py; 0: nowhere. ``asked`` (tests that are
    asked for, ASKED) and ``answers`` (tests, ANSWERS): what it has answered for pairs of rows already, see
    conditions.py; flat.
    """

    code_start: Ints
    code: Ints
    const_i: Ints
    const_f: Floats
    navigations: Ints
    aggregates: Ints
    register_low: Ints
    register_high: Ints
    registers: Ints
    fold_low: Ints
    fold_high: Ints
    folds: Ints
    register_count: int
    ansi: int
    label_column: int
    label_names: int
    functions: Ints
    callback: int
    requests: Ints
    answers: Answers


class Columns(NamedTuple):
    """Columns that conditions load, one after the other (columns * rows,), with NULL flags."""

    ints: Ints
    int_nulls: Flags
    floats: Floats
    float_nulls: Flags
    rows: int


class Within(NamedTuple):
    """(rows,) ORDER BY key, key plus interval; ``null`` (2, rows): which of them is NULL."""

    key: Ints
    bound: Ints
    null: Flags


class Output(NamedTuple):
    """What a match puts out.

    ``slots`` (n, 6), flat: register, from_first, logical, physical, running, label (see spec.OutputSlot).
    ``membership`` (registers, L): whether a label belongs to a slot's register. ``targets`` (L,): labels to skip to.
    """

    slots: Ints
    membership: Flags
    targets: Flags


class SearchState(NamedTuple):
    """A search's state that grows and shrinks with the rows it has taken, and its scratch.

    ``occurrences`` (registers, rows) and ``counts`` (registers,): the rows each register has seen. ``agg_n`` and
    ``agg_v`` (aggregates, rows): after so many rows of its register, how many values an aggregate has and its value;
    ``agg_f`` is ``agg_v`` read as doubles. These are flat, with room for ``rows`` each. ``path`` (rows,): the position
    each row was taken at. ``edge_at`` (rows,): the edge to try next. ``si``, ``sh``, ``sf``, ``sn``: the condition's
    stack as integers, high words of decimals, doubles and NULL flags. ``digits``: scratch of decimal arithmetic.
    """

    occurrences: Ints
    counts: Ints
    agg_n: Ints
    agg_v: Ints
    agg_f: Floats
    path: Ints
    edge_at: Ints
    si: Ints
    sh: Ints
    sf: Floats
    sn: Flags
    digits: Words
    rows: int


class Memo(NamedTuple):
    """Failed states (see memo.py) and what makes up a state.

    ``low``, ``high`` (P,): ``lookbacks[low[p]:high[p]]`` (n, 3; flat) is what conditions after position p look back at:
    kind and two numbers. ``entries`` (capacity, width), flat; ``key`` (width,): scratch. ``reads_number``: whether
    conditions read MATCH_NUMBER(). ``patience``: how many rows are given back, per row of the partition, before failed
    states are kept.
    """

    low: Ints
    high: Ints
    lookbacks: Ints
    entries: Ints
    key: Ints
    capacity: int
    width: int
    reads_number: int
    patience: int
