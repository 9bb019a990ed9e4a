"""``sparkcep rules check``: a step for the CI of those who write rules; Spark is never started."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sparkcep.cli.main import main
from sparkcep.cli.rules import read_columns

COLUMNS = "user STRING, time TIMESTAMP, action, address STRING"
GOOD = {
    "brute.sql": "-- five failures\nPATTERN SEQ(Failure f{5,}, Success s) WITHIN 10 minutes RETURN s.address AS a;",
    "more/strict.sql": "MATCH_RECOGNIZE (EVENT TYPE action PATTERN (Failure Success))",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def refused(*_: object) -> None:
        raise AssertionError("a session is started")

    monkeypatch.setattr(SparkSession.builder, "getOrCreate", refused)
    (tmp_path / "more").mkdir()
    for name, text in GOOD.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("more", [[], ["--columns", COLUMNS, "--event-type", "action"]])
def test_good_rules(folder: Path, capsys: pytest.CaptureFixture[str], more: list[str]) -> None:
    assert main(["rules", "check", str(folder), *more]) == 0
    assert capsys.readouterr().out.startswith("2 rules read")


def test_what_needs_columns(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "typo.sql").write_text("PATTERN SEQ(Failure f, Success s)\nWHERE s.adress = 'x'")
    assert main(["rules", "check", str(folder)]) == 0
    assert main(["rules", "check", str(folder), "--columns", COLUMNS, "--event-type", "action"]) == 1
    said = capsys.readouterr()
    assert "3 rules read: 2 bound, 1 refused" in said.out
    assert f"{folder / 'typo.sql'}: [CEP_UNRESOLVED_COLUMN]" in said.err
    assert "Line 2, column 9.\nWHERE s.adress = 'x'\n        ^\nHint: did you mean address?" in said.err


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("a.process.nam = 'x'", "process has no field nam. Line 1, column 42"),
        ("max(b[].process.parent.pd) > 1", "process.parent has no field pd"),
        ("a.`process`.parent.pid > b[1].process.name", ""), ("a.event.process.id > 1", ""),
        ("a.process.args.nam = 'x'", ""), ("a.labels.other = 'x'", ""),
        ("exists(a.process.args, process -> process.x)", ""),
    ],
)  # fmt: skip
def test_fields_of_structs(folder: Path, capsys: pytest.CaptureFixture[str], condition: str, said: str) -> None:
    columns = (
        "time TIMESTAMP, process STRUCT<name: STRING, parent: STRUCT<pid: INT>, args: ARRAY<STRUCT<x: INT>>>, "
        "event STRUCT<process: STRUCT<id: INT>>, labels MAP<STRING, STRING>, action STRING"
    )
    (folder / "fields.sql").write_text(f"PATTERN SEQ(A a, B+ b[]) WHERE {condition}")
    for file in GOOD:
        (folder / file).unlink()
    code = main(["rules", "check", str(folder), "--columns", columns, "--event-type", "action"])
    found = capsys.readouterr().err
    assert (code, said in found) == (int(bool(said)), True), found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("PATTERN SEQ(A a,", "CEP_PATTERN_SYNTAX"), ("", "CEP_SYNTAX_ERROR"),
        ("FROM t PATTERN SEQ(A a)", "CEP_RULE_SOURCE"),
        ("MATCH_RECOGNIZE (PATTERN (A B)", "CEP_SYNTAX_ERROR"), ("SEQ(A, B)", "CEP_SYNTAX_ERROR"),
        ("PATTERN SEQ(A a) WHERE a.x = 'open", "CEP_SYNTAX_ERROR"),
    ],
)  # fmt: skip
def test_what_the_text_alone_tells(folder: Path, capsys: pytest.CaptureFixture[str], text: str, said: str) -> None:
    (folder / "bad.sql").write_text(text)
    assert main(["rules", "check", str(folder)]) == 1
    found = capsys.readouterr()
    assert f"bad.sql: [{said}]" in found.err
    assert "3 rules read: 2 parsed (--columns binds them too), 1 refused" in found.out


def test_two_of_a_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "more" / "brute.sql").write_text(GOOD["brute.sql"])
    assert main(["rules", "check", str(folder)]) == 1
    assert "[CEP_DUPLICATE_RULE] Two rules are called brute." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no/such"], "There is not a folder no/such"),
        ([".", "--columns", "user STRING, 5"], "--columns has '5'"),
        ([".", "--columns", COLUMNS, "--event-type", "acton"], "did you mean action?"),
    ],
)
def test_wrong_arguments(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(folder)
    assert main(["rules", "check", *arguments]) == 1
    assert said in capsys.readouterr().err


def test_columns() -> None:
    assert read_columns("a INT, `b c` DECIMAL(6, 2), m MAP<STRING, INT>, d:date, e") == [
        ("a", "INT"), ("b c", "DECIMAL(6, 2)"), ("m", "MAP<STRING, INT>"), ("d", "date"), ("e", ""),
    ]  # fmt: skip
