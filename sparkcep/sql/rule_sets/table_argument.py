"""TABLE(log) PARTITION BY case ORDER BY time: a table as an argument, as Spark's table functions take it."""

from __future__ import annotations

from dataclasses import dataclass

from sparkcep.errors import PatternParseError
from sparkcep.sql.sort_item import SortItem, sort_item
from sparkcep.sql.statement import Statement
from sparkcep.sql.token_text import Range


@dataclass(frozen=True, slots=True)
class TableArgument:
    """``relation``: offsets of what is read, in the statement's text: a name, or a query in parentheses. ``name``: the
    tokens of a name, None for a query. The rest are ranges of tokens; ``single``: WITH SINGLE PARTITION."""

    relation: Range
    name: Range | None
    partition_by: tuple[Range, ...]
    order_by: tuple[SortItem, ...]
    single: bool


def read_table_argument(s: Statement, low: int, high: int) -> TableArgument | None:
    """A table argument; None where the tokens are another expression.

    Raises:
        PatternParseError: CEP_SYNTAX_ERROR.
    """
    if s.word(low) != "TABLE" or low + 1 >= high:
        return None
    at = low + 1
    if s.operator(at) == "(":
        close = s.pairs.get(at, high)
        if close >= high or close == at + 1:
            return None
        if s.word(at + 1) in ("SELECT", "WITH", "FROM", "VALUES", "TABLE") or s.operator(at + 1) == "(":
            relation, name = (s.tokens[at].start, s.tokens[close].end), None
        else:
            relation, name = (s.tokens[at + 1].start, s.tokens[close - 1].end), (at + 1, close)
        at = close + 1
    else:
        begin = at
        at += 1
        while at + 1 < high and s.operator(at) == "." and s.tokens[at + 1].kind in ("word", "quoted"):
            at += 2
        relation, name = (s.tokens[begin].start, s.tokens[at - 1].end), (begin, at)
    return _keys(s, at, high, relation, name)


def _keys(s: Statement, at: int, high: int, relation: Range, name: Range | None) -> TableArgument:
    partition_by: list[Range] = []
    order_by: list[SortItem] = []
    single = [s.word(at + k) for k in range(3)] == ["WITH", "SINGLE", "PARTITION"]
    if single:
        at += 3
    elif s.word(at) in ("PARTITION", "DISTRIBUTE") and s.word(at + 1) == "BY":
        end = _end(s, at + 2, high)
        partition_by = _items(s, at + 2, end)
        at = end
    if s.word(at) in ("ORDER", "SORT") and s.word(at + 1) == "BY":
        order_by = [sort_item(s, *item) for item in _items(s, at + 2, high)]
        at = high
    if at < high:
        raise PatternParseError(
            "CEP_SYNTAX_ERROR", f"{s.tokens[at].text!r} is not expected after a table.", text=s.text,
            position=s.tokens[at].start, hint="TABLE(log) PARTITION BY (user, host) ORDER BY time",
        )  # fmt: skip
    return TableArgument(relation, name, tuple(partition_by), tuple(order_by), single)


def _end(s: Statement, at: int, high: int) -> int:
    """Where PARTITION BY ends: at ORDER BY."""
    while at < high and not (s.word(at) in ("ORDER", "SORT") and s.word(at + 1) == "BY"):
        at = s.pairs.get(at, at) + 1
    return at


def _items(s: Statement, low: int, high: int) -> list[Range]:
    """Expressions between commas; several stand in parentheses."""
    if low < high and s.operator(low) == "(" and s.pairs.get(low) == high - 1:
        low, high = low + 1, high - 1
    out = s.between_commas(low, high)
    for a, b in out:
        if a >= b:
            position = s.tokens[a].start if a < len(s.tokens) else len(s.text)
            raise PatternParseError("CEP_SYNTAX_ERROR", "A key is expected here.", text=s.text, position=position)
    return out
