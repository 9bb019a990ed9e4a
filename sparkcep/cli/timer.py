"""What is being done, and how long it took."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from sparkcep.progress import activity


@contextlib.contextmanager
def timed(label: str, shows: bool = True) -> Iterator[None]:
    """Shows what is being done while it takes time, and prints, when it is done, how long it took.

    Args:
        shows: whether it is shown here; what shows itself is only timed.
    """
    started = time.perf_counter()
    with activity(label.strip()) if shows else contextlib.nullcontext():
        yield
    print(f"{label}: {time.perf_counter() - started:.1f} s", flush=True)
