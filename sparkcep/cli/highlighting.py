"""A Pygments lexer for Spark SQL with patterns, ``sparkcep``, for all that highlights by Pygments.

Pygments finds it by its entry point; nothing else in the package needs Pygments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pygments.lexers.sql import SqlLexer
from pygments.token import Keyword, Name, _TokenType

__all__ = ["PatternSqlLexer"]

#: Words of pattern clauses that SQL's lexer takes for names.
_WORDS = frozenset(
    "match_recognize pattern define measures subset within seq permute skip match matches after past first last next "
    "running final classifier match_number rows row per one empty unmatched omit event type selection strict "
    "contiguity till any overlapping non immediately collapsed return uncertainty slide groups censored timed out "
    "explain answers partition index refresh confidence run prev until latest"
    .split()
)  # fmt: skip
#: Those that are names as often: pattern words only in capitals.
_COMMON = frozenset("first last next row rows one event type any run out index per past after return match".split())


class PatternSqlLexer(SqlLexer):  # type: ignore[misc]
    """SQL in which MATCH_RECOGNIZE, PATTERN, DEFINE, MEASURES, WITHIN and their kin are keywords."""

    name = "Spark SQL with patterns"
    aliases = ("sparkcep",)
    filenames = ()

    def get_tokens_unprocessed(self, text: str, *states: Any) -> Iterator[tuple[int, _TokenType, str]]:
        """As Pygments calls it."""
        for index, token, value in super().get_tokens_unprocessed(text, *states):
            word = value.lower()
            if token in Name and word in _WORDS and (value.isupper() or word not in _COMMON):
                token = Keyword  # noqa: PLW2901
            yield index, token, value
