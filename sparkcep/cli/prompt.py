"""Lines for ``sparkcep shell``: with history and completion where prompt_toolkit is installed, else by ``input``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sparkcep.cli.shell import Shell

HISTORY = ".sparkcep_history"


def run_shell(shell: Shell) -> None:
    """Read lines until the end of the input or ``\\q``."""
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    shell.timing &= terminal  # what a pipe gives is the same each time, unless it says \timing
    read = (_prompting(shell) if terminal else None) or _plain(shell, terminal)
    while True:
        try:
            line = read()
        except KeyboardInterrupt:
            shell.typed = ""
            continue
        except EOFError:
            break
        if not shell.feed(line):
            return
    if shell.typed.strip():  # the last statement of a file needs no semicolon
        shell.finish()


def _plain(shell: Shell, terminal: bool) -> Callable[[], str]:
    # A prompt between the results of a pipe would only be in the way.
    return lambda: input(shell.prompt if terminal else "")


def _prompting(shell: Shell) -> Callable[[], str] | None:
    try:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import Completer, Completion
        from prompt_toolkit.history import FileHistory, InMemoryHistory
    except ImportError:
        return None

    class Names(Completer):  # type: ignore[misc]
        def get_completions(self, document: Any, complete_event: Any) -> Iterator[Any]:
            word, names = shell.completions(document.text_before_cursor)
            for name in names[:200]:
                yield Completion(name, start_position=-len(word))

    try:
        path = Path.home() / HISTORY
        path.touch(mode=0o600)
        history: Any = FileHistory(str(path))
    except (OSError, RuntimeError):  # a home that cannot be written, or none
        history = InMemoryHistory()
    session: Any = PromptSession(history=history, completer=Names(), complete_while_typing=False)
    return lambda: str(session.prompt(shell.prompt))
