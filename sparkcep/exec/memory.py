"""Budget: what the arrays of a matcher take of its task's memory, and the error where that is more than there is.

Python workers have no collector that could tell, and a worker that takes too much is killed with all tasks beside it.
So arrays that are filled are counted when they are made, and again when they grow; what is reserved and never written
takes no memory, and grows in steps where it may be as long as a partition.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sparkcep.errors import LimitError
from sparkcep.settings import CHUNK_BYTES, TASK_MEMORY

#: Bytes of a Python object in a list, about, where the interpreter holds values.
OBJECT = 64


class Budget:
    """Bytes that a matcher holds of a batch, by what they are for.

    Args:
        limit: most bytes in all. rows: of the longest partition, for the error.
    """

    def __init__(self, limit: int, rows: int) -> None:
        self.limit = limit
        self.rows = rows
        self.held: dict[str, int] = {}

    @property
    def left(self) -> int:
        """Bytes that may still be held."""
        return self.limit - sum(self.held.values())

    def hold(self, name: str, *of: object) -> None:
        """Count NumPy and Arrow arrays, also in tuples and lists, or a number of bytes, in place of what was held by
        this name. To be called when they are made, before they are filled.

        Raises:
            LimitError: CEP_MEMORY_LIMIT.
        """
        self.held[name] = bytes_of(*of)
        if self.left < 0:
            raise too_much_memory(self.limit - self.left, self.limit, self.rows)


def bytes_of(*held: object) -> int:
    """Bytes of arrays, also in tuples and lists, each memory once; a number stands for so many bytes.

    Called for every batch: where an array's memory begins, which NumPy is slow to tell, is asked of views only.
    """
    total = sum(item for item in held if isinstance(item, int))
    owners: dict[int, int] = {}
    views: list[npt.NDArray[Any]] = []
    left = list(held)
    while left:
        item = left.pop()
        if isinstance(item, np.ndarray):
            if item.base is None:
                owners[id(item)] = item.nbytes
            else:
                views.append(item)
        elif isinstance(item, (tuple, list)):
            left += item
        elif isinstance(item, (pa.Array, pa.ChunkedArray)):
            total += item.nbytes
    begins: dict[int, int] = {}
    for view in views:
        if view.nbytes and id(view.base) not in owners:
            at = view.__array_interface__["data"][0]
            begins[at] = max(begins.get(at, 0), view.nbytes)
    return total + sum(owners.values()) + sum(begins.values())


def too_much_memory(needed: int, limit: int, rows: int) -> LimitError:
    """CEP_MEMORY_LIMIT of a partition of so many rows; the caller raises it."""
    return LimitError(
        "CEP_MEMORY_LIMIT",
        f"Matching partitions of up to {rows:,} events takes {_megabytes(needed)} of memory; a task may take "
        f"{_megabytes(limit)} ({TASK_MEMORY.key}).",
        hint="add keys to PARTITION BY, filter the input, add WITHIN or conditions; or raise the limit, with "
        "spark.executor.memoryOverhead by as much for each core",
    )


def out_of_memory() -> LimitError:
    """CEP_MEMORY_LIMIT where the system refuses memory; the caller raises it."""
    return LimitError(
        "CEP_MEMORY_LIMIT",
        "A Python worker has less memory than matching takes (spark.executor.pyspark.memory, if it is set).",
        hint=f"raise it, or lower {CHUNK_BYTES.key} and {TASK_MEMORY.key}",
    )


def _megabytes(size: int) -> str:
    return f"{-(-size // (1 << 20)):,} MB" if size >= 1 << 20 else f"{-(-size // 1024):,} KB"
