"""What compiled kernels are valid for: the kernels' sources and all that turns them into machine code."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

import llvmlite
import numba
import numpy as np

from sparkcep.spark.package_sources import sources
from sparkcep.version import __version__

SOURCES = "sparkcep.exec.kernels"
#: Counts up where what is cached is laid out in another way.
_LAYOUT = 1


@cache
def stamp() -> bytes | None:
    """32 bytes: a digest of all kernel sources, as the package's loader gives them (from a folder or a zip), and of the
    versions of sparkcep, Numba and llvmlite and the major one of NumPy, whose promotion rules Numba follows.

    Python's version and the processor are parts of file names and keys.

    Returns:
        None where the loader gives no sources: then nothing is cached, since nothing would tell that it is stale.
    """
    return _digest(files(SOURCES))


def _digest(folder: Traversable) -> bytes | None:
    digest = hashlib.sha256()
    versions = (_LAYOUT, __version__, numba.__version__, llvmlite.__version__, np.__version__.split(".")[0])
    digest.update(repr(versions).encode())
    found = sorted(sources(folder))
    for name, content in found:
        digest.update(f"\0{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.digest() if found else None
