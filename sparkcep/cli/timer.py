"""What is being done, and how long it took."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from sparkcep.progress import activity


@contextlib.contextmanager
def timed(label: str) -> Iterator[None]:
    """Shows what is being done while it takes time, and prints, when it is done, how long it took."""
    with activity(label.strip()) as made:
        yield
    print(f"{label}: {made.seconds:.1f} s", flush=True)
