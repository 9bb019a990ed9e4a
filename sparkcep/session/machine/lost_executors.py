"""What is said where an executor or a Python worker dies under a pattern query: which setting wants changing.

Spark tells of such a death by its own words, long after sparkcep has planned: "Python worker exited unexpectedly",
a MetadataFetchFailedException, an ExecutorLostFailure. From the first pattern query on, errors of Spark that say so get
a note.
"""

from __future__ import annotations

import re

from sparkcep.errors import SparkCepError
from sparkcep.settings import CHUNK_BYTES, LAYOUT, LIST_BYTES, TASK_MEMORY
from sparkcep.spark.error_notes import note_errors

_LOST = re.compile(
    r"Python worker exited unexpectedly|ExecutorLostFailure|MetadataFetchFailed|OutOfMemoryError|worker lost|"
    r"Remote RPC client disassociated|executor \S+ exited"
)
#: Layouts of the pattern queries that this process has planned.
_planned: set[str] = set()


def remember(layout: str) -> None:
    """A pattern query runs in this layout from now on."""
    _planned.add(layout)
    note_errors(loss)


def loss(text: str) -> SparkCepError | None:
    """What Spark's error means for the pattern queries of this process; None where it tells of no death, or there are
    none."""
    if not _planned or not _LOST.search(text):
        return None
    if _planned - {"rows"}:
        return SparkCepError(
            "CEP_EXECUTOR_LOST",
            "An executor or its Python worker died; a pattern query here holds each partition in one list.",
            hint=f"SET {LAYOUT.key} = rows, or a lower {LIST_BYTES.key}, if it ran out of memory; "
            "or give executors more (spark.executor.memory, spark.executor.memoryOverhead)",
        )
    return SparkCepError(
        "CEP_EXECUTOR_LOST",
        "An executor or its Python worker died under a pattern query.",
        hint="give executors more spark.executor.memoryOverhead, if it ran out of memory, "
        f"or SET lower {TASK_MEMORY.key} and {CHUNK_BYTES.key}",
    )
