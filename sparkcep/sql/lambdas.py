"""Lambda functions in expressions, by their tokens: where their bodies end, and which names are their parameters'.

A parameter hides columns, pattern variables and outer parameters of the same name, in the lambda's body and nowhere
else, as in Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sparkcep.query import PREFIX, folded, quote
from sparkcep.sql.lexicon import Token

_TIME_FUNCTIONS = frozenset("TIMESTAMPADD TIMESTAMPDIFF DATEADD DATEDIFF DATE_ADD DATE_DIFF EXTRACT".split())


@dataclass(frozen=True, slots=True)
class Lambda:
    """`(x, y) -> body`, by places of tokens. ``first``: where it begins; ``names``: those of its parameters; ``low``
    and ``high``: its body, the second exclusive."""

    first: int
    names: tuple[int, ...]
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Parameter:
    """Which parameter a name is: the ``number``-th of a lambda."""

    of: Lambda
    number: int


def find_lambdas(tokens: Sequence[Token], low: int, high: int) -> list[Lambda]:
    """The lambda functions in a range of tokens, outer ones before those in their bodies.

    >>> from sparkcep.sql.lexicon import tokenize
    >>> find_lambdas(tokenize("zip_with(a, b, (x, y) -> x + f(y, 1))"), 0, 21)
    [Lambda(first=6, names=(7, 9), low=12, high=20)]
    """
    found = []
    for arrow in range(low, high):
        if tokens[arrow].kind != "op" or tokens[arrow].upper != "->" or arrow == low:
            continue
        first = arrow - 1
        names = [first]
        if _is(tokens[first], ")"):
            names = []
            first -= 1
            while first > low and not _is(tokens[first], "("):
                if tokens[first].kind in ("word", "quoted"):
                    names.insert(0, first)
                first -= 1
        found.append(Lambda(first, tuple(names), arrow + 1, _body_end(tokens, arrow + 1, high)))
    return found


def parameters(tokens: Sequence[Token], low: int, high: int, case_sensitive: bool = False) -> dict[int, Parameter]:
    """By place: every token in a range that names a parameter, also where the parameter is introduced.

    >>> from sparkcep.sql.lexicon import tokenize
    >>> tokens = tokenize("exists(t.x, t -> t.t = 1)")
    >>> sorted(parameters(tokens, 0, len(tokens)))
    [6, 8]
    """
    out: dict[int, Parameter] = {}
    for each in find_lambdas(tokens, low, high):
        numbers = {_name(tokens[k], case_sensitive): n for n, k in enumerate(each.names)}
        for k in (*each.names, *range(each.low, each.high)):
            if k in each.names or _is_operand(tokens, k):
                number = numbers.get(_name(tokens[k], case_sensitive))
                if number is not None:
                    out[k] = Parameter(each, number)
    return out


def hidden(
    tokens: Sequence[Token],
    by_token: dict[int, Parameter],
    columns: Iterable[tuple[int, str]],
    case_sensitive: bool = False,
) -> set[Parameter]:
    """Parameters that would take the place of a column which its qualifier no longer tells apart.

    Args:
        by_token: all :func:`parameters`. columns: where columns lose their qualifiers, and the names that are left.
    """
    out = set()
    for at, name in columns:
        for k, parameter in by_token.items():
            of = parameter.of
            if (
                k in of.names
                and of.low <= at < of.high
                and folded(name, case_sensitive) == _name(tokens[k], case_sensitive)
            ):
                out.add(parameter)
    return out


def columns_behind(tokens: Sequence[Token], low: int, high: int, loses: Callable[[int], bool]) -> list[tuple[int, str]]:
    """Names behind a dot whose qualifier is to go, by place. ``loses``: whether what ends before a dot is to go."""
    return [
        (k, tokens[k].text)
        for k in range(low + 2, high)
        if tokens[k].kind in ("word", "quoted") and _is(tokens[k - 1], ".") and loses(k - 2)
    ]


def renamed(token: Token) -> str:
    """Another name for a parameter, which no column has; text for Spark to format."""
    return quote(f"{PREFIX}p_{token.text}")


def _body_end(tokens: Sequence[Token], low: int, high: int) -> int:
    depth = 0
    for k in range(low, high):
        if tokens[k].kind != "op":
            continue
        if tokens[k].upper in ("(", "[", "{"):
            depth += 1
        elif tokens[k].upper in (")", "]", "}"):
            if depth == 0:
                return k
            depth -= 1
        elif tokens[k].upper == "," and depth == 0:
            return k
    return high


def _is(token: Token, operator: str) -> bool:
    return token.kind == "op" and token.upper == operator


def _name(token: Token, case_sensitive: bool) -> str:
    return folded(token.text, case_sensitive) if token.kind in ("word", "quoted") else ""


def _is_operand(tokens: Sequence[Token], k: int) -> bool:
    """Whether a name can be a value: it is no field, function, type, alias, unit of time or word before a literal."""
    token, before = tokens[k], tokens[k - 1]
    if token.kind not in ("word", "quoted") or _is(before, ".") or before.upper == "AS":
        return False
    behind = tokens[k + 1] if k + 1 < len(tokens) else None
    if token.kind == "word":
        if before.kind in ("number", "string") or (behind is not None and behind.kind == "string"):
            return False
        unit = _is(before, "(") and k > 1 and tokens[k - 2].upper in _TIME_FUNCTIONS
        if unit and behind is not None and (behind.upper == "FROM" or _has_three_arguments(tokens, k)):
            return False
    return behind is None or not _is(behind, "(")


def _has_three_arguments(tokens: Sequence[Token], first: int) -> bool:
    """Whether the call whose first argument is one token has two more: then that token is a unit."""
    commas, k = 0, first
    while k < len(tokens):
        end = _body_end(tokens, k, len(tokens))
        if end >= len(tokens) or not _is(tokens[end], ","):
            break
        commas += 1
        k = end + 1
    return commas == 2
