"""Where a WITH list can be put so that all of a statement's query sees it."""

from __future__ import annotations

from dataclasses import dataclass

from sparkcep.sql.statement import OccurrenceKind, Statement

_QUERIES = ("SELECT", "FROM", "VALUES", "TABLE")


@dataclass(frozen=True, slots=True)
class QueryPlace:
    """Where definitions go: at an offset of the text, ``listed``: into a WITH list that is there."""

    offset: int
    listed: bool

    def text(self, definitions: str) -> str:
        """What stands at the offset."""
        return f"{definitions}, " if self.listed else f"WITH {definitions} "


def query_place(statement: Statement, start: int = 0) -> QueryPlace | None:
    """The place in the query that a statement is, or that it takes its rows from; None where there is no single one.

    Args:
        start: the offset behind EXPLAIN or CREATE VIEW.
    """
    s = statement
    first = next((i for i, token in enumerate(s.tokens) if token.start >= start), len(s.tokens))
    blocks = {f.start for f in s.forms if f.kind is OccurrenceKind.BLOCK}
    i = first
    while i < len(s.tokens):
        word, opens = s.word(i), s.operator(i) == "("
        if word == "WITH" and _is_list(s, i):
            behind = i + 1 + (s.word(i + 1) == "RECURSIVE")
            return QueryPlace(s.tokens[behind].start, True)
        at_query = word in _QUERIES if i == first else word == "SELECT" or s.tokens[i].start in blocks
        if at_query or (opens and (i == first or s.word(i - 1) == "AS")):
            return QueryPlace(s.tokens[i].start, False)
        i = s.pairs.get(i, i) + 1
    return None


def _is_list(s: Statement, i: int) -> bool:
    """Whether WITH at a token begins a list of definitions, and no clause of DDL."""
    i += 1 + (s.word(i + 1) == "RECURSIVE")
    if i >= len(s.tokens) or s.tokens[i].kind not in ("word", "quoted"):
        return False
    behind = s.pairs.get(i + 1, i) + 1 if s.operator(i + 1) == "(" else i + 1
    return s.word(behind) == "AS" or (s.word(behind) == "MAX" and s.word(behind + 1) == "RECURSION")
