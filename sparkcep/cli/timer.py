"""What is being done, and how long it took."""

from __future__ import annotations

import time
from typing import Any


class Timer:
    """Prints what is being done and, behind it, how long it took."""

    def __init__(self, label: str) -> None:
        self.label = label

    def __enter__(self) -> Timer:
        print(f"{self.label} ...", end=" ", flush=True)
        self.start = time.perf_counter()
        return self

    def __exit__(self, *error: Any) -> None:
        if error[0] is None:
            print(f"{time.perf_counter() - self.start:.1f} s", flush=True)
        else:
            print()
