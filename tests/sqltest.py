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

Above a case a comment line `# full` leaves it to `make test-full`; what it needs above it runs anyway. A line
`# classic` says that it holds on classic sessions, and is not run on Spark Connect; `# ansi` that there is no error
without ANSI mode; `# since 4.1`, also in a file's first lines, that earlier releases of Spark lack what it needs.

Statements may hold single blank lines if they are indented. Names of views are the file's own: files share a session.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from chispa.rows_comparer import assert_basic_rows_equality
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from sparkcep.spark.exceptions import condition_of
from sparkcep.spark.releases import RELEASE

MARKS = {"full", "classic", "ansi"}
#: More settings of the session.
SETTINGS = os.environ.get("SPARKCEP_TEST_SETTINGS", "")


@dataclass(frozen=True)
class Case:
    file: Path
    line: int
    kind: str
    argument: str
    sql: str
    expected: tuple[str, ...] | None
    comment: str
    marks: frozenset[str]
    since: tuple[int, ...]

    @property
    def is_possible(self) -> bool:
        """Whether PySpark has what the case is about, `# since 4.1`, and ANSI mode is on where it is about that."""
        has_mode = "ansi" not in self.marks or "spark.sql.ansi.enabled=false" not in SETTINGS
        return has_mode and self.since <= RELEASE


def read_cases(file: Path) -> Iterator[Case]:
    """Cases of a file."""
    text = file.read_text()
    since = _since(text.split("\n\n")[0].splitlines())
    block: list[str] = []
    start = 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.strip() == "" and not (block and line.startswith(" ")):
            if any(not x.startswith("#") for x in block):
                yield _case(file, start, block, since)
            block = []
        else:
            if not block:
                start = number
            block.append(line)


def _since(lines: list[str]) -> tuple[int, ...]:
    """What a comment `# since 4.1` says; nothing without one."""
    return next((tuple(map(int, x[8:].split("."))) for x in lines if x.startswith("# since ")), ())


def _case(file: Path, start: int, block: list[str], since: tuple[int, ...]) -> Case:
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
    return Case(
        file, start, kind, argument.strip(), "\n".join(rest), expected, " ".join(comments),
        frozenset(MARKS & set(comments)), _since(block) or since,
    )  # fmt: skip


class FileRun:
    """The cases of a file against one session, in order.

    Queries that stand next to each other are one Spark job: of a small query, starting and ending the job is most of
    its time. A query whose answer is then not the expected one is run again alone, so that what fails is the case.

    Args:
        lines: where the cases begin that will be run; None: all.
    """

    def __init__(self, spark: SparkSession, file: Path, lines: Collection[int] | None = None) -> None:
        self.spark = spark
        self.file = file
        self.cases = list(read_cases(file))
        self.lines = {case.line for case in self.cases} if lines is None else lines
        self.before: dict[str, str | None] = {}
        self.done = 0
        self.answers: dict[int, list[Row] | Exception] = {}

    def run(self, line: int) -> None:
        """Run the case that begins at a line, and before it what it needs: settings and statements above it."""
        number = next(n for n, case in enumerate(self.cases) if case.line == line)
        for n in range(self.done, number):
            if self.cases[n].kind in ("ok", "set") and self.cases[n].is_possible:
                run_statement(self.spark, self.cases[n], self.before)
        self.done = max(self.done, number + 1)
        case = self.cases[number]
        if case.kind != "query":
            run_statement(self.spark, case, self.before)
            return
        if number not in self.answers:
            self.answer(number)
        try:
            expect_rows(self.answers[number], case)
        except Exception:
            if IS_ONE_TEXT:
                raise
            expect_rows(answers(self.spark, [case])[0], case)

    def answer(self, first: int) -> None:
        """The answers of the query at a number and of those next to it."""
        together: list[int] = []
        for number in range(first, len(self.cases)):
            if self.cases[number].kind != "query" or len(together) == MAX_TOGETHER:
                break
            if number == first or self.cases[number].line in self.lines:
                together.append(number)
        found = answers(self.spark, [self.cases[number] for number in together])
        self.answers.update(zip(together, found, strict=True))

    def restore(self) -> None:
        """Put back the settings that the file has changed."""
        for key, value in self.before.items():
            if value is None:
                self.spark.conf.unset(key)
            else:
                self.spark.conf.set(key, value)


#: Queries of one job: larger plans take longer to optimize than jobs take to start.
MAX_TOGETHER = 8
#: Whether they are one statement as well, whose patterns may share their input; a wrong answer is then not asked again.
IS_ONE_TEXT = os.environ.get("SPARKCEP_TEST_TEXTS") == "together"


def answers(spark: SparkSession, cases: list[Case]) -> list[list[Row] | Exception]:
    """Rows of queries as texts, by one job; an error where a query has one before it runs."""
    frames: dict[int, DataFrame] = {}
    texts: dict[int, str] = {}
    out: list[list[Row] | Exception] = [[] for _ in cases]
    for n, case in enumerate(cases):
        try:
            frame = spark.sql(case.sql)
            if case.argument:
                assert [f.dataType.simpleString() for f in frame.schema.fields] == _types(case.argument)
            names = [f"c{i}" for i in range(len(frame.columns))]
            items = f"{n} AS number", f"array({', '.join(f'CAST({name} AS STRING)' for name in names)}) AS row"
            frames[n] = frame.toDF(*names).selectExpr(*items)
            if case.sql.split(None, 1)[0].upper() in ("SELECT", "WITH", "FROM"):
                texts[n] = (
                    f"SELECT {', '.join(items)} FROM (\n{case.sql.rstrip().rstrip(';')}\n) AS q({', '.join(names)})"
                )
        except Exception as error:
            out[n] = error
    if not frames:
        return out
    try:
        if IS_ONE_TEXT and texts:
            others = [frame for n, frame in frames.items() if n not in texts]
            rows = reduce(DataFrame.unionAll, [spark.sql(" UNION ALL ".join(texts.values())), *others]).collect()
        else:
            rows = reduce(DataFrame.unionAll, frames.values()).collect()
    except PySparkException as error:
        for n in frames:  # which of them it was is found out by running it alone
            out[n] = error
        return out
    for number, row in rows:
        found = out[number]
        assert isinstance(found, list)
        found.append(row)
    return out


def expect_rows(found: list[Row] | Exception, case: Case) -> None:
    """Rows as text, in any order. They are sorted here: Spark would match everything twice to sort it."""
    if isinstance(found, Exception):
        raise found
    expected = [[None if v.strip() == "NULL" else v.strip() for v in line.split(" | ")] for line in case.expected or ()]
    width = max((len(row) for row in expected), default=0)
    names = Row(*(f"c{i}" for i in range(max(width, len(found[0]) if found else 0))))
    assert_basic_rows_equality(in_order([names(*row) for row in found]), in_order([names(*row) for row in expected]))


def run_statement(spark: SparkSession, case: Case, before: dict[str, str | None]) -> None:
    """Run a case that is no query; `before` remembers settings that it changed."""
    if case.kind == "ok":
        spark.sql(case.sql).collect()
    elif case.kind == "error":
        expect_error(spark, case)
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
    except (PySparkException, Py4JJavaError) as error:  # the latter from tasks, before Spark 4.0
        message = str(error)
        # Errors raised on executors come wrapped; their class stands in the text.
        condition = condition_of(error) if isinstance(error, PySparkException) else ""
        assert case.argument in (condition, "") or f"[{case.argument}]" in message, message
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


def in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: [(value is None, value or "") for value in row])
