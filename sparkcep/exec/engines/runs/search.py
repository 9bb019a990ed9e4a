"""Runs by the reference search, for conditions and negations that the kernel cannot express.

Slower than the kernel by some orders of magnitude and chosen only where needed; EXPLAIN says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from sparkcep.exec.arrays import Ints, Rows, int_values
from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.columns import (
    Matches,
    Values,
    evaluator,
    value,
)
from sparkcep.exec.conditions.python_values import python_values
from sparkcep.exec.engines.rows.spec import BITS_PER_WORD, OutputSlot
from sparkcep.exec.engines.runs.spec import Check, RunSpec
from sparkcep.exec.engines.runs.tables import interval
from sparkcep.exec.kernels.rows.output import (
    CURRENT,
    FIXED,
    FLAGS,
    LABEL,
    LAST_OF_MATCH,
    NUMBER,
    PARTITION,
    SELF,
    WAITING,
)
from sparkcep.exec.kernels.statuses import SKIP_TARGET_ABSENT, SKIP_TO_FIRST_ROW, TOO_MANY_ROWS, TOO_MANY_STEPS
from sparkcep.exec.memory import OBJECT, Budget
from sparkcep.exec.reference.runs import Path, ReferenceCase, ReferenceCondition
from sparkcep.exec.statuses import fewer_matches, interpreted, raise_status
from sparkcep.expr.typing_pass import Typing
from sparkcep.query import SkipMode

#: Matches between two looks at what they take.
CHECKED_EVERY = 1000


def unique(paths: Iterable[Path]) -> Iterator[Path]:
    """Each path once, as it is found."""
    seen: set[Path] = set()
    for path in paths:
        if path not in seen:
            seen.add(path)
            yield path


class Limit(Exception):
    """A limit was passed; the argument is the kernel's status."""


class State:
    """A partition, and the match whose conditions are tested. ``taken``: by row, the variable that took it."""

    def __init__(self, columns: Sequence[Sequence[Any]], base: int, rows: int, names: Sequence[str]) -> None:
        self.base = base
        self.names = names
        self.values = Values(columns, base, rows, labels=self)
        self.number = 1
        self.taken: dict[int, int] = {}

    def __getitem__(self, row: int) -> str | None:
        code = self.taken.get(row - self.base)
        return None if code is None else self.names[code]


