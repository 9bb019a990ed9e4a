"""Plan a block with UNCERTAINTY: matches over the worlds that its events' intervals allow, with their confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from sparkcep.errors import PatternAnalysisError, streaming_unsupported
from sparkcep.exec.automaton import ACCEPT
from sparkcep.exec.engines.runs.spec import NO_LIMIT, RunSpec
from sparkcep.exec.engines.runs.tables import single_component
from sparkcep.exec.engines.uncertain.spec import StreamedTicks, UncertainSpec
from sparkcep.exec.shape import Within
from sparkcep.expr.nodes import ROW_COLUMN, NavigationSlot
from sparkcep.pattern import render
from sparkcep.planner.conditions.match_conditions import MatchConditions
from sparkcep.planner.engines.runs.rules import BLOCK_RULES
from sparkcep.planner.engines.runs.steps import BlockPlanner, machine_lacks
from sparkcep.planner.engines.uncertain.negations import why_untied
from sparkcep.planner.engines.uncertain.sets import why_sequences
from sparkcep.planner.engines.uncertain.ticks import TickPlanner, Ticks
from sparkcep.planner.lengths import least_and_most
from sparkcep.planner.measures import MeasureSql
from sparkcep.planner.plan import Analyzer, EngineDefaults, IndexNeeds, PatternPlan, StreamNeeds
from sparkcep.planner.sampling import Sampler
from sparkcep.query import (
    PREFIX,
    Condition,
    MatchNumber,
    Measure,
    PatternQuery,
    Scalar,
    Selection,
    Uncertainty,
)
from sparkcep.settings import Settings

#: Columns that every match has, with the operator's columns they come from.
CONFIDENCE, TICKS = PREFIX + "confidence", (PREFIX + "first_tick", PREFIX + "last_tick")
#: Place of a row's event in its match: rows stand in no order there.
PLACE = PREFIX + "place"
#: Of more matches than that it is not told on the way which are the most probable.
MOST_RANKED = 10_000
_OWN = ("start_lower", "end_upper", "confidence")


@dataclass(frozen=True, slots=True)
class UncertainPlan(EngineDefaults):
    """A block with UNCERTAINTY; ``notes``: what EXPLAIN says of it, the rest as of :class:`RunsPlan`."""

    spec: UncertainSpec
    described: Mapping[int, str]
    conditions: Sequence[Condition]
    filter_reason: str
    ticks: Ticks
    notes: Sequence[str]
    lacking: Mapping[int, str] = field(default_factory=dict)
    name: ClassVar[str] = "uncertain"

    @property
    def names(self) -> Sequence[str]:
        """See :class:`EnginePlan`: component keys in the order of their codes."""
        return self.spec.run.automaton.names

    @property
    def stream_needs(self) -> StreamNeeds:
        """See :class:`EnginePlan`."""
        stream, waits = self.spec.stream, self.spec.keeps_out
        if stream is not None and stream.closes:
            decided = "when the watermark reaches its first event's upper bound + WITHIN (a trailing negation)"
        elif waits:
            decided = "when the watermark reaches its last event's upper bound: no event can come between its events"
        else:
            decided = "when the watermark reaches the latest of its rows"
        if waits and stream is not None and stream.ahead:
            decided += f", {stream.ahead / 1e6:g} s more as an event may be so long before its row's time"
        return StreamNeeds(
            decided=f"a match is emitted {decided}",
            longer="and WITHIN once more, for the leading negation" if stream is not None and stream.looks_back else "",
            numbered=self.spec.run.conditions.numbered,
        )

    @property
    def index_needs(self) -> IndexNeeds:
        """The order of events within a case says nothing, since another world may have the opposite one."""
        return IndexNeeds(unordered="with UNCERTAINTY events may change places")


class UncertainPlanner(BlockPlanner):
    """Plans one bound block with UNCERTAINTY.

    Raises:
        PatternAnalysisError: CEP_UNCERTAINTY, CEP_UNSUPPORTED_CONDITION, and those of :class:`BlockPlanner`.
    """

    def plan(self) -> PatternPlan[UncertainPlan]:
        """The plan of a block with UNCERTAINTY.

        Raises:
            PatternAnalysisError, LimitError: CEP_UNCERTAINTY, CEP_WITHIN_TYPE, CEP_UNSUPPORTED_CONDITION,
                CEP_PROGRAM_TOO_LARGE.
        """
        query = self.query
        assert query.uncertainty is not None
        self.uncertainty: Uncertainty = query.uncertainty
        if query.collapsed:
            raise self.refused(
                "COLLAPSED", "a confidence is that of one match",
                "max(confidence) and least(1, sum(confidence)) of the matches with the same first and last event "
                "enclose the probability that there is one of them",
            )  # fmt: skip
        ticks = TickPlanner(query, query.uncertainty, self.analyze).plan()
        keys = self.plan_keys()
        self.add_sort_fields()
        local, dependent, conditions = self.split()
        _, layout, reason = self.choose_layout(local, dependent.pairs)
        if any(c.shifts for cs in local.values() for c in cs):
            raise self.refused("PREV or NEXT of a row", "rows have no order before a world is drawn")
        self.query = with_own_columns(query, ticks)
        measures = MeasureSql(self.query, keys, self.outputs, PLACE, self.analyze)
        measures.prepare()
        measures.inner += [CONFIDENCE, *TICKS, *([] if query.streaming else [PLACE])]
        condition_set, checks = self.compile_runs(dependent, conditions)
        bits = {label: bit for bit, label in enumerate(sorted(local))}
        run = replace(
            self.run_spec(bits, condition_set, checks),
            strict_time=False,
            rows_per_match=self.query.rows_per_match,
            slots=tuple(self.outputs.slots),
            slot_registers=tuple(self.outputs.slot_registers),
            every_row=measures.has_aggregates,
            traced=self.outputs.traced is not None or query.streaming,
            most_matches=NO_LIMIT if query.limit is None else query.limit,
        )
        self.refuse_unclear(run, conditions, dependent)
        sequences = why_sequences(query, self.automaton, conditions)
        spec = UncertainSpec(
            run=run, sets=frozenset(code for code, why in sequences.items() if not why), within=ticks.within,
            confidence=query.confidence or 0.0, probable=ticks.probability is not None,
            limit_ticks=self.settings.limit_ticks, limit_shared=self.settings.limit_shared,
            most=self.most_probable(), stream=self.streamed(ticks) if query.streaming else None,
        )  # fmt: skip
        own = [ticks.low, ticks.high, *([] if ticks.probability is None else [ticks.probability])]
        columns = (*dependent.columns, *(self.fields.add(text) for text in own))
        shape = self.operator_columns(keys, bits, columns, self.stream_bounds(ticks, spec))
        filters, why = self.filters(local, dependent)
        filters = [f"({ticks.low}) IS NOT NULL AND ({ticks.high}) IS NOT NULL", *filters]
        notes = self.notes(spec, ticks, sequences)
        engine = UncertainPlan(spec, dependent.described, conditions, why, ticks, notes, self.lacking)
        given = self.input_plan(keys, local, bits, (layout, reason), shape, filters, dependent.pairs)
        return self.improved(PatternPlan(input=given, engine=engine, output=measures), BLOCK_RULES)

    def streamed(self, ticks: Ticks) -> StreamedTicks:
        """How ticks stand to the watermark.

        Raises:
            PatternAnalysisError: CEP_STREAMING_UNSUPPORTED: it does not say how early an event to come may be.
        """
        query, u = self.query, self.uncertainty
        lower = None if u.lower is None else self.fields.column_of(u.lower)
        orders = lower is not None and lower == self.fields.column_of(query.order_by[0].expression)
        # A day is as long as clocks make it.
        lengths = (0, 0) if orders else least_and_most(ticks.ahead or "", self.settings.time_zone)
        if lengths is None:
            hint = "AT MOST 1 MINUTE behind it says how much at most"
            if u.width is None:
                hint = (
                    "UNCERTAINTY (lower, upper) AT MOST 1 MINUTE; or order by the lower bound, with the watermark on it"
                )
            raise streaming_unsupported(
                "UNCERTAINTY without AT MOST, whose events may be any time before their rows'", query.text or None,
                u.position, hint,
            )  # fmt: skip
        return StreamedTicks(
            int(ticks.length), lengths[1], closes=self.automaton.negates_behind,
            looks_back=self.automaton.negates_before,
        )  # fmt: skip

    def stream_bounds(self, ticks: Ticks, spec: UncertainSpec) -> Within | None:
        """Of a stream, the watermark up to which a row is needed: then all events up to WITHIN behind it are there."""
        if spec.stream is None or spec.within is None:
            return None
        first_missing = f"(({ticks.high}) + {spec.within + 1}L) * {spec.stream.step}L"
        bound = self.fields.add(f"({first_missing} + {spec.stream.ahead - 1}L)")
        return Within(self.fields.add(self.query.order_by[0].expression), bound, None)

    def most_probable(self) -> int:
        """How many matches of the highest confidence are all that the statement takes; 0: any match may count."""
        count = self.query.most_probable
        return 0 if count is None or count > MOST_RANKED or self.numbers_matches() else count

    def numbers_matches(self) -> bool:
        """Whether the statement takes a column that numbers matches, those of little confidence as well."""
        wanted = [m for m in self.query.measures if self.query.wants(m.name)]
        return any(isinstance(s, MatchNumber) for m in wanted for s in m.expression.slots)

    # -- what is refused -------------------------------------------------------------------------------------------

    def refused(self, what: str, why: str, hint: str | None = None) -> PatternAnalysisError:
        """CEP_UNCERTAINTY: ``what`` cannot be combined with it; the caller raises it."""
        return PatternAnalysisError(
            "CEP_UNCERTAINTY", f"UNCERTAINTY cannot be combined with {what}: {why}.", text=self.query.text or None,
            position=self.uncertainty.position, hint=hint,
        )  # fmt: skip

    def refuse_unclear(self, run: RunSpec, conditions: Sequence[Condition], dependent: MatchConditions) -> None:
        """Refuse what has no clear meaning over worlds, or no engine."""
        for c in conditions:
            if c.source.lstrip("( ").lower().startswith("time,") or c.source.lstrip("( ").lower().startswith("time ,"):
                raise self.refused(
                    f"the time constraint {c.source}", "it compares times that are not known",
                    "WITHIN bounds the whole match; a.timestamp is an event's given time",
                )  # fmt: skip
        if any(isinstance(s, NavigationSlot) and s.column == ROW_COLUMN for s in dependent.slots):
            raise self.refused("gap constraints", "rows have no order before a world is drawn")
        if any(s.physical for s in self.outputs.slots):
            raise self.refused("PREV or NEXT of a row", "rows have no order before a world is drawn")
        beyond = self.beyond_kernel(run.conditions, conditions)
        if beyond is not None:
            raise dependent.unsupported(beyond[0].scalar, beyond[1])
        if reason := machine_lacks(run):
            raise self.refused(reason, "its probability is not worked out")
        query = self.query
        negated = {c.key for c in query.components if c.negated}
        for negation in self.automaton.negations:
            if single_component(negation.automaton) < 0:
                raise self.refused(
                    f"!({render(negation.item)})", "only single events can be negated over worlds",
                    "negate one event type, or alternatives of them",
                )  # fmt: skip
        for c in conditions:
            for key in negated & set(c.decided_by):
                if why := why_untied(c, key, query.pattern, negated, query.selection):
                    raise self.refused(
                        f"the condition {c.source}", why,
                        "[column] in WHERE makes partitions; conditions on the negated event and single ones are fine",
                    )  # fmt: skip
        edges = self.automaton.edges
        if any(e.present for own in edges for e in own):
            raise self.refused("this pattern", "a negation decides which copy of a component takes an event")
        if self.query.selection is Selection.NEXT:
            for own in edges[:-1]:
                taking = [e for e in own if e.target != ACCEPT]
                if any(not a.absent <= b.absent for a in taking if not a.ends for b in taking):
                    raise self.refused(
                        "this pattern under SKIP TILL NEXT MATCH",
                        "whether an event ends the search depends on a negation before it",
                        "use SKIP TILL ANY MATCH",
                    )

    # -- EXPLAIN ---------------------------------------------------------------------------------------------------

    def notes(self, spec: UncertainSpec, ticks: Ticks, sequences: Mapping[int, str]) -> list[str]:
        """Lines for EXPLAIN.

        ``sequences``: components whose Kleene keeps the order of its events, with the reason; empty: it is a set.
        """
        u = self.uncertainty
        names = self.automaton.names
        shown = {c.key: c.variable for c in self.query.components}
        lines = [f"ticks of {ticks.step}: from {u.lower} to {u.upper}"]
        if u.width is not None:
            lines = [f"ticks of {ticks.step}: half width {u.width} around {self.query.order_by[0].expression}"]
        if u.at_most is not None:
            lines.append(f"no bound is further than {u.at_most} from {self.query.order_by[0].expression}")
        lines.append(f"probability: {u.probability or 'all ticks alike'}")
        if ticks.within is not None:
            lines.append(f"WITHIN is {ticks.within} ticks")
        order = "events by lower bound, matched in query order; bounds tell which runs some world can complete"
        lines.append(order)
        if self.query.selection is Selection.NEXT:
            lines.append("a run's next event lies no later than the next earliest last tick")
        for code, why in sequences.items():
            kind = f"a sequence: {why}" if why else "a set: nothing depends on the order of its members"
            lines.append(f"{shown[names[code]]} is {kind}")
        if spec.most:
            lines.append(f"only the {spec.most} most probable matches are needed; less probable runs are dropped early")
        elif self.query.most_probable is not None:
            many = self.query.most_probable > MOST_RANKED
            why = f"LIMIT is above {MOST_RANKED}" if many else "match_number counts every match"
            lines.append(f"ORDER BY confidence DESC LIMIT drops no runs on the way: {why}")
        if spec.confidence > 0:
            lines.append(f"runs of confidence below {spec.confidence} are dropped on the way")
        return lines


def with_own_columns(query: PatternQuery, ticks: Ticks) -> PatternQuery:
    """The query with range and confidence of each match among its outputs."""
    texts = (ticks.time(TICKS[0]), ticks.time(TICKS[1]), CONFIDENCE)
    own = [Measure(name, Scalar((text,))) for name, text in zip(_OWN, texts, strict=True)]
    if not query.has_return:
        number, *rest = [m for m in query.measures if m.name not in ("start_time", "end_time")]
        return replace(query, measures=(number, *own, *rest))
    clash = {m.name.casefold() for m in query.measures} & set(_OWN)
    if clash:
        raise PatternAnalysisError(
            "CEP_DUPLICATE_COLUMN",
            f"With UNCERTAINTY the result has a column {min(clash)}; RETURN gives another column that name.",
            text=query.text or None, position=query.start, hint="give it another name with AS",
        )  # fmt: skip
    return replace(query, measures=(*query.measures, *own))


def plan_uncertain(
    query: PatternQuery, settings: Settings, analyze: Analyzer, sample: Sampler, column_types: Sequence[str]
) -> PatternPlan[UncertainPlan]:
    """Plan one bound block with UNCERTAINTY; see :class:`UncertainPlanner`."""
    return UncertainPlanner(query, settings, analyze, sample, column_types).plan()
