"""Every SQL block of docs/patterns.md, docs/non_answers.md and docs/language.md runs and finds something."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sparkcep.sql.script import split_statements

PAGES = [Path(__file__).parents[2] / "docs" / name for name in ("patterns.md", "non_answers.md", "language.md")]
BLOCKS = [s for page in PAGES for text in re.findall(r"^```sql\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
          for s in split_statements(text)]  # fmt: skip

#: The pages' tables, and the rows that their statements give, in the order of the pages.
VIEWS = {
    "readings": """SELECT tag, TIMESTAMP'2026-01-01 08:00:00' + make_dt_interval(0, 0, minute) AS time, event
        FROM VALUES (1, 0, 'Shelf'), (2, 5, 'Shelf'), (2, 6, 'Register'), (2, 7, 'Exit'), (1, 90, 'Exit')
        t(tag, minute, event)""",
    "letters": "SELECT * FROM VALUES (0, 'A'), (1, 'B'), (2, 'X'), (3, 'B'), (4, 'C') t(id, letter)",
    "trades": """SELECT * FROM VALUES ('X', 1, 10), ('X', 2, 12), ('X', 3, 11), ('X', 4, 13), ('X', 5, 9), ('X', 6, 8)
        t(symbol, id, price)""",
}
COUNTS = [1, 6, 1, 1, 1, 2, 1, 1, 5, 1, 2, 1, 1, 1, 2, 1, 1, 6]


@pytest.fixture(scope="module")
def views(spark: SparkSession) -> Iterator[SparkSession]:
    for name, query in VIEWS.items():
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {query}")
    yield spark
    for name in VIEWS:
        spark.catalog.dropTempView(name)


@pytest.mark.parametrize(("sql", "rows"), zip(BLOCKS, COUNTS, strict=True), ids=[str(n) for n in range(len(BLOCKS))])
def test_pages(views: SparkSession, sql: str, rows: int) -> None:
    assert len(views.sql(sql).collect()) == rows