class RunSearch:
    """Runs one RunSpec over batches; the interface of RunMatcher."""

    def __init__(self, spec: RunSpec) -> None:
        self.spec = spec
        self.names = spec.automaton.names
        self.codes = {name: code for code, name in enumerate(self.names)}
        typing = Typing(spec.conditions.slots, spec.conditions.column_types, spec.ansi)
        self.tests = {k: evaluator(typing.condition(c)) for k, c in spec.conditions.conditions.items()}

    def match(self, batch: Batch) -> tuple[Ints, Rows]:
        """See RunMatcher.match."""
        spec = self.spec
        budget = self.budget(batch)
        masks = [int_values(mask)[0] for mask in batch.masks]
        columns = list(map(python_values, batch.columns))
        out: list[list[int]] = []
        trace: list[tuple[int, int]] = []
        with self.errors():
            for q in range(len(batch.offsets) - 1):
                base, end = int(batch.offsets[q]), int(batch.offsets[q + 1])
                self.partition(q, base, end - base, masks, columns, batch, out, trace, budget)
        width = FIXED + len(spec.slots) + 1
        return np.array(out, np.int64).reshape(-1, width), np.array(trace, np.int32).reshape(-1, 2)

    def pieces(self, batch: Batch) -> Iterator[tuple[Ints, Rows]]:
        """See RunMatcher.pieces; there is one."""
        yield self.match(batch)

    def cases(
        self, batch: Batch, type_bits: Sequence[int]
    ) -> Iterator[tuple[int, ReferenceCase, Callable[[str, int], bool]]]:
        """Each partition's number and case, and whether an event of it has a component's type (see RepairSpec)."""
        self.budget(batch)
        masks = [int_values(mask)[0] for mask in batch.masks]
        columns = list(map(python_values, batch.columns))
        for q in range(len(batch.offsets) - 1):
            base, end = int(batch.offsets[q]), int(batch.offsets[q + 1])
            state = State(columns, base, end - base, self.names)
            case = self.case(base, end - base, masks, batch, state)
            yield q, case, partial(self.has_type, masks, base, type_bits)

    def budget(self, batch: Batch) -> Budget:
        """What there is for a batch whose columns are read into Python.

        Raises:
            LimitError: CEP_MEMORY_LIMIT.
        """
        budget = Budget(self.spec.task_memory, int(np.diff(batch.offsets).max(initial=0)))
        budget.hold("batch", batch.held, OBJECT * len(batch.columns) * int(batch.offsets[-1]))
        return budget

    def has_type(self, masks: Sequence[Ints], base: int, type_bits: Sequence[int], key: str, row: int) -> bool:
        """Whether a row has a type that the component takes."""
        bit = type_bits[self.codes[key]]
        return bit < 0 or bool(masks[bit // BITS_PER_WORD][base + row] >> (bit % BITS_PER_WORD) & 1)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Where conditions are tested: limits and failures become the errors that the kernel's statuses stand for."""
        spec = self.spec
        try:
            with interpreted():
                yield
        except Limit as error:
            raise_status(error.args[0], spec, fewer_matches(spec))

    def partition(
        self, q: int, base: int, rows: int, masks: Sequence[Ints], columns: list[list[Any]], batch: Batch,
        out: list[list[int]], trace: list[tuple[int, int]], budget: Budget,
    ) -> None:  # fmt: skip
        """Append a partition's matches."""
        spec = self.spec
        state = State(columns, base, rows, self.names)
        case = self.case(base, rows, masks, batch, state)
        number = 0
        begin = len(out)
        width = FIXED + len(spec.slots) + 1
        start = 0
        while start < rows:
            state.number = number + 1
            match: Path | None = None
            for path, waiting in self.runs_of(case, start):
                number += 1
                if number % CHECKED_EVERY == 0:
                    budget.hold("output", OBJECT * (len(out) * width + 2 * len(trace)))
                self.emit(q, number, path, rows, out, trace, waiting)
                if (len(out) - begin if spec.rows_per_match.is_all else number) > spec.limit_rows:
                    raise Limit(TOO_MANY_ROWS)
                if number >= spec.most_matches or (spec.first_only and spec.one_per_start):
                    return
                match = path if not waiting else None
                if spec.one_per_start:
                    break
            start = self.next_start(start, match) if match is not None and spec.one_per_start else start + 1

    def runs_of(self, case: ReferenceCase, start: int) -> Iterator[tuple[Path, int]]:
        """A start row's matches, with 0; where it has none, its run that timed out, if that is wanted, with what it
        lacks, as a code plus 1."""
        spec = self.spec
        found = case.starts(spec.pattern, start)
        path: Path | None = None
        for path in found if spec.one_per_start else unique(found):
            yield path, 0
        if path is None and spec.timed_out and (late := case.timed_out(spec.pattern, start)) is not None:
            yield late[0], self.codes[late[1]] + 1

    def next_start(self, start: int, path: Path) -> int:
        """Where matching goes on after a match."""
        spec = self.spec
        if spec.skip is SkipMode.TO_NEXT_ROW:
            return start + 1
        if spec.skip is SkipMode.PAST_LAST_ROW:
            return path[-1][1] + 1
        targets = [row for key, row in path if self.codes[key] in spec.skip_labels]
        if not targets:
            raise Limit(SKIP_TARGET_ABSENT)
        target = targets[0] if spec.skip is SkipMode.TO_FIRST else targets[-1]
        if target == start:
            raise Limit(SKIP_TO_FIRST_ROW)
        return target

    # -- conditions ------------------------------------------------------------------------------------------------

    def case(self, base: int, rows: int, masks: Sequence[Ints], batch: Batch, state: State) -> ReferenceCase:
        """One partition as the reference matcher reads it."""
        spec = self.spec
        times = interval(batch)
        steps = 0

        def can_take(key: str, row: int) -> bool:
            nonlocal steps
            steps += 1
            if steps > spec.limit_steps:
                raise Limit(TOO_MANY_STEPS)
            bit = spec.condition_bits.get(self.codes[key])
            return bit is None or bool(masks[bit // BITS_PER_WORD][base + row] >> (bit % BITS_PER_WORD) & 1)

        def reaches(first: int, last: int) -> bool:
            null = times.null[0, base + last] or times.null[0, base + first] or times.null[1, base + first]
            return not null and bool(times.key[base + last] <= times.bound[base + first])

        def comes_within(last: int, row: int) -> bool:
            null = times.null[0, base + row] or times.null[0, base + last] or times.null[2, base + last]
            return not null and bool(times.key[base + row] >= times.lower[base + last])

        bounded = spec.use_within
        return ReferenceCase(
            rows, can_take, [self.condition(c, state) for c in spec.checks], spec.selection,
            reaches if bounded else None, comes_within if bounded else None, reaches if bounded else None,
            times.key[base : base + rows].tolist() if spec.strict_time else None,
        )  # fmt: skip

    def condition(self, check: Check, state: State) -> ReferenceCondition:
        """A check as a condition of the reference matcher."""
        names = self.names
        registers = self.spec.conditions.registers
        each = self.spec.conditions.each
        test = self.tests[check.number]

        def holds(path: Path, k: int | None = None) -> bool:
            taken = [(self.codes[key], row) for key, row in path]
            state.taken = {row: code for code, row in taken}
            seen = [[row for code, row in taken if code in of] for of in registers]
            if k is not None:
                for g in each:
                    seen[g] = seen[g][: k + 1]
            return value(test, Matches(state.values, [seen], [state.number])) is True

        def keys(codes: frozenset[int]) -> tuple[str, ...]:
            return tuple(names[c] for c in sorted(codes))

        return ReferenceCondition(
            keys(check.decided_by), check.at, holds, tuple(keys(registers[g]) for g in check.required), check.minimum,
            check.first_only, keys(check.after), keys(registers[check.each]) if check.each >= 0 else (),
            tuple(keys(registers[g]) for g in check.awaited), keys(check.beside),
        )  # fmt: skip

    # -- output ----------------------------------------------------------------------------------------------------

    def emit(
        self, q: int, number: int, path: Path, rows: int, out: list[list[int]], trace: list[tuple[int, int]],
        waiting: int = 0,
    ) -> None:  # fmt: skip
        """Append the output rows of a match. ``waiting``: of a run that timed out, what it lacks, as a code plus 1."""
        spec = self.spec
        taken = [(self.codes[key], row) for key, row in path]
        if spec.traced:
            trace += taken
        every_row = spec.every_row or spec.rows_per_match.is_all
        for d in range(len(taken)) if every_row else (len(taken) - 1,):
            line = [-1] * (FIXED + len(spec.slots) + 1)
            code, row = taken[d]
            line[PARTITION], line[NUMBER], line[LABEL] = q, number, code
            line[SELF] = line[CURRENT] = row
            line[FLAGS] = (LAST_OF_MATCH if d == len(taken) - 1 else 0) + waiting * WAITING
            for s, slot in enumerate(spec.slots):
                line[FIXED + s] = self.slot(slot, taken[: d + 1] if slot.running else taken, rows)
            line[-1] = len(trace)
            out.append(line)

    def slot(self, slot: OutputSlot, taken: Sequence[tuple[int, int]], rows: int) -> int:
        """Row (or label) of an output slot."""
        of = self.spec.slot_registers[slot.register]
        seen = [row for code, row in taken if code in of]
        at = slot.logical if slot.from_first else len(seen) - 1 - slot.logical
        if not 0 <= at < len(seen):
            return -1
        row = seen[at] + slot.physical
        if slot.label:
            return {r: code for code, r in taken}.get(row, -1)
        return row if 0 <= row < rows else -1
