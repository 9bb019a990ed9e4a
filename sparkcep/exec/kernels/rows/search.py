"""The forward walk from one start row: the first viable edge at each step gives the preferred match."""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined
from sparkcep.exec.kernels.conditions import U, advance, holds, retreat
from sparkcep.exec.kernels.rows.memo import fill_key, has_failed, record_failure
from sparkcep.exec.kernels.rows.viability import ACCEPT, can_take
from sparkcep.exec.kernels.statuses import FALSE, OK, TOO_MANY_STEPS, TRUE, UNDECIDED

AT_START, AT_END = 1, 2


@inlined
def find_independent(start, rows, origin, open_row, automaton, use_within, limit, viable, ends, path):
    """Find the preferred match from a start row.

    Args:
        origin: the row where ``^`` holds, -1: none.
        open_row: the first row that cannot be decided before more rows have come; NONE where the partition is whole.

    Returns:
        (length, status): length -1 when there is none, status UNDECIDED when it takes more rows to tell.
    """
    edge_start, edge_target, edge_condition = automaton.edge_start, automaton.edge_target, automaton.edge_condition
    state = automaton.labels.shape[0]
    length = np.int64(0)
    while True:
        r = start + length
        chosen = np.int64(-2)
        for e in range(edge_start[U(state)], edge_start[U(state + 1)]):
            when = edge_condition[U(e)]
            if (when & AT_START and r != origin) or (when & AT_END and r != rows):
                continue
            target = edge_target[U(e)]
            if r >= open_row and (when & AT_END or target != ACCEPT):
                return length, UNDECIDED
            if target == ACCEPT:
                return length, OK
            if r < rows and can_take(target, r, use_within, limit, viable, ends):
                chosen = target
                break
        if chosen == -2:
            return np.int64(-1), OK
        path[U(length)] = chosen
        state = chosen
        length += 1


@inlined
def find_dependent(
    q, base, start, rows, origin, open_row, number, automaton, use_within, limit, viable, ends, conditions, columns,
    search, memo, steps, max_steps, undone,
):  # fmt: skip
    """As find_independent, testing match-dependent conditions and backtracking.

    All registers must be empty; a search that finds nothing leaves them so. ``undone`` counts the rows given back in
    this partition: only once they are many are failed states kept and looked up.

    Returns:
        (length, status, steps, undone).
    """
    patience = memo.patience * (rows + 64)
    memo_number = number if memo.reads_number else np.int64(0)
    edge_start, edge_target, edge_condition = automaton.edge_start, automaton.edge_target, automaton.edge_condition
    labels = automaton.labels
    path, edge_at = search.path, search.edge_at
    length = np.int64(0)
    state = labels.shape[0]
    e = edge_start[U(state)]
    last = edge_start[U(state + 1)]
    while True:
        steps += 1
        if steps > max_steps:
            return np.int64(-1), TOO_MANY_STEPS, steps, undone
        r = start + length
        if e >= last:
            if length == 0:
                return np.int64(-1), OK, steps, undone
            length -= 1
            undone += 1
            if undone > patience:
                place = fill_key(q, path[U(length)], r - 1, memo_number, search, memo)
                record_failure(place, limit, memo)
            retreat(path[U(length)], conditions, search)
            state = path[U(length - 1)] if length > 0 else labels.shape[0]
            e = edge_at[U(length)]
            last = edge_start[U(state + 1)]
            continue
        when, target = edge_condition[U(e)], edge_target[U(e)]
        e += 1
        if (when & AT_START and r != origin) or (when & AT_END and r != rows):
            continue
        if target == ACCEPT and (r < open_row or not when & AT_END):
            return length, OK, steps, undone
        if r < rows and not can_take(target, r, use_within, limit, viable, ends):
            continue
        if r >= open_row:
            return np.int64(-1), UNDECIDED, steps, undone
        if r >= rows:
            continue
        advance(target, r, base, conditions, columns, search)
        result = holds(labels[U(target)], r, base, rows, number, conditions, columns, search)
        if result == TRUE and undone > patience:
            place = fill_key(q, target, r, memo_number, search, memo)
            if has_failed(place, limit, memo):
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
        else:
            return np.int64(-1), result, steps, undone
