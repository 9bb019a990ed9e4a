"""Sessions and threads side by side, cancelled queries, and state that must not grow."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.session import plan_cache as kept

from ..conftest import IS_CONNECT
from ..processes import PROC, own_processes

EVENTS = "SELECT id % 5 AS k, id AS o, CASE WHEN id % 3 = {hit} THEN 'a' ELSE 'b' END AS e FROM range(30)"
BLOCK = (
    "FROM s_events PARTITION BY k ORDER BY o EVENT TYPE e PATTERN SEQ(a x, b y) MATCHES FIRST RETURN x.o AS x, y.o AS y"
)
CLAUSE = """SELECT * FROM s_events MATCH_RECOGNIZE (PARTITION BY k ORDER BY o MEASURES A.o AS x, B.o AS y
    PATTERN (A B) DEFINE A AS e = 'a', B AS e = 'b' AND B.o > A.o)"""

#: Its plan needs none of Spark's help, no sample either, so that it is kept.
KEPT = "FROM s_events PARTITION BY k ORDER BY o EVENT TYPE e PATTERN SEQ(a x, b+ y[]) MATCHES FIRST RETURN k AS x"


def answer(spark: SparkSession, text: str) -> list[tuple[object, ...]]:
    return sorted(tuple(r) for r in spark.sql(text).collect())


@contextmanager
def threads(*targets: object) -> Iterator[list[BaseException]]:
    """Run functions at once; what they raise is collected."""
    failed: list[BaseException] = []

    def guarded(target: object) -> None:
        try:
            target()  # type: ignore[operator]
        except BaseException as error:
            failed.append(error)

    started = [threading.Thread(target=guarded, args=(t,)) for t in targets]
    for thread in started:
        thread.start()
    yield failed
    for thread in started:
        thread.join(120)
        assert not thread.is_alive()


def seconds_of_workers(over: float) -> float:
    """Processor seconds that Python processes below this one take in a time, on Linux; 0 elsewhere."""

    def used() -> dict[int, float]:
        # The JVM's command line has the word as well.
        return {
            n: p.seconds for n, p in own_processes().items()
            if n != os.getpid() and "pyspark" in p.command.partition("java")[0]
        }  # fmt: skip

    first = used()
    time.sleep(over)
    return sum(seconds - first.get(number, 0) for number, seconds in used().items() if number in first)


@pytest.mark.full
def test_sessions_have_their_own_views_and_settings(spark: SparkSession) -> None:
    sessions = [spark.newSession() for _ in range(3)]
    expected = []
    for hit, session in enumerate(sessions):
        session.sql(EVENTS.format(hit=hit)).createOrReplaceTempView("s_events")
        session.conf.set("spark.sparkcep.exec.layout", ("lists", "rows", "auto")[hit])
        expected.append(answer(session, BLOCK))
    assert len({tuple(map(tuple, e)) for e in expected}) == 3

    def work(number: int) -> None:
        for _ in range(2):
            assert answer(sessions[number], BLOCK) == expected[number]
            assert answer(sessions[number], CLAUSE)

    with threads(*[lambda n=n: work(n) for n in range(3)]) as failed:
        pass
    assert failed == []


def test_enable_and_disable_while_queries_run(spark: SparkSession) -> None:
    spark.sql(EVENTS.format(hit=0)).createOrReplaceTempView("s_events")
    expected = answer(spark, BLOCK)
    done = threading.Event()

    def toggle() -> None:
        while not done.is_set():
            sparkcep.disable()
            sparkcep.enable()

    def work() -> None:
        try:
            for _ in range(3):
                assert sorted(tuple(r) for r in sparkcep.sql(spark, BLOCK).collect()) == expected
        finally:
            done.set()

    with threads(toggle, work, work) as failed:
        pass
    sparkcep.enable()
    assert failed == []
    assert answer(spark, BLOCK) == expected


@pytest.mark.full
@pytest.mark.usefixtures("compiler")
def test_nothing_is_left_behind(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand, for 10,000 statements: benchmarks/many_statements.py."""
    monkeypatch.setattr(kept, "MAX", 10)
    kept.PLANS.clear()
    kept.SAMPLES.clear()
    spark.sql(EVENTS.format(hit=0)).createOrReplaceTempView("s_events")
    before = {t.name for t in spark.catalog.listTables()}
    for number in range(25):
        spark.sql(f"{CLAUSE} WHERE x > {number}").schema  # noqa: B018
        spark.sql(f"SELECT x + {number} FROM ({KEPT})").schema  # noqa: B018
        with pytest.raises(sparkcep.SparkCepError):
            spark.sql(f"FROM s_events PATTERN SEQ(a x, b y) WHERE x.nope > {number}")
    assert {t.name for t in spark.catalog.listTables()} == before
    assert 0 < len(kept.PLANS) <= 10
    assert len(kept.SAMPLES) <= 10


@pytest.mark.full
@pytest.mark.skipif(IS_CONNECT, reason="job groups belong to the classic session; Connect has spark.interruptAll")
def test_a_cancelled_query_stops_in_python(spark: SparkSession) -> None:
    context = spark.sparkContext
    # 2^30 and more runs: the kernel is at work until it is told to stop.
    spark.sql("SELECT 1 AS k, id AS o, 'a' AS e FROM range(60)").createOrReplaceTempView("s_endless")
    spark.conf.set("spark.sparkcep.limit.steps", str(10**15))
    spark.conf.set("spark.sparkcep.limit.matches", str(10**15))

    def endless() -> None:
        context.setJobGroup("endless", "a pattern without end", interruptOnCancel=True)
        spark.sql("""FROM s_endless PARTITION BY k ORDER BY o EVENT TYPE e PATTERN SEQ(a+ x[], a y, a z)
            WHERE sum(x[].o) = 10000000 EVENT SELECTION SKIP TILL ANY MATCH RETURN count(x[].o) AS n""").collect()

    try:
        with threads(endless) as failed:
            busy, until = 0, time.monotonic() + 60
            while busy < 4 and not failed and time.monotonic() < until:
                busy += seconds_of_workers(over=1) > 0.2 or not PROC.exists()
            assert busy == 4
            assert failed == []
            began = time.monotonic()
            context.cancelJobGroup("endless")
        assert len(failed) == 1
        assert "cancel" in str(failed[0]).lower()
        # Spark kills a worker seconds after its task, later on a busy machine; one that goes on never stands still.
        while seconds_of_workers(over=2) > 0.1:
            assert time.monotonic() - began < 30
        # The worker's place is free again.
        assert answer(spark, "SELECT count(*) FROM range(10)") == [(10,)]
        assert context.statusTracker().getActiveStageIds() == []
    finally:
        spark.conf.unset("spark.sparkcep.limit.steps")
        spark.conf.unset("spark.sparkcep.limit.matches")
