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
    """Token ranges between the ANDs of the condition that begins at a token, which is one range where an OR binds its
    parts: the AND of a BETWEEN, and those inside of a CASE or parentheses, are none of them."""
    out: list[Range] = []
    begin = i = at
    cases = betweens = 0
    alternatives = False
    while not ends_where(s, i):
        word = s.word(i)
        if word == "CASE":
            cases += 1
        elif word == "END" and cases:
            cases -= 1
        elif not cases:
            alternatives |= word == "OR"
            betweens += word == "BETWEEN"
            if word == "AND" and betweens:
                betweens -= 1
            elif word == "AND":
                out.append((begin, i))
                begin = i + 1
        i = s.pairs.get(i, i) + 1 if s.operator(i) == "(" else i + 1
    out.append((begin, i))
    return [(at, i)] if alternatives else [(a, b) for a, b in out if b > a]


def split_conjuncts(statement: Statement, low: int, high: int) -> list[Range]:
    """The operands of the outermost ANDs of a condition; one range where an OR binds looser."""
    while (
        statement.operator(low) == "("
        and statement.pairs.get(low) == high - 1
        and not statement.opens_subquery(low)
        and high - low > 2
    ):
        low, high = low + 1, high - 1
    parts: list[Range] = []
    between = cases = 0
    start = i = low
    while i < high:
        if statement.operator(i) == "(":
            i = statement.pairs.get(i, high)
        word = statement.word(i)
        if statement.operator(i) == "->":
            return [(low, high)]
        if word == "CASE":
            cases += 1
        elif word == "END":
            cases -= 1
        elif cases == 0 and word == "BETWEEN":
            between += 1
        elif cases == 0 and word == "OR":
            return [(low, high)]
        elif cases == 0 and word == "AND":
            if between:
                between -= 1
            else:
                parts.append((start, i))
                start = i + 1
        i += 1
    if cases:  # a column named end or case: better whole than cut in the wrong place
        return [(low, high)]
    parts.append((start, high))
    if len(parts) == 1:
        return parts
    return [p for a, b in parts for p in (split_conjuncts(statement, a, b) if b > a else [(a, b)])]
