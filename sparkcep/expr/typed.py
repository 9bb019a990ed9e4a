"""Conditions with the types that Spark gives each of their parts, and what each part does to values.

One pass over a tree: types and their widening, functions by the types of their arguments, and what conditions lack.
Whoever needs a type asks here; whoever evaluates conditions in Python (exec/conditions/columns.py) goes by the form.
"""

from __future__ import annotations

import datetime as dt
import enum
import functools
import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from sparkcep.expr.aggregates import aggregate_fold, own_fold
from sparkcep.expr.coercion import (
    arithmetic_type,
    as_decimal,
    check_comparable,
    common_type,
    decimal_among,
    wider_decimal,
)
from sparkcep.expr.intervals import scaled
from sparkcep.expr.lambdas import (
    FIELD,
    PARAMETER,
    WITH_LAMBDAS,
    canonical,
    field_of,
    lambdas_of,
    nested_function,
    parameter_types,
    result_type,
)
from sparkcep.expr.local_times import common_moment, operation
from sparkcep.expr.nodes import (
    COMPARISONS,
    LABEL_COLUMN,
    ROW_COLUMN,
    Call,
    ConditionSlot,
    Constant,
    CurrentNumber,
    Expression,
    Load,
    NavigationSlot,
    NumberSlot,
    RowValue,
)
from sparkcep.expr.order import compare, extreme
from sparkcep.expr.scalars import (
    DECIMALS,
    DivisionByZero,
    Numbers,
    scalar_function,
    single,
)
from sparkcep.expr.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    NULL,
    STRING,
    NotCompilable,
    Type,
)

TIMESTAMP = Type("timestamp")
_OPERATORS = ("+", "-", "*", "/", "%", "div")
_DIVISIONS = ("/", "%", "div")
#: The orders of two values that a comparison holds for.
_ORDERS: dict[str, tuple[int, ...]] = {
    "=": (0,), "<>": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1), "<=>": (0,),
}  # fmt: skip
#: Operators that compare as Spark does: texts, times and whole numbers of one type.
_PYTHON_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Form(enum.Enum):
    """How a part of a condition is evaluated.

    WIDENED: a value as one of the type that values beside it have, by ``apply``, NULL where it is. STRICT: NULL where
    an argument is, beside which those behind it are not evaluated; STRICT_ALL: but all arguments are;
    STRICT_BACKWARDS: but the last argument is evaluated first. LISTED: a function of all values, NULLs among them. AND
    and OR in three values; CASE: condition, value, condition, value, ..., default; IN: a value, then the list.
    """

    CONSTANT = enum.auto()
    COLUMN = enum.auto()
    NUMBER = enum.auto()
    PARAMETER = enum.auto()
    NAVIGATION = enum.auto()
    AGGREGATE = enum.auto()
    WIDENED = enum.auto()
    STRICT = enum.auto()
    STRICT_ALL = enum.auto()
    STRICT_BACKWARDS = enum.auto()
    LISTED = enum.auto()
    AND = enum.auto()
    OR = enum.auto()
    CASE = enum.auto()
    COALESCE = enum.auto()
    IN = enum.auto()
    WITH_LAMBDAS = enum.auto()


@dataclass(frozen=True, slots=True)
class Typed:
    """A part of a condition. ``name``: of an operator or function. ``apply``: what it does to values. ``detail``: a
    constant's value, a column's or a parameter's number, a slot; of an aggregate with its fold; of a function with
    lambdas the numbers of their parameters; of any other function what it was written with (``Call.extra``).
    """

    form: Form
    type: Type
    arguments: tuple[Typed, ...] = ()
    apply: Callable[..., Any] | None = None
    detail: Any = None
    name: str = ""

    @property
    def own(self) -> Typed:
        """The value that was widened, if it was; else the part as it is."""
        return self.arguments[0] if self.form is Form.WIDENED else self

    @property
    def beside_decimal(self) -> Type:
        """A number's type beside a decimal: an integer literal is a decimal of just its digits."""
        if self.form is not Form.CONSTANT or self.type.kind != "int" or self.detail is None:
            return self.type
        return Type("decimal", len(str(abs(self.detail))), 0)


