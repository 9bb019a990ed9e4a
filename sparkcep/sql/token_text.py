"""A text as tokens, and what stands at one of them or in a range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sparkcep.sql.lexicon import QUERY_WORDS, Token

#: Of tokens, half open.
Range = tuple[int, int]


@dataclass(slots=True)
class TokenText:
    """A ``text``, its ``tokens``, and of each parenthesis that opens the one that closes it (``pairs``). Ranges of
    tokens are half open."""

    text: str
    tokens: tuple[Token, ...]
    pairs: dict[int, int]

    def word(self, index: int) -> str:
        """Upper-case word at a token index, empty for anything else and out of range."""
        if 0 <= index < len(self.tokens) and self.tokens[index].kind == "word":
            return self.tokens[index].upper
        return ""

    def operator(self, index: int) -> str:
        """The operator at a token; empty for any other token, and out of range."""
        if 0 <= index < len(self.tokens) and self.tokens[index].kind == "op":
            return self.tokens[index].upper
        return ""

    def opens_subquery(self, index: int) -> bool:
        """Whether a parenthesis with a query in it opens at a token."""
        return self.operator(index) == "(" and self.word(index + 1) in QUERY_WORDS

    def begins_call(self, index: int) -> bool:
        """Whether `f(`, `schema.f(` or `catalog.schema.f(` begins at a token."""
        while index < len(self.tokens) and self.tokens[index].kind in ("word", "quoted"):
            if self.operator(index + 1) == "(":
                return True
            if self.operator(index + 1) != ".":
                return False
            index += 2
        return False

    def is_session_variable(self, index: int) -> bool:
        """Whether `session.name` or `system.session.name` begins at a token, as Spark writes its variables' full names.

        What else these names could mean, as a column of structs, is for the caller to ask first.
        """
        names = self.tokens[index : index + 5 : 2]
        first = [t.text.casefold() for t in names]
        length = 2 if first[:1] == ["session"] else 3 if first[:2] == ["system", "session"] else 0
        words = all(t.kind in ("word", "quoted") for t in names[:length])
        dots = all(self.operator(index + 2 * k + 1) == "." for k in range(length - 1))
        return 0 < length <= len(names) and words and dots

    def written(self, low: int, high: int) -> str:
        """The text of a range of tokens; empty for none."""
        return self.text[self.tokens[low].start : self.tokens[high - 1].end] if low < high else ""

    def inside(self, low: int, high: int) -> Range:
        """A range without the parentheses around it."""
        while low < high and self.operator(low) == "(" and self.pairs.get(low) == high - 1:
            low, high = low + 1, high - 1
        return low, high

    def between_commas(self, low: int, high: int, pairs: Mapping[int, int] | None = None) -> list[Range]:
        """Ranges of tokens between the commas of a range, one at least; commas in parentheses are not its own.

        Args:
            pairs: other brackets as well, each to the one that closes it.
        """
        pairs = self.pairs if pairs is None else pairs
        out, start, i = [], low, low
        while i < high:
            if self.operator(i) == ",":
                out.append((start, i))
                start = i + 1
            i = pairs.get(i, i) + 1
        return [*out, (start, high)]
