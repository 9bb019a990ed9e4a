"""Processes below this one, as Linux tells of them in /proc."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from benchmarks.processes import command, tree

from .quick import PRELOADED

PROC = Path("/proc")
#: What Spark starts its Python workers by: a module of its own, or that of quick tests.
DAEMONS = ("-m pyspark.daemon", f"-m {PRELOADED['spark.python.daemon.module']}")


class Process(NamedTuple):
    """``command``: its command line. ``seconds``: of a processor, so far. ``resident``: bytes."""

    parent: int
    command: str
    seconds: float
    resident: int


def own_processes() -> dict[int, Process]:
    """This process and those below it, by number; none where there is no /proc."""
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    return {
        number: Process(int(stat[1]), command(number), (int(stat[11]) + int(stat[12])) / ticks, int(stat[21]) * page)
        for number, stat in tree(os.getpid()).items()
    }


def workers() -> dict[int, Process]:
    """Python workers of Spark: children of daemons, which they are forks of."""
    every = own_processes()
    daemons = {n: process for n, process in every.items() if any(name in process.command for name in DAEMONS)}
    return {n: process for n, process in daemons.items() if process.parent in daemons}
