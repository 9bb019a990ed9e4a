"""One statement on its way through the rooms: forms found, bound, planned, executed, and put back into the text."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from sparkcep.errors import PatternAnalysisError, SparkCepError, streaming_unsupported, warn
from sparkcep.exec.warm import needed
from sparkcep.planner.explain import explain_plan
from sparkcep.planner.plan import AnyPlan
from sparkcep.planner.pruning import PlanAsks
from sparkcep.planner.remarks import remarks
from sparkcep.query import PREFIX, unescape
from sparkcep.session.analyzer import Arguments, SparkAnalyzer, SqlMethod
from sparkcep.session.indexes.choice import Pruning, prune
from sparkcep.session.inputs.correlated import CorrelatedInput
from sparkcep.session.inputs.joined import joined_input, plain_names
from sparkcep.session.inputs.outer_columns import input_by_outer
from sparkcep.session.inputs.window_source import WindowedInput
from sparkcep.session.inputs.windowed import windowed_input
from sparkcep.session.inputs.windows import plan_windows, source_text
from sparkcep.session.inspection.no_rows import notes
from sparkcep.session.machine.ahead import compile_ahead
from sparkcep.session.messages.spark_errors import (
    as_written,
    in_relation,
    is_of_rewritten_text,
    no_relation,
    of_filter,
    outer_reference,
)
from sparkcep.session.narrowing import Narrowing
from sparkcep.session.planning import OccurrencePlanner
from sparkcep.session.relations import Relation, check, counted, name_log_end, relation_sql, with_facts, without_within
from sparkcep.session.shared_forms import PlannedForm, explained, share, takes_part, unread
from sparkcep.session.spark_text import as_spark_reads
from sparkcep.session.statement_settings import statement_settings
from sparkcep.session.streams.stateful import check_readers, second_pattern
from sparkcep.session.templates import Templates
from sparkcep.settings import Settings, getter, read_match_recognize
from sparkcep.spark.exceptions import condition_of
from sparkcep.spark.releases import no_function_analysis
from sparkcep.spark.views import plans_of_views
from sparkcep.sql.commands import Explain, TemporaryView, classify
from sparkcep.sql.function import read_function
from sparkcep.sql.misplaced import misplaced
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.query_place import query_place
from sparkcep.sql.rewriter import InputSql, Rewriter
from sparkcep.sql.statement import (
    RULE_FUNCTIONS,
    RULES_CATALOGUE,
    STREAM_STATE,
    TABLE_CHANGES,
    OccurrenceKind,
    PatternOccurrence,
    Statement,
    formatted,
)
from sparkcep.sql.text_tests import in_plain_sql
from sparkcep.sql.windows.parser import WindowSyntax

if TYPE_CHECKING:
    from sparkcep.session.rules.run import RuleSetResult

T = TypeVar("T")
#: An input of so many bytes is warned of where a condition is not compiled: some minutes instead of some seconds.
SLOW_BYTES = 64 * 2**20
#: What Spark says of an input's size where it knows nothing is at least this.
UNKNOWN_BYTES = 2**50
_names = iter(range(2**62))


def run_statement(
    spark: SparkSession,
    plain: SqlMethod,
    text: str,
    args: Arguments = None,
    kwargs: dict[str, Any] | None = None,
    *,
    explain_only: bool = False,
) -> tuple[DataFrame, StatementExecution | None]:
    """What ``spark.sql`` answers to a statement that may hold patterns.

    Args:
        plain: the session's own sql.
        text, args, kwargs: as for ``spark.sql``.
        explain_only: as EXPLAIN of it would.

    Returns:
        The result, and the statement as it was planned: None where Spark answers the text as it stands.

    Raises:
        SparkCepError: a form that cannot be read, bound or planned.
        pyspark.errors.PySparkException: Spark's own errors, unchanged.
    """
    kwargs = kwargs or {}

    def untouched() -> DataFrame:
        own = in_plain_sql(text, formatted=bool(kwargs))
        return parsed(text, lambda: plain("EXPLAIN " + own if explain_only else own, args, **kwargs))

    get = getter(spark)
    mode = read_match_recognize(get)
    if mode in ("native", "off"):
        return untouched(), None
    read = as_spark_reads(spark, get, text)
    statement = read_statement(read)
    if kwargs:
        statement = formatted(statement)
    if (function := read_function(statement)) is not None and not explain_only:
        if why := no_function_analysis():
            raise PatternAnalysisError(
                "CEP_FUNCTION_RELEASE", f"Pattern functions are not available here: {why}.",
                text=statement.text, position=statement.tokens[0].start,
            )  # fmt: skip
        from sparkcep.session.functions.pattern_functions import create_function  # needs what is asked for above

        return create_function(spark, plain, statement, function, statement_settings(spark, get)), None
    if not (statement.forms or statement.templates):
        return untouched(), None
    settings = statement_settings(spark, get)
    templates = Templates(read)
    statement = templates.expanded(plain, statement, settings, kwargs)
    if mode == "auto" and _is_native() and not templates.steps:
        with contextlib.suppress(ParseException, AnalysisException):
            return untouched(), None

    def execute(settings: Settings) -> tuple[DataFrame, StatementExecution]:
        execution = StatementExecution.of(spark, plain, statement, args, kwargs, settings, explain_only=explain_only)
        execution.notes.extend(templates.notes)
        return execution.result(), execution

    with templates.located():
        try:
            return execute(settings)
        except AnalysisException as error:
            if (missing := no_relation(statement, error, lambda schema: _relations_of(plain, schema))) is not None:
                raise missing from None
            if not is_of_rewritten_text(error):
                raise
            fault = error
            if settings.column_pruning and condition_of(error).startswith("UNRESOLVED_COLUMN"):
                try:  # again with all columns, which Spark is to suggest from
                    return execute(replace(settings, column_pruning=False))
                except AnalysisException as of_all:
                    fault = of_all
            raise (as_written(statement, fault) if is_of_rewritten_text(fault) else fault) from None


@dataclass(frozen=True, slots=True)
class StatementExecution:
    """A statement with patterns on its way through the rooms.

    Args:
        statement: its tokens and forms; rewriter: its text, where subqueries take the forms' places.
        analyzer: asks Spark. planner: plans a form.
        relations: of the forms planned so far. rule_sets: of calls of pattern_rules. renamed: where forms begin whose
            columns have other names outside.
        notes: what EXPLAIN says beside the plans.
        unread: spans of patterns that no other one reads, which may share their input. waiting: those of them
            that wait for later ones. heads: what stands at an offset of the text, once
            they do. streams: where patterns over streams stand.
        narrow: leaves out partitions of patterns' inputs, as an index does, and rules of sets.
    """

    statement: Statement
    rewriter: Rewriter
    analyzer: SparkAnalyzer
    planner: OccurrencePlanner
    explain_only: bool = False
    relations: list[Relation] = field(default_factory=list)
    rule_sets: list[RuleSetResult] = field(default_factory=list)
    renamed: set[int] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    unread: set[tuple[int, int]] = field(default_factory=set)
    waiting: list[PlannedForm] = field(default_factory=list)
    heads: list[tuple[int, str]] = field(default_factory=list)
    streams: list[int] = field(default_factory=list)
    narrow: Narrowing | None = None

    @classmethod
    def of(
        cls,
        spark: SparkSession,
        plain: SqlMethod,
        statement: Statement,
        args: Arguments,
        kwargs: dict[str, Any],
        settings: Settings,
        *,
        explain_only: bool = False,
    ) -> StatementExecution:
        """With what its parts share.

        Raises:
            PatternAnalysisError: CEP_UNBOUND_PARAMETER.
        """
        rewriter = Rewriter(statement, formatted=bool(kwargs), positional=isinstance(args, list))
        if isinstance(args, list):
            _check_parameters(rewriter, args)
            args = {f"{PREFIX}p{i}": v for i, v in enumerate(args)}
        analyzer = SparkAnalyzer(spark, plain, statement.text, args, kwargs, settings)
        return cls(statement, rewriter, analyzer, OccurrencePlanner(analyzer, statement, rewriter), explain_only)

    def result(self) -> DataFrame:
        """The statement's own result."""
        command = Explain("EXPLAIN ", 0) if self.explain_only else classify(self.statement)
        if self.analyzer.settings.shared_input:
            self.unread.update(unread(self.statement, self.rewriter))
        for form in self.statement.forms:
            if form.kind is OccurrenceKind.CALL:
                self.run_call(form)
            elif form.kind is OccurrenceKind.WINDOW:
                self.plan_windows(form)
            else:
                self.plan_form(form)
        self.share_inputs(0 if command is None else command.query_start)
        if isinstance(command, Explain):
            return self.explain(command)
        if isinstance(command, TemporaryView):
            return self.create_view(command)
        return self.rewritten(0)

    # -- one form --------------------------------------------------------------------------------------------------

    def plan_form(self, form: PatternOccurrence) -> None:
        """Plan one pattern and put its relation into the text; inner ones come first."""
        input_sql, source, correlated = self.read(form)
        renamed = joined_input(
            self.rewriter, form, source.columns, lambda text: self.analyzer.run(text).columns,
            case_sensitive=self.analyzer.settings.case_sensitive,
        )  # fmt: skip
        if renamed is not None:
            self.renamed.add(form.start)
            input_sql, source = renamed[0], self.analyzer.analyzed(renamed[0].text)
        planned = self.planned(form, source, input_sql, () if correlated is None else correlated.keys)
        query = planned.query
        if planned.stream is not None:
            self.add_stream(query.start)
        if query.groups:
            self.notes.append(f"{len(query.groups)} groups are partitions, an event is in each group of its case")
        given = self.planner.merged(query, source)
        pruning = (
            Pruning(lines=["not used: a pattern over a stream"])
            if planned.stream is not None
            else Pruning(lines=["not used: the input comes once for each row of the query around"])
            if correlated is not None and correlated.named
            else prune(self.analyzer, PlanAsks(planned), source, input_sql, self.analyzer.settings)
        )
        if self.narrow is not None and planned.stream is None and renamed is None and correlated is None:
            pruning = self.narrow.input(self.analyzer, planned.input, source, input_sql, pruning)
        warnings = remarks(
            planned, self.analyzer.settings.time_zone, lambda: self.analyzer.input_bytes(input_sql, source),
            [f.dataType.simpleString() for f in source.schema.fields],
        )  # fmt: skip
        if self.runs:
            for sentence in (*query.notes, *pruning.warnings, *warnings):
                warn(sentence)
            self.warn_of_slow_conditions(planned, input_sql, source)
        if (
            renamed is None and correlated is None and (form.start, form.end) in self.unread
            and takes_part(self.planner, form, planned, pruning)
        ):  # fmt: skip
            self.waiting.append(PlannedForm(form, planned, input_sql, source, pruning, warnings))
            return
        relation = self.related(planned, source, given, input_sql, pruning, warnings)
        if renamed is not None:
            new = renamed[1]
            sql = self.analyzer.checked(
                query, lambda: plain_names(relation.sql, new, lambda text: self.analyzer.run(text).columns),
                planned.output.place,
            )  # fmt: skip
            relation = replace(relation, sql=sql)
        self.relations.append(relation)
        sql = relation.sql
        if correlated is not None:
            self.notes.append(f"{' and '.join(correlated.conditions)}: tested on the matches of all partitions by it")
            if correlated.named:
                self.notes.append(
                    "the input comes once for each distinct row of what the pattern names of the query around"
                )
            sql = correlated.filtered(sql)
        self.put(form, sql)

    def related(
        self, planned: AnyPlan, source: DataFrame, given: DataFrame, input_sql: InputSql | None, pruning: Pruning,
        warnings: tuple[str, ...],
    ) -> Relation:  # fmt: skip
        """A plan as a relation. ``source``: its input as it was read, ``given``: with its groups; ``warnings``: of
        the query itself."""
        name = f"{PREFIX}relation_{next(_names)}"
        query = planned.query
        source = given if pruning.frame is None else self.planner.merged(query, pruning.frame)
        self.compile_ahead(planned)
        name_log_end(self.analyzer, query, given)
        sql = relation_sql(self.analyzer, name, planned, source, input_sql if pruning.frame is None else None)
        if (facts := planned.engine.facts) is not None:
            sql = with_facts(self.analyzer, name, planned, facts, given, sql)
        return Relation(name, planned, source, sql, given, pruning, warnings)

    def share_inputs(self, start: int) -> None:
        """Put the patterns into the text that waited for others over the same input.

        Args:
            start: where the query begins that reads them.
        """
        waiting = self.waiting
        place = query_place(self.statement, start) if len(waiting) > 1 else None
        names = (f"{PREFIX}shared_{next(_names)}" for _ in waiting)
        found = share(self.planner, waiting if place is not None else [], names)
        if found.plans and place is not None:
            self.heads.append((place.offset, place.text(", ".join(found.definitions))))
        called = {}
        for planned in waiting:
            at = planned.form.start
            relation = found.relations.get(at)
            if relation is None:
                relation = self.related(
                    planned.plan, planned.source, planned.source, planned.input_sql, planned.pruning, planned.warnings
                )  # fmt: skip
            else:
                self.compile_ahead(relation.plan)
            called[at] = f"Pattern relation {relation.name}".replace(PREFIX, "_")
            self.relations.append(relation)
            self.put(planned.form, found.texts.get(at, relation.sql))
        self.notes.extend(explained(found, called))
        if waiting:
            self.relations.sort(key=lambda relation: relation.plan.query.start)

    @property
    def runs(self) -> bool:
        """Whether the statement is more than an EXPLAIN."""
        return not self.explain_only and not isinstance(classify(self.statement), Explain)

    def compile_ahead(self, planned: AnyPlan) -> None:
        """Have the kernels of a plan compiled while Spark goes on."""
        if not self.explain_only and planned.fold is None:
            compile_ahead(self.analyzer.spark, needed(planned.engine.spec, planned.input.shape))

    def warn_of_slow_conditions(self, planned: AnyPlan, input_sql: InputSql, source: DataFrame) -> None:
        """Warn where conditions of a large input are not compiled."""
        why = planned.engine.slow_because
        if why and planned.stream is None:
            size = self.analyzer.input_bytes(input_sql, source)
            if SLOW_BYTES <= size < UNKNOWN_BYTES:
                warn(f"Conditions on about {size / 2**20:,.0f} MiB of events are evaluated {why}; see EXPLAIN.")

    def plan_windows(self, form: PatternOccurrence) -> None:
        """Plan the windows with patterns of a SELECT; its source becomes their relation, calls become columns of it."""
        assert form.windowed is not None
        names = [f"{PREFIX}relation_{next(_names)}" for _ in form.windowed.patterns]
        windows = plan_windows(self.planner, form, lambda windowed: self.read_windowed(form, windowed), names)
        self.notes.extend(windows.input.notes)
        for relation in windows.relations:
            self.relations.append(relation)
            if self.runs:
                self.warn_of_slow_conditions(relation.plan, windows.input.text, relation.source)
            self.compile_ahead(relation.plan)
        text = source_text(self.planner, form, windows)
        windows.edits.apply()
        self.put(form, text)

    def planned(
        self, form: PatternOccurrence, source: DataFrame, input_sql: InputSql, outer_keys: Sequence[str]
    ) -> AnyPlan:
        """The form's plan; see :meth:`OccurrencePlanner.planned`."""
        return self.planner.planned(
            form, source, input_sql, alone=not self.relations, renamed=form.start in self.renamed, outer_keys=outer_keys
        )

    def put(self, form: PatternOccurrence, sql: str) -> None:
        """Put a subquery in a form's place; a block that opens a statement is a query of its own."""
        opens = form.kind is OccurrenceKind.BLOCK and self.statement.text[form.start : form.start + 4].upper() == "FROM"
        self.rewriter.replace(form, f"SELECT * FROM {sql}" if opens else sql)

    def run_call(self, form: PatternOccurrence) -> None:
        """Put the rows of a table function in its place."""

        def evaluate(start: int, end: int) -> Any:
            return self.analyzer.run(f"SELECT {self.rewriter.render(start, end)}").collect()[0][0]

        if form.keyword.upper in RULE_FUNCTIONS:
            self.run_rule_set(form, evaluate)
            return
        if form.keyword.upper == RULES_CATALOGUE:
            from sparkcep.session.rules.catalogue import run_catalogue

            frame = run_catalogue(self.analyzer, self.rewriter, self.statement, form, evaluate)
        else:
            from sparkcep.session.functions.call_arguments import CallArguments

            if form.keyword.upper == TABLE_CHANGES:
                from sparkcep.session.tables.feed import run_table_function
            elif form.keyword.upper == STREAM_STATE:
                from sparkcep.session.streams.state import run_table_function
            else:
                from sparkcep.session.indexes.functions import run_table_function
            frame, how = run_table_function(CallArguments(self.analyzer.spark, self.statement, form, evaluate))
            self.notes.append(how)
        name = f"{PREFIX}relation_{next(_names)}"
        self.analyzer.matched[name] = frame
        self.rewriter.replace(form, f"(SELECT * FROM {{{name}}})")

    def run_rule_set(self, form: PatternOccurrence, evaluate: Callable[[int, int], Any]) -> None:
        """Put the matches of a rule set, or its report, in the place of the call."""
        from sparkcep.session.rules.functions import run_rule_set

        analyzer = self.analyzer

        def matched(text: str, rows: DataFrame) -> DataFrame:
            return run_statement(analyzer.spark, analyzer.plain, text, None, {"rows": rows})[0]

        found = self.blamed(
            lambda: run_rule_set(analyzer, self.rewriter, self.statement, form, evaluate, matched, self.narrow)
        )
        if self.runs and form.keyword.upper != "PATTERN_RULE_ERRORS":
            found.set.warn()
            for relation in found.relations:
                self.compile_ahead(relation.plan)
            for shared in found.passes:
                compile_ahead(self.analyzer.spark, needed(shared.plan.spec, shared.plan.input.shape))
        if any(shared.plan.stream is not None for shared in found.passes):
            self.add_stream(form.start)
        self.rule_sets.append(found)
        self.relations.extend(found.relations)
        self.notes.extend(found.notes)
        self.rewriter.replace(form, f"({found.sql})")

    def read(self, form: PatternOccurrence) -> tuple[InputSql, DataFrame, CorrelatedInput | None]:
        """See :meth:`input`; errors come with their place."""
        return parsed(self.statement.text, lambda: self.blamed(lambda: self.input(form)))

    def read_windowed(self, form: PatternOccurrence, windows: Mapping[int, WindowSyntax]) -> WindowedInput:
        """What windows of a SELECT read, by the parentheses that open them; errors come with their place."""
        if form.windowed is not None and form.windowed.is_plain:
            return WindowedInput(*self.read(form)[:2])
        text = self.statement.text
        return parsed(text, lambda: self.blamed(lambda: windowed_input(self.planner, form, windows)))

    def input(self, form: PatternOccurrence) -> tuple[InputSql, DataFrame, CorrelatedInput | None]:
        """A form's input relation, analysed: the query that reads it, and how it depends on the query around it."""
        found = input_by_outer(self.analyzer, self.rewriter, form)
        if found is None:
            input_sql = self.rewriter.input_sql(form)
            table = input_sql.plain_table
            try:
                frame = self.analyzer.spark.table(table) if table else self.analyzer.run(input_sql.text)
                _ = frame.schema
                return input_sql, frame, None
            except AnalysisException as error:
                if condition_of(error).startswith("UNRESOLVED_COLUMN"):
                    found = input_by_outer(self.analyzer, self.rewriter, form, unresolved=error)
                if found is None:
                    of_outer = outer_reference(self.statement, form, error)
                    of_input = self.filter_error(form, error, input_sql) or in_relation(
                        self.statement, form, error, unescape(input_sql.text)
                    )
                    raise of_outer or of_input or error from None
        return found.text, found.frame, found

    def filter_error(
        self, form: PatternOccurrence, error: AnalysisException, input_sql: InputSql
    ) -> SparkCepError | None:
        """The error of a WHERE before PATTERN; None where the input itself is at fault."""
        if form.where is None or condition_of(error) == "TABLE_OR_VIEW_NOT_FOUND":
            return None
        try:
            columns = self.analyzer.run(self.rewriter.input_sql(replace(form, where=None)).text).columns
        except AnalysisException:
            return None
        return of_filter(self.statement, form, error, unescape(input_sql.text), columns)

    def blamed(self, action: Callable[[], T]) -> T:
        """Run what reads the relations made so far; what a form is to blame for comes back with its place."""
        try:
            return action()
        except SparkCepError:
            raise
        except AnalysisException:
            for relation in self.relations:
                check(self.analyzer, relation)
            raise

    def add_stream(self, position: int) -> None:
        """Note what runs as a stateful operator of Spark, at its place in the text.

        Raises:
            PatternAnalysisError: CEP_STREAMING_UNSUPPORTED, Spark would refuse a second one when the query is started.
        """
        self.streams.append(position)
        if len(self.streams) > 1 and self.analyzer.settings.stream_operator == "state":
            raise second_pattern(self.statement.text, position)

    def rewritten(self, start: int) -> DataFrame:
        """The user's statement from an offset on, with subqueries in the place of its forms."""
        text = self.text_from(start)
        frame = parsed(self.statement.text, lambda: self.blamed(lambda: self.analyzer.analyzed(text)))
        if self.streams and any(t.upper == "WITH" for t in self.statement.tokens):
            plans = self.analyzer.run(f"EXPLAIN EXTENDED {text}").collect()[0][0]
            check_readers(plans, self.statement.text, self.streams[0])
        return frame

    def text_from(self, start: int) -> str:
        """The user's text from an offset on, with subqueries in the place of its forms, for Spark's formatted sql."""
        parts = []
        for offset, head in self.heads:
            parts += [self.rewriter.render(start, offset), head]
            start = offset
        return "".join([*parts, self.rewriter.render(start, len(self.statement.text))])

    # -- results ---------------------------------------------------------------------------------------------------

    def explain(self, command: Explain) -> DataFrame:
        """One row with the plan of each pattern and Spark's own; ANALYZE runs the query once and adds row counts."""
        streams = [r.plan.stream for r in self.relations]
        streams += [shared.plan.stream for found in self.rule_sets for shared in found.passes]
        if command.analyze and any(stream is not None for stream in streams):
            raise streaming_unsupported("EXPLAIN ANALYZE", self.statement.text, command.query_start)
        for relation in self.relations:
            check(self.analyzer, relation)
        rewritten = self.text_from(command.query_start)
        spark_plan = self.analyzer.run(command.head + rewritten).collect()[0][0]
        parts = ["== Pattern Plan ==", *self.notes]
        for r in self.relations:
            parts.append(explain_plan(r.plan, r.name, r.pruning.lines, r.warnings, shared=r.shared))
            if command.analyze:
                parts += self.actual(r)
        if command.analyze:
            rows, took = timed(self.analyzer.run(rewritten))
            parts += ["", "== Run ==", f"{rows:,} rows in {took}"]
            if self.rule_sets:
                from sparkcep.session.rules.costs import cost_lines

                parts += [line for found in self.rule_sets if found.passes for line in cost_lines(found.set)]
        parts += ["", str(spark_plan)]
        return self.analyzer.spark.createDataFrame([("\n".join(parts),)], "plan string")

    def actual(self, relation: Relation) -> list[str]:
        """What EXPLAIN ANALYZE says of a pattern: partitions and rows of its input, behind the index, and emitted."""

        def size(frame: DataFrame) -> str:
            partitions, rows = counted(self.analyzer, relation.plan, frame)
            return f"{partitions:,} partition{'s' * (partitions != 1)}, {rows:,} rows"

        lines = ["  Actual:", f"    input: {size(relation.given)}"]
        if unbounded := without_within(self.analyzer, relation.plan, relation.given):
            lines.append(f"    WITHIN is NULL in {unbounded:,} rows, where no match starts")
        if relation.pruning.frame is not None:
            lines.append(f"    read through the index: {size(relation.source)}")
        # Counted before anything is timed, which neither compiles kernels nor reads cold files then.
        (rows,) = self.analyzer.run(f"SELECT count(*) FROM {relation.sql}").collect()[0]
        lines.append(f"    output: {rows:,} rows")
        if relation.pruning.frame is not None:
            through, without = self.seconds(relation), self.seconds(self.unpruned(relation))
            lines.append(f"    took {through}, without the index {without}")
        return [*lines, *(f"    note: {note}" for note in notes(self.analyzer, relation, has_rows=rows > 0))]

    def seconds(self, relation: Relation) -> str:
        """How long a relation's rows take."""
        return timed(self.analyzer.run(f"SELECT * FROM {relation.sql}"))[1]

    def unpruned(self, relation: Relation) -> Relation:
        """A relation that reads all of its input."""
        return self.related(relation.plan, relation.given, relation.given, None, Pruning(), ())

    def create_view(self, command: TemporaryView) -> DataFrame:
        """CREATE TEMPORARY VIEW, by Spark; the view has the rewritten query's plan, not its text or rows."""
        name, frame = f"{PREFIX}view", self.rewritten(command.query_start)
        head = self.rewriter.render(0, command.query_start)
        self.analyzer.matched[name] = frame
        with plans_of_views(self.analyzer.spark) as are_stored:
            if not are_stored:  # the view reads another one, which holds the plan
                name = f"{PREFIX}view_{next(_names)}"
                frame.createOrReplaceTempView(name)
                return self.analyzer.run(f"{head} SELECT * FROM {name}")
            return self.analyzer.run(f"{head} SELECT * FROM {{{name}}}")


