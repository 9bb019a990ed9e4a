"""Numba's cache of one kernel: compiled once per machine, again when any kernel's source has changed.

Numba's own ``cache=True`` looks at the file of the cached function only. Callers have their callees compiled in, so a
change to another kernel module (an upgrade of sparkcep) would leave stale machine code in use. And it fails on import
where it finds no folder to write to.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from importlib.resources import files
from typing import Any

from numba.core.caching import _Cache
from numba.core.compiler import CompileResult

from sparkcep.exec.kernel_cache.lock import locked
from sparkcep.exec.kernel_cache.places import places
from sparkcep.exec.kernel_cache.stamp import SOURCES, stamp
from sparkcep.exec.kernel_cache.store import Store
from sparkcep.exec.kernel_cache.target import key_of, portable_tag, usable_keys

#: Seconds to wait for another process that compiles the same, several times what the largest kernel takes; then it is
#: compiled twice.
COMPILING = 300.0


class _Compilation(threading.local):
    """What this thread compiles: how deep in functions that functions call, and what it gives up at the end."""

    depth = 0
    held: ExitStack | None = None


_compilation = _Compilation()
#: Each is called with the name of a kernel that this process has compiled or loaded.
listeners: list[Callable[[str], None]] = []


class KernelCache(_Cache):  # type: ignore[misc]
    """What Numba asks for compiled kernels and gives them to.

    A kernel that Python calls is compiled by one process at a time: others wait for it and load what it has saved.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        module = function.__module__.removeprefix(SOURCES + ".")
        version = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
        self.name = f"{module}.{function.__qualname__}.{version}"
        self._enabled = True

    @property
    def cache_path(self) -> str | None:
        """The folder that compiled kernels are kept in; None: nowhere."""
        folder = places().write
        return None if folder is None else str(folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """A compiled kernel of a signature, from the first place that has one this processor can run; None: it is to be
        compiled. Waits while another process of this machine compiles it."""
        digest = stamp()
        if not self._enabled or digest is None:
            return None
        target_context.refresh()
        codegen = target_context.codegen()
        found = self._load(sig, codegen, digest)
        folder = places().write
        # To be compiled, by one process, where the others may use what it saves.
        held = _compilation.held if _compilation.depth == 1 else None
        if found is None and folder is not None and held is not None and key_of(codegen) in usable_keys(codegen):
            held.enter_context(locked(folder / f"{self.name}.lock", COMPILING))
            found = self._load(sig, codegen, digest)
        return None if found is None else CompileResult._rebuild(target_context, *found)

    def _load(self, sig: Any, codegen: Any, digest: bytes) -> Any:
        stores = [Store(folder, self.name, digest) for folder in places().read]
        keys: Iterable[Any] = [key_of(codegen)]
        if _compilation.depth == 1:
            keys = usable_keys(codegen)
            if (shipped := shipped_folder()) is not None:
                stores.append(Store(shipped, self.name, digest))
        # Else it becomes a part of what is compiled for this process's own target.
        for key in keys:
            for store in stores:
                if (found := store.load((sig, key))) is not None:
                    return found
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what has been compiled where processes that come later look for it."""
        digest, folder = stamp(), places().write
        if not self._enabled or digest is None or folder is None or data.library.has_dynamic_globals:
            return
        # A full disk, or a folder that was deleted meanwhile: the next process compiles again.
        with suppress(OSError):
            Store(folder, self.name, digest).save((sig, key_of(data.codegen)), data._reduce())

    def enable(self) -> None:
        """As Numba's own caches: load and keep from now on."""
        self._enabled = True

    def disable(self) -> None:
        """As Numba's own caches: neither load nor keep from now on."""
        self._enabled = False

    def flush(self) -> None:
        """Nothing is deleted: what is stale is not used."""


def shipped_folder() -> Any:
    """The folder of compiled kernels that this package came with, for this Python, system and kind of machine."""
    folder = files(__package__) / "shipped" / portable_tag()
    return folder if folder.is_dir() else None


def cached(dispatcher: Any) -> Any:
    """Give a function that Numba compiles its cache; with NUMBA_DISABLE_JIT it stays Python's."""
    if not hasattr(dispatcher, "py_func"):
        return dispatcher
    dispatcher._cache = KernelCache(dispatcher.py_func)
    compile_ = dispatcher.compile

    def compile_once(sig: Any) -> Any:
        with ExitStack() as held:
            if _compilation.depth == 0:
                _compilation.held = held
            _compilation.depth += 1
            held.callback(_leave)
            compiled = compile_(sig)
        for tell in listeners:
            tell(dispatcher._cache.name)
        return compiled

    dispatcher.compile = compile_once
    return dispatcher


def names(kernels: Iterable[Any]) -> list[str]:
    """The names of kernels' files; none where Numba compiles nothing (NUMBA_DISABLE_JIT)."""
    return [kernel._cache.name for kernel in kernels if hasattr(kernel, "_cache")]


def _leave() -> None:
    _compilation.depth -= 1
