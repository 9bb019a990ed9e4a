"""Plan a pattern under the event selection strategies: a pattern block, or MATCH_RECOGNIZE with EVENT SELECTION."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from sparkcep.exec.conditions.programs import Labels
from sparkcep.exec.engines.runs.spec import NO_LIMIT, RunSpec, StreamedRuns
from sparkcep.expr.nodes import ROW_COLUMN, NavigationSlot, NumberSlot
from sparkcep.pattern import repeats
from sparkcep.planner.censored import check_censored_runs, decided_sql
from sparkcep.planner.conditions.row_conditions import RowCondition
from sparkcep.planner.engines.runs.collapse import Collapse, collapse
from sparkcep.planner.engines.runs.steps import ONLY_TAKEN, BlockPlanner, taken_by_any
from sparkcep.planner.engines.runs.timed_out import check_timed_out, timed_out_measures
from sparkcep.planner.layouts import fits_python, kept_multiply
from sparkcep.planner.measures import MeasureSql
from sparkcep.planner.plan import (
    NEXT_IN_OUTPUT,
    Analyzer,
    Decision,
    EngineDefaults,
    PatternPlan,
    SharedNeeds,
    StreamNeeds,
)
from sparkcep.planner.rules.key_join import KeyJoin, key_join
from sparkcep.planner.sampling import Sampler
from sparkcep.query import (
    Condition,
    Matches,
    Measure,
    Navigation,
    PatternQuery,
    RowExpression,
    Scalar,
    Selection,
    SkipMode,
)
from sparkcep.settings import Settings


@dataclass(frozen=True, slots=True)
class RunsPlan(EngineDefaults):
    """A pattern under a strategy. ``conditions``: what depends on the match. ``filter_reason``: why rows that nothing
    can take are kept, or that they are not."""

    spec: RunSpec
    described: Mapping[int, str]
    conditions: Sequence[Condition]
    filter_reason: str
    lacking: Mapping[int, str] = field(default_factory=dict)
    collapse: Collapse | None = None
    name: ClassVar[str] = "runs"

    @property
    def names(self) -> Sequence[str]:
        """See :class:`EnginePlan`: component keys in the order of their codes."""
        return self.spec.automaton.names

    @property
    def stream_needs(self) -> StreamNeeds:
        """See :class:`EnginePlan`."""
        spec, stream = self.spec, self.spec.stream
        closes = stream is not None and stream.closes
        looks_back = stream is not None and stream.looks_back
        if spec.one_per_start:
            decided = (
                "a match is emitted when the watermark reaches its first event + WITHIN: it is preferred for certain"
            )
        elif closes:
            decided = "a match is emitted when the watermark reaches its first event + WITHIN (a trailing negation)"
        else:
            decided = "a match is emitted when the watermark reaches its last event"
            if spec.timed_out:
                decided += "; a run that timed out, when it reaches the run's first event + WITHIN"
        free = stream is not None and not spec.one_per_start and not stream.behind
        return StreamNeeds(
            refused=NEXT_IN_OUTPUT if any(s.physical > 0 for s in spec.slots) else None,
            decided=decided,
            longer="and WITHIN once more, for the leading negation" if looks_back and closes else "",
            lookback=(1 + looks_back) if free else 0,
            by_last=not (spec.one_per_start or spec.timed_out or spec.collapsed or closes),
            numbered=any(isinstance(s, NumberSlot) for s in spec.conditions.slots),
        )

    def shared_needs(self, query: PatternQuery) -> SharedNeeds:
        """See :class:`EnginePlan`."""
        slots = self.spec.conditions.slots
        looks = any(isinstance(s, NavigationSlot) and (s.column == ROW_COLUMN or s.physical) for s in slots)
        spec = replace(self.spec, every_row=False, traced=True)
        if spec.stream is None:  # else it is told by slots where a match begins and ends
            spec = replace(spec, slots=(), slot_registers=())
        return SharedNeeds(
            spec,
            drops=query.selection is not Selection.STRICT and not looks,
        )


class RunPlanner(BlockPlanner):
    """Plans one bound block; see :class:`BlockPlanner`."""

    labels = Labels.REGISTERS

    def plan(self) -> PatternPlan[RunsPlan]:
        """The plan of one pattern under a strategy.

        Raises:
            PatternAnalysisError, LimitError: CEP_WITHIN_TYPE, CEP_UNSUPPORTED_CONDITION, CEP_CENSORED, CEP_TIMED_OUT,
                CEP_PROGRAM_TOO_LARGE.
        """
        query = self.query
        keys = self.plan_keys()
        self.add_sort_fields()
        local, dependent, conditions = self.split()
        within = self.plan_times()
        shifts, layout, reason = self.choose_layout(local, dependent.pairs)
        if layout == "lists" and self.multiplies():
            layout, reason = "rows", "a partition may have many more matches than events"
        collapsed = collapse(query, self.automaton, conditions) if query.collapsed else None
        if collapsed is not None:
            exact = Measure("exact", Scalar((str(collapsed.exact).lower(),)))
            self.query = replace(query, measures=(*query.measures, exact))
        if query.timed_out:
            check_timed_out(query, self.automaton)
            self.query = replace(query, measures=(*query.measures, *timed_out_measures(query)))
        measures = MeasureSql(self.query, keys, self.outputs, analyze=self.analyze)
        measures.prepare()
        if query.omit_censored:
            offsets = [slot.physical for slot in self.outputs.slots]
            offsets += [slot.physical for slot in dependent.slots if isinstance(slot, NavigationSlot)]
            offsets += [s.offset for own in local.values() for c in own for s in c.shifts]
            check_censored_runs(query, self.automaton, looks_ahead=max([0, *offsets]) > 0)
            measures.filters.append(decided_sql(query, self.automaton, measures, self.within_text))
        stream = self.stream_slots() if query.streaming else None
        condition_set, checks = self.compile_runs(dependent, conditions)
        if stream is not None:
            looks = [slot.physical for slot in condition_set.slots if isinstance(slot, NavigationSlot)]
            stream = replace(stream, behind=max(stream.behind, -min([0, *looks])))
        bits = {label: bit for bit, label in enumerate(sorted(local))}
        one_per_start = query.matches is not Matches.ALL
        # Whether any so many matches of a partition are as good as all of them.
        stops = not (one_per_start or collapsed or query.omit_censored)
        spec = replace(
            self.run_spec(bits, condition_set, checks),
            one_per_start=one_per_start,
            first_only=query.matches is Matches.FIRST,
            use_within=query.within is not None,
            rows_per_match=query.rows_per_match,
            skip=query.skip.mode,
            skip_labels=frozenset(self.names.index(v) for v in query.skip.variables),
            skip_target=query.skip.target or "",
            skip_or_past=query.skip.or_past,
            slots=tuple(self.outputs.slots),
            slot_registers=tuple(self.outputs.slot_registers),
            every_row=measures.has_aggregates,
            traced=self.outputs.traced is not None,
            most_matches=NO_LIMIT if query.limit is None or not stops else query.limit,
            collapsed=collapsed is not None,
            postponed=collapsed.postponed if collapsed is not None else frozenset(),
            timed_out=query.timed_out,
            stream=stream,
        )
        self.refuse_beyond_kernel(spec, conditions, dependent)
        updates = self.mask_updates(local, bits, shifts) if layout == "lists" else ()
        shape = self.operator_columns(keys, bits, dependent.columns, within, updates)
        filters, why = self.filters(local, dependent)
        layout, reason = self.fitting_layout(layout, reason, filters)
        engine = RunsPlan(spec, dependent.described, conditions, why, self.lacking, collapsed)
        given = self.given(keys, local, bits, (layout, reason), shape, (filters, why), dependent.pairs)
        may_join = why == ONLY_TAKEN and not dependent.pairs and collapsed is None
        joined = self.joined(local, conditions) if may_join else None
        if joined is None:
            return PatternPlan(input=given, engine=engine, output=measures)
        tests = [[*local[k], joined.kept] if k == joined.code else local[k] for k in range(len(self.names))]
        given = replace(given, key_join=joined, filters=[*filters[:-1], taken_by_any(tests)])
        decisions = (Decision("Key join", True, joined.reason),)
        return PatternPlan(input=given, engine=engine, output=measures, decisions=decisions)

    def joined(self, local: Mapping[int, Sequence[RowCondition]], conditions: Sequence[Condition]) -> KeyJoin | None:
        """The join of keys that drops rows of the input, where one pays."""
        query = self.query
        # Runs that time out are there without a partner, and the log's last event may be one without.
        if query.streaming or query.timed_out or query.omit_censored or not self.settings.join_prefilter:
            return None

        def type_of(text: str) -> str:
            return self.column_types.get(self.fields.column_of(text) or "", "")

        keys = [k.expression for k in query.partition_by] or ["1"]
        return key_join(query, self.names, local, conditions, type_of, lambda tests: self.sample(tests, keys, None))

    def stream_slots(self) -> StreamedRuns:
        """What runs over a stream need of their matches."""
        skip = self.query.skip

        def slot(variables: tuple[str, ...] | None, first: bool) -> int:
            return self.outputs.slot(Navigation(RowExpression(("",)), variables, first, 0, 0, False), False)

        target = -1
        if skip.mode in (SkipMode.TO_FIRST, SkipMode.TO_LAST):
            target = slot(tuple(skip.variables), skip.mode is SkipMode.TO_FIRST)
        first, last = slot(None, True), slot(None, False)
        return StreamedRuns(
            first=first,
            last=last,
            target=target,
            closes=self.automaton.negates_behind,
            behind=-min(0, *(s.physical for s in self.outputs.slots)),
            looks_back=self.automaton.negates_before,
        )

    def preference_waits(self, spec: RunSpec) -> str:
        """See BlockPlanner: a leading negation may decide between places only when the match has ended."""
        leading = any(e.present for e in self.automaton.initial)
        if not leading or spec.collapsed:
            return ""
        negated = {c.key for c in self.query.components if c.negated}
        if spec.use_within or any(negated & set(c.decided_by) and c.awaited for c in self.query.conditions):
            return "a leading negation that decides at which of its places a variable stands"
        return ""

    def multiplies(self) -> bool:
        """Whether a partition's matches may be too large for one list."""
        query = self.query
        every_run = query.matches is Matches.ALL and not query.collapsed and query.limit is None
        resumes_inside = query.matches is not Matches.ALL and self.query.skip.mode is not SkipMode.PAST_LAST_ROW
        if query.within is not None or not (every_run or resumes_inside) or not repeats(query.pattern):
            return False
        keys = [k.expression for k in query.partition_by]
        many = self.settings.layout == "auto" and kept_multiply(self.sample, keys, self.kept_rows())
        return many and fits_python(self.field_types())


def plan_runs(
    query: PatternQuery, settings: Settings, analyze: Analyzer, sample: Sampler, column_types: Sequence[str]
) -> PatternPlan[RunsPlan]:
    """Plan one bound block, or MATCH_RECOGNIZE with EVENT SELECTION; see :class:`RunPlanner`."""
    return RunPlanner(query, settings, analyze, sample, column_types).plan()
