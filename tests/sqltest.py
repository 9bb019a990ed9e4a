"""Tests as data: SQL in, rows out, in the style of sqllogictest.

A `.test` file is a list of cases separated by blank lines; `#` lines are comments. A case is one of

    statement ok
    CREATE TEMPORARY VIEW ...

    statement error ERROR_CLASS            -- optionally, lines after ---- that the message must contain
    SELECT ...

    query [types]                          -- types as Spark's simpleString, separated by commas
    SELECT ...
    ----
    1 | a | NULL                           -- rows in any order, as Spark casts them to STRING

    explain                                -- lines after ---- must occur in the plan, in this order
    SELECT ...

    set KEY VALUE                          -- for the rest of the file

Statements may hold single blank lines if they are indented. Names of views are the file's own: files share a session.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from chispa.rows_comparer import assert_basic_rows_equality
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession


@dataclass(frozen=True)
class Case:
    file: Path
    line: int
    kind: str
    argument: str
    sql: str
    expected: tuple[str, ...] | None
    comment: str


def read_cases(file: Path) -> Iterator[Case]:
    """Cases of a file."""
    text = file.read_text()
    block: list[str] = []
    start = 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.strip() == "" and not (block and line.startswith(" ")):
            if any(not x.startswith("#") for x in block):
                yield _case(file, start, block)
            block = []
        else:
            if not block:
                start = number
            block.append(line)


def _case(file: Path, start: int, block: list[str]) -> Case:
    comments = [x.lstrip("# ") for x in block if x.startswith("#")]
    body = [x for x in block if not x.startswith("#")]
    head = body[0].split(None, 1)
    kind, argument = head[0], head[1] if len(head) > 1 else ""
    if kind == "statement":
        kind, _, argument = argument.partition(" ")
    rest = body[1:]
    expected = None
    if "----" in rest:
        at = rest.index("----")
        rest, expected = rest[:at], tuple(rest[at + 1 :])
    return Case(file, start, kind, argument.strip(), "\n".join(rest), expected, " ".join(comments))


def run(spark: SparkSession, case: Case, before: dict[str, str | None]) -> None:
    """Run one case; `before` remembers settings that it changed."""
    if case.kind == "ok":
        spark.sql(case.sql).collect()
    elif case.kind == "error":
        expect_error(spark, case)
    elif case.kind == "query":
        frame = spark.sql(case.sql)
        if case.argument:
            assert [f.dataType.simpleString() for f in frame.schema.fields] == _types(case.argument)
        compare(frame, case.expected or ())
    elif case.kind == "explain":
        expect_lines(str(spark.sql("EXPLAIN " + case.sql).collect()[0][0]), case.expected or ())
    elif case.kind == "set":
        key, _, value = case.argument.partition(" ")
        before.setdefault(key, spark.conf.get(key, None))
        spark.conf.set(key, value)
    else:
        raise AssertionError(f"unknown case: {case.kind}")


def _types(text: str) -> list[str]:
    return [t.strip() for t in re.split(r",(?![^(<]*[)>])", text)]


def expect_error(spark: SparkSession, case: Case) -> None:
    try:
        spark.sql(case.sql).collect()
    except PySparkException as error:
        message = str(error)
        # Errors raised on executors come wrapped; their class stands in the text.
        assert case.argument in (error.getCondition(), "") or f"[{case.argument}]" in message, message
        for line in case.expected or ():
            assert line.strip() in message, f"{line.strip()!r} is not in\n{message}"
        return
    raise AssertionError(f"no error; expected {case.argument}")


def expect_lines(plan: str, lines: tuple[str, ...]) -> None:
    at = 0
    for line in lines:
        found = plan.find(line.strip(), at)
        assert found >= 0, f"{line.strip()!r} is not in (or not in order)\n{plan}"
        at = found + len(line.strip())


def compare(frame: DataFrame, expected: tuple[str, ...]) -> None:
    """Rows as text, in any order. They are sorted here: Spark would match everything twice to sort it."""
    names = [f"c{i}" for i in range(len(frame.columns))]
    texts = frame.toDF(*names).selectExpr(*(f"CAST({n} AS STRING) AS {n}" for n in names))
    rows = [tuple(None if v.strip() == "NULL" else v.strip() for v in line.split(" | ")) for line in expected]
    assert_basic_rows_equality(in_order(texts.collect()), in_order([Row(*names)(*values) for values in rows]))


def in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: [(value is None, value or "") for value in row])
