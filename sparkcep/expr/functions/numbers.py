"""Functions of numbers, with Spark's types, rounding and overflow."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any

from sparkcep.exec.kernels.conditions import functions as kernel
from sparkcep.exec.kernels.statuses import TRUE
from sparkcep.expr.functions.function import Arguments, Function, Implementation, constant, of_types, strict
from sparkcep.expr.nodes import Call
from sparkcep.expr.numbers import DECIMALS, Numbers, single
from sparkcep.expr.typed import Form, Typed
from sparkcep.expr.types import BIGINT, BOOLEAN, DOUBLE, FLOAT, NULL, NotCompilable, Type


def _mathematical(number: int, x: float, y: float = 0.0) -> float | None:
    """A function that the kernel has; NULL where a logarithm is."""
    status, value = kernel.value_of(number, x, y, kernel.ADDRESSES)
    return float(value) if status == TRUE else None


def _single(value: Any) -> float:
    if isinstance(value, int):  # what a double cannot hold is rounded to odd, so that rounding again is right
        value = (value >> 11 | (value & 2047 != 0)) << 11 if abs(value) >> 53 else value
    return single(float(value))


def rounded_type(kind: Type, places: int) -> Type:
    """Type of a decimal that is rounded to so many digits behind the point, before it where negative."""
    whole = kind.size - kind.scale + 1
    scale = min(kind.scale, places) if places >= 0 else 0
    return Type("decimal", min(38, whole + scale if places >= 0 else max(whole, 1 - places)), scale)


def _rounding(numbers: Numbers, call: Call, kinds: Sequence[Type]) -> Implementation | None:
    kind = kinds[0]
    places = constant(call.arguments[1]) if len(kinds) == 2 else 0
    if not kind.is_numeric or isinstance(places, bool) or not isinstance(places, int):
        return None
    if abs(places) > 38:
        return None
    rounding = ROUND_HALF_UP if call.name == "round" else ROUND_HALF_EVEN
    unit = Decimal(1).scaleb(-places)

    def rounded(value: Decimal) -> Decimal:
        return value.quantize(unit, rounding, DECIMALS) if value.as_tuple().exponent < -places else value  # type: ignore[operator]

    if kind.kind == "int":
        return (lambda v, *_: numbers.integer(int(rounded(Decimal(v))), kind.size)), kind
    if kind.kind == "decimal":
        result = rounded_type(kind, places)
        return (lambda v, *_: numbers.decimal(rounded(v), result)), result

    def floating(value: float, *_: Any) -> float:
        if not math.isfinite(value):
            return value
        # The shortest decimal that reads back as the value, as Java writes it.
        out = float(rounded(Decimal(repr(value)))) or 0.0
        return single(out) if kind.kind == "float" else out

    return floating, kind


def whole_type(kind: Type) -> Type:
    """The type of FLOOR and CEIL of a decimal: its own without places, else with room for a carry."""
    return kind if kind.scale == 0 else Type("decimal", min(38, kind.size - kind.scale + 1), 0)


def _whole(numbers: Numbers, call: Call, kinds: Sequence[Type]) -> Implementation | None:
    name, (kind,) = call.name, kinds
    if kind.kind == "int":
        return int, BIGINT
    if kind.kind == "decimal":
        result = whole_type(kind)
        rounding = ROUND_FLOOR if name == "floor" else ROUND_CEILING
        return (lambda v: numbers.decimal(v.quantize(Decimal(1), rounding, DECIMALS), result)), result
    if not kind.is_floating:
        return None
    whole = math.floor if name == "floor" else math.ceil

    def of_double(v: float) -> int:
        if math.isnan(v):
            return 0  # in ANSI mode, too, where a cast fails
        return numbers.cut(whole(v) if math.isfinite(v) else v, 64)

    return of_double, BIGINT


def _to_integer(numbers: Numbers, call: Call, kinds: Sequence[Type]) -> Implementation | None:
    """Raises NotCompilable of TRY_CAST, which is NULL where a cast fails."""
    (kind,) = kinds
    bits = 32 if call.name == "cast_int" else 64
    exact = kind.kind in ("int", "boolean")
    if call.safe and (bits == 32 or not exact):
        raise NotCompilable(f"try_cast of {kind.shown}")
    if exact:
        return (lambda v: numbers.integer(int(v), bits)), Type("int", bits)
    if kind.is_floating or (kind.kind == "decimal" and numbers.ansi):
        return (lambda v: numbers.cut(v, bits)), Type("int", bits)
    return None


def _to_floating(numbers: Numbers, call: Call, kinds: Sequence[Type]) -> Implementation | None:
    if not kinds[0].is_numeric:
        return None
    return (float, DOUBLE) if call.name == "cast_double" else (_single, FLOAT)


def _unsigned(numbers: Numbers, call: Call, kinds: Sequence[Type]) -> Implementation | None:
    """The unary minus and ABS; Python's own round decimals to 28 digits."""
    (kind,) = kinds
    minus = call.name == "negate"
    if kind.kind == "decimal":
        return (DECIMALS.minus if minus else DECIMALS.abs), kind
    of_number: Callable[[Any], Any] = operator.neg if minus else abs
    if kind.kind == "int":
        return (lambda v: numbers.integer(of_number(v), kind.size)), kind
    return (of_number, kind) if kind.is_numeric or kind.kind == "interval" else None


def _isnan(numbers: Numbers, call: Call, of: Arguments) -> Typed | None:
    if [each.type.is_floating or each.type == NULL for each in of] != [True]:
        return None
    return Typed(Form.LISTED, BOOLEAN, of, lambda v: v is not None and math.isnan(v), call)


def _of_kernel(name: str, forms: Sequence[tuple[str, int]]) -> Function:
    """A function that is the kernel's, called from Python. ``forms``: letters of its arguments, its number."""
    written = {"sign": ("sign", "signum"), "pow": ("pow", "power")}.get(name, (name,))
    made = [(letters, DOUBLE, functools.partial(_mathematical, number)) for letters, number in forms]
    return of_types(name, *made, written=written, in_kernel=True)


_MATHEMATICAL = {name: [("n", number)] for name, number in kernel.NAMES.items()}
_MATHEMATICAL |= {name: [("nn", number)] for name, number in kernel.NAMES_OF_TWO.items()}
_MATHEMATICAL["log"] += _MATHEMATICAL["ln"]
NUMBERS = (
    strict("negate", _unsigned, "number or interval", written=("negative",), in_kernel=True),
    strict("abs", _unsigned, "number or interval", in_kernel=True),
    strict("round", _rounding, "number or number, literal", (1, 2), in_kernel=True),
    strict("bround", _rounding, "number or number, literal", (1, 2), in_kernel=True),
    strict("floor", _whole, "number", in_kernel=True),
    strict("ceil", _whole, "number", written=("ceil", "ceiling"), in_kernel=True),
    strict("cast_double", _to_floating, "number", written=("double",), in_kernel=True),
    strict("cast_float", _to_floating, "number", written=("float",), in_kernel=True),
    strict("cast_bigint", _to_integer, "number or boolean", written=("bigint",), in_kernel=True),
    strict("cast_int", _to_integer, "number or boolean", written=("int",), in_kernel=True),
    Function("isnan", _isnan, ("isnan",), "double or float", in_kernel=True),
    *(_of_kernel(name, forms) for name, forms in _MATHEMATICAL.items()),
)
