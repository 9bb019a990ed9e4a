"""Rule sets: equal to their rules as statements of their own; where rules come from; what is said of bad ones."""

from __future__ import annotations

import warnings
from collections import Counter
from functools import reduce
from pathlib import Path
from random import Random

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from sparkcep.errors import PatternWarning
from sparkcep.spark.exceptions import condition_of

from ..conftest import configured, drawn
from .rule_texts import COLUMNS, random_log, random_rule

CALL = "(TABLE(rules_log) PARTITION BY u ORDER BY t, rules => TABLE(rules_table), event_type => type)"
#: Cases that each random rule is matched in, each a log of its own.
CASES = 60
#: Rows of a statement that gives a set's columns, as texts: maps know no order.
ITEMS = "rule, u, match_number, start_time, end_time, to_json(events) AS events, to_json(measures) AS measures"


def with_rules(spark: SparkSession, rules: dict[str, str]) -> None:
    """The set's table."""
    spark.createDataFrame(list(rules.items()), "name string, rule string").createOrReplaceTempView("rules_table")


def with_log(spark: SparkSession, rows: list[tuple[object, ...]]) -> None:
    """The set's log."""
    plain = COLUMNS.replace("decimal(6, 2)", "string")
    frame = spark.createDataFrame(rows, plain)
    frame.withColumn("d", frame["d"].cast("decimal(6, 2)")).createOrReplaceTempView("rules_log")


