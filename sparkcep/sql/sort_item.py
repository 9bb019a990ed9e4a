"""A key of ORDER BY as it is written: in a clause, in a block, behind a table argument."""

from __future__ import annotations

from dataclasses import dataclass

from sparkcep.sql.statement import Statement
from sparkcep.sql.token_text import Range


@dataclass(frozen=True, slots=True)
class SortItem:
    """``expression``: its range of tokens. ``nulls_first``: as Spark has it where the user does not say."""

    expression: Range
    ascending: bool
    nulls_first: bool


def sort_item(s: Statement, start: int, end: int) -> SortItem:
    """The key in a range of tokens: expression [ASC | DESC] [NULLS FIRST | LAST]."""
    nulls, ascending = "", True
    if end - start > 2 and s.word(end - 2) == "NULLS" and s.word(end - 1) in ("FIRST", "LAST"):
        nulls, end = s.word(end - 1), end - 2
    if end - start > 1 and s.word(end - 1) in ("ASC", "DESC"):
        ascending, end = s.word(end - 1) == "ASC", end - 1
    return SortItem((start, end), ascending, nulls == "FIRST" if nulls else ascending)
