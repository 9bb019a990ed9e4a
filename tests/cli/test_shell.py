"""The shell: lines in, results out; through a pipe, and with a keyboard's own keys through a terminal."""

from __future__ import annotations

import io
import os
import re
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sparkcep.cli.prompt import run_shell
from sparkcep.cli.shell import Shell
from sparkcep.sql.script import is_complete


@pytest.fixture
def written() -> list[str]:
    return []


@pytest.fixture
def shell(spark: SparkSession, compiler: None, written: list[str]) -> Shell:
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW typed_log AS SELECT * FROM VALUES (1, 'A'), (2, 'B') t(seq_no, kind)")
    return Shell(spark, written.append)


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT 1; -- done", True),
        ("SELECT ';", False),
        ("SELECT ';'", False),
        ("SELECT 1 /* ; ", False),
        ("BEGIN SELECT 1;", False),
        ("BEGIN SELECT 1; END;", True),
        (" ", False),
    ],
)
def test_where_a_statement_ends(text: str, complete: bool) -> None:
    assert is_complete(text) == complete


def test_a_statement_may_have_many_lines(shell: Shell, written: list[str]) -> None:
    shell.timing = False
    lines = ["FROM typed_log ORDER BY seq_no EVENT TYPE kind", "PATTERN SEQ(A a, B b)", "RETURN b.seq_no AS found;"]
    assert [shell.prompt, shell.feed(lines[0]), shell.prompt] == ["sparkcep> ", True, "       -> "]
    for line in lines[1:]:
        shell.feed(line)
    assert written == ["+-------+\n| found |\n+-------+\n| 2     |\n+-------+", "(1 row)"]
    assert shell.prompt == "sparkcep> "


def test_a_pattern_without_rows_is_explained(shell: Shell, written: list[str]) -> None:
    shell.timing = False
    shell.feed("FROM typed_log ORDER BY seq_no EVENT TYPE kind PATTERN SEQ(A a, BB b) RETURN b.seq_no AS found;")
    assert written[1:] == [
        "(0 rows)",
        "Note: no row has kind = 'BB'; did you mean 'B'?",
        "Note: the longest partial matches have a; in 1 partition there is no event of b's type",
    ]


def test_a_type_that_the_log_lacks_is_said(shell: Shell, written: list[str]) -> None:
    """Also where there are rows all the same."""
    shell.timing = False
    shell.feed(
        "FROM typed_log ORDER BY seq_no EVENT TYPE kind PATTERN SEQ(A a, NOT BB x, B b) RETURN b.seq_no AS found;"
    )
    assert written[1:] == ["(1 row)", "Warning: no row has kind = 'BB'; did you mean 'B'?"]


def test_errors_leave_it_running(shell: Shell, written: list[str]) -> None:
    shell.feed("SELECT * FROM typed_log MATCH_RECOGNIZE (PATTERN (a) DEFINE a AS aa.kind = 'A');")
    assert "[CEP_UNDEFINED_VARIABLE]" in written[-1]
    assert "Traceback" not in written[-1]
    shell.feed("SELECT no_such;")
    assert "UNRESOLVED_COLUMN" in written[-1]
    assert shell.feed("SELECT 1 AS one;")
    assert "| one |" in written[-2]


def test_rows_and_timing(shell: Shell, written: list[str]) -> None:
    shell.feed("\\rows 1")
    shell.feed("SELECT * FROM typed_log;")
    assert written[-1].startswith("(the first 1 row, ")
    assert written[-1].endswith(" s)")
    shell.feed("\\timing")
    shell.feed("SET a.b = 1; SELECT 1 AS x;")
    assert written[-1] == "(1 row)"


def test_commands(shell: Shell, written: list[str]) -> None:
    shell.feed("\\explain")
    assert written[-1] == "There is no statement yet."
    shell.feed("\\d")
    assert "typed_log" in written[-1]
    shell.feed("\\d typed_log")
    assert "seq_no" in written[-1]
    shell.feed("\\explain FROM typed_log ORDER BY seq_no EVENT TYPE kind PATTERN SEQ(A a)")
    assert "== Pattern Plan ==" in written[-1]
    shell.feed("\\nonsense")
    assert written[-1] == "There is no command \\nonsense. \\? lists them."
    shell.feed("\\?")
    assert "\\explain" in written[-1]
    assert not shell.feed("\\q")
    assert not shell.feed("quit;")


def test_completion(shell: Shell) -> None:
    assert shell.completions("SELECT * FROM typ") == ("typ", ["typed_log", "type"])
    words = shell.completions("SELECT se")[1]  # behind the views of other tests
    assert words[-4:] == ["select", "set", "selection", "seq"]
    assert shell.completions("FROM typed_log WHERE seq")[1] == ["seq_no"]
    assert "MATCH_RECOGNIZE" in shell.completions("SELECT * FROM typed_log MATCH_")[1]
    assert shell.completions("\\e") == ("\\e", ["\\explain"])
    assert shell.completions("") == ("", [])
    shell.feed("SELECT kind FROM typed_log")
    assert shell.completions("WHERE seq_")[1] == ["seq_no"]


def test_names_that_need_backticks(shell: Shell, written: list[str]) -> None:
    shell.feed("CREATE OR REPLACE TEMPORARY VIEW `Straßen 1` AS SELECT 1 AS `Länge`;")
    shell.feed("\\d straßen 1")
    assert "Länge" in written[-1]
    assert shell.completions("SELECT * FROM Straß")[1] == ["`straßen 1`"]
    assert shell.completions("SELECT * FROM `Straßen 1` WHERE Läng")[1] == []
    shell.feed("DROP VIEW `Straßen 1`;")


def test_a_pipe(shell: Shell, written: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "SELECT 1 AS one;\n\\timing\nSELECT 2 AS two;\n\\timing on\n\\timing off\nSELECT 3 AS three"
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    run_shell(shell)
    assert "| one |" in written[0]
    assert written[1:3] == ["(1 row)", "Timing is on."]
    assert "| two |" in written[3]
    assert re.fullmatch(r"\(1 row, [\d.]+ s\)", written[4])
    assert written[5:7] == ["Timing is on.", "Timing is off."]
    assert written[8] == "(1 row)"


def test_a_terminal(shell: Shell, written: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys through prompt_toolkit: a tab completes, what was typed is kept for later."""
    pytest.importorskip("prompt_toolkit")
    from prompt_toolkit.application import create_app_session
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        keys.send_text("SELECT max(seq_no) AS m FROM typed_l\t")
        # Names are looked up while keys go on being read.
        later = threading.Timer(2, keys.send_text, [";\r\\q\r"])
        later.start()
        run_shell(shell)
    lines = re.sub(r"\x1b\[[\d;]*m", "", written[0]).splitlines()
    assert [line.strip("│ ") for line in lines] == ["╭───╮", "m", "├───┤", "2", "╰───╯"]
    kept = tmp_path / ".sparkcep_history"
    assert "FROM typed_log;" in kept.read_text()
    assert os.stat(kept).st_mode & 0o077 == 0
