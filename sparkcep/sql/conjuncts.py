"""The conjuncts of a WHERE."""

from __future__ import annotations

from sparkcep.sql.statement import Statement

#: Words that may stand behind a WHERE in its query.
BEHIND_WHERE = frozenset(
    "GROUP HAVING ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET WINDOW QUALIFY UNION INTERSECT EXCEPT MINUS "
    "LATERAL".split()
)


def ends_where(s: Statement, i: int) -> bool:
    """Whether the condition of a WHERE ends before a token."""
    return i >= len(s.tokens) or s.operator(i) in (")", ";", "|>") or s.word(i) in BEHIND_WHERE


def conjuncts(s: Statement, at: int) -> list[tuple[int, int]]:
    """Token ranges between the ANDs of the condition that begins at a token, which is one range where an OR binds its
    parts: the AND of a BETWEEN, and those inside of a CASE or parentheses, are none of them."""
    out: list[tuple[int, int]] = []
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
