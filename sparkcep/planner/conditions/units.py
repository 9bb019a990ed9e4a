"""A number or a string where a length of time is meant: `b.ts - a.ts < 28`."""

from __future__ import annotations

from dataclasses import dataclass

from sparkcep.sql.lexicon import Token, tokenize

_TIMES = frozenset("interval timestamp timestamp_ntz date".split())
_PLAIN = frozenset("int bigint smallint tinyint decimal double float string".split())
_SIGNS = frozenset("< <= > >= = == <> != + -".split())
_OF_FACTORS = frozenset("* / %".split())


@dataclass(frozen=True, slots=True)
class WithoutUnit:
    """``position``: of the literal in the statement."""

    message: str
    hint: str
    position: int


def is_without_unit(one: str, other: str) -> bool:
    """Whether of two types that do not go together one is of time and one is a number's or a string's.

    >>> is_without_unit("interval", "int"), is_without_unit("interval", "interval")
    (True, False)
    """
    return bool({one, other} & _TIMES and {one, other} & _PLAIN)


def without_unit(text: str, start: int) -> WithoutUnit | None:
    """The first literal beside a sign, from an offset of the statement on, that is no interval; None without one.

    >>> without_unit("DEFINE b AS b.ts - a.ts < 28", 12).hint
    'write INTERVAL 28 DAYS, or the unit that is meant'
    """
    tokens = [t for t in tokenize(text) if t.start >= start]
    for k, token in enumerate(tokens):
        beside = [t.upper for t in (*tokens[max(k - 1, 0) : k], *tokens[k + 1 : k + 2])]
        is_length = _SIGNS.intersection(beside) and not _OF_FACTORS.intersection(beside)
        if token.kind in ("number", "string") and is_length and not _is_typed(tokens, k):
            if token.kind == "number":
                message = f"{token.text} has no unit: a length of time is an interval."
                return WithoutUnit(message, f"write INTERVAL {token.text} DAYS, or the unit that is meant", token.start)
            message = f"{token.text!r} is a string: a length of time is an interval."
            return WithoutUnit(message, f"write INTERVAL {token.text!r}", token.start)
    return None


def _is_typed(tokens: list[Token], k: int) -> bool:
    return k > 0 and tokens[k - 1].upper in ("INTERVAL", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ")
