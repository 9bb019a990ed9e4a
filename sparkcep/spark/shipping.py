"""Functions for Spark's tasks, which tell in a sentence what an executor's Python lacks.

A function of this package travels by its name, so that a worker without the package cannot even unpickle it, and one
with another version runs other code under the same name. What is sent instead is a plain function that cloudpickle
copies whole (it is nested, hence has no name to be found by): it imports the package, compares versions and sources,
and only then unpickles ours.
"""

from __future__ import annotations

import functools
import gc
import importlib
import importlib.util
import itertools
import zlib
from collections.abc import Callable
from importlib.resources import files
from typing import Any, TypeVar

import pyarrow as pa
from pyspark import cloudpickle

from sparkcep.spark.package_sources import sources

F = TypeVar("F", bound=Callable[..., Any])


@functools.cache
def stamp() -> str:
    """A checksum of all of the package's modules, wherever it was imported from, a zip included."""
    found = 0
    for name, content in sorted(sources(files("sparkcep"))):
        found = zlib.crc32(content, zlib.crc32(name.encode(), found))
    return f"{found:08x}"


_loads = itertools.count(1)


def keep_modules() -> None:
    """Take what a worker has loaded out of Python's garbage collection, when its second function begins.

    Spark's worker collects garbage after each of its tasks, and so looks at every object of NumPy, Numba, pandas and
    our kernels, none of which is ever freed: 60 ms, more than a small task takes. What comes later is collected as
    before.
    """
    if next(_loads) == 2:
        gc.freeze()


#: What streams need of an executor's Python, by Spark's operator that holds ours: a module, and its package.
STREAM_NEEDS = {"state": ("pandas", "pandas"), "transform": ("google.protobuf", "protobuf")}


def shipped(function: F, name: str, operator: str = "") -> F:
    """A function as it is sent to executors.

    Where an executor's Python cannot run it, its task fails with a RuntimeError whose text is an error's own
    (CEP_WORKER_PACKAGE, CEP_WORKER_DEPENDENCY, CEP_WORKER_VERSION; :func:`sparkcep.errors.error_behind` reads it).

    Args:
        function: is called with positional arguments of Arrow.
        name: what Spark's plans and its UI call it.
        operator: of STREAM_NEEDS, where Spark is to run it behind the function: without its package Spark's worker
            ends before any function is called.
    """
    needed = STREAM_NEEDS.get(operator)
    load = loader(cloudpickle.dumps(function), *versions(), needed)  # type: ignore[no-untyped-call]
    made: list[Callable[..., Any]] = []

    def run(*columns: pa.Array) -> pa.Array:
        if not made:
            made.append(load())
        return made[0](*columns)

    run.__name__ = run.__qualname__ = name
    return run  # type: ignore[return-value]


def loader(packed: bytes, version: str, sources: str, needed: tuple[str, str] | None = None) -> Callable[[], Any]:
    """What unpickles a value in a task, after a look at the package there; it imports nothing of ours by itself.

    Args:
        version, sources: of the package that has pickled the value; see :func:`stamp`.
        needed: a module that streams need, and the package that has it.
    """

    def load() -> Any:
        import os
        import pickle
        import socket
        import sys

        place = f"Python on {socket.gethostname()} ({sys.executable})"
        everywhere = (
            "on every node, or ship an environment with --archives and point spark.pyspark.python into it; "
            "sparkcep doctor --cluster looks at all executors"
        )

        def refuse(error_class: str, sentence: str, hint: str) -> RuntimeError:
            # The worker is then reported by this message alone, and ends.
            os.environ["SPARK_HIDE_TRACEBACK"] = "1"
            return RuntimeError(f"[{error_class}] {sentence}\nHint: {hint} {everywhere}")

        needs = f"pip install sparkcep=={version}"

        def lacks(error: ImportError) -> RuntimeError:
            if error.name and error.name.partition(".")[0] == "sparkcep" and error.name.count(".") == 0:
                return refuse("CEP_WORKER_PACKAGE", f"The executors' {place} has no package sparkcep.", needs)
            if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("sparkcep"):
                text = f"lacks the package {error.name}, which sparkcep needs"
            else:
                text = f"cannot import sparkcep: {error}"
            return refuse("CEP_WORKER_DEPENDENCY", f"The executors' {place} {text}.", needs)

        try:
            own = importlib.import_module("sparkcep")
        except ImportError as error:
            raise lacks(error) from None
        found = getattr(own, "__version__", None)
        if found is None:
            # A folder of this name is no package.
            raise refuse("CEP_WORKER_PACKAGE", f"The executors' {place} has no package sparkcep.", needs)
        other = f"{found}, the driver has {version}"
        if found == version:
            other = f"{version} with other source files than the driver's"
            try:
                from sparkcep.spark.shipping import stamp

                if stamp() == sources:
                    other = ""
            except ImportError:
                pass
        if other:
            raise refuse("CEP_WORKER_VERSION", f"The executors' {place} has sparkcep {other}.", needs)
        try:
            from sparkcep.spark.shipping import has_module, keep_modules

            if needed and not has_module(needed[0]):
                text = f"lacks the package {needed[1]}, which streams need"
                streams = f"pip install 'sparkcep[stream]=={version}'"
                raise refuse("CEP_WORKER_DEPENDENCY", f"The executors' {place} {text}.", streams)
            keep_modules()
            return pickle.loads(packed)
        except ImportError as error:
            raise lacks(error) from None

    return load


def has_module(name: str) -> bool:
    """Whether a module could be imported; it is not."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def versions() -> tuple[str, str]:
    """The package's version and :func:`stamp`."""
    from sparkcep.version import __version__

    return __version__, stamp()
