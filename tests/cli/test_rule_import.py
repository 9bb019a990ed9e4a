"""``sparkcep rules import``: files of other systems' rules as files of rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkcep.cli.main import main
from sparkcep.cli.rules import check

ELASTIC = """
[rule]
name = "A shell that\\nstarts a download"
rule_id = "6f1e"
severity = "high"
author = ["Blue Team"]
references = ["https://example.org/a"]
type = "eql"
language = "eql"
query = '''
sequence by host.id with maxspan=1m
  [process where process.name : "sh"]
  [network where destination.port == 443]
'''
[[rule.threat]]
framework = "MITRE ATT&CK"
  [rule.threat.tactic]
  name = "Command and Control"
  [[rule.threat.technique]]
  id = "T1105"
"""
COLUMNS = "time TIMESTAMP, event STRUCT<category: STRING>, host STRUCT<id: STRING>, process STRUCT<name: STRING>, "
COLUMNS += "destination STRUCT<port: INT>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "more").mkdir()
    (tmp_path / "download.toml").write_text(ELASTIC)
    (tmp_path / "kuery.toml").write_text('[rule]\nlanguage = "kuery"\nquery = "a:b"\n')
    (tmp_path / "shell.eql").write_text("process where true")
    (tmp_path / "broken.toml").write_text("rule =")
    (tmp_path / "deep.eql").write_text(f"process where {'(' * 400}true{')' * 400}")
    (tmp_path / "number.toml").write_text("rule = 3")
    (tmp_path / "odd.toml").write_text("""[rule]
name = "ends with C:\\\\"
author = "Me"
references = "https://example.org/b"
language = "eql"
query = "process where true"
threat = [{tactic = "x", technique = 3}]
""")
    (tmp_path / "column.eql").write_text("process where process.pid == 1")
    (tmp_path / "text.eql").write_text("process where\n  process.name ==")
    (tmp_path / "more" / "Shell.eql").write_text('process where process.name == "sh" | head 5')
    return tmp_path


def test_rules_are_written_with_what_is_said_of_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    into = folder / "rules" / "elastic"
    assert main(["rules", "import", "--eql", str(folder), "--into", str(into), "--columns", COLUMNS]) == 0
    printed = capsys.readouterr()
    assert printed.out == "9 rules: 2 imported exactly, 1 with warnings, 6 not imported\n"
    assert sorted(file.name for file in into.iterdir()) == ["Shell.sql", "download.sql", "odd.sql"]
    assert (
        (into / "download.sql").read_text()
        == """-- title: A shell that starts a download
-- id: 6f1e
-- level: high
-- tags: attack.command_and_control, attack.t1105
-- references: https://example.org/a
-- owner: Blue Team
PARTITION BY host.id
PATTERN SEQ(process e1, network e2)
WHERE lower(e1.process.name) = 'sh'
  AND e2.destination.port = 443
  AND e1.host.id IS NOT NULL
WITHIN 1 minutes
MATCHES LATEST
"""
    )
    assert (
        (into / "odd.sql").read_text()
        == """-- title: ends with C:
-- references: https://example.org/b
-- owner: Me
PATTERN SEQ(process e)
"""
    )
    assert f"{folder}/deep.eql: not imported: a condition that is nested too deeply" in printed.err
    assert f"{folder}/number.toml: not imported: a file without a rule" in printed.err
    assert f"{folder}/broken.toml: not imported: a file that cannot be read" in printed.err
    assert f"{folder}/column.eql: not imported: the log has no column process.pid" in printed.err
    assert "[CEP_EQL_SYNTAX] A field, a value or a function is expected here. Line 2, column 18." in printed.err
    assert f"{folder}/shell.eql: not imported: another rule is called shell" in printed.err
    columns = [("time", "timestamp"), ("event", "struct<category: string>"), ("host", "struct<id: string>"),
               ("process", "struct<name: string>"), ("destination", "struct<port: int>")]  # fmt: skip
    assert check(into, columns, "event.category")[1] == []


def test_nothing_to_import(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "import", "--eql", str(folder / "none"), "--into", str(folder / "x")]) == 1
    assert "CEP_RULES" in capsys.readouterr().err
    (folder / "empty").mkdir()
    assert main(["rules", "import", "--eql", str(folder / "empty"), "--into", str(folder / "x")]) == 1
    assert "There is no file" in capsys.readouterr().err
    assert not (folder / "x").exists()
    assert main(["rules", "import", "--into", str(folder / "x")]) == 2
