"""The rows that a pattern table's query gives now: of all cases, or of those alone whose rows can be others now."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StructType

from sparkcep.errors import PatternAnalysisError, SparkCepError, streaming_unsupported
from sparkcep.index.storage import Location
from sparkcep.query import PREFIX, key_column
from sparkcep.session.analyzer import SqlMethod
from sparkcep.session.narrowing import Narrowing
from sparkcep.session.spark_text import as_spark_reads
from sparkcep.session.statement import StatementExecution
from sparkcep.session.statement_settings import statement_settings
from sparkcep.session.tables.changes import functions_of_users
from sparkcep.session.tables.found import Matching
from sparkcep.session.tables.identity import identified
from sparkcep.session.tables.naming import with_tables
from sparkcep.session.tables.narrowing import CaseNarrowing
from sparkcep.session.tables.storage import CHANGE, MATCH_ID, OWN_COLUMNS, Version
from sparkcep.session.templates import Templates
from sparkcep.settings import Settings, getter
from sparkcep.spark.plan import analysed_texts, same_for_all
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.rule_sets.binder import COLUMNS
from sparkcep.sql.rule_sets.reader import read_rule
from sparkcep.sql.statement import Statement
from sparkcep.sql.table_query import OF_SESSION, TableQuery, calls, changing, changing_function, read_table_query

#: Types whose values are the same case exactly where their JSON is the same.
_CASE_TYPES = re.compile(
    r"string|boolean|tinyint|smallint|int|bigint|decimal\(.*\)|date|timestamp|timestamp_ntz|binary"
)
#: Types that Delta tables do not have.
_NOT_STORED = ("interval", "void", "time(")
#: A key's column behind the query's own.
_KEY = PREFIX + "case_of_row_"
#: Lines of a plan that only give a relation a name.
_NAMES = ("SubqueryAlias", "View (", "WithCTE", "CTERelation")


def matched(spark: SparkSession, plain: SqlMethod, text: str, table: Location, base: Version | None) -> Matching:
    """Plan a run of the query; nothing but the log's end is computed yet.

    Args:
        table: where it is or will be.
        base: the version that is brought up to date; None: everything is matched, whatever has changed.

    Raises:
        SparkCepError: CEP_PATTERN_TABLE_QUERY, and errors of a query that cannot run.
    """
    digest = hashlib.sha256(text.encode()).hexdigest()

    def run(named: str) -> Matching:
        get = getter(spark)
        read = as_spark_reads(spark, get, named)
        settings = statement_settings(spark, get)
        templates = Templates(read)
        statement = templates.expanded(plain, read_statement(read), settings, {})
        with templates.located():
            return _Run(spark, plain, settings, statement, table, base, digest).result()

    return with_tables(spark, text, run)  # the log may be a pattern table


class _OtherKeys(Exception):
    """The query has no columns of the names that its cases were told by."""


@dataclass(slots=True)
class _Run:
    spark: SparkSession
    plain: SqlMethod
    settings: Settings
    statement: Statement
    table: Location
    base: Version | None
    digest: str
    matching: Matching = field(default_factory=Matching)

    def result(self) -> Matching:
        matching, base = self.matching, self.base
        if base is None and self.statement.forms:
            # What is wrong with the query itself comes before what a pattern table cannot keep.
            execution = self.as_it_stands()
        query = read_table_query(self.statement)
        if base is None:
            self.find_keys(query, execution)
        else:
            d = base.definition
            matching.keys, matching.whole, matching.by_rule = d.keys, d.whole, d.by_rule
        frame = self.matched(query)
        shown = next((c for c in frame.columns if c.casefold() == MATCH_ID and query.gives(MATCH_ID)), "")
        matching.columns = StructType(
            [f for f in frame.schema.fields if not f.name.startswith(PREFIX) and f.name != shown]
        )
        self.check_columns()
        if base is not None and not matching.nothing and matching.cases is None:
            none = "no rule that is as it was runs" if matching.by_rule else "its log is made of more than one relation"
            why = matching.reason or (matching.whole if matching.keys is None else none)
            matching.reason = f"{why}: everything is matched again"
        if not matching.nothing:
            extra = [f"{_KEY}{k}" for k in range(len(self.more_columns(query)))]
            keys, rule = (extra or matching.keys or ()), ""
            if matching.by_rule:
                *keys, rule, shown = extra
            matching.frame = identified(frame, matching.columns.names, keys, self.digest, rule, shown)
        return matching

    def as_it_stands(self) -> StatementExecution:
        """The query planned without more columns."""
        return self.executed(self.statement.text, replace(self.settings, column_pruning=False))[0]

    def find_keys(self, query: TableQuery, execution: StatementExecution) -> None:
        """Find out what the query's cases are. ``execution``: of the query as it stands."""
        matching = self.matching
        matching.keys, matching.whole = _keys(query, execution)
        if own := sorted(calls(query.statement) & (functions_of_users(self.spark) | OF_SESSION)):
            matching.keys, matching.whole = None, f"its query calls {', '.join(own)}"
        matching.by_rule = query.is_rule_set and matching.keys is not None

    def more_columns(self, query: TableQuery) -> tuple[str, ...]:
        """Columns that a row's case, and its rule, are told by, behind the query's own."""
        matching = self.matching
        if matching.keys is None or query.list_end is None:
            return ()
        return (*matching.keys, "rule", MATCH_ID) if matching.by_rule else matching.keys

    def matched(self, query: TableQuery) -> DataFrame:
        """The query's rows, of the cases and rules alone that are not as they were."""
        matching, base = self.matching, self.base
        narrowing = CaseNarrowing(matching, base, self.table)

        def run() -> tuple[StatementExecution, DataFrame]:
            return self.executed(query.with_columns(self.more_columns(query), _KEY), self.settings, narrowing)

        try:
            execution, frame = run()
            self.check(execution, frame)
            if matching.keys is None:
                return frame
            matching.meaning = self.meaning(execution, frame)
            is_narrow = matching.nothing or matching.cases is not None
            is_other = base is not None and is_narrow and not matching.meaning == base.meaning != ""
        except _OtherKeys:
            is_other = True
        if is_other:
            matching.release()
            narrowing.otherwise, narrowing.cause = "its query has other values than it had", None
            self.find_keys(query, self.as_it_stands())
            execution, frame = run()
            matching.meaning = "" if matching.keys is None else self.meaning(execution, frame)
        elif narrowing.has_new_rules:
            narrowing.of_new_rules = True
            execution, more = run()
            frame = frame.union(more)
            if not self.meaning(execution, more):
                matching.meaning = ""
        return frame

    def meaning(self, execution: StatementExecution, frame: DataFrame) -> str:
        """A digest of what a query makes of its input beside the rules of a set; empty where that is not known."""
        return (self.rules_meaning if self.matching.by_rule else self.pattern_meaning)(execution, frame)

    def rules_meaning(self, execution: StatementExecution, frame: DataFrame) -> str:
        """A digest of what all rules of a set share beside the log; empty where they depend on more than they say.

        Raises:
            PatternAnalysisError: CEP_PATTERN_TABLE_QUERY, a rule has another value each time.
        """
        call = execution.rule_sets[0].set.call
        called = set[str]()
        columns = {name.lower() for name in call.source.columns}
        for rule in call.rules:
            try:
                s, _ = read_rule(rule)
            except SparkCepError:  # one that is refused does not run
                continue
            called |= calls(s)
            if "user" not in columns and _names_user(s):
                called.add("user")
            if (wrong := changing(s, 0, len(s.tokens))) is not None:
                raise self.refused(
                    "CEP_PATTERN_TABLE_QUERY", f"The rule {rule.name} cannot be kept: {wrong[1]}.", wrong[2]
                )
        plans = analysed_texts(frame)
        if plans is None or "variablereference(" in plans[0] or called & (functions_of_users(self.spark) | OF_SESSION):
            return ""
        decisive = self.statement.text, call.keys, call.settings.log_event
        return hashlib.sha256(repr(decisive).encode()).hexdigest()[:16]

    def pattern_meaning(self, execution: StatementExecution, frame: DataFrame) -> str:
        """A digest of what a query makes of its input: of its plan without the input's lines. Variables, functions and
        properties of tables that it depends on have their values in it."""
        relation = execution.relations[0]
        texts = analysed_texts(frame, relation.given, relation.source)
        plans = [plan for text in texts or () if (plan := same_for_all(text)) is not None]
        if len(plans) < 3:
            return ""
        lines, given, source = ([line.lstrip(" :+-") for line in plan.splitlines()] for plan in plans)
        own = set(given) | set(source)
        rest = [line for line in lines if line not in own and not line.startswith(_NAMES)]
        pattern = relation.plan.query  # its columns may be those that properties of the log name
        decisive = self.statement.text, pattern.partition_by, pattern.order_by, pattern.event_type, rest
        return hashlib.sha256(repr(decisive).encode()).hexdigest()[:16]

    def check(self, execution: StatementExecution, frame: DataFrame) -> None:
        """Refuse what has other rows each time it is read."""
        if frame.isStreaming:
            raise streaming_unsupported("a pattern table over it", hint="write the stream's matches to a Delta table")
        logs = [relation.given for relation in execution.relations]
        logs += [rule_set.set.call.source for rule_set in execution.rule_sets]
        for plan in analysed_texts(*logs) or ():
            if name := changing_function(plan):
                raise self.refused(
                    "CEP_PATTERN_TABLE_QUERY",
                    f"The log is made with {name}, which gives another value each time the table is refreshed.",
                    "put the condition into a query over the pattern table", self.statement.forms[0].relation_start,
                )  # fmt: skip

    def refused(self, error_class: str, sentence: str, hint: str, position: int | None = None) -> PatternAnalysisError:
        """What a pattern table cannot keep; the caller raises it. ``position``: of the pattern, if it is not given."""
        at = self.statement.forms[0].keyword.start if position is None else position
        return PatternAnalysisError(error_class, sentence, text=self.statement.text, position=at, hint=hint)

    def check_columns(self) -> None:
        """Refuse columns that a pattern table cannot keep."""
        names = [f.name.casefold() for f in self.matching.columns.fields]
        for column in self.matching.columns.fields:
            type_ = column.dataType.simpleString()
            wrong = hint = ""
            if column.name.casefold() in (*OWN_COLUMNS, CHANGE):
                wrong, hint = "has a name that pattern tables use themselves", "give it another one in the SELECT list"
            elif names.count(column.name.casefold()) > 1:
                wrong, hint = "is there twice", "name the columns in the SELECT list"
            elif not _is_stored(column.dataType):
                wrong, hint = f"is {type_.upper()}, which pattern tables do not keep", "CAST it in the SELECT list"
            if wrong:
                raise self.refused("CEP_PATTERN_TABLE_QUERY", f"The column {column.name} of the query {wrong}.", hint)

    def executed(
        self, text: str, settings: Settings, narrow: Narrowing | None = None
    ) -> tuple[StatementExecution, DataFrame]:
        """A text planned with the keys of the partitions that rows are of."""
        execution = StatementExecution.of(self.spark, self.plain, read_statement(text), None, {}, settings)
        execution = replace(execution, planner=replace(execution.planner, gives_keys=True), narrow=narrow)
        try:
            frame = execution.result()
            _ = frame.schema
        except AnalysisException as error:
            if _KEY not in str(error):
                raise
            if self.base is not None:  # the names of its keys are from the time when it was made
                raise _OtherKeys from None
            raise self.refused(
                "CEP_PATTERN_TABLE_QUERY",
                "The SELECT list does not give a row for each row of the pattern.",
                "keep the matches in the pattern table, and count them by a query over it",
            ) from None
        return execution, frame


