"""CPU time of processes and of all that they have started."""

from __future__ import annotations

import os
import resource
from pathlib import Path


def children_seconds() -> float:
    """CPU seconds of this process and of all that it has started: those that live, too, such as the JVM."""
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in own) + tree_seconds(os.getpid(), itself=False)


def tree_seconds(root: int, itself: bool = True) -> float:
    """CPU seconds of a live process, and of those that live below it, with what has ended below each of them."""
    ticks = os.sysconf("SC_CLK_TCK")
    parents: dict[int, int] = {}
    took: dict[int, float] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # has ended
            continue
        parents[int(folder.name)] = int(fields[1])
        # Its own, and those of its children that have ended.
        took[int(folder.name)] = sum(map(int, fields[11:15])) / ticks

    def below(process: int) -> bool:
        while process not in (0, 1, root):
            process = parents.get(process, 0)
        return process == root

    return sum(s for p, s in took.items() if below(p) and (itself or p != root))
