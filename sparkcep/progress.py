"""What takes longer than two seconds says so: a line that goes on in terminals and notebooks, else plain lines.

    with activity("Compiling kernels", total=3) as progress:
        progress.advance()

The command line and notebooks show activities (:func:`shown`); everywhere they are logged under the name ``sparkcep``.
All is written to standard error, or to a notebook's cell; nothing reaches the output that a pipe reads.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

logger = logging.getLogger("sparkcep")
#: Seconds after which an activity is shown, where it can be taken away again.
PATIENCE = 1.0
#: Seconds between plain lines about one activity, where there is no terminal.
PLAIN_PAUSE = 15.0


@dataclass(eq=False)
class Activity:
    """Something that takes time. ``total``: of how many steps; ``detail``: what is at work just now."""

    label: str
    total: float | None = None
    done: float = 0
    detail: str = ""
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.perf_counter() - self.started

    def advance(self, steps: float = 1, detail: str = "") -> None:
        """Some steps are done."""
        self.done += steps
        self.detail = detail

    def at(self, detail: str, share: float) -> None:
        """A share of all is done; called as an index's progress is."""
        self.total, self.done, self.detail = 1.0, share, detail

    def say(self, line: str) -> None:
        """A line of the command's output, above what is shown."""
        with _lock:
            if _shown is not None and _shown.live:
                _shown.clear()
            print(line, flush=True)

    @property
    def text(self) -> str:
        """The activity in one line."""
        share = ""
        if self.total:
            share = f" {self.done / self.total:.0%}" if self.total == 1 else f" {self.done:.0f} of {self.total:.0f}"
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.label}{share}{detail} ... {self.seconds:.0f} s"


_lock = threading.RLock()
_running: list[Activity] = []
_shown: _Display | None = None


@contextlib.contextmanager
def activity(label: str, total: float | None = None, detail: str = "") -> Iterator[Activity]:
    """What happens in the block, as something that takes time.

    Args:
        label: what is done, as a title. total: of how many steps, where that is known. detail: more about it.
    """
    made = begin(label, total, detail)
    try:
        yield made
    finally:
        end(made)


def begin(label: str, total: float | None = None, detail: str = "") -> Activity:
    """An activity that :func:`end` ends, maybe in another thread."""
    made = Activity(label, total, detail=detail)
    logger.debug("%s", label)
    with _lock:
        _running.append(made)
        if _shown is not None:
            _shown.wake()
    return made


def end(made: Activity) -> None:
    """An activity is over; twice is no harm."""
    with _lock:
        if made not in _running:
            return
        _running.remove(made)
        if _shown is not None:
            _shown.ended(made)
    logger.info("%s: %.1f s", made.label, made.seconds)


@contextlib.contextmanager
def shown() -> Iterator[None]:
    """Show activities for the length of a with block; what was shown before goes on."""
    before = _shown
    show()
    try:
        yield
    finally:
        if before is None:
            hide()


def show() -> None:
    """Show activities from now on. Idempotent."""
    global _shown  # noqa: PLW0603 - a process has one standard error
    with _lock:
        if _shown is None:
            _shown = _Notebook() if _in_notebook() else _Terminal() if _is_terminal() else _Plain()


def show_if_seen() -> None:
    """Show activities from now on where somebody looks: on a terminal or in a notebook."""
    if _in_notebook() or _is_terminal():
        show()


def hide() -> None:
    """Undo :func:`show`."""
    global _shown  # noqa: PLW0603 - a process has one standard error
    with _lock:
        if _shown is not None:
            _shown.clear()
        _shown = None


def _is_terminal() -> bool:
    return bool(sys.stderr is not None and sys.stderr.isatty())


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    got = shell.get_ipython() if shell is not None else None
    return got is not None and hasattr(got, "kernel")


class _Display:
    """Looks at what is running, in a thread that ends when nothing is."""

    PAUSE = 0.2
    live = True

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._look, name="sparkcep progress", daemon=True)
            self._thread.start()

    def _look(self) -> None:
        while True:
            time.sleep(self.PAUSE)
            with _lock:
                if not _running or _shown is not self:
                    self._thread = None
                    return
                slow = [a for a in _running if a.seconds > PATIENCE]
                if slow:
                    with contextlib.suppress(OSError, ValueError):  # the terminal or the file behind it is gone
                        self.draw(slow)

    def ended(self, made: Activity) -> None:
        self.clear()

    def draw(self, slow: list[Activity]) -> None:
        raise NotImplementedError

    def clear(self) -> None:
        """Take away what is shown."""


class _Terminal(_Display):
    """rich draws the activities below the last line of a terminal and takes them away when they are over."""

    def __init__(self) -> None:
        super().__init__()
        self._live: Any = None

    def draw(self, slow: list[Activity]) -> None:
        from rich.console import Console
        from rich.live import Live

        if self._live is None:
            console = Console(stderr=True, highlight=False)
            self._live = Live(
                console=console, transient=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
            )
            self._live.start()
        self._live.update(_bars(slow), refresh=True)

    def clear(self) -> None:
        if self._live is not None:
            live, self._live = self._live, None
            live.stop()


def _bars(slow: list[Activity]) -> Any:
    from rich.progress_bar import ProgressBar
    from rich.spinner import Spinner
    from rich.table import Table

    table = Table.grid(padding=(0, 1))
    for made in slow:
        if made.total:
            table.add_row(made.text, ProgressBar(total=made.total, completed=made.done, width=30))
        else:
            spinner = Spinner("line")
            spinner.start_time = made.started
            table.add_row(made.text, spinner)
    return table


class _Plain(_Display):
    """Lines for logs: one after two seconds, others rarely, and how long it took."""

    live = False
    WAIT = 2.0

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[Activity, float] = {}

    def draw(self, slow: list[Activity]) -> None:
        for made in slow:
            if made.seconds > self.WAIT and made.seconds - self._said.get(made, -PLAIN_PAUSE) >= PLAIN_PAUSE:
                self._said[made] = made.seconds
                print(made.text, file=sys.stderr, flush=True)

    def ended(self, made: Activity) -> None:
        if self._said.pop(made, None) is not None:
            with contextlib.suppress(OSError, ValueError):
                print(f"{made.label}: {made.seconds:.1f} s", file=sys.stderr, flush=True)


class _Notebook(_Display):
    """A line in the running cell, which is taken away in the end."""

    PAUSE = 0.5

    def __init__(self) -> None:
        super().__init__()
        self._handle: Any = None

    def draw(self, slow: list[Activity]) -> None:
        from IPython.display import display

        shown = {"text/plain": "\n".join(a.text for a in slow)}
        if self._handle is None:
            self._handle = display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)

    def clear(self) -> None:
        if self._handle is not None:
            handle, self._handle = self._handle, None
            handle.update({"text/plain": ""}, raw=True)
