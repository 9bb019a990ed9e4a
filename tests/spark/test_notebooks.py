"""The notebooks' cells, run by IPython's own shell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.cli.notebook import Plan, Table, run_cell
from sparkcep.errors import SparkCepError

from ..conftest import IS_CONNECT
from .test_interrupts import LONG, pressed

NOTEBOOKS = sorted((Path(__file__).parents[2] / "sql_examples" / "notebooks").glob("*.ipynb"))


@pytest.fixture
def shell(spark: SparkSession) -> Iterator[InteractiveShell]:
    made = InteractiveShell.instance()
    made.user_ns["spark"] = spark
    yield made
    made.reset()
    InteractiveShell.clear_instance()
    sparkcep.enable()  # as the session's fixture left it


def marks_of(number: int) -> list[pytest.MarkDecorator]:
    """Of a notebook: the first is quick."""
    return [] if number == 0 else [pytest.mark.full if number == 1 and not IS_CONNECT else pytest.mark.long]


@pytest.mark.parametrize(
    "path",
    [pytest.param(p, id=p.stem, marks=marks_of(number)) for number, p in enumerate(NOTEBOOKS)],
)
def test_notebook(path: Path, shell: InteractiveShell) -> None:
    """Every cell runs, and one that is to fail says why."""
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        with capture_output() as captured:
            result = shell.run_cell(source)
        if "dwon" in source:
            assert "did you mean DOWN?" in captured.stdout
            assert "Traceback" not in captured.stdout
        else:
            assert result.success, f"{source}\n{captured.stdout}"


def test_a_result_without_rows_says_why(shell: InteractiveShell, spark: SparkSession) -> None:
    shell.run_line_magic("load_ext", "sparkcep")
    block = "FROM (SELECT 1 AS c, 5 AS t, 'Closed' AS e) PARTITION BY c ORDER BY t EVENT TYPE e PATTERN SEQ({} a)"
    with capture_output() as captured:
        shell.run_cell("%%cep\n" + block.format("Closd"))
    (shown,) = captured.outputs
    assert "0 rows; no row has e = &#x27;Closd&#x27;; did you mean &#x27;Closed&#x27;?" in shown.data["text/html"]
    with capture_output() as captured:
        shell.run_cell("%%cep\n" + block.format("Closed") + " WHERE CAST(a.e AS INT) > 1")
    assert "CAST_INVALID_INPUT" in captured.stdout
    assert "CASE WHEN" not in captured.stdout  # of the SQL that the pattern became


def test_a_plan_keeps_its_lines(shell: InteractiveShell, spark: SparkSession) -> None:
    shell.run_line_magic("load_ext", "sparkcep")
    with capture_output() as captured:
        shell.run_cell("%%cep\nEXPLAIN FROM (SELECT 1 AS t, 'a' AS e) ORDER BY t EVENT TYPE e PATTERN SEQ(a x)")
    (shown,) = captured.outputs
    assert "<pre" in shown.data["text/html"]
    assert "\n  Pattern: x\n" in shown.data["text/plain"]


def test_magic(shell: InteractiveShell, spark: SparkSession) -> None:
    shell.run_line_magic("load_ext", "sparkcep")
    with capture_output() as captured:
        shell.run_cell("%%cep --limit 1 --view shown found\nSELECT id, NULL AS n FROM range(2) ORDER BY id")
    (shown,) = captured.outputs
    assert shown.data["text/html"] == (
        '<table><thead><tr><th style="text-align: right">id</th><th style="text-align: left">n</th></tr></thead>'
        '<tbody><tr><td style="text-align: right">0</td><td style="text-align: left"><i>NULL</i></td></tr>'
        "</tbody></table>"
        "<p>the first 1 rows</p>"
    )
    assert shell.user_ns["found"].count() == spark.table("shown").count() == 2
    shell.run_line_magic("unload_ext", "sparkcep")
    with capture_output() as captured:
        shell.run_cell("%%cep\nSELECT 1")
    assert "cep" in captured.stderr


def test_an_interrupted_cell_is_one_word(shell: InteractiveShell) -> None:
    """Spark's jobs are cancelled, nobody's stack is shown, and cells behind it do not run: it has failed."""
    shell.run_line_magic("load_ext", "sparkcep")
    with pressed(2), capture_output() as captured:
        result = shell.run_cell(f"%%cep\n{LONG}")
    assert not result.success
    assert captured.stdout == "Interrupted.\n"
    assert not captured.stderr


def test_cells(spark: SparkSession) -> None:
    values = {"spark": spark}
    assert run_cell("", "CREATE OR REPLACE TEMPORARY VIEW made AS SELECT '<b>' AS x; SET a = 1; ", values) is not None
    table = run_cell("", "SELECT x FROM made", values)
    assert isinstance(table, Table)
    assert "&lt;b&gt;" in table._repr_html_()
    assert repr(table) == "x\n<b>\n(1 row)"
    plan = run_cell("--explain", "FROM made ORDER BY x EVENT TYPE x PATTERN SEQ(A a)", values)
    assert isinstance(plan, Plan)
    assert "== Pattern Plan ==" in repr(plan)


@pytest.mark.parametrize(
    ("line", "cell"), [("--limit x", "SELECT 1"), ("--limit -1", "SELECT 1"), ("1a", "SELECT 1"), ("", " ; ")]
)
def test_arguments(line: str, cell: str, spark: SparkSession) -> None:
    with pytest.raises(SparkCepError, match="CEP_ARGUMENTS"):
        run_cell(line, cell, {"spark": spark})
