"""Calls of templates put into SQL: the statement's text with what each stands for in its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from sparkcep.errors import PatternAnalysisError, PatternParseError, near_hint, warn
from sparkcep.query import in_backticks, quote, string_literal
from sparkcep.sql.log_columns import LogColumns
from sparkcep.sql.rewriter import Rewriter
from sparkcep.sql.statement import PatternOccurrence, Statement
from sparkcep.sql.table_functions import Call, plain_literal, read_call, relation_name
from sparkcep.sql.templates import TEMPLATES
from sparkcep.sql.templates.funnel import MODES
from sparkcep.sql.templates.template import Arguments, FunnelStep, Log, Template, column_of

_QUERY = ("SELECT", "WITH", "FROM", "VALUES", "TABLE")
_HEADS = (("PARTITION", "BY"), ("DISTRIBUTE", "BY"), ("ORDER", "BY"), ("EVENT", "TYPE"))


@dataclass(frozen=True, slots=True)
class TemplateLog:
    """A log as a call names it. ``name``: of a table. ``with_prefix``: the statement's WITH, which goes before SQL that
    reads the log. ``error``: makes an error of a class, a sentence and a hint."""

    name: tuple[str, ...] | None
    relation: str
    with_prefix: str
    error: Callable[[str, str, str | None], PatternAnalysisError]


@dataclass(frozen=True, slots=True)
class Expanded:
    """A statement's text with one call replaced. ``start`` to ``end``: the call's span in the text before. ``sql``:
    what takes its place. ``relation``: the log in both, which was at ``relation_start``. ``call``: the call's text."""

    text: str
    start: int
    end: int
    sql: str
    relation: str
    relation_start: int
    call: str

    def place(self, position: int) -> int:
        """Where an offset of the text was before; a word that is not in the call has the call's place."""
        inside = position - self.start
        if inside < 0:
            return position
        if inside >= len(self.sql):
            return inside - len(self.sql) + self.end
        begins = self.sql.startswith(self.relation)
        copied = inside - (0 if begins else self.sql.index(f"FROM {self.relation}") + len("FROM "))
        if 0 <= copied < len(self.relation):
            return self.relation_start + copied
        word = re.match(r"\w+|`[^`]*`", self.sql[inside:])
        behind = self.relation_start + len(self.relation) - self.start
        named = re.compile(rf"(?<!\w){re.escape(word[0])}(?!\w)").search(self.call, behind) if word else None
        return self.start if named is None else self.start + named.start()


def expand(
    statement: Statement, form: PatternOccurrence, log_columns: Callable[[TemplateLog], LogColumns], *, formatted: bool
) -> Expanded:
    """Put what a template stands for in the place of its call.

    Args:
        log_columns: what is told of a log's columns beside the call.
        formatted: whether the statement is a format string, in which braces are doubled.

    Raises:
        PatternAnalysisError, PatternParseError: CEP_TEMPLATE_ARGUMENT, CEP_LOG_COLUMNS, CEP_SYNTAX_ERROR, and those of
            :meth:`LogColumns.of` and :func:`read_call`.
    """
    call = read_call(statement, form)
    return _Expansion(statement, form, call, log_columns, formatted).expanded()


