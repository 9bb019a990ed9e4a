"""The code of a page of docs/, run in order in one session, and the results that the page shows below it.

python -m docs_tools.pages docs/language.md ...    runs pages and writes the results into them

A block of SQL or Python is followed by what it gives, with nothing but blank lines between: the rows of the last
statement as a table of Markdown; what Python prints, the lines of a plan (`...` stands for any lines), or an error's
text as a block of text. A block of Python whose result is a table ends in an expression that is a DataFrame. What
nothing follows is only run. A picture of the match, a block of text with a title, may stand in between. Of commands
(`sh`) a `sparkcep ...` is run, in this process, where the page shows what it prints.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import sparkcep
from sparkcep.cli.main import main as main_of_the_command
from sparkcep.cli.printing import print_markdown
from sparkcep.errors import SparkCepError, error_behind
from sparkcep.session.machine.local import local_session
from sparkcep.sql.script import split_statements

DOCS = Path(__file__).parents[1] / "docs"
_STEP = re.compile(
    r"^```(?P<language>sql|python|sh)\n(?P<code>.*?)^```\n"
    r"(?:\n+```text title=[^`]*^```\n)?"
    r"(?:\n+(?:(?P<table>(?:\|[^\n]*\n)+)|```text\n(?P<text>.*?)^```\n))?",
    re.DOTALL | re.MULTILINE,
)
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


@dataclass(frozen=True, slots=True)
class Step:
    """One block of a page. ``table``, ``text``: what the page shows below it, where it shows something."""

    line: int
    language: str
    code: str
    table: str | None
    text: str | None
    place: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Result:
    """What a block has given, in the form in which the page shows it; ``ordered``: its rows have an order."""

    shown: str
    ordered: bool = True


def steps(page: str) -> Iterator[Step]:
    """The blocks of a page's text that are run."""
    for m in _STEP.finditer(page):
        group = "table" if m["table"] is not None else "text" if m["text"] is not None else "code"
        if m["language"] == "sh" and (group != "text" or not m["code"].startswith("sparkcep ")):
            continue
        line = page.count("\n", 0, m.start()) + 1
        yield Step(line, m["language"], m["code"], m["table"], m["text"], m.span(group))


def run(step: Step, names: dict[str, Any]) -> Result:
    """Run a block.

    Args:
        names: what Python blocks of the page have defined; they add to it. SQL is run by the session ``spark``.

    Raises:
        Exception: what the block raises, unless the page shows the error.
    """
    try:
        return _run(step, names)
    except (PySparkException, SparkCepError) as e:
        if step.text is None or not step.text.startswith(("[", "?")):
            raise
        own = error_behind(e)
        return Result(f"{e if own is None else own}".strip() + "\n")


def _run(step: Step, names: dict[str, Any]) -> Result:
    if step.language == "python":
        return _run_python(step, names)
    spark = names["spark"]
    if step.language == "sh":
        return _run_command(step, spark)
    *before, last = split_statements(step.code)
    for statement in before:
        spark.sql(statement)
    frame = spark.sql(last)
    if step.table is not None:
        return Result(_markdown(frame), _is_ordered(last))
    rows = frame.collect() if step.text is not None or not frame.isStreaming else []
    if step.text is None:
        return Result("")
    return Result("\n".join(str(value) for row in rows for value in row).strip() + "\n")


def _run_python(step: Step, names: dict[str, Any]) -> Result:
    tree = ast.parse(step.code)
    value: Any = None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        if step.table is not None:
            last = tree.body.pop()
            assert isinstance(last, ast.Expr), f"line {step.line}: a table below Python code that ends in no expression"
            exec(compile(tree, "page", "exec"), names)
            value = eval(compile(ast.Expression(last.value), "page", "eval"), names)
        else:
            exec(compile(tree, "page", "exec"), names)
    if isinstance(value, DataFrame):
        return Result(_markdown(value), False)
    return Result(printed.getvalue().strip() + "\n")


def _run_command(step: Step, spark: SparkSession) -> Result:
    session = spark.newSession()
    with (
        mock.patch("sparkcep.session.machine.local.started_session", lambda *_: session),
        contextlib.redirect_stdout(io.StringIO()) as printed,
    ):
        code = main_of_the_command(shlex.split(step.code.replace("\\\n", " "))[1:])
    assert code == 0, f"line {step.line}: the command ends with {code}"
    return Result(printed.getvalue().strip() + "\n")


def _markdown(frame: DataFrame) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        print_markdown(frame)
    head, _, *rows = printed.getvalue().splitlines()
    rule = "|".join("--:" if t.startswith(_NUMBERS) else "---" for _, t in frame.dtypes)
    return "\n".join([head, f"|{rule}|", *rows]) + "\n"


def _is_ordered(sql: str) -> bool:
    """Whether the statement itself says the order of its rows."""
    flat, depth = [], 0
    for character in sql:
        depth += (character == "(") - (character == ")")
        if depth == 0:
            flat.append(character)
    words = " ".join("".join(flat).upper().split())
    behind = words.partition(" RETURN ")[2] if words.startswith("FROM ") else words
    return "ORDER BY" in behind


def differs(step: Step, result: Result) -> bool:
    """Whether the page shows something else below a block than the block gives."""
    if step.table is not None:
        expected, found = _cells(step.table), _cells(result.shown)
        if result.ordered:
            return expected != found
        return expected[:1] != found[:1] or sorted(expected) != sorted(found)
    if step.text is None:
        return False
    found_lines = iter(line.rstrip() for line in result.shown.splitlines())
    skipping = False
    for line in (line.rstrip() for line in step.text.strip("\n").splitlines()):
        if line.strip() == "...":
            skipping = True
        elif skipping:
            if line not in found_lines:
                return True
            skipping = False
        elif next(found_lines, None) != line:
            return True
    return not skipping and next(found_lines, None) is not None


def _cells(table: str) -> list[list[str]]:
    rows = [[c.strip() for c in re.split(r"(?<!\\)\|", line.strip())[1:-1]] for line in table.splitlines()]
    return [rows[0], *rows[2:]]


def filled(page: str, spark: SparkSession) -> str:
    """The page with the results of its blocks; a text with `...` is left as it is."""
    out, end = [], 0
    names: dict[str, Any] = {"spark": spark, "sparkcep": sparkcep}
    for step in steps(page):
        try:
            with mock.patch("sparkcep.local_session", lambda: spark):
                result = run(step, names)
        except Exception as e:  # the next block may still run
            print(f"line {step.line}: {e}", file=sys.stderr)
            continue
        if (step.table is None and step.text is None) or not differs(step, result):
            continue
        if step.text is not None and "\n..." in f"\n{step.text}":
            print(f"line {step.line}:\n{result.shown}", file=sys.stderr)
            continue
        head, rule, *rows = result.shown.splitlines() if step.table is not None else ("", "")
        if step.table is not None and not result.ordered:
            result = Result("\n".join([head, rule, *sorted(rows)]) + "\n")
        out += [page[end : step.place[0]], result.shown]
        end = step.place[1]
    return "".join([*out, page[end:]])


#: As the tests run pages: compiling a query would take longer than running it over a few rows.
_CONF = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
}


def main() -> None:
    spark = local_session("local[2]", None, _CONF)
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(filled(path.read_text(), spark.newSession()))


if __name__ == "__main__":
    main()
