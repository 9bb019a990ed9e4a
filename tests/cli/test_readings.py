"""Columns of text that are numbers or truth values, as their first rows and the other columns of the file tell."""

from __future__ import annotations

import pytest

from sparkcep.data.cleaning import folded_type
from sparkcep.data.files import encoding_of
from sparkcep.data.readings import find_readings


def found(columns: dict[str, str], numbers: str = "", mark: str = "") -> str:
    sample = {name: texts.split("|") for name, texts in columns.items()}
    readings, unclear = find_readings(sample, numbers.split(), mark)
    lines = [f"{f.column} {f.readings[0].kind} {f.readings[0].form}" for f in readings] + [
        f"{u.column} unclear {u.example}" for u in unclear
    ]
    return "; ".join(lines)


@pytest.mark.parametrize(
    ("columns", "numbers", "mark", "expected"),
    [
        ({"a": "1.204,50|12,00|7"}, "", "", "a number 1.234,56"),
        ({"a": "1,204.50|12.00|7"}, "", "", "a number 1,234.56"),
        ({"a": "1'204.50|3.20"}, "", "", "a number 1'234.56"),
        ({"a": "1 204,5|\u22121|2"}, "", "", "a number 1 234,56"),
        ({"a": "1.204,50 \u20ac|-3,20 \u20ac"}, "", "", "a number 1.234,56 \u20ac"),
        ({"a": "$1,204.50|-$3.20|($7.25)"}, "", "", "a number $1,234.56"),
        ({"a": "EUR 3,20|EUR 4,75-"}, "", "", "a number EUR 1234,56"),
        ({"a": "12,5 %|7 %"}, "", "", "a number 1234,56 %"),
        # 50 and 50% would be two numbers, which a column cannot tell apart.
        ({"a": "50%|0.5|0.25"}, "", "", ""),
        ({"a": "5 \u20ac|7|8,50 \u20ac"}, "", "", "a number 1234,56 \u20ac"),
        ({"a": "3,20 \u20ac|4,50 $"}, "", "", ""),
        ({"a": "3,20|4,50-|(6,00)"}, "", "", "a number 1234,56"),
        ({"a": "4-5|6-7"}, "", "", ""),
        ({"a": "1\u202f204,5|1|2"}, "", "", "a number 1 234,56"),
        ({"a": "-1,5|+2,25"}, "", "", "a number 1234,56"),
        # Spark has read it as 1.234; another column says that it is 1234, or its own zero that it is not.
        ({"a": "1.234|12.500"}, "a", "", "a unclear 1.234"),
        ({"a": "1.234|12.500", "b": "3,5|4,25"}, "a", "", "a whole number 1.234; b number 1234,56"),
        ({"a": "1.234|12.500"}, "a", ".", ""),
        ({"a": "0.125|1.250"}, "a", "", ""),
        ({"a": "1.5|2.25"}, "a", "", ""),
        ({"a": "12|13"}, "a", "", ""),
        ({"a": "1,234|12,500"}, "", "", "a unclear 1,234"),
        ({"a": "1,234|12,500"}, "", ",", "a number 1234,56"),
        ({"a": "1,234|12,500"}, "", ".", "a whole number 1,234"),
        ({"a": "1,234|12,500", "b": "1.5|2.5"}, "b", "", "a whole number 1,234"),
        # Marks of both kinds tell nothing.
        ({"a": "1,234|12,500", "b": "1,5|2,5", "c": "1.5|2.5"}, "c", "", "b number 1234,56; a unclear 1,234"),
        ({"a": "1,5|2|3|4|5|6|7|8|9|k.A."}, "", "", "a number 1234,56"),
        ({"a": "1,5|2|3|4|5|6|7|8|x|k.A."}, "", "", ""),
        ({"a": "00123|00124"}, "", "", ""),
        ({"a": "01.02.2006|02.03.2007"}, "", "", ""),
        ({"a": "ja|nein|JA"}, "", "", "a truth value ja or nein"),
        ({"a": "yes|no"}, "", "", "a truth value yes or no"),
        ({"a": "ja|ja"}, "", "", ""),
        ({"a": "ja|nein|vielleicht"}, "", "", ""),
        ({"a": "y|n"}, "", "", ""),
    ],
)
def test_what_columns_are_found_as(columns: dict[str, str], numbers: str, mark: str, expected: str) -> None:
    assert found(columns, numbers, mark) == expected


@pytest.mark.parametrize(
    ("beginning", "expected"),
    [
        (b"a;b\n", "UTF-8"),
        ("\ufeffMüller".encode(), "UTF-8"),
        ("Müller €".encode("cp1252"), "windows-1252"),
        ("Müller".encode("utf-16"), "UTF-16"),
        ("Mü".encode()[:-1], "UTF-8"),  # cut within a character
    ],
)
def test_encodings(beginning: bytes, expected: str) -> None:
    assert encoding_of(beginning) == expected


def test_types_that_differ_by_capitals_blanks_and_accents() -> None:
    assert len({folded_type(t) for t in ("Prüfung OK", " prüfung  ok", "PRUFUNG OK", "Prufung\u00a0OK")}) == 1
    assert folded_type("Prüfung") != folded_type("Prüfungen")
