"""Compile all kernels ahead of the first query."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from numba.core.registry import cpu_target

from sparkcep.errors import SparkCepError
from sparkcep.exec import warm as exec_warm
from sparkcep.exec.kernel_cache import target
from sparkcep.exec.kernel_cache.cache import listeners, names
from sparkcep.exec.kernel_cache.called import with_parts
from sparkcep.exec.kernel_cache.places import beside_sources, places
from sparkcep.exec.kernel_cache.report import kept
from sparkcep.exec.kernel_cache.ship import copy_kernels, ship
from sparkcep.index import warm as index_warm
from sparkcep.session.machine.compilers import Compiler, Warmed

#: Seconds between two looks of a compiler at whether it is still wanted.
PAUSE = 1.0
#: Each calls kernels on tiny inputs; kernels have one signature each, whatever the query, so this is all there is.
PARTS: Mapping[str, Callable[[], None]] = {**exec_warm.PARTS, "index": index_warm.warm_index}
#: What Python calls; all other kernels are parts of these.
ENTRIES: tuple[Any, ...] = (*exec_warm.ENTRIES, *index_warm.ENTRIES)


def warm_up() -> int:
    """Compile every kernel in this process, or load it from where compiled kernels are kept, by matching tiny inputs.

    Returns:
        How many kernels that Python calls had to be compiled: 0 where caches held them.
    """
    return sum(warm(name).compiled for name in PARTS)


def warm(name: str) -> Warmed:
    """As :func:`warm_up`, for one group."""
    before, started, cpu = compiled(), time.perf_counter(), time.process_time()
    PARTS[name]()
    return Warmed(name, compiled() - before, time.perf_counter() - started, time.process_time() - cpu)


def compiled() -> int:
    """Kernels compiled in this process so far."""
    return sum(sum(entry.stats.cache_misses.values()) for entry in ENTRIES if hasattr(entry, "stats"))


def warm_for(processes: int, portable: bool, ready: Callable[[str], None]) -> Iterator[Warmed]:
    """Compile in other processes for this machine's processor, or for all of the portable level, what no cache holds.

    Args:
        processes: how many compile at once.
        ready: is told the name of each kernel.

    Returns:
        Group after group as they are done.

    Raises:
        SparkCepError: this machine does not run code of the portable level, or there is none; or Numba compiles
            nothing (CEP_ARGUMENTS). A process ended before it was done (CEP_KERNEL_COMPILER).
    """
    environment = {target.CHOICE: "native"}
    if portable:
        level = target.level()
        if level is None or not target.fits():
            raise SparkCepError(
                "CEP_ARGUMENTS", f"This processor ({target.machine()}) has none of the portable feature levels.",
                hint="sparkcep warmup compiles for this machine alone",
            )  # fmt: skip
        environment |= level.environment
    if not names(ENTRIES):
        raise SparkCepError("CEP_ARGUMENTS", "Numba's compiler is switched off.", hint="unset NUMBA_DISABLE_JIT")
    if all(kept(name, portable) for name in names(ENTRIES)):
        return
    todo, done = queue.SimpleQueue[str](), queue.SimpleQueue[tuple[str, Warmed | None]]()
    for name in PARTS:
        todo.put(name)

    def work(compiler: Compiler) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                group = todo.get_nowait()
                done.put((group, compiler.compile(group, ready)))

    compilers: list[Compiler] = []
    try:
        for _ in range(max(2, processes)):
            compilers.append(Compiler(environment, None))
            threading.Thread(target=work, args=(compilers[-1],), daemon=True).start()
        for _ in PARTS:
            name, warmed = done.get()
            if warmed is None:
                raise SparkCepError(
                    "CEP_KERNEL_COMPILER", f"The process that compiles the kernels `{name}` ended before it was done.",
                    hint="what it printed above says why; where it printed nothing, the system was short of memory",
                )  # fmt: skip
            yield warmed
    finally:
        for compiler in compilers:
            compiler.process.kill()
            compiler.end()


def ship_kernels(folder: Path) -> list[Path]:
    """Copy what was compiled for the portable level into a folder, as a wheel brings it: what Python calls, no parts.

    Returns:
        The files written.
    """
    return ship(folder, names(ENTRIES), _called())


def keep_beside_sources(portable: bool) -> Path | None:
    """Copy what was compiled to where other users of this installation find it: they cannot read this user's caches.

    Returns:
        The folder; None where this user may not write to it, or has named another one, and where all were there.
    """
    folder = beside_sources()
    key = target.portable_key() if portable else target.key_of(cpu_target.target_context.codegen())
    with contextlib.suppress(OSError, LookupError):  # a full disk
        if folder is not None and folder != places().write and copy_kernels(folder, names(ENTRIES), _called(), key):
            return folder
    return None


def _called() -> set[str]:
    """Of what Python calls, what kernels call, too."""
    return {part for name, parts in with_parts(ENTRIES).items() for part in parts if part != name}


def _end_with(parent: int) -> None:
    """End this process when the one that has started it is gone, however that has ended."""
    while os.getppid() == parent:
        time.sleep(PAUSE)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with, args=(int(sys.argv[1]),), daemon=True).start()
    listeners.append(lambda name: print("ready", name, flush=True))
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        for wanted in sys.stdin:
            print("done", json.dumps(asdict(warm(wanted.strip()))), flush=True)
