"""Early filters and SAFE events (SASE++, section 4.3): what is known of a condition before any match is enumerated.

`b[i].x op f(earlier b)` with f the previous, the first, the least or the greatest of the earlier events' values:
whatever earlier events a match takes, f lies between the least and the greatest value of all that it could take. Where
op holds against both, the condition holds in every match and is not tested again; where it holds against neither, the
event can only be the first of its variable.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, inner
from sparkcep.exec.kernels.conditions.codes import EQUAL, GREATER, LESS, U

UNKNOWN, SAFE, NEVER = range(3)


@inlined
def precheck(program, row, base, checks, columns, work, frames):
    """What is known of a condition on a row: SAFE, NEVER or UNKNOWN."""
    if not checks.spans[U(5 * program)] or not checks.window[1]:
        return UNKNOWN
    start = frames.row[1]
    if checks.prechecked_start[U(program)] != start + 1:
        _fill_prechecked(program, start, base, checks, columns, work)
        checks.prechecked_start[U(program)] = start + 1
    return checks.prechecked[program, row]


@inner
def _fill_prechecked(program, start, base, checks, columns, work):
    """Fill ``checks.prechecked`` for the rows that a match from ``start`` may take."""
    column, is_float = checks.spans[5 * program + 1], checks.spans[5 * program + 2]
    orders, first_member = checks.spans[5 * program + 3], checks.spans[5 * program + 4]
    low_i, high_i, low_f, high_f = np.int64(0), np.int64(0), 0.0, 0.0
    seen, safe, known = 0, True, True
    for j in range(start, checks.window[0] + 1):
        member = first_member
        takes = False
        while checks.members[member] >= 0:
            takes |= work.next_row[checks.members[member], j] == j
            member += 1
        if not takes:
            continue
        cell = U(column * columns.rows + base + j)
        null = (columns.float_nulls[cell] if is_float else columns.int_nulls[cell]) != 0
        xi, xf = np.int64(0), 0.0
        if null:
            pass
        elif is_float:
            xf = columns.floats[cell]
        else:
            xi = columns.ints[cell]
        found = UNKNOWN
        if null:
            found = NEVER
        elif seen and known and not (is_float and xf != xf):
            if is_float:
                against_low = EQUAL if xf == low_f else (LESS if xf < low_f else GREATER)
                against_high = EQUAL if xf == high_f else (LESS if xf < high_f else GREATER)
            else:
                against_low = EQUAL if xi == low_i else (LESS if xi < low_i else GREATER)
                against_high = EQUAL if xi == high_i else (LESS if xi < high_i else GREATER)
            # From LESS than the least over EQUAL to GREATER than the greatest: every order in between may occur.
            possible = against_low | against_high
            if against_low == GREATER and against_high == LESS:
                possible = LESS | EQUAL | GREATER
            if possible & orders == 0:
                found = NEVER
            elif safe and possible & ~orders == 0:
                found = SAFE
        checks.prechecked[program, j] = found
        if null:
            safe = False  # of earlier events without a value there is nothing to compare with
        elif is_float and xf != xf:
            known = False
        elif is_float:
            low_f = min(low_f, xf) if seen else xf
            high_f = max(high_f, xf) if seen else xf
            seen += 1
        else:
            low_i = min(low_i, xi) if seen else xi
            high_i = max(high_i, xi) if seen else xi
            seen += 1
