"""What filters let through of one column, read from conditions of Spark's analysed plans (classic sessions only).

Read are comparisons of a column with constants, and alternatives of these on one column. Whatever else a condition says
is left out: what is read is needed, and need not be enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pyspark.sql import DataFrame

from sparkcep.lineage.comparisons import MOST_CONSTANTS, TURNED, Comparison
from sparkcep.spark.plan import analysed

_COMPARED = {
    "EqualTo": "=", "EqualNullSafe": "=", "LessThan": "<", "LessThanOrEqual": "<=", "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
}  # fmt: skip
#: Types whose values are whole numbers or text; times are microseconds, dates are days since 1970.
_TYPES = ("string", "tinyint", "smallint", "int", "bigint", "timestamp", "timestamp_ntz", "date")
#: What is another constant where a plan runs than where it is made.
_NOW = re.compile(r"current_|curdate|\bnow\b|localtime|\buser\b", re.IGNORECASE)


def predicate_comparisons(frame: DataFrame, predicates: Sequence[str]) -> list[tuple[int, Comparison]]:
    """What SQL predicates over a relation ask of its columns, by the numbers of their attributes."""
    if not predicates:
        return []
    with suppress(Exception):  # there is no public way to a plan: whoever asks does without
        return list(comparisons(analysed(frame.where(" AND ".join(f"({p})" for p in predicates))).condition()))
    return []


def comparisons_by_column(frame: DataFrame, predicates: Sequence[str]) -> dict[str, tuple[Comparison, ...]]:
    """What SQL predicates over a relation ask of its columns."""
    out: dict[str, tuple[Comparison, ...]] = {}
    if not predicates:
        return out
    with suppress(Exception):
        attributes = analysed(frame).output()
        names = {int(attributes.apply(k).exprId().id()): name for k, name in enumerate(frame.columns)}
        for number, test in predicate_comparisons(frame, predicates):
            out[names[number]] = (*out.get(names[number], ()), test)
    return out


def comparisons(condition: Any) -> Iterator[tuple[int, Comparison]]:
    """What a condition asks of single attributes, all of which it needs."""
    yield from _comparisons(condition, {})


#: What a condition calls some of its parts, by their ids as text: BETWEEN does.
_Names = Mapping[str, Any]


def _comparisons(condition: Any, names: _Names) -> Iterator[tuple[int, Comparison]]:
    with suppress(Exception):  # a constant that only Spark's optimizer makes one of
        condition, names, kind = _replaced(condition, names)
        if kind == "And":
            yield from _comparisons(condition.left(), names)
            yield from _comparisons(condition.right(), names)
        elif (found := _comparison(condition, names, kind)) is not None:
            yield found


def _comparison(condition: Any, names: _Names, kind: str) -> tuple[int, Comparison] | None:
    if kind == "Or":
        one, other = (_comparison(*_replaced(side, names)) for side in (condition.left(), condition.right()))
        if one is None or other is None or one[0] != other[0]:
            return None
        return one[0], Comparison(either=(one[1], other[1]))
    if kind == "In":
        listed, column = condition.list(), _plain(condition.value(), names)
        if int(listed.size()) > MOST_CONSTANTS or (number := _attribute(column)) is None:
            return None
        values = [_constant(listed.apply(k), column) for k in range(int(listed.size()))]
        return (number, Comparison("=", tuple(values))) if None not in values else None
    if kind not in _COMPARED:
        return None
    operator = _COMPARED[kind]
    left, right = _plain(condition.left(), names), _plain(condition.right(), names)
    for one, other, sign in ((left, right, operator), (right, left, TURNED[operator])):
        number = _attribute(one)
        if number is not None and (value := _constant(other, one)) is not None:
            return number, Comparison(sign, (value,))
    return None


def _replaced(condition: Any, names: _Names) -> tuple[Any, _Names, str]:
    """A condition in the place of one that stands for it, and of which kind it is."""
    kind = _kind(condition)
    if kind == "Between":
        condition = condition.replacement()
        kind = _kind(condition)
    if kind == "With":
        defined = condition.defs()
        own = [defined.apply(k) for k in range(int(defined.size()))]
        names = {**names, **{str(d.id().toString()): d.child() for d in own}}
        condition = condition.child()
        kind = _kind(condition)
    return condition, names, kind


def _plain(expression: Any, names: _Names) -> Any:
    """An expression without names and casts to its own type."""
    while True:
        kind = _kind(expression)
        if kind == "CommonExpressionRef":
            expression = names[str(expression.id().toString())]
        elif kind == "Cast" and expression.child().dataType().equals(expression.dataType()):
            expression = expression.child()
        else:
            return expression


def _attribute(expression: Any) -> int | None:
    if _kind(expression) != "AttributeReference" or str(expression.dataType().simpleString()) not in _TYPES:
        return None
    return int(expression.exprId().id())


def _constant(expression: Any, column: Any) -> Any:
    """The value of a constant of the column's type; None: it is none, or NULL."""
    if not expression.foldable() or not expression.deterministic() or _NOW.search(str(expression.toString())):
        return None
    if not expression.dataType().equals(column.dataType()):
        return None
    try:
        value = expression.eval(None)
    except Exception:  # Spark puts another expression in its place
        value = expression.replacement().eval(None)
    return value if value is None or isinstance(value, int) else str(value)


def _kind(expression: Any) -> str:
    return str(expression.nodeName())  # of its class, in one round trip
