"""Inputs of patterns that compare a column with one of the query around them, as in LATERAL and EXISTS.

``(SELECT ... FROM b WHERE b.k = c.k AND ...)``, where c is of the query around, is for each of its rows the part of the
input with one value of ``b.k``: what PARTITION BY ``b.k`` makes, and the condition above the pattern picks.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sparkcep.sql.block.spans import JOIN_TYPES, SET_OPERATORS
from sparkcep.sql.conjuncts import BEHIND_WHERE, conjuncts, ends_where, split_conjuncts
from sparkcep.sql.rewriter import join_sides
from sparkcep.sql.statement import PatternOccurrence, Statement
from sparkcep.sql.token_text import Range

_ENDS_FROM = (BEHIND_WHERE | {"WHERE", "SELECT"}) - {"LATERAL"}


@dataclass(frozen=True, slots=True)
class Subquery:
    """An input that is one SELECT with a WHERE: its FROM without the word, and the conjuncts of the WHERE.

    ``lateral``: whether LATERAL stands before it."""

    source: Range
    conjuncts: tuple[Range, ...]
    lateral: bool


@dataclass(frozen=True, slots=True)
class Correlation:
    """A conjunct that says that a column of the input equals, or by ``<=>`` is, one of the query around it."""

    conjunct: Range
    inner: Range
    outer: Range
    operator: str


def read_subquery(statement: Statement, form: PatternOccurrence) -> Subquery | None:
    """A form's input as a SELECT whose rows stand for rows of its FROM, each by itself; None for any other input."""
    s = statement
    low, high = form.relation_tokens
    if form.where is not None:
        return Subquery((low, high), tuple(split_conjuncts(s, *form.where)), False)
    lateral = s.word(low) == "LATERAL"
    low += lateral
    close = s.pairs.get(low, -1)
    behind = close + 1 + (s.word(close + 1) == "AS")
    if not 0 <= close < high or high - behind > 1 or s.word(low + 1) != "SELECT" or s.word(low + 2) == "DISTINCT":
        return None
    i, source = low + 2, -1
    while i < close and not (source >= 0 and s.word(i) == "WHERE"):
        word = s.word(i)
        if word == "FROM" and s.word(i - 1) != "DISTINCT" and source < 0:
            source = i + 1
            # A window function sees the rows that the WHERE leaves.
            if any(s.word(k) == "OVER" for k in range(low + 2, i)):
                return None
        elif source >= 0 and (word in _ENDS_FROM or s.operator(i) == "|>"):
            return None
        i = s.pairs.get(i, i) + 1 if s.operator(i) == "(" else i + 1
    if i >= close:
        return None
    parts = conjuncts(s, i + 1)
    end = parts[-1][1] if parts else i + 1
    return Subquery((source, i), tuple(parts), lateral) if end == close and ends_where(s, end) else None


def correlations(statement: Statement, subquery: Subquery, columns: Collection[str] | None) -> list[Correlation]:
    """The equalities of a column of the input with one of the query around it.

    Args:
        columns: case-folded names of all that the input's FROM gives; None where they are not known, and only names
            with a qualifier can be of the query around.
    """
    sides = {name.casefold() for name in join_sides(statement, *subquery.source)}

    def is_outer(span: Range) -> bool:
        first, *more = (statement.tokens[i].text.casefold() for i in range(span[0], span[1], 2))
        if not more:
            return columns is not None and first not in columns
        # A table may also go by its schema's name and its own.
        return first not in (columns or ()) and sides.isdisjoint([first, *more[:-1]])

    found = []
    for conjunct in subquery.conjuncts:
        equality = _equality(statement, conjunct)
        if equality is not None:
            left, operator, right = equality
            if is_outer(left) != is_outer(right):
                inner, outer = (right, left) if is_outer(left) else (left, right)
                found.append(Correlation(conjunct, inner, outer, operator))
    return found


def _equality(s: Statement, span: Range) -> tuple[Range, str, Range] | None:
    """The names that a conjunct compares; None where it is anything else."""
    low, high = span
    while s.operator(low) == "(" and s.pairs.get(low) == high - 1:
        low, high = low + 1, high - 1
    at = next((i for i in range(low, high) if s.operator(i) in ("=", "==", "<=>")), -1)
    if at < 0 or not (is_name(s, low, at) and is_name(s, at + 1, high)):
        return None
    return (low, at), "<=>" if s.operator(at) == "<=>" else "=", (at + 1, high)


def is_name(s: Statement, low: int, high: int) -> bool:
    """Whether tokens are a name of one or more parts."""
    return (high - low) % 2 == 1 and all(
        (s.tokens[i].kind in ("word", "quoted") if (i - low) % 2 == 0 else s.operator(i) == ".")
        for i in range(low, high)
    )


def outer_source(statement: Statement, form: PatternOccurrence) -> Range | None:
    """The FROM, without the word, of the query whose columns a form's input may use; None where there is none.

    Of a LATERAL it ends before that: what follows is not in its sight.
    """
    s = statement
    first = form.relation_tokens[0]
    inside = [first] if s.word(first) == "LATERAL" else []
    # A form's own place, and the parentheses around it from inside out; what is only in parentheses sees no more.
    opens = sorted((low for low, close in s.pairs.items() if low < first < close), reverse=True)
    for n, place in enumerate([*inside, *opens]):
        around = opens[n + 1 - len(inside) :] if n >= len(inside) else opens
        low, high = (around[0] + 1, s.pairs[around[0]]) if around else (0, len(s.tokens))
        found = _from(s, place, low, high)
        if found is None:
            continue
        start, end = found
        lateral = place if place in inside else place - 1
        if not start <= place < end:
            return found
        if s.word(lateral) == "LATERAL":
            end = lateral
            while end > start and (
                s.word(end - 1) in JOIN_TYPES or s.word(end - 1) == "JOIN" or s.operator(end - 1) == ","
            ):
                end -= 1
            return (start, end) if end > start else None
        if s.word(place - 1) in ("EXISTS", "IN") or s.operator(place - 1) in ("=", "<", ">", "<=", ">=", "<>", "!="):
            return found
    return None


def _from(s: Statement, place: int, low: int, high: int) -> Range | None:
    """The FROM of the query of a level, from low to high, that a token is in."""
    start = end = -1
    i = low
    while i < high:
        word = s.word(i)
        if word in SET_OPERATORS or s.operator(i) == ";":
            if i > place:
                break
            start = end = -1
        elif word == "FROM" and s.word(i - 1) != "DISTINCT" and start < 0:
            start = i + 1
        elif start >= 0 and end < 0 and (word in _ENDS_FROM or s.operator(i) == "|>"):
            end = i
        i = s.pairs.get(i, i) + 1 if s.operator(i) == "(" else i + 1
    return None if start < 0 else (start, end if end >= 0 else i)
