"""The rows kernel's search in Python, for conditions that only the interpreter can evaluate."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Protocol

import numpy as np

from sparkcep.exec.arrays import Ints
from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.expressions import LABEL_COLUMN, Call, Expression, NavigationSlot, NumberSlot, RowValue
from sparkcep.exec.conditions.interpreter import Interpreter, MatchState
from sparkcep.exec.conditions.python_values import python_values
from sparkcep.exec.conditions.scalars import DivisionByZero, Overflow
from sparkcep.exec.engines.rows.spec import ConditionSet, MatchSpec
from sparkcep.exec.engines.rows.tables import grown, new_search_state
from sparkcep.exec.kernels import tables as kernel_tables
from sparkcep.exec.kernels.rows import rows as kernel
from sparkcep.exec.kernels.rows.tables import Emission, Match
from sparkcep.exec.kernels.rows.viability import NONE
from sparkcep.exec.kernels.statuses import OK, SKIP_TARGET_ABSENT, TOO_MANY_ROWS, TOO_MANY_STEPS
from sparkcep.exec.kernels.tables import Within, Words
from sparkcep.exec.memory import OBJECT, Budget
from sparkcep.exec.statuses import CONDITION_FAILURES


class SearchContext(Protocol):
    """What the search has of the matcher that it stands in for; see Matcher."""

    spec: MatchSpec
    automaton: kernel_tables.Automaton
    emission: Emission
    ahead: int
    output_ahead: int
    patience: int

    def check(self, status: int) -> None:
        """Raise the error that a kernel's status stands for; none for 0."""


#: Most words in keys of failed states before they are forgotten.
MEMO_WORDS = 4_000_000


class Undecided(Exception):
    """It takes rows that are still to come."""


class LookBack:
    """What conditions can look back at: the last and first rows of registers, and all rows that enter an aggregate.

    Conditions that read labels (CLASSIFIER) may look at any row's.
    """

    def __init__(self, conditions: ConditionSet) -> None:
        count = len(conditions.registers)
        self.last, self.first, self.whole = [0] * count, [0] * count, [False] * count
        self.labels = False
        for slot in conditions.slots:
            if isinstance(slot, NumberSlot):
                continue
            g = slot.register
            if isinstance(slot, NavigationSlot):
                wanted = self.first if slot.from_first else self.last
                wanted[g] = max(wanted[g], slot.logical + 1)
                self.labels |= slot.column == LABEL_COLUMN or (
                    slot.argument is not None and _reads_label(slot.argument)
                )
            else:
                self.whole[g] = True
                self.labels |= any(_reads_label(a) for a in (*slot.arguments, slot.filter) if a is not None)

    def of(self, state: MatchState) -> Iterator[Hashable]:
        """Two attempts at which these are equal have the same future."""
        for seen, last, first, whole in zip(state.registers, self.last, self.first, self.whole, strict=True):
            if whole:
                yield tuple(seen)
            else:
                yield tuple(seen[-last:]) if last else None
                yield tuple(seen[:first])
        if self.labels:
            yield tuple(state.labels)


def _reads_label(node: Expression) -> bool:
    if isinstance(node, RowValue):
        return node.column == LABEL_COLUMN
    return isinstance(node, Call) and any(_reads_label(a) for a in node.arguments)


