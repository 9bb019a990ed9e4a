"""Patterns in short: a letter is an event type, the n-th component of a type has the key ``A``, ``A2``, ``A3``."""

from __future__ import annotations

import re

from sparkcep.pattern import Alternation, Concatenation, Negation, Pattern, Quantified, Variable

BOUNDS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def tree(text: str) -> Pattern:
    """``A !X (B | C)+ D{1,2}``; a ``?`` after a quantifier makes it reluctant."""
    tokens = re.findall(r"[A-Z!()|]|(?:[*+?]|\{[\d,]+\})\??", text)
    seen: dict[str, int] = {}

    def alternatives() -> Pattern:
        items = [sequence()]
        while tokens[:1] == ["|"]:
            tokens.pop(0)
            items.append(sequence())
        return items[0] if len(items) == 1 else Alternation(tuple(items))

    def sequence() -> Pattern:
        items = []
        while tokens and tokens[0] not in "|)":
            items.append(term())
        return items[0] if len(items) == 1 else Concatenation(tuple(items))

    def term() -> Pattern:
        token = tokens.pop(0)
        if token == "!":
            return Negation(term())
        node: Pattern
        if token == "(":
            node = alternatives()
            assert tokens.pop(0) == ")"
        else:
            seen[token] = seen.get(token, 0) + 1
            node = Variable(token if seen[token] == 1 else f"{token}{seen[token]}")
        if tokens and tokens[0][0] in "*+?{":
            sign = tokens.pop(0)
            reluctant = len(sign) > 1 and sign.endswith("?")
            node = Quantified(node, *bounds(sign.removesuffix("?") if reluctant else sign), not reluctant)
        return node

    result = alternatives()
    assert not tokens, tokens
    return result


def bounds(sign: str) -> tuple[int, int | None]:
    if sign in BOUNDS:
        return BOUNDS[sign]
    low, comma, high = sign.strip("{}").partition(",")
    return int(low or 0), int(high) if high else (None if comma else int(low))
