"""How much memory the matcher of one task may take: ``spark.sparkcep.exec.taskMemory``, or what its executor leaves."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

#: What a Python worker takes before it holds a row: the interpreter, Arrow, NumPy, Numba and compiled kernels.
WORKER = 300 << 20
#: Less than this is never concluded from what an executor has; more is not known to be too much where nothing is told.
LEAST, UNTOLD = 128 << 20, 1 << 30
#: Spark's own, of what a container has beside the heap.
_LEAST_OVERHEAD = 384 << 20
_UNITS = {"": 0, "b": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_SIZE = re.compile(r"(\d+)\s*(?:([kmgt])b?|b)?", re.IGNORECASE)


def parse_size(text: str, unit: str = "") -> int | None:
    """Bytes of a size as Spark writes it, None where it is none. ``unit``: of a number without one.

    >>> parse_size("512m"), parse_size("1g"), parse_size("100", "m"), parse_size("much")
    (536870912, 1073741824, 104857600, None)
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        return None
    named = found[2] or ("" if text.strip()[-1] in "bB" else unit)
    return int(found[1]) << _UNITS[named.lower()]


def task_memory(get: Callable[[str, str], Any]) -> int:
    """Bytes that a task's matcher may take on executors of this session, by ``get(key, default)``.

    What a container gives to Python (``spark.executor.pyspark.memory``, else ``spark.executor.memoryOverhead``, on YARN
    and Kubernetes also by its default) is shared by the tasks that run at once, less what a worker takes by itself.
    Where nothing holds Python to a limit, a gigabyte.
    """

    def text(key: str) -> str:
        try:
            return str(get(key, "") or "")
        except Exception:  # locked-down sessions refuse to read some keys
            return ""

    def number(key: str, default: float) -> float:
        try:
            return float(text(key))
        except ValueError:
            return default

    master = text("spark.master")
    contained = master.startswith(("yarn", "k8s"))
    given = parse_size(text("spark.executor.pyspark.memory"), "m") or parse_size(
        text("spark.executor.memoryOverhead"), "m"
    )
    if not given and contained:
        kubernetes = number("spark.kubernetes.memoryOverheadFactor", 0.4) if master.startswith("k8s") else 0.1
        heap = parse_size(text("spark.executor.memory"), "m") or 1 << 30
        given = max(_LEAST_OVERHEAD, int(number("spark.executor.memoryOverheadFactor", kubernetes) * heap))
    if not given:
        return UNTOLD
    at_once = max(1, int(number("spark.executor.cores", 1) / max(1, number("spark.task.cpus", 1))))
    return max(LEAST, given // at_once - WORKER)
