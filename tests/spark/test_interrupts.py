"""Ctrl-C cancels what Spark runs, within seconds, and what follows runs as if nothing had been."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sparkcep.cli.notebook import run_cell
from sparkcep.cli.shell import Shell
from sparkcep.session.machine.interrupts import Interrupted, interruptible

#: Hours of work in tasks that look up now and then.
LONG = "SELECT count(*) AS n FROM range(1000000000000) WHERE id % 7 = id % 11 + 8"
MAX_SECONDS = 30  # where six processes share two cores; alone it is less than one


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
    assert time.monotonic() - started < 3 + MAX_SECONDS
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
        time.sleep(MAX_SECONDS)
    assert time.monotonic() - started < MAX_SECONDS


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
