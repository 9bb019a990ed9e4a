"""The rows that a pattern table's query gives now: of all cases, or of those alone whose rows can be others now."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StructType

from sparkcep.errors import PatternAnalysisError, streaming_unsupported
from sparkcep.index import sources
from sparkcep.planner.censored import log_end_sql, names_columns
from sparkcep.planner.plan import AnyPlan
from sparkcep.query import PREFIX, SOURCE, PatternQuery, key_column, quote, string_literal
from sparkcep.session.analyzer import SparkAnalyzer, SqlMethod
from sparkcep.session.indexes.choice import COMPARED_CASES, Pruning
from sparkcep.session.relations import Relation
from sparkcep.session.spark_text import as_spark_reads
from sparkcep.session.statement import Narrow, StatementExecution
from sparkcep.session.statement_settings import statement_settings
from sparkcep.session.tables.changes import (
    Changed,
    changed_cases,
    distinct_keys,
    functions_of_users,
    source_state,
)
from sparkcep.session.tables.identity import case_of, identified
from sparkcep.session.tables.naming import with_tables
from sparkcep.session.tables.storage import CASE, CHANGE, OWN_COLUMNS, Version
from sparkcep.session.templates import Templates
from sparkcep.settings import Settings, getter
from sparkcep.spark.plan import analysed, plan_texts, shows_plans
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.rewriter import InputSql
from sparkcep.sql.statement import Statement
from sparkcep.sql.table_query import TableQuery, changing_function, read_table_query

#: Types whose values are the same case exactly where their JSON is the same.
_CASE_TYPES = re.compile(
    r"string|boolean|tinyint|smallint|int|bigint|decimal\(.*\)|date|timestamp|timestamp_ntz|binary"
)
#: So many cases are listed in a filter, or sent to all executors.
LISTED_CASES = 20_000
BROADCAST_CASES = 1_000_000
#: Types that Delta tables do not have.
_NOT_STORED = ("interval", "void", "time(")
#: A key's column behind the query's own.
_KEY = PREFIX + "case_of_row_"
#: Lines of a plan that only give a relation a name.
_NAMES = ("SubqueryAlias", "View (", "WithCTE", "CTERelation")
#: Tells cases changed from the rest of a statement's relations.
_CHANGED = PREFIX + "changed"


@dataclass(slots=True)
class Matching:
    """One run of the query.

    ``frame``: the query's columns, then CASE, MATCH_ID and ROW. ``columns``: of the query alone. ``keys``, ``whole``:
    as of :class:`Definition`. ``cases``: a row for each case that is matched again, with its keys, in memory until
    :meth:`release`; None: all are. ``count``: how many. ``state``, ``plan``, ``meaning``, ``log_end``: as of
    :class:`Version`.
    ``nothing``: whether the log is as it was.
    """

    frame: DataFrame | None = None
    columns: StructType = field(default_factory=StructType)
    keys: tuple[str, ...] | None = None
    whole: str = ""
    cases: DataFrame | None = None
    state: Mapping[str, Any] = field(default_factory=lambda: sources.UNKNOWN)
    plan: str = ""
    meaning: str = ""
    log_end: str = ""
    reason: str = ""
    nothing: bool = False
    count: int = -1

    def of_cases(self, rows: DataFrame) -> DataFrame:
        """Those of a table's rows that are of the cases that are matched again."""
        if self.cases is None:
            return rows
        own = self.cases.select(case_of([F.col(name) for name in self.cases.columns]).alias(CASE))
        return rows.join(F.broadcast(own) if self.count <= BROADCAST_CASES else own, CASE, "left_semi")

    def release(self) -> None:
        """Forget which cases are matched."""
        if self.cases is not None:
            self.cases.unpersist()
        self.cases, self.count = None, -1


def matched(spark: SparkSession, plain: SqlMethod, text: str, base: Version | None) -> Matching:
    """Plan a run of the query; nothing but the log's end is computed yet.

    Args:
        base: the version that is brought up to date; None: everything is matched, whatever has changed.

    Raises:
        SparkCepError: CEP_PATTERN_TABLE_QUERY, and errors of a query that cannot run.
    """
    digest = hashlib.sha256(text.encode()).hexdigest()

    def run(named: str) -> Matching:
        get = getter(spark)
        read = as_spark_reads(spark, get, named)
        own = statement_settings(spark, get)
        templates = Templates(read)
        statement = templates.expanded(plain, read_statement(read), own, {})
        with templates.located():
            return _Run(spark, plain, own, statement, base, digest).result()

    return with_tables(spark, text, run)  # the log may be a pattern table


