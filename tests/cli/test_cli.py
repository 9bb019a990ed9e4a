"""The command line, without Spark where that is possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.cli.main import main
from sparkcep.cli.printing import print_csv, print_json, print_table
from sparkcep.exec.kernel_cache.places import Places
from sparkcep.session.machine.compilers import Warmed
from sparkcep.session.messages.printed import _written, is_sparks, short_message


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("sparkcep 0.")


def test_missing_file_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "-f", "no/such/file.sql"]) == 1
    assert capsys.readouterr().err == "[CEP_FILE] no/such/file.sql cannot be read: No such file or directory.\n"


@pytest.mark.compiled
def test_warmup_compiles_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warmup"]) == 0
    capsys.readouterr()
    assert main(["warmup"]) == 0
    assert capsys.readouterr().out.startswith("All kernels were compiled before, in ")


def test_warmup_says_where_it_may_not_write(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rather than compile for minutes what no other process sees."""
    found = Places((), None, ("/a cannot be written (Read-only file system)", "/b belongs to another user"))
    monkeypatch.setattr("sparkcep.exec.kernel_cache.places.places", lambda: found)
    assert main(["warmup"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("[CEP_KERNEL_CACHE] No folder can hold compiled kernels: /a cannot be written")
    assert "Hint: export NUMBA_CACHE_DIR=" in said


def test_warmup_says_what_it_compiles(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def warm(processes: int, portable: bool, ready: Callable[[str], None]) -> Iterator[Warmed]:
        assert not portable
        yield Warmed("trends", 2, 41.0, 38.76)
        yield Warmed("runs", 0, 1.0, 0.2)
        yield Warmed("facts", 1, 1.0, 0.5)

    monkeypatch.setattr("sparkcep.session.machine.warmup.warm_for", warm)
    assert main(["warmup"]) == 0
    trends, facts, summary = capsys.readouterr().out.splitlines()
    assert trends.split() == ["trends", "2", "kernels", "38.8", "s", "of", "a", "processor"]
    assert facts.split()[:3] == ["facts", "1", "kernel"]
    assert summary.startswith("Compiled 3 kernels in ")


def test_executor_errors_lose_their_traceback() -> None:
    raised = "Traceback ...\nsparkcep.errors.LimitError: [CEP_STEP_LIMIT] too long\nHint: x\n\nJVM stacktrace:\n\tat a"
    assert short_message(Exception(raised)) == "[CEP_STEP_LIMIT] too long\nHint: x"


@pytest.mark.parametrize(
    ("fragment", "text", "found"),
    [
        ("(`a.x`/(`b.x`-`b.x`))", "FROM t PATTERN SEQ(A a) RETURN a.x / (b.x - b.x) AS r", "a.x / (b.x - b.x)"),
        ("x/(x-5)", "FROM t PATTERN SEQ(A a) WHERE a.x/(a.x-5) > 1", "a.x/(a.x-5)"),
        ("x / v", "FROM t PATTERN SEQ(A+ a[]) WHERE a[i-1].x / b.v > 1", "a[i-1].x / b.v"),
        ("`sum(v of x)` / `count(* of x|y)`", "RETURN sum(x[].v) / count(*)", "sum(x[].v) / count(*)"),
        ("CAST(s AS INT)", "SELECT cast(s\n as int), t FROM u", "cast(s\n as int)"),
        ("1/x", "SELECT 11/x, 1/xy, 1/x", "1/x"),
        ("1/x", "SELECT 1/x, 1/x", None),  # which of them
        ("__cep_f1 / 2", "SELECT x / 2", None),
        ("", "SELECT x / 2", None),
        ("(1)", "SELECT 2", None),
    ],
)
def test_where_a_fragment_is_written(fragment: str, text: str, found: str | None) -> None:
    match = _written(fragment, text)
    assert (match and match[0]) == found


def test_a_plan_gives_way_to_the_place(spark: SparkSession) -> None:
    """Spark's analyser ends its messages with the plan, kilobytes for a real query, and shows no place."""
    text = "SELECT id,\n  no_such\nFROM range(3)"
    with pytest.raises(PySparkException) as raised:
        spark.sql(text).collect()
    said = short_message(raised.value, f"SELECT 1;\n{text};")
    assert said.startswith("[UNRESOLVED_COLUMN.WITH_SUGGESTION] ")
    assert said.endswith("== SQL (line 2, position 3) ==\n  no_such\n  ^^^^^^^")
    assert "Project" not in said
    assert "^" not in short_message(raised.value, "of another text")  # what we wrote ourselves is not shown


@pytest.mark.full
def test_a_place_in_rewritten_sql_is_the_users(spark: SparkSession) -> None:
    """Spark points at the SQL that a pattern became; the user's own is shown."""
    spark.sql("SELECT 1 AS c, 5 AS t, 'a' AS e").createOrReplaceTempView("single")
    text = (
        "SELECT * FROM (FROM single PARTITION BY c ORDER BY t EVENT TYPE e PATTERN SEQ(a x) RETURN 1 / (x.c - 1) AS r)"
    )
    with pytest.raises(PySparkException) as raised:
        sparkcep.sql(spark, text).collect()
    said = short_message(raised.value, text)
    assert said.startswith("[DIVIDE_BY_ZERO] ")
    assert "__cep" not in said
    assert "1 / (x.c - 1)" in said
    with pytest.raises(PySparkException) as raised:
        spark.sql("SELECT 1 / (id - id) FROM range(1)").collect()
    assert "1 / (id - id)" in short_message(raised.value, "SELECT 1 / (id - id) FROM range(1)")


def test_what_pyspark_has_no_class_for_is_one_sentence() -> None:
    raised = type("Py4JJavaError", (Exception,), {})(
        "An error occurred while calling o5.load.\n: org.apache.spark.SparkClassNotFoundException: [SOURCE] Failed "
        "to find it.\nHelp.\n\tat org.apache.X\nCaused by: y\n\t... 12 more"
    )
    assert is_sparks(raised)
    assert short_message(raised) == "[SOURCE] Failed to find it.\nHelp."


def test_no_statement_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "-e", " ; -- nothing"]) == 1
    assert capsys.readouterr().err.startswith("[CEP_ARGUMENTS] There is no statement")


def test_intervals_are_readable_in_tables_and_exact_elsewhere(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = spark.sql(
        "SELECT INTERVAL '2 01:30:05' DAY TO SECOND AS a, -INTERVAL '1 00:00:00.5' DAY TO SECOND AS b, "
        "INTERVAL '90:00' MINUTE TO SECOND AS c, CAST(NULL AS INTERVAL DAY TO SECOND) AS d, "
        "CAST(INTERVAL '50' MINUTE AS INTERVAL DAY TO SECOND) AS e, \"INTERVAL '1 00:00:00' DAY TO SECOND\" AS f"
    )
    print_table(frame)
    (row,) = [line for line in capsys.readouterr().out.split("\n") if "2 days" in line]
    assert [v.strip() for v in row.strip("|").split("|")] == [
        "2 days 01:30:05", "-1 day 00:00:00.5", "INTERVAL '90:00' MINUTE TO SECOND", "NULL", "00:50:00",
        "INTERVAL '1 00:00:00' DAY TO SECOND",
    ]  # fmt: skip
    print_csv(frame)
    assert "INTERVAL '2 01:30:05' DAY TO SECOND" in capsys.readouterr().out


def test_formats(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    frame = spark.sql("SELECT 1 AS a, CAST(NULL AS STRING) AS b")
    print_table(frame)
    print_csv(frame)
    print_json(frame)
    out = capsys.readouterr().out
    assert "| 1 | NULL |\n" in out
    assert "\na,b\n1,\n" in out
    assert '[{"a":1,"b":null}]' in out
