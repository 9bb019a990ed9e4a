"""Lines that stand before the header of a CSV: a title, a date, filters, as reports have them."""

from __future__ import annotations

import csv
import re
from collections import Counter

#: What may stand between the columns of a CSV.
SEPARATORS = ",;\t|"
#: Lines that are looked at, lines before the header at most, and rows that must follow it.
_LOOKED_AT, _MOST, _ROWS = 60, 20, 3
#: Digits and what stands between them in numbers and times: no name of a column.
_VALUE = re.compile(r"[\d\s.,:/+\-%€$£]*\d[\d\s.,:/+\-%€$£TZ]*")


def lines_before_header(beginning: str) -> int:
    """How many lines of a text stand before the names of its columns; 0 if that is not clear.

    They have at most half as many separators as the rows, up to their last text, and the header's fields are names:
    none is empty, twice there, or a number.

    >>> lines_before_header("Report\\nfrom 1 May\\n\\ncase;time;event\\n1;2;a\\n1;3;b\\n2;2;a\\n")
    3
    >>> lines_before_header("Report;;\\n;;\\ncase;time;event\\n1;2;a\\n1;3;b\\n2;2;a\\n")
    2
    >>> lines_before_header("case;time;event\\n1;2;a;\\n1;3;b;\\n2;2;a;\\n")
    0
    """
    lines = beginning.removeprefix("\ufeff").splitlines()[:_LOOKED_AT]
    if len(lines) == _LOOKED_AT or not beginning.endswith(("\n", "\r")):
        lines = lines[:-1]  # which may be cut
    best = 0
    for mark in SEPARATORS:
        counts = [_separators(line, mark) for line in lines]
        usual, rows = Counter(counts[_ROWS // 2 :]).most_common(1)[0] if len(counts) > _ROWS else (0, 0)
        if usual < 2 or rows < _ROWS:  # a log has three columns
            continue
        filled = [_separators(line.rstrip(mark + " "), mark) for line in lines]  # spreadsheets fill titles up
        header = next((i for i, c in enumerate(counts) if c == usual and 2 * filled[i] > usual), 0)
        before, behind = filled[:header], [c for c in counts[header:] if c]
        if (
            0 < header <= _MOST
            and all(2 * c <= usual for c in before)
            and behind.count(usual) > max(_ROWS, 0.8 * len(behind))
            and _are_names(next(csv.reader([lines[header]], delimiter=mark)))
        ):
            best = max(best, header)
        elif header == 0:
            return 0
    return best


def _separators(line: str, mark: str) -> int:
    return max(0, len(next(csv.reader([line], delimiter=mark), [])) - 1)


def _are_names(fields: list[str]) -> bool:
    names = [f.strip() for f in fields]
    return all(names) and len(set(names)) == len(names) and not any(_VALUE.fullmatch(n) for n in names)