@dataclass(slots=True)
class _Run:
    spark: SparkSession
    plain: SqlMethod
    settings: Settings
    statement: Statement
    base: Version | None
    digest: str
    #: Whether the query's own expressions are found to be others than when the table was made.
    otherwise: bool = False
    found: Matching = field(default_factory=Matching)

    def result(self) -> Matching:
        found = self.found
        if self.base is None and self.statement.forms:
            # What is wrong with the query itself comes before what a pattern table cannot keep.
            execution, frame = self.executed(self.statement.text, replace(self.settings, column_pruning=False))
            query = read_table_query(self.statement)
            found.keys, found.whole = _keys(query, execution)
            if own := sorted(query.calls & functions_of_users(self.spark)):
                found.keys, found.whole = None, f"its query calls {', '.join(own)}"
        else:
            query = read_table_query(self.statement)
        if self.base is not None:
            found.keys, found.whole = self.base.definition.keys, self.base.definition.whole
        extra = () if found.keys is None or query.list_end is None else found.keys
        text = query.with_columns(extra, _KEY)
        execution, frame = self.executed(text, self.settings, narrow=self.narrow)
        self.check(execution, frame)
        if found.keys is not None:
            found.meaning = self.meaning(execution.relations[0], frame)
            is_narrow = found.nothing or found.cases is not None
            if self.base is not None and is_narrow and found.meaning != self.base.meaning:
                found.release()
                self.otherwise = True
                frame = self.executed(text, self.settings, narrow=self.narrow)[1]
        found.columns = StructType([f for f in frame.schema.fields if not f.name.startswith(PREFIX)])
        self.check_columns()
        if self.base is not None and not found.nothing and found.cases is None:
            why = found.reason or found.whole or "its log is made of more than one relation"
            found.reason = f"{why}: everything is matched again"
        if not found.nothing:
            keys = [f"{_KEY}{k}" for k in range(len(extra))] or found.keys or ()
            found.frame = identified(frame, found.columns.names, keys, self.digest)
        return found

    def meaning(self, relation: Relation, frame: DataFrame) -> str:
        """A digest of what a query makes of its input: of its plan without the input's lines. Variables, functions and
        properties of tables that it depends on have their values in it."""
        if not shows_plans(self.spark):
            return ""
        plans = map(analysed, (frame, relation.given, relation.source))
        texts = plan_texts(self.spark, *plans)
        lines, given, source = ([_line(line) for line in text.splitlines()] for text in texts)
        own = set(given) | set(source)
        rest = [line for line in lines if line not in own and not line.startswith(_NAMES)]
        return hashlib.sha256("\n".join(rest).encode()).hexdigest()[:16]

    def check(self, execution: StatementExecution, frame: DataFrame) -> None:
        """Refuse what has other rows each time it is read."""
        if frame.isStreaming:
            raise streaming_unsupported("a pattern table over it", hint="write the stream's matches to a Delta table")
        for relation in execution.relations if shows_plans(self.spark) else ():
            (plan,) = plan_texts(self.spark, analysed(relation.given))
            if name := changing_function(plan):
                raise PatternAnalysisError(
                    "CEP_PATTERN_TABLE_QUERY",
                    f"The log is made with {name}, which gives another value each time the table is refreshed.",
                    text=self.statement.text, position=self.statement.forms[0].relation_start,
                    hint="put the condition into a query over the pattern table",
                )  # fmt: skip

    def check_columns(self) -> None:
        """Refuse columns that a pattern table cannot keep."""
        names = [f.name.casefold() for f in self.found.columns.fields]
        for column in self.found.columns.fields:
            type_ = column.dataType.simpleString()
            wrong = hint = ""
            if column.name.casefold() in (*OWN_COLUMNS, CHANGE):
                wrong, hint = "has a name that pattern tables use themselves", "give it another one in the SELECT list"
            elif names.count(column.name.casefold()) > 1:
                wrong, hint = "is there twice", "name the columns in the SELECT list"
            elif not _is_stored(column.dataType):
                wrong, hint = f"is {type_.upper()}, which pattern tables do not keep", "CAST it in the SELECT list"
            if wrong:
                raise PatternAnalysisError(
                    "CEP_PATTERN_TABLE_QUERY", f"The column {column.name} of the query {wrong}.",
                    text=self.statement.text, position=self.statement.forms[0].keyword.start, hint=hint,
                )  # fmt: skip

    def executed(self, text: str, own: Settings, narrow: Narrow | None = None) -> tuple[StatementExecution, DataFrame]:
        """A text planned with the keys of the partitions that rows are of."""
        execution = StatementExecution.of(self.spark, self.plain, read_statement(text), None, {}, own)
        execution = replace(execution, planner=replace(execution.planner, gives_keys=True), narrow=narrow)
        try:
            frame = execution.result()
            _ = frame.schema
        except AnalysisException as error:
            if _KEY not in str(error):
                raise
            raise PatternAnalysisError(
                "CEP_PATTERN_TABLE_QUERY", "The SELECT list does not give a row for each row of the pattern.",
                text=self.statement.text, position=self.statement.forms[0].keyword.start,
                hint="keep the matches in the pattern table, and count them by a query over it",
            ) from None  # fmt: skip
        return execution, frame

    def narrow(
        self, analyzer: SparkAnalyzer, planned: AnyPlan, source: DataFrame, input_sql: InputSql, pruning: Pruning
    ) -> Pruning:
        """Leave out the cases whose rows are those that the table has."""
        found, base = self.found, self.base
        if found.keys is None or planned.stream is not None:
            return pruning
        query = planned.query
        keys = [text for text, _ in planned.input.keys]
        now = source_state(source)
        found.state, found.plan = now.state, now.plan
        cause = Changed(None, "its query has other values than it had" if self.otherwise else "")
        if base is not None and not self.otherwise:
            cause = changed_cases(analyzer, query, keys, now, base.state, base.plan)
        found.reason, found.nothing = cause.reason, cause.nothing
        if query.omit_censored and query.within is not None and not found.nothing:
            found.log_end = self.log_end(analyzer, query, source)
        if cause.keys is None or base is None:
            return pruning
        cases = cause.keys
        if base.log_end != found.log_end:
            cases = cases.union(self.decided(analyzer, query, source, keys, base.log_end)).distinct()
        found.cases = cases = cases.persist()
        names = cases.columns
        counts = "count(*)", f"count_if({' OR '.join(f'{name} IS NULL' for name in names)})"
        found.count, nulls = cases.selectExpr(*counts).collect()[0]
        rows = source if pruning.frame is None else pruning.frame
        column = planned.input.fields.column_of(keys[0])
        if found.count <= LISTED_CASES and len(keys) == 1 and column and _type(rows, column) in COMPARED_CASES:
            values = [row[0] for row in cases.collect() if row[0] is not None]
            # How a string with these is read depends on settings.
            if not any(isinstance(value, str) and re.search(r"['\\$]", value) for value in values):
                return replace(pruning, frame=rows.where(_is_one_of(quote(column), values, or_null=bool(nulls))))
        # Spark, which does not know how few they are, would sort the log by its cases.
        analyzer.matched[_CHANGED] = F.broadcast(cases) if found.count <= BROADCAST_CASES else cases
        # Keys are looked up in half the time where none of them is NULL.
        equals = "<=>" if nulls else "="
        same = " AND ".join(f"({text}) {equals} {name}" for text, name in zip(keys, names, strict=True))
        columns = ", ".join(map(quote, rows.columns))
        frame = analyzer.analyzed(
            f"{query.with_prefix}SELECT {columns} FROM {{{SOURCE}}} LEFT SEMI JOIN {{{_CHANGED}}} ON {same}", rows
        )
        return replace(pruning, frame=frame)

    def log_end(self, analyzer: SparkAnalyzer, query: PatternQuery, source: DataFrame) -> str:
        """The time of the log's last event, as SQL; empty where it has none."""
        end = analyzer.analyzed(log_end_sql(query), source)
        type_ = end.schema[0].dataType.simpleString()
        name = quote(end.columns[0])
        # A time of day may be there twice, where clocks are put back.
        is_instant = type_ == "timestamp"
        (value,) = end.selectExpr(f"unix_micros({name})" if is_instant else f"CAST({name} AS STRING)").collect()[0]
        if value is None:
            return ""
        return f"timestamp_micros({value})" if is_instant else f"CAST({string_literal(value)} AS {type_})"

    def decided(
        self, analyzer: SparkAnalyzer, query: PatternQuery, source: DataFrame, keys: Sequence[str], before: str
    ) -> DataFrame:
        """Cases with an event whose matches are decided by the one of two ends of the log and not by the other."""
        ends = before, self.found.log_end
        condition = ""
        if all(ends):
            key, low, high = query.order_by[0].expression, f"least({', '.join(ends)})", f"greatest({', '.join(ends)})"
            bound = f"(({key}) + ({query.within}))"
            condition = f"{bound} >= {low} AND {bound} < {high}"
            if query.within is not None and not names_columns(query.within) and ends[0].startswith("timestamp_micros"):
                # The same within some days, as months differ: files tell of their parts between which times theirs are.
                condition += (
                    f" AND ({key}) >= {low} - ({query.within}) - INTERVAL 5 DAYS"
                    f" AND ({key}) < {high} - ({query.within}) + INTERVAL 5 DAYS"
                )
        return distinct_keys(analyzer, query, keys, source, condition)


