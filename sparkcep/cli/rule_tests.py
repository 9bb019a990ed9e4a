"""``sparkcep rules test``: rules over events that stand beside them, held against the matches that they must give."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard
from xml.etree import ElementTree

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sparkcep.sql.rule_sets.rule import Rule

#: What a test's file is called, behind the rule's name.
SUFFIX = ".test.json"
#: The column of the log that says which test an event is of.
_TEST = "_test"
_HINT = '{"name": "...", "events": [{"time": "...", ...}], "matches": [{"start_time": "..."}]}, or a list of them'
_LOG, _RULES = "_rule_tests_log", "_rule_tests_rules"


@dataclass(frozen=True, slots=True)
class RuleTest:
    """``events`` of the log, and the ``matches`` of a ``rule`` in them: of each, some columns or measures."""

    rule: str
    name: str
    events: Sequence[Mapping[str, Any]]
    matches: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class LogShape:
    """How the events of tests make a log. ``columns``: names and Spark types, None to tell them from the events;
    ``case``: empty where all events of a test are of one."""

    case: str
    time: str
    event_type: str
    columns: Sequence[tuple[str, str]] | None


def read_tests(rules: Sequence[Rule]) -> list[RuleTest]:
    """The tests beside the files of rules.

    Raises:
        SparkCepError: CEP_RULE_TEST, a file is no test.
    """
    from sparkcep.errors import SparkCepError

    out = []
    for rule in rules:
        file = Path(rule.source).with_suffix(SUFFIX)
        if not file.is_file():
            continue
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise SparkCepError("CEP_RULE_TEST", f"{file} is no JSON: {error}.", hint=_HINT) from None
        for n, test in enumerate(found if isinstance(found, list) else [found], 1):
            own: dict[str, Any] = test if isinstance(test, dict) else {}
            events, matches = own.get("events"), own.get("matches")
            if not (_are_objects(events) and _are_objects(matches)):
                raise SparkCepError(
                    "CEP_RULE_TEST", f"Test {n} of {file} needs a list of events and one of matches.", hint=_HINT
                )
            out.append(RuleTest(rule.name, str(own.get("name", n)), events, matches))
    return out


def _are_objects(items: object) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(items, list) and all(isinstance(item, dict) for item in items)


def run_tests(spark: SparkSession, rules: Sequence[Rule], tests: Sequence[RuleTest], shape: LogShape) -> list[str]:
    """Run all rules over the events of all tests, once; for each test what is wrong, empty where nothing is."""
    log = _log(spark, tests, shape)
    log.createOrReplaceTempView(_LOG)
    rows = [(rule.name, rule.text) for rule in rules]
    spark.createDataFrame(rows, "name string, rule string").createOrReplaceTempView(_RULES)
    keys = ", ".join([_TEST, shape.case] if shape.case else [_TEST])
    call = f"(TABLE({_LOG}) PARTITION BY ({keys}) ORDER BY {shape.time}, rules => TABLE({_RULES})"
    call += f", event_type => {shape.event_type})" if shape.event_type else ")"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # refused rules are told by their tests
        errors = {e.rule: e.message for e in spark.sql(f"SELECT * FROM pattern_rule_errors{call}").collect()}
        found: dict[tuple[int, str], list[dict[str, Any]]] = {}
        for row in spark.sql(f"SELECT * FROM pattern_rules{call}").collect():
            values = row.asDict()
            own = {**values.pop("measures"), **{k: v for k, v in values.items() if k not in ("events", "rule")}}
            found.setdefault((own.pop(_TEST), row.rule), []).append(own)
    return [
        f"the rule is refused: {errors[test.rule]}" if test.rule in errors
        else difference(test.matches, found.get((n, test.rule), []))
        for n, test in enumerate(tests)
    ]  # fmt: skip


def _log(spark: SparkSession, tests: Sequence[RuleTest], shape: LogShape) -> DataFrame:
    """The events of all tests."""
    from sparkcep.query import in_backticks

    columns = shape.columns
    lines = [json.dumps({**event, _TEST: n}) for n, test in enumerate(tests) for event in test.events]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "events.json"
        file.write_text("\n".join(lines), encoding="utf-8")
        reader = spark.read
        if columns is not None and all(type_ for _, type_ in columns):
            types = ", ".join(f"{in_backticks(name)} {type_}" for name, type_ in columns)
            reader = reader.schema(f"{_TEST} INT, {types}")
        rows = reader.json(str(file))
        log = spark.createDataFrame(rows.collect(), rows.schema)
    time = next((c for c in log.columns if c.casefold() == shape.time.strip("`").casefold()), None)
    if time is not None and log.schema[time].dataType.typeName() == "string":
        log = log.withColumn(time, log[time].cast("timestamp"))
    return log


def difference(expected: Sequence[Mapping[str, Any]], actual: Sequence[Mapping[str, Any]]) -> str:
    """What is missing, and what is there that is not expected; empty where each match has its partner.

    >>> difference([{"n": 3}], [{"n": "3", "user": "ann"}])
    ''
    >>> difference([], [{"n": "3"}])
    "there is a match that is not expected: {'n': '3'}"
    """
    left = list(actual)
    out = []
    for match in sorted(expected, key=len, reverse=True):
        partner = next((row for row in left if all(_same(v, row.get(k)) for k, v in match.items())), None)
        if partner is None:
            out.append(f"there is no match with {dict(match)}")
        else:
            left.remove(partner)
    unexpected = ({name: str(value) for name, value in row.items()} for row in left)
    out += [f"there is a match that is not expected: {row}" for row in unexpected]
    return "; ".join(out)


def _same(expected: object, actual: object) -> bool:
    if expected is None or actual is None:
        return expected is actual
    if isinstance(expected, bool):
        return str(actual).lower() == str(expected).lower()
    try:
        return Decimal(str(expected)) == Decimal(str(actual))
    except InvalidOperation:
        return str(expected) == str(actual)


def junit(tests: Sequence[RuleTest], faults: Sequence[str]) -> bytes:
    """The result as JUnit's XML."""
    failures = sum(map(bool, faults))
    suite = ElementTree.Element("testsuite", name="rules", tests=str(len(tests)), failures=str(failures))
    for test, wrong in zip(tests, faults, strict=True):
        case = ElementTree.SubElement(suite, "testcase", classname=test.rule, name=test.name)
        if wrong:
            ElementTree.SubElement(case, "failure", message=wrong)
    return bytes(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True))
