"""What `:name` stands for in the text of a rule."""

from __future__ import annotations

import pytest

from sparkcep.errors import PatternAnalysisError
from sparkcep.sql.rule_sets.reader import with_parameters


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (":n = a.v", "10 = a.v"),
        ("a.v>:n", "a.v>10"),
        ("a.v > f(:n,:n)", "a.v > f(10,10)"),
        ("a.v > :n AND b.w IN (:n)", "a.v > 10 AND b.w IN (10)"),
        ("a.v:n > :n", "a.v:n > 10"),  # a path into a VARIANT
        ("a.v > 'a :n' -- :n", "a.v > 'a :n' -- :n"),
        ("map(1 : n)", "map(1 : n)"),
    ],
)
def test_names_become_literals(text: str, expected: str) -> None:
    assert with_parameters(text, {"n": " 10 "}) == expected


@pytest.mark.parametrize(
    ("parameters", "hint"),
    [({"limit": "1"}, "did you mean limit?"), ({"limt": "now()"}, "map('limit', '10')"), ({}, "map('limit', '10')")],
)
def test_a_name_without_a_literal(parameters: dict[str, str], hint: str) -> None:
    with pytest.raises(PatternAnalysisError) as raised:
        with_parameters("a.v > :limt", parameters)
    assert raised.value.error_class == "CEP_RULE_PARAMETER"
    assert hint in str(raised.value)
