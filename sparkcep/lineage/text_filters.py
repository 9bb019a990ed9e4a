"""What a condition asks of columns, and which columns an expression reads, from their text.

Read are comparisons of a column with constants, and alternatives of these on one column. Whatever else a condition says
is left out: what is read is needed, and need not be enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

from sparkcep.errors import PatternParseError
from sparkcep.lineage.comparisons import MOST_CONSTANTS, TURNED, Comparison
from sparkcep.lineage.plain_select import column_of
from sparkcep.sql.lexicon import pair_parentheses, parse_expression, tokenize
from sparkcep.sql.token_text import TokenText

_OPERATORS = {"=": "=", "==": "=", "<=>": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
#: Of a constant that is the same whenever it is computed.
_CONSTANT: tuple[type[exp.Expr], ...] = (
    exp.Literal, exp.Neg, exp.Paren, exp.Cast, exp.TryCast, exp.DataType, exp.Interval, exp.Var, exp.Add, exp.Sub,
)  # fmt: skip
#: Of a value that is made of one row's columns and nothing else.
_BY_ROW: tuple[type[exp.Expr], ...] = (
    *_CONSTANT, exp.Column, exp.Identifier, exp.Boolean, exp.Null, exp.Mul, exp.Div, exp.Mod, exp.IntDiv, exp.EQ,
    exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.And, exp.Or, exp.Not, exp.Is, exp.In, exp.Between,
    exp.Case, exp.If, exp.Coalesce, exp.Upper, exp.Lower, exp.Abs, exp.Like, exp.DPipe, exp.Concat,
)  # fmt: skip
#: Functions that sqlglot has no class for.
_FUNCTIONS = frozenset(("timestamp_seconds", "timestamp_millis", "timestamp_micros"))

#: Parts of a column's name.
ColumnName: TypeAlias = tuple[str, ...]
#: A column, and how it compares with constants, which are texts.
ColumnComparison: TypeAlias = tuple[ColumnName, Comparison]


def columns_read(text: str) -> frozenset[ColumnName] | None:
    """Names of the columns that a value is made of; None where it may depend on more than these, as on other rows, the
    clock or chance.

    >>> sorted(columns_read("v + 1 > l.p"))
    [('l', 'p'), ('v',)]
    >>> columns_read("rand() > v")
    """
    tree = parse_expression(text)
    if tree is None:
        return None
    names = set()
    for node in tree.walk():
        if not _is_of(node, _BY_ROW):
            return None
        if isinstance(node, exp.Column):
            names.add(tuple(part.name for part in node.parts))
    return frozenset(names)


def _is_of(node: exp.Expr, kinds: tuple[type[exp.Expr], ...]) -> bool:
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower() in _FUNCTIONS
    if isinstance(node, exp.Placeholder):
        return not node.args.get("widget")
    return type(node) in kinds


def _is_constant(text: str) -> bool:
    tree = parse_expression(text)
    return tree is not None and all(_is_of(node, _CONSTANT) for node in tree.walk())


def column_comparisons(condition: str, *, whole: bool = False) -> list[ColumnComparison]:
    """What a condition asks of single columns, all of which it needs.

    Args:
        whole: whether that must be all that it says; nothing where it is not.

    >>> tests = column_comparisons("k IN ('a', 'b') AND 5 < l.t AND p % 2 = 0")
    >>> [(column, test.operator, test.values) for column, test in tests]
    [(('k',), '=', ("'a'", "'b'")), (('l', 't'), '>', ('5',))]
    """
    try:
        tokens = tokenize(condition)
    except PatternParseError:
        return []
    # What Spark puts for an argument in braces may have operators of its own.
    if any(t.kind == "op" and t.text in ("{", "}") for t in tokens):
        return []
    try:
        return _Reader(condition, tokens, pair_parentheses(tokens), whole).needed(0, len(tokens))
    except _Unread:
        return []


class _Unread(Exception):
    """A part of a condition that is left out."""


@dataclass(slots=True)
class _Reader(TokenText):
    whole: bool

    def column(self, low: int, high: int) -> ColumnName | None:
        return column_of(self.tokens[slice(*self.inside(low, high))])

    def outside(self, low: int, high: int) -> list[int]:
        """Tokens of a range that are in no parentheses of it."""
        out = []
        while low < high:
            out.append(low)
            low = self.pairs.get(low, low) + 1
        return out

    def split(self, low: int, high: int, by: str) -> list[tuple[int, int]]:
        """Ranges between the ANDs or ORs of a range; the AND of a BETWEEN is none of them."""
        out, begin, betweens = [], low, 0
        for at in self.outside(low, high):
            word = self.word(at)
            betweens += word == "BETWEEN"
            if word == "AND" and betweens:
                betweens -= 1
            elif word == by:
                out.append((begin, at))
                begin = at + 1
        return [*out, (begin, high)]

    def unread(self) -> list[ColumnComparison]:
        if self.whole:
            raise _Unread
        return []

    def needed(self, low: int, high: int) -> list[ColumnComparison]:
        """What a range of tokens needs."""
        low, high = self.inside(low, high)
        if any(self.word(at) == "CASE" for at in self.outside(low, high)):
            return self.unread()
        alternatives = self.split(low, high, "OR")
        if len(alternatives) > 1:
            sides = [self.needed(*side) for side in alternatives]
            if any(len(side) != 1 or side[0][0] != sides[0][0][0] for side in sides):
                return self.unread()
            return [(sides[0][0][0], Comparison(either=tuple(side[0][1] for side in sides)))]
        parts = self.split(low, high, "AND")
        if len(parts) > 1:
            return [found for part in parts for found in self.needed(*part)]
        return self.comparison(low, high) or self.unread()

    def comparison(self, low: int, high: int) -> list[ColumnComparison]:
        """What one comparison asks; nothing of any other condition."""
        outside = self.outside(low, high)
        for at in outside:
            if self.word(at) in ("IN", "BETWEEN"):
                column = self.column(low, at)
                return [] if column is None else self.listed(column, at, high)
        signs = [at for at in outside if self.operator(at) in _OPERATORS]
        if len(signs) != 1:
            return []
        at = signs[0]
        operator = _OPERATORS[self.operator(at)]
        left, right = self.written(low, at), self.written(at + 1, high)
        if (column := self.column(low, at)) is not None:
            return [(column, Comparison(operator, (right,)))] if _is_constant(right) else []
        if (column := self.column(at + 1, high)) is not None:
            return [(column, Comparison(TURNED[operator], (left,)))] if _is_constant(left) else []
        return []

    def listed(self, column: ColumnName, at: int, high: int) -> list[ColumnComparison]:
        """What `column IN (...)` and `column BETWEEN ... AND ...` ask, from the word on."""
        if self.word(at) == "BETWEEN":
            ends = [k for k in self.outside(at + 1, high) if self.word(k) == "AND"]
            if len(ends) != 1:
                return []
            least, most = self.written(at + 1, ends[0]), self.written(ends[0] + 1, high)
            if not (_is_constant(least) and _is_constant(most)):
                return []
            return [(column, Comparison(">=", (least,))), (column, Comparison("<=", (most,)))]
        if self.pairs.get(at + 1) != high - 1:
            return []
        constants = [self.written(*own) for own in self.between_commas(at + 2, high - 1)]
        if len(constants) > MOST_CONSTANTS or not all(c and _is_constant(c) for c in constants):
            return []
        return [(column, Comparison("=", tuple(constants)))]
