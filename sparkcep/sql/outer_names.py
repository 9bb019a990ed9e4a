"""Columns of the query around a clause that its MEASURES and DEFINE name, as in LATERAL and EXISTS."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from sparkcep.errors import SparkCepError
from sparkcep.pattern import variables
from sparkcep.query import RowsPerMatch
from sparkcep.sql.clause.parser import parse_clause
from sparkcep.sql.clause.row_pattern import variable_name
from sparkcep.sql.rewriter import join_sides
from sparkcep.sql.scalars import QUERY_WORDS
from sparkcep.sql.statement import OccurrenceKind, PatternOccurrence, Statement
from sparkcep.sql.windows.lengths import shortest

#: A range of tokens.
Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class OuterName:
    """`relation.column` of the query around, with nothing but the relation's name before it. ``without_row``: whether
    it may be asked for where the match has no row."""

    span: Range
    without_row: bool


def outer_names(
    statement: Statement, form: PatternOccurrence, around: Range, own: Collection[str], *, formatted: bool
) -> list[OuterName]:
    """Those of a clause; none of a block, and of a clause that cannot be parsed, which says so when it is bound.

    Args:
        around: FROM, without the word, of the query around. own: folded names by which the input may be called.
    """
    s = statement
    sides = {name.casefold() for name in join_sides(s, *around)} - {name.casefold() for name in own}
    if form.kind is not OccurrenceKind.CLAUSE or not sides:
        return []
    with suppress(SparkCepError):
        clause = parse_clause(s, form.body, formatted=formatted)
        assert clause.pattern is not None
        taken = {*variables(clause.pattern), *(variable_name(name) for name, _ in clause.subsets)}
        empty = shortest(clause.pattern) == 0 or clause.rows_per_match is RowsPerMatch.ALL_WITH_UNMATCHED
        found = []
        for part in (*clause.measures, *clause.definitions):
            k, high = part.expression
            while k < high - 2:
                token = s.tokens[k]
                if s.operator(k) == "(" and s.word(k + 1) in QUERY_WORDS:
                    k = s.pairs.get(k, high) + 1
                    continue
                name = s.operator(k + 1) == "." and s.tokens[k + 2].kind in ("word", "quoted")
                if (
                    name
                    and s.operator(k - 1) != "."
                    and s.operator(k + 3) != "("
                    and token.text.casefold() in sides
                    and variable_name(token) not in taken
                ):
                    found.append(OuterName((k, k + 3), empty and part in clause.measures))
                k += 1
        return found
    return []
