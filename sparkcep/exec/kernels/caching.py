"""The decorators of all kernels: compiled on first use, or taken from where compiled kernels are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

from sparkcep.exec.kernel_cache.cache import cached


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function with Numba on first use, without the GIL, cached on disk.

    Kernels allocate nothing and return no arrays: without Numba's reference counts, which would be atomic operations in
    the innermost loops, code is faster and compiles in half the time.
    """
    return _cached(function, {})


def inner(function: Callable[..., Any]) -> Any:
    """As ``kernel``, for what only other kernels call: no entry from Python is compiled."""
    return _cached(function, {"no_cpython_wrapper": True, "no_cfunc_wrapper": True})


def inlined(function: Callable[..., Any]) -> Any:
    """As ``inner``, made part of its caller: passing tables by value costs more than most of what is done with them."""
    return _cached(function, {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": True})


def spliced(function: Callable[..., Any]) -> Any:
    """Made part of its one caller before compilation, which saves compiling it twice."""
    return njit(inline="always", error_model="numpy", _nrt=False)(function)


def _cached(function: Callable[..., Any], options: dict[str, bool]) -> Any:
    return cached(njit(nogil=True, error_model="numpy", _nrt=False, **options)(function))
