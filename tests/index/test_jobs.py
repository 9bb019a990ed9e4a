"""What Spark's UI and the log show of an index that is built, and that a tag cancels it."""

from __future__ import annotations

import json
import logging
import threading
import time
from typing import Any

import pytest
from pyspark.sql import SparkSession

from sparkcep import index

from ..conftest import IS_CONNECT
from .helpers import create

LOG = [("a", 1, 0, "A"), ("a", 2, 0, "B")]


@pytest.mark.skipif(IS_CONNECT, reason="a client sees no jobs")
def test_jobs_have_descriptions_and_the_users_own_stay(spark: SparkSession) -> None:
    seen: set[str] = set()
    context = spark.sparkContext
    context.setJobDescription("mine")
    try:
        store = context._jsc.sc().statusStore()
        jobs = store.jobsList(None)  # the newest first, and not all that there have been
        before = jobs.apply(0).jobId() if jobs.size() else -1
        create(spark, "described_ix", LOG)
        jobs = store.jobsList(None)
        for job in (jobs.apply(k) for k in range(jobs.size())):
            if job.jobId() > before:
                text = job.description()
                seen.add(text.get() if text.isDefined() else "")
        assert context.getLocalProperty("spark.job.description") == "mine"
    finally:
        context.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]
        index.drop(spark, "described_ix")
    assert all(text.startswith("mine") for text in seen), seen
    assert "mine: pattern index described_ix: write sequences" in seen


def test_a_tag_cancels_a_build(spark: SparkSession) -> None:
    rows = spark.range(4).selectExpr("'a' AS k", "id AS t", "CAST(id AS STRING) AS e")

    def slowly(batches: Any) -> Any:
        import time

        for batch in batches:
            time.sleep(60)
            yield batch

    slow = rows.mapInArrow(slowly, rows.schema)
    ended = threading.Event()

    def cancel() -> None:
        while not ended.wait(0.5):
            if IS_CONNECT:
                spark.interruptTag("sparkcep-index-tagged_ix")
            else:
                spark.sparkContext.cancelJobsWithTag("sparkcep-index-tagged_ix")

    thread = threading.Thread(target=cancel)
    started = time.monotonic()
    thread.start()
    with pytest.raises(Exception, match=r"(?i)cancel"):
        index.create(spark, "tagged_ix", slow, case="k", time="t", event="e")
    ended.set()
    thread.join()
    assert time.monotonic() - started < 50
    assert "sparkcep-index-tagged_ix" not in (spark.getTags() if IS_CONNECT else spark.sparkContext.getJobTags())


@pytest.mark.full
def test_the_log_is_structured(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    from pyspark.logger.logger import JSONFormatter

    with caplog.at_level(logging.INFO, "sparkcep"):
        create(spark, "logged_ix", LOG)
    record = next(r for r in caplog.records if r.name == "sparkcep")
    line = json.loads(JSONFormatter().format(record))
    assert line["msg"].startswith("pattern index logged_ix: built")
    assert line["context"]["events"] == 2
    index.drop(spark, "logged_ix")
