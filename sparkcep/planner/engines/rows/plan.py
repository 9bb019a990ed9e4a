"""Plan MATCH_RECOGNIZE under strict contiguity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from sparkcep.errors import LimitError
from sparkcep.exec.conditions.compiler import compile_conditions
from sparkcep.exec.conditions.expressions import NotCompilable, Type, parse_type
from sparkcep.exec.conditions.interpreter import Interpreter
from sparkcep.exec.engines.rows.program import Program, compile_pattern
from sparkcep.exec.engines.rows.spec import ConditionSet, MatchSpec, words_of
from sparkcep.exec.shape import OperatorColumns
from sparkcep.pattern import repeats
from sparkcep.planner.conditions.match_conditions import MatchConditions
from sparkcep.planner.conditions.row_conditions import RowCondition, row_condition
from sparkcep.planner.conditions.symbols import alphabet
from sparkcep.planner.input_plan import InputPlan
from sparkcep.planner.measures import MeasureSql
from sparkcep.planner.plan import Analyzer, Decision, EngineDefaults, PatternPlan
from sparkcep.planner.rules.fold import can_fold
from sparkcep.planner.rules.folded import FoldPlan
from sparkcep.planner.rules.gap_elimination import GapElimination, gap_elimination
from sparkcep.planner.rules.join_prefilter import Prefilter, prefilter
from sparkcep.planner.rules.range_splitting import RangeSplitting, range_splitting
from sparkcep.planner.sampling import Sample, Sampler
from sparkcep.planner.steps import LONG_PARTITION, YEAR_MONTH, PlanSteps
from sparkcep.query import Matches, PatternQuery, SkipMode, unescape
from sparkcep.settings import GAP_ELIMINATION, JOIN_PREFILTER, RANGE_SPLITTING, Settings

PAIRS = "functions of two rows; Spark evaluates them for every pair of rows"


@dataclass(frozen=True, slots=True)
class RowsPlan(EngineDefaults):
    """A row pattern. ``dependent``: conditions that depend on the match, ``interpreted_because``: why the kernel cannot
    test them (empty where it can). ``unwanted``: outputs that nobody asks for."""

    spec: MatchSpec
    dependent: MatchConditions
    interpreted_because: str
    unwanted: Sequence[str] = ()
    name: ClassVar[str] = "rows"

    @property
    def names(self) -> Sequence[str]:
        return self.spec.program.names


class RowsPlanner(PlanSteps):
    """Plans one bound clause; see :class:`PlanSteps`.

    Raises:
        PatternAnalysisError: CEP_UNSUPPORTED_CONDITION, CEP_WITHIN_TYPE.
        LimitError: CEP_PROGRAM_TOO_LARGE.
    """

    def __init__(
        self,
        query: PatternQuery,
        settings: Settings,
        analyze: Analyzer,
        sample: Sampler,
        column_types: Sequence[str],
    ) -> None:
        self.program = compiled(query, settings)
        super().__init__(query, self.program.names, settings, analyze, sample, column_types)

    def plan(self) -> PatternPlan[RowsPlan]:
        query = self.query
        keys = self.plan_keys()
        self.add_sort_fields()
        local, dependent = self.split_conditions()
        within = self.plan_within()
        shifts, layout, reason = self.choose_layout(local, dependent.pairs)
        measures = MeasureSql(query, keys, self.outputs)
        measures.prepare()
        conditions, interpreted = self.compile_dependent(dependent)
        gaps = self.eliminate_gaps(local, dependent)
        bits = {label: bit for bit, label in enumerate(sorted(local))}
        spec = MatchSpec(
            program=self.program,
            condition_bits=bits,
            mask_words=words_of(len(bits)),
            use_within=within is not None,
            rows_per_match=query.rows_per_match,
            skip=query.skip.mode,
            skip_labels=frozenset(self.names.index(v) for v in query.skip.variables),
            skip_target=query.skip.target or "",
            slots=tuple(self.outputs.slots),
            slot_registers=tuple(self.outputs.slot_registers),
            every_row=measures.has_aggregates,
            conditions=conditions,
            ansi=self.settings.ansi,
            limit_steps=self.settings.limit_steps,
            limit_rows=self.settings.limit_matches,
        )
        shape = OperatorColumns(
            keys=len(keys),
            limit_events=self.settings.limit_events,
            masks=spec.mask_words,
            columns=tuple(dependent.columns),
            within=within,
            gathers=tuple(self.outputs.gathers),
            labels=tuple(i for i, s in enumerate(self.outputs.slots) if s.label),
            mask_updates=self.mask_updates(local, bits, shifts) if layout == "lists" else (),
        )
        folds = self.settings.fold and self.settings.layout == "auto" and can_fold(gaps.machine, spec)
        if layout == "lists" and folds:
            layout, reason = "fold", "the pattern is a sequence with gaps, which Spark follows by itself"
        if layout != "rows" and (bad := self.unorderable_field()):
            layout, reason = "rows", f"column of type {bad} cannot be sorted inside a list"
        finding = self.plan_prefilter(local)
        may_change = layout == "lists" and self.settings.layout == "auto"
        key_texts = [k.expression for k in query.partition_by]
        sample = None
        if key_texts and (may_change or (layout == "rows" and finding.needed)):
            sample = self.sample(finding.tests, key_texts)
        if may_change:
            layout, reason = self.by_sample(layout, reason, sample, measures.has_aggregates and within is None)
        if layout == "fold":
            finding = Prefilter((), "the fold itself is as cheap")
        elif layout == "rows":
            finding = finding.decided(key_texts, sample)
        splitting = self.split_ranges(local, conditions, within.distance if within is not None else None, layout)
        shape = replace(shape, ranges=splitting.ranges, mask_updates=shape.mask_updates if layout == "lists" else ())
        given = InputPlan(
            query=query, fields=self.fields, keys=keys, tests=local, bits=bits, layout=layout, layout_reason=reason,
            shape=shape, filters=[gaps.keep] if gaps.keep else [], column_types=self.column_types,
            within_type=self.within_type, pairs=dependent.pairs, prefilter=finding if finding.needed else None,
        )  # fmt: skip
        unwanted = [m.name for m in query.measures if measures.is_unwanted(m)]
        engine = RowsPlan(spec, dependent, interpreted, unwanted)
        return PatternPlan(
            input=given, engine=engine, output=measures,
            fold=self.folded(given, gaps, spec, measures), decisions=decisions(gaps, finding, splitting),
        )  # fmt: skip

    def folded(self, given: InputPlan, gaps: GapElimination, spec: MatchSpec, measures: MeasureSql) -> FoldPlan | None:
        if given.layout != "fold":
            return None
        assert gaps.machine is not None and gaps.alphabet is not None
        first_only = self.query.matches is Matches.FIRST
        return FoldPlan(given, gaps.machine, gaps.alphabet, spec, measures, first_only)

    def by_sample(self, layout: str, reason: str, sample: Sample | None, unbounded: bool) -> tuple[str, str]:
        """The layout, as far as a sample of the input decides it.

        Args:
            unbounded: aggregates are asked for, over matches that nothing bounds in time.
        """
        size = sample.partition_rows if sample is not None else 0
        if size >= LONG_PARTITION and not any(t in YEAR_MONTH for t in self.field_types()):
            return "rows", f"long partitions, {size:.0f} rows or more in a sample"
        overlap = self.query.skip.mode is not SkipMode.PAST_LAST_ROW and repeats(self.query.pattern)
        if unbounded and overlap and self.may_multiply(sample):
            return "rows", "aggregates over matches that overlap, of any length"
        return layout, reason

    def split_ranges(
        self, local: dict[int, list[RowCondition]], conditions: ConditionSet, distance: int | None, layout: str
    ) -> RangeSplitting:
        if layout != "rows":
            return RangeSplitting(None, f"the {layout} layout keeps partitions whole")
        if not self.settings.range_splitting:
            return RangeSplitting(None, f"{RANGE_SPLITTING.key} = false")
        return range_splitting(self.query, self.program, local, conditions, self.outputs.slots, distance)

    def eliminate_gaps(self, local: dict[int, list[RowCondition]], dependent: MatchConditions) -> GapElimination:
        if not self.settings.gap_elimination:
            return GapElimination("", f"{GAP_ELIMINATION.key} = false")
        symbols = None
        if not dependent.conditions and not any(c.shifts for cs in local.values() for c in cs):
            symbols = alphabet(len(self.names), local, self.fields, self.column_types)
        slots = [(s, self.outputs.slot_registers[s.register]) for s in self.outputs.slots]
        return gap_elimination(self.query, self.program, local, dependent.conditions, symbols, slots)

    def plan_prefilter(self, local: dict[int, list[RowCondition]]) -> Prefilter:
        if not self.settings.join_prefilter:
            return Prefilter((), f"{JOIN_PREFILTER.key} = false")
        return prefilter(self.query.pattern, self.names, local, self.query.nullable_match)

    # -- conditions ------------------------------------------------------------------------------------------------

    def split_conditions(self) -> tuple[dict[int, list[RowCondition]], MatchConditions]:
        local: dict[int, list[RowCondition]] = {}
        dependent = MatchConditions(self.query, self.fields, self.column_types, self.settings.limit_pairs)
        for defined in self.query.conditions:
            (variable,) = defined.decided_by
            label = self.names.index(variable)
            condition = row_condition(defined.scalar, variable)
            if condition is None:
                dependent.add(label, defined.scalar)
            elif condition.sql().strip().lower() != "true":
                local.setdefault(label, []).append(condition)
        return local, dependent

    def compile_dependent(self, dependent: MatchConditions) -> tuple[ConditionSet, str]:
        """The condition set, and why it needs the interpreter (empty where it does not)."""
        if not dependent.conditions:
            return ConditionSet(), ""
        types: list[Type] = []
        if dependent.columns:
            found = self.analyze([self.fields.texts[i] for i in dependent.columns])
            types = [parse_type(t) for _, t in found]
        conditions = ConditionSet(
            dependent.conditions, tuple(dependent.slots), tuple(types), tuple(dependent.registers)
        )
        try:
            compile_conditions(conditions, self.settings.ansi)
            return conditions, ""
        except NotCompilable as error:
            reason = PAIRS if dependent.pairs else str(error)
        for label, condition in dependent.conditions.items():
            try:
                Interpreter(conditions.slots, conditions.column_types, self.settings.ansi).condition(condition)
            except NotCompilable as error:
                defined = next(c for c in self.query.conditions if c.decided_by == (self.names[label],))
                raise dependent.unsupported(defined.scalar, str(error)) from None
        interpreted = ConditionSet(
            conditions.conditions, conditions.slots, conditions.column_types, conditions.registers, interpreted=True
        )
        return interpreted, reason


def compiled(query: PatternQuery, settings: Settings) -> Program:
    """The program of a clause's pattern.

    Raises:
        LimitError: CEP_PROGRAM_TOO_LARGE.
    """
    try:
        return compile_pattern(query.pattern, settings.limit_program)
    except LimitError as error:
        raise error.placed(query.text or None, query.start) from None


def decisions(gaps: GapElimination, finding: Prefilter, splitting: RangeSplitting) -> tuple[Decision, ...]:
    kept = (f"rows kept: {unescape(gaps.keep)}",) if gaps.keep else ()
    return (
        Decision("Gap elimination", bool(gaps.keep), gaps.reason, kept),
        Decision("Join prefilter", bool(finding.needed), finding.reason),
        Decision("Range splitting", splitting.ranges is not None, splitting.reason),
    )


def plan_rows(
    query: PatternQuery, settings: Settings, analyze: Analyzer, sample: Sampler, column_types: Sequence[str]
) -> PatternPlan[RowsPlan]:
    """Plan one bound clause; see :class:`RowsPlanner`."""
    return RowsPlanner(query, settings, analyze, sample, column_types).plan()
