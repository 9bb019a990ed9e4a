"""Cut conditions at their outermost ANDs."""

from __future__ import annotations

from sparkcep.sql.statement import Statement
from sparkcep.sql.token_text import Range

#: Words that may stand behind a WHERE in its query.
BEHIND_WHERE = frozenset(
    "GROUP HAVING ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET WINDOW QUALIFY UNION INTERSECT EXCEPT MINUS "
    "LATERAL".split()
)


def ends_where(s: Statement, i: int) -> bool:
    """Whether the condition of a WHERE ends before a token."""
    return i >= len(s.tokens) or s.operator(i) in (")", ";", "|>") or s.word(i) in BEHIND_WHERE


def conjuncts(s: Statement, at: int) -> list[Range]:
    """Token ranges between the outermost ANDs of the condition that begins at a token, up to the end of its WHERE; see
    :func:`_cut`."""
    end = at
    while not ends_where(s, end):
        end = s.pairs.get(end, end) + 1 if s.operator(end) == "(" else end + 1
    return [(a, b) for a, b in _cut(s, at, end) if b > a]


def split_conjuncts(s: Statement, low: int, high: int) -> list[Range]:
    """The operands of the outermost ANDs of a condition, those in parentheses around ANDs as well."""
    while (
        s.operator(low) == "(" and s.pairs.get(low) == high - 1 and not s.opens_subquery(low) and high - low > 2
    ):  # fmt: skip
        low, high = low + 1, high - 1
    parts = _cut(s, low, high)
    if len(parts) == 1:
        return parts
    return [p for a, b in parts for p in (split_conjuncts(s, a, b) if b > a else [(a, b)])]


def _cut(s: Statement, low: int, high: int) -> list[Range]:
    """A range cut at its ANDs; one range where an OR, or the body of a lambda function, binds its parts. The AND of a
    BETWEEN, and those inside of a CASE or parentheses, are none of them."""
    parts: list[Range] = []
    start = i = low
    betweens = cases = 0
    while i < high:
        word = s.word(i)
        if word == "CASE":
            cases += 1
        elif word == "END":
            cases -= 1
        elif s.operator(i) == "->" or (word == "OR" and not cases):
            return [(low, high)]
        elif word == "BETWEEN" and not cases:
            betweens += 1
        elif word == "AND" and not cases and betweens:
            betweens -= 1
        elif word == "AND" and not cases:
            parts.append((start, i))
            start = i + 1
        i = s.pairs.get(i, high) + 1 if s.operator(i) == "(" else i + 1
    # A column named case or end: better whole than cut in the wrong place.
    return [(low, high)] if cases else [*parts, (start, high)]
