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
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


_STAMP = source_stamp()


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Numba's on-disk cache with the stamp of all kernels in place of one file's."""

    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        self._cache_file._source_stamp = _STAMP


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function with Numba on first use, without the GIL, cached on disk."""
    dispatcher = njit(nogil=True)(function)
    dispatcher._cache = KernelCache(function)
    return dispatcher
