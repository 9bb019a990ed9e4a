"""``sparkcep rules test``: rules over the events beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from pyspark.sql import SparkSession

from sparkcep.cli.main import main
from sparkcep.cli.rules import check, read_columns

from ..conftest import IS_CONNECT

pytestmark = pytest.mark.skipif(IS_CONNECT, reason="the command makes a session of its own")
RULE = "PATTERN SEQ(Failure f{2,}, Success s)\nWITHIN 10 minutes\nMATCHES NON OVERLAPPING\nRETURN count(f[].time) AS n"
EVENTS = [
    {"user": "ann", "time": f"2026-06-01 08:0{n}:00", "action": action, "process": {"name": "cmd", "pid": n}}
    for n, action in enumerate(["Failure", "Failure", "Success"])
]
BRUTE = [
    {"name": "two, then a success", "events": EVENTS, "matches": [{"user": "ann", "n": 2}]},
    {"name": "one is too few", "events": EVENTS[1:], "matches": []},
]


@pytest.fixture
def folder(tmp_path: Path, spark: SparkSession) -> Path:
    (tmp_path / "brute.sql").write_text(RULE)
    (tmp_path / "nested.sql").write_text("PATTERN SEQ(Failure f) WHERE f.process.pid = 1 RETURN f.process.name AS name")
    (tmp_path / "without.sql").write_text("PATTERN SEQ(Failure f)")
    written(tmp_path, "brute", BRUTE)
    written(tmp_path, "nested", {"events": EVENTS, "matches": [{"start_time": "2026-06-01 08:01:00", "name": "cmd"}]})
    return tmp_path


def written(folder: Path, rule: str, tests: Any) -> None:
    (folder / f"{rule}.test.json").write_text(json.dumps(tests))


def run(folder: Path, *more: str) -> int:
    return main(["rules", "test", str(folder), "--case", "user", "--event-type", "action", *more])


def test_rules_that_pass(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "--junit", str(folder / "junit.xml")) == 0
    assert "3 tests: 3 passed, 0 failed; 1 rule has no test" in capsys.readouterr().out
    suite = ElementTree.parse(folder / "junit.xml").getroot()
    assert suite.attrib == {"name": "rules", "tests": "3", "failures": "0"}
    assert [case.get("name") for case in suite] == ["two, then a success", "one is too few", "1"]


def test_rules_that_fail(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "wrong.sql").write_text("PATTERN SEQ(Failure f) WHERE f.usr = 'x'")
    wrong = {"name": "w", "events": EVENTS, "matches": []}
    written(folder, "wrong", wrong)
    written(folder, "brute", [{**BRUTE[0], "matches": [{"n": 3}]}, {**BRUTE[1], "events": EVENTS}])
    types = "user STRING, time TIMESTAMP, action STRING, process STRUCT<name: STRING, pid: INT>"
    assert run(folder, "--columns", types, "--junit", str(folder / "junit.xml")) == 1
    said = capsys.readouterr()
    assert "4 tests: 1 passed, 3 failed; 1 rule has no test" in said.out
    assert "brute, two, then a success: there is no match with {'n': 3}; there is a match that is not" in said.err
    assert "brute, one is too few: there is a match that is not expected: {'n': '2', 'user': 'ann'" in said.err
    assert "wrong, w: the rule is refused: The input has no column usr." in said.err
    assert len(ElementTree.parse(folder / "junit.xml").getroot().findall("testcase/failure")) == 3


@pytest.mark.parametrize("text", ["{", "[1]", '{"events": []}', '{"events": [1], "matches": []}'])
def test_files_that_are_no_tests(folder: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    (folder / "without.test.json").write_text(text)
    assert run(folder) != 0
    assert "[CEP_RULE_TEST]" in capsys.readouterr().err


def test_check_takes_an_expression_for_the_event_type(folder: Path) -> None:
    process = "process STRUCT<pid: INT, name: STRING>"
    columns = read_columns(f"user STRING, time TIMESTAMP, event STRUCT<category: STRING>, {process}")
    assert check(folder, columns, "event.category")[1] == []
    assert [error.error_class for _, error in check(folder, columns, None)[1]] == ["CEP_LOG_COLUMNS"] * 3
