"""One process at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: two processes may compile the same, and the last one's files stay
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, made where it is missing; the system gives it up for a process that dies.

    Where files cannot be locked (some network file systems), nothing is.
    """
    with contextlib.ExitStack() as stack:
        if fcntl is not None:
            with contextlib.suppress(OSError):
                file = stack.enter_context(open(path, "ab"))
                fcntl.flock(file, fcntl.LOCK_EX)
        yield
