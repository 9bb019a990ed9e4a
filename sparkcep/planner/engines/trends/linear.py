"""Sides of a comparison that are a column, or one times or plus a literal: the kernel's integers can be made of the
column itself, where Spark would make a decimal for each row and send both.

Only what is exact: where a product, a sum or the type that both sides are compared as has 38 digits, Spark may have
given up some of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from sparkcep.exec.engines.trends.spec import Key
from sparkcep.exec.kernels.decimals import DIGITS
from sparkcep.expr.coercion import as_decimal, wider_decimal
from sparkcep.expr.types import WORD_DIGITS, Type, parse_type
from sparkcep.query import unescape
from sparkcep.sql.lexicon import parse_expression


@dataclass(frozen=True, slots=True)
class Linear:
    """``(factor * column + summand) / 10^scale``, of the column's unscaled values."""

    column: str
    factor: int
    summand: int
    scale: int

    def scaled(self, scale: int) -> Linear:
        """The same number with more digits behind the point."""
        more = 10 ** (scale - self.scale)
        return Linear(self.column, self.factor * more, self.summand * more, scale)

    def without(self, divisor: int) -> Linear:
        """The integer without a divisor that the other side has too."""
        return replace(self, factor=self.factor // divisor, summand=self.summand // divisor)


def linear_sides(
    sides: tuple[str, str], types: tuple[Type, Type], column: Callable[[str], tuple[str, Type] | None]
) -> tuple[Linear, Linear] | None:
    """Both sides of a comparison of decimals as integers of one scale, with the least factors; None where one is none.

    Args:
        types: Spark's, of the sides. column: the column that a text names, and its type; None if it names none.
    """
    before, after = (linear(text, type_, column) for text, type_ in zip(sides, types, strict=True))
    if before is None or after is None or wider_decimal(*map(as_decimal, types)).size == DIGITS:
        return None
    scale = max(before.scale, after.scale)
    before, after = before.scaled(scale), after.scaled(scale)
    common = math.gcd(before.factor, before.summand, after.factor, after.summand)
    return before.without(common), after.without(common)


def linear(text: str, type_: Type, column: Callable[[str], tuple[str, Type] | None]) -> Linear | None:
    """A side of a comparison, or None; see :func:`linear_sides`."""
    tree = parse_expression(unescape(text))
    tree = tree.unnest() if tree is not None else None
    if isinstance(tree, exp.Column):
        return _of_column(tree, column)
    if type_.kind != "decimal" or type_.size == DIGITS or not isinstance(tree, exp.Mul | exp.Add | exp.Sub):
        return None
    left, right = tree.this.unnest(), tree.expression.unnest()
    own, number = _of_column(left, column), _number(right)
    literal_first = own is None
    if literal_first:
        own, number = _of_column(right, column), _number(left)
    if own is None or number is None:
        return None
    unscaled, digits = number
    if isinstance(tree, exp.Sub) and literal_first:
        own = replace(own, factor=-1)
    elif isinstance(tree, exp.Sub):
        unscaled = -unscaled
    if isinstance(tree, exp.Mul):
        return Linear(own.column, unscaled, 0, own.scale + digits) if unscaled else None
    scale = max(own.scale, digits)
    return replace(own.scaled(scale), summand=unscaled * 10 ** (scale - digits))


def key_texts(*sides: tuple[str, Key, str]) -> list[str]:
    """Sides of a comparison for people. Of each: its column's text, what the kernel makes of it, its Spark type."""
    scales = [parse_type(type_).scale for _, _, type_ in sides]
    # A column's unscaled values are its values times a power of ten.
    factors = [key.factor * 10**scale for (_, key, _), scale in zip(sides, scales, strict=True)]
    common = math.gcd(*factors, *(key.summand for _, key, _ in sides))
    out = []
    for (text, key, _), factor in zip(sides, factors, strict=True):
        product = "" if factor == common else f" * {factor // common}"
        sign = "-" if key.summand < 0 else "+"
        out.append(f"{text}{product}" + (f" {sign} {abs(key.summand) // common}" if key.summand else ""))
    return out


def _of_column(tree: exp.Expr, column: Callable[[str], tuple[str, Type] | None]) -> Linear | None:
    """A column of integers or of decimals that have one word, by itself."""
    found = column(tree.sql("spark")) if isinstance(tree, exp.Column) else None
    if found is None:
        return None
    name, type_ = found
    one_word = type_.kind == "int" or (type_.kind == "decimal" and type_.size <= WORD_DIGITS)
    return Linear(name, 1, 0, type_.scale) if one_word else None


def _number(tree: exp.Expr) -> tuple[int, int] | None:
    """A literal integer or decimal: unscaled, and how many digits are behind its point."""
    if isinstance(tree, exp.Neg):
        inner = _number(tree.this)
        return None if inner is None else (-inner[0], inner[1])
    text = str(tree.this) if isinstance(tree, exp.Literal) and not tree.is_string else ""
    if not re.fullmatch(r"\d+\.?\d*|\.\d+", text):
        return None
    whole, _, behind = text.partition(".")
    return int(whole + behind), len(behind)
