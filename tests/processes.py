"""Processes below this one, as Linux tells of them in /proc."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")


class Process(NamedTuple):
    """``command``: its command line. ``seconds``: of a processor, so far. ``resident``: bytes."""

    parent: int
    command: str
    seconds: float
    resident: int


def own_processes() -> dict[int, Process]:
    """This process and those below it, by number; none where there is no /proc."""
    found: dict[int, Process] = {}
    for folder in PROC.glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text().rpartition(")")[2].split()
            pages = int((folder / "statm").read_text().split()[1])
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # has ended
            continue
        seconds = (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
        found[int(folder.name)] = Process(int(stat[1]), command, seconds, pages * os.sysconf("SC_PAGE_SIZE"))

    def is_own(process: int) -> bool:
        while process in found and process != os.getpid():
            process = found[process].parent
        return process == os.getpid()

    return {number: process for number, process in found.items() if is_own(number)}


def workers() -> dict[int, Process]:
    """Python workers of Spark: children of PySpark's daemons, which they are forks of."""
    daemons = {n: process for n, process in own_processes().items() if "pyspark.daemon" in process.command}
    return {n: process for n, process in daemons.items() if process.parent in daemons}
