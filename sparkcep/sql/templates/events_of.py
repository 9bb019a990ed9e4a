"""FROM EVENTS OF (logins AS Login (user_id, at), ...): steps of a pattern from several tables.

It stands for a union by name of the sources, with the source's name as event type. The first source names the columns
of case and time; what a source does not have is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sparkcep.errors import PatternAnalysisError, PatternParseError
from sparkcep.query import in_backticks, plain_literal, quote, string_literal
from sparkcep.sql.block.parser import parse_block
from sparkcep.sql.rewriter import Rewriter
from sparkcep.sql.statement import OccurrenceKind, PatternOccurrence, Statement
from sparkcep.sql.templates.expansion import Expanded
from sparkcep.sql.token_text import Range

#: How it begins.
EVENTS = "EVENTS"
_HINT = (
    "FROM EVENTS OF (logins AS Login (user_id, at), payments AS Payment (payer, paid_at)) "
    "PATTERN SEQ(Login l, Payment p)"
)


@dataclass(frozen=True, slots=True)
class _Source:
    """``relation``: its tokens. ``name``: the event type. ``case``, ``time``: names of columns, as they are written.
    ``columns``: all that it has."""

    relation: Range
    name: str
    case: str
    time: str
    columns: Sequence[str]
    position: int


def expand_events(
    statement: Statement, form: PatternOccurrence, columns: Callable[[str], Sequence[str]], *, formatted: bool
) -> Expanded:
    """Put the union in the place of EVENTS OF, with the head of the block whose relation it is.

    Args:
        columns: names of the columns of a query.
        formatted: whether the statement is a format string, in which braces are doubled.

    Raises:
        PatternParseError: CEP_SYNTAX_ERROR.
        PatternAnalysisError: CEP_UNRESOLVED_COLUMN, CEP_DUPLICATE_COLUMN, CEP_EVENT_SOURCES.
    """
    return _Expansion(statement, form, columns, formatted).expanded()


@dataclass(frozen=True, slots=True)
class _Expansion:
    s: Statement
    form: PatternOccurrence
    columns: Callable[[str], Sequence[str]]
    formatted: bool

    def error(self, kind: str, message: str, at: int, hint: str = _HINT) -> PatternAnalysisError:
        return PatternAnalysisError(kind, message, text=self.s.text, position=self.s.tokens[at].start, hint=hint)

    def expanded(self) -> Expanded:
        """See :func:`expand_events`."""
        sources = [self.source(*span) for span in self.s.between_commas(*self.form.body)]
        names = [source.name for source in sources]
        if len(set(names)) < len(names):
            again = next(s for n, s in enumerate(sources) if s.name in names[:n])
            raise self.error("CEP_EVENT_SOURCES", f"Two sources are called {again.name}.", again.position)
        case, time = sources[0].case, sources[0].time
        self.check_roles(sources)
        known = {c.casefold(): c for source in reversed(sources) for c in source.columns}
        own = {case.casefold(), time.casefold()}
        others = [c for s in sources for c in s.columns if c.casefold() not in own]
        others = list(dict.fromkeys(known[c.casefold()] for c in others))
        event = next(n for n in ("event_type", *(f"event_type_{k}" for k in range(2, 99))) if n not in known)
        queries = []
        for source in sources:
            has = {c.casefold() for c in source.columns}
            items = [
                f"{self.quoted(source.case)} AS {self.quoted(case)}",
                f"{self.quoted(source.time)} AS {self.quoted(time)}",
            ]
            items += [self.quoted(c) if c.casefold() in has else f"NULL AS {self.quoted(c)}" for c in others]
            items.append(f"{self.literal(source.name)} AS {event}")
            queries.append(f"SELECT {', '.join(items)} FROM {self.s.written(*source.relation)}")
        block = next((f for f in self.s.forms if f.relation_tokens[0] == self.form.head[0]), None)
        sql, end = f"({' UNION ALL '.join(queries)})", self.form.end
        if block is not None and block.kind is OccurrenceKind.BLOCK:
            end = block.relation_end
            syntax = parse_block(self.s, block)
            sql += self.s.text[self.form.end : end]
            sql += "" if syntax.partition_by else f" PARTITION BY {self.quoted(case)}"
            sql += "" if syntax.order_by else f" ORDER BY {self.quoted(time)}"
            sql += "" if syntax.event_type else f" EVENT TYPE {event}"
        text = self.s.text[: self.form.start] + sql + self.s.text[end:]
        first = self.s.tokens[sources[0].relation[0]].start
        return Expanded(
            text,
            self.form.start,
            end,
            sql,
            self.s.written(*sources[0].relation),
            first,
            self.s.text[self.form.start : end],
        )

    def source(self, low: int, high: int) -> _Source:
        """`relation [AS] Name (case, time)`"""
        s = self.s
        opens = s.opening(high - 1) if high > low else -1
        name = opens - 1
        roles = s.between_commas(opens + 1, high - 1) if opens > low else []
        plain = all(b - a == 1 and s.tokens[a].kind in ("word", "quoted") for a, b in roles)
        relation = (low, name - (s.word(name - 1) == "AS"))
        if len(roles) != 2 or not plain or s.tokens[name].kind not in ("word", "quoted") or relation[1] <= low:
            raise PatternParseError(
                "CEP_SYNTAX_ERROR", "A source of EVENTS OF is a relation, its name and the columns of case and time.",
                text=s.text, position=s.tokens[min(low, len(s.tokens) - 1)].start, hint=_HINT,
            )  # fmt: skip
        columns = self.columns(Rewriter(s).query_over(self.form, self.s.written(*relation)))
        case, time = (self.column(a, columns) for a, _ in roles)
        return _Source(relation, s.tokens[name].text, case, time, columns, name)

    def column(self, at: int, columns: Sequence[str]) -> str:
        name = self.s.tokens[at].text
        found = next((c for c in columns if c.casefold() == name.casefold()), None)
        if found is None:
            hint = f"its columns are {', '.join(columns)}"
            raise self.error("CEP_UNRESOLVED_COLUMN", f"The source has no column {name}.", at, hint)
        return found

    def check_roles(self, sources: Sequence[_Source]) -> None:
        """Raises CEP_DUPLICATE_COLUMN for a column that would be hidden by another source's case or time."""
        for role in ("case", "time"):
            name = getattr(sources[0], role)
            for source in sources[1:]:
                has = name.casefold() in {c.casefold() for c in source.columns}
                if has and getattr(source, role).casefold() != name.casefold():
                    raise self.error(
                        "CEP_DUPLICATE_COLUMN",
                        f"The {role} is called {name}, as in the first source; in {source.name} it is another column.",
                        source.position,
                        f"give it another name: (SELECT * EXCEPT ({name}), {name} AS other FROM ...) AS {source.name}",
                    )

    def quoted(self, name: str) -> str:
        return quote(name) if self.formatted else in_backticks(name)

    def literal(self, name: str) -> str:
        return string_literal(name) if self.formatted else plain_literal(name)
