"""One statement on its way through the rooms: forms found, bound, planned, executed, and put back into the text."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from pyspark.errors import AnalysisException, ParseException, PySparkNotImplementedError
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from sparkcep import settings
from sparkcep.block import BlockQuery
from sparkcep.errors import PatternAnalysisError, SparkCepError
from sparkcep.exec.operator import match
from sparkcep.functions import create_function
from sparkcep.planner.block_clause import block_clause, block_of
from sparkcep.planner.explain import explain_plan
from sparkcep.planner.fields import Fields, quote
from sparkcep.planner.gap_sequence import gap_sequence_plan
from sparkcep.planner.groups import merge_groups
from sparkcep.planner.non_answers import NonAnswersPlan, plan_non_answers
from sparkcep.planner.non_answers_sql import FACTS
from sparkcep.planner.plan import PatternPlan, plan
from sparkcep.planner.run_plan import BlockPlan, plan_block, plan_clause_runs
from sparkcep.planner.sampling import Sample, estimated_bytes, sample_sql
from sparkcep.planner.trends import plan_trends
from sparkcep.planner.uncertain_plan import plan_uncertain
from sparkcep.pruned import Pruning, prune
from sparkcep.query import PREFIX, SOURCE, WHOLE, PatternQuery, Selection, unescape
from sparkcep.relations import log_properties
from sparkcep.settings import Settings
from sparkcep.sql.binder import bind
from sparkcep.sql.block_binder import bind_block
from sparkcep.sql.clause import parse_clause
from sparkcep.sql.commands import Explain, TemporaryView, classify
from sparkcep.sql.function import read_function
from sparkcep.sql.outer import partition_predicate, plain_limit, wanted_names, wants_repairs_only
from sparkcep.sql.rewriter import Rewriter
from sparkcep.sql.statements import Form, FormKind, Statement, read_statement

T = TypeVar("T")
SqlMethod = Callable[..., DataFrame]
Arguments = dict[str, Any] | list[Any] | None

_names = iter(range(2**62))
#: Answers of samples; an old one may cost time, never an answer.
_samples: dict[tuple[object, ...], Sample | None] = {}
#: Plans of forms by all that they were made from (:meth:`Run.planned`).
_plans: dict[tuple[object, ...], PatternPlan] = {}
_MOST_KEPT = 1000
_TABLE = re.compile(r"SELECT \* FROM ([^\W\d]\w*(?:\.[^\W\d]\w*)*)")


@dataclass(frozen=True, slots=True)
class Relation:
    """A planned form: ``sql`` is the subquery that takes its place in the statement, ``source`` what it reads,
    ``pruning`` how that has become of ``given``, its input."""

    name: str
    plan: PatternPlan
    source: DataFrame
    sql: str
    given: DataFrame
    pruning: Pruning = field(default_factory=Pruning)


@dataclass(slots=True)
class Run:
    """One statement on its way through the rooms."""

    spark: SparkSession
    plain: SqlMethod
    text: str
    args: Arguments
    kwargs: dict[str, Any]
    explain_only: bool = False
    statement: Statement = field(init=False)
    rewriter: Rewriter = field(init=False)
    matched: dict[str, DataFrame] = field(default_factory=dict)
    relations: list[Relation] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    settings: Settings = field(init=False)
    asked: int = 0

    def result(self) -> DataFrame:
        get = settings.getter(self.spark)
        mode = settings.read_match_recognize(get)
        if mode in ("native", "off"):
            return self.untouched()
        self.statement = read_statement(self.text)
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
            if form.kind is FormKind.CALL:
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
        return self.plain("EXPLAIN " + self.text if self.explain_only else self.text, self.args, **self.kwargs)

    def check_parameters(self, args: Sequence[Any]) -> None:
        if self.rewriter.parameters > len(args):
            raise PatternAnalysisError(
                "CEP_UNBOUND_PARAMETER",
                f"The statement has {self.rewriter.parameters} positional parameters; {len(args)} values are given.",
                hint="a `?` inside PATTERN is a quantifier, all others are parameters",
            )

    def run(self, text: str, source: DataFrame | None = None) -> DataFrame:
        """Spark's own sql on formatted text that may name ``source`` and the operators' results so far."""
        values = {**self.kwargs, **self.matched}
        if source is not None:
            values[SOURCE] = source
        # Without keyword arguments Spark does not format the text, and doubled braces would stay doubled.
        return self.plain(text if values else unescape(text), self.args, **values)

    # -- one form --------------------------------------------------------------------------------------------------

    def plan_form(self, form: Form) -> None:
        input_sql = self.rewriter.input_sql(form)
        source = self.blamed(lambda: self.input(input_sql))
        planned = self.planned(form, source, input_sql)
        name = f"{PREFIX}relation_{next(_names)}"
        if isinstance(planned, BlockPlan) and planned.block.groups:
            source = self.merged(planned.block, source)
            self.notes.append(
                f"{len(planned.block.groups)} groups are partitions, an event is in each group of its case"
            )
            pruning = Pruning(lines=["not used, matches of a group need not be in one case"])
        else:
            pruning = prune(self.spark, planned, source, input_sql, self.settings)
        given = source
        if pruning.frame is not None:
            source, input_sql = pruning.frame, ""
        sql = self.relation_sql(name, planned, source, input_sql)
        if isinstance(planned, NonAnswersPlan):
            sql = self.with_facts(name, planned, given, sql)
        relation = Relation(name, planned, source, sql, given, pruning)
        self.relations.append(relation)
        self.put(form, relation.sql)

    def put(self, form: Form, sql: str) -> None:
        """Put a subquery in a form's place; a block that opens a statement is a query of its own."""
        opens = form.kind is FormKind.BLOCK and self.statement.text[form.start : form.start + 4].upper() == "FROM"
        self.rewriter.replace(form, f"SELECT * FROM {sql}" if opens else sql)

    def run_call(self, form: Form) -> None:
        """Put the rows of a table function in its place."""
        from sparkcep.index_functions import run_table_function

        def evaluate(start: int, end: int) -> Any:
            return self.run(f"SELECT {self.rewriter.render(start, end)}").collect()[0][0]

        frame, how = run_table_function(self.spark, self.statement, form, evaluate)
        name = f"{PREFIX}relation_{next(_names)}"
        self.matched[name] = frame
        self.notes.append(how)
        self.rewriter.replace(form, f"(SELECT * FROM {{{name}}})")

    def input(self, input_sql: str) -> DataFrame:
        """A form's input relation, analysed."""
        table = _TABLE.fullmatch(input_sql)
        frame = self.spark.table(table[1]) if table else self.run(input_sql)
        _ = frame.schema
        return frame

    def planned(self, form: Form, source: DataFrame, input_sql: str) -> PatternPlan:
        """The form's plan. One that was made without Spark's help is kept: the statement's text, the settings, the
        input's columns and what its properties name say all of it."""
        columns = tuple((f.name, f.dataType.simpleString()) for f in source.schema.fields)
        properties = log_properties(source) if form.kind is FormKind.BLOCK else None
        roles = None if properties is None else tuple(sorted(properties.items()))
        made_from = (self.text, form.start, input_sql, columns, self.settings, roles)
        # Arguments may be anything, and what stands for an earlier form may be inside this one.
        may_keep = not (self.kwargs or self.args or self.relations)
        if may_keep and made_from in _plans:
            return _plans[made_from]
        asked = self.asked
        is_block = form.kind is FormKind.BLOCK
        planned = self.plan_block(form, source) if is_block else self.plan_clause(form, source, input_sql)
        return _keep(_plans, made_from, planned) if may_keep and self.asked == asked else planned

    def plan_clause(self, form: Form, source: DataFrame, input_sql: str) -> PatternPlan:
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
        if self.settings.column_pruning and not self.kwargs:
            query = replace(query, wanted=wanted_names(self.statement, form))
        if self.settings.key_predicates and not self.kwargs:
            query = replace(query, partition_predicate=self.partition_predicate(query, form))
        if query.non_answers is not None:
            asked = replace(query.non_answers, repairs_only=wants_repairs_only(self.statement, form))
            query = replace(query, non_answers=asked)
            return plan_non_answers(
                block_of(query), self.settings, lambda items: self.analyze(query, source, items),
                [f.dataType.simpleString() for f in source.schema.fields], query,
            )  # fmt: skip
        make = plan if query.selection is Selection.STRICT else plan_clause_runs
        return make(
            query, self.settings, lambda items: self.analyze(query, source, items),
            lambda tests, keys: self.sample(query, source, input_sql, tests, keys),
            [f.dataType.simpleString() for f in source.schema.fields],
        )  # fmt: skip

    def plan_block(self, form: Form, source: DataFrame) -> PatternPlan:
        block = self.bound_block(form, source)
        source = self.merged(block, source)
        if self.settings.column_pruning and not self.kwargs:
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
        return simple or self.plan_bound(replace(block, limit=plain_limit(self.statement, form)), source, plan_block)

    def bound_block(self, form: Form, source: DataFrame) -> BlockQuery:
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

    def plan_bound(self, block: BlockQuery, source: DataFrame, make: Callable[..., T]) -> T:
        """A bound block's plan by ``plan_block``, or by what takes the same arguments."""
        query = block_clause(block)
        return make(
            block, self.settings, lambda items: self.analyze(query, source, items), lambda tests, keys: None,
            [f.dataType.simpleString() for f in source.schema.fields],
        )  # fmt: skip

    def table_properties(self, relation: str, source: DataFrame) -> Mapping[str, str]:
        """Properties of the table that a relation's text names; none where it names none."""
        if not re.fullmatch(r"(\w+|`[^`]+`)(\s*\.\s*(\w+|`[^`]+`)){0,2}", relation.strip()):
            return {}
        known = log_properties(source)
        if known is not None:
            return known
        self.asked += 1  # what they say may change
        try:
            rows = self.plain(f"SHOW TBLPROPERTIES {relation}").collect()
        except AnalysisException:
            return {}
        return {row[0]: row[1] for row in rows}

    def partition_predicate(self, query: PatternQuery, form: Form) -> str:
        fields = Fields(query.columns, self.settings.case_sensitive)
        keys = {fields.column_of(k.expression) for k in query.partition_by}

        def key_of(name: str) -> str | None:
            column = fields.column_of(quote(name))
            return unescape(quote(column)) if column in keys and column else None

        return partition_predicate(self.statement, form, key_of)

    def analyze(self, query: PatternQuery, source: DataFrame, items: Sequence[str]) -> list[tuple[str, str]]:
        """Names and types of expressions over the input: columns have those they have, others by Spark's analyser."""
        fields = Fields(query.columns, self.settings.case_sensitive)
        columns = [fields.column_of(item) for item in items]
        folded = [n.casefold() for n in query.columns]
        if all(c is not None and folded.count(c.casefold()) == 1 for c in columns):
            types = {f.name: f.dataType.simpleString() for f in source.schema.fields}
            return [(str(c), types[str(c)]) for c in columns]
        self.asked += 1
        select = f"{query.with_prefix}SELECT {', '.join(items)} FROM {{{SOURCE}}}"
        if any(WHOLE in item for item in items):
            select += f" WINDOW {WHOLE} AS (PARTITION BY 1)"
        schema = self.checked(query, lambda: self.run(select, source=source).schema)
        return [(f.name, f.dataType.simpleString()) for f in schema.fields]

    def sample(
        self, query: PatternQuery, source: DataFrame, input_sql: str, tests: Sequence[str], keys: Sequence[str]
    ) -> Sample | None:
        """The first rows of an input that Spark takes for large; asked once per session, input and question."""
        self.asked += 1
        question = (id(self.spark), self.settings.sampling_bytes, input_sql, tuple(tests), tuple(keys))
        if question in _samples:
            return _samples[question]
        costs = str(self.run(f"EXPLAIN COST {input_sql}").collect()[0][0])
        found = None
        if estimated_bytes(costs) >= self.settings.sampling_bytes:
            text = query.with_prefix + sample_sql(tests, keys, f"{{{SOURCE}}}")
            rows, partitions, *passing = self.checked(query, lambda: self.run(text, source).collect()[0])
            found = Sample(rows, partitions, tuple(passing))
        return _keep(_samples, question, found)

    def relation_sql(self, name: str, planned: PatternPlan, source: DataFrame, input_sql: str) -> str:
        """The subquery that takes the form's place. Spark analyses it once, as a part of the user's statement.

        Args:
            input_sql: the query that reads ``source``, empty where there is none.
        """
        if planned.layout == "fold":
            table = _TABLE.fullmatch(input_sql)
            text = table[1] if table else f"({input_sql})"
            if not input_sql:  # a DataFrame
                self.matched[name], text = source, f"{{{name}}}"
            return f"({planned.folded().replace(f'{{{SOURCE}}}', text)})"
        frame = self.prepared(planned, source)
        try:
            self.matched[name] = match(frame, planned.layout, planned.shape, planned.spec)
        except PySparkNotImplementedError as error:
            raise _untransportable(planned, frame, error) from None
        return f"({planned.measures.sql().replace(f'{{{SOURCE}}}', f'{{{name}}}')})"

    def with_facts(self, name: str, planned: NonAnswersPlan, given: DataFrame, sql: str) -> str:
        """What the log says of a query comes from all partitions, whatever an index leaves of them."""
        if f"{{{FACTS}}}" not in sql:
            return sql
        facts = replace(planned.repair_spec, only_facts=True)
        self.matched[name + "_facts"] = match(self.prepared(planned, given), planned.layout, planned.shape, facts)
        return sql.replace(f"{{{FACTS}}}", f"{{{name}_facts}}")

    def prepared(self, planned: PatternPlan, source: DataFrame) -> DataFrame:
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
        self.checked(relation.plan.query, lambda: self.analyzed(f"SELECT * FROM {relation.sql}"))

    def rewritten(self, start: int) -> DataFrame:
        """The user's statement from an offset on, with subqueries in the place of its forms."""
        text = self.rewriter.render(start, len(self.text))
        return self.blamed(lambda: self.analyzed(text))

    def diagnosed(self, planned: PatternPlan, source: DataFrame, error: AnalysisException) -> PatternAnalysisError:
        """Which condition Spark refuses, and why; the whole statement's error where it is none of them."""
        query = planned.query
        for condition, statement in planned.condition_texts():
            try:
                type_ = self.analyzed(statement, source).schema[0].dataType.simpleString()
            except AnalysisException as own:
                return _located(query, own, condition.position)
            if type_ != "boolean":
                return PatternAnalysisError(
                    "CEP_CONDITION_TYPE",
                    f"A condition must be boolean; this one is {type_}.",
                    text=query.text or None,
                    position=condition.position,
                )
        return _located(query, error)

    def analyzed(self, statement: str, source: DataFrame | None = None) -> DataFrame:
        frame = self.run(statement, source=source)
        if type(frame).__module__.startswith("pyspark.sql.connect."):
            _ = frame.schema  # Connect analyses lazily; errors belong here, where the clause is known
        return frame

    def checked(self, query: PatternQuery, action: Callable[[], T]) -> T:
        """Run an analysis; Spark's complaint comes back with the place of the clause in the user's text."""
        try:
            return action()
        except SparkCepError:
            raise
        except AnalysisException as error:
            raise _located(query, error) from None

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
        return [*lines, f"    output: {rows:,} rows"]

    def counted(self, planned: PatternPlan, frame: DataFrame) -> tuple[int, int]:
        """How many partitions and rows a plan's input has."""
        keys = ", ".join(text for text, _ in planned.keys)
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


