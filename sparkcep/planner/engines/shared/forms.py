"""Plan patterns of one statement that read the same relation: each as it runs by itself, over rows that all share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sparkcep.exec.engines.by_spec import ENGINES
from sparkcep.exec.engines.shared.spec import ComponentTest
from sparkcep.exec.layouts.output import fields_read
from sparkcep.exec.layouts.parts import Part
from sparkcep.exec.layouts.shared_lists import SharedLists
from sparkcep.planner.engines.runs.steps import taken_by_any
from sparkcep.planner.engines.shared.input import NotShared, SharedInput
from sparkcep.planner.input_plan import InputPlan
from sparkcep.planner.plan import Analyzer, AnyPlan
from sparkcep.planner.rules.layout import hold_no_long_list, sort_in_rows
from sparkcep.planner.sampling import Sampler
from sparkcep.query import PatternQuery, quote, string_literal
from sparkcep.settings import Settings


@dataclass(frozen=True, slots=True)
class FormsPlan:
    """What patterns that share their input run as: ``input`` is Spark's, ``lists`` the operator's, by which the n-th
    pattern's rows are part n."""

    input: InputPlan
    lists: SharedLists


def own_query(query: PatternQuery) -> PatternQuery:
    """A pattern's query over shared rows, where its neighbours are known in Python alone."""
    return replace(query, own_neighbours=True)


def own_settings(settings: Settings) -> Settings:
    """By which a pattern is planned over shared rows: as lists, whose partitions none drops for the others."""
    return replace(settings, layout="lists", join_prefilter=False)


class FormsPlanner:
    """Collects patterns, and what they need of their input.

    Args:
        queries: of the patterns, whose keys and order are the same. Others: as of planners of one pattern.
    """

    def __init__(
        self, queries: Sequence[PatternQuery], settings: Settings, analyze: Analyzer, sample: Sampler,
        column_types: Sequence[str],
    ) -> None:  # fmt: skip
        event_type = next((q.event_type for q in queries if q.event_type is not None), None)
        base = replace(queries[0], event_type=event_type, within=None)
        names = frozenset[str]().union(*(q.identifiers for q in queries))
        self.input = SharedInput(base, settings, analyze, sample, column_types, names)
        self.plans: list[AnyPlan] = []
        self.parts: list[Part] = []

    def add(self, plan: AnyPlan) -> None:
        """Take a pattern, planned by :func:`own_query` and :func:`own_settings`.

        Raises:
            NotShared: it has to run by itself.
        """
        shared = self.input
        conditions, columns = len(shared.conditions), len(shared.columns)
        try:
            self.parts.append(self.part(plan))
            self.plans.append(plan)
        except NotShared:
            del shared.conditions[conditions:], shared.columns[columns:]
            raise

    def part(self, plan: AnyPlan) -> Part:
        """See :meth:`add`."""
        given, shared = plan.input, self.input
        if given.layout != "lists":
            raise NotShared(given.layout_reason)
        if given.pairs:
            raise NotShared("Spark evaluates a condition for every pair of rows")
        engine, texts = ENGINES[type(plan.engine.spec)], given.fields.texts
        codes = list(given.bits)
        # Codes beyond them are those of the patterns that make up an AND of trends.
        names = dict(enumerate(plan.engine.names))
        drops, kept = split_filters(given)
        out = fields_read(engine.columns(plan.engine.spec, given.shape))
        return Part(
            engine=engine,
            spec=plan.engine.spec,
            shape=given.shape,
            tests=tuple(shared.test(plan.query, names.get(code, ""), given.tests[code]) for code in codes),
            bits=tuple(given.bits.values()),
            keep=ComponentTest(bits=tuple(map(shared.condition, kept))) if kept else None,
            drops=drops,
            columns=tuple(shared.column(texts[f]) for f in given.shape.kernel_fields),
            fields=tuple((f, shared.fields.add(texts[f])) for f in out),
            ties=shared.own_ties(given),
        )

    def plan(self) -> FormsPlan:
        """The plan of the patterns taken so far.

        Raises:
            NotShared: their common rows do not fit into a list.
        """
        shared = self.input
        order = shared.order_columns()
        given = shared.plan(self.filters(), (sort_in_rows, hold_no_long_list))
        if given.layout != "lists":
            raise NotShared(given.layout_reason)
        return FormsPlan(given, SharedLists(tuple(self.parts), given.shape, order))

    def filters(self) -> list[str]:
        """What a row must satisfy for any of the patterns to look at it."""
        if not all(plan.input.filters for plan in self.plans):
            return []
        listed = set[str]()
        other: dict[str, None] = {}
        column = self.input.fields.column_of(self.input.steps.query.event_type or "")
        for plan, part in zip(self.plans, self.parts, strict=True):
            of = self.input.fields.column_of(plan.query.event_type or "")
            if part.drops and of is not None and of == column and all(test.types for test in part.tests):
                listed |= {name for test in part.tests for name in test.types}
            else:
                other[" AND ".join(f"({text})" for text in plan.input.filters)] = None
        if listed:
            names = ", ".join(map(string_literal, sorted(listed)))
            other[f"{quote(str(column))} IN ({names})"] = None
        return [" OR ".join(f"({text})" for text in other)]


def split_filters(given: InputPlan) -> tuple[bool, list[str]]:
    """Whether a plan's filters drop the rows that no component can take, and what else they demand."""
    taken = taken_by_any([given.tests[code] for code in sorted(given.tests)])
    return taken in given.filters, [text for text in given.filters if text != taken]
