"""By which relations of its FROM a SELECT with windows names columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from sparkcep.pattern import variables
from sparkcep.sql.clause.row_pattern import variable_name
from sparkcep.sql.lexicon import CLOSES_OPERAND, WANTS_OPERAND
from sparkcep.sql.statement import Statement, WindowedSelect
from sparkcep.sql.windows.parser import WindowSyntax

_BEFORE_OPERAND = (WANTS_OPERAND | {"BY", "SELECT", "DISTINCT"}) - {"AS"}


@dataclass(slots=True)
class UsedSide:
    """A name before a dot that may be a relation's: ``token`` is its first. ``fields``: what stands behind the dot,
    folded, with the first token of each. ``star``: whether a star does. ``outside``: tokens of fields that no subquery
    has around them."""

    token: int
    fields: dict[str, int] = field(default_factory=dict)
    star: bool = False
    outside: list[int] = field(default_factory=list)


def used_sides(
    s: Statement, windowed: WindowedSelect, fold: Callable[[str], str], without: Collection[int] = ()
) -> dict[str, UsedSide]:
    """Names before dots in a SELECT, outside of its FROM and WHERE, that occur in its FROM.

    Args:
        without: tokens that do not count.
    """
    relations = range(windowed.source + 1, windowed.relations_end)
    known = {
        fold(s.tokens[k].text) for k in relations if s.tokens[k].kind in ("word", "quoted") and s.operator(k + 1) != "."
    }
    left_out = range(windowed.source, windowed.rows_end)
    subqueries = [(k, s.pairs[k]) for k in s.pairs if s.opens_subquery(k) and k > windowed.select]
    found: dict[str, UsedSide] = {}
    for k in range(windowed.select + 1, windowed.end - 2):
        token = s.tokens[k]
        if k in left_out or k in without or token.kind not in ("word", "quoted") or s.operator(k + 1) != ".":
            continue
        name, behind = fold(token.text), s.tokens[k + 2]
        if name not in known:
            continue
        side = found.setdefault(name, UsedSide(k))
        if behind.upper == "*":
            side.star = True
        elif behind.kind in ("word", "quoted"):
            side.fields.setdefault(fold(behind.text), k + 2)
            if not any(a < k < b for a, b in subqueries):
                side.outside.append(k + 2)
    return found


def alone_at(
    s: Statement, windowed: WindowedSelect, name: str, fold: Callable[[str], str], without: Collection[int] = ()
) -> int | None:
    """The token of a name that stands where a column may, in the SELECT list or behind what windows see, with nothing
    before it or behind it; None where there is none.

    Args:
        without: tokens that do not count.
    """
    outside: list[int] = [*range(windowed.select + 1, windowed.source), *range(windowed.rows_end, windowed.end)]
    for k in outside:
        token, before = s.tokens[k], s.tokens[k - 1]
        if k in without or token.kind not in ("word", "quoted") or fold(token.text) != fold(name):
            continue
        operand = (
            before.upper not in (*CLOSES_OPERAND, "*", ".") if before.kind == "op" else before.upper in _BEFORE_OPERAND
        )
        if operand and s.operator(k + 1) not in (".", "("):
            return k
    return None


def by_schema(s: Statement, windowed: WindowedSelect, without: Collection[int] = ()) -> int | None:
    """The token of a schema by which a column is named, ``schema.table.column``, in the SELECT list or behind what
    windows see; None where there is none.

    Args:
        without: tokens that do not count.
    """

    def pair(k: int) -> tuple[str, str] | None:
        tokens = s.tokens[k], s.tokens[k + 2]
        if s.operator(k + 1) != "." or any(t.kind not in ("word", "quoted") for t in tokens):
            return None
        return tokens[0].text.casefold(), tokens[1].text.casefold()

    schemas: set[tuple[str, str] | None] = {pair(k) for k in range(windowed.source + 1, windowed.relations_end - 2)} - {
        None
    }
    outside = [*range(windowed.select + 1, windowed.source), *range(windowed.rows_end, windowed.end - 4)]
    named = (k for k in outside if s.operator(k + 3) == "." and k not in without and pair(k) in schemas)
    return next(named, None)


def variables_of(window: WindowSyntax) -> frozenset[str]:
    """A window's pattern variables, those of SUBSET too."""
    assert window.clause.pattern is not None
    return frozenset({*variables(window.clause.pattern), *(variable_name(name) for name, _ in window.clause.subsets)})


def in_several(
    s: Statement, windows: Iterable[WindowSyntax], names: Collection[str], fold: Callable[[str], str]
) -> int | None:
    """The token of a column that windows with patterns name, by nothing but a variable of theirs, where several
    relations have one of the name; None where there is none.

    Args:
        names: of such columns, folded.
    """
    for window in windows:
        clause, own = window.clause, variables_of(window)
        spans = [(k, frozenset[str]()) for k in (*clause.partition_by, *(k.expression for k in clause.order_by))]
        spans += [(m.expression, own) for m in (*clause.measures, *clause.definitions)]
        for (low, high), known in spans:
            if any(s.operator(k) == "->" for k in range(low, high)):  # it may be a parameter's name
                continue
            for k in range(low, high):
                token = s.tokens[k]
                bare = s.operator(k - 1) != "." or (
                    variable_name(s.tokens[k - 2]) in known and s.operator(k - 3) != "."
                )
                alone = bare and s.operator(k + 1) not in (".", "(") and s.word(k - 1) != "AS"
                if alone and token.kind in ("word", "quoted") and fold(token.text) in names:
                    return k
    return None
