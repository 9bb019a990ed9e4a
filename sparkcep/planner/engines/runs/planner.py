"""Plan a pattern under the event selection strategies: a pattern block, or MATCH_RECOGNIZE with EVENT SELECTION."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sparkcep.exec.conditions.programs import Labels
from sparkcep.exec.engines.runs.spec import NO_LIMIT, RunSpec, StreamedRuns
from sparkcep.expr.nodes import NavigationSlot
from sparkcep.planner.censored import check_censored_runs, decided_sql
from sparkcep.planner.engines.runs.collapse import collapse
from sparkcep.planner.engines.runs.plan import RunsPlan
from sparkcep.planner.engines.runs.rules import RULES
from sparkcep.planner.engines.runs.steps import BlockPlanner
from sparkcep.planner.engines.runs.timed_out import check_timed_out, timed_out_measures
from sparkcep.planner.measures import MeasureSql
from sparkcep.planner.plan import Analyzer, PatternPlan
from sparkcep.planner.sampling import Sampler
from sparkcep.query import Matches, Measure, Navigation, PatternQuery, RowExpression, Scalar, SkipMode
from sparkcep.settings import Settings


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
        engine = RunsPlan(spec, dependent.described, conditions, why, self.lacking, collapsed)
        given = self.input_plan(keys, local, bits, (layout, reason), shape, filters, dependent.pairs)
        return PatternPlan(input=given, engine=engine, output=measures)

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


def plan_runs(
    query: PatternQuery, settings: Settings, analyze: Analyzer, sample: Sampler, column_types: Sequence[str]
) -> PatternPlan[RunsPlan]:
    """Plan one bound block, or MATCH_RECOGNIZE with EVENT SELECTION; see :class:`RunPlanner`."""
    planner = RunPlanner(query, settings, analyze, sample, column_types)
    return planner.improved(planner.plan(), RULES)
