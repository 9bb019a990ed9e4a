"""Plan a rule set: the rules that can read the same rows are one operator over the union of what they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from sparkcep.exec.conditions.expressions import (
    LABEL_COLUMN,
    ROW_COLUMN,
    AggregateSlot,
    Expression,
    NavigationSlot,
    NotCompilable,
    Type,
    columns_read,
    parse_type,
)
from sparkcep.exec.conditions.interpreter import Interpreter
from sparkcep.exec.engines.rows.spec import words_of
from sparkcep.exec.engines.shared.spec import Comparison, ComponentTest, RuleItems, RuleSpec, SharedSpec
from sparkcep.exec.shape import OperatorColumns, Within
from sparkcep.pattern import Anchor, walk
from sparkcep.planner.conditions.match_conditions import MatchConditions
from sparkcep.planner.conditions.row_conditions import RowCondition
from sparkcep.planner.conditions.trees import Conjunct
from sparkcep.planner.engines.runs.steps import type_test
from sparkcep.planner.engines.shared.comparisons import comparison
from sparkcep.planner.engines.shared.output import SharedOutput
from sparkcep.planner.fields import Fields
from sparkcep.planner.input_plan import InputPlan
from sparkcep.planner.layouts import LONG_PARTITION, fits_python
from sparkcep.planner.plan import Analyzer, AnyPlan, SharedNeeds, StreamInput
from sparkcep.planner.sampling import Sampler
from sparkcep.planner.steps import PlanSteps
from sparkcep.query import Measure, PatternQuery
from sparkcep.settings import Settings

T = TypeVar("T")
#: Types of columns that Python can put in Spark's order.
_ORDERED = ("int", "double", "float", "boolean", "string", "date", "timestamp", "timestamp_ntz")


class NotShared(Exception):
    """A rule that runs by itself; the message says why."""


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


class _Steps(PlanSteps):
    """Keys, order and layout of the set: a plan without a pattern."""

    def compile(self) -> tuple[str, ...]:
        """No components."""
        return ()


@dataclass
class SharedPlanner:
    """Collects rules, and what they need of the log.

    Args:
        keys: how many keys partition the log. identifiers: names that the rules mention.
    """

    query: PatternQuery
    settings: Settings
    analyze: Analyzer
    sample: Sampler
    column_types: Sequence[str]
    identifiers: frozenset[str]
    rules: list[RuleSpec] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    measures: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        base = replace(
            self.query, identifiers=self.identifiers, measures=(), conditions=(), hidden_keys=0, text="", is_block=True,
        )  # fmt: skip
        self.steps = _Steps(base, self.settings, self.analyze, self.sample, self.column_types)
        self.types: Mapping[str, str] = self.steps.column_types
        self.keys = self.steps.plan_keys()
        self.steps.add_sort_fields()
        self.fields: Fields = self.steps.fields
        own = {self.fields.texts[self.fields.add(k.expression)] for k in base.order_by}
        self.order = [t for t in self.fields.texts[: self.fields.sort_fields] if t in own]
        self.ties = [t for t in self.fields.texts[: self.fields.sort_fields] if t not in own]
        self.tied = False

    # -- one rule --------------------------------------------------------------------------------------------------

    def add(self, name: str, plan: AnyPlan, measures: Sequence[Measure]) -> None:
        """Take a rule.

        Args:
            plan: its own plan over sorted rows, none of which are filtered. measures: what it returns.

        Raises:
            NotShared: it has to run by itself.
        """
        told: list[list[Any]] = [self.conditions, self.columns, self.variables, self.measures]
        before = [len(own) for own in told]
        try:
            self.rules.append(self.rule(name, plan, measures))
            self.names.append(name)
        except NotShared:
            for own, length in zip(told, before, strict=True):
                del own[length:]
            raise

    def rule(self, name: str, plan: AnyPlan, measures: Sequence[Measure]) -> RuleSpec:
        """See :meth:`add`."""
        query, given, engine = plan.query, plan.input, plan.engine
        needs = shared_needs(plan)
        shown = dict(enumerate(self.shown(query, engine.names)))
        tests = tuple(self.test(query, engine.names[code], given.tests[code]) for code in sorted(given.tests))
        items = self.items(plan, measures)
        texts = given.fields.texts
        return RuleSpec(
            number=len(self.rules),
            name=name,
            pattern=needs.pattern,
            tests=tests,
            drops=needs.drops and len(given.tests) == len(engine.names),
            columns=tuple(self.column(texts[f]) for f in given.shape.columns),
            within=self.within(given),
            variables=tuple(shown[code] for code in range(len(engine.names))),
            items=items,
            ties=self.own_ties(given),
            anchored=any(isinstance(node, Anchor) and node.at_start for node in walk(query.pattern)),
        )

    def shown(self, query: PatternQuery, names: Sequence[str]) -> list[int]:
        """Numbers of the names that events are shown by, by component code."""
        by_key = {c.key: c.variable for c in query.components}
        return [number(self.variables, by_key.get(name, name)) for name in names]

    def test(self, query: PatternQuery, key: str, conditions: Sequence[RowCondition]) -> ComponentTest:
        """What a component demands of one event."""
        component = next((c for c in query.components if c.key == key), None)
        by_type = type_test(component, query.event_type) if component is not None else ""
        of, types = -1, tuple[str, ...]()
        bits: list[int] = []
        compared: list[Comparison] = []
        for condition in conditions:
            if condition.shifts:
                raise NotShared("a condition on PREV or NEXT of one row")
            text = condition.sql()
            column = self.fields.column_of(query.event_type or "")
            if by_type and text == by_type and column is not None and self.types[column] == "string":
                assert component is not None
                of, types = self.column(query.event_type or ""), tuple(component.types)
            elif (found := comparison(text, self.fields, self.types)) is not None:
                compared.append(Comparison(self.column(found.column), found.operator, found.values))
            else:
                bits.append(number(self.conditions, text))
        return ComponentTest(types, of, tuple(bits), tuple(compared))

    def column(self, text: str) -> int:
        """The batch's column that holds a row expression."""
        return number(self.columns, self.fields.add(text))

    def within(self, given: InputPlan) -> Within | None:
        """WITHIN over the batch's columns."""
        own, texts = given.shape.within, given.fields.texts
        if self.query.streaming and (own is None or own.distance is None):
            lacks = "it has no WITHIN" if own is None else "its WITHIN is of months, which differ in length"
            raise NotShared(lacks)
        if own is None:
            return None
        bound = None if own.bound is None else self.column(texts[own.bound])
        lower = None if own.lower is None else self.column(texts[own.lower])
        return Within(self.column(texts[own.key]), bound, own.distance, lower)

    def own_ties(self, given: InputPlan) -> tuple[int, ...] | None:
        """Columns by which the rule orders rows of equal keys, where the set's order is another."""
        own = [t for t in given.fields.texts[: given.fields.sort_fields] if t not in self.order]
        if self.ties[: len(own)] == own:
            return None
        for text in own:
            column = self.fields.column_of(text)
            if column is None or parse_type(self.types[column]).kind not in _ORDERED:
                raise NotShared(f"rows of equal time are ordered by {text}, whose order Python does not know")
        for text in self.order:
            ((_, type_),) = self.analyze([text])
            if parse_type(type_).kind not in _ORDERED:
                raise NotShared(f"rows of equal {text} have an order of their own")
        self.tied = True
        return tuple(self.column(text) for text in own)

    # -- what it returns -------------------------------------------------------------------------------------------

    def items(self, plan: AnyPlan, measures: Sequence[Measure]) -> RuleItems | None:
        """RETURN or MEASURES for the interpreter."""
        if not measures:
            return None
        query = plan.query
        own = Fields(query.columns, self.settings.case_sensitive)
        owner = MatchConditions(query, own, self.types)
        trees: list[Expression] = []
        kinds: list[Type] = []
        for measure in measures:
            try:
                tree = Conjunct(owner, measure.expression.pieces).convert()
                types = self.column_kinds(owner)
                _, kind = Interpreter(tuple(owner.slots), types, self.settings.ansi).prepare(tree)
                self.check_item(owner, tree, kind, types)
            except (NotCompilable, RecursionError) as error:
                raise NotShared(f"{measure.name} is computed by Spark: {error}") from None
            trees.append(tree)
            kinds.append(kind)
        columns = tuple(self.column(own.texts[f]) for f in owner.columns)
        numbers = tuple(number(self.measures, m.name) for m in measures)
        return RuleItems(
            tuple(trees), tuple(owner.slots), tuple(owner.registers), columns, self.column_kinds(owner), numbers,
            tuple(kinds),
        )  # fmt: skip

    def column_kinds(self, owner: MatchConditions) -> tuple[Type, ...]:
        """Types of what items read."""
        return tuple(parse_type(t) for _, t in self.analyze([owner.fields.texts[i] for i in owner.columns]))

    def check_item(self, owner: MatchConditions, tree: Expression, kind: Type, types: Sequence[Type]) -> None:
        """Raises NotCompilable for values that Python does not write as Spark does."""
        slots = owner.slots
        if owner.pairs or any(isinstance(s, NavigationSlot) and s.physical for s in slots):
            raise NotCompilable("rows beside the match")
        read = columns_read(tree, slots)
        if read & {ROW_COLUMN, LABEL_COLUMN}:
            raise NotCompilable("names of variables, or positions")
        if any(isinstance(s, AggregateSlot) and s.own is not None for s in slots):
            raise NotCompilable("an aggregate of the user's")
        odd = not kind.is_single or (kind.kind == "interval" and kind.scale)
        of_interval = any(types[c].kind in ("interval", "map", "struct", "other") for c in read)
        if odd or of_interval or (kind.kind == "decimal" and not self.settings.ansi):
            raise NotCompilable(f"a value of type {kind.kind}")

    def layout(self) -> tuple[str, str]:
        """How partitions reach Python, and why."""
        _, layout, reason = self.steps.choose_layout({}, False)
        layout, reason = self.steps.fitting_layout(layout, reason, ())
        if layout == "rows" or self.settings.layout != "auto":
            return layout, reason
        sample = self.sample((), [k.expression for k in self.steps.query.partition_by], ())
        size = sample.partition_rows if sample is not None else 0
        if size >= LONG_PARTITION and fits_python(self.steps.field_types()):
            return "rows", f"long partitions, {size:.0f} rows or more in a sample"
        return layout, reason

    # -- all rules -------------------------------------------------------------------------------------------------

    def plan(self) -> SharedPlan:
        """The plan of the rules taken so far, one at least."""
        order = tuple(self.column(text) for text in self.order) if self.tied else ()
        time = self.fields.add(self.steps.query.order_by[0].expression)
        tests = {n: [RowCondition((text,))] for n, text in enumerate(self.conditions)}
        shape = OperatorColumns(
            keys=len(self.keys), limit_events=self.settings.limit_events, chunk_bytes=self.settings.chunk_bytes,
            task_memory=self.settings.task_memory, masks=words_of(len(tests)), columns=tuple(self.columns),
            within=None, gathers=(), labels=(),
        )  # fmt: skip
        layout, reason = self.layout()
        given = InputPlan(
            query=self.steps.query, fields=self.fields, keys=self.keys, tests=tests,
            bits={n: n for n in tests}, layout=layout, layout_reason=reason, shape=shape, filters=(),
            column_types=self.types,
        )  # fmt: skip
        spec = SharedSpec(tuple(self.rules), order, time)
        output = SharedOutput(
            [name for _, name in self.keys], tuple(self.names), tuple(self.variables), tuple(self.measures)
        )  # fmt: skip
        return SharedPlan(given, spec, output)


def shared_needs(plan: AnyPlan) -> SharedNeeds:
    """What is matched of a rule; raises NotShared for one that reads other rows than the set gives."""
    query, engine = plan.query, plan.engine
    needs = engine.shared_needs(query)
    why = ""
    if needs is None:
        why = f"it runs in the {engine.name} engine"
    elif query.hidden_keys:
        why = "an equivalence test makes partitions of its own"
    elif query.between is not None:
        why = "BETWEEN clips its events"
    elif plan.input.filters:
        why = "it filters its input"
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


def number(known: list[T], item: T) -> int:
    """The place of an item among known ones, which it joins."""
    if item not in known:
        known.append(item)
    return known.index(item)
