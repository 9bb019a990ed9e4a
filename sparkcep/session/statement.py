"""One statement on its way through the rooms: forms found, bound, planned, executed, and put back into the text."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pyspark.errors import AnalysisException, ParseException, PySparkNotImplementedError
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from sparkcep import settings
from sparkcep.errors import PatternAnalysisError, SparkCepError, streaming_unsupported, warn
from sparkcep.exec.engines.non_answers.facts import partition_facts
from sparkcep.exec.engines.non_answers.spec import RepairSpec
from sparkcep.exec.operator import match
from sparkcep.planner.engines.non_answers.sql import FACTS
from sparkcep.planner.engines.runs.censored import LOG_END, log_end_sql
from sparkcep.planner.explain import explain_plan
from sparkcep.planner.plan import AnyPlan
from sparkcep.query import PREFIX, SOURCE, unescape
from sparkcep.session.analyzer import located, outer_reference
from sparkcep.session.functions import create_function
from sparkcep.session.index_choice import prune
from sparkcep.session.joined_input import joined_input, plain_names
from sparkcep.session.no_rows import notes
from sparkcep.session.planning import OccurrencePlanner, Relation
from sparkcep.sql.commands import Explain, TemporaryView, classify
from sparkcep.sql.function import read_function
from sparkcep.sql.misplaced import misplaced
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.rewriter import InputSql, Rewriter
from sparkcep.sql.statement import OccurrenceKind, PatternOccurrence, formatted

T = TypeVar("T")

_names = iter(range(2**62))


@dataclass(slots=True)
class StatementExecution(OccurrencePlanner):
    """One statement on its way through the rooms. ``notes``: what EXPLAIN says beside the plans."""

    explain_only: bool = False
    notes: list[str] = field(default_factory=list)

    def result(self) -> DataFrame:
        get = settings.getter(self.spark)
        mode = settings.read_match_recognize(get)
        if mode in ("native", "off"):
            return self.untouched()
        self.statement = read_statement(self.text)
        if self.kwargs:
            self.statement = formatted(self.statement)
        if (function := read_function(self.statement)) is not None and not self.explain_only:
            self.settings = settings.read(get)
            return create_function(self.spark, self.plain, self.statement, function, self.settings)
        if not self.statement.forms:
            return self.untouched()
        if mode == "auto" and _is_native():
            with contextlib.suppress(ParseException, AnalysisException):
                return self.untouched()
        self.settings = settings.read(get)
        command = Explain("EXPLAIN ", 0) if self.explain_only else classify(self.statement)
        positional = isinstance(self.args, list)
        self.rewriter = Rewriter(self.statement, formatted=bool(self.kwargs), positional=positional)
        if isinstance(self.args, list):
            self.check_parameters(self.args)
            self.args = {f"{PREFIX}p{i}": v for i, v in enumerate(self.args)}
        for form in self.statement.forms:
            if form.kind is OccurrenceKind.CALL:
                self.run_call(form)
            else:
                self.plan_form(form)
        if isinstance(command, Explain):
            return self.explain(command)
        if isinstance(command, TemporaryView):
            return self.create_view(command)
        return self.rewritten(0)

    def untouched(self) -> DataFrame:
        """Spark's own answer to the text as it is."""
        return self.parsed(
            lambda: self.plain("EXPLAIN " + self.text if self.explain_only else self.text, self.args, **self.kwargs)
        )

    def parsed(self, action: Callable[[], T]) -> T:
        """Run what has Spark parse the statement; of a pattern in the wrong place Spark knows nothing to say."""
        try:
            return action()
        except SparkCepError:
            raise
        except ParseException:
            error = misplaced(read_statement(self.text))
            if error is None:
                raise
            raise error from None

    def check_parameters(self, args: Sequence[Any]) -> None:
        if self.rewriter.parameters > len(args):
            raise PatternAnalysisError(
                "CEP_UNBOUND_PARAMETER",
                f"The statement has {self.rewriter.parameters} positional parameters; {len(args)} values are given.",
                hint="a `?` inside PATTERN is a quantifier, all others are parameters",
            )

    # -- one form --------------------------------------------------------------------------------------------------

    def plan_form(self, form: PatternOccurrence) -> None:
        input_sql = self.rewriter.input_sql(form)
        source = self.parsed(lambda: self.blamed(lambda: self.input(form, input_sql)))
        renamed = joined_input(
            self.rewriter, form, source.columns, lambda text: self.run(text).columns,
            case_sensitive=self.settings.case_sensitive,
        )  # fmt: skip
        if renamed is not None:
            self.renamed.add(form.start)
            input_sql, source = renamed[0], self.analyzed(renamed[0].text)
        planned = self.planned(form, source, input_sql)
        name = f"{PREFIX}relation_{next(_names)}"
        block = planned.engine.block
        if block is not None and block.groups:
            self.notes.append(f"{len(block.groups)} groups are partitions, an event is in each group of its case")
        given = self.grouped(planned, source)
        pruning = prune(self.spark, planned, source, input_sql, self.settings)
        if not self.explain_only and not isinstance(classify(self.statement), Explain):
            for sentence in pruning.unknown:
                warn(sentence)
        source = given if pruning.frame is None else self.grouped(planned, pruning.frame)
        sql = self.relation_sql(name, planned, source, input_sql if pruning.frame is None else None)
        if (facts := planned.engine.facts) is not None:
            sql = self.with_facts(name, planned, facts, given, sql)
        elif block is not None and block.omit_censored:
            self.matched[name + "_end"] = self.analyzed(log_end_sql(block), given)
            sql = sql.replace(f"{{{LOG_END}}}", f"{{{name}_end}}")
        if renamed is not None:
            sql = plain_names(sql, renamed[1], lambda text: self.run(text).columns)
        relation = Relation(name, planned, source, sql, given, pruning)
        self.relations.append(relation)
        self.put(form, relation.sql)

    def grouped(self, planned: AnyPlan, source: DataFrame) -> DataFrame:
        """What a plan reads of its input."""
        block = planned.engine.block
        return self.merged(block, source) if block is not None else source

    def put(self, form: PatternOccurrence, sql: str) -> None:
        """Put a subquery in a form's place; a block that opens a statement is a query of its own."""
        opens = form.kind is OccurrenceKind.BLOCK and self.statement.text[form.start : form.start + 4].upper() == "FROM"
        self.rewriter.replace(form, f"SELECT * FROM {sql}" if opens else sql)

    def run_call(self, form: PatternOccurrence) -> None:
        """Put the rows of a table function in its place."""
        from sparkcep.session.index_functions import run_table_function

        def evaluate(start: int, end: int) -> Any:
            return self.run(f"SELECT {self.rewriter.render(start, end)}").collect()[0][0]

        frame, how = run_table_function(self.spark, self.statement, form, evaluate)
        name = f"{PREFIX}relation_{next(_names)}"
        self.matched[name] = frame
        self.notes.append(how)
        self.rewriter.replace(form, f"(SELECT * FROM {{{name}}})")

    def input(self, form: PatternOccurrence, input_sql: InputSql) -> DataFrame:
        """A form's input relation, analysed.

        Raises:
            PatternAnalysisError: CEP_STREAMING_UNSUPPORTED.
        """
        table = input_sql.plain_table
        try:
            frame = self.spark.table(table) if table else self.run(input_sql.text)
            _ = frame.schema
        except AnalysisException as error:
            raise outer_reference(self.statement, form, error) or error from None
        if frame.isStreaming:
            raise streaming_unsupported(self.text, form.relation_start)
        return frame

    def relation_sql(self, name: str, planned: AnyPlan, source: DataFrame, input_sql: InputSql | None) -> str:
        """The subquery that takes the form's place. Spark analyses it once, as a part of the user's statement.

        Args:
            input_sql: the query that reads ``source``, None where there is none.
        """
        if planned.fold is not None:
            if input_sql is None:  # a DataFrame
                self.matched[name], text = source, f"{{{name}}}"
            else:
                text = input_sql.plain_table or f"({input_sql.text})"
            return f"({planned.fold.sql().replace(f'{{{SOURCE}}}', text)})"
        frame = self.prepared(planned, source)
        try:
            found = match(frame, planned.input.layout, planned.input.shape, planned.engine.spec)
        except PySparkNotImplementedError as error:
            raise _untransportable(planned, frame, error) from None
        self.matched[name] = found.frame
        return f"({planned.output.sql().replace(f'{{{SOURCE}}}', found.sql(f'{{{name}}}'))})"

    def with_facts(self, name: str, planned: AnyPlan, facts: RepairSpec, given: DataFrame, sql: str) -> str:
        """What the log says of a query comes from all partitions, whatever an index leaves of them."""
        if f"{{{FACTS}}}" not in sql:
            return sql
        told = partition_facts(self.prepared(planned, given), planned.input.layout, planned.input.shape, facts)
        self.matched[name + "_facts"] = told
        return sql.replace(f"{{{FACTS}}}", f"{{{name}_facts}}")

    def prepared(self, planned: AnyPlan, source: DataFrame) -> DataFrame:
        """The operator's input."""
        try:
            return self.analyzed(planned.before(), source)
        except AnalysisException as error:
            raise self.diagnosed(planned, source, error) from None

    def blamed(self, action: Callable[[], T]) -> T:
        """Run what reads the relations made so far; what a form is to blame for comes back with its place."""
        try:
            return action()
        except SparkCepError:
            raise
        except AnalysisException:
            for relation in self.relations:
                self.check(relation)
            raise

    def check(self, relation: Relation) -> None:
        """Raise what Spark has against a form."""
        self.prepared(relation.plan, relation.source)
        plan = relation.plan
        self.checked(plan.query, lambda: self.analyzed(f"SELECT * FROM {relation.sql}"), plan.output.place)

    def rewritten(self, start: int) -> DataFrame:
        """The user's statement from an offset on, with subqueries in the place of its forms."""
        text = self.rewriter.render(start, len(self.text))
        return self.parsed(lambda: self.blamed(lambda: self.analyzed(text)))

    def diagnosed(self, planned: AnyPlan, source: DataFrame, error: AnalysisException) -> PatternAnalysisError:
        """Which condition Spark refuses, and why; the whole statement's error where it is none of them."""
        query = planned.query
        for condition, statement in planned.input.condition_texts():
            try:
                type_ = self.analyzed(statement, source).schema[0].dataType.simpleString()
            except AnalysisException as own:
                return located(query, own, condition.position)
            if type_ != "boolean":
                return PatternAnalysisError(
                    "CEP_CONDITION_TYPE",
                    f"A condition must be boolean; this one is {type_}.",
                    text=query.text or None,
                    position=condition.position,
                )
        return located(query, error)

    # -- results ---------------------------------------------------------------------------------------------------

    def explain(self, command: Explain) -> DataFrame:
        for relation in self.relations:
            self.check(relation)
        rewritten = self.rewriter.render(command.query_start, len(self.text))
        spark_plan = self.run(command.head + rewritten).collect()[0][0]
        parts = ["== Pattern Plan ==", *self.notes]
        for r in self.relations:
            parts.append(explain_plan(r.plan, r.name, r.pruning.lines))
            if command.analyze:
                parts += self.actual(r)
        if command.analyze:
            parts += ["", "== Run ==", run_once(self.run(rewritten))]
        parts += ["", str(spark_plan)]
        return self.spark.createDataFrame([("\n".join(parts),)], "plan string")

    def actual(self, relation: Relation) -> list[str]:
        """What EXPLAIN ANALYZE tells of a form: partitions and rows of its input, behind the index, and put out."""

        def told(frame: DataFrame) -> str:
            partitions, rows = self.counted(relation.plan, frame)
            return f"{partitions:,} partition{'s' * (partitions != 1)}, {rows:,} rows"

        lines = ["  Actual:", f"    input: {told(relation.given)}"]
        if relation.pruning.frame is not None:
            lines.append(f"    read through the index: {told(relation.source)}")
        (rows,) = self.run(f"SELECT count(*) FROM {relation.sql}").collect()[0]
        told_of = [f"    note: {note}" for note in notes(self, relation, has_rows=rows > 0)]
        return [*lines, f"    output: {rows:,} rows", *told_of]

    def counted(self, planned: AnyPlan, frame: DataFrame) -> tuple[int, int]:
        """How many partitions and rows a plan's input has."""
        keys = ", ".join(text for text, _ in planned.input.keys)
        distinct = f"count(DISTINCT struct({keys}))" if keys else "1"
        text = f"{planned.query.with_prefix}SELECT {distinct}, count(*) FROM {{{SOURCE}}}"
        partitions, rows = self.run(text, frame).collect()[0]
        return partitions, rows

    def create_view(self, command: TemporaryView) -> DataFrame:
        frame = self.rewritten(command.query_start)
        if command.columns:
            if len(command.columns) != len(frame.columns):
                raise PatternAnalysisError(
                    "CEP_VIEW_COLUMNS",
                    f"The view names {len(command.columns)} columns; its query has {len(frame.columns)}.",
                )
            frame = frame.toDF(*command.columns)
        if command.if_not_exists and self.spark.catalog.tableExists(command.name):
            pass
        elif command.is_global:
            (frame.createOrReplaceGlobalTempView if command.replace else frame.createGlobalTempView)(command.name)
        else:
            (frame.createOrReplaceTempView if command.replace else frame.createTempView)(command.name)
        return self.spark.createDataFrame([], StructType([]))


