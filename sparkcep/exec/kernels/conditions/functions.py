"""Mathematical functions of doubles, each by a number.

They are those of the C library, called by their addresses, whose last digit may be another one than that of Java's: see
docs/conditions.md.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import sys

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from sparkcep.exec.kernels.caching import inner
from sparkcep.exec.kernels.conditions.codes import U
from sparkcep.exec.kernels.statuses import FALSE, TRUE
from sparkcep.exec.kernels.tables import Ints

#: Functions that are the C library's as they stand, logarithms, which are NULL where there is none, and others.
_PLAIN = "sin cos tan asin acos atan sinh cosh tanh exp expm1 cbrt"
_LOGARITHMS = "ln log10 log1p log2"
_OTHERS = "sqrt radians degrees sign"
#: What Spark calls those of one value, and those of two.
NAMES = {name: number for number, name in enumerate(f"{_PLAIN} {_LOGARITHMS} {_OTHERS}".split())}
NAMES_OF_TWO = {name: len(NAMES) + number for number, name in enumerate("pow atan2 hypot log".split())}
_LN, _LOG1P, _LOG2 = NAMES["ln"], NAMES["log1p"], NAMES["log2"]
_SQRT, _RADIANS, _DEGREES, _SIGN = (NAMES[name] for name in _OTHERS.split())
_POWER, _ATAN2, _HYPOT, _LOG_TO_BASE = NAMES_OF_TWO.values()
_LN_2 = math.log(2.0)


def _addresses() -> Ints:
    """Where the C library has the functions, by number; 0 of those that it has not."""
    library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
    if not hasattr(library, "sin"):  # which Python's own program has loaded almost everywhere
        library = ctypes.CDLL(ctypes.util.find_library("m"))
    found = np.zeros(len(NAMES) + len(NAMES_OF_TWO), np.int64)
    for name, number in (NAMES | NAMES_OF_TWO).items():
        if number <= _LOG1P or _POWER <= number <= _HYPOT:
            function = getattr(library, "log" if name == "ln" else name)
            found[number] = ctypes.cast(function, ctypes.c_void_p).value or 0
    return found


ADDRESSES = _addresses()


def _of_one(address, x):
    """A C function of a double by its address."""
    return ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(int(address))(float(x))


def _of_two(address, x, y):
    """A C function of two doubles by its address."""
    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)(int(address))
    return function(float(x), float(y))


@intrinsic
def _call(typingctx, address, x, y):
    """A C function of doubles, the second of which may be None."""
    count = 1 if isinstance(y, types.NoneType) else 2

    def codegen(context, builder, signature, arguments):
        double = ir.DoubleType()
        function = builder.inttoptr(arguments[0], ir.FunctionType(double, [double] * count).as_pointer())
        return builder.call(function, arguments[1 : 1 + count])

    return types.float64(address, x, y), codegen


@overload(_of_one)
def _compiled_of_one(address, x):
    return lambda address, x: _call(address, x, None)


@overload(_of_two)
def _compiled_of_two(address, x, y):
    return lambda address, x, y: _call(address, x, y)  # noqa: PLW0108


def value_of(number: int, x: float, y: float, addresses: Ints) -> tuple[int, float]:
    """A function's value: (TRUE, or FALSE for NULL; double). ``y``: of a function of two values the second one."""
    if number < _LN:
        return TRUE, _of_one(addresses[U(number)], x)
    if number <= _LOG2:
        if x <= (-1.0 if number == _LOG1P else 0.0):
            return FALSE, x
        if number == _LOG2:
            return TRUE, _of_one(addresses[U(_LN)], x) / _LN_2
        return TRUE, _of_one(addresses[U(number)], x)
    if number == _SQRT:
        return TRUE, np.sqrt(x) if x >= 0.0 else np.nan
    if number == _RADIANS:
        return TRUE, x * 0.017453292519943295
    if number == _DEGREES:
        return TRUE, x * 57.29577951308232
    if number == _SIGN:
        return TRUE, np.sign(x) if x != 0.0 else x
    if number == _POWER:
        if y == 2.0:  # the one power that Java multiplies
            return TRUE, x * x
        if y != 0.0 and (x != x or y != y or (abs(x) == 1.0 and abs(y) == np.inf)):
            return TRUE, np.nan
    elif number == _LOG_TO_BASE:
        if x <= 0.0 or y <= 0.0:
            return FALSE, x
        base, value = _of_one(addresses[U(_LN)], x), _of_one(addresses[U(_LN)], y)
        return TRUE, value / base if base != 0.0 else value * np.inf
    elif number == _ATAN2:  # of -0.0 the angle would be another one
        x, y = x + 0.0, y + 0.0
    return TRUE, _of_two(addresses[U(number)], x, y)


function_value = inner(value_of)
