"""Conditions of one event that compare a column, or a field of a struct, with a constant: rule sets have thousands, and
Python tests them over the rows of their event types instead of Spark over all rows."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from sparkcep.expr.types import WORD_DIGITS, Type, field_type, parse_type
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
    """``column operator values``, by SQL of the column; see :class:`exec.engines.shared.Comparison`."""

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
    path, operator, literals = read
    column = fields.column_of(quote(path[0]))
    if column is None:
        return None
    type_ = field_type(column_types[column], path[1:], fields.case_sensitive)
    if type_ is None:
        return None
    kind = parse_type(type_)
    values = [_constant(literal, kind, type_) for literal in literals]
    known = [v for v in values if v is not None]
    text = ".".join(map(quote, (column, *path[1:])))
    return ColumnComparison(text, operator, tuple(known)) if len(known) == len(values) else None


@functools.lru_cache(maxsize=10_000)
def _read(text: str) -> tuple[tuple[str, ...], str, tuple[str | Decimal, ...]] | None:
    """Column with fields within it, operator, and constants: texts, or numbers as they are written."""
    if "{" in text:
        return None
    tree = parse_expression(unescape(text))
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if isinstance(tree, exp.In) and _path(tree.this) and tree.expressions and not tree.args.get("query"):
        literals = [_literal(item) for item in tree.expressions]
        known = tuple(v for v in literals if v is not None)
        of_one = len({type(v) for v in known}) == 1
        return (_path(tree.this), "in", known) if len(known) == len(literals) and of_one else None
    operator = _OPERATORS.get(type(tree)) if tree is not None else None
    if operator is None or tree is None:
        return None
    left, right = tree.this, tree.expression
    if _path(left) and (value := _literal(right)) is not None:
        return _path(left), operator, (value,)
    if _path(right) and (value := _literal(left)) is not None:
        return _path(right), _TURNED[operator], (value,)
    return None


def _path(tree: exp.Expr) -> tuple[str, ...]:
    """The names of a column and of fields within it; empty for anything else."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if isinstance(tree, exp.Dot):
        before = _path(tree.this)
        return (*before, tree.name) if before and isinstance(tree.expression, exp.Identifier) else ()
    return tuple(part.name for part in tree.parts) if isinstance(tree, exp.Column) else ()


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
