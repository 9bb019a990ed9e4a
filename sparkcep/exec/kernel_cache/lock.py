"""One process at a time."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: two processes may compile the same, and the last one's files stay
    fcntl = None  # type: ignore[assignment]

#: Seconds between two looks at a lock that is held.
PAUSE = 0.05


@contextlib.contextmanager
def locked(path: Path, seconds: float) -> Iterator[bool]:
    """Hold the lock of a file, made where it is missing; the system gives it up for a process that dies.

    The file is this user's alone: whoever can open a file can lock it, and keep all others waiting. Where files cannot
    be locked (some network file systems), where the file is another user's, and where the lock is not free within so
    many seconds, nothing is held. Gives whether it is.
    """
    file = _own_file(path) if fcntl is not None else None
    try:
        yield file is not None and _acquired(file, seconds)
    finally:
        if file is not None:
            os.close(file)


def _own_file(path: Path) -> int | None:
    """An open file that no other user can open; None where it cannot be had."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        if os.fstat(file).st_uid == os.geteuid():
            os.fchmod(file, 0o600)  # of a release that let others read it
            return file
    except OSError:
        pass
    os.close(file)
    return None


def _acquired(file: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(PAUSE)
        except OSError:
            return False
        else:
            return True
