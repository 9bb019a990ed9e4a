"""Whether reading through an index pays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from sparkcep import index
from sparkcep.index.costs import SMALL, Work
from sparkcep.settings import INDEX_ACCESS_PATH, INDEX_CASES

from ..conftest import configured

EVENTS, CASES, TYPES = 300_000, 3_000, 40


@pytest.mark.parametrize(
    ("work", "access_path", "share", "expected"),
    [
        # 10 million events of 150 types: two types in a fifth of the cases, ten types in few
        (Work(10_000_000, 100_000_000, 2 / 150, 2), "sequences", 0.22, False),
        (Work(10_000_000, 100_000_000, 10 / 150, 2), "sequences", 0.001, False),
        (Work(10_000_000, 100_000_000, 2 / 150, 2, ["activities"]), "activities", 0.22, False),
        (Work(10_000_000, 100_000_000, 2 / 150, 2), "source", 0.9, True),
        # all events of all cases
        (Work(10_000_000, 100_000_000, 1.0, 2), "source", 0.1, False),
        (Work(10_000_000, 100_000_000, 1.0, 2), "source", 1.0, False),  # as slow as without it
        # a million: what goes by whatever the size is seen
        (Work(1_000_000, 10_000_000, 2 / 150, 2), "sequences", 0.22, True),
        (Work(1_000_000, 10_000_000, 2 / 150, 2), "activities", 0.22, True),
        (Work(1_000_000, 10_000_000, 2 / 150, 2, ["activities", "sequences"]), "activities", 0.22, False),
        (Work(1_000_000, 10_000_000, 2 / 150, 2, ["activities", "sequences"]), "sequences", 0.22, False),
        # most cases of a log of few types, of which the driver would hand all to Spark
        (Work(1_000_000, 10_000_000, 0.9, 2, ["sequences"]), "sequences", 0.5, False),
        (Work(1_000_000, 10_000_000, 0.9, 2, ["sequences"]), "sequences", 1.0, True),
        # rows as text take longer to read
        (Work(1_000_000, 100_000_000, 2 / 150, 2), "sequences", 0.22, False),
        # many cores share what has to be read
        (Work(10_000_000, 100_000_000, 10 / 150, 64), "sequences", 0.001, True),
        (Work(SMALL, 2_000_000, 2 / 150, 2), "sequences", 1.0, False),
        (Work(SMALL, 2_000_000, 2 / 150, 2), "source", 1.0, True),
    ],
)
def test_loses(work: Work, access_path: str, share: float, expected: bool) -> None:
    assert work.loses(access_path, share) == expected


def test_more_cases_never_take_less() -> None:
    work = Work(5_000_000, 50_000_000, 0.1, 4)
    for path in ("activities", "sequences", "source"):
        found = [work.through(path, share) for share in (0.0, 0.1, 0.5, 1.0)]
        assert found == sorted(found)


def test_quickest() -> None:
    """By work, not by bytes; how many cases can match is asked only where it decides."""
    paths = ("source", "sequences", "activities")
    never = pytest.fail
    assert Work(1_000_000, 10_000_000, 0.1, 2, paths).quickest(paths, never) == "activities"
    assert Work(1_000_000, 1_000_000, 0.1, 2, ["sequences"]).quickest(paths, never) == "sequences"
    assert Work(10_000_000, 10_000_000, 1.0, 2).quickest(paths[:2], lambda: 0.01) == "sequences"
    assert Work(10_000_000, 10_000_000, 1.0, 2).quickest(paths[:2], lambda: 0.9) == "source"


@pytest.mark.full
def test_an_index_that_would_lose_is_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    """Pairs of types that nearly all cases hold, with a column that only `sequences` has, and only the source."""
    rng = np.random.default_rng(3)
    types = np.array([f"t{n:02d}" for n in range(TYPES)])[rng.integers(0, TYPES, EVENTS)]
    log = {
        "k": np.arange(EVENTS) * CASES // EVENTS, "t": np.arange(EVENTS), "e": pa.array(types),
        "v": rng.integers(0, 9, EVENTS), "w": rng.integers(0, 9, EVENTS),
    }  # fmt: skip
    (tmp_path / "log").mkdir()
    pq.write_table(pa.table(log), tmp_path / "log" / "part.parquet")
    spark.read.parquet(str(tmp_path / "log")).createOrReplaceTempView("costs_log")
    with configured(spark, {"spark.sparkcep.index.path": str(tmp_path / "index")}):
        index.create(spark, "costs", f"parquet.`{tmp_path}/log`", case="k", time="t", event="e", include=["v"])
        block = (
            "FROM costs_log PARTITION BY k ORDER BY t EVENT TYPE e PATTERN SEQ(t01 a, t02 b) MATCHES FIRST RETURN k, "
        )

        def plan(items: str, **settings: str) -> str:
            with configured(spark, settings):
                return str(spark.sql(f"EXPLAIN {block}{items}").collect()[0][0])

        said = plan("a.w")
        assert "Index: costs not used, by estimate it would take" in said
        assert "with events from source" in said
        assert "events from source" in plan("a.w", **{INDEX_ACCESS_PATH.key: "source", INDEX_CASES.key: "lists"})
        assert "events from sequences" in plan("a.v")
        said = plan("a.t")
        assert "events from activities" in said
        assert " cores: " in said
        assert ", without the index " in said
