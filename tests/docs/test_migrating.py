"""docs/migrating.md: each row of its tables has a case with what the other system gives, and each such case a row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from docs_tools.pages import DOCS

CASES = Path(__file__).parent.parent / "sql" / "migrating"


def rows(page: str) -> Iterator[str]:
    """What the page's tables say of other systems: all cells of a row but the last. A table below a query is what the
    query gives."""
    lines = page.splitlines()
    for n, line in enumerate(lines):
        if not line.startswith("|") or (n and lines[n - 1].startswith("|")):
            continue
        if next(text for text in reversed(lines[:n]) if text).startswith("```"):
            continue
        for row in lines[n + 2 :]:
            if not row.startswith("|"):
                break
            yield " | ".join(cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-2])


def test_each_row_has_a_case() -> None:
    said = list(rows((DOCS / "migrating.md").read_text()))
    cases = [line for file in CASES.glob("*.test") for line in file.read_text().splitlines()]
    named = [line.removeprefix("# page: ") for line in cases if line.startswith("# page: ")]
    assert len(said) > 40
    assert sorted(said) == sorted(named)
    followed = [cases[n + 1].startswith("# there: ") for n, line in enumerate(cases) if line.startswith("# page: ")]
    assert all(followed)
