"""A Python worker dies in the middle of a query: Spark's error, with a note that names the setting to change."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.errors import error_behind
from sparkcep.session.machine import lost_executors
from sparkcep.spark.plan import is_remote

from ..processes import PROC, workers

#: 2^60 matches of each case, none of which is emitted: a long time to look for.
LONG = """SELECT count(*) FROM (FROM lost_log PARTITION BY k ORDER BY t EVENT TYPE e PATTERN SEQ(A+ a[], B b)
  WHERE a[i].v >= a[i-1].v AND b.v > sum(a[..i].v) EVENT SELECTION SKIP TILL ANY MATCH RETURN k)"""


@pytest.fixture(autouse=True)
def log(spark: SparkSession) -> Iterator[None]:
    rows = "SELECT k, t, IF(t < 60, 'A', 'B') AS e, 1 AS v FROM range(61) r(t), range(2) s(k)"
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW lost_log AS {rows}")
    planned = set(lost_executors._planned)
    lost_executors._planned.clear()
    yield
    lost_executors._planned.update(planned)
    for key in ("exec.layout", "limit.steps"):
        spark.conf.unset(f"spark.sparkcep.{key}")


def killed_while(spark: SparkSession, text: str) -> BaseException:
    """What a statement raises of which a worker that has worked for a second is killed."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            spark.sql(text).collect()
        except Exception as error:
            raised.append(error)

    before = {number: process.seconds for number, process in workers().items()}
    thread = threading.Thread(target=run)
    thread.start()
    end = time.monotonic() + 120
    try:
        while thread.is_alive() and time.monotonic() < end:
            for number, process in workers().items():
                if process.seconds - before.get(number, 0) > 1:
                    with suppress(ProcessLookupError):  # has ended
                        os.kill(number, signal.SIGKILL)
            time.sleep(0.2)
    finally:
        thread.join(60)
    assert raised, "nothing was raised"
    return raised[0]


@pytest.mark.skipif(not PROC.is_dir(), reason="workers are found by /proc")
@pytest.mark.parametrize(
    ("layout", "named"),
    [
        ("lists", ("spark.sparkcep.exec.layout = rows", "spark.sparkcep.exec.listBytes")),
        pytest.param(
            "rows", ("spark.executor.memoryOverhead", "spark.sparkcep.exec.taskMemory"), marks=pytest.mark.long
        ),
    ],
)
def test_the_error_names_the_setting(spark: SparkSession, layout: str, named: tuple[str, ...]) -> None:
    spark.conf.set("spark.sparkcep.exec.layout", layout)
    spark.conf.set("spark.sparkcep.limit.steps", str(10**15))
    error = killed_while(spark, LONG)
    (note,) = error.__notes__
    assert note.startswith("[CEP_EXECUTOR_LOST] ")
    assert all(name in note for name in named)
    own = error_behind(error)
    assert own is not None and own.error_class == "CEP_EXECUTOR_LOST"


def test_other_errors_have_no_note(spark: SparkSession) -> None:
    spark.sql(
        "SELECT * FROM lost_log MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES 1 AS x PATTERN (A))"
    ).collect()
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO") as raised:
        spark.sql("SELECT 1 / 0").collect()
    assert not getattr(raised.value, "__notes__", ())
    assert lost_executors.loss("Python worker exited unexpectedly (crashed)") is not None


def test_without_pattern_queries_nothing_is_said() -> None:
    assert lost_executors.loss("Python worker exited unexpectedly (crashed)") is None


def test_disable_takes_the_patch_back(spark: SparkSession) -> None:
    if is_remote(spark):
        from pyspark.sql.connect.client import core as module

        name = "convert_exception"
    else:
        from py4j import java_gateway as module

        name = "get_return_value"
    lost_executors.remember("lists")
    assert getattr(module, name).__module__ == "sparkcep.spark.error_notes"
    patched = getattr(module, name)
    lost_executors.remember("rows")
    assert getattr(module, name) is patched
    sparkcep.disable()
    try:
        assert getattr(module, name) is not patched
    finally:
        sparkcep.enable()
