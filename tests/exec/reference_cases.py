"""What a kernel is given as a case of the reference matcher."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from sparkcep.exec.arrays import Ints, int_values
from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.columns import (
    Matches,
    Values,
    evaluator,
    value,
)
from sparkcep.exec.conditions.python_values import python_values
from sparkcep.exec.engines.runs.spec import Check, RunSpec
from sparkcep.exec.engines.runs.tables import interval
from sparkcep.exec.masks import BITS_PER_WORD
from sparkcep.expr.typing_pass import Typing

from .reference_runs import Path, ReferenceCase, ReferenceCondition


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


class ReferenceCases:
    """Partitions of batches as cases of the reference."""

    def __init__(self, spec: RunSpec) -> None:
        self.spec = spec
        self.names = spec.automaton.names
        self.codes = {name: code for code, name in enumerate(self.names)}
        typing = Typing(spec.conditions.slots, spec.conditions.column_types, spec.ansi)
        self.tests = {k: evaluator(typing.condition(c)) for k, c in spec.conditions.conditions.items()}

    def paths(self, batch: Batch) -> list[Path]:
        """The matches of all partitions, as a block's MATCHES says."""
        spec = self.spec
        found: list[Path] = []
        for _, case, _ in self.cases(batch, ()):
            start = 0
            while start < case.rows:
                own = case.starts(spec.pattern, start)
                if not spec.one_per_start:
                    found += dict.fromkeys(own)
                elif (preferred := next(own, None)) is not None:
                    found.append(preferred)
                    if spec.first_only:
                        break
                    start = preferred[-1][1]
                start += 1
        return found

    def cases(
        self, batch: Batch, type_bits: Sequence[int]
    ) -> Iterator[tuple[int, ReferenceCase, Callable[[str, int], bool]]]:
        """Each partition's number and case, and whether an event of it has a component's type (see RepairSpec)."""
        masks = [int_values(mask)[0] for mask in batch.masks]
        columns = list(map(python_values, batch.columns))
        for q in range(len(batch.offsets) - 1):
            base, end = int(batch.offsets[q]), int(batch.offsets[q + 1])
            state = State(columns, base, end - base, self.names)
            case = self.case(base, end - base, masks, batch, state)
            yield q, case, partial(self.has_type, masks, base, type_bits)

    def has_type(self, masks: Sequence[Ints], base: int, type_bits: Sequence[int], key: str, row: int) -> bool:
        """Whether a row has a type that the component takes."""
        bit = type_bits[self.codes[key]]
        return bit < 0 or bool(masks[bit // BITS_PER_WORD][base + row] >> (bit % BITS_PER_WORD) & 1)

    # -- conditions ------------------------------------------------------------------------------------------------

    def case(self, base: int, rows: int, masks: Sequence[Ints], batch: Batch, state: State) -> ReferenceCase:
        """One partition as the reference matcher reads it."""
        spec = self.spec
        times = interval(batch)

        def can_take(key: str, row: int) -> bool:
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
