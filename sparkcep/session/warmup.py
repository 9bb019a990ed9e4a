"""Compile all kernels ahead of the first query."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparkcep.errors import SparkCepError
from sparkcep.exec import warm as exec_warm
from sparkcep.exec.kernel_cache import target
from sparkcep.exec.kernel_cache.cache import names
from sparkcep.exec.kernel_cache.report import kept
from sparkcep.exec.kernel_cache.ship import ship
from sparkcep.exec.kernel_cache.stamp import SOURCES
from sparkcep.index import warm as index_warm

#: Each calls kernels on tiny inputs; kernels have one signature each, whatever the query, so this is all there is.
PARTS: Mapping[str, Callable[[], None]] = {**exec_warm.PARTS, "index": index_warm.warm_index}
#: What Python calls; all other kernels are parts of these.
ENTRIES: tuple[Any, ...] = (*exec_warm.ENTRIES, *index_warm.ENTRIES)


@dataclass(frozen=True, slots=True)
class Warmed:
    """A group of kernels. ``compiled``: how many of those that Python calls had to be compiled, 0 where a cache held
    them all. ``seconds`` of wall clock, ``cpu`` of a processor."""

    name: str
    compiled: int
    seconds: float
    cpu: float


def warm_up(processes: int = 1) -> int:
    """Compile every kernel, or load it from where compiled kernels are kept, by matching tiny inputs.

    Args:
        processes: how many compile at once.

    Returns:
        How many kernels that Python calls had to be compiled: 0 where caches held them.
    """
    return sum(w.compiled for w in warm_groups(processes))


def warm_groups(processes: int = 1) -> Iterator[Warmed]:
    """As :func:`warm_up`, group after group as they are done; in this process where ``processes`` is 1."""
    if processes == 1:
        yield from map(_warm, PARTS)
        return
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        for done in as_completed([pool.submit(_warm, name) for name in PARTS]):
            yield done.result()


def warm_for(processes: int, portable: bool) -> Iterator[Warmed]:
    """Compile in other processes for this machine's processor, or for all of the portable level, what no cache holds.

    Raises:
        SparkCepError: this machine does not run code of the portable level, or there is none; or Numba compiles
            nothing (CEP_ARGUMENTS).
    """
    environment = {target.CHOICE: "native"}
    if portable:
        level = target.level()
        if level is None or not target.fits():
            raise SparkCepError(
                "CEP_ARGUMENTS", f"There is no portable level of processors that this one ({target.machine()}) is of.",
                hint="sparkcep warmup compiles for this machine alone",
            )  # fmt: skip
        environment |= level.environment
    if not names(ENTRIES):
        raise SparkCepError("CEP_ARGUMENTS", "Numba compiles nothing.", hint="unset NUMBA_DISABLE_JIT")
    if all(kept(name, portable) for name in names(ENTRIES)):
        return
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        yield from warm_groups(max(2, processes))
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def ship_kernels(folder: Path) -> list[Path]:
    """Copy what was compiled for the portable level into a folder, as a wheel brings it: what Python calls, no parts.

    Returns:
        The files written.
    """
    kernels = [
        value.py_func
        for name, module in sys.modules.items()
        if name.startswith(SOURCES + ".")
        for value in vars(module).values()
        if hasattr(value, "py_func")
    ]
    named = {name for function in kernels for name in function.__code__.co_names}
    called = names(entry for entry in ENTRIES if entry.py_func.__name__ in named)
    return ship(folder, names(ENTRIES), called)


def _warm(name: str) -> Warmed:
    before, started, cpu = compiled(), time.perf_counter(), time.process_time()
    PARTS[name]()
    return Warmed(name, compiled() - before, time.perf_counter() - started, time.process_time() - cpu)


def compiled() -> int:
    """Kernels compiled in this process so far."""
    return sum(sum(entry.stats.cache_misses.values()) for entry in ENTRIES if hasattr(entry, "stats"))
