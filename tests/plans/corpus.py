"""The statements whose plans are written down, in the order in which their files and pages run them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docs_tools.pages import DOCS, steps
from sparkcep.data.examples import folder
from sparkcep.sql.script import split_statements
from sparkcep.sql.statement import mentions_pattern
from sparkcep.sql.table_statements import read_table_statement

from ..sqltest import read_cases

TESTS = Path(__file__).parents[1]
CASES = TESTS / "sql"
CONFORMANCE = TESTS.parents[1] / "shared" / "conformance" / "trino_match_recognize.jsonl"
CONFORMANCE_NAME = "conformance/trino"
#: Where pages write files, instead of /tmp.
PAGE_FILES = "/tmp/documented-pages"
_SET = re.compile(r"\s*(?:SET\s+(?P<key>[\w.]+)\s*=\s*(?P<value>.*?)|RESET\s+(?P<reset>[\w.]+))\s*;?\s*", re.I | re.S)


@dataclass(frozen=True, slots=True)
class Step:
    """``kind``: `plan` for a statement with a pattern, `run` for one that makes what others read, `set` for a setting
    (``text`` is its key and value), `files` for a page's code that writes files, `python` for its other code, which
    only a real session runs."""

    kind: str
    text: str

    @property
    def setting(self) -> tuple[str, str]:
        """Key and value of a setting; without a value it is unset."""
        key, _, value = self.text.partition(" ")
        return key, value.strip()


@dataclass(frozen=True, slots=True)
class Source:
    """A file of statements. ``name``: of the files with its answers and plans, below this folder."""

    name: str
    file: Path

    @classmethod
    def of_cases(cls, file: Path) -> Source:
        """A `.test` file."""
        return cls(f"sql/{file.relative_to(CASES).with_suffix('')}", file)

    def steps(self) -> Iterator[Step]:
        """Its statements in order."""
        if self.file.suffix == ".test":
            yield from _of_cases(self.file)
        elif self.file.suffix == ".md":
            yield from _of_page(self.file)
        elif self.file.suffix == ".jsonl":
            for line in self.file.read_text().splitlines():
                yield Step("plan", json.loads(line)["sql"])
        else:
            for statement in split_statements(self.file.read_text()):
                yield _step(statement)


def sources() -> list[Source]:
    """All files, those of tests first. The conformance cases lie beside the project, where they do."""
    found = [Source.of_cases(file) for file in sorted(CASES.rglob("*.test"))]
    found += [Source(f"docs/{f.relative_to(DOCS).with_suffix('')}", f) for f in sorted(DOCS.rglob("*.md"))]
    examples = folder("stocks").parent
    rules = examples / "rules"  # in whose folders are rules, no statements
    statements = [f for f in sorted(examples.rglob("*.sql")) if rules not in f.parent.parents]
    found += [Source(f"examples/{f.relative_to(examples).with_suffix('')}", f) for f in statements]
    if CONFORMANCE.exists():
        found.append(Source(CONFORMANCE_NAME, CONFORMANCE))
    return [s for s in found if any(step.kind == "plan" for step in s.steps())]


def _of_cases(file: Path) -> Iterator[Step]:
    for case in read_cases(file):
        if case.kind == "set":
            yield Step("set", case.argument)
        elif case.kind == "ok" or not mentions_pattern(case.sql):
            yield _step(case.sql)
        else:
            yield Step("plan", case.sql)


def _of_page(file: Path) -> Iterator[Step]:
    for step in steps(file.read_text().replace("/tmp/", f"{PAGE_FILES}/")):
        if step.language == "python":
            is_plain = ".write_text(" in step.code and re.search(r"\bspark\b(?!-)", step.code) is None
            yield Step("files" if is_plain else "python", step.code)
        elif step.language == "sql":
            for statement in split_statements(step.code):
                yield _step(statement)


def _step(statement: str) -> Step:
    if (found := _SET.fullmatch(statement)) is not None:
        return Step("set", f"{found['key']} {found['value']}" if found["key"] else str(found["reset"]))
    # What keeps rows has no plan of its own; its query has one elsewhere.
    planned = mentions_pattern(statement) and not read_table_statement(statement)
    return Step("plan" if planned else "run", statement)