def _keep(kept: dict[tuple[object, ...], T], key: tuple[object, ...], value: T) -> T:
    if len(kept) >= _MOST_KEPT:
        kept.clear()
    kept[key] = value
    return value


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


def _untransportable(
    planned: PatternPlan, prepared: DataFrame, error: PySparkNotImplementedError
) -> PatternAnalysisError:
    """The rows layout sends columns to Python, and Spark cannot send every type."""
    types = {f.name: f.dataType.simpleString() for f in prepared.schema.fields}
    carried = {planned.fields.texts[g.field]: types[planned.fields.name(g.field)] for g in planned.shape.gathers}
    found = [f"{unescape(text)} ({type_})" for text, type_ in carried.items() if "interval" in type_]
    query = planned.query
    return PatternAnalysisError(
        "CEP_UNSUPPORTED_TYPE",
        f"Spark cannot send {', '.join(found) or 'a column of this type'} to Python, as the rows layout needs "
        f"({planned.layout_reason}).",
        text=query.text or None,
        position=query.start,
        hint="leave the column out in a subquery, cast it, or partition so that the lists layout serves",
    )


def _located(query: PatternQuery, error: AnalysisException, start: int | None = None) -> PatternAnalysisError:
    """Spark's analysis error with a place in the user's statement, found by the name it complains of."""
    message = (error.getMessage() or str(error)).strip()
    # Places and SQL states belong to the statement that Spark saw, not to the user's.
    message = re.split(r"\n== SQL|; line \d| SQLSTATE:", message)[0].replace(PREFIX, "").strip()
    condition = error.getCondition() or "CEP_ANALYSIS"
    start = query.start if start is None else start
    if condition.startswith(("MISSING_GROUP_BY", "MISSING_AGGREGATION", "GROUP_BY")):
        return PatternAnalysisError(
            "CEP_UNSUPPORTED_AGGREGATE",
            "MEASURES or DEFINE uses an aggregate function that cannot run over the rows of a match.",
            text=query.text or None,
            position=start,
            hint="FIRST and LAST give first and last values; array_agg collects rows for any other function",
        )
    position = start
    parameters = error.getMessageParameters() or {}
    name = (parameters.get("objectName") or parameters.get("routineName") or "").replace("`", "").split(".")[-1]
    if name and query.text:
        found = query.text.casefold().find(name.casefold(), start)
        position = found if found >= 0 else start
    if message.startswith(f"[{condition}] "):
        message = message[len(condition) + 3 :]
    return PatternAnalysisError(condition, message, text=query.text or None, position=position)
