"""Rule sets through an index: the same rows, cases of all rules looked up together."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from sparkcep import index
from sparkcep.errors import PatternWarning

from ..conftest import configured, every
from ..spark.rule_texts import COLUMNS, random_log, random_rule
from ..spark.test_rule_sets import CALL, set_rows, with_rules

EVENTS, CASES = "spark.sparkcep.planner.index.events", "spark.sparkcep.planner.index.cases"
ENABLED = "spark.sparkcep.planner.index.enabled"


def with_indexed_log(spark: SparkSession, rows: list[tuple[object, ...]], folder: Path, **more: object) -> None:
    """The view rules_log over files that the index rules_index is on."""
    path = str(folder / "log")
    frame = spark.createDataFrame(rows, COLUMNS.replace("decimal(6, 2)", "string"))
    frame.withColumn("d", frame["d"].cast("decimal(6, 2)")).coalesce(1).write.parquet(path)
    spark.read.parquet(path).createOrReplaceTempView("rules_log")
    index.drop(spark, "rules_index", if_exists=True)
    columns = {"case": "u", "time": "t", "event": "type", "include": ["x", "y", "d", "s"]}
    index.create(spark, "rules_index", f"parquet.`{path}`", **columns, **more)  # type: ignore[arg-type]


def plan_of(spark: SparkSession) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PatternWarning)
        return str(spark.sql(f"EXPLAIN SELECT * FROM pattern_rules{CALL}").collect()[0][0])


def check_index(spark: SparkSession, seed: int, rules_of_set: int, folder: Path) -> bool:
    """A random set over a random log with and without an index; whether it was read through that."""
    random = Random(seed)
    rules = {f"r{n}": random_rule(random) for n in range(rules_of_set)}
    # A type that few cases have, or none, so that something is left out.
    rules = {
        n: re.sub(r"\b([ABCD])( v\d)", r"E\2", r, count=1) if random.random() < 0.7 else r for n, r in rules.items()
    }
    rows = random_log(random, 60)
    rows = [(*r[:2], "E" if random.random() < 0.04 else r[2], *r[3:]) for r in rows]
    ties = random.random() < 0.5  # else times tell the events of a case apart, and order counts
    if not ties:
        rows = list({(r[0], r[1]): r for r in rows}.values())
    more = {"options": {"lookback": str(random.randint(0, 4))}} if random.random() < 0.3 else {}
    with_indexed_log(spark, rows, folder, **more)
    with_rules(spark, rules)
    read = {EVENTS: random.choice(("auto", "source", "sequences")), CASES: random.choice(("auto", "lists", "scan"))}
    with configured(spark, read):
        served = "  Index: rules_index (" in plan_of(spark)
        found = set_rows(spark)
    with configured(spark, {ENABLED: "false"}):
        expected = set_rows(spark)
    assert found == expected, (seed, rules, found - expected, expected - found)
    return served


@pytest.mark.parametrize("seed", every(2, [4, 5]))
def test_equal_without(spark: SparkSession, seed: int, tmp_path: Path) -> None:
    check_index(spark, seed, 5, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("first", range(2000, 2200, 10))
def test_equal_without_at_length(spark: SparkSession, first: int, tmp_path: Path) -> None:
    served = [check_index(spark, seed, seed % 6 + 1, tmp_path / str(seed)) for seed in range(first, first + 10)]
    assert any(served)


def test_what_explain_says(spark: SparkSession, tmp_path: Path) -> None:
    rows: list[tuple[object, ...]] = [
        (u, t, type_, 1, 1.0, "1.00", "p") for u in range(40) for t, type_ in enumerate("AB" if u % 10 else "BACD")
    ]
    with_indexed_log(spark, rows, tmp_path)
    rules = {"ac": "PATTERN SEQ(A a, C c)", "cd": "PATTERN SEQ(C c, D d) WHERE d.x >= c.x", "xy": "PATTERN SEQ(X x)"}
    with_rules(spark, rules)
    with configured(spark, {EVENTS: "source", CASES: "lists"}):
        plan = plan_of(spark)
        assert "Index: rules_index (siesta), snapshot" in plan
        assert "needed: A -> C" in plan
        assert "or: C -> D" in plan
        assert "cases that hold X (no event of this type is indexed): 0 of 40" in plan
        assert "cases: 4 of 40" in plan
        assert len(set_rows(spark)) == 8
        every = "MATCH_RECOGNIZE (MEASURES A.x AS x PATTERN (A B) DEFINE A AS x = 1)"
        with_rules(spark, rules | {"every": every})
        assert (
            "Index: rules_index not used, the rules are read together, and rule every needs all cases: "
            "no condition on type alone holds for a mandatory component" in plan_of(spark)
        )


def test_many_rules_are_not_each_tested_on_all_events(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[tuple[object, ...]] = [
        (u, t, type_, 1, 1.0, "1.00", "p") for u in range(9) for t, type_ in enumerate("ABCD"[u % 3 :])
    ]
    with_indexed_log(spark, rows, tmp_path)
    monkeypatch.setattr("sparkcep.index.access.SCANNED_EVENTS", 2 * len(rows))
    # As on Spark Connect, or with columns that only Spark reads.
    monkeypatch.setattr("sparkcep.index.access.can_be_read_here", lambda *_: False)
    scanned = "picked by a scan of sequences"
    rules = {"ab": "PATTERN SEQ(A a, B b)", "bc": "PATTERN SEQ(B b, C c)"}
    with configured(spark, {EVENTS: "sequences"}):
        with_rules(spark, rules)
        assert scanned in plan_of(spark)
        with_rules(spark, rules | {"cd": "PATTERN SEQ(C c, D d)"})
        assert scanned not in plan_of(spark)
        assert len(set_rows(spark)) == 3 + 6 + 9
