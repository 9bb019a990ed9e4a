"""Operators: logic in three values, comparisons, arithmetic, IN, and what chooses among values."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from sparkcep.expr.coercion import (
    arithmetic_type,
    as_decimal,
    check_comparable,
    common_type,
    decimal_among,
    wider_decimal,
)
from sparkcep.expr.functions.function import Arguments, Function
from sparkcep.expr.intervals import scaled
from sparkcep.expr.local_times import common_moment, operation
from sparkcep.expr.nodes import COMPARISONS, Call
from sparkcep.expr.numbers import DECIMALS, DivisionByZero, Numbers, single
from sparkcep.expr.order import compare, extreme
from sparkcep.expr.typed import Form, Typed
from sparkcep.expr.types import BOOLEAN, DOUBLE, NULL, NotCompilable, Type

TIMESTAMP = Type("timestamp")
ARITHMETIC = ("+", "-", "*", "/", "%", "div")
_DIVISIONS = ("/", "%", "div")
#: The orders of two values that a comparison holds for.
_ORDERS: dict[str, tuple[int, ...]] = {
    "=": (0,), "<>": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1), "<=>": (0,),
}  # fmt: skip
#: Operators that compare as Spark does: texts, times and whole numbers of one type.
_PYTHON_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_DIRECT: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip
_DECIMAL: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": DECIMALS.add, "-": DECIMALS.subtract, "*": DECIMALS.multiply, "/": DECIMALS.divide, "%": DECIMALS.remainder,
}  # fmt: skip


# -- logic -------------------------------------------------------------------------------------------------------------


def _tests(call: Call, of: Sequence[Typed]) -> None:
    """Raises NotCompilable unless these are truth values."""
    if odd := next((each.type for each in of if each.type.kind not in ("boolean", "null")), None):
        raise NotCompilable(f"{call.name.upper()} over a value of type {odd.shown}")


def _logic(numbers: Numbers, call: Call, of: Arguments) -> Typed:
    _tests(call, of)
    form = {"and": Form.AND, "or": Form.OR, "not": Form.STRICT}[call.name]
    return Typed(form, BOOLEAN, of, operator.not_ if form is Form.STRICT else None, call)


def _is_null(numbers: Numbers, call: Call, of: Arguments) -> Typed:
    return Typed(Form.LISTED, BOOLEAN, of, lambda v: v is None, call)


# -- comparisons -------------------------------------------------------------------------------------------------------


def _comparison(numbers: Numbers, call: Call, of: Arguments) -> Typed:
    """A comparison in Spark's order; ``<=>`` takes NULLs as equal."""
    name, kinds = call.name, [each.type for each in of]
    if call.zone and (moments := common_moment(kinds[0], kinds[1], call.zone)):
        of = tuple(Typed(Form.WIDENED, TIMESTAMP, (a,), moment) for a, moment in zip(of, moments, strict=True))
        kinds = [TIMESTAMP, TIMESTAMP]
    check_comparable(name, kinds[0], kinds[1], numbers.ansi)
    a, b = kinds
    if decimal_among(kinds):
        common = wider_decimal(*(as_decimal(each.beside_decimal) for each in of))
        of = tuple(widened(numbers, each, common) for each in of)
    if name in _PYTHON_ORDERS and a.kind == b.kind and (a.kind == "string" or a.is_integer_like):
        return Typed(Form.STRICT, BOOLEAN, of, _PYTHON_ORDERS[name], call)
    orders = _ORDERS[name]
    floats = a.is_floating or b.is_floating  # Spark compares anything with a double as doubles

    def holds(u: Any, v: Any) -> bool:
        return (compare(float(u), float(v)) if floats else compare(u, v)) in orders

    if name == "<=>":
        null_safe = lambda u, v: u is v if u is None or v is None else holds(u, v)  # noqa: E731
        return Typed(Form.LISTED, BOOLEAN, of, null_safe, call)
    return Typed(Form.STRICT, BOOLEAN, of, holds, call)


def _membership(numbers: Numbers, call: Call, of: Arguments) -> Typed:
    """IN over a list."""
    kinds = [each.type for each in of]
    for kind in kinds[1:]:
        check_comparable("=", kinds[0], kind, numbers.ansi)
    if any(k.is_floating for k in kinds):
        of = tuple(widened(numbers, each, DOUBLE) for each in of)
    elif decimal_among(kinds):
        common = common_type(kinds, numbers.ansi)
        of = tuple(widened(numbers, each, common) for each in of)
    return Typed(Form.IN, BOOLEAN, of, call=call)


# -- arithmetic --------------------------------------------------------------------------------------------------------


