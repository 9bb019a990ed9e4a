"""Texts of rules beside what they become: the block behind ->, and behind ! its warnings, or why there is none."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Case(NamedTuple):
    source: str
    body: str
    warnings: str
    refused: str


def read_cases(name: str) -> list[Case]:
    """The cases of a file here, whose first line says what they are."""
    text = Path(__file__).with_name(name).read_text().split("\n", 1)[1]
    cases = []
    for case in text.split("\n====\n"):
        source, _, expected = case.strip().partition("\n->\n")
        source, _, refused = source.partition("\n! ")
        body, _, warnings = expected.partition("\n! ")
        cases.append(Case(source, body, warnings, refused))
    return cases
