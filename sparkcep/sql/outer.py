"""What the statement around a pattern form may need of its columns."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from sparkcep.sql.block.spans import SET_OPERATORS
from sparkcep.sql.conjuncts import conjuncts
from sparkcep.sql.lexicon import parse_expression
from sparkcep.sql.statement import OccurrenceKind, PatternOccurrence, Statement

#: Where these occur, columns may be used without being named.
_IMPLICIT = frozenset({"NATURAL", "PIVOT", "UNPIVOT", "IDENTIFIER", "TABLE"})
#: In a quoted name that may be a pattern of names (spark.sql.parser.quotedRegexColumnNames).
_OF_PATTERNS = re.compile(r"[^\w\s]")
_SET_OPERATORS = frozenset({"UNION", "INTERSECT", "EXCEPT", "MINUS"})
#: Predicates of these are deterministic and cannot fail where Spark would not have evaluated them.
_PURE = (
    exp.Column, exp.Identifier, exp.Literal, exp.Paren, exp.EQ, exp.NEQ, exp.GT, exp.LT, exp.GTE, exp.LTE,
    exp.NullSafeEQ, exp.In, exp.Is, exp.Null, exp.Not, exp.And, exp.Or, exp.Boolean, exp.Like, exp.Neg,
)  # fmt: skip


def wanted_names(statement: Statement, form: PatternOccurrence) -> frozenset[str] | None:
    """Case-folded names that occur outside of a form; None where its columns may be used without their names.

    An upper bound: a name counts wherever it stands and whatever it means there.
    """
    s = statement
    if form.kind is OccurrenceKind.BLOCK:
        enclosed = _enclosed(s, form)
        if enclosed is None:
            return None
        form = enclosed
    names: set[str] = set()
    for i, token in enumerate(s.tokens):
        if form.start <= token.start < form.end:
            continue
        if token.kind in ("word", "quoted"):
            if s.word(i) in _IMPLICIT or (token.kind == "quoted" and _OF_PATTERNS.search(token.text)):
                return None
            names.add(token.text.casefold())
        elif s.operator(i) == "*":
            if not (s.word(i - 2) == "COUNT" and s.operator(i - 1) == "("):
                return None
        elif s.operator(i) in ("|>", "{"):
            return None
    if not _is_selected_from(s, form) or _renames_columns(s, form):
        return None
    return frozenset(names)


def plain_limit(statement: Statement, form: PatternOccurrence) -> int | None:
    """The literal n of a LIMIT that takes any n rows of a block and asks nothing else of them, if there is one.

    It stands right behind the block, or behind the parentheses of `SELECT columns FROM (block) LIMIT n`.
    """
    return _limit_behind(statement, form, lambda at, alias: _limit_at(statement, at))


def most_probable(statement: Statement, form: PatternOccurrence) -> int | None:
    """The literal n of an `ORDER BY confidence DESC LIMIT n` that takes rows of a block and asks nothing else of them.

    It stands where :func:`plain_limit` looks for LIMIT; further keys, which tell rows of one confidence apart, may
    follow.
    """
    return _limit_behind(statement, form, lambda at, alias: _limit_by_confidence(statement, at, alias), "CONFIDENCE")


def _limit_behind(
    s: Statement, form: PatternOccurrence, limit: Callable[[int, str], int | None], column: str = ""
) -> int | None:
    """What ``limit`` finds at the token behind a block, or behind a query of nothing but its columns.

    Args:
        limit: is given the token's index and the block's alias. column: in upper case, which the query must not give
            another meaning.
    """
    if form.kind is not OccurrenceKind.BLOCK:
        return None
    found = limit(_token_at(s, form.end), "")
    if found is not None:
        return found if _opens_query(s, _token_at(s, form.start)) else None
    enclosed = _enclosed(s, form)
    if enclosed is None or (column and _renames_columns(s, enclosed)):
        return None
    first = enclosed.relation_tokens[0]
    select = first - 1
    while select >= 0 and s.word(select) != "SELECT" and _is_plain_column(s, select):
        read = s.word(select - 1) == "SELECT" or s.operator(select - 1) in (",", ".")
        if column and s.word(select) == column and not read:
            return None  # the name of another column
        select -= 1
    selected = s.word(first - 1) == "FROM" and s.word(select) == "SELECT" and first - select > 2
    alias, behind = _alias(s, enclosed)
    return limit(behind, alias) if selected and _opens_query(s, select) else None


def _limit_by_confidence(s: Statement, at: int, alias: str) -> int | None:
    """n, where `ORDER BY confidence DESC [, ...] LIMIT n` stands at a token and ends its query."""
    if s.word(at) != "ORDER" or s.word(at + 1) != "BY":
        return None
    at += 2
    if alias and s.operator(at + 1) == "." and s.tokens[at].text.casefold() == alias.casefold():
        at += 2
    if s.word(at) != "CONFIDENCE" or s.word(at + 1) != "DESC":
        return None
    at += 2
    if s.word(at) == "NULLS":  # there are none
        at += 2
    if s.operator(at) == ",":
        while at < len(s.tokens) and s.word(at) != "LIMIT":
            if s.operator(at) in (")", ";", "|>"):
                return None
            at = s.pairs.get(at, at) + 1
    return _limit_at(s, at)


def _limit_at(s: Statement, at: int) -> int | None:
    """n, where `LIMIT n` stands at a token and ends its query."""
    text = s.tokens[at + 1].text if at + 1 < len(s.tokens) else ""
    ends = at + 2 >= len(s.tokens) or s.operator(at + 2) in (")", ";")
    return int(text) if s.word(at) == "LIMIT" and re.fullmatch(r"\d{1,15}", text) and ends else None


def _is_plain_column(s: Statement, i: int) -> bool:
    """Whether a token may stand in a list of columns with names, or be its FROM; DISTINCT drops rows."""
    token = s.tokens[i]
    return (token.kind in ("word", "quoted") and token.upper != "DISTINCT") or token.upper in (".", ",", "*")


def _opens_query(s: Statement, first: int) -> bool:
    """Whether no set operator stands before a query, whose LIMIT would be that of the whole."""
    before = first - 1
    before -= s.word(before) in ("ALL", "DISTINCT")
    return s.word(before) not in SET_OPERATORS


def _token_at(s: Statement, offset: int) -> int:
    """Index of the first token that begins at an offset or behind it."""
    return bisect_left(s.tokens, offset, key=lambda t: t.start)


def _enclosed(s: Statement, form: PatternOccurrence) -> PatternOccurrence | None:
    """The block with the parentheses that make it a relation of its own; None where there are none."""
    found = None
    first = _token_at(s, form.start) - 1
    while first >= 0 and s.operator(first) == "(" and first in s.pairs:
        close = s.tokens[s.pairs[first]]
        behind = _token_at(s, form.end)
        if behind == len(s.tokens) or s.tokens[behind].start != close.start:
            break
        form = found = replace(form, start=s.tokens[first].start, relation_tokens=(first, first + 1), end=close.end)
        first -= 1
    return found


def _is_selected_from(s: Statement, form: PatternOccurrence) -> bool:
    """Whether a SELECT stands before the form on its own level; `FROM t` alone gives all columns."""
    i = form.relation_tokens[0] - 1
    while i >= 0:
        if s.operator(i) == ")":
            i = s.opening(i, i)
        elif s.operator(i) == "(":
            return False
        elif s.word(i) == "SELECT":
            return True
        elif s.word(i) in _SET_OPERATORS:  # a SELECT before it reads something else
            return False
        i -= 1
    return False


def _renames_columns(s: Statement, form: PatternOccurrence) -> bool:
    """Whether the form's alias has a list of column names."""
    alias, behind = _alias(s, form)
    return bool(alias) and s.operator(behind) == "("