def set_rows(spark: SparkSession) -> Counter[tuple[object, ...]]:
    """Rows of the set, which may warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PatternWarning)
        return Counter(tuple(row) for row in spark.sql(f"SELECT {ITEMS} FROM pattern_rules{CALL}").collect())


def own_statement(name: str, rule: str) -> str:
    """The rule as a statement that a user would write: all columns where it returns nothing, else the measures."""
    if rule.startswith("MATCH_RECOGNIZE ("):
        relation = f"rules_log MATCH_RECOGNIZE (PARTITION BY u ORDER BY t {rule.removeprefix('MATCH_RECOGNIZE (')}"
        return f"SELECT '{name}' AS rule, struct(*) AS found FROM {relation}"
    relation = f"(FROM rules_log PARTITION BY u ORDER BY t EVENT TYPE type {rule})"
    if "RETURN" in rule:
        return f"SELECT '{name}' AS rule, struct(*) AS found FROM {relation}"
    columns = "u, match_number, start_time, end_time, events"
    return f"SELECT '{name}' AS rule, struct({columns}) AS found FROM {relation}"


def measured(spark: SparkSession, frame: DataFrame, rule: str) -> DataFrame:
    """With ``found`` as the texts that the set has for it."""
    (struct,) = [f.dataType for f in frame.schema.fields if f.name == "found"]
    frame.createOrReplaceTempView("rules_own")
    if "RETURN" in rule or rule.startswith("MATCH_RECOGNIZE"):
        names = [f.name for f in struct.fields]  # type: ignore[attr-defined]
        if rule.startswith("MATCH_RECOGNIZE"):
            names = names[1:]  # u comes first, as a key, and again as a measure
        items = ", ".join(f"'{n}', CAST(found.`{n}` AS STRING)" for n in names)
        return spark.sql(f"SELECT rule, CAST(NULL AS STRING) AS row, to_json(map({items})) AS measures FROM rules_own")
    key = "concat_ws('|', found.u, found.match_number, found.start_time, found.end_time, to_json(found.events))"
    return spark.sql(f"SELECT rule, {key} AS row, '{{}}' AS measures FROM rules_own")


def own_rows(spark: SparkSession, rules: dict[str, str]) -> tuple[Counter[tuple[object, ...]], dict[str, str]]:
    """Rows of the rules one by one, and classes of errors of those that are refused."""
    frames: list[DataFrame] = []
    refused: dict[str, str] = {}
    for name, rule in rules.items():
        try:
            frames.append(measured(spark, spark.sql(own_statement(name, rule)), rule))
        except PySparkException as error:
            refused[name] = condition_of(error)
    rows = reduce(DataFrame.unionAll, frames).collect() if frames else []
    return Counter(tuple(row) for row in rows), refused


def check_equal(spark: SparkSession, seed: int, settings: dict[str, str], rules_of_set: int) -> None:
    """A random set over a random log, shared and one by one."""
    random = Random(seed)
    rules = {f"r{n}": random_rule(random) for n in range(rules_of_set)}
    with_log(spark, random_log(random, CASES))
    with_rules(spark, rules)
    with configured(spark, settings):
        found = set_rows(spark)
    expected, refused = own_rows(spark, rules)
    report = spark.sql(f"SELECT rule, error_class FROM pattern_rule_errors{CALL}").collect()
    assert dict(map(tuple, report)) == refused
    shown: Counter[tuple[object, ...]] = Counter()
    for (rule, *row, measures), count in found.items():
        returns = "RETURN" in rules[str(rule)] or rules[str(rule)].startswith("MATCH_RECOGNIZE")
        text = None if returns else "|".join(map(str, row))
        shown[(rule, text, measures)] += count
    for name, rule in rules.items():
        own = {key: n for key, n in shown.items() if key[0] == name}
        assert own == {key: n for key, n in expected.items() if key[0] == name}, (seed, name, rule)


@pytest.mark.parametrize(("seed", "layout"), [(1, "auto"), (2, "rows")])
def test_equal_to_statements_of_their_own(spark: SparkSession, seed: int, layout: str) -> None:
    check_equal(spark, seed, {"spark.sparkcep.exec.layout": layout}, 6)


@pytest.mark.long
@pytest.mark.parametrize("seed", drawn(range(1000, 1960)))
def test_equal_to_statements_of_their_own_at_length(spark: SparkSession, seed: int) -> None:
    check_equal(spark, seed, {"spark.sparkcep.exec.layout": "rows" if seed % 3 == 0 else "auto"}, seed % 20 + 1)


def test_bad_rules_change_nothing_else(spark: SparkSession) -> None:
    random = Random(3)
    with_log(spark, random_log(random, CASES))
    good = {"a": "PATTERN SEQ(A a, B b) WHERE b.x > a.x", "b": "PATTERN SEQ(A a, C+ c[]) RETURN count(c[].x) AS n"}
    bad = {"c": "PATTERN SEQ(A a", "d": "PATTERN SEQ(A a) WHERE a.z > 1", "e": "PATTERN SEQ(A a) WHERE no_such(a.x)"}
    with_rules(spark, good)
    alone = set_rows(spark)
    assert {row[0] for row in alone} == {"a", "b"}
    with_rules(spark, good | bad)
    assert set_rows(spark) == alone
    with pytest.warns(PatternWarning, match=r"3 of 5 rules are refused .* c \(CEP_"):
        spark.sql(f"SELECT * FROM pattern_rules{CALL}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spark.sql(f"EXPLAIN SELECT * FROM pattern_rules{CALL}").collect()
        spark.sql(f"SELECT * FROM pattern_rule_errors{CALL}").collect()


def test_arguments(spark: SparkSession) -> None:
    with_log(spark, [(1, 1, "A", 1, 1.0, "1.00", "{p}"), (1, 2, "B", 2, 1.0, "1.00", "p")])
    rule = "PATTERN SEQ(A a, B b) WHERE a.s RLIKE '[{]p{1}[}]'"
    rules = spark.createDataFrame([("ab", rule)], "name string, rule string")
    log = "TABLE({log}) PARTITION BY u ORDER BY t"
    text = f"SELECT rule, u FROM pattern_rules({log}, rules => TABLE({{rules}}), event_type => type)"
    rows = spark.sql(text, log=spark.table("rules_log"), rules=rules).collect()
    assert list(map(tuple, rows)) == [("ab", 1)]


def test_folder(spark: SparkSession, tmp_path: Path) -> None:
    with_log(spark, [(1, 1, "A", 1, 1.0, "1.00", "p"), (1, 2, "B", 2, 1.0, "1.00", "p")])
    (tmp_path / "more").mkdir()
    (tmp_path / "ab.sql").write_text("-- A, then B\nPATTERN SEQ(A a, B b);\n")
    (tmp_path / "more" / "up.sql").write_text("MATCH_RECOGNIZE (\n  PATTERN (A B)\n  DEFINE B AS x > A.x\n)")
    (tmp_path / "bad.sql").write_text("-- what is C?\nPATTERN SEQ(A a, B b)\nWHERE c.x = 1")
    (tmp_path / "README.md").write_text("no rule")
    for place in (str(tmp_path), tmp_path.as_uri()):
        call = f"(TABLE(rules_log) PARTITION BY u ORDER BY t, rules => '{place}', event_type => type)"
        with pytest.warns(PatternWarning, match="bad"):
            rows = spark.sql(f"SELECT rule, u, match_number FROM pattern_rules{call}").collect()
        assert sorted(map(tuple, rows)) == [("ab", 1, 1), ("up", 1, 1)]
        (error,) = spark.sql(f"SELECT rule, line, column FROM pattern_rule_errors{call}").collect()
        assert tuple(error) == ("bad", 3, 7)


def test_errors_that_spark_has_no_class_for(spark: SparkSession) -> None:
    """Compiled code says of a bad regular expression only what Java says; the interpreter has a class for it."""
    with_log(spark, [(1, 1, "A", 1, 1.0, "1.00", "x"), (1, 2, "B", 2, 1.0, "1.00", "y")])
    with_rules(
        spark, {"good": "PATTERN SEQ(A a, B b)", "bad": "PATTERN SEQ(A a) WHERE a.s RLIKE concat('(', left(a.s, 0))"}
    )
    reporting = f"{CALL.removesuffix(')')}, on_error => 'report')"
    for compiled, error_class in (("true", "CEP_RULE_FAILED"), ("false", "INVALID_PARAMETER_VALUE.PATTERN")):
        mode = "CODEGEN_ONLY" if compiled == "true" else "NO_CODEGEN"
        with configured(spark, {"spark.sql.codegen.wholeStage": compiled, "spark.sql.codegen.factoryMode": mode}):
            (error,) = spark.sql(f"SELECT * FROM pattern_rule_errors{reporting}").collect()
            assert (error.rule, error.error_class, error.line, error.column) == ("bad", error_class, 1, 24)


def test_what_fails_at_run_time_names_the_rule(spark: SparkSession) -> None:
    with_log(spark, [(1, t, "A", 1, 1.0, "1.00", "p") for t in range(30)])
    with_rules(spark, {"many": "PATTERN SEQ(A+ a[]) EVENT SELECTION SKIP TILL ANY MATCH WITHIN 100"})
    with configured(spark, {"spark.sparkcep.limit.matches": "1000"}), pytest.raises(Exception) as raised:
        spark.sql(f"SELECT * FROM pattern_rules{CALL}").collect()
    assert "Rule many" in str(raised.value)
    assert "CEP_MATCH_LIMIT" in str(raised.value)


@pytest.mark.full
@pytest.mark.parametrize("seed", drawn(range(4)))
def test_suppressed_alerts(spark: SparkSession, seed: int) -> None:
    """What is left out is what a loop over a key's alerts leaves out; times are equal now and then."""
    random = Random(seed)
    rows = [(str(random.randrange(6)), random.randrange(120), random.choice("AB")) for _ in range(400)]
    spark.createDataFrame(rows, "u string, t int, type string").createOrReplaceTempView("rules_log")
    texts = {"all": "PATTERN SEQ(A a, B b) WITHIN 20", "b": "PATTERN SEQ(B b)"}
    periods = {"seven": 7, "zero": 0, "forty": 40}
    with_rules(spark, {**texts, **{n: f"-- suppress: {p}\n{texts['all']}" for n, p in periods.items()}})
    found: dict[str, list[tuple[str, int, int, int]]] = {}
    for rule, *row in spark.sql(
        f"SELECT rule, u, end_time, start_time, match_number FROM pattern_rules{CALL}"
    ).collect():
        found.setdefault(rule, []).append(tuple(row))
    for name, period in periods.items():
        expected, until = [], dict[str, int]()
        for row in sorted(found["all"]):
            if row[1] >= until.get(row[0], -1):
                expected.append(row)
                until[row[0]] = row[1] + period
        assert sorted(found[name]) == expected
    assert len(found["b"]) == sum(row[2] == "B" for row in rows)


