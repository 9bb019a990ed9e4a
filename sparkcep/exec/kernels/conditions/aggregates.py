"""Registers and running aggregates of a match: what conditions and measures know of the rows matched so far."""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels import decimals
from sparkcep.exec.kernels.caching import inlined
from sparkcep.exec.kernels.conditions.arithmetic import compare
from sparkcep.exec.kernels.conditions.codes import AVERAGE, COUNT, FLOAT, HIGH, MIN, POISONED, SUM, TOTAL, WIDE, U
from sparkcep.exec.kernels.statuses import TRUE


@inlined
def advance(position, row, base, conditions, columns, search):
    """Let the registers that conditions read from this position on see a row, and advance their aggregates."""
    counts = search.counts
    for j in range(conditions.register_low[U(position)], conditions.register_high[U(position)]):
        register = conditions.registers[U(j)]
        count = counts[U(register)]
        search.occurrences[U(register * search.rows + count)] = row
        counts[U(register)] = count + 1
    for j in range(conditions.fold_low[U(position)], conditions.fold_high[U(position)]):
        _fold(conditions.folds[U(j)], base + row, conditions, columns, search)


@inlined
def _fold(k, row, conditions, columns, search):
    """Advance aggregate ``k`` by a row of the batch that its register has just seen."""
    kind = conditions.aggregates[U(3 * k)]
    register = conditions.aggregates[U(3 * k + 1)]
    column = conditions.aggregates[U(3 * k + 2)]
    if kind == HIGH:
        return
    new = k * search.rows + search.counts[U(register)]
    old, new = U(new - 1), U(new)
    cell = U(column * columns.rows + row)
    n = search.agg_n[old]
    null = column >= 0 and (columns.float_nulls[cell] if kind & FLOAT else columns.int_nulls[cell]) != 0
    wide = kind & WIDE != 0 or kind == TOTAL
    high = U(search.rows)
    if null or n == POISONED:
        search.agg_n[new] = n
        search.agg_v[new] = search.agg_v[old]
        if wide:
            search.agg_v[new + high] = search.agg_v[old + high]
        return
    search.agg_n[new] = n + 1
    if kind <= COUNT + WIDE:
        return
    if wide:
        xi = columns.ints[cell]
        xh = columns.ints[cell + U(columns.rows)] if kind & WIDE else xi >> 63
        yi, yh = search.agg_v[old], search.agg_v[old + high]
        if n > 0:
            if kind >= TOTAL:
                status, xh, xi = decimals.operate(decimals.LONGEST_SUM, xh, xi, yh, yi, search.digits)
                if status != TRUE:
                    search.agg_n[new] = POISONED
            else:
                order = decimals.order(xh, xi, 0, yh, yi, 0, search.digits)
                if order == 0 or (order > 0) == (kind == MIN + WIDE):
                    xi, xh = yi, yh
        search.agg_v[new] = xi
        search.agg_v[new + high] = xh
        return
    if kind & FLOAT:
        x = columns.floats[cell]
        y = search.agg_f[old]
        if n > 0:
            if kind == SUM + FLOAT or kind == AVERAGE + FLOAT:
                x += y
            else:
                order = compare(x, y)
                if order == 0 or (order > 0) == (kind == MIN + FLOAT):
                    x = y
        search.agg_f[new] = x
        return
    v = columns.ints[cell]
    w = search.agg_v[old]
    if kind == AVERAGE:
        x = np.float64(v)
        search.agg_f[new] = search.agg_f[old] + x if n > 0 else x
        return
    if n > 0:
        if kind == SUM:
            total = v + w
            if ((v ^ total) & (w ^ total)) < 0 and conditions.ansi:
                search.agg_n[new] = POISONED
            v = total
        elif (v > w) == (kind == MIN):
            v = w
    search.agg_v[new] = v


@inlined
def retreat(position, conditions, search):
    """Undo ``advance``."""
    for j in range(conditions.register_low[U(position)], conditions.register_high[U(position)]):
        search.counts[U(conditions.registers[U(j)])] -= 1
