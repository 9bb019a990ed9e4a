"""Compile all kernels ahead of the first query."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from sparkcep.exec import warm as exec_warm
from sparkcep.index import warm as index_warm

#: Each calls kernels on tiny inputs; kernels have one signature each, whatever the query, so this is all there is.
PARTS: tuple[Callable[[], None], ...] = (*exec_warm.PARTS, index_warm.warm_index)
#: What Python calls; all other kernels are parts of these.
ENTRIES: tuple[Any, ...] = (*exec_warm.ENTRIES, *index_warm.ENTRIES)


def warm_up(processes: int = 1) -> int:
    """Compile every kernel, or load it from Numba's cache, by matching tiny inputs.

    The cache is in NUMBA_CACHE_DIR, or beside the kernels' sources where that can be written.

    Args:
        processes: how many compile at once.

    Returns:
        How many kernels had to be compiled: 0 where the cache held them.
    """
    before = compiled()
    if processes == 1:
        for part in PARTS:
            part()
        return compiled() - before
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        done = sum(pool.map(_compile, range(len(PARTS))))
    # What two of them compiled at once, one of them has lost from the cache.
    return done + warm_up()


def _compile(part: int) -> int:
    before = compiled()
    PARTS[part]()
    return compiled() - before


def compiled() -> int:
    """Kernels compiled in this process so far."""
    return sum(sum(entry.stats.cache_misses.values()) for entry in ENTRIES)
