"""Sigma as rules, by their texts and by what they find."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sparkcep.importers.event_schema import EventSchema
from sparkcep.importers.folder import import_folder
from sparkcep.importers.sigma.files import sigma_source
from sparkcep.sql.rule_sets.binder import parse_rule
from sparkcep.sql.rule_sets.rule import Rule

from .cases import Case, read_cases

COLUMNS = """Image STRING, EventID INT, User STRING, `c-uri` STRING, SourceIp STRING, Args ARRAY<STRING>, Other STRING,
Code STRING, process STRUCT<name: STRING>"""


def written(folder: Path, case: str) -> Path:
    """A file with a case's rules, and what each rule must have besides."""
    documents = []
    for text in case.split("\n---\n"):
        log = "" if "correlation:" in text else "logsource: {product: windows}\n"
        documents.append(f"title: A title\n{log}{text}")
    (folder / "case.yml").write_text("\n---\n".join(documents))
    return folder


@pytest.mark.parametrize("case", read_cases("sigma_cases.txt"))
def test_cases(case: Case, tmp_path: Path) -> None:
    outcome = import_folder(sigma_source(written(tmp_path, case.source), None), EventSchema(COLUMNS))[-1]
    assert outcome.refused == case.refused
    if not case.refused:
        assert outcome.rule is not None
        assert outcome.rule.body == case.body
        assert "; ".join(outcome.rule.warnings) == case.warnings
        parse_rule(Rule("case", outcome.rule.text()))


RULES = {
    "shell": """title: A shell
id: 5c6d0f2e-7b0a-4f7e-9d0b-1c1f6a6f0b11
level: high
tags: [attack.execution, attack.t1059]
references: [https://example.org/a]
logsource: {product: windows}
detection:
  selection: {Image|endswith: '\\cmd.exe'}
  filter: {User|contains: admin}
  condition: selection and not filter
""",
    "failed": """title: Failed
name: failed
logsource: {product: windows}
detection: {selection: {EventID: 4625}, condition: selection}
""",
    "brute": """title: Brute force
correlation: {type: event_count, rules: [failed], group-by: [User], timespan: 10s, condition: {gte: 3}, generate: false}
""",
    "spray": """title: Many users
correlation: {type: value_count, rules: [failed], timespan: 10s, condition: {field: User, gte: 2}, generate: false}
""",
    "broken": "title: x\nlogsource: {product: windows}\ndetection: {condition: none}\n",
}


def test_over_a_log(spark: SparkSession, tmp_path: Path) -> None:
    for name, text in RULES.items():
        (tmp_path / f"{name}.yml").write_text(text)
    outcomes = import_folder(
        sigma_source(tmp_path, None), EventSchema("time TIMESTAMP, Image STRING, EventID INT, User STRING")
    )
    assert [o.refused for o in outcomes if o.rule is None] != []
    rules = [o.rule for o in outcomes if o.rule is not None]
    assert sorted(rule.name for rule in rules) == ["brute", "shell", "spray"]
    (shell,) = (rule for rule in rules if rule.name == "shell")
    assert shell.text().startswith(
        "-- title: A shell\n-- id: 5c6d0f2e-7b0a-4f7e-9d0b-1c1f6a6f0b11\n-- level: high\n-- tags: "
    )
    spark.sql(r"""CREATE OR REPLACE TEMP VIEW sigma_log AS
        SELECT TIMESTAMP'2026-01-01 00:00:00' + make_dt_interval(0, 0, 0, n) AS time, Image, EventID, User FROM VALUES
        (0, r'C:\CMD.exe', 1, NULL), (1, r'C:\cmd.exe', 1, 'the admin'), (2, r'C:\cmd.exe.x', 1, 'u'),
        (3, NULL, 4625, 'a'), (4, NULL, 4625, 'a'), (30, NULL, 4625, 'a'), (31, NULL, 4625, 'b'), (32, NULL, 4625, 'a'),
        (33, NULL, 4625, 'a') AS t(n, Image, EventID, User)""")
    texts = [(rule.name, rule.text()) for rule in rules]
    spark.createDataFrame(texts, "name string, rule string").createOrReplaceTempView("sigma_rules")
    rows = spark.sql("""SELECT rule, second(start_time) AS s, second(end_time) AS e FROM pattern_rules(
        TABLE(sigma_log) WITH SINGLE PARTITION ORDER BY time, rules => TABLE(sigma_rules)) ORDER BY rule, s""")
    rows = rows.collect()
    assert [tuple(row) for row in rows] == [("brute", 30, 33), ("shell", 0, 0), ("spray", 30, 33)]


def test_fields_by_a_pipeline(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "shell.yml").write_text(RULES["shell"])
    pipeline = tmp_path / "ecs.yml"
    pipeline.write_text("""name: ecs
priority: 10
transformations:
  - id: fields
    type: field_name_mapping
    mapping: {Image: process.executable, User: user.name}
""")
    (outcome,) = import_folder(sigma_source(tmp_path / "rules", pipeline), EventSchema(None))
    assert outcome.rule is not None
    assert re.search(r"e\.process\.executable, .*\n.*e\.user\.name", outcome.rule.body)
