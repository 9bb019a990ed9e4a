"""Plan a block that aggregates over trends (GRETA; granularity by what the conditions look at, as in COGRA)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from sparkcep.errors import PatternAnalysisError
from sparkcep.exec.automaton import ACCEPT
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.engines.runs.spec import Check, RunSpec
from sparkcep.exec.engines.runs.tables import has_border
from sparkcep.exec.engines.trends.spec import (
    Compared,
    EdgeClass,
    Granularity,
    Order,
    TrendAggregate,
    TrendSpec,
)
from sparkcep.exec.shape import Within
from sparkcep.expr.coercion import average_type
from sparkcep.expr.types import TIMES, NotCompilable, parse_type
from sparkcep.planner.conditions.match_conditions import MatchConditions, describe
from sparkcep.planner.conditions.row_conditions import RowCondition, may_fail, row_condition, tests_by_name
from sparkcep.planner.engines.runs.rules import BLOCK_RULES
from sparkcep.planner.engines.runs.steps import BlockPlanner, machine_lacks
from sparkcep.planner.engines.trends.edges import (
    AFTER,
    BEFORE,
    Comparison,
    Demand,
    EdgeConditions,
    NotAdjacent,
)
from sparkcep.planner.engines.trends.keys import Comparisons, key_pair
from sparkcep.planner.engines.trends.quotients import DIGITS
from sparkcep.planner.engines.trends.sql import TrendSql, TrendValue
from sparkcep.planner.lengths import fixed_distance
from sparkcep.planner.plan import EngineDefaults, PatternPlan, StreamNeeds
from sparkcep.planner.test_codes import edge_test, of_components
from sparkcep.planner.ties import is_orderable
from sparkcep.planner.within import check_length
from sparkcep.query import (
    WINDOW_OF_GROUP,
    Condition,
    Navigation,
    PatternQuery,
    Scalar,
    Selection,
    Trend,
    unescape,
)


@dataclass(frozen=True, slots=True)
class TrendsPlan(EngineDefaults):
    """Aggregates over trends. ``filter_reason``: why rows that nothing can take are kept, or that they are not."""

    spec: TrendSpec
    described: Mapping[int, str]
    filter_reason: str
    lacking: Mapping[int, str] = field(default_factory=dict)
    name: ClassVar[str] = "trends"

    @property
    def names(self) -> Sequence[str]:
        """See :class:`EnginePlan`: component keys in the order of their codes."""
        return self.spec.automaton.names

    @property
    def stream_needs(self) -> StreamNeeds:
        """See :class:`EnginePlan`."""
        return StreamNeeds(
            decided="a window is emitted when the watermark reaches its end",
            kept="the watermark reaches the end of their last window",
            lookback=1,
        )


class TrendPlanner(BlockPlanner):
    """Plans one bound block of trend aggregates.

    Raises:
        PatternAnalysisError: CEP_UNSUPPORTED_CONDITION, CEP_UNSUPPORTED_NEGATION, CEP_UNSUPPORTED_AGGREGATE,
            CEP_WITHIN_TYPE, CEP_SLIDE, and those of :class:`BlockPlanner`.
    """

    def plan(self) -> PatternPlan[TrendsPlan]:
        """The plan of aggregates over trends.

        Raises:
            PatternAnalysisError, LimitError: CEP_WITHIN_TYPE, CEP_UNSUPPORTED_AGGREGATE, CEP_UNSUPPORTED_CONDITION,
                CEP_PROGRAM_TOO_LARGE.
        """
        query = self.query
        keys = self.plan_keys()
        self.add_sort_fields()
        within, width, slide = self.plan_windows()
        typed_trends = self.argument_types()
        parts = [kernel_parts(*one) for one in typed_trends]
        computed = list(dict.fromkeys(part for own in parts for part in own))
        local, dependent, spec = self.plan_kernel(computed, width, slide)
        shifts, layout, why = self.choose_layout(local, dependent.pairs)
        components = of_components(local)
        filters, filtered = self.filters(components, dependent)
        if width:
            filters.append(f"({query.order_by[0].expression}) IS NOT NULL")
        bits = spec.condition_bits
        updates = self.mask_updates(local, bits, shifts) if layout == "lists" else ()
        shape = self.operator_columns(keys, bits, dependent.columns, within, updates)
        time_type = self.analyze([query.order_by[0].expression])[0][1]
        values = [
            TrendValue(result, self.is_quiet(trend, type_), tuple(map(computed.index, own)), parse_type(type_).scale)
            for (trend, type_, result), own in zip(typed_trends, parts, strict=True)
        ]
        sql = TrendSql(query, [text for text, _ in keys], spec, time_type, values)
        engine = TrendsPlan(spec, dependent.described, filtered, self.lacking)
        given = self.input_plan(keys, local, bits, (layout, why), shape, filters, dependent.pairs)
        return self.improved(PatternPlan(input=given, engine=engine, output=sql), BLOCK_RULES)

    def plan_kernel(
        self, trends: Sequence[tuple[Trend, str, str]], width: int, slide: int
    ) -> tuple[dict[int, list[RowCondition]], MatchConditions, TrendSpec]:
        """Tests of one event by code, what crosses to the kernel, and its spec."""
        reason = self.enumeration_reason()
        if not reason:
            try:
                return self.propagated(trends, width, slide)
            except NotAdjacent as error:
                reason = str(error)
        return self.enumerated(reason, trends, width, slide)

    # -- windows and arguments -------------------------------------------------------------------------------------

    def error(self, error_class: str, sentence: str, position: int, hint: str | None = None) -> PatternAnalysisError:
        """An error with a caret, at the block's start where ``position`` is 0; the caller raises it."""
        return PatternAnalysisError(
            error_class, sentence, text=self.query.text or None, position=position or self.query.start, hint=hint
        )

    def plan_windows(self) -> tuple[Within | None, int, int]:
        """The field of an event's time, and width and slide of windows in the kernel's units of it (0: none)."""
        query = self.query
        key = query.order_by[0].expression
        if query.within is None:
            if query.slide is not None:
                raise self.error("CEP_SLIDE", "SLIDE needs WITHIN.", query.start, "WITHIN 10 minutes SLIDE 1 minute")
            for expression in query.trend_expressions:
                if re.search(rf"\b{WINDOW_OF_GROUP}\b", expression.text):
                    raise self.error(
                        "CEP_SLIDE", "Without WITHIN there is no window.", expression.position, "WITHIN 10 minutes"
                    )
            return (Within(self.fields.add(key), None, 0) if query.strict_time else None), 0, 0
        type_ = self.analyze([key])[0][1]
        kind = parse_type(type_)
        if kind.kind not in ("int", *TIMES):
            raise self.error(
                "CEP_WITHIN_TYPE",
                f"Windows need an ORDER BY key of a date, timestamp or integer type; this one is {type_}.",
                query.within_position,
                "cast the ORDER BY key",
            )
        # As in Spark's window(), a day has 24 hours and windows are aligned to the epoch in UTC.
        units = {"int": "bigint", "date": "date"}.get(kind.kind, "timestamp_ntz")
        found = []
        for clause in ("WITHIN", "SLIDE"):
            text, position = query.length(clause)
            if text is None:
                continue
            check_length(query, clause, type_, self.analyze)
            distance = fixed_distance(text, units)
            if distance is None:
                raise self.error(
                    "CEP_WITHIN_TYPE",
                    f"A window's length must be a fixed time above zero; {unescape(text)} is not.",
                    position,
                    "WITHIN 10 minutes SLIDE 30 seconds; months and years differ in length",
                )
            if not distance:
                raise self.error(
                    "CEP_WITHIN_VALUE", f"{clause} of windows must be above zero.", position, f"{clause} 1"
                )
            found.append(distance)
        cast = f"CAST(({key}) AS BIGINT)" if kind.kind == "int" else key
        return Within(self.fields.add(cast), None, 0), found[0], found[-1]

    def argument_types(self) -> list[tuple[Trend, str, str]]:
        """Each aggregate with the types of its argument ('' without) and of its result."""
        out = []
        for trend in self.query.trends:
            type_ = "" if trend.argument is None else self.analyze([trend.argument.text])[0][1]
            out.append((trend, type_, self.result_type(trend, type_)))
        return out

    def result_type(self, trend: Trend, type_: str) -> str:
        """Spark's type of an aggregate over an argument of a type. Counts are exact, hence decimals of 38 digits.

        Raises:
            PatternAnalysisError: CEP_UNSUPPORTED_AGGREGATE.
        """
        if trend.function in ("count", "try_count"):
            return "decimal(38,0)"
        if trend.function == "approx_count":
            return "double"
        kind = parse_type(type_)
        if trend.function in ("min", "max"):
            if kind.kind == "array" or not is_orderable(type_) or type_.startswith(("struct", "binary", "interval y")):
                raise self.unsupported_aggregate(trend, type_, "compare a number, a time or a string")
            return type_
        if not kind.is_numeric:
            raise self.unsupported_aggregate(trend, type_, "cast it to a number")
        if trend.function.endswith("avg") and kind.kind == "decimal":
            average = average_type(kind)
            return f"decimal({average.size},{average.scale})"
        if trend.function.endswith("avg") or kind.is_floating:
            return "double"
        return f"decimal(38,{kind.scale})"

    def is_quiet(self, trend: Trend, type_: str) -> bool:
        """Whether an aggregate is NULL where it passes its type: as for Spark, of decimals without ANSI mode."""
        return trend.function.startswith("try_") or (not self.settings.ansi and type_.startswith("decimal"))

    def unsupported_aggregate(self, trend: Trend, type_: str, hint: str) -> PatternAnalysisError:
        """CEP_UNSUPPORTED_AGGREGATE; the caller raises it."""
        return self.error(
            "CEP_UNSUPPORTED_AGGREGATE", f"{trend.function} over trends cannot take {type_}.", trend.position, hint
        )

    def aggregates(
        self, trends: Sequence[tuple[Trend, str, str]], dependent: MatchConditions
    ) -> tuple[TrendAggregate, ...]:
        """Aggregates with their kernel columns."""
        out = []
        for trend, _, result in trends:
            column = -1
            if trend.argument is not None:
                column = dependent.column(dependent.guarded(trend.argument.text, tuple(trend.components)))
            codes = frozenset(self.names.index(k) for k in trend.components)
            out.append(TrendAggregate(trend.function, column, codes, result, trend.distinct))
        return tuple(out)

    def enumeration_reason(self) -> str:
        """Why trends must be constructed whatever the conditions look at; empty where nothing demands it."""
        distinct = any(t.distinct for t in self.query.trends)
        if distinct and not self.query.tells_apart([c.key for c in self.query.components if not c.negated]):
            return "COUNT(DISTINCT *) where one event fits two components"
        return ""

    # -- trends that are not constructed ---------------------------------------------------------------------------

    def adjacent_equivalences(self) -> list[Condition]:
        """`[x]` of some components as a comparison with the one of them before: equality is transitive."""
        query = self.query
        out: list[Condition] = []
        for e in query.tested_equivalences:
            keys = e.components or tuple(c.key for c in query.components if not c.negated)
            if any(query.component(k).negated for k in e.components) or (
                not e.components and any(c.negated for c in query.components)
            ):
                raise NotAdjacent(f"[{e.expression.text}] ties a negated event to the trend")
            source = f"[{e.expression.text}]"
            last, previous = (Navigation(e.expression, keys, False, n, 0, True, e.position) for n in (0, 1))
            known = Scalar(("(", last, ") IS NOT NULL"), e.position)
            out.append(Condition(known, keys, source=source))
            out.append(Condition(Scalar((previous, " = ", last), e.position), keys, minimum=2, source=source))
        return out

    def propagated(
        self, trends: Sequence[tuple[Trend, str, str]], width: int, slide: int
    ) -> tuple[dict[int, list[RowCondition]], MatchConditions, TrendSpec]:
        """Raises NotAdjacent where a condition needs the trends themselves."""
        query = self.query
        local, left = self.split_local((*query.conditions, *self.adjacent_equivalences()))
        for c in left:
            if any(query.component(k).negated for k in c.decided_by):
                raise NotAdjacent(f"{EdgeConditions.text(c)} ties a negated event to the trend")
        if any(has_border(n.automaton) for n in self.automaton.negations):
            raise NotAdjacent("a negation stands at the border of a negated sequence")
        found = self.demands(left)
        # Two events at a time: programs over two registers.
        dependent = self.match_conditions(tests_by_name(local, self.names), labels=(BEFORE, AFTER))
        for side in (BEFORE, AFTER):  # the kernel fills register 0 with the event before, 1 with the one after
            dependent.register((side,))
        aggregates = self.aggregates(trends, dependent)
        of_components = dependent.tests
        codes: dict[tuple[object, ...], int] = {}

        def code(scalars: tuple[Scalar, ...], side: str, known: Mapping[str, str]) -> int:
            """Code of a test of one event of an edge, -1 for none. ``known``: what its sides satisfy by themselves."""
            if not scalars:
                return -1
            own = [row_condition(s, side) for s in scalars]
            if any(c is None for c in own):
                raise NotAdjacent(f"{describe(scalars[0])} cannot be tested on one event")
            tests = [c for c in own if c is not None]
            if side in known and any(may_fail(c.sql()) for c in tests):
                tests.insert(0, RowCondition((known[side],)))
            key = (scalars, *tests)
            if key not in codes:
                codes[key] = edge_test(len(codes))
                local[codes[key]] = tests
            return codes[key]

        edge_codes: list[list[int]] = []
        for s, demands in enumerate(found):
            edge_codes.append([])
            for n, d in enumerate(demands):
                known = self.tests_of_edges(s, (n,), of_components)
                accepts = self.automaton.edges[s][n].target == ACCEPT
                edge_codes[s].append(code(d.before, BEFORE, known) if accepts else code(d.after, AFTER, known))
        numbers: dict[tuple[Scalar, tuple[tuple[str, str], ...]], int] = {}
        classes: list[EdgeClass] = []
        for state, edges, demand in self.grouped(found):
            dependent.tests = self.tests_of_edges(state, edges, of_components)
            before = code(demand.before, BEFORE, dependent.tests)
            granularity, order = self.granularity(state, edges, demand, found[state], dependent)
            own: list[int] = []
            compared: list[Compared] = []
            if granularity is Granularity.PAIRS:
                for scalar in demand.both:
                    if found_here := self.comparisons.of(scalar):
                        compared += [Compared(key_pair(one, dependent), one.operator) for one in found_here]
                        continue
                    # What may fail is evaluated for the events of these edges alone.
                    key = scalar, tuple(dependent.tests.items()) if may_fail(describe(scalar)) else ()
                    if key not in numbers:
                        numbers[key] = len(numbers)
                        dependent.add(numbers[key], scalar)
                    own.append(numbers[key])
            classes.append(EdgeClass(state, edges, granularity, before, order, tuple(compared), tuple(own)))
        conditions = self.compile_pairs(dependent, [scalar for scalar, _ in numbers])
        bits = {label: bit for bit, label in enumerate(sorted(local))}
        spec = TrendSpec(
            run=self.traced_spec(bits, ConditionSet(), ()), condition_bits=bits,
            edge_bits=tuple(tuple(bits.get(k, -1) for k in row) for row in edge_codes),
            classes=tuple(replace(c, bit=bits.get(c.bit, -1)) for c in classes),
            conditions=conditions, aggregates=aggregates,
            column_types=tuple(dependent.types()),
            width=width, slide=slide,
        )  # fmt: skip
        self.check_engine(spec.run)
        return local, dependent, spec

    def tests_of_edges(self, state: int, edges: Sequence[int], of_components: Mapping[str, str]) -> dict[str, str]:
        """What the events before and after some edges of a state must satisfy by themselves.

        Args:
            of_components: the same by component.
        """
        out: dict[str, str] = {}
        if state < self.automaton.states:
            own = of_components.get(self.names[self.automaton.components[state]])
            out |= {BEFORE: own} if own else {}
        targets = {self.automaton.edges[state][e].target for e in edges} - {ACCEPT}
        tests = {of_components.get(self.names[self.automaton.components[target]]) for target in targets}
        return out if None in tests or not tests else {**out, AFTER: " OR ".join(sorted(f"({test})" for test in tests))}

    def demands(self, conditions: Sequence[Condition]) -> list[list[Demand]]:
        """For each state and each of its edges, what the conditions demand there.

        Raises:
            NotAdjacent: a condition looks further back than one event.
        """
        resolver = EdgeConditions(self.automaton, conditions)
        return [[resolver.demand(s, e) for e in edges] for s, edges in enumerate(self.automaton.edges)]

    def grouped(self, demands: list[list[Demand]]) -> list[tuple[int, tuple[int, ...], Demand]]:
        """Edges between events by state, negations and demands: (state, edges, what they share)."""
        out: dict[tuple[object, ...], tuple[int, list[int], Demand]] = {}
        for s in range(self.automaton.states):
            for n, (e, d) in enumerate(zip(self.automaton.edges[s], demands[s], strict=True)):
                if e.target == ACCEPT:
                    continue
                shared = Demand(before=d.before, both=d.both)
                key = (s, e.absent, e.present, shared)
                out.setdefault(key, (s, [], shared))[1].append(n)
        return [(s, tuple(edges), d) for s, edges, d in out.values()]

    def granularity(
        self, state: int, edges: tuple[int, ...], demand: Demand, row: list[Demand], dependent: MatchConditions
    ) -> tuple[Granularity, Order | None]:
        """What the kernel keeps of the trends in a state, and the order by which it finds those that go on.

        ``demand``: what all of ``edges`` demand; ``row``: each of the state's edges by itself. See
        :class:`Granularity`.
        """
        selection = self.query.selection
        if selection is Selection.STRICT:
            return Granularity.PAIRS, None
        if selection is Selection.NEXT:
            # What an event takes along is gone: one sum serves only where all that stand in a state go together.
            own = [(e, d) for e, d in zip(self.automaton.edges[state], row, strict=True) if e.target != ACCEPT]
            free = not any(e.guarded or d.before or d.both for e, d in own)
            return (Granularity.STATE if free else Granularity.PAIRS), None
        if not demand.both:
            return Granularity.STATE, None
        order = self.order(demand.both, dependent)
        if order is None:
            return Granularity.PAIRS, None
        return (Granularity.TREE if order.second is None else Granularity.GRID), order

    def order(self, scalars: Sequence[Scalar], dependent: MatchConditions) -> Order | None:
        """Comparisons of which two at most are no equalities, as the order of a tree or of a grid."""
        found: list[Comparison] = []
        for scalar in scalars:
            if not (both := self.comparisons.of(scalar)):
                return None
            found += both
        ordered = [c for c in found if c.operator != "="]
        if len(ordered) > 2:
            return None
        equal = tuple(key_pair(c, dependent) for c in found if c.operator == "=")
        if not ordered:
            return Order(equal, None)
        if len(ordered) == 1:
            return Order(equal, key_pair(ordered[0], dependent), ordered[0].operator)
        first, second = ordered
        return Order(
            equal, key_pair(first, dependent), first.operator, key_pair(second, dependent), second.operator
        )  # fmt: skip

    @property
    def comparisons(self) -> Comparisons:
        """Reads conditions as comparisons that the kernel decides by integers."""
        return Comparisons(self.analyze, self.settings.ansi, self.fields, self.column_types)

    def compile_pairs(self, dependent: MatchConditions, scalars: Sequence[Scalar]) -> ConditionSet:
        """Programs over two registers, the event before and the one after; scalar k is condition k.

        Raises:
            PatternAnalysisError: CEP_UNSUPPORTED_CONDITION.
        """
        if not scalars:
            return ConditionSet()
        dependent.coerce()
        kinds = dependent.column_kinds()
        out = ConditionSet(
            dependent.conditions, tuple(dependent.slots), kinds, tuple(dependent.registers),
            tested=tuple(frozenset([1]) for _ in scalars),
        )  # fmt: skip
        for k, scalar in enumerate(scalars):
            try:
                self.note_place(out, k)
            except NotCompilable as error:
                raise dependent.unsupported(scalar, str(error)) from None
        return out

    def traced_spec(self, bits: dict[int, int], conditions: ConditionSet, checks: tuple[Check, ...]) -> RunSpec:
        """The spec for trends that are constructed one by one: all matches, whose events are traced."""
        return replace(self.run_spec(bits, conditions, checks), traced=True)

    def check_engine(self, spec: RunSpec) -> None:
        """Raises CEP_UNSUPPORTED_NEGATION where the kernel cannot match."""
        if reason := machine_lacks(spec):
            raise PatternAnalysisError(
                "CEP_UNSUPPORTED_NEGATION",
                f"Trends cannot be aggregated with {reason}.",
                text=self.query.text or None,
                position=self.query.start,
                hint="let a negated condition name one negated component only",
            )

    # -- trends that are -------------------------------------------------------------------------------------------

    def enumerated(
        self, reason: str, trends: Sequence[tuple[Trend, str, str]], width: int, slide: int
    ) -> tuple[dict[int, list[RowCondition]], MatchConditions, TrendSpec]:
        """What the kernel is given where trends must be constructed. ``reason``: why, for EXPLAIN.

        Raises:
            PatternAnalysisError: CEP_UNSUPPORTED_CONDITION.
        """
        local, dependent, conditions = self.split()
        condition_set, checks = self.compile_runs(dependent, conditions)
        aggregates = self.aggregates(trends, dependent)  # adds columns
        beyond = self.beyond_kernel(condition_set, conditions)
        if beyond is not None:
            raise dependent.unsupported(beyond[0].scalar, beyond[1])
        if dependent.pairs and width:
            what = "a function of two rows that only Spark has, in windows whose trends are constructed"
            raise dependent.unsupported(conditions[0].scalar, what)
        bits = {label: bit for bit, label in enumerate(sorted(local))}
        run = self.traced_spec(bits, condition_set, checks)
        self.check_engine(run)
        types = tuple(dependent.types())
        spec = TrendSpec(run, bits, (), (), ConditionSet(), aggregates, types, width, slide, enumerated=reason)
        return local, dependent, spec


def kernel_parts(trend: Trend, type_: str, result: str) -> tuple[tuple[Trend, str, str], ...]:
    """The aggregates that the kernel computes for one, with the types of argument and result.

    The average of decimals is their sum, without its point, by their count, and as a double where these are too large.
    """

    def part(function: str, type_of_part: str) -> tuple[Trend, str, str]:
        return replace(trend, function=function, name=""), type_, type_of_part

    function = {"try_sum": "sum", "try_avg": "avg"}.get(trend.function, trend.function)
    if function == "avg" and result != "double":
        return part("sum", DIGITS), part("count", DIGITS), part("avg", "double")
    return (part(function, result),)


def refuse_uncertainty(query: PatternQuery) -> None:
    """The trends of a world are not those of another."""
    if query.uncertainty is not None:
        raise PatternAnalysisError(
            "CEP_UNCERTAINTY",
            "UNCERTAINTY cannot be combined with aggregates over trends: each world has trends of its own.",
            text=query.text or None,
            position=query.uncertainty.position,
            hint="aggregate over the matches, SELECT sum(confidence) FROM (FROM ... PATTERN ...)",
        )
