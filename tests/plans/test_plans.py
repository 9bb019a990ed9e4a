"""Every statement of tests, docs, examples and the conformance cases is planned as it is written down, without Spark.

`make record` writes the plans down anew, and what Spark answers its planner: a change of a plan is a change of a file.
"""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from .answers import Answers
from .corpus import CONFORMANCE_NAME, Source, sources
from .plans import ANSWERS, PLANS, answers_file, planned, plans_file

#: Of what differs, as many lines are shown.
SHOWN = 120


@pytest.mark.parametrize("source", [pytest.param(source, id=source.name) for source in sources()])
def test_plans(source: Source) -> None:
    answers = Answers.read(answers_file(source))
    found, file = planned(source, answers), plans_file(source)
    expected = file.read_text() if file.exists() else ""
    if found != expected:
        lines = list(difflib.unified_diff(expected.splitlines(), found.splitlines(), "expected", "found", lineterm=""))
        more = [f"... {len(lines) - SHOWN} more lines"] if len(lines) > SHOWN else []
        pytest.fail("\n".join([f"{source.name}; make record writes it down:", *lines[:SHOWN], *more]), pytrace=False)


@pytest.mark.parametrize(("folder", "suffix"), [(ANSWERS, ".jsonl"), (PLANS, ".plan")])
def test_each_file_is_of_a_source(folder: Path, suffix: str) -> None:
    names = {source.name for source in sources()} | {CONFORMANCE_NAME}
    assert {str(file.relative_to(folder).with_suffix("")) for file in folder.rglob(f"*{suffix}")} <= names
