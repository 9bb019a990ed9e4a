"""A month of a real log, day by day, with events that come late and files that are corrected."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from ..conftest import IS_CONNECT
from ..spark.real_logs import DATA
from .world import QUERIES, World

LOG = DATA / "bpi_2012.parquet"
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(IS_CONNECT, reason="Connect matches views as a whole"),
    pytest.mark.skipif(not LOG.exists(), reason="the real logs are not there"),
]
HEAD = "FROM bpi PARTITION BY case_id ORDER BY ts, pos EVENT TYPE activity PATTERN "
OWN = {
    "approved": HEAD + "SEQ(A_SUBMITTED s, A_ACCEPTED a, A_APPROVED p) MATCHES NON OVERLAPPING",
    "not_accepted": HEAD + "SEQ(A_SUBMITTED s, !(A_ACCEPTED|A_DECLINED) a) WITHIN 7 DAYS OMIT CENSORED MATCHES",
    "calls": HEAD + "SEQ(O_SENT s, 'W_Nabellen offertes'+ w[], O_SENT_BACK b) RETURN case_id, count(w[].pos) AS calls",
    "rows": "SELECT case_id, activity, n FROM bpi MATCH_RECOGNIZE (PARTITION BY case_id ORDER BY ts, pos MEASURES "
    "match_number() AS n ALL ROWS PER MATCH PATTERN (O X* A) DEFINE O AS activity LIKE 'O_%', "
    "X AS activity LIKE 'W_%', A AS activity LIKE 'A_%')",
}
FIRST, DAYS = datetime(2012, 2, 1), 29


@pytest.fixture
def arrivals(tmp_path: Path) -> Iterator[tuple[Path, list[pa.Table]]]:
    """The folder of the log, and what comes each day: a twentieth of the events up to five days late."""
    log = pq.read_table(LOG, columns=["case_id", "pos", "activity", "ts"])
    random = Random(7)
    late = pa.array([timedelta(days=random.randrange(1, 6) if random.random() < 0.05 else 0) for _ in range(len(log))])
    arrives = pc.add(log["ts"].cast(pa.timestamp("us")), late.cast(pa.duration("us")))
    (tmp_path / "log").mkdir()
    days = [FIRST + timedelta(days=d) for d in range(DAYS + 1)]
    pq.write_table(log.filter(pc.less(arrives, pa.scalar(FIRST))), tmp_path / "log" / "00.parquet")
    yield (
        tmp_path / "log",
        [
            log.filter(pc.and_(pc.greater_equal(arrives, pa.scalar(a)), pc.less(arrives, pa.scalar(b))))
            for a, b in pairwise(days)
        ],
    )


def test_each_day(spark: SparkSession, arrivals: tuple[Path, list[pa.Table]], monkeypatch: pytest.MonkeyPatch) -> None:
    folder, days = arrivals
    monkeypatch.setattr("tests.tables.world.QUERIES", QUERIES | OWN)
    world = World(spark, folder, Random(1), "bpi")
    spark.read.parquet(str(folder)).createOrReplaceTempView("bpi")
    for name in OWN:
        world.create(name, f"bpi_{name}")
    changed = 0
    for number, rows in enumerate(days, 1):
        file = folder / f"{number:02d}.parquet"
        pq.write_table(rows, file)
        if number % 10 == 0:  # a file is corrected
            told = pq.read_table(folder / f"{number - 3:02d}.parquet")
            pq.write_table(told.slice(1), folder / f"{number - 3:02d}.parquet")
        spark.read.parquet(str(folder)).createOrReplaceTempView("bpi")
        for name in OWN:
            done = spark.sql(f"REFRESH PATTERN TABLE bpi_{name}").collect()[0]
            changed += done.inserted + done.withdrawn
            assert (done.cases is None) == (number % 10 == 0)
            if number % 3 == 0 or number % 10 == 0:
                assert world.difference(name, f"bpi_{name}") == "", number
    assert changed > 1000
