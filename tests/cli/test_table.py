"""`sparkcep table`: a pattern table over a file, from its first run to its end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from sparkcep.settings import INDEX_PATH

from ..conftest import IS_CONNECT, configured
from .conftest import Run

QUERY = "FROM orders PATTERN SEQ(register a, pay b) RETURN a.order_id, b.amount"


@pytest.fixture
def command(spark: SparkSession, run: Run) -> Iterator[Any]:
    """A command of the group over the folder `log`; gives the rows that it prints, or its code and what was said."""
    Path("log").mkdir()
    add()
    add()

    def rows(*argv: str) -> Any:
        code, out, err = run(
            "table", *argv, "--path", "tables", "--parquet", "orders=log", "-q", "--format", "json"
        )  # fmt: skip
        return json.loads(out or "[]") if code == 0 else (code, err)

    with configured(spark, {INDEX_PATH.key: str(Path.cwd() / "tables")}):
        yield rows


def add() -> None:
    """Another file in the folder."""
    table = pc.read_csv("log.csv", parse_options=pc.ParseOptions(delimiter=";"))
    pq.write_table(table, f"log/{len(list(Path('log').iterdir()))}.parquet")


def test_a_table_and_its_changes(command: Any) -> None:
    (made,) = command("create", "paid", QUERY, "--comment", "it's paid")
    assert (made["action"], made["rows"]) == ("created", 4)
    code, err = command("create", "paid", QUERY)
    assert code == 1 and "[CEP_PATTERN_TABLE_EXISTS] Pattern table paid already exists." in err
    text = f"CREATE OR REPLACE TEMP VIEW more AS SELECT 1 AS a -- one\n;{QUERY}"
    (again,) = command("create", "paid", text, "--or-refresh")
    assert again["action"] == "unchanged"
    add()
    (done,) = command("refresh", "paid")
    assert done["action"] == "refreshed" and done["rows"] == 6
    if not IS_CONNECT:
        assert done["reason"] == "1 file is new"
    assert [row["comment"] for row in command("show")] == ["it's paid"]
    assert {row["change"] for row in command("changes", "paid", "--from", "1", "--to", "1")} == {"insert"}
    (done,) = command("refresh", "paid", "--full")
    assert (done["reason"], done["inserted"]) == ("asked for", 0)
    assert command("optimize", "paid")[0]["action"] in ("optimized", "unchanged")
    assert command("vacuum", "paid", "--retain-hours", "0")[0]["deleted_files"] >= 0
    assert {"info_name": "Name", "info_value": "paid"} in command("describe", "paid", "--extended")
    assert command("drop", "paid") == []
    code, err = command("refresh", "paid")
    assert code == 1 and "There is no pattern table paid" in err and "REFRESH PATTERN TABLE paid\n" in err
