"""The rows kernel's search in Python, for conditions that only the interpreter can evaluate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sparkcep.exec.arrays import Ints
from sparkcep.exec.interpreter import Interpreter, MatchState, normalise
from sparkcep.exec.kernels import rows as kernel
from sparkcep.exec.kernels.tables import Within, Words
from sparkcep.exec.tables import grown, new_trail

if TYPE_CHECKING:
    from sparkcep.exec.matcher import Batch, Matcher


class Search:
    """The rows kernel's search in Python, for interpreted conditions."""

    def __init__(self, matcher: Matcher, batch: Batch, masks: Words, within: Within) -> None:
        self.m = matcher
        self.spec = matcher.spec
        self.batch = batch
        self.masks = masks
        self.within = within
        conditions = self.spec.conditions
        interpreter = Interpreter(conditions.slots, conditions.column_types, self.spec.ansi)
        self.tests = {label: interpreter.condition(c) for label, c in conditions.conditions.items()}
        self.columns = [[normalise(v) for v in c.to_pylist()] for c in batch.columns]
        program = self.spec.program
        self.edges = [program.successors(p) for p in range(program.positions + 1)]
        self.labels = program.labels.tolist()
        self.steps = 0

    def run(self) -> Ints:
        spec, program = self.spec, self.spec.program
        mode = self.m.mode
        out = np.empty((1024, kernel.FIXED + len(spec.slots)), np.int64)
        used = 0
        for q in range(len(self.batch.offsets) - 1):
            base = int(self.batch.offsets[q])
            rows = int(self.batch.offsets[q + 1]) - base
            ends = np.zeros((rows + 1, program.positions), np.int64)
            kernel.earliest_ends(base, rows, self.masks, self.m.automaton, ends)
            trail = new_trail(rows, len(spec.slot_registers))
            state = MatchState(self.columns, base, rows, program.names)
            self.steps = 0
            start = number = covered = 0
            before = used
            while start < rows:
                limit = self.reach(base, rows, start)
                path = self.find(state, start, number + 1, ends, limit)
                if path is None:
                    if mode == kernel.WITH_UNMATCHED and start >= covered:
                        out = grown(out, used, 0)
                        used = kernel.emit_unmatched(out, used, q, start)
                    start += 1
                    continue
                number += 1
                trail.path[: len(path)] = path
                out = grown(out, used, len(path))
                used = kernel.emit_match(
                    out, used, q, number, start, len(path), rows, self.m.automaton, mode,
                    self.m.every_row, self.m.output, trail,
                )  # fmt: skip
                if used - before > spec.limit_rows:
                    self.m.check(kernel.TOO_MANY_ROWS)
                covered = max(covered, start + len(path))
                resume, status = kernel.next_start(
                    start, len(path), self.m.skip, self.m.output.targets, trail.path, program.labels
                )
                self.m.check(int(status))
                start = int(resume)
        result: Ints = out[:used]
        return result

    def reach(self, base: int, rows: int, start: int) -> int:
        """Last row within reach of WITHIN from a start row."""
        if not self.spec.use_within:
            return rows
        limit = start - 1
        if self.within.null[:, base + start].any():
            return limit
        keys, nulls = self.within.key, self.within.null[0]
        bound = self.within.bound[base + start]
        while limit + 1 < rows and not nulls[base + limit + 1] and keys[base + limit + 1] <= bound:
            limit += 1
        return limit

    def find(self, state: MatchState, start: int, number: int, ends: Ints, limit: int) -> list[int] | None:
        """Positions of the preferred match from a start row."""
        registers = self.spec.conditions.registers
        state.start, state.number = start, number
        state.labels = []
        state.registers = [[] for _ in registers]
        path: list[int] = []
        choice = [0]
        while True:
            self.steps += 1
            if self.steps > self.spec.limit_steps:
                self.m.check(kernel.TOO_MANY_STEPS)
            at = path[-1] if path else self.spec.program.positions
            r = start + len(path)
            if choice[-1] >= len(self.edges[at]):
                choice.pop()
                if not path:
                    return None
                path.pop()
                self.untake(state)
                continue
            target, condition = self.edges[at][choice[-1]]
            choice[-1] += 1
            if (condition & kernel.AT_START and r != 0) or (condition & kernel.AT_END and r != state.rows):
                continue
            if target == kernel.ACCEPT:
                return path
            if r >= state.rows or ends[r, target] > limit:
                continue
            label = self.labels[target]
            state.labels.append(label)
            for seen, of in zip(state.registers, registers, strict=True):
                if label in of:
                    seen.append(r)
            test = self.tests.get(label)
            if test is not None and not test(state):
                self.untake(state)
                continue
            path.append(target)
            choice.append(0)

    def untake(self, state: MatchState) -> None:
        label = state.labels.pop()
        for seen, of in zip(state.registers, self.spec.conditions.registers, strict=True):
            if label in of:
                seen.pop()
