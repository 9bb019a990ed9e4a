"""What takes time says so, on standard error, and nowhere else."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from sparkcep import progress
from sparkcep.exec.warm import GROUPS
from sparkcep.session.machine.ahead import likely_group


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nobody waits two seconds for a test."""
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    monkeypatch.setattr(progress._Plain, "WAIT", 0.1)
    monkeypatch.setattr(progress, "PLAIN_PAUSE", 0.3)
    yield
    progress.hide()


def test_lines_where_there_is_no_terminal(quick: None, capsys: pytest.CaptureFixture[str]) -> None:
    with progress.shown(), progress.activity("Counting", 4) as counting:
        for _ in range(4):
            time.sleep(0.3)
            counting.advance(detail="sheep")
    out, err = capsys.readouterr()
    first, *_, last = err.splitlines()
    assert out == ""
    assert re.fullmatch(r"Counting \d of 4( \(sheep\))? \.\.\. \d s", first)
    assert any(" of 4 (sheep) ... " in line for line in err.splitlines())
    assert re.fullmatch(r"Counting: \d+\.\d s", last)


def test_what_is_quick_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.shown(), progress.activity("Counting"):
        pass
    assert capsys.readouterr() == ("", "")


def test_nothing_is_shown_unasked(
    quick: None, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """A program's standard error is its own; what happens is logged under the package's name."""
    with caplog.at_level(logging.INFO, "sparkcep"), progress.activity("Counting"):
        progress.show_if_seen()  # nobody sees it
        time.sleep(0.4)
    assert capsys.readouterr() == ("", "")
    assert [r.name for r in caplog.records] == ["sparkcep"]
    assert caplog.records[0].getMessage().startswith("Counting: 0.")


def test_a_terminal() -> None:
    """A line that is taken away in the end, on standard error; output goes to the pipe as it is."""
    code = (
        "import time; from sparkcep import progress\n"
        "with progress.shown(), progress.activity('Counting', 2) as a:\n"
        "    while progress._shown._live is None: time.sleep(.1)\n"
        "    time.sleep(.5); a.advance(); a.say('one'); time.sleep(.5)\n"
        "print('end')"
    )
    master, slave = os.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=slave, env=environment, check=True, text=True
    )
    os.close(slave)
    seen = os.read(master, 100_000).decode()
    os.close(master)
    assert done.stdout == "one\nend\n"
    assert re.search(r"Counting [01] of 2 \.\.\. \d+ s", seen)
    assert seen.rstrip("\r\n").endswith(("\x1b[2K", "\x1b[?25h"))  # nothing is left of it, the cursor is back


def test_a_notebook(quick: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One output of the cell, written over and emptied in the end."""
    ipython = pytest.importorskip("IPython")
    seen: list[str] = []

    class Handle:
        def update(self, shown: dict[str, str], raw: bool) -> None:
            seen.append(shown["text/plain"])

    def display(shown: dict[str, str], raw: bool, display_id: bool) -> Handle:
        seen.append(shown["text/plain"])
        return Handle()

    monkeypatch.setattr(ipython, "get_ipython", type("Shell", (), {"kernel": None}))
    monkeypatch.setattr("IPython.display.display", display)
    progress.show_if_seen()
    with progress.activity("Counting"):
        time.sleep(1.5)
    assert seen[0].startswith("Counting ... ")
    assert seen[-1] == ""
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a b))", "rows"),
        ("SELECT * FROM t MATCH_RECOGNIZE (EVENT SELECTION SKIP TILL ANY MATCH PATTERN (a b))", "runs"),
        ("FROM t PATTERN SEQ(A a, B+ b[], C c)", "runs"),
        ("FROM t PATTERN SEQ(A a, B b) UNCERTAINTY 5 SECONDS", "uncertain"),
        ("FROM t PATTERN SEQ(A a, B b) EXPLAIN NON ANSWERS (1, 2, 3)", "non-answers"),
        ("FROM t PATTERN SEQ(A a, B b)", None),
        ("SELECT 1", None),
    ],
)
def test_likely_groups(text: str, group: str | None) -> None:
    assert likely_group(text) == group
    assert group is None or group in GROUPS