@dataclass(frozen=True, slots=True)
class _Expansion:
    s: Statement
    form: PatternOccurrence
    call: Call
    log_columns: Callable[[TemplateLog], LogColumns]
    formatted: bool

    def error(self, message: str, position: int, hint: str | None = None) -> PatternAnalysisError:
        return PatternAnalysisError("CEP_TEMPLATE_ARGUMENT", message, text=self.s.text, position=position, hint=hint)

    def expanded(self) -> Expanded:
        template = TEMPLATES[self.call.function]
        log = self.log()
        arguments = self.of_funnel() if "steps" in template.parameters else self.of_constraint(template)
        sql = template.sql(log, arguments)
        text = self.s.text[: self.form.start] + sql + self.s.text[self.form.end :]
        start, end = self.form.start, self.form.end
        return Expanded(text, start, end, sql, log.relation, log.start, self.s.text[start:end])

    # -- arguments -------------------------------------------------------------------------------------------------

    def of_constraint(self, template: Template) -> Arguments:
        types = {name: self.event_type(name) for name in ("a", "b") if name in self.call.arguments}
        if len(set(types.values())) < len(types) and template.name.startswith("declare_"):
            raise self.error(
                "a and b are the same event type.", self.place("b"), "a constraint relates two event types"
            )
        return Arguments(a=types["a"], b=types.get("b", ""), n=self.number(template.least), end=self.column("end"))

    def of_funnel(self) -> Arguments:
        steps = self.steps()
        within, mode = "", MODES[0]
        if "within" in self.call.arguments:
            low, high = self.call.arguments["within"]
            within = self.s.written(low, high)
            if high - low == 1 and self.s.tokens[low].kind == "string":
                raise self.error(
                    "within is an interval, not a string.", self.place("within"), "within => INTERVAL 1 HOUR"
                )
        if "mode" in self.call.arguments:
            mode = str(plain_literal(self.s, *self.call.arguments["mode"])).lower()
            if mode not in MODES:
                raise self.error(f"There is no mode {mode}.", self.place("mode"), f"the modes are {', '.join(MODES)}")
        if mode in ("in_order", "any_order") and len({s.condition for s in steps}) < len(steps):
            raise self.error(
                f"Two steps are the same, and under {mode} one event serves both.", self.place("steps"),
                "mode => 'strict_once' takes an event for each step",
            )  # fmt: skip
        return Arguments(steps=steps, within=within, mode=mode)

    def steps(self) -> tuple[FunnelStep, ...]:
        """Steps in ARRAY(...) or parentheses: event types, or conditions on one event, which AS may name."""
        s, (low, high) = self.s, self.call.arguments["steps"]
        low += s.word(low) == "ARRAY"
        ranges = s.between_commas(low + 1, high - 1) if s.pairs.get(low) == high - 1 else []
        if not ranges or any(a == b for a, b in ranges):
            raise self.error(
                "steps are event types or conditions, separated by commas.", self.place("steps"),
                "steps => ARRAY('visit', 'order', event = 'pay' AND amount > 100 AS large_payment)",
            )  # fmt: skip
        out = []
        for first, end in ranges:
            named = end - first > 2 and s.word(end - 2) == "AS"
            last = end - 2 if named else end
            is_type = last - first == 1 and s.tokens[first].kind == "string"
            text = self.s.written(first, last)
            name = string_literal(s.tokens[end - 1].text) if named else text if is_type else string_literal(text)
            out.append(FunnelStep(text, is_type, name))
        return tuple(out)

    def place(self, parameter: str) -> int:
        return self.s.tokens[self.call.arguments[parameter][0]].start

    def event_type(self, parameter: str) -> str:
        low, high = self.call.arguments[parameter]
        if high - low != 1 or self.s.tokens[low].kind != "string":
            raise self.error(
                f"{parameter} is an event type, as a string.",
                self.place(parameter),
                "write 'receive'; of a condition make a type: TABLE(SELECT *, IF(x > 9, 'big', 'small') AS t FROM log)",
            )
        return self.s.written(low, high)

    def number(self, least: int) -> int:
        if "n" not in self.call.arguments:
            return 1
        low, high = self.call.arguments["n"]
        found = plain_literal(self.s, low, high)
        if not isinstance(found, int) or found < least:
            raise self.error(f"n is a whole number from {least}.", self.place("n"), "n => 2")
        return found

    def column(self, parameter: str) -> str:
        if parameter not in self.call.arguments:
            return ""
        low, high = self.call.arguments[parameter]
        if high - low != 1 or self.s.tokens[low].kind not in ("word", "quoted"):
            raise self.error(f"{parameter} is a column of the log.", self.place(parameter))
        return self.s.written(low, high)

    # -- the log ---------------------------------------------------------------------------------------------------

    def log(self) -> Log:
        low, high = self.call.arguments["log"]
        heads = [
            i for i in range(low, high) if (self.s.word(i), self.s.word(i + 1)) in _HEADS and self.is_outside(low, i)
        ]
        behind = heads[0] if heads else high
        span = self.relation(low, behind)
        found: dict[str, list[str]] = {}
        for at, end in pairwise([*heads, high]):
            word = "PARTITION" if self.s.word(at) == "DISTRIBUTE" else self.s.word(at)
            if word in found:
                raise PatternParseError(
                    "CEP_DUPLICATE_CLAUSE", f"{word} {self.s.word(at + 1)} is given twice.", text=self.s.text,
                    position=self.s.tokens[at].start,
                )  # fmt: skip
            found[word] = self.keys(at + 2, end, word == "ORDER")
        return self.with_roles(span, self.name(low, behind), found)

    def is_outside(self, low: int, i: int) -> bool:
        """Whether a token of the argument is in no parentheses of it."""
        return not any(low <= opens < i < close for opens, close in self.s.pairs.items())

    def name(self, low: int, high: int) -> tuple[str, ...] | None:
        """The table's name; None for a query, and for what a WITH defines."""
        parts = relation_name(self.s, low, high)
        common = {t.name.casefold() for scope in self.form.scopes for t in scope}
        return None if parts is None or (len(parts) == 1 and parts[0].casefold() in common) else parts

    def relation(self, low: int, high: int) -> tuple[int, int]:
        """Tokens of the log as a FROM may have it: a name, or a query in parentheses."""
        s = self.s
        if s.word(low) == "TABLE" and (s.pairs.get(low + 1) == high - 1 or relation_name(s, low, high)):
            low += 1
        if s.operator(low) == "(" and s.pairs.get(low) == high - 1:
            query = s.word(low + 1) in _QUERY or s.operator(low + 1) == "("
            return (low, high) if query else (low + 1, high - 1)
        if relation_name(s, low, high):
            return low, high
        raise self.error(
            "The log is a table, a view, or a query in parentheses.", s.tokens[low].start,
            f"{self.call.function}(TABLE(orders) PARTITION BY order_id ORDER BY time EVENT TYPE activity, ...)",
        )  # fmt: skip

    def keys(self, low: int, high: int, ordered: bool) -> list[str]:
        """Columns of a head, in parentheses where they are several, as Spark writes them in a table argument."""
        s = self.s
        if s.operator(low) == "(" and s.pairs.get(low) == high - 1:
            low, high = low + 1, high - 1
        out: list[str] = []
        begin = low
        for i in range(low, high + 1):
            if i == high or s.operator(i) == ",":
                words = [s.word(k) for k in range(begin + 1, i)]
                if ordered and words[:1] == ["ASC"]:
                    words = words[1:]
                is_order = ordered and words in ([], ["NULLS", "FIRST"], ["NULLS", "LAST"])
                if begin >= i or s.tokens[begin].kind not in ("word", "quoted") or not (is_order or not words):
                    at = s.tokens[min(begin, len(s.tokens) - 1)].start
                    raise self.error(
                        "A column is expected here" + (", in ascending order." if ordered else "."),
                        at,
                        "compute it below: TABLE(SELECT *, expression AS name FROM t)",
                    )
                out.append(self.s.written(begin, i))
                begin = i + 1
        return out

    def check_column(self, text: str, known: LogColumns) -> None:
        """Raises CEP_UNRESOLVED_COLUMN where the log has no column of this name."""
        word = column_of(text)
        if not known.is_column(word[1:-1].replace("``", "`") if word.startswith("`") else word):
            names = known.columns()
            place = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)").search(self.s.text, self.place("log"))
            raise PatternAnalysisError(
                "CEP_UNRESOLVED_COLUMN", f"The log has no column {word}.", text=self.s.text,
                position=place.start() if place else self.place("log"),
                hint=near_hint(word, names, f"its columns are {', '.join(names)}"),
            )  # fmt: skip

    def with_roles(self, span: tuple[int, int], name: tuple[str, ...] | None, named: Mapping[str, list[str]]) -> Log:
        """The log's columns: those that the call names, else those of the table's properties, else of the settings."""

        def error(error_class: str, sentence: str, hint: str | None) -> PatternAnalysisError:
            return PatternAnalysisError(error_class, sentence, text=self.s.text, position=self.place("log"), hint=hint)

        prefix = Rewriter(self.s).with_prefix(self.form)
        known = self.log_columns(TemplateLog(name, self.s.written(*span), prefix, error))

        if "steps" in self.call.arguments:  # Spark would take `user` for its function; patterns are bound by themselves
            for text in (item for items in named.values() for item in items):
                self.check_column(text, known)

        def outside(role: str, *, needed: bool = True) -> list[str]:
            return [quote(n) if self.formatted else in_backticks(n) for n in known.of(role, needed=needed)]

        partition = named.get("PARTITION") or outside("case", needed="ORDER" not in named)
        order = [*(named.get("ORDER") or outside("time")), *outside("tiebreak", needed=False)]
        event = named.get("EVENT") or outside("event")
        for note in known.notes:
            warn(note)
        missing = [what for what, has in (("order", order), ("event type column", event)) if not has]
        if missing or len(event) > 1:
            raise error(
                "CEP_LOG_COLUMNS",
                f"The log has no {' and no '.join(missing) or 'single event type column'}.",
                f"write {self.call.function}(TABLE(t) PARTITION BY case ORDER BY time EVENT TYPE type, ...), or "
                "set the table's properties sparkcep.case, sparkcep.time, sparkcep.tiebreak and sparkcep.event, or "
                "spark.sparkcep.log.case, .time, .tiebreak and .event",
            )
        return Log(
            self.s.written(*span),
            tuple(partition),
            tuple(order),
            event[0],
            self.formatted,
            self.s.tokens[span[0]].start,
        )