class Search:
    """The rows kernel's search in Python, for interpreted conditions."""

    def __init__(self, matcher: SearchContext, batch: Batch, masks: Words, within: Within) -> None:
        self.m = matcher
        self.spec = matcher.spec
        self.batch = batch
        self.masks = masks
        self.within = within
        conditions = self.spec.conditions
        interpreter = Interpreter(conditions.slots, conditions.column_types, self.spec.ansi)
        self.tests = {label: interpreter.condition(c) for label, c in conditions.conditions.items()}
        longest = int(np.diff(batch.offsets).max(initial=0))
        self.budget = Budget(self.spec.task_memory, longest)
        values = len(batch.columns) * int(batch.offsets[-1])
        self.budget.hold("batch", batch.held, masks, OBJECT * values, 8 * longest * self.spec.program.positions)
        self.columns = list(map(python_values, batch.columns))
        program = self.spec.program
        self.edges = [program.successors(p) for p in range(program.positions + 1)]
        self.labels = program.labels.tolist()
        self.look_back = LookBack(conditions)
        self.failed: dict[Hashable, int] = {}
        self.words = 0
        self.undone = 0
        self.steps = 0
        self.origin = 0
        self.open_row = 0
        self.is_open = False
        #: Up to where all rows have come.
        self.watermark = batch.reached
        self.streams = False

    def run(self, progress: Ints, more: bool) -> Ints:
        """As kernels.rows.match_partitions; ``progress`` tells where the last partition was left."""
        out = np.empty((1024, kernel.FIXED + len(self.spec.slots)), np.int64)
        partitions = len(self.batch.offsets) - 1
        for q in range(partitions):
            out = self.match_partition(q, more and q == partitions - 1, progress, out)
            if q < partitions - 1:
                used = progress[kernel.USED]
                progress[:] = 0
                progress[kernel.USED] = used
        return out[: progress[kernel.USED]]

    def run_released(self, left: Ints, watermark: int, progress: Ints) -> Ints:
        """As kernels.rows.match_partitions for the partitions of a stream, each of which goes on."""
        self.watermark, self.streams = watermark, True
        out = np.empty((1024, kernel.FIXED + len(self.spec.slots)), np.int64)
        kept = [k for k in range(kernel.PROGRESS) if k not in kernel.OF_BATCH]
        for q in range(len(self.batch.offsets) - 1):
            progress[kept] = left[q, kept]
            out = self.match_partition(q, True, progress, out)
            left[q, kept] = progress[kept]
        return out[: progress[kernel.USED]]

    def match_partition(self, q: int, more: bool, progress: Ints, out: Ints) -> Ints:
        """Append a partition's output rows; returns the buffer."""
        spec, program, emission = self.spec, self.spec.program, self.m.emission
        base = int(self.batch.offsets[q])
        rows = int(self.batch.offsets[q + 1]) - base
        ends = np.zeros((rows + 1, program.positions), np.int64)
        goes_on, looked_at = more, spec.undecided != kernel.DECIDED_BY_END
        more = goes_on or looked_at
        kernel.earliest_ends(base, rows, int(more), self.masks, self.m.automaton, ends)
        search = new_search_state(rows, len(spec.slot_registers))
        state = MatchState(self.columns, base, rows, program.names)
        state.first_row = int(progress[kernel.FIRST_ROW])
        self.origin = 0 if progress[kernel.FIRST_ROW] == 0 else -1
        self.failed, self.words, self.undone = {}, 0, 0
        self.steps = int(progress[kernel.STEPS])
        start, number = int(progress[kernel.AT_ROW]), int(progress[kernel.MATCHES])
        closes = spec.use_within and (self.streams or not goes_on)
        while start < rows:
            progress[kernel.AT_ROW] = start
            limit = self.reach(base, rows, start)
            more = self.is_open = (goes_on or looked_at) and not (
                closes and self.within.bound[base + start] <= self.watermark
            )
            self.open_row = rows - self.m.ahead if more or (looked_at and self.m.ahead) else int(NONE)
            try:
                path = self.find(state, start, number + 1, ends, limit + 1 if more and limit == rows - 1 else limit)
            except (Undecided, Overflow, DivisionByZero, *CONDITION_FAILURES) as error:
                if not isinstance(error, Undecided) and not (more and goes_on):
                    raise  # else more rows may tell that it is never to be evaluated
                path, undecided = None, True
            else:
                ahead = start + len(path) + self.m.output_ahead if path else 0
                undecided = ahead > rows and (more or looked_at)
            if undecided:
                if goes_on or spec.undecided != kernel.PASSED_OVER:
                    return out
                start += 1
                continue
            progress[kernel.STEPS] = self.steps
            used = before = int(progress[kernel.USED])
            each = emission.mode == kernel.EACH_ROW
            out = grown(out, used, len(path or ()) * (1 + each))
            self.budget.hold("output", out)
            status = OK
            if path is None:
                if each or (emission.mode == kernel.WITH_UNMATCHED and start >= progress[kernel.COVERED]):
                    used = kernel.emit_unmatched(out, used, q, start)
                start += 1
            else:
                number += 1
                search.path[: len(path)] = path
                match = Match(q, number, start, len(path), rows)
                used = kernel.emit_match(out, used, match, self.m.automaton, emission, search)
                progress[kernel.MATCHES] = number
                progress[kernel.COVERED] = max(progress[kernel.COVERED], start + len(path))
                begin = start
                start, status = kernel.next_start(
                    start, len(path), emission.skip, emission.output.targets, search.path, self.m.automaton.labels,
                    emission.gap,
                )  # fmt: skip
                for row in range(begin + 1, start if each and status == OK else 0):
                    used = kernel.emit_unmatched(out, used, q, row)
                if self.streams and status != OK:
                    start += max(len(path), 1) if status == SKIP_TARGET_ABSENT else 1
                    status = OK
                    progress[kernel.CHANGED] += 1
            progress[kernel.USED] = used
            emitted = used - before
            if each:
                progress[kernel.EMITTED] += bool(path)
            else:
                progress[kernel.EMITTED] += min(emitted, 1) if emission.rows == kernel.MAPPED_ROWS else emitted
            if progress[kernel.EMITTED] > spec.limit_rows:
                self.m.check(TOO_MANY_ROWS)
            self.m.check(status)
        progress[kernel.AT_ROW] = start
        return out

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
        patience = self.m.patience * (state.rows + 64)
        while True:
            self.steps += 1
            if self.steps > self.spec.limit_steps:
                self.m.check(TOO_MANY_STEPS)
            at = path[-1] if path else self.spec.program.positions
            r = start + len(path)
            if choice[-1] >= len(self.edges[at]):
                choice.pop()
                if not path:
                    return None
                self.undone += 1
                if self.undone > patience:
                    self.record((path[-1], r - 1, number, *self.look_back.of(state)), limit)
                path.pop()
                self.untake(state)
                continue
            target, condition = self.edges[at][choice[-1]]
            choice[-1] += 1
            if (condition & kernel.AT_START and r != self.origin) or (condition & kernel.AT_END and r != state.rows):
                continue
            if target == kernel.ACCEPT and (r < self.open_row or not condition & kernel.AT_END):
                return path
            if r < state.rows and ends[r, target] > limit:
                continue
            if r >= state.rows and not self.is_open:
                continue
            if r >= self.open_row:
                raise Undecided
            label = self.labels[target]
            state.labels.append(label)
            for seen, of in zip(state.registers, registers, strict=True):
                if label in of:
                    seen.append(r)
            test = self.tests.get(label)
            holds = test is None or test(state)
            if holds and self.undone > patience:
                holds = self.failed.get((target, r, number, *self.look_back.of(state)), -2) < limit
            if not holds:
                self.untake(state)
                continue
            path.append(target)
            choice.append(0)

    def record(self, key: tuple[Hashable, ...], limit: int) -> None:
        """Note that a state fails when matches may reach to row ``limit``; see kernels.memo."""
        self.words += sum(len(part) if isinstance(part, tuple) else 1 for part in key)
        if self.words > MEMO_WORDS:
            self.failed, self.words = {}, 0
        self.failed[key] = limit

    def untake(self, state: MatchState) -> None:
        """Take back the last row of the match."""
        label = state.labels.pop()
        for seen, of in zip(state.registers, self.spec.conditions.registers, strict=True):
            if label in of:
                seen.pop()