def _keys(query: TableQuery, execution: StatementExecution) -> tuple[tuple[str, ...] | None, str]:
    """Names of the case's keys in the pattern's relation; None, and why, where cases are not looked at alone."""
    if query.is_rule_set:
        return None, "its query is a rule set"
    relation = execution.relations[0]
    asked = relation.plan.query
    keys = tuple(name for _, name in relation.plan.input.keys)
    if not keys:
        return None, "its query has no PARTITION BY"
    if asked.groups:
        return None, "its cases are merged by GROUPS"
    if relation.plan.engine.facts is not None:
        return None, "its query asks about the whole log"
    if query.renames:
        return None, "its query renames the pattern's columns"
    fields = execution.analyzer.analyzed(f"SELECT * FROM {relation.sql}").schema.fields
    types: dict[str, list[str]] = {}
    for f in fields:
        types.setdefault(f.name.casefold(), []).append(f.dataType.simpleString())
    if asked.hides_keys:
        keys = tuple(key_column(k) for k in range(len(keys)))
    own = [types.get(key.casefold(), []) for key in keys]
    if any(len(found) != 1 for found in own):
        return None, "a row of its query is of several partitions, or does not tell its own"
    if other := [found[0] for found in own if not _CASE_TYPES.fullmatch(found[0])]:
        return None, f"its PARTITION BY is of {other[0]}"
    return keys, ""


