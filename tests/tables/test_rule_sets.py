"""Pattern tables of rule sets: rules come, go and change; only those that do are matched over everything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from sparkcep import SparkCepError
from sparkcep.session.tables.narrowing import CaseNarrowing
from sparkcep.sql.rule_sets.rule import Rule

from ..conftest import drawn
from .world import WHOLE, World

pytestmark = pytest.mark.full
RULES = {
    "pair": "PATTERN SEQ(A x, B y) MATCHES NON OVERLAPPING WITHIN 9 SECONDS",
    "absent": "PATTERN SEQ(A x, !B n, C y) WITHIN 12 SECONDS",
    "run": "PATTERN SEQ(B x, A+ y[], C z) WITHIN 9 SECONDS RETURN count(y[].i) AS n",
    "clause": "MATCH_RECOGNIZE (MEASURES first(i) AS i PATTERN (X Y+) DEFINE X AS e = 'A', Y AS e <> 'A')",
    "seldom": "-- suppress: 9 SECONDS\nPATTERN SEQ(A x, B y) WITHIN 9 SECONDS",
    "alone": "PATTERN SEQ(A x, C y) WITHIN 9 SECONDS RETURN xxhash64(x.i, y.i) AS h",
    "decided": "PATTERN SEQ(A x, !B n) WITHIN 9 SECONDS OMIT CENSORED MATCHES",
}
OTHERS = {name: text.replace("9 SECONDS", "4 SECONDS").replace("'A'", "'B'") for name, text in RULES.items()}
NEW, GONE = "rules that are new or changed", "rules that are gone"


class Set:
    """A folder of rules, and its pattern table."""

    def __init__(self, world: World, folder: Path, columns: str = "*") -> None:
        self.world, self.folder = world, folder
        folder.mkdir()
        log = f"TABLE({world.log}) PARTITION BY u ORDER BY (ts, i)"
        self.query = f"SELECT {columns} FROM pattern_rules({log}, '{folder}', e, id => i)"

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


def test_matches_that_the_end_of_the_log_decides(rules: Set) -> None:
    rules.write("decided", RULES["decided"])
    rules.create()
    for _ in range(3):
        rules.world.batch(6)
        assert rules.refreshed().reason == "1 file is new; rules that leave out censored matches: decided"
    for name in ("pair", "absent", "clause"):
        (rules.folder / f"{name}.sql").unlink()
    rules.world.batch(6)
    assert WHOLE in rules.refreshed().reason


def test_all_rules_are_new(rules: Set) -> None:
    rules.create()
    for file in rules.folder.iterdir():
        file.unlink()
    rules.write("run", RULES["run"])
    assert WHOLE in rules.refreshed().reason
    rules.world.batch(6)
    assert rules.refreshed().reason == "1 file is new"


def test_ids_are_those_of_the_rule_set(rules: Set, tmp_path: Path) -> None:
    """Also where two matches are alike, and in columns that are called otherwise."""
    spark = rules.world.spark
    listed = Set(rules.world, tmp_path / "listed", "rule, u, match_id, upper(match_id) AS m, match_number AS n")
    listed.query += " WHERE match_id IS NOT NULL"
    for name in ("pair", "absent", "clause"):
        listed.write(name, RULES[name])
    for one in (rules, listed):
        one.create()
        one.world.batch(6)
        one.refreshed()
        ids = [row[0] for row in spark.sql("SELECT match_id FROM alerts").collect()]
        assert sorted(ids) == sorted(row[0] for row in spark.sql(f"SELECT match_id FROM ({rules.query})").collect())
        assert len(set(ids)) == len(ids) > 20
    query = rules.query
    for item in ("md5(rule) AS match_id", "measures.match_id"):
        rules.query = query.replace("*", f"rule, u, {item}")
        with pytest.raises(SparkCepError, match="column match_id of the query has a name that pattern tables use"):
            rules.create()


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


def test_files_of_a_refresh_with_new_rules(rules: Set) -> None:
    """Which cases they held is written down too."""
    rules.world.batch(5)
    rules.create()
    rules.write("run", RULES["run"])
    rules.world.batch(9)
    rules.refreshed()
    sorted(rules.world.folder.glob("*.parquet"))[-1].unlink()
    rules.world.view()
    assert rules.refreshed().cases > 0


def test_a_rule_that_parts_its_own_cases(rules: Set) -> None:
    rules.write("alike", "PATTERN SEQ(A x, B y) WHERE [e_] WITHIN 9 SECONDS".replace("e_", "i"))
    rules.create()
    for _ in range(2):
        rules.world.batch(9)
        assert rules.refreshed().reason == "1 file is new"
    for file in rules.folder.iterdir():
        if file.stem != "alike":
            file.unlink()
    rules.world.batch(9)
    rules.refreshed()


def test_values_around_the_call(rules: Set) -> None:
    spark = rules.world.spark
    spark.conf.set("rs.least", "1")
    rules.query += " WHERE match_number > ${rs.least}"
    rules.create()
    spark.conf.set("rs.least", "0")
    assert WHOLE in rules.refreshed().reason
    spark.conf.unset("rs.least")


def test_values_of_the_session(rules: Set) -> None:
    spark = rules.world.spark
    rules.write("of_schema", "PATTERN SEQ(A x, B y) WITHIN 5 SECONDS RETURN current_schema() AS s")
    rules.create()
    spark.sql("CREATE SCHEMA IF NOT EXISTS rs_other")
    spark.sql("USE rs_other")
    try:
        assert WHOLE in rules.refreshed().reason
    finally:
        spark.sql("USE default")
        spark.sql("DROP SCHEMA rs_other")
    rules.write("of_schema", "PATTERN SEQ(A x, B y) WHERE y.ts < TIMESTAMP'now' WITHIN 5 SECONDS")
    with pytest.raises(SparkCepError, match=r"CEP_PATTERN_TABLE_QUERY.*of_schema cannot be kept: now gives"):
        spark.sql("REFRESH PATTERN TABLE alerts")


def test_rules_are_read_once(rules: Set, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder may have others a moment later."""
    rules.create()
    rules.write("run", RULES["run"])
    read = CaseNarrowing.rules

    def then_gone(self: CaseNarrowing, found: Sequence[Rule]) -> list[Rule]:
        (rules.folder / "run.sql").unlink(missing_ok=True)
        return read(self, found)

    with monkeypatch.context() as patched:
        patched.setattr(CaseNarrowing, "rules", then_gone)
        done = rules.world.spark.sql("REFRESH PATTERN TABLE alerts").collect()[0]
    assert done.reason.endswith(f"{NEW}: run") and done.inserted
    rules.write("run", RULES["run"])
    assert rules.refreshed().action == "unchanged"


def test_logs_and_rules_that_are_queries(rules: Set) -> None:
    """A column may be called as a function is that needs no parentheses."""
    texts = [("a", "PATTERN SEQ(A x, B y) WHERE x.user = y.user"), ("b", RULES["clause"])]
    rules.world.spark.createDataFrame(texts, "name string, rule string").createOrReplaceTempView("rs_rules")
    log = "TABLE(SELECT *, u AS user FROM rs_log WHERE i % 7 <> 0) PARTITION BY u ORDER BY (ts, i)"
    rules.query = f"SELECT * FROM pattern_rules({log}, TABLE(SELECT * FROM rs_rules WHERE name <> 'c'), e)"
    rules.create()
    rules.world.batch(9)
    assert rules.refreshed().reason == "1 file is new"


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
