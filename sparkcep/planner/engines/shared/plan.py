"""Plan a rule set: the rules that can read the same rows are one operator over the union of what they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sparkcep.errors import SparkCepError
from sparkcep.exec.engines.shared.spec import RuleItems, RuleSpec, SharedSpec
from sparkcep.exec.shape import Within
from sparkcep.expr.nodes import LABEL_COLUMN, ROW_COLUMN, AggregateSlot, Expression, NavigationSlot, columns_read
from sparkcep.expr.types import NotCompilable, Type
from sparkcep.expr.typing_pass import Typing
from sparkcep.pattern import Anchor, walk
from sparkcep.planner.conditions.match_conditions import MatchConditions
from sparkcep.planner.conditions.row_conditions import RowCondition, tests_by_name
from sparkcep.planner.conditions.trees import Conjunct
from sparkcep.planner.engines.runs.steps import type_test
from sparkcep.planner.engines.shared.comparisons import comparison
from sparkcep.planner.engines.shared.input import NotShared, SharedInput, number
from sparkcep.planner.engines.shared.output import SharedOutput
from sparkcep.planner.fields import Fields
from sparkcep.planner.input_plan import InputPlan
from sparkcep.planner.lengths import least_and_most
from sparkcep.planner.plan import Analyzer, AnyPlan, SharedNeeds, StreamInput
from sparkcep.planner.rules.layout import hold_no_long_list, keep_lists_short, sort_in_rows
from sparkcep.planner.sampling import Sampler
from sparkcep.query import Measure, PatternQuery
from sparkcep.settings import Settings


@dataclass(frozen=True, slots=True)
class SharedPlan:
    """What the rules that share their input run as. ``stream``: where the log is one."""

    input: InputPlan
    spec: SharedSpec
    output: SharedOutput
    stream: StreamInput | None = None

    @property
    def query(self) -> PatternQuery:
        """Keys and order of the log."""
        return self.input.query

    def before(self) -> str:
        """The statement over ``{SOURCE}`` that gives the operator its input."""
        return self.input.sql() if self.stream is None else self.stream.sql


@dataclass
class SharedPlanner:
    """Collects rules, and what they need of the log.

    Args:
        query: keys and order of the log. identifiers: names that the rules mention.
    """

    query: PatternQuery
    settings: Settings
    analyze: Analyzer
    sample: Sampler
    column_types: Sequence[str]
    identifiers: frozenset[str]
    rules: list[RuleSpec] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    measures: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.input = SharedInput(
            self.query, self.settings, self.analyze, self.sample, self.column_types, self.identifiers
        )
        self.types = self.input.types
        self.fields = self.input.fields

    # -- one rule --------------------------------------------------------------------------------------------------

    def add(self, name: str, plan: AnyPlan, measures: Sequence[Measure], suppress: int = 0) -> None:
        """Take a rule.

        Args:
            plan: its own plan over sorted rows, none of which are filtered. measures: what it returns. suppress: as of
                :class:`RuleSpec`.

        Raises:
            NotShared: it has to run by itself.
        """
        growing: list[list[Any]] = [self.input.conditions, self.input.columns, self.variables, self.measures]
        before = [len(own) for own in growing]
        try:
            self.rules.append(replace(self.rule(name, plan, measures), suppress=suppress))
            self.names.append(name)
        except (NotShared, SparkCepError):
            for own, length in zip(growing, before, strict=True):
                del own[length:]
            raise

    def rule(self, name: str, plan: AnyPlan, measures: Sequence[Measure]) -> RuleSpec:
        """See :meth:`add`."""
        query, given, engine = plan.query, plan.input, plan.engine
        needs = shared_needs(plan)
        shown = dict(enumerate(self.shown(query, engine.names)))
        tests = tuple(self.input.test(query, engine.names[code], given.tests[code]) for code in sorted(given.tests))
        items = self.items(plan, measures)
        texts = given.fields.texts
        return RuleSpec(
            number=len(self.rules),
            name=name,
            pattern=needs.pattern,
            tests=tests,
            drops=needs.drops and len(given.tests) == len(engine.names),
            columns=tuple(self.input.column(texts[f]) for f in given.shape.columns),
            within=self.within(given),
            variables=tuple(shown[code] for code in range(len(engine.names))),
            items=items,
            ties=self.input.own_ties(given),
            anchored=any(isinstance(node, Anchor) and node.at_start for node in walk(query.pattern)),
            lengths=self.lengths(query),
        )

    def shown(self, query: PatternQuery, names: Sequence[str]) -> list[int]:
        """Numbers of the names that events are shown by, by component code."""
        by_key = {c.key: c.variable for c in query.components}
        return [number(self.variables, by_key.get(name, name)) for name in names]

    def within(self, given: InputPlan) -> Within | None:
        """WITHIN over the batch's columns."""
        own, texts = given.shape.within, given.fields.texts
        if own is None:
            return None
        bound = None if own.bound is None else self.input.column(texts[own.bound])
        lower = None if own.lower is None else self.input.column(texts[own.lower])
        return Within(self.input.column(texts[own.key]), bound, own.distance, lower)

    def lengths(self, query: PatternQuery) -> tuple[int, int]:
        """The least and the greatest length of a rule's WITHIN over a stream, in microseconds.

        Raises:
            NotShared: it has none, or one that differs from row to row.
        """
        if not query.streaming:
            return 0, 0
        if query.within is None:
            raise NotShared("it has no WITHIN")
        found = least_and_most(query.within, self.settings.time_zone)
        if found is None:
            raise NotShared("its WITHIN is of months or an expression, which differ in length")
        return found

    # -- what it returns -------------------------------------------------------------------------------------------

    def items(self, plan: AnyPlan, measures: Sequence[Measure]) -> RuleItems | None:
        """RETURN or MEASURES for the interpreter."""
        if not measures:
            return None
        query = plan.query
        own = Fields(query.columns, self.settings.case_sensitive)
        tests = tests_by_name(plan.input.tests, plan.engine.names)
        owner = MatchConditions(query, own, self.types, tests=tests, analyze=self.analyze, ansi=self.settings.ansi)
        trees: list[Expression] = []
        kinds: list[Type] = []
        for measure in measures:
            try:
                tree = Conjunct(owner, measure.expression.pieces).convert()
                types = owner.column_kinds()
                kind = Typing(tuple(owner.slots), types, self.settings.ansi).typed(tree).type
                self.check_item(owner, tree, kind, types)
            except (NotCompilable, RecursionError) as error:
                raise NotShared(f"{measure.name} is computed by Spark: {error}") from None
            trees.append(tree)
            kinds.append(kind)
        columns = tuple(self.input.column(own.texts[f]) for f in owner.columns)
        numbers = tuple(number(self.measures, m.name) for m in measures)
        return RuleItems(
            tuple(trees), tuple(owner.slots), tuple(owner.registers), columns, owner.column_kinds(), numbers,
            tuple(kinds),
        )  # fmt: skip

    def check_item(self, owner: MatchConditions, tree: Expression, kind: Type, types: Sequence[Type]) -> None:
        """Raises NotCompilable for values that Python does not write as Spark does."""
        slots = owner.slots
        if owner.pairs or any(isinstance(s, NavigationSlot) and s.physical for s in slots):
            raise NotCompilable("rows beside the match")
        read = columns_read(tree, slots)
        if read & {ROW_COLUMN, LABEL_COLUMN}:
            raise NotCompilable("names of variables, or positions")
        if any(isinstance(s, AggregateSlot) and s.own_aggregate is not None for s in slots):
            raise NotCompilable("an aggregate of the user's")
        odd = not kind.is_single or (kind.kind == "interval" and kind.scale)
        of_interval = any(types[c].kind in ("interval", "map", "struct", "other") for c in read)
        if odd or of_interval or (kind.kind == "decimal" and not self.settings.ansi):
            raise NotCompilable(f"a value of type {kind.kind}")

    # -- all rules -------------------------------------------------------------------------------------------------

    def plan(self, keys: int, filters: Sequence[str], event_id: str = "") -> SharedPlan:
        """The plan of the rules taken so far, one at least.

        Args:
            keys: how many of PARTITION BY are shown. filters: what rows must satisfy to be looked at by any rule.
            event_id: the expression that tells events apart; empty for none.
        """
        order = self.input.order_columns()
        time = self.fields.add(self.input.steps.query.order_by[0].expression)
        known_by = self.fields.add(event_id) if event_id else None
        given = self.input.plan(filters, (sort_in_rows, hold_no_long_list, keep_lists_short))
        spec = SharedSpec(tuple(self.rules), order, time, known_by)
        shown = [name for _, name in self.input.keys[:keys]]
        output = SharedOutput(
            shown,
            tuple(self.names),
            tuple(self.variables),
            tuple(self.measures),
            len(self.input.keys) - keys,
            bool(event_id),
        )
        return SharedPlan(given, spec, output)


