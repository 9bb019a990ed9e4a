"""Columns of the query around a pattern that its conditions and measures name, as in LATERAL and EXISTS."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass

from sparkcep.errors import SparkCepError
from sparkcep.pattern import variables
from sparkcep.query import RowsPerMatch
from sparkcep.sql.block.parser import parse_block
from sparkcep.sql.clause.parser import parse_clause
from sparkcep.sql.clause.row_pattern import variable_name
from sparkcep.sql.rewriter import join_sides
from sparkcep.sql.statement import OccurrenceKind, PatternOccurrence, Statement
from sparkcep.sql.token_text import Range
from sparkcep.sql.windows.lengths import shortest


@dataclass(frozen=True, slots=True)
class OuterName:
    """`relation.column` of the query around, with nothing but the relation's name before it. ``without_row``: whether
    it may be asked for where the match has no row."""

    span: Range
    without_row: bool


def outer_names(
    statement: Statement, form: PatternOccurrence, around: Range, input_names: Collection[str], *, formatted: bool
) -> list[OuterName]:
    """Those of a clause's MEASURES, DEFINE and ORDER BY, and of a block's WHERE; none of what cannot be parsed, which
    says so when it is bound.

    Args:
        around: FROM, without the word, of the query around. input_names: folded names by which the input may be called.
    """
    s = statement
    sides = {name.casefold() for name in join_sides(s, *around)} - {name.casefold() for name in input_names}
    if not sides:
        return []
    with suppress(SparkCepError):
        if form.kind is OccurrenceKind.BLOCK:
            block = parse_block(s, form)
            sides -= {t.text.casefold() for t in s.tokens[block.pattern[0] : block.pattern[1]]}
            return [OuterName(span, False) for span in _named(s, block.where, sides)] if block.where else []
        if form.kind is OccurrenceKind.CLAUSE:
            clause = parse_clause(s, form.body, formatted=formatted)
            assert clause.pattern is not None
            taken = {*variables(clause.pattern), *(variable_name(name) for name, _ in clause.subsets)}
            sides -= {name.casefold() for name in taken}
            empty = shortest(clause.pattern) == 0 or clause.rows_per_match is RowsPerMatch.ALL_WITH_UNMATCHED
            found = [OuterName(span, empty) for m in clause.measures for span in _named(s, m.expression, sides)]
            others = [*(d.expression for d in clause.definitions), *(k.expression for k in clause.order_by)]
            return found + [OuterName(span, False) for other in others for span in _named(s, other, sides)]
    return []


def _named(s: Statement, span: Range, sides: Collection[str]) -> Iterator[Range]:
    """`relation.column` in a range of tokens, outside of its subqueries."""
    k, high = span
    while k < high - 2:
        if s.opens_subquery(k):
            k = s.pairs.get(k, high) + 1
            continue
        names = s.operator(k + 1) == "." and all(s.tokens[n].kind in ("word", "quoted") for n in (k, k + 2))
        if names and s.operator(k - 1) != "." and s.operator(k + 3) != "(" and s.tokens[k].text.casefold() in sides:
            yield k, k + 3
        k += 1
