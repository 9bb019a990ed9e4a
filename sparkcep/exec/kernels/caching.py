"""The decorator of all kernels: compiled once per machine, again when any kernel's source has changed.

Numba's own ``cache=True`` looks at the file of the cached function only. Callers have their callees compiled in, so a
change to another kernel module (an upgrade of sparkcep) would leave stale machine code in use.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache


def source_stamp() -> bytes:
    """A digest of all kernel sources."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


_STAMP = source_stamp()


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Numba's on-disk cache with the stamp of all kernels in place of one file's.

    The stamp is also part of the version, which Numba compares before it unpickles an index: one that other sources
    have left may name table types that are no more.
    """

    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        self._cache_file._source_stamp = _STAMP
        self._cache_file._version = f"{self._cache_file._version} {_STAMP.hex()}"


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
    dispatcher = njit(nogil=True, error_model="numpy", _nrt=False, **options)(function)
    dispatcher._cache = KernelCache(function)
    return dispatcher
