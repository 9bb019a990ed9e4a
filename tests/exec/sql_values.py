"""The value of a row expression, for tests without Spark: the SQL that the planners make of drawn conditions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from sqlglot import exp

from sparkcep.query import unescape
from sparkcep.sql.lexicon import parse_expression

_OPERATORS: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: operator.add, exp.Sub: operator.sub, exp.EQ: operator.eq, exp.NEQ: operator.ne, exp.LT: operator.lt,
    exp.LTE: operator.le, exp.GT: operator.gt, exp.GTE: operator.ge,
}  # fmt: skip


@cache
def _tree(text: str) -> exp.Expr:
    tree = parse_expression(unescape(text))
    assert tree is not None, text
    return tree


def sql_value(text: str, row: Mapping[str, Any]) -> Any:
    """What an expression is over the columns of a row."""
    return _value(_tree(text), row)


def _value(node: exp.Expr, row: Mapping[str, Any]) -> Any:
    if isinstance(node, exp.Paren):
        return _value(node.this, row)
    if isinstance(node, exp.Cast):
        return _value(node.this, row)
    if isinstance(node, exp.Column):
        return row[node.name]
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Boolean):
        return node.this
    if isinstance(node, exp.Literal):
        return node.name if node.is_string else int(node.name)
    if isinstance(node, exp.Coalesce):
        values = [_value(a, row) for a in (node.this, *node.expressions)]
        return next((v for v in values if v is not None), None)
    if isinstance(node, exp.If):
        return _value(node.args["true"] if _value(node.this, row) else node.args["false"], row)
    if isinstance(node, exp.Is):
        return _value(node.this, row) is None
    if isinstance(node, exp.Not):
        value = _value(node.this, row)
        return None if value is None else not value
    values = [_value(a, row) for a in (node.this, node.expression)]
    return None if None in values else _OPERATORS[type(node)](*values)
