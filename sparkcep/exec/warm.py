"""Compile all kernels ahead of the first query."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sparkcep.exec.automaton import compile_automaton
from sparkcep.exec.expressions import BIGINT, Call, Load, NavigationSlot
from sparkcep.exec.kernels import collapse, facts, reasons, repair, runs, trends, uncertain
from sparkcep.exec.kernels import rows as kernel
from sparkcep.exec.matcher import Batch, Matcher
from sparkcep.exec.non_answers import FactTeller, NonAnswers
from sparkcep.exec.program import compile_pattern
from sparkcep.exec.repair_spec import Facts, Repair, RepairSpec
from sparkcep.exec.run_matcher import RunMatcher
from sparkcep.exec.run_spec import RunSpec
from sparkcep.exec.spec import ConditionSet, MatchSpec
from sparkcep.exec.trend_matcher import TrendMatcher
from sparkcep.exec.trend_spec import EdgeClass, Granularity, TrendAggregate, TrendSpec
from sparkcep.exec.uncertain_matcher import UncertainMatcher
from sparkcep.exec.uncertain_spec import UncertainSpec
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
)


def warm_up() -> int:
    """Compile every kernel, or load it from Numba's cache, by matching tiny inputs.

    Kernels are compiled for one signature each, whatever the query, so this is all there is to compile. The cache is in
    NUMBA_CACHE_DIR, or beside the kernels' sources where that can be written.

    Returns:
        How many kernels had to be compiled: 0 where the cache held them.
    """
    before = _compiled()
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
    warm_runs()
    return _compiled() - before


def warm_runs() -> None:
    """The kernels of runs, collapsed matches, trend aggregates and imprecise time, on `A+` over three events."""
    pattern = Quantified(Variable("A"), 1, None)
    run = RunSpec(
        pattern=pattern, automaton=compile_automaton(pattern, ("A",), 100), condition_bits={}, mask_words=1,
        selection=Selection.ANY,
        one_per_start=False, first_only=False, use_within=False, strict_time=False, rows_per_match=RowsPerMatch.ONE,
        skip=SkipMode.PAST_LAST_ROW, skip_labels=frozenset(), skip_target="", slots=(), slot_registers=(),
        every_row=False, traced=True, conditions=ConditionSet(), checks=(), ansi=True, limit_steps=1000,
        limit_rows=1000,
    )  # fmt: skip
    batch = Batch(np.array([0, 3]), [pa.array([0, 0, 0])])
    RunMatcher(run).match(batch)
    RunMatcher(replace(run, collapsed=True)).match(batch)
    loops = EdgeClass(0, (0,), Granularity.STATE)
    count = TrendAggregate("count", -1, frozenset(), "decimal(38,0)")
    spec = TrendSpec(run, {}, ((-1, -1), (-1,)), (loops,), ConditionSet(), (count,), ())
    TrendMatcher(spec).aggregate(batch)
    ticks = pa.array([0, 1, 2])
    imprecise = UncertainSpec(run, frozenset(), None, 0.0, False, limit_ticks=10, limit_shared=2)
    UncertainMatcher(imprecise).match(replace(batch, columns=(ticks, ticks)))
    warm_non_answers(run)


def warm_non_answers(run: RunSpec) -> None:
    """The kernels of EXPLAIN NON ANSWERS, on two partitions that nothing matches."""
    pattern = Variable("A")
    run = replace(
        run, pattern=pattern, automaton=compile_automaton(pattern, ("A",), 100), condition_bits={0: 0},
        one_per_start=True, first_only=True, traced=False,
    )  # fmt: skip
    repair = Repair((0,), 0, (), frozenset(), 1, 1, 1, 0, 10)
    spec = RepairSpec(run, {0: 0}, repair, (0,), (0,), Facts((), (), 0), 1000)
    batch = Batch(np.array([0, 1, 2]), [pa.array([0, 0])], [pa.array([1, 2])])
    NonAnswers(spec).explain(batch)
    FactTeller(spec).tell(batch)


def _compiled() -> int:
    return sum(sum(entry.stats.cache_misses.values()) for entry in ENTRIES)
