"""A small interpreter for match-dependent conditions that the instruction program cannot express.

Slower than the kernel by two orders of magnitude and chosen only where needed; EXPLAIN says so. Values are Python's:
int, float, Decimal, str, bool, date, datetime, timedelta, list and None. Overflow, division by zero, NaN order and
three-valued logic are Spark's.
"""

from __future__ import annotations

import datetime as dt
import functools
import math
import operator
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Protocol

import numpy as np

from sparkcep.exec.conditions.aggregates import aggregate_fold, distinct, own_fold
from sparkcep.exec.conditions.expressions import (
    BIGINT,
    BOOLEAN,
    COMPARISONS,
    DOUBLE,
    INT,
    LABEL_COLUMN,
    NULL,
    ROW_COLUMN,
    STRING,
    AggregateSlot,
    Call,
    ConditionSlot,
    Constant,
    CurrentNumber,
    Expression,
    Load,
    NavigationSlot,
    NotCompilable,
    NumberSlot,
    RowValue,
    Type,
    arithmetic_type,
    as_decimal,
    check_comparable,
    common_type,
    decimal_among,
    literal_type,
    wider_decimal,
)
from sparkcep.exec.conditions.intervals import scaled
from sparkcep.exec.conditions.lambdas import (
    FIELD,
    PARAMETER,
    WITH_LAMBDAS,
    applied,
    canonical,
    field_of,
    lambdas_of,
    nested_function,
    parameter_types,
    result_type,
)
from sparkcep.exec.conditions.local_times import common_moment, operation
from sparkcep.exec.conditions.order import compare, extreme
from sparkcep.exec.conditions.scalars import DECIMALS, DivisionByZero, Numbers, scalar_function, single

_OPERATORS = ("+", "-", "*", "/", "%", "div")
TIMESTAMP = Type("timestamp")


class Labels(Protocol):
    """Names of the variables that took rows."""

    def __getitem__(self, row: int, /) -> str | None: ...


class MatchState:
    """What a condition sees: the rows taken so far, the tested row as the last of them.

    ``columns`` are Python lists over the batch; ``base`` the partition's first row in them. ``labels``: by row of the
    batch, the name of the variable that took it, or None.
    """

    def __init__(self, columns: Sequence[Sequence[Any]], base: int, rows: int) -> None:
        self.columns = columns
        self.base = base
        self.rows = rows
        self.number = 0
        self.first_row = 0  # rows of the partition that came before those of the batch
        self.labels: Labels = ()
        self.parameters: dict[int, Any] = {}  # of the lambda functions that are being evaluated
        self.registers: list[list[int]] = []

    def value(self, column: int, row: int) -> Any:
        """A kernel column's value, or the label of a row taken so far."""
        if column == LABEL_COLUMN:
            return self.labels[self.base + row]
        if column == ROW_COLUMN:
            return self.first_row + row
        return self.columns[column][self.base + row]


Evaluator = Callable[[MatchState, int], Any]


