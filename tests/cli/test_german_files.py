"""Exports of German offices through `discover`, `sql` and `shell`: every count is that of pandas."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ..conftest import IS_CONNECT
from ..spark.real_logs import DATA
from .conftest import Run
from .german_files import CASE, EVENT, EXPORTS, TIME, counts, events_of, glance, statement, write_export

REAL = [name for name in EXPORTS if name != "made"]
NO_DATA = pytest.mark.skipif(not DATA.is_dir(), reason="there are no real logs here")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table(out: str, heading: str) -> list[list[str]]:
    """Rows of a table that `discover` prints below a heading."""
    lines = out.split(f"\n{heading}: ", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    return [cells(line) for line in lines if line.startswith("|")][1:]


def number(text: str) -> int:
    return int(text.replace(",", ""))


def named(export: str) -> Sequence[str]:
    return ("--csv", export, "--case", CASE, "--event", EVENT)


@pytest.mark.full
@pytest.mark.skipif(IS_CONNECT, reason="engines know no session")
@pytest.mark.parametrize(
    ("name", "cases"),
    [
        ("made", None),
        *(pytest.param(name, 2000, marks=[pytest.mark.full, NO_DATA]) for name in REAL),
        *(pytest.param(name, None, marks=[pytest.mark.long, NO_DATA]) for name in REAL),
    ],
)
def test_counts(name: str, cases: int | None, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    export = EXPORTS[name]
    rows = write_export(events_of(name, cases), export, Path())
    wanted, seen = counts(rows, export), glance(rows)

    code, out, err = run("discover", export.file, "--case", CASE, "--event", EVENT, "--top", "100000")
    assert code == 0, err
    form = "d.M.yyyy" if export.days else "d.M.yyyy H:mm"
    assert f"time = {TIME} (the only text of times, read as {form})" in err
    assert "tiebreak = row_in_file (the order of the rows in the file)" in err
    found = re.search(r"^([\d,]+) events in ([\d,]+) cases, of ([\d,]+) types", out, re.MULTILINE)
    assert found is not None
    assert [number(n) for n in found.groups()] == [wanted[key] for key in ("rows", "cases", "types")]
    tied = re.search(r"^([\d,]+) events share their time .*: they are ordered by row_in_file$", out, re.MULTILINE)
    assert tied is not None
    assert number(tied[1]) == seen["tied"]
    assert {t: (number(n), number(c)) for t, n, c, _ in table(out, "Event types")} == seen["types"]
    assert {(r[0], r[1]): number(r[2]) for r in table(out, "What follows what")} == seen["follows"]
    assert f"\nVariants: {seen['variants']:,}" in out

    view = re.search(r"FROM (\S+) PATTERN", out.replace("\\", ""))
    assert view is not None
    text = statement(view[1], export)
    code, out, err = run("sql", *named(export.file), "-q", "--format", "csv", text)
    assert code == 0, err
    got = {line.rpartition(",")[0].strip('"'): int(line.rpartition(",")[2]) for line in out.splitlines()[1:]}
    assert got == wanted

    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{text};\n\\d\n"))
    code, out, err = run("shell", *named(export.file), "-q")
    assert code == 0, err
    assert {what: int(n) for what, n in (cells(line) for line in out.splitlines()[3 : 3 + len(wanted)])} == wanted