def _arithmetic(numbers: Numbers, call: Call, of: Arguments) -> Typed | None:
    name, kinds = call.name, [each.type for each in of]
    if len(of) != 2:  # of mod(...)
        return None
    found = operation(name, kinds[0], kinds[1], call.zone) if call.zone else None
    if found := found or scaled(name, *kinds):
        return Typed(Form.STRICT, found[1], of, found[0], call)
    if "decimal" in (kinds[0].kind, kinds[1].kind):
        kinds = [each.beside_decimal for each in of]
    kind = arithmetic_type(name, kinds[0], kinds[1], numbers.ansi)
    apply = functools.partial(_operate, numbers, name, kind)
    # Of a division the dividend is not evaluated where the divisor is NULL.
    return Typed(Form.STRICT_BACKWARDS if name in _DIVISIONS else Form.STRICT, kind, of, apply, call)


def _operate(numbers: Numbers, name: str, kind: Type, u: Any, v: Any) -> Any:
    """One operation on values that are not NULL, whose result has a type; NULL by zero without ANSI.

    Raises:
        Overflow: under ANSI; without it integers wrap and decimals become NULL.
        DivisionByZero: under ANSI.
    """
    if kind.is_floating:
        u, v = float(u), float(v)
    elif kind.kind == "decimal":
        u, v = Decimal(u), Decimal(v)
    if v == 0 and name in _DIVISIONS:
        if numbers.ansi:
            raise DivisionByZero
        return None
    if kind.kind == "decimal":
        return numbers.decimal(_DECIMAL[name](u, v), kind)
    if name in _DIRECT:
        out = _DIRECT[name](u, v)
    elif kind.is_floating:
        with np.errstate(invalid="ignore"):
            out = float(np.fmod(u, v))
    else:
        quotient = abs(u) // abs(v) * (1 if (u < 0) == (v < 0) else -1)
        out = quotient if name == "div" else u - quotient * v
    if kind.kind == "float":
        return single(out)
    return numbers.integer(out, kind.size) if kind.kind == "int" else out


# -- one of several values ---------------------------------------------------------------------------------------------


def widened(numbers: Numbers, of: Typed, common: Type) -> Typed:
    """A value in the common type of alternatives."""
    kind = of.type
    if common.kind == "double" and kind.kind not in ("double", "float", "null"):
        return Typed(Form.WIDENED, common, (of,), float)
    if common.kind == "decimal" and kind.kind == "decimal" and kind.scale > common.scale:
        return Typed(Form.WIDENED, common, (of,), lambda v: numbers.decimal(v, common))
    if common.kind == "decimal" and kind.kind == "int":
        return Typed(Form.WIDENED, common, (of,), Decimal)
    return of


def _alternatives(numbers: Numbers, call: Call, of: Arguments) -> Typed:
    """CASE, COALESCE, LEAST, GREATEST and ARRAY, whose values get their common type."""
    name = call.name
    tests, values = (of[:-1:2], (*of[1:-1:2], of[-1])) if name == "case" else ((), of)
    _tests(call, tests)
    kind = common_type([each.type for each in values], numbers.ansi)
    values = tuple(widened(numbers, each, kind) for each in values)
    if name == "case":
        branches = [part for pair in zip(tests, values[:-1], strict=True) for part in pair]
        return Typed(Form.CASE, kind, (*branches, values[-1]), call=call)
    if name == "coalesce":
        return Typed(Form.COALESCE, kind, values, call=call)
    if name == "array":
        return Typed(Form.LISTED, Type("array", element=kind), values, lambda *v: list(v), call)
    sign = 1 if name == "greatest" else -1
    return Typed(Form.LISTED, kind, values, lambda *v: extreme(v, sign), call)


def _element(numbers: Numbers, call: Call, of: Arguments) -> Typed:
    """The value that Spark has computed for a pair of rows."""
    return Typed(Form.STRICT, of[0].type.element or NULL, of, operator.getitem, call)


OPERATORS = (
    *(Function(name, _logic, takes="truth values", in_kernel=True) for name in ("and", "or", "not")),
    Function("isnull", _is_null, takes="any value", in_kernel=True),
    *(Function(name, _comparison, takes="single values, arrays, structs", in_kernel=True) for name in COMPARISONS),
    Function("in", _membership, takes="single values, arrays, structs", in_kernel=True),
    *(
        Function(name, _arithmetic, ("mod",) if name == "%" else (), "numbers, times, intervals", in_kernel=True)
        for name in ARITHMETIC
    ),
    *(
        Function(name, _alternatives, takes="values of one type", in_kernel=True)
        for name in ("case", "coalesce", "least", "greatest")
    ),
    Function("array", _alternatives, takes="values of one type"),
    Function("element", _element),
)
