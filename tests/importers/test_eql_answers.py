"""Imported EQL over a log, beside a plain evaluator that was written from Elastic's documentation alone."""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict

import pytest
from pyspark.sql import SparkSession

from sparkcep.importers.eql.rule import import_eql
from sparkcep.importers.event_schema import EventSchema
from sparkcep.importers.problems import NotImported
from sparkcep.importers.rule_text import ImportedRule
from tests.importers import eql_generate, eql_oracle

COLUMNS = """n INT, `@timestamp` TIMESTAMP, event STRUCT<category: STRING, type: STRING, code: STRING, risk: DOUBLE>,
host STRUCT<name: STRING>, user STRUCT<name: STRING, id: BIGINT>,
process STRUCT<name: STRING, pid: BIGINT, entity_id: STRING, executable: STRING,
  args: ARRAY<STRING>, args_count: BIGINT, command_line: STRING, exit_code: STRING,
  parent: STRUCT<name: STRING, entity_id: STRING>, code_signature: STRUCT<trusted: BOOLEAN>>,
labels STRUCT<`risk-level`: STRING, `6 pack`: BIGINT>, source STRUCT<ip: STRING, port: BIGINT>,
destination STRUCT<ip: STRING, port: BIGINT, domain: STRING>, network STRUCT<protocol: STRING, bytes: BIGINT>,
file STRUCT<name: STRING, path: STRING, extension: STRING, size: BIGINT>,
registry STRUCT<path: STRING, value: STRING, data: STRUCT<strings: ARRAY<STRING>>>"""
EVENTS, RULES = 120, 60
_COMPONENT = re.compile(r'(?P<not>!?)(?:\w+|"[^"]+")(?:\{(?P<runs>\d+)\})? (?P<variable>e\d*|later)(?:\[\])?')

Match = tuple[int, ...]


def components(rule: ImportedRule) -> list[tuple[str, int]]:
    """Variables of a rule that take events, and how many each takes."""
    (pattern,) = (line for line in rule.body.split("\n") if line.startswith("PATTERN"))
    return [(c["variable"], int(c["runs"] or 1)) for c in _COMPONENT.finditer(pattern) if not c["not"]]


def returning(rule: ImportedRule) -> str:
    """The rule with which events it took: the numbers of single ones; of runs the first, the last and how many."""
    items = []
    for variable, runs in components(rule):
        of = f"{variable}[].n"
        many = f"min({of}) AS {variable}, max({of}) AS last_{variable}, count({of}) AS count_{variable}"
        items.append(f"{variable}.n AS {variable}" if runs == 1 else many)
    return f"{rule.body}\nRETURN {', '.join(items)}"


def expected(rule: ImportedRule, text: str, events: list[dict[str, object]]) -> list[Match]:
    found = []
    for match in eql_oracle.evaluate(text, events):
        own: list[int] = []
        at = 0
        for _, runs in components(rule):
            part, at = match[at : at + runs], at + runs
            own += part if runs == 1 else (part[0], part[-1], runs)
        found.append(tuple(own))
    return sorted(found)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 8))])
def test_as_the_documentation_says(spark: SparkSession, seed: int) -> None:
    rnd = random.Random(seed)
    events = eql_generate.random_events(rnd, EVENTS)
    rows = [({**e, "n": n, "@timestamp": e["@timestamp"].isoformat()},) for n, e in enumerate(events)]
    spark.createDataFrame([(json.dumps(row),) for (row,) in rows], "event string").createOrReplaceTempView("eql_texts")
    spark.sql(f"SELECT inline(array(from_json(event, '{COLUMNS}'))) FROM eql_texts").createOrReplaceTempView("eql_log")
    rules: dict[str, tuple[ImportedRule, str]] = {}
    for n, text in enumerate(eql_generate.random_rules(rnd, RULES)):
        try:
            rule = import_eql(f"r{n}", text, EventSchema(COLUMNS))
        except NotImported:
            continue
        if not rule.warnings:
            rules[rule.name] = rule, text
    assert len(rules) > RULES / 2
    texts = [(name, returning(rule)) for name, (rule, _) in rules.items()]
    spark.createDataFrame(texts, "name string, rule string").createOrReplaceTempView("eql_rules")
    call = "(TABLE(eql_log) WITH SINGLE PARTITION ORDER BY (`@timestamp`, n), rules => TABLE(eql_rules), "
    call += "event_type => event.category)"
    assert not spark.sql(f"SELECT rule, message FROM pattern_rule_errors{call}").collect()
    found: dict[str, list[Match]] = defaultdict(list)
    for row in spark.sql(f"SELECT rule, measures FROM pattern_rules{call}").collect():
        own: list[int] = []
        for variable, runs in components(rules[row.rule][0]):
            names = [variable] if runs == 1 else [variable, f"last_{variable}", f"count_{variable}"]
            own += [int(row.measures[name]) for name in names]
        found[row.rule].append(tuple(own))
    counted = Counter[str]()
    for name, (rule, text) in rules.items():
        wanted = expected(rule, text, events)
        assert sorted(found[name]) == wanted, f"{text}\n\n{rule.body}"
        counted["sequences" if "sequence" in text else "events"] += bool(wanted)
    assert counted["sequences"] > 5
    assert counted["events"] > 5
