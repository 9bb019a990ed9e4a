"""Queries whose rows come one by one from the rows of their first relation, read from their text.

What is read is SELECT over a name, an argument or such a query again, with WHERE, joins that keep each row of that
relation, LATERAL VIEW, DISTINCT, ORDER BY, LIMIT and WITH lists. Anything else is refused, and so is a word that begins
a clause where it may also be a name: who asks must be sure that Spark reads the text in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from sparkcep.errors import PatternParseError
from sparkcep.sql.lexicon import Token, pair_parentheses, parse_expression, tokenize
from sparkcep.sql.token_text import TokenText

#: Words that begin a clause; as names they are read in backticks only.
_CLAUSES = frozenset(
    "SELECT FROM WHERE GROUP HAVING ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET WINDOW QUALIFY UNION INTERSECT EXCEPT "
    "MINUS SETMINUS LATERAL JOIN PIVOT UNPIVOT TABLESAMPLE MATCH_RECOGNIZE ON USING NATURAL STREAM VALUES".split()
)
_JOIN_WORDS = frozenset("INNER CROSS LEFT RIGHT FULL OUTER SEMI ANTI NATURAL JOIN".split())
#: Joins whose rows all have a row of their left side, and whether they add columns and may repeat that row.
_JOINS = {
    "JOIN": True, "INNER JOIN": True, "CROSS JOIN": True, "LEFT JOIN": True, "LEFT OUTER JOIN": True,
    "SEMI JOIN": False, "LEFT SEMI JOIN": False, "ANTI JOIN": False, "LEFT ANTI JOIN": False,
}  # fmt: skip
#: Words that are neither a relation's name nor its alias.
_NO_RELATIONS = (
    _CLAUSES | _JOIN_WORDS | frozenset("AS FOR VERSION TIMESTAMP SYSTEM_VERSION SYSTEM_TIME WITH TABLE".split())
)
#: Words that Spark's parser takes for constants, at least in some of its modes.
_CONSTANTS = frozenset(
    "NULL TRUE FALSE DEFAULT USER CURRENT_USER SESSION_USER CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP LOCALTIME "
    "LOCALTIMESTAMP".split()
)
#: Clauses behind WHERE that take away some rows, or none.
_TAKE_AWAY = frozenset("ORDER SORT LIMIT OFFSET".split())
_TWO_WORDS = frozenset("GROUP CLUSTER DISTRIBUTE".split())


class NotPlain(Exception):
    """What a query has by which its rows may not come one by one from those of its first relation."""


@dataclass(frozen=True, slots=True)
class Item:
    """What a SELECT lists: the ``text`` of an expression and its ``name``, None where Spark finds one.

    ``column``: parts of a column's name, where it is nothing but that, in backticks (``quoted``) or without. ``star``:
    whether it is `*`, of the relation whose name ``column`` is.
    """

    text: str
    name: str | None = None
    column: tuple[str, ...] | None = None
    quoted: bool = False
    star: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """A relation by the parts of its name. ``text``: as it is written."""

    parts: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Argument:
    """A relation that is an argument of the statement: `{name}`."""

    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """A query over ``relation``.

    ``alias``: by which its columns may be called; ``names``: those that the alias gives them. ``commons``: the WITH
    list before the query. ``where``: the text of a condition. ``whole``: whether nothing else decides which rows there
    are. ``repeats``: whether a row of the relation may come more than once. ``more``: whether other columns follow
    those of the relation.
    """

    items: tuple[Item, ...]
    relation: Named | Argument | Select
    alias: str | None = None
    names: tuple[str, ...] | None = None
    commons: tuple[Common, ...] = ()
    where: str | None = None
    whole: bool = True
    repeats: bool = False
    more: bool = False


@dataclass(frozen=True, slots=True)
class Common:
    """A definition of a WITH list. ``names``: those that it gives its columns. ``query``: why it cannot be read, or the
    query."""

    name: str
    names: tuple[str, ...] | None
    query: Select | str


def plain_select(text: str) -> Select:
    """A query as it is written.

    >>> found = plain_select("SELECT k AS id, l.* FROM log AS l WHERE v > 2")
    >>> found.relation, found.alias, found.where, [item.column for item in found.items]
    (Named(parts=('log',), text='log'), 'l', 'v > 2', [('k',), ('l',)])

    Raises:
        NotPlain: its rows may not come one by one from those of its first relation, or it cannot be read.
    """
    if "${" in text:
        raise NotPlain("${...}, which Spark puts other text for")
    try:
        tokens = tokenize(text)
    except PatternParseError:
        raise NotPlain("a text that is not closed") from None
    if any(t.kind == "op" and t.text.startswith("/*+") for t in tokens):
        raise NotPlain("a hint")
    return _Reader(text, tokens, pair_parentheses(tokens)).query(0, len(tokens))


def column_of(tokens: tuple[Token, ...]) -> tuple[str, ...] | None:
    """The parts of the name that some tokens are nothing but; None where they may be something else."""
    names = tokens[::2]
    if len(tokens) % 2 == 0 or any(t.kind != "op" or t.upper != "." for t in tokens[1::2]):
        return None
    if not all(_is_name(t) and t.upper not in _CLAUSES for t in names):
        return None
    return None if len(names) == 1 and names[0].upper in _CONSTANTS else tuple(t.text for t in names)


def name_parts(text: str) -> tuple[str, ...] | None:
    """The parts of the name that a text is nothing but; None where it may be something else."""
    try:
        return column_of(tokenize(text))
    except PatternParseError:
        return None


def _is_name(token: Token) -> bool:
    # In backticks some characters are doubled, and braces are where Spark formats the text.
    return token.kind in ("word", "quoted") and bool(token.text) and not any(c in token.text for c in "`{}")


@dataclass(slots=True)
class _Reader(TokenText):
    def first(self, words: frozenset[str], low: int, high: int) -> int:
        """The first token of a range, outside of parentheses, that is one of some words; its end where none is."""
        while low < high and self.word(low) not in words:
            operator = self.operator(low)
            if operator in ("|>", ";", ")") or (operator == "(" and low not in self.pairs):
                raise NotPlain(operator)
            low = self.pairs.get(low, low) + 1
        return low

    def query(self, low: int, high: int) -> Select:
        """The query that a range of tokens is."""
        low, high = self.inside(low, high)
        commons: list[Common] = []
        if self.word(low) == "WITH":
            low = self.commons(low + 1, high, commons)
        if self.word(low) != "SELECT" or low >= high:
            raise NotPlain("no SELECT")
        return replace(self.select(low + 1, high), commons=tuple(commons))

    def commons(self, at: int, high: int, commons: list[Common]) -> int:
        """Read the definitions of a WITH list.

        Returns:
            The token behind it.
        """
        while True:
            if at >= high or not _is_name(self.tokens[at]):
                raise NotPlain("a WITH list that cannot be read")
            name, at = self.tokens[at].text, at + 1
            names = None
            if self.operator(at) == "(":
                names, at = self.names(at)
            close = self.pairs.get(at + 1, high)
            if self.word(at) != "AS" or self.operator(at + 1) != "(" or close >= high:
                raise NotPlain("a WITH list that cannot be read")
            try:
                commons.append(Common(name, names, self.query(at + 2, close)))
            except NotPlain as error:
                commons.append(Common(name, names, str(error)))
            at = close + 1
            if self.operator(at) != ",":
                return at
            at += 1

    def names(self, at: int) -> tuple[tuple[str, ...], int]:
        """The names in the parentheses that open at a token, and the token behind them."""
        close = self.pairs.get(at, len(self.tokens))
        own = self.tokens[at + 1 : close]
        if len(own) % 2 == 0 or any(t.upper != "," for t in own[1::2]) or not all(map(_is_name, own[::2])):
            raise NotPlain("a list of column names that cannot be read")
        return tuple(t.text for t in own[::2]), close + 1

    def select(self, at: int, high: int) -> Select:
        """The query whose SELECT is before a token."""
        whole = True
        if self.word(at) in ("DISTINCT", "ALL"):
            whole, at = self.word(at) == "ALL", at + 1
        source = self.first(_CLAUSES, at, high)
        if self.word(source) != "FROM" or source >= high:
            raise NotPlain("no FROM" if source >= high else self.clause(source))
        items = tuple(self.item(*own) for own in self.between_commas(at, source))
        relation, at = self.relation(source + 1, high)
        alias, names, at = self.alias(at, high)
        if alias is None and isinstance(relation, Named):
            alias = relation.parts[-1]
        found = Select(items, relation, alias, names, whole=whole)
        found, at = self.joined(found, at, high)
        if self.word(at) == "WHERE" and at < high:
            end = self.first(_CLAUSES, at + 1, high)
            found = replace(found, where=self.condition(at + 1, end))
            at = end
        if at < high:
            if self.word(at) not in _TAKE_AWAY:
                raise NotPlain(self.clause(at))
            other = self.first(_CLAUSES - _TAKE_AWAY, at, high)
            if other < high:
                raise NotPlain(self.clause(other))
            found = replace(found, whole=False)
        return found

    def clause(self, at: int) -> str:
        """What stands where nothing that is read does."""
        word = self.word(at)
        return f"{word} BY" if word in _TWO_WORDS else word or self.tokens[at].text

    def condition(self, low: int, high: int) -> str:
        text = self.written(low, high)
        if parse_expression(text) is None:
            raise NotPlain("a condition that cannot be read")
        return text

    # -- FROM ------------------------------------------------------------------------------------------------------

    def relation(self, at: int, high: int) -> tuple[Named | Argument | Select, int]:
        """The relation that begins at a token, and the token behind it."""
        if self.operator(at) == "(":
            close = self.pairs.get(at, high)
            if close >= high or not (self.word(at + 1) in ("SELECT", "WITH") or self.operator(at + 1) == "("):
                raise NotPlain("a relation in parentheses")
            return self.query(at + 1, close), close + 1
        if self.operator(at) == "{" and self.operator(at + 2) == "}" and self.word(at + 1):
            return Argument(self.tokens[at + 1].text), at + 3
        end = at
        while end < high and _is_name(self.tokens[end]) and self.word(end) not in _NO_RELATIONS:
            end += 1
            if self.operator(end) != ".":
                break
            end += 1
        parts = tuple(t.text for t in self.tokens[at:end:2])
        if not parts or self.operator(end - 1) == "." or self.operator(end) == "(":
            raise NotPlain("a relation that is no name" if self.operator(end) != "(" else "a table function")
        return Named(parts, self.written(at, end)), end

    def alias(self, at: int, high: int) -> tuple[str | None, tuple[str, ...] | None, int]:
        """The alias that begins at a token with its columns' names, and the token behind it."""
        marked = self.word(at) == "AS" and at < high
        at += marked
        if at >= high or not _is_name(self.tokens[at]) or self.word(at) in _NO_RELATIONS:
            if marked or self.operator(at) == "(":
                raise NotPlain("an alias that cannot be read")
            return None, None, at
        alias, at = self.tokens[at].text, at + 1
        if self.operator(at) == "(" and at < high:
            names, at = self.names(at)
            return alias, names, at
        return alias, None, at

    def joined(self, select: Select, at: int, high: int) -> tuple[Select, int]:
        """A query with the joins and views of its rows that begin at a token, and the token behind them."""
        behind = _CLAUSES | _JOIN_WORDS
        while at < high and (self.word(at) == "LATERAL" or self.word(at) in _JOIN_WORDS):
            if self.word(at) == "LATERAL":
                if self.word(at + 1) != "VIEW":
                    raise NotPlain("LATERAL")
                start = at + 2 + (self.word(at + 2) == "OUTER")
                at = self.first(behind, start, high)
                select = replace(select, whole=False, repeats=True, more=True)
            else:
                start = at
                while at < high and self.word(at) in _JOIN_WORDS:
                    at += 1
                kind = " ".join(self.word(k) for k in range(start, at))
                if kind not in _JOINS:
                    raise NotPlain(kind)
                start, at = at, self.first(behind, at + (self.word(at) == "VALUES"), high)
                adds = _JOINS[kind]
                select = replace(select, whole=False, repeats=select.repeats or adds, more=select.more or adds)
                if self.word(at) == "ON" and start < at < high:
                    end = self.first(behind, at + 1, high)
                    self.condition(at + 1, end)
                    at = end
            if at == start:
                raise NotPlain("a FROM that cannot be read")
        return select, at

    # -- SELECT ----------------------------------------------------------------------------------------------------

    def item(self, low: int, high: int) -> Item:
        """What a range of tokens lists."""
        text = self.written(low, high)
        if self.operator(high - 1) == "*" and low < high and (high - low == 1 or self.operator(high - 2) == "."):
            of = () if high - low == 1 else column_of(self.tokens[low : high - 2])
            if of is None:
                raise NotPlain("a * that cannot be read")
            return Item(text, column=of, star=True)
        if self.word(high - 2) == "AS" and high - low > 2:
            name, high = self.name(high - 1), high - 2
            tree = parse_expression(self.written(low, high))
        else:
            name, tree = None, parse_expression(text) if low < high else None
            if tree is None and high - low > 1:
                name, high = self.name(high - 1), high - 1
                tree = parse_expression(self.written(low, high))
        if tree is None:
            raise NotPlain(f"{text or 'nothing'} in its SELECT")
        own = self.tokens[low:high]
        column = column_of(own) if isinstance(tree, exp.Column) else None
        quoted = column is not None and any(t.kind == "quoted" for t in own)
        return Item(self.written(low, high), name or (column[-1] if column else None), column, quoted)

    def name(self, at: int) -> str:
        if not _is_name(self.tokens[at]):
            raise NotPlain("a name that cannot be read")
        return self.tokens[at].text