def parsed(text: str, action: Callable[[], T]) -> T:
    """Run what has Spark parse a statement; of a pattern in the wrong place Spark knows nothing to say."""
    try:
        return action()
    except SparkCepError:
        raise
    except ParseException as error:
        raise said_of_parsing(text, error) from None


def said_of_parsing(text: str, error: ParseException) -> Exception:
    """The error of a statement that Spark cannot parse: Spark's, or that of a pattern in the wrong place."""
    return misplaced(read_statement(text)) or error


def _relations_of(plain: SqlMethod, schema: str) -> list[str]:
    """Names of tables and views of a schema, or for no name of the current one; none where Spark does not tell."""
    with contextlib.suppress(PySparkException):
        return [row["tableName"] for row in plain(f"SHOW TABLES IN {schema}" if schema else "SHOW TABLES").collect()]
    return []


def _check_parameters(rewriter: Rewriter, args: Sequence[Any]) -> None:
    if rewriter.parameters > len(args):
        raise PatternAnalysisError(
            "CEP_UNBOUND_PARAMETER",
            f"The statement has {rewriter.parameters} positional parameters; {len(args)} values are given.",
            hint="a `?` inside PATTERN is a quantifier, all others are parameters",
        )


def timed(frame: DataFrame) -> tuple[int, str]:
    """Run a query for nothing but its number of rows and its seconds."""
    observed = Observation()
    started = time.perf_counter()
    frame.observe(observed, F.count(F.lit(1)).alias("rows")).write.format("noop").mode("overwrite").save()
    return observed.get["rows"], f"{time.perf_counter() - started:.2f} s"


def _is_native() -> bool:
    """Whether this is a Databricks runtime that has MATCH_RECOGNIZE itself (19.0 and above)."""
    version = os.environ.get("DATABRICKS_RUNTIME_VERSION", "").removeprefix("client.").split(".")[0]
    return version.isdigit() and int(version) >= 19
