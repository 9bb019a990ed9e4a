"""A text as tokens, and what stands at one of them or in a range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sparkcep.sql.lexicon import Token


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

    def written(self, low: int, high: int) -> str:
        """The text of a range of tokens; empty for none."""
        return self.text[self.tokens[low].start : self.tokens[high - 1].end] if low < high else ""

    def inside(self, low: int, high: int) -> tuple[int, int]:
        """A range without the parentheses around it."""
        while low < high and self.operator(low) == "(" and self.pairs.get(low) == high - 1:
            low, high = low + 1, high - 1
        return low, high

    def between_commas(self, low: int, high: int, pairs: Mapping[int, int] | None = None) -> list[tuple[int, int]]:
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
