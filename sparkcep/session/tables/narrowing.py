"""Leave out of a run of a pattern table's query the cases, and the rules, whose rows are those that the table has."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sparkcep.errors import PatternParseError
from sparkcep.index.storage import Location
from sparkcep.planner.censored import log_end_sql, names_columns
from sparkcep.planner.input_plan import InputPlan
from sparkcep.query import PREFIX, SOURCE, PatternQuery, quote, string_literal
from sparkcep.session.analyzer import SparkAnalyzer
from sparkcep.session.indexes.choice import COMPARED_CASES, Pruning
from sparkcep.session.tables.changes import Changed, changed_cases, distinct_keys, source_state
from sparkcep.session.tables.file_cases import FILE, cases_of
from sparkcep.session.tables.found import BROADCAST_CASES, Matching
from sparkcep.session.tables.storage import Version
from sparkcep.sql.lexicon import tokenize
from sparkcep.sql.rewriter import InputSql
from sparkcep.sql.rule_sets.rule import Rule

#: So many cases are listed in a filter.
LISTED_CASES = 20_000
#: Rules that a reason names.
_NAMED_RULES = 3
#: Tells cases changed from the rest of a statement's relations.
_CHANGED = PREFIX + "changed"


@dataclass(slots=True)
class CaseNarrowing:
    """A :class:`~sparkcep.session.narrowing.Narrowing` that notes in ``matching`` what it does.

    ``base``: the version whose rows are kept; None: none are, as of rules that are new. ``otherwise``: why none
    are, where the query is found to be another one than when the table was made. ``of_new_rules``: whether it is the
    run of the rules that are new or changed, over everything. ``table``: where it is.
    ``cause``: what has changed, once that was looked at. ``read``: the rules, which are read once: a folder
    may have others a moment later.
    """

    matching: Matching
    base: Version | None
    table: Location
    otherwise: str = ""
    of_new_rules: bool = False
    cause: Changed | None = None
    read: Sequence[Rule] = ()

    @property
    def has_new_rules(self) -> bool:
        """Whether rules are left for a run of their own."""
        unchanged = self.matching.unchanged
        return unchanged is not None and not unchanged.issuperset(self.matching.rules)

    def rules(self, rules: Sequence[Rule]) -> list[Rule]:
        """Those that are as they were; if there are none, all, over everything."""
        matching = self.matching
        self.read = rules = self.read or rules
        if self.of_new_rules:
            return [rule for rule in rules if rule.name not in (matching.unchanged or ())]
        matching.rules = {rule.name: _digest(rule) for rule in reversed(rules)}  # of two of one name the first counts
        matching.unchanged = None
        if self.base is None or self.otherwise or matching.keys is None:
            return list(rules)
        kept = {rule.name for rule in rules if not _follows_the_end(rule)}
        same = frozenset(n for n, digest in matching.rules.items() if n in kept and self.base.rules.get(n) == digest)
        if not same:
            self.otherwise = self.changed_rules(self.base)
            return list(rules)
        matching.unchanged = same
        return [rule for rule in rules if rule.name in same]

    def input(
        self, analyzer: SparkAnalyzer, given: InputPlan, source: DataFrame, input_sql: InputSql, pruning: Pruning
    ) -> Pruning:
        """A pattern's input without the cases that are left out."""
        matching, query = self.matching, given.query
        if matching.keys is None or self.of_new_rules:
            return pruning
        keys = [text for text, _ in given.keys][: len(matching.keys)]  # a rule may part its own cases further
        if self.cause is None:
            self.cause = self.changed(analyzer, query, keys, source, input_sql)
            if self.cause.keys is not None:
                matching.cases = self.cause.keys.persist()
        if matching.cases is None:
            return pruning
        cases = matching.cases
        names = cases.columns
        few = cases.limit(LISTED_CASES + 1).collect()
        matching.count, nulls = len(few), sum(None in tuple(row) for row in few)
        if matching.count > LISTED_CASES:
            counts = "count(*)", f"count_if({' OR '.join(f'{name} IS NULL' for name in names)})"
            matching.count, nulls = cases.selectExpr(*counts).collect()[0]
        rows = source if pruning.frame is None else pruning.frame
        column = given.fields.column_of(keys[0])
        if matching.count <= LISTED_CASES and len(keys) == 1 and column and _type(rows, column) in COMPARED_CASES:
            values = [row[0] for row in few if row[0] is not None]
            # How a string with these is read depends on settings.
            if not any(isinstance(value, str) and re.search(r"['\\$]", value) for value in values):
                return replace(pruning, frame=rows.where(_is_one_of(quote(column), values, or_null=bool(nulls))))
        # Spark, which does not know how few they are, would sort the log by its cases.
        analyzer.matched[_CHANGED] = F.broadcast(cases) if matching.count <= BROADCAST_CASES else cases
        # Keys are looked up in half the time where none of them is NULL.
        equals = "<=>" if nulls else "="
        same = " AND ".join(f"({text}) {equals} {name}" for text, name in zip(keys, names, strict=True))
        columns = ", ".join(map(quote, rows.columns))
        frame = analyzer.analyzed(
            f"{query.with_prefix}SELECT {columns} FROM {{{SOURCE}}} LEFT SEMI JOIN {{{_CHANGED}}} ON {same}", rows
        )
        return replace(pruning, frame=frame)

    def changed(
        self, analyzer: SparkAnalyzer, query: PatternQuery, keys: Sequence[str], source: DataFrame, input_sql: InputSql
    ) -> Changed:
        """The cases that are matched again, those included whose matches the log's new end decides."""
        matching, base = self.matching, self.base
        now = source_state(analyzer, source, input_sql)
        matching.state, matching.plan = now.state, now.plan
        cause = Changed(None, self.otherwise)
        if base is not None and not self.otherwise:
            gone_cases = partial(cases_of, analyzer.spark, self.table, base.case_sets)
            cause = changed_cases(analyzer, query, keys, now, base.state, base.plan, gone_cases)
            if rules := self.changed_rules(base):
                none = distinct_keys(analyzer, query, keys, source, "false") if cause.nothing else cause.keys
                cause = Changed(none, f"{cause.reason}; {rules}", files=cause.files)
        matching.reason, matching.nothing, matching.new_files = cause.reason, cause.nothing, cause.files
        # A log of one file has changed as a whole where that is written again.
        if cause.keys is None and not cause.nothing and len(now.state.get("files", ())) > 1:
            matching.by_file = distinct_keys(analyzer, query, keys, source, more=f"input_file_name() AS {FILE}, ")
        if query.omit_censored and query.within is not None and not matching.nothing:
            matching.log_end = _log_end(analyzer, query, source)
            if base is not None and cause.keys is not None and base.log_end != matching.log_end:
                decided = _decided(analyzer, query, source, keys, (base.log_end, matching.log_end))
                return replace(cause, keys=cause.keys.union(decided).distinct())
        return cause

    def changed_rules(self, base: Version) -> str:
        """Which rules are not those that the table was made with, for people."""
        rules = self.matching.rules
        new = [name for name, digest in rules.items() if base.rules.get(name) != digest]
        gone = [name for name in base.rules if name not in rules]
        ends = [rule.name for rule in self.read if _follows_the_end(rule) and rule.name not in new]
        causes = ("are new or changed", new), ("are gone", gone), ("leave out censored matches", ends)
        return "; ".join(f"rules that {what}: {_named(names)}" for what, names in causes if names)


