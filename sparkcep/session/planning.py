"""The plan of one form against its input: clauses and blocks bound and given to the planner that can serve them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from sparkcep.exec.streaming.spark import WATERMARK
from sparkcep.planner.choice import make_plan
from sparkcep.planner.fields import Fields
from sparkcep.planner.groups import merge_groups
from sparkcep.planner.plan import Analyzer, AnyPlan
from sparkcep.planner.sampling import Sampler, magnitude
from sparkcep.planner.streaming.meaning import StreamSource
from sparkcep.planner.streaming.plan import streamed
from sparkcep.planner.streaming.refusals import check_query
from sparkcep.query import SOURCE, Navigation, PatternQuery, Scalar, quote, returning_keys, unescape
from sparkcep.session.analyzer import SparkAnalyzer
from sparkcep.session.column_types import column_types
from sparkcep.session.indexes.columns import index_columns
from sparkcep.session.inputs.correlated import partitioned_by_outer
from sparkcep.session.parameters import checked_lengths
from sparkcep.session.plan_cache import PLANS, keep
from sparkcep.settings import Settings
from sparkcep.sql.block.binder import bind_block
from sparkcep.sql.clause.binder import bind
from sparkcep.sql.clause.parser import parse_clause
from sparkcep.sql.outer import (
    as_relation,
    most_probable,
    partition_predicate,
    plain_limit,
    wanted_names,
    wants_repairs_only,
)
from sparkcep.sql.rewriter import InputSql, Rewriter
from sparkcep.sql.statement import OccurrenceKind, PatternOccurrence, Statement


@dataclass(frozen=True, slots=True)
class OccurrencePlanner:
    """Plans the forms of one statement.

    ``gives_keys``: of a block with RETURN the keys of the partition that a row is of come too, where it is of one; see
    :func:`sparkcep.query.returning_keys`.
    """

    analyzer: SparkAnalyzer
    statement: Statement
    rewriter: Rewriter
    gives_keys: bool = False

    @property
    def settings(self) -> Settings:
        """The statement's settings."""
        return self.analyzer.settings

    def planned(
        self, form: PatternOccurrence, source: DataFrame, input_sql: InputSql, *, alone: bool, renamed: bool,
        outer_keys: Sequence[str] = (),
    ) -> AnyPlan:  # fmt: skip
        """The form's plan. One that was made without Spark's help is kept: the statement's text, the settings, the
        input's columns and what its properties name say all of it.

        Args:
            source: the input; ``input_sql``: the query that reads it.
            alone: no form before this one, which could be inside of it.
            renamed: columns of the input have other names outside of the form.
            outer_keys: columns of the input that are compared with the query around the form.
        """
        analyzer = self.analyzer
        # Arguments may be anything.
        may_keep = alone and not (analyzer.kwargs or analyzer.args)
        made_from = self.made_from(form, source, input_sql) if may_keep else ()
        if may_keep and made_from in PLANS:
            return PLANS[made_from]
        questions = len(analyzer.volatile)
        # Whether the query around a form says which of its columns it reads, and by the names that they have here.
        by_name = not analyzer.kwargs and not renamed
        make = self.plan_block if form.kind is OccurrenceKind.BLOCK else self.plan_clause
        planned = make(form, source, input_sql, by_name, outer_keys)
        return keep(PLANS, made_from, planned) if may_keep and len(analyzer.volatile) == questions else planned

    def made_from(self, form: PatternOccurrence, source: DataFrame, input_sql: InputSql) -> tuple[object, ...]:
        """All that a plan is made from, where Spark was asked for nothing else."""
        analyzer = self.analyzer
        columns = tuple(zip(source.columns, column_types(source.schema, self.settings), strict=True))
        properties = analyzer.log_properties(source) if form.kind is OccurrenceKind.BLOCK else None
        roles = None if properties is None else tuple(sorted(properties.items()))
        # Where no layout is demanded, it depends on the size; of a stream nobody knows how much will come.
        chosen = self.settings.layout == "auto" and not source.isStreaming
        size = magnitude(analyzer.input_bytes(input_sql, source) if chosen else 0)
        watermarks = watermarked(source) if source.isStreaming else None
        of_input = input_sql.text, columns, watermarks, size
        return id(analyzer.spark), analyzer.text, form.start, *of_input, self.settings, roles, self.gives_keys

    def plan_clause(
        self, form: PatternOccurrence, source: DataFrame, input_sql: InputSql, by_name: bool,
        outer_keys: Sequence[str] = (),
    ) -> AnyPlan:  # fmt: skip
        """Parse, bind and plan a MATCH_RECOGNIZE over ``source``.

        ``by_name``: the statement around it names the columns that it reads by the names they have here.

        Raises:
            PatternParseError, PatternAnalysisError: see :func:`parse_clause` and :func:`bind`.
        """
        clause = parse_clause(self.statement, form.body, formatted=bool(self.analyzer.kwargs))
        query = bind(
            self.statement,
            clause,
            form.body,
            _own_columns(source, outer_keys),
            self.rewriter.qualifiers(form),
            self.rewriter.render,
            self.settings,
            self.rewriter.with_prefix(form),
            constants=self.rewriter.constants,
        )
        if self.settings.column_pruning and by_name:
            query = replace(query, wanted=wanted_names(self.statement, form))
        if self.settings.key_predicates and by_name:
            query = replace(query, partition_predicate=self.partition_predicate(query, form))
        if outer_keys:
            query = partitioned_by_outer(query, outer_keys, form.start)
        return self.plan_input(self.asked_of(query, form), form, source, input_sql)

    def plan_block(
        self, form: PatternOccurrence, source: DataFrame, input_sql: InputSql, by_name: bool,
        outer_keys: Sequence[str] = (),
    ) -> AnyPlan:  # fmt: skip
        """Parse, bind and plan a pattern block; arguments and errors as for :meth:`plan_clause`."""
        query = self.bound_block(form, source, outer_keys, input_sql)
        if self.gives_keys:
            query = returning_keys(query)
        source = self.merged(query, source)
        if self.settings.column_pruning and by_name:
            query = replace(query, wanted=wanted_names(self.statement, form))
        relation = as_relation(self.statement, form)
        if self.settings.key_predicates and by_name and relation is not None and not source.isStreaming:
            query = replace(query, partition_predicate=self.partition_predicate(query, relation))
        any_so_many, best = plain_limit(self.statement, form), most_probable(self.statement, form)
        query = replace(query, limit=any_so_many, most_probable=best)
        if outer_keys:
            query = partitioned_by_outer(query, outer_keys, form.start)
        # Groups are no columns of the input.
        return self.plan_input(self.asked_of(query, form), form, source, None if query.groups else input_sql)

    def plan_input(
        self, query: PatternQuery, form: PatternOccurrence, source: DataFrame, input_sql: InputSql | None
    ) -> AnyPlan:
        """A bound query's plan over its input, be that at rest or a stream.

        Raises:
            PatternAnalysisError: CEP_STREAMING_*.
        """
        if not source.isStreaming:
            return self.plan_bound(query, source, input_sql)
        query = replace(query, streaming=True, limit=None, most_probable=None)
        check_query(query, self.settings, watermarked(source))
        arguments = self.planner_arguments(query, source)
        settings = replace(self.settings, layout="rows")
        plan = make_plan(arguments[0], settings, *arguments[2:])
        text = self.statement.text[form.start : form.end]
        types = {f.name: f.dataType.simpleString() for f in source.schema.fields}
        common = [self.statement.text[t.start : t.end] for scope in form.scopes for t in scope]
        return streamed(plan, settings, StreamSource(text, self.analyzer.values, types, common))

    def asked_of(self, query: PatternQuery, form: PatternOccurrence) -> PatternQuery:
        """With what the statement around EXPLAIN NON ANSWERS makes of its rows."""
        if query.non_answers is None:
            return query
        non_answers = replace(query.non_answers, repairs_only=wants_repairs_only(self.statement, form))
        return replace(query, non_answers=non_answers)

    def bound_block(
        self, form: PatternOccurrence, source: DataFrame, outer_keys: Sequence[str] = (),
        input_sql: InputSql | None = None,
    ) -> PatternQuery:  # fmt: skip
        """A block's query; its relation's properties, and indexes on it, are asked for where they are needed.

        Args:
            input_sql: the query that reads the input, where indexes on it are asked for.
        """
        prefix = self.rewriter.with_prefix(form)
        types = {f.name: f.dataType.simpleString() for f in source.schema.fields}
        fields = Fields(source.columns, self.settings.case_sensitive)

        def type_of(expression: str) -> str:
            if (column := fields.column_of(expression)) is not None:
                return types[column]
            (found,) = self.analyzer.run(f"{prefix}SELECT {expression} FROM {{{SOURCE}}}", source).schema
            return str(found.dataType.simpleString())

        def indexed() -> Mapping[str, str]:
            self.analyzer.volatile.append("pattern indexes")
            return {} if source.isStreaming else index_columns(self.analyzer, source, input_sql)

        return bind_block(
            self.statement, form, _own_columns(source, outer_keys), self.rewriter.qualifiers(form),
            self.rewriter.render, self.settings, prefix,
            lambda relation: self.analyzer.table_properties(relation, source), type_of, indexed,
            constants=self.rewriter.constants,
        )  # fmt: skip

    def merged(self, query: PatternQuery, source: DataFrame) -> DataFrame:
        """The input with a column for the group that a case is in, where the block has GROUPS."""
        if not query.groups:
            return source
        case = query.case.expression if query.case is not None else "NULL"
        type_ = self.analyzer.analyze(query, source, [case])[0][1]
        text = query.with_prefix + merge_groups(query, type_, source.columns)
        return self.analyzer.checked(query, lambda: self.analyzer.analyzed(text, source))

    def plan_bound(self, query: PatternQuery, source: DataFrame, input_sql: InputSql | None = None) -> AnyPlan:
        """A bound query's plan; see :meth:`planner_arguments`."""
        return make_plan(*self.planner_arguments(query, source, input_sql))

    def planner_arguments(
        self, query: PatternQuery, source: DataFrame, input_sql: InputSql | None = None
    ) -> tuple[PatternQuery, Settings, Analyzer, Sampler, list[str]]:
        """What planners are given. ``input_sql``: the query that reads ``source``, where the input may be sampled."""
        query = checked_lengths(query, self.analyzer)
        return (
            query, self.settings, lambda items: self.analyzer.analyze(query, source, items),
            lambda tests, keys, filters: (
                self.analyzer.sample(query, source, input_sql, tests, keys, filters) if input_sql else None
            ),
            column_types(source.schema, self.settings),
        )  # fmt: skip

    def partition_predicate(self, query: PatternQuery, form: PatternOccurrence) -> str:
        """What the statement demands of partition keys, as SQL over the input's columns; empty if nothing.

        Args:
            form: as the relation that FROM reads; a block with its parentheses.
        """
        if query.trends or query.groups or query.non_answers is not None:
            return ""
        fields = Fields(query.columns, self.settings.case_sensitive)
        keys = {fields.column_of(k.expression) for k in query.partition_by}
        # A block's RETURN gives no key but those that it lists, by the names that it gives them.
        names = Fields([m.name for m in query.measures], self.settings.case_sensitive)
        returned = {m.name: fields.column_of(_plain_column(m.expression, query.labels)) for m in query.measures}

        def key_of(name: str) -> str | None:
            own = returned.get(names.column_of(quote(name)) or "")
            column = own if query.has_return else fields.column_of(quote(name))
            return unescape(quote(column)) if column in keys and column else None

        return partition_predicate(self.statement, form, key_of)


def _own_columns(source: DataFrame, outer_keys: Sequence[str]) -> list[str]:
    """Names of an input's columns but those that are compared with the query around it."""
    return [name for name in source.schema.names if name not in outer_keys]


def _plain_column(scalar: Scalar, components: Sequence[str]) -> str:
    """What a RETURN item of one column of any row of the match names; empty for all others."""
    match scalar.pieces:
        case (Navigation(logical=0, physical=0, variables=of) as slot,) if of is None or set(of) == set(components):
            return slot.argument.text
    return ""


def watermarked(source: DataFrame) -> tuple[str, ...]:
    """A stream's columns that have a watermark."""
    return tuple(f.name for f in source.schema.fields if WATERMARK in (f.metadata or {}))