def _alias(s: Statement, form: PatternOccurrence) -> tuple[str, int]:
    """Case-folded alias of a form, or an empty text, and the index of the token behind it."""
    at = _token_at(s, form.end)
    at += s.word(at) == "AS"
    if at < len(s.tokens) and s.tokens[at].kind in ("word", "quoted") and s.word(at) not in ("WHERE", "LIMIT", "ORDER"):
        return s.tokens[at].text.casefold(), at + 1
    return "", at


def as_relation(statement: Statement, form: PatternOccurrence) -> PatternOccurrence | None:
    """A form as the relation that a FROM reads: a block with its parentheses; None where it has none."""
    return _enclosed(statement, form) if form.kind is OccurrenceKind.BLOCK else form


def partition_predicate(statement: Statement, form: PatternOccurrence, key_of: Callable[[str], str | None]) -> str:
    """SQL of those conjuncts of the WHERE behind a form that read its PARTITION BY columns only, or an empty text.

    They keep or drop whole partitions, so they may be applied to the form's input too. Only where the form is all that
    the query reads from.

    Args:
        key_of: SQL of the PARTITION BY column that a name means, None where it means none.
    """
    s = statement
    first = form.relation_tokens[0]
    alias, at = _alias(s, form)
    if s.word(first - 1) != "FROM" or s.word(at) != "WHERE":
        return ""
    found = [_key_predicate(text, alias, key_of) for text in _conjuncts(s, at + 1)]
    return " AND ".join(f"({text})" for text in found if text)


def wants_repairs_only(statement: Statement, form: PatternOccurrence) -> bool:
    """Whether a WHERE right behind a form with EXPLAIN NON ANSWERS drops the rows of all that is not repaired."""
    s = statement
    enclosed = as_relation(s, form)
    if enclosed is None or _renames_columns(s, enclosed):
        return False
    alias, at = _alias(s, enclosed)
    if s.word(enclosed.relation_tokens[0] - 1) != "FROM" or s.word(at) != "WHERE":
        return False
    qualifier = rf"(?:{re.escape(alias)}\s*\.\s*)?" if alias else ""
    repaired = re.compile(rf"{qualifier}(?:cost\s+IS\s+NOT\s+NULL|reason\s+IS\s+NULL)", re.IGNORECASE)
    return any(repaired.fullmatch(text.strip()) for text in _conjuncts(s, at + 1))


def _conjuncts(s: Statement, at: int) -> list[str]:
    """Texts of the conjuncts of a WHERE."""
    return [s.text[s.tokens[a].start : s.tokens[b - 1].end] for a, b in conjuncts(s, at)]


def _key_predicate(text: str, alias: str, key_of: Callable[[str], str | None]) -> str:
    tree = parse_expression(text)
    if tree is None or not all(isinstance(n, _PURE) for n in tree.walk()):
        return ""
    edits: list[tuple[int, int, str]] = []
    for column in tree.find_all(exp.Column):
        parts = column.parts
        if len(parts) > 2 or (len(parts) == 2 and parts[0].name.casefold() != alias):
            return ""
        key = key_of(parts[-1].name)
        start, end = parts[0].meta.get("start"), parts[-1].meta.get("end")
        if key is None or start is None or end is None:
            return ""
        edits.append((start, end + 1, key))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text.replace("{", "{{").replace("}", "}}") if edits else ""
