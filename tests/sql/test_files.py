"""Run every case of every `.test` file; see tests/sqltest.py for their form."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from sparkcep.query import PREFIX

from ..conftest import IS_CONNECT, IS_MANAGED
from ..plans.corpus import Source
from ..plans.plans import written
from ..sqltest import Case, FileRun, expect_lines, read_cases

FOLDER = Path(__file__).parent
#: What a session can make a difference to says so in its first line; the rest is about engines, which know none.
CONNECT = "# connect"
#: First line of what only Spark Connect says.
CONNECT_ONLY = "# connect only"


def files() -> list[Path]:
    every = sorted(FOLDER.rglob("*.test"))
    some = IS_CONNECT and os.environ.get("SPARKCEP_TEST_CONNECT") != "all"
    if not IS_CONNECT:
        every = [f for f in every if not f.read_text().startswith(CONNECT_ONLY)]
    return [f for f in every if not some or f.read_text().startswith(CONNECT)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    metafunc.parametrize(("file", "line"), [case for f in files() for case in cases_of(f)])


def cases_of(file: Path) -> list[Any]:
    """Parameters of a file's cases.

    `make test` leaves out what a plan that is written down shows (tests/plans compares it), and of queries, whose plans
    are compared as well, all but each fourth; on Connect, where a session makes the difference and not the case, it
    runs each 45th case.
    """
    name = file.relative_to(FOLDER).with_suffix("")
    planned = set() if IS_CONNECT else lines_planned(file)
    return [
        pytest.param(
            file, case.line, id=f"{name}:{case.line}",
            marks=[pytest.mark.full] if case.line in planned or is_one_of_many(case, number) else [],
        )
        for number, case in enumerate(read_cases(file))
        if case.is_possible and not ((IS_CONNECT or IS_MANAGED) and "classic" in case.marks)
    ]  # fmt: skip


def is_one_of_many(case: Case, number: int) -> bool:
    """Whether a case, by its number in the file, is left to `make test-full`, as it is more of the same."""
    if "full" in case.marks:
        return True
    return number % 45 != 0 if IS_CONNECT else case.kind == "query" and number % 4 != 1


def lines_planned(file: Path) -> set[int]:
    """Where the cases of errors and plans begin whose expectations the plans that are written down meet."""
    source = Source.of_cases(file)
    cases = [case for case, step in zip(read_cases(file), source.steps(), strict=True) if step.kind == "plan"]
    return {case.line for case, plan in zip(cases, written(source), strict=False) if is_met(case, plan)}


def is_met(case: Case, plan: str) -> bool:
    """Whether a plan as text says all that a case expects."""
    lines = tuple(line.strip().replace(PREFIX, "_") for line in case.expected or ())
    if case.kind == "explain":
        with contextlib.suppress(AssertionError):
            expect_lines(plan, lines)
            return bool(lines)
    is_error = case.kind == "error" and plan.startswith(f"[{case.argument}]")
    return is_error and all(line in plan for line in lines)


@pytest.fixture(scope="module")
def opened(spark: SparkSession) -> Iterator[list[FileRun]]:
    """The file at hand, once there is one."""
    runs: list[FileRun] = []
    yield runs
    for run in runs:
        run.restore()


def lines_asked(request: pytest.FixtureRequest, file: Path) -> set[int]:
    """Where the cases of a file begin that this run of pytest selects."""
    calls = (getattr(item, "callspec", None) for item in request.session.items)
    return {call.params["line"] for call in calls if call is not None and call.params.get("file") == file}


def test_case(
    request: pytest.FixtureRequest, spark: SparkSession, opened: list[FileRun], file: Path, line: int
) -> None:
    if not opened or opened[0].file != file:
        for run in opened:
            run.restore()
        opened[:] = [FileRun(spark, file, lines_asked(request, file))]
    opened[0].run(line)