def run_once(frame: DataFrame) -> str:
    """Run a query for nothing but its rows and seconds."""
    observed = Observation()
    started = time.perf_counter()
    frame.observe(observed, F.count(F.lit(1)).alias("rows")).write.format("noop").mode("overwrite").save()
    seconds = time.perf_counter() - started
    return f"{observed.get['rows']:,} rows in {seconds:.2f} s"


def _is_native() -> bool:
    """Whether this is a Databricks runtime that has MATCH_RECOGNIZE itself (19.0 and above)."""
    version = os.environ.get("DATABRICKS_RUNTIME_VERSION", "").removeprefix("client.").split(".")[0]
    return version.isdigit() and int(version) >= 19


def _untransportable(planned: AnyPlan, prepared: DataFrame, error: PySparkNotImplementedError) -> PatternAnalysisError:
    """The rows layout sends columns to Python, and Spark cannot send every type."""
    types = {f.name: f.dataType.simpleString() for f in prepared.schema.fields}
    carried = {
        planned.input.fields.texts[g.field]: types[planned.input.fields.name(g.field)]
        for g in planned.input.shape.gathers
    }
    found = [f"{unescape(text)} ({type_})" for text, type_ in carried.items() if "interval" in type_]
    query = planned.query
    return PatternAnalysisError(
        "CEP_UNSUPPORTED_TYPE",
        f"Spark cannot send {', '.join(found) or 'a column of this type'} to Python, as the rows layout needs "
        f"({planned.input.layout_reason}).",
        text=query.text or None,
        position=query.start,
        hint="leave the column out in a subquery, cast it, or partition so that the lists layout serves",
    )