class Interpreter:
    """Prepares conditions as closures over a match state.

    Args:
        slots: what ``Load`` refers to.
        column_types: Spark types of the kernel columns.
        ansi: whether overflow and division by zero are errors (else NULL, or wrapped).
    """

    def __init__(self, slots: tuple[ConditionSlot, ...], column_types: tuple[Type, ...], ansi: bool) -> None:
        self.slots = slots
        self.column_types = column_types
        self.ansi = ansi
        self.numbers = Numbers(ansi)
        self.parameter_types: dict[int, Type] = {}

    def condition(self, node: Expression) -> Callable[[MatchState], bool]:
        """Raises NotCompilable for what conditions cannot do at all, naming it."""
        evaluate, kind = self.prepare(node)
        if kind.kind not in ("boolean", "null"):
            raise NotCompilable(f"a condition of type {kind.shown}")
        return lambda state: evaluate(state, -1) is True

    def prepare(self, node: Expression) -> tuple[Evaluator, Type]:
        """A closure that evaluates an expression at (match state, row), None for NULL, and its type.

        Raises:
            NotCompilable: what no condition can do, named.
        """
        if isinstance(node, Constant):
            value = node.value
            return (lambda s, r: value), node.type
        if isinstance(node, RowValue):
            column = node.column
            own = {LABEL_COLUMN: STRING, ROW_COLUMN: BIGINT}.get(column)
            return (lambda s, r: s.value(column, r)), own or self.column_types[column]
        if isinstance(node, CurrentNumber):
            return (lambda s, r: s.number), BIGINT
        if isinstance(node, Load):
            return self.slot(self.slots[node.slot])
        return self.call(node)

    # -- slots -----------------------------------------------------------------------------------------------------

    def slot(self, slot: ConditionSlot) -> tuple[Evaluator, Type]:
        """As :meth:`prepare`, of a navigation, an aggregate or MATCH_NUMBER; NULL for rows outside of the partition."""
        if isinstance(slot, NumberSlot):
            return (lambda s, r: s.number), BIGINT
        if isinstance(slot, AggregateSlot):
            return self.aggregate(slot)
        of, kind = self.prepare(slot.argument or RowValue(slot.column))
        navigated: NavigationSlot = slot

        def navigate(state: MatchState, _: int) -> Any:
            seen = state.registers[navigated.register]
            at = navigated.logical if navigated.from_first else len(seen) - 1 - navigated.logical
            if not 0 <= at < len(seen):
                return None
            row = seen[at] + navigated.physical
            return of(state, row) if 0 <= row < state.rows else None

        return navigate, kind

    def aggregate(self, slot: AggregateSlot) -> tuple[Evaluator, Type]:
        """As :meth:`prepare`, of an aggregate over a register's rows, which are all read anew each time."""
        prepared = [self.prepare(a) for a in slot.arguments]
        of = [p[0] for p in prepared]
        kinds = [p[1] for p in prepared]
        keep = self.prepare(slot.filter)[0] if slot.filter is not None else None
        if slot.own is not None:
            fold = own_fold(slot.own, kinds)
        else:
            fold = aggregate_fold(slot.function, kinds, self.ansi)
        known = range(len(of))[fold.known]

        def aggregate(state: MatchState, _: int) -> Any:
            found: list[tuple[Any, ...]] = []
            seen = state.registers[slot.register]
            for row in seen[:-1] if slot.before else seen:
                if keep is not None and keep(state, row) is not True:
                    continue
                values = tuple(f(state, row) for f in of)
                if all(values[k] is not None for k in known):
                    found.append(values)
            return fold.apply(distinct(found) if slot.distinct else found)

        if slot.distinct and any(not k.is_single for k in kinds):
            raise NotCompilable(f"{slot.function}(DISTINCT {kinds[0].shown})")
        return aggregate, fold.type

    # -- operators and functions -----------------------------------------------------------------------------------

    def call(self, node: Call) -> tuple[Evaluator, Type]:
        """As :meth:`prepare`, of an operator or a function.

        Raises:
            NotCompilable: a function, or types for it, that are not here.
        """
        name = node.name
        if name == PARAMETER:
            number = node.extra
            return (lambda s, r: s.parameters[number]), self.parameter_types[number]
        if canonical(name) in WITH_LAMBDAS:
            return self.with_lambdas(node)
        prepared = [self.prepare(a) for a in node.arguments]
        of = [p[0] for p in prepared]
        kinds = [p[1] for p in prepared]
        if name in ("and", "or", "not", "case"):
            tested = kinds[:-1:2] if name == "case" else kinds
            if odd := next((k for k in tested if k.kind not in ("boolean", "null")), None):
                raise NotCompilable(f"{name.upper()} over a value of type {odd.shown}")
        if name in ("and", "or"):
            return self.logic(name, of), BOOLEAN
        if name == "not":
            inner = of[0]
            return (lambda s, r: None if (v := inner(s, r)) is None else not v), BOOLEAN
        if name == "element":
            array, place = of
            return (lambda s, r: array(s, r)[place(s, r)]), kinds[0].element or NULL
        if name == "isnull":
            inner = of[0]
            return (lambda s, r: inner(s, r) is None), BOOLEAN
        if name in COMPARISONS:
            if node.extra and (moments := common_moment(kinds[0], kinds[1], node.extra)):
                of = [_strict(moment, f) for f, moment in zip(of, moments, strict=True)]
                kinds = [TIMESTAMP, TIMESTAMP]
            check_comparable(name, kinds[0], kinds[1], self.ansi)
            a, b = kinds
            if decimal_among(kinds):
                common = wider_decimal(*map(as_decimal, map(literal_type, node.arguments, kinds)))
                of = [self.widened(f, k, common) for f, k in zip(of, kinds, strict=True)]
            return self.comparison(name, of[0], of[1], a, b), BOOLEAN
        if name in _OPERATORS:
            if node.extra and (found := operation(name, kinds[0], kinds[1], node.extra)):
                return _strict(found[0], *of), found[1]
            if found := scaled(name, *kinds):
                return _strict(found[0], *of), found[1]
            if "decimal" in (kinds[0].kind, kinds[1].kind):
                kinds = list(map(literal_type, node.arguments, kinds))
            kind = arithmetic_type(name, kinds[0], kinds[1], self.ansi)
            return self.arithmetic(name, of[0], of[1], kind), kind
        if name == "in":
            return self.membership(of, kinds), BOOLEAN
        if name == "case":
            return self.case(of, kinds)
        if name == "coalesce":
            kind = common_type(kinds, self.ansi)
            options = [self.widened(f, k, kind) for f, k in zip(of, kinds, strict=True)]
            return (lambda s, r: next((v for f in options if (v := f(s, r)) is not None), None)), kind
        if name in ("least", "greatest"):
            sign = 1 if name == "greatest" else -1
            kind = common_type(kinds, self.ansi)
            of = [self.widened(f, k, kind) for f, k in zip(of, kinds, strict=True)]

            return (lambda s, r: extreme((f(s, r) for f in of), sign)), kind
        if name == "array":
            kind = common_type(kinds, self.ansi)
            of = [self.widened(f, k, kind) for f, k in zip(of, kinds, strict=True)]
            return (lambda s, r: [f(s, r) for f in of]), Type("array", element=kind)
        if name == "isnan" and [k.kind in ("double", "float", "null") for k in kinds] == [True]:
            inner = of[0]
            return (lambda s, r: (v := inner(s, r)) is not None and math.isnan(v)), BOOLEAN
        if name == "concat_ws" and all(k.kind in ("string", "null") for k in kinds):
            return self.joined(of), STRING
        if self.counts_null(name) and (found := nested_function(name, kinds)):
            inner, length = of[0], found[0]
            return (lambda s, r: -1 if (v := inner(s, r)) is None else length(v)), INT
        return self.function(node, of, kinds)

    def counts_null(self, name: str) -> bool:
        """Whether a function gives the size of NULL, -1: without ANSI mode."""
        return not self.ansi and name in ("size", "cardinality")

    def with_lambdas(self, node: Call) -> tuple[Evaluator, Type]:
        """As :meth:`prepare`, of a function that takes lambdas."""
        found = lambdas_of(node)
        prepared = [self.prepare(a) for k, a in enumerate(node.arguments) if k not in found]
        of, kinds = [p[0] for p in prepared], [p[1] for p in prepared]
        bodies = []
        for k, each in found.items():
            types = parameter_types(node, k, kinds)
            self.parameter_types.update(zip(each.extra, types, strict=False))
            bodies.append((each.extra, *self.prepare(each.arguments[0])))
        kind = result_type(node.name, kinds, [b[2] for b in bodies])
        if node.name == "array_sort" and not bodies:
            check_comparable("<", kinds[0].element or NULL, kinds[0].element or NULL, self.ansi)
        name, indexed = node.name, any(len(numbers) == 2 for numbers, _, _ in bodies)
        collections = 2 if name == "zip_with" else 1

        def evaluate(s: MatchState, r: int) -> Any:
            values = [f(s, r) for f in of]
            if None in values[:collections]:
                return None

            def function(numbers: tuple[int, ...], body: Evaluator) -> Callable[..., Any]:
                def apply(*arguments: Any) -> Any:
                    s.parameters.update(zip(numbers, arguments, strict=True))
                    return body(s, r)

                return apply

            return applied(name, values, [function(numbers, body) for numbers, body, _ in bodies], indexed)

        return evaluate, kind

    def joined(self, of: list[Evaluator]) -> Evaluator:
        """concat_ws: NULL arguments are left out, a NULL separator makes NULL."""
        separator, *parts = of

        def evaluate(s: MatchState, r: int) -> Any:
            between = separator(s, r)
            return None if between is None else between.join(v for f in parts if (v := f(s, r)) is not None)

        return evaluate

    def logic(self, name: str, of: list[Evaluator]) -> Evaluator:
        """AND and OR in three values; the right side is not evaluated where the left one decides."""
        decisive = name == "or"
        x, y = of

        def evaluate(s: MatchState, r: int) -> Any:
            a = x(s, r)
            if a is decisive:
                return decisive
            b = y(s, r)
            if b is decisive:
                return decisive
            return None if a is None or b is None else not decisive

        return evaluate

    def comparison(self, name: str, x: Evaluator, y: Evaluator, a: Type, b: Type) -> Evaluator:
        """A comparison of values of types ``a`` and ``b`` in Spark's order; ``<=>`` takes NULLs as equal."""
        test: Callable[[int], bool] = {
            "=": lambda o: o == 0,
            "<>": lambda o: o != 0,
            "<": lambda o: o < 0,
            "<=": lambda o: o <= 0,
            ">": lambda o: o > 0,
            ">=": lambda o: o >= 0,
            "<=>": lambda o: o == 0,
        }[name]
        # Spark compares anything with a double as doubles.
        floats = a.is_floating or b.is_floating

        def evaluate(s: MatchState, r: int) -> Any:
            u = x(s, r)
            if u is None and name != "<=>":
                return None
            v = y(s, r)
            if u is None or v is None:
                return (u is v) if name == "<=>" else None
            if floats:
                u, v = float(u), float(v)
            return test(compare(u, v))

        return evaluate

    def arithmetic(self, name: str, x: Evaluator, y: Evaluator, kind: Type) -> Evaluator:
        """An operation whose result has type ``kind``; NULL where an operand is, or by zero without ANSI.

        As in Spark the second operand, which is the dividend of a division, is not evaluated beside a NULL.

        Raises:
            DivisionByZero: under ANSI, when it is evaluated.
        """
        divides = name in ("/", "%", "div")
        first, second = (y, x) if divides else (x, y)

        def evaluate(s: MatchState, r: int) -> Any:
            if (u := first(s, r)) is None or (v := second(s, r)) is None:
                return None
            if divides:
                u, v = v, u
            if kind.is_floating:
                u, v = float(u), float(v)
            elif kind.kind == "decimal":
                u, v = Decimal(u), Decimal(v)
            if divides and v == 0:
                if self.ansi:
                    raise DivisionByZero
                return None
            return self.operate(name, u, v, kind)

        return evaluate

    def operate(self, name: str, u: Any, v: Any, kind: Type) -> Any:
        """One operation on values that are not NULL and have been converted to ``kind``.

        Raises:
            Overflow: under ANSI; without it integers wrap and decimals become NULL.
        """
        if kind.kind == "decimal":
            operation = {
                "+": DECIMALS.add,
                "-": DECIMALS.subtract,
                "*": DECIMALS.multiply,
                "/": DECIMALS.divide,
                "%": DECIMALS.remainder,
            }[name]
            return self.numbers.decimal(operation(u, v), kind)
        if name == "+":
            out = u + v
        elif name == "-":
            out = u - v
        elif name == "*":
            out = u * v
        elif name == "/":
            out = u / v
        elif kind.is_floating:
            with np.errstate(invalid="ignore"):
                out = float(np.fmod(u, v))
        else:
            quotient = abs(u) // abs(v) * (1 if (u < 0) == (v < 0) else -1)
            out = quotient if name == "div" else u - quotient * v
        if kind.kind == "float":
            return single(out)
        return self.numbers.integer(out, kind.size) if kind.kind == "int" else out

    def membership(self, of: list[Evaluator], kinds: list[Type]) -> Evaluator:
        """IN over a list, NULL instead of false where an element is NULL."""
        for kind in kinds[1:]:
            check_comparable("=", kinds[0], kind, self.ansi)
        if any(k.is_floating for k in kinds):
            of = [self.widened(f, k, DOUBLE) for f, k in zip(of, kinds, strict=True)]
        elif decimal_among(kinds):
            of = [self.widened(f, k, common_type(kinds, self.ansi)) for f, k in zip(of, kinds, strict=True)]
        value, *options = of

        def evaluate(s: MatchState, r: int) -> Any:
            v = value(s, r)
            if v is None:
                return None
            unknown = False
            for option in options:
                w = option(s, r)
                if w is None:
                    unknown = True
                elif compare(v, w) == 0:
                    return True
            return None if unknown else False

        return evaluate

    def case(self, of: list[Evaluator], kinds: list[Type]) -> tuple[Evaluator, Type]:
        """Arguments: condition, value, condition, value, ..., default."""
        kind = common_type([*kinds[1:-1:2], kinds[-1]], self.ansi)
        tests = of[0:-1:2]
        values = [self.widened(f, k, kind) for f, k in zip(of[1:-1:2], kinds[1:-1:2], strict=True)]
        default = self.widened(of[-1], kinds[-1], kind)

        def evaluate(s: MatchState, r: int) -> Any:
            for test, value in zip(tests, values, strict=True):
                if test(s, r) is True:
                    return value(s, r)
            return default(s, r)

        return evaluate, kind

    def widened(self, of: Evaluator, kind: Type, common: Type) -> Evaluator:
        """Values in the common type of alternatives."""
        if common.kind == "double" and kind.kind not in ("double", "float", "null"):
            return lambda s, r: None if (v := of(s, r)) is None else float(v)
        if common.kind == "decimal" and kind.kind == "decimal" and kind.scale > common.scale:
            return lambda s, r: None if (v := of(s, r)) is None else self.numbers.decimal(v, common)
        if common.kind == "decimal" and kind.kind == "int":
            return lambda s, r: None if (v := of(s, r)) is None else Decimal(v)
        return of

    def unsigned(
        self, kind: Type, of_number: Callable[[Any], Any], of_decimal: Callable[[Decimal], Decimal]
    ) -> Callable[[Any], Any]:
        """A function that changes a number's sign; Python's own operators round decimals to 28 digits."""
        if kind.kind == "decimal":
            return of_decimal
        return (lambda v: self.numbers.integer(of_number(v), kind.size)) if kind.kind == "int" else of_number

    def texts(self, kinds: list[Type]) -> list[Callable[[Any], str]] | None:
        """What Spark's implicit casts to string do; None where they are not here."""
        found = [scalar_function("cast_string", [STRING if k == NULL else k], [], self.numbers) for k in kinds]
        return None if None in found else [f[0] for f in found if f]

    def function(self, node: Call, of: list[Evaluator], kinds: list[Type]) -> tuple[Evaluator, Type]:
        """A function that is NULL where an argument is.

        Raises:
            NotCompilable: it is not here.
        """
        found = self.strict_function(node, kinds)
        if found is None:
            raise NotCompilable(f"{node.name}({', '.join(k.shown for k in kinds)})")
        apply, kind = found
        if node.name == "concat":  # of which Spark evaluates all arguments, also behind a NULL

            def evaluate(s: MatchState, r: int) -> Any:
                values = [f(s, r) for f in of]
                return None if None in values else apply(*values)

            return evaluate, kind
        return _strict(apply, *of), kind

    def strict_function(self, node: Call, kinds: list[Type]) -> tuple[Callable[..., Any], Type] | None:
        """A function of values that are not NULL, for one that is NULL where an argument is; None where it is no such.

        Raises:
            NotCompilable: a form of one that is not here.
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
        return None if plain is None else (plain, kind)


def _strict(apply: Callable[..., Any], *of: Evaluator) -> Evaluator:
    """A function that is NULL where an argument is; as in Spark, arguments behind that one are not evaluated."""
    if len(of) == 1:
        (x,) = of
        return lambda s, r: None if (u := x(s, r)) is None else apply(u)
    if len(of) == 2:
        x, y = of
        return lambda s, r: None if (u := x(s, r)) is None or (v := y(s, r)) is None else apply(u, v)

    def evaluate(s: MatchState, r: int) -> Any:
        values = []
        for f in of:
            if (v := f(s, r)) is None:
                return None
            values.append(v)
        return apply(*values)

    return evaluate


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
