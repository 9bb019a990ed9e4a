"""The example queries of ``sql_examples/``, from a checkout or from the installed package."""

from __future__ import annotations

import sysconfig
from dataclasses import dataclass
from pathlib import Path

from sparkcep.errors import SparkCepError
from sparkcep.sql.script import split_statements

_HERE = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Example:
    """An example file: what it asks (its leading comment), its statements and the rows it prints (its last comment).

    ``sql`` is the last statement, ``setup`` those before it.
    """

    name: str
    question: str
    setup: tuple[str, ...]
    sql: str
    expected: tuple[str, ...]


def folder(name: str) -> Path:
    """Folder of one group of examples.

    Raises:
        SparkCepError: there is none (CEP_EXAMPLES_MISSING).
    """
    installed = Path(sysconfig.get_path("data"), "share", "sparkcep", "sql_examples", name)
    for place in (_HERE.parent / "sql_examples" / name, installed):
        if place.is_dir():
            return place
    raise SparkCepError("CEP_EXAMPLES_MISSING", f"The examples {name} are not installed.")


def read_example(path: Path) -> Example:
    """Read one file: comment lines, statements, and comment lines from `-- Result:` on."""
    text = path.read_text()
    body, _, result = text.partition("-- Result:\n")
    lines = body.splitlines()
    head = lines[: next(i for i, x in enumerate(lines) if not x.startswith("--"))]
    question = " ".join(line.lstrip("- ") for line in head)
    *setup, sql = split_statements("\n".join(lines[len(head) :]))
    expected = tuple(line.removeprefix("--").strip() for line in result.splitlines() if line.startswith("--"))
    return Example(path.stem, question, tuple(setup), sql, expected)
