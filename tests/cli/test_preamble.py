"""Lines before the header of a CSV are found, and a header is never taken for one."""

from __future__ import annotations

import pytest

from sparkcep.data.preamble import lines_before_header

ROWS = "1;01.05.2024;a\n1;02.05.2024;b\n2;01.05.2024;a\n2;03.05.2024;c\n"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Orders of May\nCreated;02.05.2024\n\ncase;time;event\n" + ROWS, 3),
        ("\ufeffOrders\n\u00a0\ncase;time;event\n" + ROWS, 2),
        ("# filter: all\n# user: x\ncase,time,event\n" + ROWS.replace(";", ","), 2),
        # spreadsheets write as many separators before the header as behind it
        ("Orders of May;;\n;;\ncase;time;event\n" + ROWS, 2),
        ("case;time;event\n" + ROWS, 0),
        # rows with an empty field at their ends, which the header has not
        ("case;time;event\n" + ROWS.replace("\n", ";\n"), 0),
        ("time;event\n" + ROWS, 0),
        # rows that are torn, a header of one column, and too few rows to tell
        ("case;time;event\n1;2\n" + ROWS, 0),
        ("event\nvisit,1\npay,2\nship,3\npay,4\n", 0),
        ("Orders\ncase;time;event\n1;2;a\n", 0),
        # what would be the header holds values, or a name twice
        ("Orders\n" + ROWS, 0),
        ("Orders\ncase;time;time\n" + ROWS, 0),
        ("", 0),
    ],
)
def test_lines(text: str, lines: int) -> None:
    assert lines_before_header(text) == lines
