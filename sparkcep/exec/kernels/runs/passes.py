"""Whether the checks hold that going on over an edge decides."""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inner
from sparkcep.exec.kernels.conditions.codes import U
from sparkcep.exec.kernels.conditions.machine import holds
from sparkcep.exec.kernels.runs.spans import NEVER, SAFE, precheck
from sparkcep.exec.kernels.statuses import FALSE, TRUE

CHECK_WIDTH = 10


@inner
def passes(group, depth, row, partition, walk):
    """Test a group of checks on a row that its registers have seen, each as soon as it can be decided.

    ``depth``: frames taken before the row. A check with a register to go through is tested for each of its events.

    Returns:
        TRUE, FALSE, or the status of the first check that fails with an error.
    """
    checks, conditions, columns, frames, search = walk.checks, walk.conditions, walk.columns, walk.frames, walk.search
    base, rows = partition.base, partition.rows
    counts = search.counts
    for k in range(checks.group_start[U(group)], checks.group_start[U(group + 1)]):
        at = U(CHECK_WIDTH * k)
        program = checks.checks[at]
        count = counts[U(checks.checks[at + U(1)])]
        minimum = checks.checks[at + U(2)]
        if count < minimum or (checks.checks[at + U(3)] and count > 1):
            continue
        none = checks.checks[at + U(9)]
        vacuous = none >= 0 and counts[U(max(none, 0))] > 0
        for r in range(checks.checks[at + U(5)], checks.checks[at + U(6)]):
            vacuous |= counts[U(checks.required[U(r)])] == 0
        low, high = checks.checks[at + U(7)], checks.checks[at + U(8)]
        if low < high:
            vacuous = True
            before = walk.machine.state_component[U(frames.state[U(depth)])] if depth > 0 else np.int64(-1)
            for r in range(low, high):
                if checks.after[U(r)] == before:
                    vacuous = False
        if vacuous:
            continue
        known = precheck(program, row, base, checks, columns, walk.work, frames)
        if known == SAFE:
            continue
        if known == NEVER:
            return FALSE
        # Without a register to go through, or with an empty one, the first round is the only one.
        each = checks.checks[at + U(4)]
        register = U(max(each, 0))
        whole = counts[register]
        seen = min(max(minimum, 1), whole) if each >= 0 else whole
        while seen <= whole:
            counts[register] = seen
            result = holds(program, row, base, rows, frames.edge[0], conditions, columns, search)
            if result != TRUE:
                counts[register] = whole
                return result
            seen += 1
        counts[register] = whole
    return TRUE
