"""CPU time and memory of processes and of all that they have started."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def children_seconds() -> float:
    """CPU seconds of this process and of all that it has started: those that live, too, such as the JVM."""
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in own) + tree_seconds(os.getpid(), itself=False)


def tree_seconds(root: int, itself: bool = True) -> float:
    """CPU seconds of a live process, and of those that live below it, with what has ended below each of them."""
    ticks = os.sysconf("SC_CLK_TCK")
    # Its own, and those of its children that have ended.
    return sum(sum(map(int, stat[11:15])) / ticks for p, stat in tree(root).items() if itself or p != root)


def tree(root: int) -> dict[int, list[str]]:
    """A live process and those that live below it, by number: what Linux says of each in /proc/<n>/stat, from its state
    on; the parent's number comes second."""
    stats: dict[int, list[str]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stats[int(folder.name)] = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # has ended
            continue

    def below(process: int) -> bool:
        while process not in (0, 1, root):
            process = int(stats[process][1]) if process in stats else 0
        return process == root

    return {process: stat for process, stat in stats.items() if below(process)}


def command(process: int) -> str:
    """The command line; empty of one that has ended."""
    try:
        return (Path("/proc") / str(process) / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def peak_megabytes(process: int) -> float:
    """The largest resident size so far; 0 of one that has ended."""
    try:
        lines = (Path("/proc") / str(process) / "status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


@contextmanager
def watched_memory(every: float = 0.5) -> Iterator[list[float]]:
    """While the block runs, the largest sum of megabytes that the processes below this one have resident, as the one
    item of a list; memory that they share counts for each. Looked at every ``every`` seconds.
    """
    most, done = [0.0], threading.Event()

    def watch() -> None:
        page = os.sysconf("SC_PAGE_SIZE")
        while not done.wait(every):
            own = sum(int(stat[21]) * page for process, stat in tree(os.getpid()).items() if process != os.getpid())
            most[0] = max(most[0], own / 1e6)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield most
    finally:
        done.set()
        watcher.join()
