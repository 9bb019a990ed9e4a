"""The input that several patterns share: the union of what they read of each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from sqlglot import exp

from sparkcep.exec.engines.shared.spec import Comparison, ComponentTest, RuleSpec
from sparkcep.planner.conditions.row_conditions import RowCondition, guarded, may_fail
from sparkcep.planner.engines.runs.steps import is_of_types, type_test
from sparkcep.planner.engines.shared.comparisons import comparison
from sparkcep.planner.fields import Fields
from sparkcep.planner.input_plan import InputPlan
from sparkcep.planner.plan import Analyzer
from sparkcep.planner.rules.rule import InputRule
from sparkcep.planner.sampling import Sampler
from sparkcep.planner.steps import PlanSteps
from sparkcep.planner.ties import is_orderable_here
from sparkcep.query import PatternQuery, in_backticks, unescape
from sparkcep.settings import Settings
from sparkcep.sql.lexicon import parse_expression

T = TypeVar("T")


#: How types begin of which there are texts.
_WITH_TEXT = ("string", "varchar", "char", "struct", "array", "map", "variant")


class NotShared(Exception):
    """A pattern that runs by itself; the message says why."""


class _Steps(PlanSteps):
    """Keys, order and layout of the input: a plan without a pattern."""

    def compile(self) -> tuple[str, ...]:
        """No components."""
        return ()


class SharedInput:
    """Collects what patterns need of the log: fields, conditions of one event, and columns that go to Python.

    Args:
        query: keys and order of the log. identifiers: names that the patterns mention.

    ``order``: fields of the ORDER BY keys, ``ties``: those that order rows of equal keys. ``tied``: whether a pattern
    orders them otherwise.
    """

    def __init__(
        self, query: PatternQuery, settings: Settings, analyze: Analyzer, sample: Sampler, column_types: Sequence[str],
        identifiers: frozenset[str],
    ) -> None:  # fmt: skip
        base = replace(
            query, identifiers=identifiers, measures=(), conditions=(), hidden_keys=0, text="", is_block=True
        )
        self.settings = settings
        self.analyze = analyze
        self.steps = _Steps(base, settings, analyze, sample, column_types)
        self.types: Mapping[str, str] = self.steps.column_types
        self.keys = self.steps.plan_keys()
        self.steps.add_sort_fields()
        self.fields: Fields = self.steps.fields
        own = {self.fields.texts[self.fields.add(k.expression)] for k in base.order_by}
        sorted_by = self.fields.texts[: self.fields.sort_fields]
        self.order = [t for t in sorted_by if t in own]
        self.ties = [t for t in sorted_by if t not in own]
        self.tied = False
        self.conditions: list[str] = []
        self.guards: dict[str, dict[tuple[str, str], dict[str, None]]] = {}
        self.columns: list[int] = []

    def condition(self, text: str) -> int:
        """The bit of a condition of one event."""
        return number(self.conditions, text)

    def column(self, text: str) -> int:
        """The batch's column that holds a row expression."""
        return number(self.columns, self.fields.add(self.fields.spelled(text)))

    def test(self, query: PatternQuery, key: str, conditions: Sequence[RowCondition]) -> ComponentTest:
        """What a component demands of one event."""
        component = next((c for c in query.components if c.key == key), None)
        by_type = type_test(component, query.event_type) if component is not None else ""
        of, types = -1, tuple[str, ...]()
        bits: list[int] = []
        compared: list[Comparison] = []
        before: list[str] = []
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
            elif not self.may_fail(text):
                bits.append(self.condition(text))
            elif query.streaming:  # what is known of a stream's events does not change with the other rules
                bits.append(self.condition(guarded([*before, text])))
            else:
                bits.append(self.condition(text))
                self.guard(text, (query.event_type or "") if types else "", types, [t for t in before if t != by_type])
            before.append(text)
        return ComponentTest(types, of, tuple(bits), tuple(compared))

    def guard(self, text: str, event_type: str, types: Sequence[str], before: Sequence[str]) -> None:
        """Note for which events a component needs a condition that may fail: those of its types, by a column, that
        satisfy the conditions before it."""
        known = self.guards.setdefault(text, {}).setdefault((event_type, guarded(before) if before else ""), {})
        known.update(dict.fromkeys(types))

    def evaluated(self, text: str) -> str:
        """A condition, evaluated only for events for which some component needs it."""
        needed = []
        for (event_type, before), types in self.guards.get(text, {}).items():
            of_types = is_of_types(types, event_type) if types else ""
            needed.append(guarded([part for part in (of_types, before) if part] or ["true"]))
        return text if "(true)" in needed or not needed else guarded([" OR ".join(needed), text])

    def may_fail(self, text: str) -> bool:
        """Whether a condition may fail for events that do not satisfy those before it, as other types do not. A text
        that is compared with a number is cast."""
        return may_fail(text) or self.casts_text(text)

    def casts_text(self, text: str) -> bool:
        """Whether a column that may be a text is compared or computed with what may be a number."""
        tree = parse_expression(unescape(text))
        for node in tree.find_all(exp.Binary, exp.Between, exp.In) if tree is not None else ():
            sides = [a for a in node.iter_expressions() if isinstance(a, (exp.Column, exp.Dot, exp.Literal, exp.Neg))]
            kinds = {self.may_be(side) for side in sides}
            if {"text", "number"} <= kinds:
                return True
        return False

    def may_be(self, node: exp.Expression) -> str:
        """text for a column or a field that may be one, number for what is none, literal for a text."""
        if isinstance(node, (exp.Literal, exp.Neg)):
            return "literal" if isinstance(node, exp.Literal) and node.is_string else "number"
        column = next((n for n in node.find_all(exp.Column)), None)
        name = self.fields.column_of(in_backticks(column.parts[0].name)) if column is not None else None
        type_ = self.types[name] if name is not None else ""
        return "text" if type_.startswith(_WITH_TEXT) or not type_ else "number"

    def texts(self, rule: RuleSpec) -> list[str]:
        """SQL that Spark evaluates over the log for a rule, where it is more than a column; `max` takes each."""
        bits = [self.evaluated(self.conditions[bit]) for test in rule.tests for bit in test.bits]
        columns = (*rule.columns, *(rule.items.columns if rule.items is not None else ()))
        values = [self.fields.texts[self.columns[column]] for column in columns]
        computed = [f"to_json(named_struct('value', {text}))" for text in values if "(" in text or self.may_fail(text)]
        return list(dict.fromkeys([*bits, *computed]))

    def own_ties(self, given: InputPlan) -> tuple[int, ...] | None:
        """Columns by which a pattern orders rows of equal keys, where the shared order is another.

        Raises:
            NotShared: Python does not know that order.
        """
        own = [t for t in given.fields.texts[: given.fields.sort_fields] if t not in self.order]
        if self.ties[: len(own)] == own:
            return None
        for text in self.order:
            ((_, type_),) = self.analyze([text])
            if not is_orderable_here(type_):
                raise NotShared(f"Python cannot tell which rows have equal {unescape(text)}, a {type_}")
        self.tied = True
        return tuple(self.column(text) for text in own)

    def order_columns(self) -> tuple[int, ...]:
        """The batch's columns with the ORDER BY keys, where a pattern has ties of its own."""
        return tuple(self.column(text) for text in self.order) if self.tied else ()

    def plan(self, filters: Sequence[str], rules: Sequence[InputRule]) -> InputPlan:
        """What Spark computes, once all patterns are taken. ``filters``: what a row must satisfy for any of them.
        ``rules``: which choose the layout."""
        _, layout, reason = self.steps.choose_layout({}, False)
        tests = {n: [RowCondition((self.evaluated(text),))] for n, text in enumerate(self.conditions)}
        bits = {n: n for n in tests}
        shape = self.steps.operator_columns(self.keys, bits, self.columns)
        given = self.steps.input_plan(self.keys, tests, bits, (layout, reason), shape, filters)
        for rule in rules:
            given = rule(given, self.steps.rule_context())
        return given


def number(known: list[T], item: T) -> int:
    """An item's place in a list, which it is put at the end of where it is new."""
    if item not in known:
        known.append(item)
    return known.index(item)
