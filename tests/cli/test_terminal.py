"""Processes that a user interrupts: `sparkcep shell` in a terminal, and `sparkcep sql`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from sparkcep.session.machine.java import ensure_java

from ..spark.test_interrupts import LONG, MAX_SECONDS


@pytest.mark.full
def test_a_terminal() -> None:
    """The shell of a user, who sees no stack of anybody."""
    pexpect = pytest.importorskip("pexpect")
    ensure_java()
    environment = {**os.environ, "TERM": "dumb", "PROMPT_TOOLKIT_NO_CPR": "1"}
    shell = pexpect.spawn(
        sys.executable, ["-m", "sparkcep", "shell", "--conf", "spark.sql.shuffle.partitions=2"], env=environment,
        encoding="utf-8", timeout=180, dimensions=(40, 200),
    )  # fmt: skip
    try:
        shell.expect("sparkcep>")
        shell.sendline("SELECT 1 AS warm;")
        shell.expect(r"\(1 row")
        shell.sendline(LONG + ";")
        time.sleep(3)
        started = time.monotonic()
        shell.sendintr()
        shell.expect("Interrupted\\.")
        seconds = time.monotonic() - started
        seen = shell.before
        shell.sendline("SELECT assert_true(6 > 7) AS answer FROM range(3);")
        shell.expect("is not true! SQLSTATE: P0001")
        seen += shell.before
        shell.sendline("\\q")
        shell.expect(pexpect.EOF)
        seen += shell.before
    finally:
        shell.close(force=True)
    assert seconds < MAX_SECONDS
    for word in ("Traceback", "py4j", "Py4J", "java", "ERROR", "{"):
        assert word not in seen, seen


@pytest.mark.long
def test_a_process() -> None:
    """`sparkcep sql` ends, with the code that shells know; its logs keep quiet."""
    ensure_java()
    text = f"SELECT 'warm' AS up; {LONG}"
    process = subprocess.Popen(
        [sys.executable, "-m", "sparkcep", "sql", "-e", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        while "(1 row)" not in process.stdout.readline():
            assert process.poll() is None
        time.sleep(3)
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    assert time.monotonic() - started < MAX_SECONDS
    assert said.endswith("Interrupted.\n")
    for word in ("Traceback", "py4j", "ERROR", "\tat "):
        assert word not in said, said
