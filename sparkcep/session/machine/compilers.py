"""Processes that compile kernels: they say how far they are, and end with the process that has started them."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Warmed:
    """A group of kernels. ``compiled``: how many of those that Python calls had to be compiled, 0 where a cache held
    them all. ``seconds`` of wall clock, ``cpu`` of a processor."""

    name: str
    compiled: int
    seconds: float
    cpu: float


class Compiler:
    """A process that compiles groups of kernels, one after the other.

    Args:
        environment: variables besides those of this process.
        errors: where its standard error goes, as for `subprocess`; None: where this process's goes.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(
        self, environment: Mapping[str, str] = MappingProxyType({}), errors: int | None = subprocess.DEVNULL
    ) -> None:
        # Modules are looked for where this process does: a notebook or script may have extended its path.
        try:
            path = os.pathsep.join(p or os.getcwd() for p in sys.path)
        except OSError:  # the working directory was deleted, so that nothing is found there
            path = os.pathsep.join(filter(None, sys.path))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sparkcep.session.machine.warmup", str(os.getpid())], stdin=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1", **environment}, stdout=subprocess.PIPE,
            stderr=errors, text=True,
        )  # fmt: skip

    def compile(self, group: str, ready: Callable[[str], None]) -> Warmed | None:
        """Compile a group; ``ready`` is told the name of each kernel. None where the process has ended before."""
        assert self.process.stdin is not None and self.process.stdout is not None
        with contextlib.suppress(OSError, ValueError):  # it has ended, or was ended from another thread
            print(group, file=self.process.stdin, flush=True)
            for line in self.process.stdout:
                said, _, what = line.rstrip("\n").partition(" ")
                if said == "ready":
                    ready(what)
                elif said == "done":
                    return Warmed(**json.loads(what))
        return None

    def end(self) -> None:
        """Let the process end when it is idle."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.process.wait()
