"""Pages of docs/ that need more than a session (the others: tests/docs), and that what is made from code is current."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from docs_tools.pictures import LOG
from docs_tools.reference import PAGES

from ..conftest import configured
from ..docs.test_pages import ELSEWHERE

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
#: Pages whose blocks run here; those of two others run in test_notebooks.py and the benchmarks.
HERE = {"pictures.md", "streaming.md"}


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)


def test_every_page_with_code_is_run() -> None:
    assert HERE | {"notebooks_and_dbt.md", "benchmarks.md"} == ELSEWHERE


@pytest.mark.parametrize("name", PAGES)
def test_pages_made_from_code_are_current(name: str) -> None:
    assert (DOCS / name).read_text() == PAGES[name](), "python -m docs_tools.reference"


@pytest.mark.full
@pytest.mark.usefixtures("small_streams")
def test_streaming(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The quick start writes what the statement gives over the days at rest, but for the last ten hours."""
    monkeypatch.setattr("sparkcep.local_session", lambda: spark)
    code, clocks, kept = blocks("streaming.md", "python")
    clause, imprecise, chained, history = blocks("streaming.md", "sql")
    names: dict[str, object] = {}
    try:
        exec(code.replace("/tmp/", f"{tmp_path}/"), names)
        assert names["query"].awaitTermination(300)  # type: ignore[attr-defined]
        assert spark.sql(clause).isStreaming
        assert spark.sql(imprecise).isStreaming
        exec(kept.replace("/tmp/", f"{tmp_path}/"), names)
        state = re.findall(r"FROM pattern_stream_state\('/tmp/(\w+)'\)", kept)
        assert spark.sql(f"SELECT * FROM pattern_stream_state('{tmp_path}/{state[0]}')").count() > 1
        *settings, followed = chained.rstrip().rstrip(";").split(";\n")
        with configured(spark, values_of(settings)):
            query = spark.sql(followed).writeStream.format("parquet").trigger(availableNow=True).options(
                path=f"{tmp_path}/hours", checkpointLocation=f"{tmp_path}/hours_checkpoint"
            ).start()  # fmt: skip
            assert query.awaitTermination(300)
        hours = {tuple(row) for row in spark.read.parquet(f"{tmp_path}/hours").collect()}
        written = {tuple(row) for row in spark.read.parquet(f"{tmp_path}/late_and_later").collect()}
        spark.read.parquet(f"{tmp_path}/days").createOrReplaceTempView("departures")
        (statement,) = re.findall(r'spark\.sql\("""(.*?)"""', code, re.DOTALL)
        expected = {tuple(row) for row in spark.sql(statement).collect()}
        assert written
        assert written <= expected
        latest = max(row[1] for row in written)
        assert {row for row in expected if row[1] < latest} <= written
        assert hours
        assert hours <= {tuple(row) for row in spark.sql(followed).collect()}
        with configured(spark, values_of(settings) | values_of(history.rstrip().rstrip(";").split(";\n"))):
            lived = behind_a_table(spark, statement, tmp_path)
        assert lived
        assert lived <= expected
        assert {row for row in expected if str(row[1]) >= BORDER and row[1] < latest} <= lived
        exec(clocks, names)
        assert spark.sql(statement).isStreaming
    finally:
        spark.catalog.dropTempView("departures")


#: Days of the quick start up to here are a table, the others a stream.
BORDER = "2013-01-06"


def values_of(statements: list[str]) -> dict[str, str]:
    """Keys and values of SET statements."""
    assert all(s.lstrip().startswith("SET ") for s in statements)
    return dict(s.strip().removeprefix("SET ").split(" = ") for s in statements)


def behind_a_table(spark: SparkSession, statement: str, folder: Path) -> set[tuple[object, ...]]:
    """What the quick start's statement emits of a stream that starts with a table."""
    days = spark.read.parquet(f"{folder}/days")
    days.where(f"departure < '{BORDER}'").createOrReplaceTempView("past_departures")
    days.where(f"departure >= '{BORDER}'").coalesce(1).write.parquet(f"{folder}/live")
    stream = spark.readStream.schema(days.schema).parquet(f"{folder}/live")
    stream.withWatermark("departure", "1 hour").createOrReplaceTempView("departures")
    found = spark.sql(statement)
    query = found.writeStream.format("parquet").trigger(availableNow=True).options(
        path=f"{folder}/lived", checkpointLocation=f"{folder}/lived_checkpoint"
    ).start()  # fmt: skip
    assert query.awaitTermination(300)
    return {tuple(row) for row in spark.read.parquet(f"{folder}/lived").collect()}


def test_pictures(spark: SparkSession) -> None:
    session = spark.newSession()
    session.sql(LOG.replace("CREATE TABLE orders USING parquet", "CREATE TEMPORARY VIEW orders"))
    exec("\n".join(blocks("pictures.md", "python")), {"spark": session})
    pages = (DOCS / "pictures.md").read_text() + (DOCS / "index.md").read_text()
    named = set(re.findall(r"\(pictures/(\w+\.png)\)", pages))
    assert named == {p.name for p in (DOCS / "pictures").glob("*.png")}


@pytest.mark.full
def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    assert (tmp_path / "site" / "pictures.html").exists()
