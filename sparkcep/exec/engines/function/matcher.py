"""One partition of a table function: rows as Python values in, output rows out, Spark not asked for anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sparkcep.errors import SparkCepError
from sparkcep.exec.conditions import columns as columnwise
from sparkcep.exec.conditions.row_values import (
    RowProgram,
    Values,
    local,
    ordered,
)
from sparkcep.exec.engines.runs.matcher import RunMatcher
from sparkcep.exec.engines.runs.spec import RunSpec
from sparkcep.exec.kernels.rows import rows as kernel
from sparkcep.exec.masks import BITS_PER_WORD
from sparkcep.exec.shape import OperatorColumns, batch_of
from sparkcep.expr.arrow import arrow
from sparkcep.expr.nodes import ConditionSlot, Expression
from sparkcep.expr.numbers import DivisionByZero, Overflow
from sparkcep.expr.types import Type
from sparkcep.expr.typing_pass import Typing


@dataclass(frozen=True, slots=True)
class Items:
    """RETURN: trees over ``slots``, whose columns are ``programs`` and whose registers hold component codes."""

    trees: tuple[Expression, ...]
    slots: tuple[ConditionSlot, ...]
    registers: tuple[frozenset[int], ...]
    programs: tuple[RowProgram, ...]


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """A planned pattern function. Picklable, no Spark.

    ``columns``: names of the input's columns that it reads, ``kinds`` their types. ``order``: sort keys as (program,
    ascending, NULLs first); none where rows come in order. ``filters``: what rows must satisfy. ``masks``: per
    component code, the conditions of one event. ``fields``: programs of the kernel's fields, in its order. ``keys``:
    programs of the partition columns of the output. ``time``: the first sort key. ``variables``: per component code,
    the name shown in ``events``. ``items``: RETURN; None for the default output. ``exact``: of a COLLAPSED block.
    """

    columns: tuple[str, ...]
    kinds: tuple[Type, ...]
    order: tuple[tuple[RowProgram, bool, bool], ...]
    filters: tuple[RowProgram, ...]
    masks: tuple[tuple[int, tuple[RowProgram, ...]], ...]
    fields: tuple[RowProgram, ...]
    keys: tuple[RowProgram, ...]
    time: RowProgram
    variables: tuple[str, ...]
    items: Items | None
    exact: bool | None
    arrival: bool
    shape: OperatorColumns
    runs: RunSpec


class FunctionMatcher:
    """Runs one FunctionSpec over partitions. Made once per task; holds the compiled tables."""

    def __init__(self, spec: FunctionSpec) -> None:
        self.spec = spec
        self.matcher = RunMatcher(spec.runs)
        self.ansi = spec.runs.ansi

    def match(self, rows: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
        """Output rows of one partition.

        Args:
            rows: values of ``spec.columns``.

        Raises:
            LimitError: CEP_STEP_LIMIT, CEP_MATCH_LIMIT.
            SparkCepError: ARITHMETIC_OVERFLOW, DIVIDE_BY_ZERO.
        """
        try:
            yield from self.matched(rows)
        except Overflow:
            raise SparkCepError("ARITHMETIC_OVERFLOW", "A number overflowed in a pattern function.") from None
        except DivisionByZero:
            raise SparkCepError("DIVIDE_BY_ZERO", "Division by zero in a pattern function.") from None

    def matched(self, rows: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
        """Output rows of one call's input rows."""
        spec = self.spec
        columns = self.sorted_columns(rows)
        count = len(columns[0]) if columns else 0
        if count == 0:
            return

        def values(program: RowProgram) -> Values:
            return program.values(columns, range(count), spec.kinds, self.ansi)

        arrays = [*self.masks(columns, count), *(arrow(values(p), p.kind) for p in spec.fields)]
        out, trace = self.matcher.match(batch_of(np.array([0, count], np.int64), arrays, spec.shape))
        if not len(out):
            return
        keys = tuple(values(k)[0] for k in spec.keys)
        events = list(zip(trace[:, 0].tolist(), trace[:, 1].tolist(), strict=True))
        low = 0
        row_of = self.default_rows(values(spec.time)) if spec.items is None else self.item_rows(spec.items, values)
        for number, high in zip(out[:, kernel.NUMBER].tolist(), out[:, -1].tolist(), strict=True):
            yield (*keys, *row_of(number, events[low:high]))
            low = high

    def sorted_columns(self, rows: Sequence[Sequence[Any]]) -> list[Values]:
        """The columns of the rows that pass the filters, in order."""
        spec = self.spec
        columns: list[Values] = [list(c) for c in zip(*rows, strict=True)]
        for i, kind in enumerate(spec.kinds):
            if kind.kind == "timestamp":
                columns[i] = [local(v) for v in columns[i]]
        if spec.arrival:
            columns.append(list(range(len(rows))))
        count = len(rows)
        kept: Sequence[int] = range(count)
        for program in spec.filters:
            kept = self.passing(program, columns, kept)
        if len(kept) < count:
            columns = [[c[r] for r in kept] for c in columns]
            count = len(kept)
        keys = [(p.values(columns, range(count), spec.kinds, self.ansi), a, n) for p, a, n in spec.order]
        order = ordered(count, keys)
        return columns if order == list(range(count)) else [[c[r] for r in order] for c in columns]

    def passing(self, program: RowProgram, columns: list[Values], rows: Sequence[int]) -> list[int]:
        """Those of some rows that a condition is true for."""
        found = program.values(columns, rows, self.spec.kinds, self.ansi)
        return [r for r, v in zip(rows, found, strict=True) if v is True]

    def masks(self, columns: list[Values], count: int) -> list[pa.Array]:
        """Condition bits of each row. A conjunct is asked only where those before it hold, as Spark does."""
        spec = self.spec
        words = np.zeros((max(1, spec.runs.mask_words), count), np.int64)
        for code, programs in spec.masks:
            word, place = divmod(spec.runs.condition_bits[code], BITS_PER_WORD)
            rows: Sequence[int] = range(count)
            for program in programs:
                rows = self.passing(program, columns, rows)
            words[word, np.array(rows, np.int64)] |= np.int64(1 << place)
        return [pa.array(w) for w in words]

    def default_rows(self, times: Values) -> Callable[[int, list[tuple[int, int]]], tuple[Any, ...]]:
        """How a match becomes the output row of a block without RETURN: number, start, end, events."""
        names, exact = self.spec.variables, self.spec.exact

        def row(number: int, events: list[tuple[int, int]]) -> tuple[Any, ...]:
            first, last = min(r for _, r in events), max(r for _, r in events)
            shown = [(names[c], r, times[r]) for c, r in events]
            return (number, times[first], times[last], shown, *(() if exact is None else (exact,)))

        return row

    def item_rows(
        self, items: Items, values: Callable[[RowProgram], Values]
    ) -> Callable[[int, list[tuple[int, int]]], tuple[Any, ...]]:
        """How a match becomes the output row of RETURN's items."""
        columns = [values(p) for p in items.programs]
        typing = Typing(items.slots, tuple(p.kind for p in items.programs), self.ansi)
        evaluators = [columnwise.evaluator(typing.typed(tree)) for tree in items.trees]
        batch = columnwise.Values(columns, rows=len(columns[0]) if columns else 0)

        def row(number: int, events: list[tuple[int, int]]) -> tuple[Any, ...]:
            match = columnwise.Matches(batch, [[[r for c, r in events if c in of] for of in items.registers]], [number])
            return tuple(columnwise.value(evaluate, match) for evaluate in evaluators)

        return row
