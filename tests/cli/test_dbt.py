"""The dbt project of the examples, run by dbt itself and by `sparkcep dbt`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable

from sparkcep.session.machine.java import ensure_java

from ..cluster.servers import free_port

pytestmark = pytest.mark.long
PROJECT = Path(__file__).parents[2] / "sql_examples" / "dbt_project"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dbt") / "project"
    shutil.copytree(PROJECT, folder)
    return folder


def run(project: Path, *command: str, **variables: str) -> str:
    ensure_java()
    environment = {
        **os.environ, "SPARKCEP_WAREHOUSE": str(project / "warehouse"), "DBT_PROFILES_DIR": str(project),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "PYTHONPATH": str(Path(__file__).parents[2]), **variables,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rows(project: Path, table: str) -> list[tuple[object, ...]]:
    found = ds.dataset(project / "warehouse" / "shop.db" / table).to_table().to_pylist()
    return sorted(tuple(row.values()) for row in found)


def late(project: Path) -> list[object]:
    """Orders of the model that is a pattern table, which its tests read by `ref`."""
    table = DeltaTable(project / "warehouse" / "indexes" / "pattern-tables" / "shop.late_shipments")
    return sorted(table.to_pyarrow_table()["order_id"].to_pylist())


def test_dbt_builds_models_that_hold_patterns(project: Path) -> None:
    """Plain `dbt build` finds the plugin; the incremental model goes through its temporary view in a second run."""
    run(project, "dbt.cli.main", "build")
    results = json.loads((project / "target" / "run_results.json").read_text())["results"]
    assert {r["status"] for r in results} == {"success", "pass"}
    assert len(results) == 12
    assert [(r[0], *r[2:]) for r in rows(project, "payment_trouble")] == [(2, 2, True), (4, 3, False)]
    assert [(r[0], *r[2:]) for r in rows(project, "returns")] == [(3, 5, True), (5, 6, False)]
    assert late(project) == [2, 5]  # order 6 was paid five hours before the last event
    with (project / "seeds" / "order_events.csv").open("a") as log:
        log.write("7,2026-03-10 10:00:00,paid,5.00\n7,2026-03-10 18:00:00,shipped,\n8,2026-03-11 13:00:00,paid,8.00\n")
    run(project, "dbt.cli.main", "seed")
    wrong = project / "models" / "wrong.sql"
    wrong.write_text(
        "{{ config(materialized='view') }} SELECT * FROM {{ ref('order_events') }} MATCH_RECOGNIZE (ORDER BY at "
        "MEASURES a.at AS at PATTERN (a) DEFINE a AS event = 'paid')"
    )
    with pytest.raises(AssertionError, match=r"CEP_PERSISTENT_VIEW[\s\S]*materialized='table'"):
        run(project, "sparkcep", "dbt", "run", "--select", "late_shipments", "wrong")
    wrong.unlink()  # which other tests would build too
    assert late(project) == [2, 5, 6]


def test_a_pattern_table_of_another_query(project: Path) -> None:
    run(project, "dbt.cli.main", "build", "--select", "+late_shipments")
    before = late(project)
    changed = project / "models" / "late_shipments.sql"
    changed.write_text(changed.read_text().replace("2 days", "3 days"))
    with pytest.raises(AssertionError, match=r"CEP_PATTERN_TABLE_CHANGED[\s\S]*its query is another one"):
        run(project, "dbt.cli.main", "run", "--select", "late_shipments")
    run(project, "dbt.cli.main", "build", "--full-refresh", "--select", "late_shipments")
    assert late(project) == [order for order in before if order != 6]


def test_an_index_on_the_seed_serves_models_through_a_view(project: Path) -> None:
    run(project, "dbt.cli.main", "build", "--select", "order_events", "steps")
    query = (
        "EXPLAIN FROM {{ ref('steps') }} PARTITION BY number ORDER BY happened_at EVENT TYPE step "
        "PATTERN SEQ(paid p, returned r)"
    )
    said = run(project, "dbt.cli.main", "-q", "show", "--limit", "-1", "--output", "json", "--inline", query)
    plan = json.loads(said[said.index("{") :])["show"][0]["plan"]
    assert "Index: orders_ix (siesta), snapshot" in plan
    assert "each row of the input comes from one of shop.order_events: CASE order_id is number" in plan
    assert "Limit" not in plan


def test_what_dbt_does_not_know_is_said(project: Path) -> None:
    with pytest.raises(AssertionError, match="No such command 'nonsense'"):
        run(project, "sparkcep", "dbt", "nonsense")


#: A Connect server with a catalog of its own, until its input ends.
SERVER = """
import sys
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[2]")
for key, value in zip(sys.argv[1::2], sys.argv[2::2]):
    builder = builder.config(key, value)
builder.getOrCreate()
print("ready", flush=True)
sys.stdin.read()
"""


def test_dbt_over_spark_connect(project: Path) -> None:
    """A profile without what belongs to the server, and SPARK_REMOTE."""
    profile = project / "profiles.yml"
    before = profile.read_text()
    of_server = ("spark.master", "spark.sql.warehouse.dir", "spark.hadoop")
    profile.write_text("\n".join(line for line in before.splitlines() if not line.strip().startswith(of_server)))
    port, place = str(free_port()), project / "server"
    settings = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin", "spark.connect.grpc.binding.port": port,
        "spark.sql.warehouse.dir": str(place / "warehouse"),
        "spark.sql.catalogImplementation": "hive", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={place / 'metastore'};create=true",
    }  # fmt: skip
    token = {"SPARK_CONNECT_AUTHENTICATE_TOKEN": "dbt"}
    command = [sys.executable, "-c", SERVER, *(part for setting in settings.items() for part in setting)]
    ensure_java()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=project,
        env={**os.environ, **token, "PYSPARK_PYTHON": sys.executable},
    ) as server:  # fmt: skip
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            said = run(project, "dbt.cli.main", "build", SPARK_REMOTE=f"sc://localhost:{port}", **token)
            assert "PASS=12 WARN=0 ERROR=0" in said
        finally:
            assert server.stdin is not None
            server.stdin.close()
            server.wait(60)
            profile.write_text(before)
