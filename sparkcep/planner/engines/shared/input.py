"""The input that several patterns share: the union of what they read of each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from sparkcep.exec.engines.shared.spec import Comparison, ComponentTest, RuleSpec
from sparkcep.planner.conditions.row_conditions import RowCondition, all_of, may_fail
from sparkcep.planner.engines.runs.steps import type_test
from sparkcep.planner.engines.shared.comparisons import comparison
from sparkcep.planner.fields import Fields
from sparkcep.planner.input_plan import InputPlan
from sparkcep.planner.plan import Analyzer
from sparkcep.planner.sampling import Sampler
from sparkcep.planner.steps import PlanSteps
from sparkcep.planner.ties import is_orderable_here
from sparkcep.query import PatternQuery, in_backticks, unescape
from sparkcep.settings import Settings
from sparkcep.sql.lexicon import tokenize

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
            else:
                bits.append(self.condition(all_of([*before, text], self.may_fail) if self.may_fail(text) else text))
            before.append(text)
        return ComponentTest(types, of, tuple(bits), tuple(compared))

    def may_fail(self, text: str) -> bool:
        """Whether a condition may fail for events that do not satisfy those before it, as other types do not. A text
        that is compared with a number is cast."""
        tokens = tokenize(text)
        columns = {self.fields.column_of(in_backticks(t.text)) for t in tokens if t.kind in ("word", "quoted")}
        types = {self.types[c] for c in columns if c is not None}
        is_cast = any(t.startswith(_WITH_TEXT) for t in types) and (
            any(t.kind == "number" for t in tokens) or not all(t.startswith(_WITH_TEXT) for t in types)
        )
        return is_cast or may_fail(text)

    def texts(self, rule: RuleSpec) -> list[str]:
        """SQL that Spark evaluates over the log for a rule, where it is more than a column; of types with an order."""
        bits = [self.conditions[bit] for test in rule.tests for bit in test.bits]
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

    def plan(self, layout: str, reason: str, filters: Sequence[str] = ()) -> InputPlan:
        """What Spark computes, once all patterns are taken. ``filters``: what a row must satisfy for any of them."""
        tests = {n: [RowCondition((text,))] for n, text in enumerate(self.conditions)}
        bits = {n: n for n in tests}
        shape = self.steps.operator_columns(self.keys, bits, self.columns)
        return self.steps.input_plan(self.keys, tests, bits, (layout, reason), shape, filters)


def number(known: list[T], item: T) -> int:
    """An item's place in a list, which it is put at the end of where it is new."""
    if item not in known:
        known.append(item)
    return known.index(item)
