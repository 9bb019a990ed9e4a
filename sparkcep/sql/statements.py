"""Find pattern forms in a statement: spans of the input relation and of the clause, nested and side by side.

FROM items are scanned forwards, since a relation's start cannot be found backwards (`VALUES ... t(x)`).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

from sparkcep.sql.dialect import Token, pair_parentheses, tokenize

_ENDS_RELATION = frozenset(
    "WHERE GROUP ORDER HAVING SELECT LIMIT OFFSET WINDOW UNION INTERSECT EXCEPT MINUS QUALIFY SORT CLUSTER DISTRIBUTE "
    "ON SET WHEN RETURNING".split()
)


_UNITS = frozenset("DAY DAYS HOUR HOURS MINUTE MINUTES SECOND SECONDS MONTH MONTHS YEAR YEARS WEEK WEEKS TO".split())


def mentions_pattern(text: str) -> bool:
    """Whether the text can hold a pattern form at all. If not, the statement is none of ours and is never tokenised."""
    return "match_recognize" in text.lower()  # ten times as fast as a regular expression without case


@dataclass(frozen=True, slots=True)
class CommonTable:
    """One definition of a WITH list: its name, and its span from the name to the closing parenthesis."""

    name: str
    start: int
    end: int
    recursive: bool


@dataclass(slots=True)
class Form:
    """One row pattern clause.

    ``start`` to ``relation_end`` is the input relation's text, ``body`` the token range between the clause's
    parentheses, ``end`` the offset behind the closing one. ``scopes`` are the WITH lists in sight, outermost first.
    """

    start: int
    relation_tokens: tuple[int, int]
    keyword: Token
    body: tuple[int, int]
    end: int
    scopes: tuple[tuple[CommonTable, ...], ...]

    @property
    def relation_end(self) -> int:
        return self.keyword.start


@dataclass(slots=True)
class Statement:
    """A tokenised statement with its forms in order of their ends, so that inner forms come first."""

    text: str
    tokens: tuple[Token, ...]
    pairs: dict[int, int]
    forms: list[Form] = field(default_factory=list)

    def word(self, index: int) -> str:
        """Upper-case word at a token index, empty for anything else and out of range."""
        if 0 <= index < len(self.tokens) and self.tokens[index].kind == "word":
            return self.tokens[index].upper
        return ""

    def operator(self, index: int) -> str:
        if 0 <= index < len(self.tokens) and self.tokens[index].kind == "op":
            return self.tokens[index].upper
        return ""


@functools.lru_cache(maxsize=64)
def read_statement(text: str) -> Statement:
    """Tokenise a statement and find its pattern forms. Whoever gets it only reads it."""
    tokens = tokenize(text)
    statement = Statement(text, tokens, pair_parentheses(tokens))
    _Scanner(statement).level(0, len(tokens), ())
    statement.forms.sort(key=lambda f: f.end)
    return statement


class _Scanner:
    def __init__(self, statement: Statement) -> None:
        self.s = statement
        self.is_merge = statement.word(0) == "MERGE"

    def level(self, low: int, high: int, scopes: tuple[tuple[CommonTable, ...], ...]) -> None:
        """Scan one nesting level; parenthesised parts are levels of their own."""
        s = self.s
        relation: int | None = None
        in_from = False
        own: tuple[CommonTable, ...] = ()
        i = low
        while i < high:
            word, op = s.word(i), s.operator(i)
            if op == "(":
                close = s.pairs.get(i, high)
                self.level(i + 1, min(close, high), (*scopes, own) if own else scopes)
                i = close + 1
                continue
            if op == ";":
                relation, in_from, own = None, False, ()
            elif op == ",":
                if not (relation is not None and self.is_values_row(relation, i)):
                    relation = i + 1 if in_from else None
            elif op == "|>":
                relation, in_from = None, False
            elif word == "WITH" and (found := self.with_list(i, high, scopes)):
                own, i = found
                continue
            elif word == "FROM" or (word == "USING" and self.is_merge):
                relation, in_from = i + 1, True
            elif word == "JOIN":
                relation = i + 1
            elif word == "MATCH_RECOGNIZE" and relation is not None and relation < i and self.is_clause(i):
                close = s.pairs[i + 1]
                inner = (*scopes, own) if own else scopes
                s.forms.append(
                    Form(
                        start=s.tokens[relation].start,
                        relation_tokens=(relation, i),
                        keyword=s.tokens[i],
                        body=(i + 2, close),
                        end=s.tokens[close].end,
                        scopes=inner,
                    )
                )
                self.level(i + 2, close, inner)
                i = close + 1
                continue
            elif word in _ENDS_RELATION or (word == "USING" and not self.is_merge):
                relation = None
                in_from = in_from and word == "ON"
            i += 1

    def is_values_row(self, start: int, comma: int) -> bool:
        """Whether a comma stands between rows of `VALUES (1, 2), (3, 4) [AS] t(a, b)`, not behind its alias."""
        s = self.s
        if s.word(start) != "VALUES":
            return False
        i = start + 1
        while i < comma:
            if s.operator(i) == "(":
                i = s.pairs.get(i, comma)
            elif s.word(i) == "AS":
                return False
            elif s.tokens[i].kind in ("word", "quoted") and s.word(i) not in _UNITS:
                # A name right behind a row is the alias; elsewhere it begins an expression (NULL, DATE'...').
                behind = s.tokens[i - 1]
                if behind.upper == ")" or behind.kind in ("number", "string"):
                    return False
            i += 1
        return True

    def is_clause(self, index: int) -> bool:
        """`t match_recognize (a, b)` is Spark's alias with column names; anything else in the parentheses is ours."""
        close = self.s.pairs.get(index + 1)
        if self.s.operator(index + 1) != "(" or close is None:
            return False
        inner = self.s.tokens[index + 2 : close]
        return not (inner and all(t.kind in ("word", "quoted") or t.upper == "," for t in inner) and _is_list(inner))

    def with_list(
        self, index: int, high: int, scopes: tuple[tuple[CommonTable, ...], ...]
    ) -> tuple[tuple[CommonTable, ...], int] | None:
        """The definitions of `WITH [RECURSIVE] name [(columns)] AS (query), ...` and the index behind them."""
        s = self.s
        recursive = s.word(index + 1) == "RECURSIVE" and s.operator(index + 2) != "AS"
        i = index + 2 if recursive else index + 1
        own: tuple[CommonTable, ...] = ()
        while i < high and s.tokens[i].kind in ("word", "quoted"):
            name = i
            i += 1
            if s.operator(i) == "(":
                i = s.pairs.get(i, high) + 1
            if s.word(i) == "MAX" and s.word(i + 1) == "RECURSION":
                i += 4
            if s.word(i) == "AS":
                i += 1
            if s.operator(i) != "(" or i not in s.pairs or (i == name + 1 and s.word(i + 1) not in ("SELECT", "FROM")):
                break
            close = s.pairs[i]
            self.level(i + 1, close, (*scopes, own) if own else scopes)
            own = (*own, CommonTable(s.tokens[name].text, s.tokens[name].start, s.tokens[close].end, recursive))
            i = close + 1
            if s.operator(i) != ",":
                return own, i
            i += 1
        return (own, i) if own else None


def _is_list(tokens: tuple[Token, ...]) -> bool:
    return len(tokens) % 2 == 1 and all((t.upper == ",") == (k % 2 == 1) for k, t in enumerate(tokens))