def _names_user(s: Statement) -> bool:
    """Whether a text calls `user`, without parentheses, unless that is a column."""
    return any(s.word(k) == "USER" and s.operator(k - 1) != "." for k in range(len(s.tokens)))


def _keys(query: TableQuery, execution: StatementExecution) -> tuple[tuple[str, ...] | None, str]:
    """Names of the case's keys in the pattern's relation, and how they are called; None, and why, where cases are not
    looked at alone."""
    if query.is_rule_set:
        return _keys_of_rules(query, execution)
    relation = execution.relations[0]
    pattern = relation.plan.query
    keys = called = tuple(name for _, name in relation.plan.input.keys)
    if not keys:
        return None, "its query has no PARTITION BY"
    if pattern.groups:
        return None, "its cases are merged by GROUPS"
    if relation.plan.engine.facts is not None:
        return None, "its query asks about the whole log"
    if query.renames:
        return None, "its query renames the pattern's columns"
    fields = execution.analyzer.analyzed(f"SELECT * FROM {relation.sql}").schema.fields
    types: dict[str, list[str]] = {}
    for f in fields:
        types.setdefault(f.name.casefold(), []).append(f.dataType.simpleString())
    if pattern.hides_keys:
        keys = tuple(key_column(k) for k in range(len(keys)))
    own = [types.get(key.casefold(), []) for key in keys]
    if any(len(found) != 1 for found in own):
        return None, "a row of its query is of several partitions, or does not tell its own"
    return _comparable(keys, called, [found[0] for found in own])


def _keys_of_rules(query: TableQuery, execution: StatementExecution) -> tuple[tuple[str, ...] | None, str]:
    """The same of a rule set, all of whose rows show the keys."""
    found = execution.rule_sets[0]
    if not found.set.call.keys.partition_by:
        return None, "its query has no PARTITION BY"
    if query.renames:
        return None, "its query renames the columns of the rule set"
    fields = execution.analyzer.analyzed(found.sql).schema.fields
    keys = [f for f in fields if f.name not in COLUMNS]
    names = tuple(f.name for f in keys)
    return _comparable(names, names, [f.dataType.simpleString() for f in keys])


def _comparable(
    keys: tuple[str, ...], called: Sequence[str], types: Sequence[str]
) -> tuple[tuple[str, ...] | None, str]:
    if other := [type_ for type_ in types if not _CASE_TYPES.fullmatch(type_)]:
        return None, f"its PARTITION BY is of {other[0]}"
    return keys, ", ".join(called)


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
