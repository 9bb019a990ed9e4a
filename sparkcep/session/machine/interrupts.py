"""Ctrl-C cancels what Spark runs for this process, and nothing else.

Python alone would leave Spark's jobs running: a KeyboardInterrupt raised while py4j waits for the JVM breaks their
connection, and the handler that PySpark installs itself needs that very connection to cancel.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import uuid
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING

from sparkcep.spark.plan import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Packages in whose calls a thread waits for Spark, and which must not be left half-way.
_WAITING = ("py4j", "grpc", "pyspark")
#: A statement may start its next job just when one is cancelled.
_AGAIN_SECONDS = 0.3


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed, and Spark's jobs are cancelled."""


@contextlib.contextmanager
def interruptible(spark: SparkSession) -> Iterator[None]:
    """While the block runs, Ctrl-C cancels the Spark jobs that it started and ends it.

    On a classic session it also cancels what other threads have started in this session. A second Ctrl-C does not wait
    for Spark. In other threads than the main one, which no signal reaches, nothing is changed.

    Raises:
        Interrupted: Ctrl-C was pressed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    watch = _Watch(spark)
    if is_remote(spark):
        spark.addTag(watch.tag)
    before = signal.signal(signal.SIGINT, watch.pressed)
    watch.thread.start()
    try:
        yield
    except Exception:
        if not watch.interrupted:
            raise
    finally:
        watch.end()
        signal.signal(signal.SIGINT, before if before is not None else signal.default_int_handler)
        if is_remote(spark):
            spark.removeTag(watch.tag)
    if watch.interrupted:
        raise Interrupted


class _Watch:
    """A thread that cancels a tag's jobs once it is asked to, until the block has ended."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.tag = f"sparkcep-{uuid.uuid4().hex}"
        self.interrupted = False
        self.wake = threading.Event()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, name="sparkcep-interrupts", daemon=True)

    def pressed(self, number: int, frame: FrameType | None) -> None:
        """The signal's handler. Does not raise where a call to Spark would be cut: cancelled, that ends by itself."""
        if self.interrupted or not _waits(frame):
            self.interrupted = True
            raise Interrupted
        self.interrupted = True
        self.wake.set()

    def run(self) -> None:
        self.wake.wait()
        while not self.ended.is_set():
            # What cannot be cancelled any more has ended, or is told by the call that waits for it.
            with contextlib.suppress(Exception):
                self.cancel()
            self.ended.wait(_AGAIN_SECONDS)

    def cancel(self) -> None:
        if is_remote(self.spark):
            self.spark.interruptTag(self.tag)
        else:
            # A classic session's tags belong to the thread that adds them: from here they name nothing (Spark 4.3).
            # PySpark's own handler cancels more: the jobs of all sessions.
            self.spark.interruptAll()

    def end(self) -> None:
        self.ended.set()
        self.wake.set()


def _waits(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] in _WAITING:
            return True
        frame = frame.f_back
    return False
