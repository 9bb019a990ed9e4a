"""A call of pattern_rules or pattern_rule_errors: its log, how that is partitioned and ordered, and its rules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from sparkcep.errors import PatternAnalysisError, SparkCepError, near_hint, streaming_unsupported, warn
from sparkcep.planner.fields import Fields
from sparkcep.planner.streaming.refusals import operator_refusal, order_refusal
from sparkcep.query import KeyExpression, SortKey, quote
from sparkcep.session.analyzer import SparkAnalyzer
from sparkcep.session.planning import watermarked
from sparkcep.session.rules.sources import rules_at, table_rules
from sparkcep.settings import LOG_CASE, LOG_EVENT, LOG_TIME, SHARED_INPUT, Settings
from sparkcep.spark.exceptions import reason
from sparkcep.spark.repeatable import DRAWN
from sparkcep.sql.log_columns import LogColumns
from sparkcep.sql.rewriter import InputSql, Rewriter
from sparkcep.sql.rule_sets.binder import COLUMNS
from sparkcep.sql.rule_sets.keys import LogKeys
from sparkcep.sql.rule_sets.rule import Rule
from sparkcep.sql.rule_sets.table_argument import TableArgument, read_table_argument
from sparkcep.sql.statement import PatternOccurrence, Statement
from sparkcep.sql.table_functions import plain_literal, read_call, relation_name
from sparkcep.sql.table_query import calls


@dataclass(frozen=True, slots=True)
class RuleSetCall:
    """What a call says. ``source``: the log, which ``input_sql`` reads; ``settings``: with what the log's properties
    and the call say of its columns; ``reports_failing``: rules that fail over the log are left out and reported."""

    source: DataFrame
    input_sql: InputSql
    keys: LogKeys
    settings: Settings
    rules: list[Rule]
    position: int
    reports_failing: bool = False


def read_rule_call(
    analyzer: SparkAnalyzer,
    rewriter: Rewriter,
    statement: Statement,
    form: PatternOccurrence,
    evaluate: Callable[[int, int], Any],
) -> RuleSetCall:
    """Read a call and what it names.

    Args:
        evaluate: the value of a constant expression between two offsets of the statement.

    Raises:
        PatternAnalysisError: CEP_TABLE_FUNCTION_ARGUMENT, CEP_RULES, CEP_LOG_COLUMNS, CEP_UNRESOLVED_COLUMN,
            CEP_TIME_TYPE, CEP_STREAMING_WATERMARK, CEP_STREAMING_UNSUPPORTED; Spark's own classes for arguments
            that do not fit the parameters.
    """
    return _Reader(analyzer, rewriter, statement, form, evaluate).read()


def named_rules(
    analyzer: SparkAnalyzer, rewriter: Rewriter, statement: Statement, form: PatternOccurrence,
    evaluate: Callable[[int, int], Any],
) -> list[Rule]:  # fmt: skip
    """The rules that a call names, in the order of their names; see :func:`read_rule_call`."""
    return _Reader(analyzer, rewriter, statement, form, evaluate).rules()


class _Reader:
    def __init__(
        self,
        analyzer: SparkAnalyzer,
        rewriter: Rewriter,
        statement: Statement,
        form: PatternOccurrence,
        evaluate: Callable[[int, int], Any],
    ) -> None:
        self.analyzer = analyzer
        self.rewriter = rewriter
        self.s = statement
        self.form = form
        self.evaluate = evaluate
        self.arguments = read_call(statement, form).arguments

    def error(self, error_class: str, message: str, position: int, hint: str | None = None) -> PatternAnalysisError:
        return PatternAnalysisError(error_class, message, text=self.s.text, position=position, hint=hint)

    def place(self, parameter: str) -> int:
        return self.s.tokens[self.arguments[parameter][0]].start

    def read(self) -> RuleSetCall:
        table = self.table("log")
        if table is None:
            raise self.error(
                "CEP_TABLE_FUNCTION_ARGUMENT", "The log must be a table.", self.place("log"),
                "TABLE(log) PARTITION BY case ORDER BY time, or TABLE(SELECT ...) PARTITION BY ...",
            )  # fmt: skip
        input_sql = self.input_sql(table)
        source = self.analyzer.analyzed(input_sql.text)
        log = self.log_columns(table, source)
        keys = self.keys(table, source, log)
        name, expression, names = self.event_type(source, log)
        keys = replace(keys, event_type=expression, names=names, event_id=self.event_id(source))
        # The tiebreak is a key of all rules.
        settings = replace(self.analyzer.settings, log_tiebreak="", log_event=name)
        if source.isStreaming:
            self.check_stream(keys, source, settings)
        reports = self.reports_failing(source)
        return RuleSetCall(source, input_sql, keys, settings, self.rules(), self.form.keyword.start, reports)

    def reports_failing(self, source: DataFrame) -> bool:
        """on_error, which is 'fail' or 'report'."""
        if "on_error" not in self.arguments:
            return False
        value = plain_literal(self.s, *self.arguments["on_error"])
        if value not in ("fail", "report"):
            raise self.error(
                "CEP_TABLE_FUNCTION_ARGUMENT", "on_error is 'fail' or 'report'.", self.place("on_error"),
                "on_error => 'report' leaves out rules that fail over the log; pattern_rule_errors has them",
            )  # fmt: skip
        if value == "report" and not self.analyzer.settings.shared_input:
            raise self.error(
                "CEP_TABLE_FUNCTION_ARGUMENT", "Rules that run by themselves are not tried before.",
                self.place("on_error"), f"RESET {SHARED_INPUT.key}",
            )  # fmt: skip
        if value == "report" and source.isStreaming:
            raise streaming_unsupported("on_error => 'report'", self.s.text, self.place("on_error"))
        return value == "report"

    def check_stream(self, keys: LogKeys, source: DataFrame, settings: Settings) -> None:
        """Raises what holds for all rules over a stream: CEP_STREAMING_WATERMARK, CEP_STREAMING_UNSUPPORTED."""
        fields = Fields(source.columns, settings.case_sensitive)
        order = order_refusal(keys.order_by[0], fields, watermarked(source))
        if order is not None:
            raise order.placed(self.s.text, self.place("log"))
        if not settings.shared_input:
            raise streaming_unsupported(
                f"a rule set with {SHARED_INPUT.key} = false",
                self.s.text,
                self.place("log"),
                f"RESET {SHARED_INPUT.key}",
            )
        if (operator := operator_refusal(settings)) is not None:
            raise streaming_unsupported(operator[0], self.s.text, self.place("log"), operator[1])

    # -- the log ---------------------------------------------------------------------------------------------------

    def table(self, parameter: str) -> TableArgument | None:
        low, high = self.arguments[parameter]
        found = read_table_argument(self.s, low, high)
        if found is None and self.s.tokens[low].kind != "string" and relation_name(self.s, low, high):
            span = self.s.tokens[low].start, self.s.tokens[high - 1].end
            found = TableArgument(span, (low, high), (), (), False)
        return found

    def input_sql(self, table: TableArgument) -> InputSql:
        relation = self.rewriter.render(*table.relation)
        text = self.rewriter.query_over(self.form, relation)
        plain = text == f"SELECT * FROM {relation}" and table.name is not None
        return InputSql(text, relation if plain else None)

    def log_columns(self, table: TableArgument, source: DataFrame) -> LogColumns:
        """Columns that the call does not name."""
        types = dict(source.dtypes)
        fields = Fields(source.columns, self.analyzer.settings.case_sensitive)

        def column(name: str) -> str | None:
            return fields.column_of(quote(name))

        def properties() -> Mapping[str, str]:
            named = table.name is not None and relation_name(self.s, *table.name)
            return self.analyzer.table_properties(self.rewriter.render(*table.relation), source) if named else {}

        return LogColumns(
            lambda: source.columns, lambda name: column(name) is not None, lambda name: types[column(name) or name],
            functools.cache(properties), functools.cache(properties), self.analyzer.settings,
            lambda kind, sentence, hint: self.error(kind, sentence, self.place("log"), hint),
        )  # fmt: skip

    def event_type(self, source: DataFrame, log: LogColumns) -> tuple[str, str, frozenset[str]]:
        """The name of the event type's column; or, where it is computed, the expression and the names in it."""
        if "event_type" not in self.arguments:  # whether there is such a column is asked where a rule needs types
            return next(map(quote, log.named("event")[1]), ""), "", frozenset()
        return self.of_row("event_type", "the event type", "event_type => action, event_type => event.category", source)

    def event_id(self, source: DataFrame) -> str:
        """The expression that tells events apart; empty for none."""
        if "id" not in self.arguments:
            return ""
        hint = "id => event_id, id => event.id"
        if drawn := sorted(calls(self.s, *self.arguments["id"]) & {*DRAWN}):
            raise self.error(
                "CEP_TABLE_FUNCTION_ARGUMENT", f"{drawn[0]} gives another id each time.", self.place("id"), hint
            )
        name, text, _ = self.of_row("id", "the id of an event", hint, source)
        return quote(name) if name else text

    def of_row(self, parameter: str, what: str, hint: str, source: DataFrame) -> tuple[str, str, frozenset[str]]:
        """An argument that has a value for each row of the log: a column's name; or, where it is computed, the
        expression and the names in it. ``what``, ``hint``: of errors."""
        low, high = self.arguments[parameter]
        token = self.s.tokens[low]
        name = token.text if high - low == 1 and token.kind in ("word", "quoted") else plain_literal(self.s, low, high)
        if isinstance(name, str):
            self.check_column(name, source, token.start)
            return name, "", frozenset()
        text = self.rewriter.render(token.start, self.s.tokens[high - 1].end)
        if any(self.s.word(i) == "OVER" for i in range(low, high)):
            raise self.error(
                "CEP_TABLE_FUNCTION_ARGUMENT", f"A window looks at other rows than the one that {what} is of.",
                token.start, "compute it before: TABLE(SELECT *, ... OVER (...) AS x FROM log)",
            )  # fmt: skip
        try:
            # Beside a column and in a function, so that it is no aggregate and gives one row.
            self.analyzer.expression_types([quote(source.columns[0]), f"isnull({text})"], source)
        except AnalysisException as error:
            raise self.error(
                "CEP_TABLE_FUNCTION_ARGUMENT", f"Spark cannot tell {what}: {reason(error)}.", token.start,
                f"{hint}, or another expression over a row of the log",
            ) from None  # fmt: skip
        return "", text, self.s.words(low, high)

    def check_column(self, name: str, source: DataFrame, position: int) -> None:
        fields = Fields(source.columns, self.analyzer.settings.case_sensitive)
        if fields.column_of(quote(name)) is None:
            raise self.error(
                "CEP_UNRESOLVED_COLUMN", f"The log has no column {name}.", position,
                near_hint(name, source.columns, f"its columns are {', '.join(source.columns)}"),
            )  # fmt: skip

    def keys(self, table: TableArgument, source: DataFrame, log: LogColumns) -> LogKeys:
        """PARTITION BY and ORDER BY of the call, else of the log's properties or the settings; and the tie-break."""
        partition_by = tuple(KeyExpression(self.expression(span, source)) for span in table.partition_by)
        order_by = tuple(
            SortKey(self.expression(k.expression, source), k.ascending, k.nulls_first) for k in table.order_by
        )
        if not partition_by and not table.single:
            partition_by = tuple(KeyExpression(quote(name)) for name in log.of("case", needed=not order_by))
        if not order_by:
            order_by = tuple(SortKey(quote(name)) for name in log.of("time"))
        if not order_by:
            raise self.error(
                "CEP_LOG_COLUMNS", "The rule set has no order.", self.place("log"),
                "TABLE(log) PARTITION BY case ORDER BY time; or the table's properties sparkcep.case, sparkcep.time "
                f"and sparkcep.event, or {LOG_CASE.key}, {LOG_TIME.key} and {LOG_EVENT.key}",
            )  # fmt: skip
        for key in partition_by:
            if key.expression.strip("`").casefold() in COLUMNS:
                raise self.error(
                    "CEP_DUPLICATE_COLUMN",
                    f"The result of a rule set has a column {key.expression} of its own.", self.place("log"),
                    f"give the key another name: TABLE(SELECT {key.expression} AS {key.expression}_, ... FROM ...)",
                )  # fmt: skip
        known = {k.expression.strip("`").casefold() for k in order_by}
        tiebreaks = [name for name in log.of("tiebreak", needed=False) if name.casefold() not in known]
        order_by += tuple(SortKey(quote(name)) for name in tiebreaks)
        for note in log.notes:
            warn(note)
        return LogKeys(partition_by, order_by)

    def expression(self, span: tuple[int, int], source: DataFrame) -> str:
        low, high = span
        token = self.s.tokens[low]
        if high - low == 1 and token.kind in ("word", "quoted"):
            self.check_column(token.text, source, token.start)
        return self.rewriter.render(token.start, self.s.tokens[high - 1].end)

    # -- the rules -------------------------------------------------------------------------------------------------

    def rules(self) -> list[Rule]:
        """The rules that the call names, read now."""
        table = self.table("rules")
        try:
            if table is not None:
                return table_rules(self.analyzer.analyzed(self.input_sql(table).text))
            return rules_at(self.analyzer.spark, self.folder())
        except SparkCepError as error:
            if error.position is not None or error.error_class != "CEP_RULES":
                raise
            raise self.error(error.error_class, error.sentence, self.place("rules"), error.hint) from None

    def folder(self) -> str:
        low, high = self.arguments["rules"]
        value: Any = plain_literal(self.s, low, high)
        if value is None:
            try:
                value = self.evaluate(self.s.tokens[low].start, self.s.tokens[high - 1].end)
            except SparkCepError:
                raise
            except AnalysisException as error:
                raise self.error(
                    "CEP_TABLE_FUNCTION_ARGUMENT", f"The rules must be a constant or a table: {reason(error)}.",
                    self.place("rules"),
                ) from None  # fmt: skip
        if not isinstance(value, str):
            raise self.error(
                "CEP_TABLE_FUNCTION_ARGUMENT", f"The rules are {value!r}; they must be a folder or a table.",
                self.place("rules"), "rules => 'detections', or rules => TABLE(detections)",
            )  # fmt: skip
        return value