def _widened(apply: Callable[[Any], Any], type_: Type, of: Typed) -> Typed:
    return Typed(Form.WIDENED, type_, (of,), apply)


class Typing:
    """Types trees.

    Args:
        slots: what ``Load`` refers to.
        column_types: Spark types of the kernel columns.
        ansi: whether overflow and division by zero are errors (else NULL, or wrapped).
    """

    def __init__(self, slots: Sequence[ConditionSlot], column_types: Sequence[Type], ansi: bool) -> None:
        self.slots = slots
        self.column_types = column_types
        self.ansi = ansi
        self.numbers = Numbers(ansi)
        self.parameter_types: dict[int, Type] = {}

    def condition(self, node: Expression) -> Typed:
        """A tree whose value is a truth value.

        Raises:
            NotCompilable: what conditions cannot do at all, named.
        """
        found = self.typed(node)
        if found.type.kind not in ("boolean", "null"):
            raise NotCompilable(f"a condition of type {found.type.shown}")
        return found

    def typed(self, node: Expression) -> Typed:
        """A tree.

        Raises:
            NotCompilable: what no condition can do, named.
        """
        if isinstance(node, Constant):
            return Typed(Form.CONSTANT, node.type, detail=node.value)
        if isinstance(node, RowValue):
            return Typed(Form.COLUMN, self.type_of_column(node.column), detail=node.column)
        if isinstance(node, CurrentNumber):
            return Typed(Form.NUMBER, BIGINT)
        if isinstance(node, Load):
            return self.slot(node)
        return self.call(node)

    def type_of_column(self, index: int) -> Type:
        """The type of a kernel column, of a row's number, or of its label."""
        return {ROW_COLUMN: BIGINT, LABEL_COLUMN: STRING}.get(index) or self.column_types[index]

    def slot(self, node: Load) -> Typed:
        """A navigation, an aggregate or MATCH_NUMBER; NULL for rows outside of the partition."""
        slot = self.slots[node.slot]
        if isinstance(slot, NumberSlot):
            return Typed(Form.NUMBER, BIGINT)
        if isinstance(slot, NavigationSlot):
            value = self.typed(slot.argument or RowValue(slot.column))
            return Typed(Form.NAVIGATION, value.type, (value,), detail=slot)
        arguments = tuple(map(self.typed, slot.arguments))
        kinds = [a.type for a in arguments]
        keep = () if slot.filter is None else (self.typed(slot.filter),)
        if slot.own is not None:
            fold = own_fold(slot.own, kinds)
        else:
            fold = aggregate_fold(slot.function, kinds, self.ansi)
        if slot.distinct and any(not k.is_single for k in kinds):
            raise NotCompilable(f"{slot.function}(DISTINCT {kinds[0].shown})")
        return Typed(Form.AGGREGATE, fold.type, (*arguments, *keep), detail=(slot, fold))

    # -- operators and functions -----------------------------------------------------------------------------------

    def call(self, node: Call) -> Typed:
        """An operator or a function.

        Raises:
            NotCompilable: a function, or types for it, that are not here.
        """
        name = node.name
        if name == PARAMETER:
            return Typed(Form.PARAMETER, self.parameter_types[node.extra], detail=node.extra)
        if canonical(name) in WITH_LAMBDAS:
            return self.with_lambdas(node)
        of = tuple(map(self.typed, node.arguments))
        kinds = [a.type for a in of]
        if name in ("and", "or", "not", "case"):
            tested = kinds[:-1:2] if name == "case" else kinds
            if odd := next((k for k in tested if k.kind not in ("boolean", "null")), None):
                raise NotCompilable(f"{name.upper()} over a value of type {odd.shown}")
        if name in ("and", "or"):
            return Typed(Form.AND if name == "and" else Form.OR, BOOLEAN, of, name=name)
        if name == "not":
            return Typed(Form.STRICT, BOOLEAN, of, operator.not_, name=name)
        if name == "element":
            return Typed(Form.STRICT, kinds[0].element or NULL, of, operator.getitem, name=name)
        if name == "isnull":
            return Typed(Form.LISTED, BOOLEAN, of, lambda v: v is None, name=name)
        if name in COMPARISONS:
            return self.comparison(node, of, kinds)
        if name in _OPERATORS:
            return self.operator(node, of, kinds)
        if name == "in":
            return self.membership(of, kinds)
        if name in ("case", "coalesce", "least", "greatest", "array"):
            return self.alternatives(name, of)
        if name == "isnan" and [k.kind in ("double", "float", "null") for k in kinds] == [True]:
            return Typed(Form.LISTED, BOOLEAN, of, lambda v: v is not None and math.isnan(v), name=name)
        if name == "concat_ws" and all(k.kind in ("string", "null") for k in kinds):
            parts = Typed(Form.LISTED, STRING, of[1:], lambda *v: v)
            join = lambda between, v: between.join(x for x in v if x is not None)  # noqa: E731
            return Typed(Form.STRICT, STRING, (of[0], parts), join, name=name)
        if self.counts_null(name) and (found := nested_function(name, kinds)):
            length = found[0]
            return Typed(Form.LISTED, INT, of, lambda v: -1 if v is None else length(v), name=name)
        return self.function(node, of, kinds)

    def counts_null(self, name: str) -> bool:
        """Whether a function gives the size of NULL, -1: without ANSI mode."""
        return not self.ansi and name in ("size", "cardinality")

    def with_lambdas(self, node: Call) -> Typed:
        """A function that takes lambdas: its values, then the lambdas' bodies."""
        found = lambdas_of(node)
        of = tuple(self.typed(a) for k, a in enumerate(node.arguments) if k not in found)
        kinds = [a.type for a in of]
        bodies: list[Typed] = []
        for k, each in found.items():
            self.parameter_types.update(zip(each.extra, parameter_types(node, k, kinds), strict=False))
            bodies.append(self.typed(each.arguments[0]))
        kind = result_type(node.name, kinds, [b.type for b in bodies])
        if node.name == "array_sort" and not bodies:
            check_comparable("<", kinds[0].element or NULL, kinds[0].element or NULL, self.ansi)
        numbers = tuple(each.extra for each in found.values())
        return Typed(Form.WITH_LAMBDAS, kind, (*of, *bodies), detail=numbers, name=node.name)

    def comparison(self, node: Call, of: tuple[Typed, ...], kinds: Sequence[Type]) -> Typed:
        """A comparison in Spark's order; ``<=>`` takes NULLs as equal."""
        name = node.name
        if node.extra and (moments := common_moment(kinds[0], kinds[1], node.extra)):
            of = tuple(_widened(moment, TIMESTAMP, a) for a, moment in zip(of, moments, strict=True))
            kinds = [TIMESTAMP, TIMESTAMP]
        check_comparable(name, kinds[0], kinds[1], self.ansi)
        a, b = kinds
        if decimal_among(kinds):
            common = wider_decimal(*(as_decimal(each.beside_decimal) for each in of))
            of = tuple(self.widened(each, common) for each in of)
        if name in _PYTHON_ORDERS and a.kind == b.kind and (a.kind == "string" or a.is_integer_like):
            return Typed(Form.STRICT, BOOLEAN, of, _PYTHON_ORDERS[name], name=name)
        orders = _ORDERS[name]
        floats = a.is_floating or b.is_floating  # Spark compares anything with a double as doubles

        def holds(u: Any, v: Any) -> bool:
            return (compare(float(u), float(v)) if floats else compare(u, v)) in orders

        if name == "<=>":
            null_safe = lambda u, v: u is v if u is None or v is None else holds(u, v)  # noqa: E731
            return Typed(Form.LISTED, BOOLEAN, of, null_safe, name=name)
        return Typed(Form.STRICT, BOOLEAN, of, holds, name=name)

    def operator(self, node: Call, of: tuple[Typed, ...], kinds: Sequence[Type]) -> Typed:
        """An arithmetic operator."""
        name = node.name
        found = operation(name, kinds[0], kinds[1], node.extra) if node.extra else None
        if found := found or scaled(name, *kinds):
            return Typed(Form.STRICT, found[1], of, found[0], name=name)
        if "decimal" in (kinds[0].kind, kinds[1].kind):
            kinds = [each.beside_decimal for each in of]
        kind = arithmetic_type(name, kinds[0], kinds[1], self.ansi)
        apply = functools.partial(self.operate, name, kind)
        # Of a division the dividend is not evaluated where the divisor is NULL.
        return Typed(Form.STRICT_BACKWARDS if name in _DIVISIONS else Form.STRICT, kind, of, apply, name=name)

    def operate(self, name: str, kind: Type, u: Any, v: Any) -> Any:
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
            if self.ansi:
                raise DivisionByZero
            return None
        if kind.kind == "decimal":
            return self.numbers.decimal(_DECIMAL[name](u, v), kind)
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
        return self.numbers.integer(out, kind.size) if kind.kind == "int" else out

    def membership(self, of: tuple[Typed, ...], kinds: Sequence[Type]) -> Typed:
        """IN over a list."""
        for kind in kinds[1:]:
            check_comparable("=", kinds[0], kind, self.ansi)
        if any(k.is_floating for k in kinds):
            of = tuple(self.widened(each, DOUBLE) for each in of)
        elif decimal_among(kinds):
            common = common_type(kinds, self.ansi)
            of = tuple(self.widened(each, common) for each in of)
        return Typed(Form.IN, BOOLEAN, of, name="in")

    def alternatives(self, name: str, of: tuple[Typed, ...]) -> Typed:
        """CASE, COALESCE, LEAST, GREATEST and ARRAY, whose values get their common type."""
        values = (*of[1:-1:2], of[-1]) if name == "case" else of
        kind = common_type([each.type for each in values], self.ansi)
        tests = of[:-1:2] if name == "case" else ()
        values = tuple(self.widened(each, kind) for each in values)
        if name == "case":
            branches = [part for pair in zip(tests, values[:-1], strict=True) for part in pair]
            return Typed(Form.CASE, kind, (*branches, values[-1]), name=name)
        if name == "coalesce":
            return Typed(Form.COALESCE, kind, values, name=name)
        if name == "array":
            return Typed(Form.LISTED, Type("array", element=kind), values, lambda *v: list(v), name=name)
        sign = 1 if name == "greatest" else -1
        return Typed(Form.LISTED, kind, values, lambda *v: extreme(v, sign), name=name)

    def widened(self, of: Typed, common: Type) -> Typed:
        """A value in the common type of alternatives."""
        kind = of.type
        if common.kind == "double" and kind.kind not in ("double", "float", "null"):
            return _widened(float, common, of)
        if common.kind == "decimal" and kind.kind == "decimal" and kind.scale > common.scale:
            return _widened(lambda v: self.numbers.decimal(v, common), common, of)
        if common.kind == "decimal" and kind.kind == "int":
            return _widened(Decimal, common, of)
        return of

    def unsigned(
        self, kind: Type, of_number: Callable[[Any], Any], of_decimal: Callable[[Decimal], Decimal]
    ) -> Callable[[Any], Any]:
        """A function that changes a number's sign; Python's own operators round decimals to 28 digits."""
        if kind.kind == "decimal":
            return of_decimal
        return (lambda v: self.numbers.integer(of_number(v), kind.size)) if kind.kind == "int" else of_number

    def texts(self, kinds: Sequence[Type]) -> list[Callable[[Any], str]] | None:
        """What Spark's implicit casts to string do; None where they are not here."""
        found = [scalar_function("cast_string", [STRING if k == NULL else k], [], self.numbers) for k in kinds]
        return None if None in found else [f[0] for f in found if f]

    def function(self, node: Call, of: tuple[Typed, ...], kinds: Sequence[Type]) -> Typed:
        """A function that is NULL where an argument is.

        Raises:
            NotCompilable: it is not here, or not in this form.
        """
        name, extra = node.name, node.extra
        first = kinds[0] if kinds else NULL
        strings = all(k.kind in ("string", "null") for k in kinds)
        plain: Callable[..., Any] | None = None
        kind = STRING
        if extra == "try" and (name == "cast_int" or (name == "cast_bigint" and first.kind not in ("int", "boolean"))):
            raise NotCompilable(f"try_cast of {first.shown}")  # NULL where a cast fails
        if name == "negate" and (first.is_numeric or first.kind == "interval"):
            plain, kind = self.unsigned(first, operator.neg, DECIMALS.minus), first
        elif name == "abs" and (first.is_numeric or first.kind == "interval"):
            plain, kind = self.unsigned(first, abs, DECIMALS.abs), first
        elif name == "timestampdiff":
            micros = dt.timedelta(microseconds=extra)
            plain, kind = (lambda v, w: abs(v - w) // micros * (1 if v >= w else -1)), BIGINT
        elif name == "concat" and strings and len(kinds) == 2:
            plain = operator.add
        elif name == "concat" and (texts := self.texts(kinds)):
            plain = lambda *v: "".join(text(x) for text, x in zip(texts, v, strict=True))  # noqa: E731
        elif name == "like" and strings and len(kinds) == 2:
            escape = extra or "\\"
            plain, kind = (lambda v, p: like(p, escape)(v)), BOOLEAN
        elif name in ("array_max", "array_min") and first.kind == "array" and first.element is not None:
            sign = 1 if name == "array_max" else -1
            plain, kind = (lambda v: extreme(v, sign)), first.element
        elif name == FIELD:
            plain, kind = field_of(first, extra)
        elif not self.counts_null(name) and (nested := nested_function(name, kinds)):
            plain, kind = nested
        elif name == "array_contains" and first.kind == "array":
            element = first.element or NULL
            check_comparable("=", element, kinds[1])
            # A decimal beside doubles is one of them.
            plain, kind = (_contains_double if element.is_floating or kinds[1].is_floating else _contains), BOOLEAN
        elif found := scalar_function(name, kinds, list(map(constant, node.arguments)), self.numbers):
            plain, kind = found
        if plain is None:
            raise NotCompilable(f"{name}({', '.join(k.shown for k in kinds)})")
        # Of concat Spark evaluates all arguments, also behind a NULL.
        return Typed(Form.STRICT_ALL if name == "concat" else Form.STRICT, kind, of, plain, extra, name)


_DIRECT: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip
_DECIMAL: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": DECIMALS.add, "-": DECIMALS.subtract, "*": DECIMALS.multiply, "/": DECIMALS.divide, "%": DECIMALS.remainder,
}  # fmt: skip


