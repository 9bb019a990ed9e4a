"""EQL as rules, by their texts."""

from __future__ import annotations

import pytest

from sparkcep.errors import SparkCepError
from sparkcep.importers.eql.rule import import_eql
from sparkcep.importers.event_schema import EventSchema
from sparkcep.importers.problems import NotImported
from sparkcep.sql.rule_sets.binder import parse_rule
from sparkcep.sql.rule_sets.rule import Rule

from .cases import Case, read_cases

COLUMNS = """user STRUCT<name: STRING, id: STRING>, process STRUCT<name: STRING, pid: BIGINT, args: ARRAY<STRING>>,
file STRUCT<name: STRING, path: STRING>, source STRUCT<ip: STRING>, labels MAP<STRING, STRING>, `a.b` INT"""


@pytest.mark.parametrize("case", read_cases("eql_cases.txt"), ids=lambda case: case.source.split("\n")[0][:60])
def test_cases(case: Case) -> None:
    try:
        rule = import_eql("case", case.source, EventSchema(COLUMNS))
    except NotImported as why:
        assert str(why) == case.refused
        return
    except SparkCepError as error:
        assert f"{error.error_class}: {error.sentence}" == case.refused
        assert error.position is not None
        return
    assert not case.refused
    assert rule.body == case.body
    assert "; ".join(rule.warnings) == case.warnings
    parse_rule(Rule("case", rule.text()))


def test_without_a_schema_every_field_is_one_of_structs() -> None:
    rule = import_eql("r", 'process where process.Ext.token == "a" and `@timestamp` != null', EventSchema(None))
    assert rule.body == "PATTERN SEQ(process e)\nWHERE e.process.Ext.token = 'a'\n  AND e.`@timestamp` IS NOT NULL"
    every = import_eql("r", "sequence [process where true] [file where true]", EventSchema(None), every_start=True)
    assert every.body == "PATTERN SEQ(process e1, file e2)"
    assert every.warnings == ()


def test_columns_that_cannot_be_read() -> None:
    with pytest.raises(SparkCepError, match="CEP_ARGUMENTS"):
        EventSchema("a STRUCT<b")
