"""The row pattern clause under strict contiguity."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping

import numpy as np
import pyarrow as pa

from sparkcep.exec.batch import CHUNK, Batch, Resume
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.engine import MatchTable, OutputColumn
from sparkcep.exec.engines.rows.matcher import Matcher
from sparkcep.exec.engines.rows.output import match_columns, match_table
from sparkcep.exec.engines.rows.program import compile_pattern
from sparkcep.exec.engines.rows.released import RowsReleased
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.kernels.rows.ranges import mark_ranges, select_chain
from sparkcep.exec.shape import OperatorColumns
from sparkcep.expr.nodes import Call, Load, NavigationSlot
from sparkcep.expr.types import BIGINT
from sparkcep.pattern import Concatenation, Variable
from sparkcep.query import RowsPerMatch, SkipMode

#: Rows to gather before matching where a row holds a value for each row of its partition.
WIDE_CHUNK = 2_000


class RowsEngine:
    """Matches of neighbouring rows; goes on in the middle of a partition."""

    name = "rows"

    def columns(self, spec: MatchSpec, shape: OperatorColumns) -> tuple[OutputColumn, ...]:
        """See :class:`Engine`."""
        return match_columns(shape)

    def matcher(self, spec: MatchSpec, shape: OperatorColumns) -> RowsMatcher:
        """See :class:`Engine`."""
        return RowsMatcher(spec, shape)

    def released(self, spec: MatchSpec, shape: OperatorColumns) -> RowsReleased:
        """See :class:`StreamingEngine`."""
        return RowsReleased(spec, shape)

    def needs(self, spec: MatchSpec, shape: OperatorColumns) -> tuple[str, ...]:
        """See :class:`Engine`."""
        return ("rows",) if shape.ranges is None else ("rows", "ranges")

    def warm_ups(self) -> Mapping[str, Callable[[], None]]:
        """See :class:`Engine`."""
        return {"rows": _warm_rows, "ranges": _warm_ranges}


class RowsMatcher:
    """The rows of matches as columns."""

    def __init__(self, spec: MatchSpec, shape: OperatorColumns) -> None:
        self.inner = Matcher(spec)
        self.shape = shape
        wide = any(t.kind == "array" for t in spec.conditions.column_types)
        # Patterns of many positions take much of each row: a quarter of what there is.
        fitting = spec.task_memory // (4 * self.inner.row_bytes)
        self.chunk = min(WIDE_CHUNK if wide else CHUNK, max(fitting, 1))

    def match(self, batch: Batch) -> MatchTable:
        """See :class:`Matcher`."""
        return match_table(self.inner.match(batch), self.shape)

    def pieces(self, batch: Batch) -> Iterator[MatchTable]:
        """See :class:`Matcher`."""
        return self.parts(batch, None, False)

    def parts(self, batch: Batch, resume: Resume | None, more: bool) -> Generator[MatchTable, None, Resume | None]:
        """Tables of one batch, whose first and last partition may be pieces; what it returns at last goes on with the
        next batch, see Matcher.match_parts."""
        parts = self.inner.match_parts(batch, resume, more)
        while True:
            try:
                out = next(parts)
            except StopIteration as end:
                left: Resume | None = end.value
                return left
            yield match_table(out, self.shape)


def _warm_rows() -> None:
    condition = Call("<", (Load(0), Load(1)))
    slots = (NavigationSlot(0, False, 0, 0, 0), NavigationSlot(1, False, 0, 0, 0))
    registers = (frozenset([0]), frozenset([1]))
    spec = MatchSpec(
        program=compile_pattern(Concatenation((Variable("A"), Variable("B")))),
        condition_bits={},
        mask_words=1,
        use_within=False,
        rows_per_match=RowsPerMatch.ALL_WITH_UNMATCHED,
        skip=SkipMode.PAST_LAST_ROW,
        skip_labels=frozenset(),
        skip_target="",
        slots=(),
        slot_registers=(),
        every_row=False,
        conditions=ConditionSet({1: condition}, slots, (BIGINT,), registers),
        ansi=True,
        limit_steps=1000,
        limit_rows=1000,
    )
    batch = Batch(np.array([0, 3]), [pa.array([0, 0, 0])], [pa.array([2, 1, 2])])
    Matcher(spec).match(batch)


def _warm_ranges() -> None:
    """Marks and borders of ranges of one partition."""
    keys, nulls, numbers = np.array([1, 2], np.int64), np.zeros(2, np.uint8), np.zeros(1, np.int64)
    mark_ranges(np.array([0, 2]), keys, nulls, numbers, 10, 5, np.zeros(2, np.uint8), np.zeros(1, np.int64))
    places = np.zeros(1, np.int64)
    select_chain(np.array([0, 1]), places, places.copy(), places.copy(), places.copy())
