"""The rule sets of sql_examples/rules over real logs, and one over a log that its file makes, with the results that the
files show."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from sparkcep.cli.main import main
from sparkcep.cli.rule_tests import LogShape, read_tests, run_tests
from sparkcep.cli.rules import read_columns
from sparkcep.data.examples import folder, read_example
from sparkcep.sql.rule_sets.files import folder_rules
from sparkcep.sql.script import split_statements

from ..conftest import IS_CONNECT
from .real_logs import DATA, as_views, over, shown

LOGS = ("road_traffic_fines", "loghub_2k_samples", "stock_minute_bars")
RULES = folder("rules")
#: Makes its log itself; the others read real ones.
CATALOGUE = RULES / "4_catalogue.sql"
EXAMPLES = sorted(set(RULES.glob("*.sql")) - {CATALOGUE})
#: The log of the catalogue, which is like the Elastic Common Schema.
ECS = """id STRING, time TIMESTAMP, event STRUCT<category: STRING, action: STRING, outcome: STRING>,
  host STRUCT<name: STRING>, user STRUCT<name: STRING>, process STRUCT<name: STRING, executable: STRING,
  args: ARRAY<STRING>, entity_id: STRING, parent: STRUCT<name: STRING, entity_id: STRING>>,
  file STRUCT<path: STRING, extension: STRING>, source STRUCT<ip: STRING>,
  destination STRUCT<ip: STRING, port: INT, domain: STRING>, bytes BIGINT"""

with_logs = over(LOGS)


@pytest.fixture(scope="module")
def logs(spark: SparkSession) -> Iterator[SparkSession]:
    yield from as_views(spark, LOGS)


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("fines", "case_id, pos INT, activity, ts TIMESTAMP, amount DOUBLE, paymentamount DOUBLE, expense DOUBLE"),
        ("access", "address, user, pos INT, ts TIMESTAMP, action"),
        ("trading", "symbol, ts TIMESTAMP, open, high, low, close, volume, type"),
        ("catalogue", ECS),
    ],
)
def test_all_bind(name: str, columns: str) -> None:
    event_type = {"fines": "activity", "access": "action", "trading": "type", "catalogue": "event.category"}[name]
    assert main(["rules", "check", str(RULES / name), "--columns", columns, "--event-type", event_type]) == 0


def test_there_are_sixty() -> None:
    """Thirty over real logs, and thirty in the catalogue, each with its tests."""
    found = list(RULES.glob("*/*.sql"))
    catalogue = [rule for rule in found if rule.parent.name == "catalogue"]
    assert (len(found), len(catalogue)) == (60, 30)
    assert all(rule.with_suffix(".test.json").is_file() for rule in catalogue)


@pytest.mark.parametrize("path", [pytest.param(p, id=p.stem, marks=with_logs) for p in EXAMPLES])
def test_results(logs: SparkSession, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(RULES.parents[1])
    example = read_example(path)
    for statement in example.setup:
        logs.sql(statement)
    assert shown(logs.sql(example.sql)) == example.expected


@pytest.mark.full
@pytest.mark.skipif(IS_CONNECT, reason="engines know no session")
def test_catalogue(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its queries has its result behind it."""
    monkeypatch.chdir(RULES.parents[1])
    body, *rest = CATALOGUE.read_text().split("-- Result:\n")
    for following in rest:
        *setup, query = split_statements(body)
        for statement in setup:
            spark.sql(statement)
        expected, _, body = following.partition("\n\n")
        assert shown(spark.sql(query)) == tuple(line.removeprefix("-- ") for line in expected.splitlines())
    call = """(TABLE(log) PARTITION BY host.name ORDER BY (time, id),
      rules => 'sql_examples/rules/catalogue', event_type => event.category)"""
    assert spark.sql(f"SELECT * FROM pattern_rule_errors{call}").collect() == []
    for view in ("alerts", "log", "lines"):
        spark.catalog.dropTempView(view)


@pytest.mark.full
@pytest.mark.skipif(IS_CONNECT, reason="engines know no session")
def test_tests_of_the_catalogue(spark: SparkSession) -> None:
    rules = folder_rules(RULES / "catalogue")
    tests = read_tests(rules)
    shape = LogShape("host.name", "(time, id)", "event.category", read_columns(ECS))
    found = run_tests(spark, rules, tests, shape)
    assert {f"{test.rule}, {test.name}": wrong for test, wrong in zip(tests, found, strict=True) if wrong} == {}


@pytest.mark.parametrize("rule", [pytest.param("collection_after_full_payment", marks=with_logs)])
def test_a_rule_without_patterns(logs: SparkSession, rule: str) -> None:
    """Fines that had been paid whole before credit collection, by a loop over their events."""
    names = ["case_id", "ts", "pos", "activity", "amount", "paymentamount"]
    table = pq.read_table(DATA / "road_traffic_fines.parquet", columns=names)
    table = table.sort_by([(c, "ascending") for c in ("case_id", "ts", "pos")])
    amounts: dict[str, float] = {}
    paid: dict[str, float] = {}
    found = set()
    for case, activity, amount, payment in zip(
        *(table[c].to_pylist() for c in ("case_id", "activity", "amount", "paymentamount")), strict=True
    ):
        if activity == "Create Fine":
            amounts[case] = amount
        elif activity == "Payment" and case in amounts:
            paid[case] = paid.get(case, 0.0) + payment
        elif activity == "Send for Credit Collection" and case in paid and paid[case] >= amounts[case]:
            found.add(case)
    rows = logs.sql(
        f"""SELECT case_id FROM pattern_rules(TABLE(road_traffic_fines) PARTITION BY case_id ORDER BY (ts, pos),
        rules => '{RULES / "fines"}', event_type => activity) WHERE rule = '{rule}'"""
    ).collect()
    assert {row.case_id for row in rows} == found