def shared_needs(plan: AnyPlan) -> SharedNeeds:
    """What is matched of a rule; raises NotShared for one that must run by itself."""
    query, engine = plan.query, plan.engine
    needs = engine.shared_needs(query)
    why = ""
    if needs is None:
        why = f"it runs in the {engine.name} engine"
    elif query.streaming and query.hidden_keys:
        why = "it is partitioned by a key of its own"
    elif query.streaming and plan.input.filters:
        why = "it filters its input"
    elif query.between is not None:
        why = "BETWEEN clips its events"
    elif query.omit_censored:
        why = "the log's end decides which matches are censored"
    elif plan.input.pairs:
        why = "Spark evaluates a condition for every pair of rows"
    elif query.nullable_match:
        why = "its pattern may be empty"
    if needs is None or why:
        raise NotShared(why)
    return needs


def spark_conditions(plan: AnyPlan, fields: Fields, types: Mapping[str, str]) -> list[RowCondition]:
    """A rule's conditions of one event that Spark evaluates, beside tests of the event type."""
    query = plan.query
    tests = {type_test(c, query.event_type) for c in query.components}
    return [
        c for own in plan.input.tests.values() for c in own
        if not c.shifts and c.sql() not in tests and comparison(c.sql(), fields, types) is None
    ]  # fmt: skip
