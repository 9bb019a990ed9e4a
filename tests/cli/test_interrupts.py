"""Ctrl-C cancels what Spark runs, within seconds, and what follows runs as if nothing had been."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sparkcep.interrupts import Interrupted, interruptible
from sparkcep.java import ensure_java
from sparkcep.notebook import run_cell
from sparkcep.shell import Shell

#: Hours of work in tasks that look up now and then.
LONG = "SELECT count(*) AS n FROM range(1000000000000) WHERE id % 7 = id % 11 + 8"
MOST_SECONDS = 30  # where six processes share two cores; alone it is less than one


@contextmanager
def pressed(seconds: float) -> Iterator[None]:
    """Ctrl-C, some seconds from now."""
    timer = threading.Timer(seconds, os.kill, [os.getpid(), signal.SIGINT])
    before = signal.getsignal(signal.SIGINT)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        assert signal.getsignal(signal.SIGINT) is before


def test_the_shell_goes_on(spark: SparkSession) -> None:
    written: list[str] = []
    shell = Shell(spark, written.append)
    started = time.monotonic()
    with pressed(3):
        shell.feed(LONG + ";")
    assert time.monotonic() - started < 3 + MOST_SECONDS
    assert written == ["Interrupted."]
    shell.feed("SELECT 6 * 7 AS answer;")
    assert "| 42     |" in written[1]


def test_a_cell(spark: SparkSession) -> None:
    with pressed(3), pytest.raises(Interrupted):
        run_cell("", f"SELECT 1; {LONG}", {"spark": spark})


def test_errors_stay_errors(spark: SparkSession) -> None:
    with pytest.raises(PySparkException), interruptible(spark):
        spark.sql("SELECT no_such").collect()


def test_python_of_ours_is_left_at_once(spark: SparkSession) -> None:
    started = time.monotonic()
    with pressed(0.5), pytest.raises(Interrupted), interruptible(spark):
        time.sleep(MOST_SECONDS)
    assert time.monotonic() - started < MOST_SECONDS


def test_other_threads_are_left_alone(spark: SparkSession) -> None:
    """No signal reaches them: nothing is installed there."""
    done: list[int] = []

    def run() -> None:
        with interruptible(spark):
            done.append(spark.sql("SELECT 1").collect()[0][0])

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert done == [1]


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
    assert seconds < MOST_SECONDS
    for word in ("Traceback", "py4j", "Py4J", "java", "ERROR", "{"):
        assert word not in seen, seen


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
    assert time.monotonic() - started < MOST_SECONDS
    assert said.endswith("Interrupted.\n")
    for word in ("Traceback", "py4j", "ERROR", "\tat "):
        assert word not in said, said
