"""Calls that compile the kernels of matching; sparkcep.warm runs them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sparkcep.exec.automaton import compile_automaton
from sparkcep.exec.conditions.expressions import BIGINT, Call, Load, NavigationSlot
from sparkcep.exec.engines.non_answers.matcher import FactTeller, NonAnswers
from sparkcep.exec.engines.non_answers.spec import Facts, Repair, RepairSpec
from sparkcep.exec.engines.rows.matcher import Batch, Matcher
from sparkcep.exec.engines.rows.program import compile_pattern
from sparkcep.exec.engines.rows.spec import ConditionSet, MatchSpec
from sparkcep.exec.engines.runs.matcher import RunMatcher
from sparkcep.exec.engines.runs.spec import RunSpec
from sparkcep.exec.engines.trends.matcher import TrendMatcher
from sparkcep.exec.engines.trends.spec import EdgeClass, Granularity, TrendAggregate, TrendSpec
from sparkcep.exec.engines.uncertain.matcher import UncertainMatcher
from sparkcep.exec.engines.uncertain.spec import UncertainSpec
from sparkcep.exec.kernels.non_answers import facts, reasons, repair
from sparkcep.exec.kernels.rows import rows as kernel
from sparkcep.exec.kernels.rows.ranges import mark_ranges, select_chain
from sparkcep.exec.kernels.runs import collapse, runs
from sparkcep.exec.kernels.trends import trends
from sparkcep.exec.kernels.uncertain import uncertain
from sparkcep.pattern import Concatenation, Quantified, Variable
from sparkcep.query import RowsPerMatch, Selection, SkipMode

#: What Python calls; all other kernels are parts of these.
ENTRIES: tuple[Any, ...] = (
    kernel.match_partitions,
    kernel.earliest_ends,
    kernel.emit_match,
    kernel.emit_unmatched,
    kernel.next_start,
    runs.match_runs,
    collapse.collapse_runs,
    trends.aggregate_trends,
    trends.longest_block,
    repair.repair_partitions,
    reasons.explain_partitions,
    facts.tell_facts,
    uncertain.match_uncertain,
    mark_ranges,
    select_chain,
)


def warm_rows() -> None:
    """The row pattern clause's own kernels."""
    condition = Call("<", (Load(0), Load(1)))
    slots = (NavigationSlot(0, False, 0, 0, 0), NavigationSlot(1, False, 0, 0, 0))
    registers = (frozenset([0]), frozenset([1]))
    for interpreted in (False, True):
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
            conditions=ConditionSet({1: condition}, slots, (BIGINT,), registers, interpreted),
            ansi=True,
            limit_steps=1000,
            limit_rows=1000,
        )
        batch = Batch(np.array([0, 3]), [pa.array([0, 0, 0])], [pa.array([2, 1, 2])])
        Matcher(spec).match(batch)


def run_spec() -> RunSpec:
    """`A+` without conditions."""
    pattern = Quantified(Variable("A"), 1, None)
    return RunSpec(
        pattern=pattern, automaton=compile_automaton(pattern, ("A",), 100), condition_bits={}, mask_words=1,
        selection=Selection.ANY,
        one_per_start=False, first_only=False, use_within=False, strict_time=False, rows_per_match=RowsPerMatch.ONE,
        skip=SkipMode.PAST_LAST_ROW, skip_labels=frozenset(), skip_target="", slots=(), slot_registers=(),
        every_row=False, traced=True, conditions=ConditionSet(), checks=(), ansi=True, limit_steps=1000,
        limit_rows=1000,
    )  # fmt: skip


def three_events() -> Batch:
    return Batch(np.array([0, 3]), [pa.array([0, 0, 0])])


def warm_runs() -> None:
    """Event selection strategies."""
    RunMatcher(run_spec()).match(three_events())


def warm_collapsed() -> None:
    """Collapsed matches."""
    RunMatcher(replace(run_spec(), collapsed=True)).match(three_events())


def warm_trends() -> None:
    """Trend aggregates."""
    loops = EdgeClass(0, (0,), Granularity.STATE)
    count = TrendAggregate("count", -1, frozenset(), "decimal(38,0)")
    spec = TrendSpec(run_spec(), {}, ((-1, -1), (-1,)), (loops,), ConditionSet(), (count,), ())
    TrendMatcher(spec).aggregate(three_events())


def warm_uncertain() -> None:
    """Imprecise time."""
    ticks = pa.array([0, 1, 2])
    imprecise = UncertainSpec(run_spec(), frozenset(), None, 0.0, False, limit_ticks=10, limit_shared=2)
    UncertainMatcher(imprecise).match(replace(three_events(), columns=(ticks, ticks)))


def warm_non_answers() -> None:
    """The kernels of EXPLAIN NON ANSWERS, on two partitions that nothing matches."""
    pattern = Variable("A")
    run = replace(
        run_spec(), pattern=pattern, automaton=compile_automaton(pattern, ("A",), 100), condition_bits={0: 0},
        one_per_start=True, first_only=True, traced=False,
    )  # fmt: skip
    repair = Repair((0,), 0, (), frozenset(), 1, 1, 1, 0, 10)
    spec = RepairSpec(run, {0: 0}, repair, (0,), (0,), Facts((), (), 0), 1000)
    batch = Batch(np.array([0, 1, 2]), [pa.array([0, 0])], [pa.array([1, 2])])
    NonAnswers(spec).explain(batch)
    FactTeller(spec).tell(batch)


def warm_ranges() -> None:
    """Marks and borders of ranges of one partition."""
    keys, nulls, numbers = np.array([1, 2], np.int64), np.zeros(2, np.uint8), np.zeros(1, np.int64)
    mark_ranges(np.array([0, 2]), keys, nulls, numbers, 10, 5, np.zeros(2, np.uint8), np.zeros(1, np.int64))
    places = np.zeros(1, np.int64)
    select_chain(np.array([0, 1]), places, places.copy(), places.copy(), places.copy())


PARTS = (warm_uncertain, warm_runs, warm_collapsed, warm_trends, warm_rows, warm_non_answers, warm_ranges)
