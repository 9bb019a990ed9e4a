"""What is said where an executor or a Python worker dies under a pattern query: which setting wants changing.

Spark tells of such a death by its own words, long after sparkcep has planned: "Python worker exited unexpectedly",
a MetadataFetchFailedException, an ExecutorLostFailure. From the first pattern query on, errors of Spark that say so get
a note (PEP 678), which Python shows behind their text; :func:`sparkcep.errors.error_behind` reads it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sparkcep.errors import SparkCepError
from sparkcep.settings import CHUNK_BYTES, LAYOUT, LIST_BYTES, TASK_MEMORY

_LOST = re.compile(
    r"Python worker exited unexpectedly|ExecutorLostFailure|MetadataFetchFailed|OutOfMemoryError|worker lost|"
    r"Remote RPC client disassociated|executor \S+ exited"
)
#: Layouts of the pattern queries that this process has planned.
_planned: set[str] = set()
#: Functions of modules that are patched; what was there is an attribute of the patch.
_patched: dict[str, str] = {}
_MARK = "_sparkcep_inner"


def remember(layout: str) -> None:
    """A pattern query runs in this layout from now on."""
    _planned.add(layout)
    install()


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


def noted(error: BaseException) -> BaseException:
    """The error, with a note where it tells of a death."""
    with suppress(Exception):
        own = loss(str(error))
        if own is not None and str(own) not in getattr(error, "__notes__", ()):
            error.add_note(str(own))
    return error


def install() -> None:
    """Have Spark's errors noted as they come from the JVM, or from a Connect server. Idempotent.

    A classic session puts its own function in py4j's place when it starts, so this is done when there is one.
    """
    for module, name, made in (
        ("py4j.java_gateway", "get_return_value", _raising),
        ("pyspark.sql.connect.client.core", "convert_exception", _giving),
    ):
        loaded = sys.modules.get(module)
        inner = getattr(loaded, name, None)
        if inner is not None and not hasattr(inner, _MARK):
            patch = made(inner)
            setattr(patch, _MARK, inner)
            setattr(loaded, name, patch)
            _patched[module] = name


def uninstall() -> None:
    """Undo :func:`install`."""
    for module, name in _patched.items():
        before = getattr(getattr(sys.modules[module], name), _MARK, None)
        if before is not None:  # else somebody has patched it since, who still calls it
            setattr(sys.modules[module], name, before)
    _patched.clear()


def _raising(inner: Callable[..., Any]) -> Callable[..., Any]:
    def get_return_value(*args: Any, **kwargs: Any) -> Any:
        try:
            return inner(*args, **kwargs)
        except Exception as error:
            noted(error)
            raise

    return get_return_value


def _giving(inner: Callable[..., Any]) -> Callable[..., Any]:
    def convert_exception(*args: Any, **kwargs: Any) -> Any:
        return noted(inner(*args, **kwargs))

    return convert_exception
