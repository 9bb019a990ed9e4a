"""Output rows of runs: their events are any rows of the partition, not neighbours."""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inner
from sparkcep.exec.kernels.conditions.operands import navigate
from sparkcep.exec.kernels.rows.output import (
    CURRENT,
    FIXED,
    FLAGS,
    LABEL,
    LAST_OF_MATCH,
    NUMBER,
    PARTITION,
    SELF,
    SLOT_WIDTH,
)
from sparkcep.exec.kernels.runs.progress import MATCHES, TRACED, USED


@inner
def _slot_values(at, running, depth, rows, slots, machine, frames, buffers):
    """Resolve the slots of one output row: those that are RUNNING, or those that are FINAL. O(slots x depth)."""
    for s in range(slots.shape[0] // SLOT_WIDTH):
        if slots[SLOT_WIDTH * s + 4] != running:
            continue
        row = navigate(s, slots, SLOT_WIDTH, buffers.shown, rows)
        if slots[SLOT_WIDTH * s + 5] and row >= 0:
            label = np.int64(-1)
            for d in range(1, depth + 1):
                if frames.row[d] == row:
                    label = machine.state_component[frames.state[d]]
            row = label
        buffers.out[at, FIXED + s] = row


@inner
def emit_run(depth, partition, emission, machine, frames, progress, buffers):
    """Append the output rows and the events of the match in frames 1 to ``depth``, for which there must be room.

    O(depth x (registers + slots)). ``progress`` says the match's number (MATCHES) and how much of the output rows and
    of the trace is used (USED, TRACED).
    """
    output, out, trace, shown = emission.output, buffers.out, buffers.trace, buffers.shown
    used = progress[USED]
    first = used
    registers = output.membership.shape[0]
    for g in range(registers):
        shown.counts[g] = 0
    end = progress[TRACED]
    if emission.traced:
        for d in range(1, depth + 1):
            trace[end, 0] = machine.state_component[frames.state[d]]
            trace[end, 1] = frames.row[d]
            end += 1
        progress[TRACED] = end
    for d in range(1, depth + 1):
        label = machine.state_component[frames.state[d]]
        row = frames.row[d]
        for g in range(registers):
            if output.membership[g, label]:
                shown.occurrences[g * shown.rows + shown.counts[g]] = row
                shown.counts[g] += 1
        if emission.every_row or d == depth:
            out[used, PARTITION] = partition.number
            out[used, NUMBER] = progress[MATCHES]
            out[used, LABEL] = label
            out[used, SELF] = row
            out[used, CURRENT] = row
            out[used, FLAGS] = LAST_OF_MATCH if d == depth else 0
            out[used, out.shape[1] - 1] = end
            _slot_values(used, 1, depth, partition.rows, output.slots, machine, frames, buffers)
            used += 1
    for at in range(first, used):
        _slot_values(at, 0, depth, partition.rows, output.slots, machine, frames, buffers)
    progress[USED] = used