def constant(node: Expression) -> Any:
    """The value of a constant, None for anything else."""
    if isinstance(node, Call) and node.name == "negate" and isinstance(node.arguments[0], Constant):
        value = node.arguments[0].value
        return None if value is None else -value
    return node.value if isinstance(node, Constant) else None


def _contains(values: list[Any], wanted: Any) -> bool | None:
    """NULL, not false, where a NULL element might be the one."""
    if any(v is not None and compare(v, wanted) == 0 for v in values):
        return True
    return None if None in values else False


def _contains_double(values: list[Any], wanted: Any) -> bool | None:
    """As :func:`_contains`, by the values as doubles."""
    return _contains([None if v is None else float(v) for v in values], float(wanted))


@functools.lru_cache(1 << 12)  # patterns that follow from rows are many
def like(pattern: str, escape: str) -> Callable[[str], bool]:
    """A LIKE pattern as a test of texts.

    Raises:
        ValueError: what follows the escape character is none of `_`, `%` and itself.
    """
    middle = pattern.strip("%")
    if not {"%", "_", escape}.intersection(middle):
        before, after = pattern.startswith("%"), pattern.endswith("%")
        if before and after:
            return lambda text: middle in text
        if before:
            return lambda text: text.endswith(middle)
        if after:
            return lambda text: text.startswith(middle)
        return lambda text: text == middle
    out, i = [], 0
    while i < len(pattern):
        c = pattern[i]
        if c == escape:
            i += 1
            if i == len(pattern) or pattern[i] not in ("_", "%", escape):
                raise ValueError(f"in the pattern {pattern!r} of LIKE {escape!r} must be followed by _, % or itself")
            out.append(re.escape(pattern[i]))
        else:
            out.append("." if c == "_" else ".*" if c == "%" else re.escape(c))
        i += 1
    expression = re.compile("".join(out), re.DOTALL)
    return lambda text: expression.fullmatch(text) is not None
