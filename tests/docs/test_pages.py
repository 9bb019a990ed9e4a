"""The pages of docs/: their blocks run in order, each page in a session that holds what the page made, and give what
the page shows below them (docs_tools/pages.py says how)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import sparkcep
from docs_tools.pages import DOCS, differs, run, steps

from ..conftest import IS_CONNECT

#: Pages with code that tests of their own run, since it needs more than a session: streams, notebooks, measurements.
ELSEWHERE = {"benchmarks.md", "notebooks_and_dbt.md", "pictures.md", "streaming.md"}
#: A month of flights; and pages of recipes, which are alike.
LONG = {f"tutorial/{p}.md" for p in ("1_load_and_look", "2_first_pattern", "4_count_and_index")} | {
    f"cookbook/{p}.md" for p in ("customers", "processes", "series")
}
#: Others that take their time.
FULL = {"functions.md", "patterns.md", "cookbook/security.md", "tutorial/5_every_day.md"}
PAGES = sorted(str(p.relative_to(DOCS)) for p in DOCS.rglob("*.md") if next(steps(p.read_text()), None))


def tier(page: str) -> list[pytest.MarkDecorator]:
    """The mark of a page's test."""
    return [pytest.mark.long] if page in LONG else [pytest.mark.full] if page in FULL else []


@pytest.fixture
def page_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[SparkSession]:
    """A session without views and settings of others; what tables and indexes a page makes is dropped."""
    session = spark.newSession()
    monkeypatch.setattr("sparkcep.local_session", lambda: session)
    monkeypatch.chdir(tmp_path)
    before = {row.tableName for row in session.sql("SHOW TABLES").collect()}
    indexes = {row.name for row in session.sql("SHOW PATTERN INDEXES").collect()}
    yield session
    for row in session.sql("SHOW PATTERN INDEXES").collect():
        if row.name not in indexes:
            session.sql(f"DROP PATTERN INDEX `{row.name}`")
    for row in session.sql("SHOW PATTERN TABLES").collect():
        session.sql(f"DROP PATTERN TABLE `{row.name}`")
    for row in session.sql("SHOW TABLES").collect():
        if not row.isTemporary and row.tableName not in before:
            session.sql(f"DROP TABLE `{row.tableName}`")


@pytest.mark.skipif(IS_CONNECT, reason="what a page shows does not depend on the kind of session")
@pytest.mark.parametrize("page", [pytest.param(p, marks=tier(p)) for p in PAGES if p not in ELSEWHERE])
def test_page(page: str, page_session: SparkSession, tmp_path: Path) -> None:
    names: dict[str, Any] = {"spark": page_session, "sparkcep": sparkcep}
    text = (DOCS / page).read_text().replace("/tmp/", f"{tmp_path}/")
    wrong = []
    for step in steps(text):
        try:
            result = run(step, names)
        except Exception as e:
            wrong.append(f"{page}, line {step.line} fails:\n{e}")
            continue
        if differs(step, result):
            wrong.append(f"{page}, line {step.line} gives\n{result.shown}")
    assert not wrong, "\n".join(wrong)


def test_pages_run_here_or_elsewhere() -> None:
    assert set(PAGES) >= ELSEWHERE


def test_the_model_of_the_tutorial_is_the_one_that_is_run() -> None:
    model = (DOCS.parent / "sql_examples" / "dbt_project" / "models" / "late_shipments.sql").read_text()
    assert model in (DOCS / "tutorial" / "5_every_day.md").read_text()
