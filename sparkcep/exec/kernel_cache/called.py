"""Which kernels are parts of which."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from sparkcep.exec.kernel_cache.cache import KernelCache
from sparkcep.progress import Activity


def called(kernel: Any) -> Iterator[Any]:
    """The kernels that a kernel calls itself, or by functions that are compiled as lines of it."""
    function = kernel.py_func
    used = function.__code__.co_names
    values = [function.__globals__.get(name) for name in used]
    values += [getattr(v, name, None) for v in values if isinstance(v, ModuleType) for name in used]
    for value in values:
        if isinstance(cache := getattr(value, "_cache", None), KernelCache):
            yield value
        elif cache is not None:
            yield from called(value)


def with_parts(kernels: Iterable[Any]) -> Mapping[str, frozenset[str]]:
    """Kernels and all that they call, by name: the names of what is ready where one is ready, itself among them."""
    found: dict[str, Any] = {}
    todo = [kernel for kernel in kernels if hasattr(kernel, "_cache")]  # none with NUMBA_DISABLE_JIT
    while todo:
        kernel = todo.pop()
        if kernel._cache.name not in found:
            found[kernel._cache.name] = kernel
            todo += called(kernel)
    parts: dict[str, frozenset[str]] = {}

    def parts_of(name: str) -> frozenset[str]:
        if name not in parts:
            below = (parts_of(k._cache.name) for k in called(found[name]) if k._cache.name != name)
            parts[name] = frozenset([name]).union(*below)
        return parts[name]

    return {name: parts_of(name) for name in found}


def counted(progress: Activity, kernels: Iterable[Any]) -> Callable[[str], None]:
    """Make kernels and their parts the steps of an activity. What is given is told the name of each that is ready."""
    parts = with_parts(kernels)
    ready: set[str] = set()
    progress.total = len(parts)

    def tell(name: str) -> None:
        ready.update(parts.get(name, ()))
        progress.done = len(ready)

    return tell
