"""The command line, without Spark where that is possible."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sparkcep.cli import main, short_message
from sparkcep.printing import print_csv, print_json, print_table
from sparkcep.sql.split import split_statements


def test_split_respects_strings_and_comments() -> None:
    text = "SELECT ';' AS a; -- not; here\nSELECT `;` /* ; */ FROM t;\n;"
    assert split_statements(text) == ["SELECT ';' AS a", "-- not; here\nSELECT `;` /* ; */ FROM t"]


def test_script_is_one_statement() -> None:
    assert len(split_statements("BEGIN SELECT 1; SELECT 2; END")) == 1


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.startswith("sparkcep 0.")


def test_missing_file_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "-f", "no/such/file.sql"]) == 1
    assert capsys.readouterr().err == "[CEP_FILE] no/such/file.sql cannot be read: No such file or directory.\n"


def test_warmup_compiles_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warmup"]) == 0
    capsys.readouterr()
    assert main(["warmup"]) == 0
    assert capsys.readouterr().out == "All kernels were compiled before.\n"


def test_executor_errors_lose_their_traceback() -> None:
    raised = "Traceback ...\nsparkcep.errors.LimitError: [CEP_STEP_LIMIT] too long\nHint: x\n\nJVM stacktrace:\n\tat a"
    assert short_message(Exception(raised)) == "[CEP_STEP_LIMIT] too long\nHint: x"


def test_formats(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    frame = spark.sql("SELECT 1 AS a, CAST(NULL AS STRING) AS b")
    print_table(frame)
    print_csv(frame)
    print_json(frame)
    out = capsys.readouterr().out
    assert "| 1 | NULL |\n" in out
    assert "\na,b\n1,\n" in out
    assert '[{"a":1,"b":null}]' in out


def test_index_commands(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made, listed, dropped; the summary tells every table."""
    monkeypatch.setattr("sparkcep.cli._session", lambda _: spark)
    spark.sql("SELECT 'a' AS c, 1 AS t, 'A' AS e UNION ALL SELECT 'a', 2, 'B'").write.parquet(str(tmp_path / "events"))
    source = f"parquet.`{tmp_path}/events`"
    columns = ["--case", "c", "--time", "t", "--event", "e", "--with", "lookback=10"]
    assert main(["index", "create", "cli_index", "--source", source, *columns]) == 0, capsys.readouterr().err
    out = capsys.readouterr().out
    assert "cli_index: built (created)" in out
    assert "2 events, 1 cases, 1 pairs" in out
    assert re.search(r"pairs +1 +[0-9.]+ k?B +[0-9.]+\n", out)
    assert main(["index", "show", "--on", source]) == 0
    assert capsys.readouterr().out.startswith("cli_index  siesta on parquet.")
    assert main(["index", "drop", "cli_index"]) == 0
    assert main(["index", "refresh", "cli_index"]) == 1
    assert capsys.readouterr().err.startswith("[CEP_INDEX_NOT_FOUND] There is no pattern index cli_index.")
