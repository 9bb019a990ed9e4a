"""The forward walk from one start row: the first viable edge at each step gives the preferred match."""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined
from sparkcep.exec.kernels.conditions.aggregates import advance, retreat
from sparkcep.exec.kernels.conditions.codes import U
from sparkcep.exec.kernels.conditions.machine import holds
from sparkcep.exec.kernels.rows.labels import drop_label, drop_labels, set_label
from sparkcep.exec.kernels.rows.memo import fill_key, has_failed, record_failure
from sparkcep.exec.kernels.rows.viability import ACCEPT, can_take
from sparkcep.exec.kernels.statuses import FALSE, OK, TOO_MANY_STEPS, TRUE, UNDECIDED

AT_START, AT_END = 1, 2

#: Rows of a partition beyond its own that its patience counts.
_PATIENT_ROWS = 64


@inlined
def find_independent(begin, partition, query, room):
    """Find the preferred match from a start row whose every condition is in the masks; it goes to ``search.path``.

    Invariant: a match can be completed from every (row, position) taken, so no step is undone: O(length x edges).

    Args:
        begin, partition, query, room: see tables.py.

    Returns:
        (length, status): length -1 when there is none, status UNDECIDED when it takes more rows to tell.
    """
    automaton, path = query.automaton, room.search.path
    edge_start, edge_target, edge_condition = automaton.edge_start, automaton.edge_target, automaton.edge_condition
    start, limit, rows = begin.row, begin.limit, partition.rows
    state = automaton.labels.shape[0]
    length = np.int64(0)
    while True:
        r = start + length
        chosen = np.int64(-2)
        for e in range(edge_start[U(state)], edge_start[U(state + 1)]):
            when = edge_condition[U(e)]
            if (when & AT_START and r != partition.origin) or (when & AT_END and r != rows):
                continue
            target = edge_target[U(e)]
            if r >= partition.open_row and (when & AT_END or target != ACCEPT):
                return length, UNDECIDED
            if target == ACCEPT:
                return length, OK
            if r < rows and can_take(target, r, query.use_within, limit, room.viable, room.ends):
                chosen = target
                break
        if chosen == -2:
            return np.int64(-1), OK
        path[U(length)] = chosen
        state = chosen
        length += 1


@inlined
def find_dependent(begin, steps, undone, partition, query, columns, room):
    """As find_independent, testing match-dependent conditions and backtracking on an explicit stack.

    All registers must be empty; a search that finds nothing leaves them so. ``undone`` counts the
    rows given back in this partition: only once they are many are failed states kept and looked up (memo.py).

    Invariant: ``path`` up to ``length`` holds by all conditions, ``edge_at`` says which edges are left to try there,
    and the registers have seen just its rows. With the memo, each (position, row, look-back) fails once as long as it
    is not pushed out; without, the worst case is exponential.

    Returns:
        (length, status, steps, undone).
    """
    automaton, conditions, search, memo = query.automaton, query.conditions, room.search, room.memo
    start, limit, number, epoch = begin.row, begin.limit, begin.number, partition.epoch
    patience = memo.patience * (partition.rows + _PATIENT_ROWS)
    memo_number = number if memo.reads_number else np.int64(0)
    edge_start, edge_target, edge_condition = automaton.edge_start, automaton.edge_target, automaton.edge_condition
    labels, rows, base = automaton.labels, partition.rows, partition.base
    path, edge_at = search.path, search.edge_at
    named = conditions.label_column >= 0
    if named:
        drop_labels(start, base, rows, conditions, columns)
    length = np.int64(0)
    state = labels.shape[0]
    e = edge_start[U(state)]
    last = edge_start[U(state + 1)]
    while True:
        steps += 1
        if steps > query.max_steps:
            return np.int64(-1), TOO_MANY_STEPS, steps, undone
        r = start + length
        if e >= last:
            if length == 0:
                return np.int64(-1), OK, steps, undone
            length -= 1
            undone += 1
            if undone > patience:
                slot = fill_key(epoch, path[U(length)], r - 1, memo_number, search, memo)
                record_failure(slot, limit, memo)
            retreat(path[U(length)], conditions, search)
            if named:
                drop_label(r - 1, base, conditions, columns)
            state = path[U(length - 1)] if length > 0 else labels.shape[0]
            e = edge_at[U(length)]
            last = edge_start[U(state + 1)]
            continue
        when, target = edge_condition[U(e)], edge_target[U(e)]
        e += 1
        if (when & AT_START and r != partition.origin) or (when & AT_END and r != rows):
            continue
        if target == ACCEPT and (r < partition.open_row or not when & AT_END):
            return length, OK, steps, undone
        if r < rows and not can_take(target, r, query.use_within, limit, room.viable, room.ends):
            continue
        if r >= rows and not partition.is_open:
            continue
        if r >= partition.open_row:
            return np.int64(-1), UNDECIDED, steps, undone
        if named:
            set_label(r, labels[U(target)], base, conditions, columns)
        advance(target, r, base, conditions, columns, search)
        result = holds(labels[U(target)], r, base, rows, number, conditions, columns, search)
        if result == TRUE and undone > patience:
            slot = fill_key(epoch, target, r, memo_number, search, memo)
            if has_failed(slot, limit, memo):
                result = FALSE
        if result == TRUE:
            path[U(length)] = target
            edge_at[U(length)] = e
            state = target
            length += 1
            e = edge_start[U(state)]
            last = edge_start[U(state + 1)]
        elif result == FALSE:
            retreat(target, conditions, search)
            if named:
                drop_label(r, base, conditions, columns)
        else:
            return np.int64(-1), result, steps, undone
