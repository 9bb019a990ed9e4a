"""Pattern tables of rule sets: rules come, go and change; only those that do are matched over everything."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from sparkcep import SparkCepError

from ..conftest import IS_CONNECT, drawn
from .world import WHOLE, World

pytestmark = [pytest.mark.full, pytest.mark.skipif(IS_CONNECT, reason="Connect matches everything again")]
RULES = {
    "pair": "PATTERN SEQ(A x, B y) MATCHES NON OVERLAPPING WITHIN 9 SECONDS",
    "absent": "PATTERN SEQ(A x, !B n, C y) WITHIN 12 SECONDS",
    "run": "PATTERN SEQ(B x, A+ y[], C z) WITHIN 9 SECONDS RETURN count(y[].i) AS n",
    "clause": "MATCH_RECOGNIZE (MEASURES first(i) AS i PATTERN (X Y+) DEFINE X AS e = 'A', Y AS e <> 'A')",
    "seldom": "-- suppress: 9 SECONDS\nPATTERN SEQ(A x, B y) WITHIN 9 SECONDS",
    "alone": "PATTERN SEQ(A x, C y) WITHIN 9 SECONDS RETURN xxhash64(x.i, y.i) AS h",
}
OTHERS = {name: text.replace("9 SECONDS", "4 SECONDS").replace("'A'", "'B'") for name, text in RULES.items()}
NEW, GONE = "rules that are new or changed", "rules that are gone"


class Set:
    """A folder of rules, and its pattern table."""

    def __init__(self, world: World, folder: Path, columns: str = "*") -> None:
        self.world, self.folder = world, folder
        folder.mkdir()
        self.query = (
            f"SELECT {columns} FROM pattern_rules(TABLE({world.log}) PARTITION BY u ORDER BY (ts, i), '{folder}', e)"
        )

    def write(self, name: str, text: str) -> None:
        (self.folder / f"{name}.sql").write_text(text)

    def create(self) -> None:
        self.world.spark.sql("DROP PATTERN TABLE IF EXISTS alerts")
        self.world.spark.sql(f"CREATE PATTERN TABLE alerts AS {self.query}")

    def refreshed(self) -> Any:
        """What a refresh did, whose rows are compared with a full run."""
        spark = self.world.spark
        done = spark.sql("REFRESH PATTERN TABLE alerts").collect()[0]
        whole = spark.sql(self.query)
        kept = spark.sql("SELECT * FROM alerts").select(*whole.columns)
        assert sorted(map(str, kept.collect())) == sorted(map(str, whole.collect())), done
        changes = [row[0] for row in spark.sql("SELECT change FROM pattern_table_changes('alerts')").collect()]
        assert changes.count("insert") - changes.count("withdraw") == done.rows
        return done


@pytest.fixture
def rules(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Set:
    world = World(spark, tmp_path / "log", Random(getattr(request, "param", 0)), log="rs_log")
    world.begin(60)
    found = Set(world, tmp_path / "rules")
    for name in ("pair", "absent", "clause"):
        found.write(name, RULES[name])
    return found


def test_only_cases_and_rules_that_changed(rules: Set) -> None:
    rules.create()
    assert rules.refreshed().action == "unchanged"
    rules.world.batch(6)
    done = rules.refreshed()
    assert done.reason == "1 file is new" and 0 < done.cases < 7
    rules.write("run", RULES["run"])
    done = rules.refreshed()
    assert (done.reason, done.cases, done.withdrawn) == (
        f"no file of the source is new; {NEW}: run",
        0,
        0,
    )
    assert done.inserted
    rules.write("pair", OTHERS["pair"])
    (rules.folder / "absent.sql").unlink()
    rules.world.batch(6)
    done = rules.refreshed()
    assert done.reason == f"1 file is new; {NEW}: pair; {GONE}: absent" and 0 < done.cases < 7
    (rules.folder / "run.sql").unlink()
    done = rules.refreshed()
    assert (done.reason, done.inserted) == (f"no file of the source is new; {GONE}: run", 0)
    assert done.withdrawn


def test_all_rules_are_new(rules: Set) -> None:
    rules.create()
    for file in rules.folder.iterdir():
        file.unlink()
    rules.write("run", RULES["run"])
    assert WHOLE in rules.refreshed().reason
    rules.world.batch(6)
    assert rules.refreshed().reason == "1 file is new"


def test_rows_that_do_not_tell_their_rule(rules: Set, tmp_path: Path) -> None:
    """Two rules find the same rows."""
    other = Set(rules.world, tmp_path / "twins", "start_time, 1 AS one")
    for name in ("a", "b", "c"):
        other.write(name, RULES["pair"])
    other.create()
    other.world.batch(9)
    other.refreshed()
    other.write("b", OTHERS["pair"])
    other.refreshed()
    (other.folder / "a.sql").unlink()
    other.world.batch(9)
    other.refreshed()


def test_what_rules_do_not_show(rules: Set) -> None:
    spark = rules.world.spark
    spark.sql("DECLARE OR REPLACE VARIABLE rs_least INT DEFAULT 1")
    rules.create()
    rules.write("variable", "PATTERN SEQ(A x, B y) WHERE y.i > rs_least WITHIN 5 SECONDS")
    assert rules.refreshed().reason.endswith(f"{NEW}: variable")
    spark.sql("SET VAR rs_least = 40")
    assert WHOLE in rules.refreshed().reason
    rules.write("variable", "PATTERN SEQ(A x, B y) WHERE now() > x.ts WITHIN 5 SECONDS")
    with pytest.raises(SparkCepError, match=r"CEP_PATTERN_TABLE_QUERY.*rule variable cannot be kept: now gives"):
        spark.sql("REFRESH PATTERN TABLE alerts")


def test_a_rule_that_is_refused(rules: Set) -> None:
    rules.create()
    rules.write("wrong", "PATTERN SEQ(A x, B y) WHERE x.none > 1")
    assert rules.refreshed().reason.endswith(f"{NEW}: wrong")
    rules.world.batch(9)
    assert rules.refreshed().reason == "1 file is new"


@pytest.mark.long
@pytest.mark.parametrize("rules", drawn(range(200, 220)), indirect=True)
def test_equals_full_runs(rules: Set) -> None:
    """Random batches, while rules come, go and change at random."""
    random = rules.world.random
    rules.create()
    for _ in range(8):
        if random.random() < 0.6:
            rules.world.batch()
        for name in random.sample(sorted(RULES), random.randrange(3)):
            file = rules.folder / f"{name}.sql"
            if file.exists() and random.random() < 0.4:
                file.unlink()
            else:
                rules.write(name, random.choice([RULES, OTHERS])[name])
        if any(rules.folder.iterdir()):
            rules.refreshed()
