"""The event selection strategies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sparkcep.exec.automaton import compile_automaton
from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.engine import MatchTable, OutputColumn
from sparkcep.exec.engines.runs.matcher import RunMatcher
from sparkcep.exec.engines.runs.output import run_columns, run_table
from sparkcep.exec.engines.runs.released import RunsReleased
from sparkcep.exec.engines.runs.spec import RunSpec
from sparkcep.exec.shape import OperatorColumns
from sparkcep.pattern import Quantified, Variable
from sparkcep.query import RowsPerMatch, Selection, SkipMode


class RunsEngine:
    """Matches by the runs kernel, or by that of collapsed matches."""

    name = "runs"

    def columns(self, spec: RunSpec, shape: OperatorColumns) -> tuple[OutputColumn, ...]:
        """See :class:`Engine`."""
        return run_columns(shape)

    def matcher(self, spec: RunSpec, shape: OperatorColumns) -> RunsMatcher:
        """See :class:`Engine`."""
        return RunsMatcher(spec, shape)

    def released(self, spec: RunSpec, shape: OperatorColumns) -> RunsReleased:
        """See :class:`StreamingEngine`."""
        return RunsReleased(spec, shape)

    def needs(self, spec: RunSpec, shape: OperatorColumns) -> tuple[str, ...]:
        """See :class:`Engine`."""
        return ("collapsed",) if spec.collapsed else ("runs",)

    def warm_ups(self) -> Mapping[str, Callable[[], None]]:
        """See :class:`Engine`."""
        return {"runs": _warm_runs, "collapsed": _warm_collapsed}


class RunsMatcher:
    """The events of matches as columns."""

    def __init__(self, spec: RunSpec, shape: OperatorColumns) -> None:
        self.inner = RunMatcher(spec)
        self.shape = shape

    def match(self, batch: Batch) -> MatchTable:
        """See :class:`Matcher`."""
        return run_table(*self.inner.match(batch), self.shape)

    def pieces(self, batch: Batch) -> Iterator[MatchTable]:
        """See :class:`Matcher`."""
        for out, trace in self.inner.pieces(batch):
            yield run_table(out, trace, self.shape)


# -- compilation ahead of queries --------------------------------------------------------------------------------------


def tiny_spec() -> RunSpec:
    """`A+` without conditions."""
    pattern = Quantified(Variable("A"), 1, None)
    return RunSpec(
        pattern=pattern, automaton=compile_automaton(pattern, ("A",), 100), condition_bits={}, mask_words=1,
        selection=Selection.ANY, rows_per_match=RowsPerMatch.ONE, skip=SkipMode.PAST_LAST_ROW, skip_target="",
        traced=True, conditions=ConditionSet(), ansi=True, limit_steps=1000, limit_rows=1000,
    )  # fmt: skip


def tiny_batch() -> Batch:
    """Three events."""
    return Batch(np.array([0, 3]), [pa.array([0, 0, 0])])


def _warm_runs() -> None:
    RunMatcher(tiny_spec()).match(tiny_batch())


def _warm_collapsed() -> None:
    RunMatcher(replace(tiny_spec(), collapsed=True)).match(tiny_batch())
