"""Conditions of one event that compare a column with a constant: rule sets have thousands, and Python tests them over
the rows of their event types instead of Spark over all rows."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from sparkcep.expr.types import WORD_DIGITS, Type, parse_type
from sparkcep.planner.fields import Fields
from sparkcep.query import quote, unescape
from sparkcep.sql.lexicon import parse_expression

_OPERATORS: Mapping[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_TURNED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_MOST_DIGITS = 15


@dataclass(frozen=True, slots=True)
class ColumnComparison:
    """``column operator values``, by the column's name in the input; see :class:`exec.engines.shared.Comparison`."""

    column: str
    operator: str
    values: tuple[int | float | str, ...]


def comparison(text: str, fields: Fields, column_types: Mapping[str, str]) -> ColumnComparison | None:
    """A condition's text as a comparison of a column with constants whose answer is Spark's; None for anything else.

    Args:
        fields: knows the input's columns.
    """
    read = _read(text)
    if read is None:
        return None
    name, operator, literals = read
    column = fields.column_of(quote(name))
    if column is None:
        return None
    kind = parse_type(column_types[column])
    values = [_constant(literal, kind, column_types[column]) for literal in literals]
    known = [v for v in values if v is not None]
    return ColumnComparison(column, operator, tuple(known)) if len(known) == len(values) else None


@functools.lru_cache(maxsize=10_000)
def _read(text: str) -> tuple[str, str, tuple[str | Decimal, ...]] | None:
    """Column, operator and constants: texts, or numbers as they are written."""
    if "{" in text:
        return None
    tree = parse_expression(unescape(text))
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if isinstance(tree, exp.In) and _name(tree.this) and tree.expressions and not tree.args.get("query"):
        literals = [_literal(item) for item in tree.expressions]
        known = tuple(v for v in literals if v is not None)
        of_one = len({type(v) for v in known}) == 1
        return (_name(tree.this), "in", known) if len(known) == len(literals) and of_one else None
    operator = _OPERATORS.get(type(tree)) if tree is not None else None
    if operator is None or tree is None:
        return None
    left, right = tree.this, tree.expression
    if _name(left) and (value := _literal(right)) is not None:
        return _name(left), operator, (value,)
    if _name(right) and (value := _literal(left)) is not None:
        return _name(right), _TURNED[operator], (value,)
    return None


def _name(tree: exp.Expr) -> str:
    """The name of a bare column; empty for anything else."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return tree.name if isinstance(tree, exp.Column) and len(tree.parts) == 1 else ""


def _literal(tree: exp.Expr) -> str | Decimal | None:
    """A string, or a plain number; None for anything else."""
    negative = isinstance(tree, exp.Neg)
    if negative:
        tree = tree.this
    if not isinstance(tree, exp.Literal):
        return None
    if tree.is_string:
        return None if negative or "\\" in tree.name else str(tree.name)
    if not re.fullmatch(r"\d+(\.\d*)?|\.\d+", tree.name):
        return None
    try:
        return -Decimal(tree.name) if negative else Decimal(tree.name)
    except InvalidOperation:
        return None


def _constant(value: str | Decimal, kind: Type, spark: str) -> int | float | str | None:
    """A constant in the type of a column, where the comparison is the same in it; None where it may not be."""
    if isinstance(value, str):
        return value if spark == "string" else None
    digits = len(value.as_tuple().digits)
    if digits > _MOST_DIGITS:
        return None
    if kind.kind == "int":
        whole = value == value.to_integral_value() and value.as_tuple().exponent == 0
        return int(value) if whole and abs(value) < 1 << (kind.size - 1) else None
    if kind.kind == "double":
        return float(value)
    if kind.kind == "decimal" and kind.size <= WORD_DIGITS:
        unscaled = value.scaleb(kind.scale)
        return int(unscaled) if unscaled == unscaled.to_integral_value() and abs(unscaled) < 1 << 62 else None
    return None