def _is_stored(type_: DataType) -> bool:
    """Whether Delta has a type; and keys of maps are told apart by their JSON."""
    if isinstance(type_, StructType):
        return all(_is_stored(f.dataType) for f in type_.fields)
    if isinstance(type_, ArrayType):
        return _is_stored(type_.elementType)
    if isinstance(type_, MapType):
        keys = type_.keyType
        return not isinstance(keys, (BinaryType, StructType, ArrayType)) and _is_stored(type_.valueType)
    return not type_.simpleString().startswith(_NOT_STORED)


def _line(line: str) -> str:
    """A line of a plan, without its place and what is numbered anew for each statement."""
    return re.sub(r"_pyspark_[0-9a-f]+|(?<=__cep_relation_)\d+|#\d+L?", "", line.lstrip(" :+-"))


def _is_one_of(column: str, values: Sequence[str | int], *, or_null: bool) -> str:
    """SQL that is true of the values of a column that are listed. Files tell of their parts between which values theirs
    are, which a join does not ask."""
    listed = ", ".join(f"'{value}'" if isinstance(value, str) else str(value) for value in values)
    tests = [f"{column} IN ({listed})"] * bool(values) + [f"{column} IS NULL"] * or_null
    return " OR ".join(tests) or "false"


def _type(rows: DataFrame, column: str) -> str:
    return str(rows.schema[column].dataType.simpleString())