def test_costs(spark: SparkSession) -> None:
    """Matches as the set has them; rules that run by themselves are not measured; refused ones are warned of."""
    with_log(spark, random_log(Random(5), 200))
    rules = {"two": "PATTERN SEQ(A a, B b)", "three": "PATTERN SEQ(A a, B b, C c)", "bad": "PATTERN SEQ(A a"}
    with_rules(spark, rules)
    counts = Counter(row[0] for row in set_rows(spark).elements())
    with pytest.warns(PatternWarning, match="1 of 3 rules are refused"):
        costs = spark.sql(f"SELECT * FROM pattern_rule_costs{CALL}").collect()
    assert {row.rule: row.matches for row in costs} == {name: counts[name] for name in ("two", "three")}
    assert all(row.looked_at >= row.matches and row.cpu_seconds > 0 and row.runs_alone is None for row in costs)
    with configured(spark, {"spark.sparkcep.planner.sharedInput.enabled": "false"}), pytest.warns(PatternWarning):
        alone = spark.sql(f"SELECT * FROM pattern_rule_costs{CALL}").collect()
    assert {(row.matches, row.runs_alone) for row in alone} == {
        (None, "spark.sparkcep.planner.sharedInput.enabled = false")
    }
    explained = spark.sql(f"EXPLAIN ANALYZE SELECT * FROM pattern_rules{CALL}").collect()[0][0]
    listed = explained.split("== Rules ==")[1].split("\n\n")[0]
    assert f"  {counts['two']:,}  " in listed
    assert listed.rstrip().count("\n") == 3