def _follows_the_end(rule: Rule) -> bool:
    """Whether the log's end decides which matches a rule has, so that it is matched again over everything."""
    try:
        return any(token.upper == "CENSORED" for token in tokenize(rule.text))
    except PatternParseError:  # which the report says
        return False


def _digest(rule: Rule) -> str:
    return hashlib.sha256(repr((rule.text, sorted(rule.parameters.items()))).encode()).hexdigest()[:16]


def _named(names: Sequence[str]) -> str:
    more = len(names) - _NAMED_RULES
    return ", ".join(sorted(names)[:_NAMED_RULES]) + (f" and {more} more" if more > 0 else "")


def _log_end(analyzer: SparkAnalyzer, query: PatternQuery, source: DataFrame) -> str:
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


def _decided(
    analyzer: SparkAnalyzer, query: PatternQuery, source: DataFrame, keys: Sequence[str], ends: tuple[str, str]
) -> DataFrame:
    """Cases with an event whose matches are decided by the one of two ends of the log and not by the other."""
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


def _is_one_of(column: str, values: Sequence[str | int], *, or_null: bool) -> str:
    """SQL that is true of the values of a column that are listed. Files tell of their parts between which values theirs
    are, which a join does not ask."""
    listed = ", ".join(f"'{value}'" if isinstance(value, str) else str(value) for value in values)
    tests = [f"{column} IN ({listed})"] * bool(values) + [f"{column} IS NULL"] * or_null
    return " OR ".join(tests) or "false"


def _type(rows: DataFrame, column: str) -> str:
    return str(rows.schema[column].dataType.simpleString())
