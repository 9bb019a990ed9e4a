"""Errors found while rows are matched: class, sentence and hint reach the user, a worker's traceback never does."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import redirect_stdout
from itertools import product

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.cli.shell import Shell
from sparkcep.cli.statements import run_statements
from sparkcep.errors import LimitError, SparkCepError, error_behind
from sparkcep.session.messages.printed import short_message

from ..conftest import some

HINT = "Hint: "
SKIPS = """SELECT * FROM re_log MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES count(*) AS n
  AFTER MATCH SKIP TO A PATTERN (A B+) DEFINE B AS v > 0)"""
STEPS = "spark.sparkcep.limit.steps"
ALL = """SELECT * FROM re_log MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES count(*) AS n
  EVENT SELECTION SKIP TILL ANY MATCH PATTERN (A B+) DEFINE B AS v > A.v)"""
BLOCK = "FROM re_log PARTITION BY k ORDER BY t EVENT TYPE e PATTERN SEQ(A a, B+ b[]) WHERE b[i].v > a.v"


@pytest.fixture(autouse=True)
def log(spark: SparkSession) -> None:
    rows = "SELECT k, t, IF(t = 0, 'A', 'B') AS e, t AS v FROM range(6) r(t), range(3) s(k)"
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW re_log AS {rows}")


@pytest.fixture
def limits(spark: SparkSession) -> Iterator[dict[str, str]]:
    """Settings to make, unset behind the test."""
    made: dict[str, str] = {}
    yield made
    for key in made:
        spark.conf.unset(key)


def assert_told(text: str, error_class: str, *more: str) -> None:
    for part in (f"[{error_class}] ", HINT, *more):
        assert part in text, f"{part!r} is not in\n{text}"
    assert "Traceback" not in text
    assert "sparkcep/" not in text
    assert "File " not in text


#: What each engine raises: settings, statement, class, part of the sentence.
RAISED = {
    "clause": ({}, SKIPS, "CEP_SKIP_TO_FIRST_ROW", "first row of the match itself"),
    "condition": (
        {},
        "SELECT * FROM re_log MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES A.t AS a PATTERN (A B) "
        "DEFINE B AS 1 / (v - A.v - 1) > 0)",
        "DIVIDE_BY_ZERO",
        "in a condition",
    ),
    "interpreted": (
        {},
        "SELECT * FROM re_log MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES A.t AS a PATTERN (A B) "
        "DEFINE B AS concat(A.e, 'x') <> e AND 7 % A.v = 0)",
        "DIVIDE_BY_ZERO",
        "in a condition",
    ),
    "runs": ({"spark.sparkcep.limit.matches": "1"}, BLOCK, "CEP_MATCH_LIMIT", "(spark.sparkcep.limit.matches)"),
    "block": ({STEPS: "2"}, BLOCK, "CEP_STEP_LIMIT", STEPS),
    "trends": (
        {"spark.sparkcep.limit.events": "2"},
        "FROM re_log PARTITION BY k ORDER BY t EVENT TYPE e PATTERN SEQ(A a, B+ b[]) RETURN COUNT(*)",
        "CEP_EVENT_LIMIT",
        "matched whole",
    ),
    "uncertain": ({STEPS: "2"}, BLOCK + " UNCERTAINTY 1", "CEP_STEP_LIMIT", STEPS),
    "non_answers": (
        {"spark.sparkcep.limit.events": "2"},
        "FROM re_log PARTITION BY k ORDER BY t EVENT TYPE e PATTERN SEQ(B b, A a) "
        "EXPLAIN NON ANSWERS (k => 3, uncertainty => 1, step => 1)",
        "CEP_EVENT_LIMIT",
        "matched whole",
    ),
}


@pytest.mark.parametrize(
    ("engine", "layout"),
    some(product(RAISED, ["lists", "rows"]), [("clause", "rows"), *((engine, "lists") for engine in RAISED)]),
)
def test_engines(engine: str, layout: str, spark: SparkSession, limits: dict[str, str]) -> None:
    made, statement, error_class, sentence = RAISED[engine]
    limits |= made | {"spark.sparkcep.exec.layout": layout}
    for key, value in limits.items():
        spark.conf.set(key, value)
    with pytest.raises(PySparkException) as caught:
        spark.sql(statement).collect()
    assert_told(str(caught.value), error_class, sentence)
    behind = error_behind(caught.value)
    assert behind is not None
    assert behind.error_class == error_class
    assert isinstance(behind, LimitError) == error_class.endswith("_LIMIT")


@pytest.mark.parametrize("layout", ["lists", "rows"])
@pytest.mark.parametrize(
    "around",
    [
        "SELECT count(*) FROM ({}) m",
        "SELECT 1 FROM ({}) m WHERE n IS NOT NULL AND n > 100",
        "SELECT m.k FROM ({}) m JOIN range(9) r ON m.n = r.id",
        "SELECT EXISTS (SELECT 1 FROM ({}) m WHERE n = 1) FROM range(1)",
        "WITH m AS ({}) SELECT a.k FROM m a JOIN m b ON a.n = b.n WHERE b.n < 0",
        "SELECT k FROM ({}) m GROUP BY k HAVING max(n) > 7",
        "SELECT * FROM range(2) r, LATERAL (SELECT max(n) FROM ({}) m WHERE m.n > r.id)",
    ],
)
def test_nothing_drops_the_error(around: str, layout: str, spark: SparkSession, limits: dict[str, str]) -> None:
    """Neither columns that nobody reads nor conditions that the row with the error does not meet."""
    limits["spark.sparkcep.exec.layout"] = layout
    spark.conf.set("spark.sparkcep.exec.layout", layout)
    # What goes wrong in a subquery of the statement around comes from a classic session as Py4JJavaError.
    with pytest.raises(Exception, match="CEP_SKIP_TO_FIRST_ROW") as caught:
        spark.sql(around.format(SKIPS)).collect()
    behind = error_behind(caught.value)
    assert behind is not None
    assert_told(str(behind), "CEP_SKIP_TO_FIRST_ROW")
    assert "Traceback" not in str(caught.value)


def test_ranges(spark: SparkSession, limits: dict[str, str]) -> None:
    """An error in the first of two passes over the rows."""
    limits |= {"spark.sparkcep.exec.layout": "rows", STEPS: "2"}
    for key, value in limits.items():
        spark.conf.set(key, value)
    statement = """SELECT * FROM re_log MATCH_RECOGNIZE (ORDER BY t MEASURES count(*) AS n
      PATTERN (A B*) WITHIN 1 DEFINE B AS v >= A.v)"""
    assert "ranges of" in sparkcep.explain(spark, statement)
    with pytest.raises(PySparkException) as caught:
        spark.sql(statement).collect()
    assert_told(str(caught.value), "CEP_STEP_LIMIT")


# -- surfaces ----------------------------------------------------------------------------------------------------------


def test_show(spark: SparkSession) -> None:
    with pytest.raises(PySparkException) as caught:
        spark.sql(SKIPS).show()
    assert_told(str(caught.value), "CEP_SKIP_TO_FIRST_ROW")


@pytest.fixture
def notebook(spark: SparkSession) -> Iterator[InteractiveShell]:
    made = InteractiveShell.instance()
    made.user_ns["spark"] = spark
    made.user_ns["statement"] = SKIPS
    made.run_line_magic("load_ext", "sparkcep")
    yield made
    made.reset()
    InteractiveShell.clear_instance()
    sparkcep.enable()  # as the session's fixture left it


@pytest.mark.parametrize(
    "cell", [f"%%cep\n{SKIPS}", "spark.sql(statement).show()", "found = spark.sql(statement)\nfound.collect()"]
)
def test_notebook(cell: str, notebook: InteractiveShell) -> None:
    with capture_output() as captured:
        result = notebook.run_cell(cell)
    assert not result.success
    assert_told(captured.stdout + captured.stderr, "CEP_SKIP_TO_FIRST_ROW")
    assert "USER_RAISED_EXCEPTION" not in captured.stdout


def test_notebook_keeps_other_errors(notebook: InteractiveShell) -> None:
    """What is not about a pattern is shown as ever."""
    with capture_output() as captured:
        result = notebook.run_cell("spark.sql('SELECT raise_error(\"mine\")').collect()")
    assert not result.success
    assert "mine" in captured.stdout
    assert "Traceback" in captured.stdout


def test_shell(spark: SparkSession) -> None:
    said: list[str] = []
    Shell(spark, said.append).feed(SKIPS + ";")
    assert_told("\n".join(said), "CEP_SKIP_TO_FIRST_ROW")
    assert said[0].startswith("[CEP_SKIP_TO_FIRST_ROW] ")


def test_command_line(spark: SparkSession) -> None:
    with redirect_stdout(io.StringIO()), pytest.raises(PySparkException) as caught:
        run_statements(spark, SKIPS, "table")
    text = short_message(caught.value)
    assert_told(text, "CEP_SKIP_TO_FIRST_ROW")
    assert text.startswith("[CEP_SKIP_TO_FIRST_ROW] ")
    assert "SQLSTATE" not in text


def test_function(spark: SparkSession, limits: dict[str, str]) -> None:
    """A pattern function's rows are the user's own; what goes wrong comes as Spark tells errors of Python code."""
    limits[STEPS] = "2"
    spark.conf.set(STEPS, "2")
    spark.sql(f"CREATE OR REPLACE TEMPORARY PATTERN FUNCTION re_f AS {BLOCK.replace('FROM re_log ', '')}")
    with pytest.raises(PySparkException) as caught:
        spark.sql("SELECT * FROM re_f(TABLE(re_log))").collect()
    assert_told(str(caught.value), "CEP_STEP_LIMIT")
    with pytest.raises(PySparkException) as caught:
        spark.sql("SELECT * FROM re_f(TABLE(SELECT 1 AS x))").collect()
    text = str(caught.value)
    assert "[CEP_" in text
    assert "Traceback" not in text


def test_users_own_errors_are_not_ours(spark: SparkSession) -> None:
    with pytest.raises(PySparkException) as caught:
        spark.sql("SELECT raise_error('[MINE] It is mine.')").collect()
    assert error_behind(caught.value) is None
    assert error_behind(ValueError("[CEP_X] y")) is None
    error = SparkCepError("CEP_SYNTAX_ERROR", "A sentence.")
    assert error_behind(error) is error


def test_names_with_braces_in_formatted_statements(spark: SparkSession) -> None:
    """With keyword arguments Spark formats the text, so braces come doubled; names are what they stand for."""
    frame = spark.table("re_log")
    clause = """SELECT * FROM {log} MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES CLASSIFIER() AS c,
      count(`b{{}}`.t) AS n PATTERN (A `b{{}}`) DEFINE `b{{}}` AS CLASSIFIER() = 'b{{}}')"""
    assert {(r.c, r.n) for r in spark.sql(clause, log=frame).collect()} == {("b{}", 1)}
    block = """FROM {log} PARTITION BY k ORDER BY t EVENT TYPE e PATTERN SEQ('A' `a{{}}`, B b) MATCHES FIRST"""
    assert {r.events[0].variable for r in spark.sql(block, log=frame).collect()} == {"a{}"}
