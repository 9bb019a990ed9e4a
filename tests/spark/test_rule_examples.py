"""The rule sets of sql_examples/rules over real logs, with the results that their files show."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from sparkcep.cli.main import main
from sparkcep.cli.printing import print_markdown
from sparkcep.data.examples import folder, read_example

from ..conftest import IS_CONNECT

DATA = Path(__file__).parents[3] / "shared" / "data"
LOGS = ("road_traffic_fines", "loghub_2k_samples", "stock_minute_bars")
RULES = folder("rules")
EXAMPLES = sorted(RULES.glob("*.sql"))

with_logs = [
    pytest.mark.long,
    pytest.mark.skipif(
        not all((DATA / f"{log}.parquet").exists() for log in LOGS),
        reason=f"the logs {', '.join(LOGS)} are read from ../shared/data beside the project, and are not there",
    ),
    pytest.mark.skipif(IS_CONNECT, reason="engines know no session"),
]


@pytest.fixture(scope="module")
def logs(spark: SparkSession) -> Iterator[SparkSession]:
    for log in LOGS:
        spark.read.parquet(str(DATA / f"{log}.parquet")).createOrReplaceTempView(log)
    yield spark
    for log in LOGS:
        spark.catalog.dropTempView(log)


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("fines", "case_id, pos INT, activity, ts TIMESTAMP, amount DOUBLE, paymentamount DOUBLE, expense DOUBLE"),
        ("access", "address, user, pos INT, ts TIMESTAMP, action"),
        ("trading", "symbol, ts TIMESTAMP, open, high, low, close, volume, type"),
    ],
)
def test_all_bind(name: str, columns: str) -> None:
    event_type = {"fines": "activity", "access": "action", "trading": "type"}[name]
    assert main(["rules", "check", str(RULES / name), "--columns", columns, "--event-type", event_type]) == 0


def test_there_are_thirty() -> None:
    assert len(list(RULES.glob("*/*.sql"))) == 30


@pytest.mark.parametrize("path", [pytest.param(p, id=p.stem, marks=with_logs) for p in EXAMPLES])
def test_results(logs: SparkSession, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(RULES.parents[1])
    example = read_example(path)
    for statement in example.setup:
        logs.sql(statement)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print_markdown(logs.sql(example.sql))
    assert tuple(out.getvalue().strip().splitlines()) == example.expected


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
