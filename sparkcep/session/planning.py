"""The plan of one form against its input: clauses and blocks bound and given to the planner that can serve them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pyspark.sql import DataFrame

from sparkcep.block import BlockQuery
from sparkcep.planner.block_clause import block_clause, block_of
from sparkcep.planner.engines.non_answers.plan import plan_non_answers
from sparkcep.planner.engines.rows.plan import plan_clause
from sparkcep.planner.engines.runs.plan import plan_block, plan_clause_runs
from sparkcep.planner.engines.trends.choice import plan_trends
from sparkcep.planner.engines.uncertain.plan import plan_uncertain
from sparkcep.planner.fields import Fields, quote
from sparkcep.planner.groups import merge_groups
from sparkcep.planner.plan import AnyPlan
from sparkcep.planner.rules.gap_sequence import gap_sequence_plan
from sparkcep.query import SOURCE, PatternQuery, Selection, unescape
from sparkcep.session.analyzer import Analyser
from sparkcep.session.index_choice import Pruning
from sparkcep.session.plan_cache import PLANS, keep
from sparkcep.sql.block.binder import bind_block
from sparkcep.sql.clause.binder import bind
from sparkcep.sql.clause.parser import parse_clause
from sparkcep.sql.outer import partition_predicate, plain_limit, wanted_names, wants_repairs_only
from sparkcep.sql.rewriter import InputSql, Rewriter
from sparkcep.sql.statement import OccurrenceKind, PatternOccurrence, Statement

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Relation:
    """A planned form: ``sql`` is the subquery that takes its place in the statement, ``source`` what it reads,
    ``pruning`` how that has become of ``given``, its input."""

    name: str
    plan: AnyPlan
    source: DataFrame
    sql: str
    given: DataFrame
    pruning: Pruning = field(default_factory=Pruning)


@dataclass(slots=True)
class OccurrencePlanner(Analyser):
    """Plans the forms of one statement. ``relations``: of the forms before the one at hand. ``renamed``: where forms
    begin whose columns have other names outside."""

    statement: Statement = field(init=False)
    rewriter: Rewriter = field(init=False)
    relations: list[Relation] = field(default_factory=list)
    renamed: set[int] = field(default_factory=set)

    def planned(self, form: PatternOccurrence, source: DataFrame, input_sql: InputSql) -> AnyPlan:
        """The form's plan. One that was made without Spark's help is kept: the statement's text, the settings, the
        input's columns and what its properties name say all of it."""
        columns = tuple((f.name, f.dataType.simpleString()) for f in source.schema.fields)
        properties = self.log_properties(source) if form.kind is OccurrenceKind.BLOCK else None
        roles = None if properties is None else tuple(sorted(properties.items()))
        made_from = (self.text, form.start, input_sql.text, columns, self.settings, roles)
        # Arguments may be anything, and what stands for an earlier form may be inside this one.
        may_keep = not (self.kwargs or self.args or self.relations)
        if may_keep and made_from in PLANS:
            return PLANS[made_from]
        asked = self.asked
        is_block = form.kind is OccurrenceKind.BLOCK
        planned = self.plan_block(form, source, input_sql) if is_block else self.plan_clause(form, source, input_sql)
        return keep(PLANS, made_from, planned) if may_keep and self.asked == asked else planned

    def is_read_by_name(self, form: PatternOccurrence) -> bool:
        """Whether the query around a form says which of its columns it reads, and by the names that they have here."""
        return not self.kwargs and form.start not in self.renamed

    def plan_clause(self, form: PatternOccurrence, source: DataFrame, input_sql: InputSql) -> AnyPlan:
        clause = parse_clause(self.statement, form.body, formatted=bool(self.kwargs))
        query = bind(
            self.statement,
            clause,
            form.body,
            source.schema.names,
            self.rewriter.qualifiers(form),
            self.rewriter.render,
            self.settings,
            self.rewriter.with_prefix(form),
        )
        if self.settings.column_pruning and self.is_read_by_name(form):
            query = replace(query, wanted=wanted_names(self.statement, form))
        if self.settings.key_predicates and self.is_read_by_name(form):
            query = replace(query, partition_predicate=self.partition_predicate(query, form))
        if query.non_answers is not None:
            asked = replace(query.non_answers, repairs_only=wants_repairs_only(self.statement, form))
            query = replace(query, non_answers=asked)
            return plan_non_answers(
                block_of(query), self.settings, lambda items: self.analyze(query, source, items),
                [f.dataType.simpleString() for f in source.schema.fields], query,
            )  # fmt: skip
        make = plan_clause if query.selection is Selection.STRICT else plan_clause_runs
        return make(
            query, self.settings, lambda items: self.analyze(query, source, items),
            lambda tests, keys: self.sample(query, source, input_sql, tests, keys),
            [f.dataType.simpleString() for f in source.schema.fields],
        )  # fmt: skip

    def plan_block(self, form: PatternOccurrence, source: DataFrame, input_sql: InputSql) -> AnyPlan:
        block = self.bound_block(form, source)
        source = self.merged(block, source)
        if self.settings.column_pruning and self.is_read_by_name(form):
            block = replace(block, wanted=wanted_names(self.statement, form))
        if block.non_answers is not None:
            asked = replace(block.non_answers, repairs_only=wants_repairs_only(self.statement, form))
            block = replace(block, non_answers=asked)
        if block.trends or block.non_answers is not None:
            query = block_clause(block)
            return (plan_trends if block.non_answers is None else plan_non_answers)(
                block, self.settings, lambda items: self.analyze(query, source, items),
                [f.dataType.simpleString() for f in source.schema.fields],
            )  # fmt: skip
        if block.uncertainty is not None:
            return self.plan_bound(replace(block, limit=plain_limit(self.statement, form)), source, plan_uncertain)
        simple = self.plan_bound(block, source, gap_sequence_plan)
        if simple is not None:
            return simple
        block = replace(block, limit=plain_limit(self.statement, form))
        # Groups are no columns of the input.
        return self.plan_bound(block, source, plan_block, None if block.groups else input_sql)

    def bound_block(self, form: PatternOccurrence, source: DataFrame) -> BlockQuery:
        prefix = self.rewriter.with_prefix(form)
        return bind_block(
            self.statement, form, source.schema.names, self.rewriter.qualifiers(form), self.rewriter.render,
            self.settings, prefix, lambda relation: self.table_properties(relation, source),
            lambda expression: str(self.run(f"{prefix}SELECT {expression} FROM {{{SOURCE}}}", source).schema[0]
                                   .dataType.simpleString()),
        )  # fmt: skip

    def merged(self, block: BlockQuery, source: DataFrame) -> DataFrame:
        """The input with a column for the group that a case is in, where the block has GROUPS."""
        if not block.groups:
            return source
        query = block_clause(block)
        case = block.case.expression if block.case is not None else "NULL"
        type_ = self.analyze(query, source, [case])[0][1]
        text = block.with_prefix + merge_groups(block, type_, source.columns)
        return self.checked(query, lambda: self.analyzed(text, source))

    def plan_bound(
        self, block: BlockQuery, source: DataFrame, make: Callable[..., T], input_sql: InputSql | None = None
    ) -> T:
        """A bound block's plan by ``plan_block``, or by what takes the same arguments.

        ``input_sql``: the query that reads ``source``, where the input may be sampled.
        """
        query = block_clause(block)
        return make(
            block, self.settings, lambda items: self.analyze(query, source, items),
            lambda tests, keys: self.sample(query, source, input_sql, tests, keys) if input_sql else None,
            [f.dataType.simpleString() for f in source.schema.fields],
        )  # fmt: skip

    def partition_predicate(self, query: PatternQuery, form: PatternOccurrence) -> str:
        fields = Fields(query.columns, self.settings.case_sensitive)
        keys = {fields.column_of(k.expression) for k in query.partition_by}

        def key_of(name: str) -> str | None:
            column = fields.column_of(quote(name))
            return unescape(quote(column)) if column in keys and column else None

        return partition_predicate(self.statement, form, key_of)
