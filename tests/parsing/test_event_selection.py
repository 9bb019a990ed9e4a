"""EVENT SELECTION and negation inside MATCH_RECOGNIZE."""

from __future__ import annotations

import pytest

from sparkcep import settings
from sparkcep.errors import SparkCepError
from sparkcep.pattern import render
from sparkcep.query import PatternQuery, Selection
from sparkcep.sql.clause.binder import bind
from sparkcep.sql.clause.parser import parse_clause
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.rewriter import Rewriter


def query(body: str) -> PatternQuery:
    statement = read_statement(f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts {body})")
    form = statement.forms[0]
    read = settings.read(lambda key, default: default)
    clause = parse_clause(statement, form.body)
    return bind(statement, clause, form.body, ["ts", "x"], frozenset("t"), Rewriter(statement).render, read)


@pytest.mark.parametrize(
    ("written", "selection"),
    [
        ("", Selection.STRICT),
        ("EVENT SELECTION STRICT CONTIGUITY", Selection.STRICT),
        ("EVENT SELECTION SKIP TILL NEXT MATCH", Selection.NEXT),
        ("event selection skip_till_any_match", Selection.ANY),
    ],
)
def test_strategies(written: str, selection: Selection) -> None:
    found = query(f"MEASURES A.x AS x {written} PATTERN (A B+) DEFINE B AS B.x > A.x")
    assert found.selection is selection


def test_negation() -> None:
    found = query("EVENT SELECTION SKIP TILL NEXT MATCH PATTERN (A !C B) DEFINE C AS C.x = A.x, B AS B.x > A.x")
    assert render(found.pattern) == "A !C B"
    assert found.labels == ("A", "C", "B")


SKIPS = "EVENT SELECTION SKIP TILL NEXT MATCH PATTERN (A !C B)"


@pytest.mark.parametrize(
    ("body", "error_class"),
    [
        ("PATTERN (A !C B) DEFINE C AS x = 1", "CEP_UNSUPPORTED_SELECTION"),
        ("EVENT SELECTION STRICT CONTIGUITY PATTERN (A ~C B) DEFINE C AS x = 1", "CEP_UNSUPPORTED_SELECTION"),
        ("EVENT SELECTION SKIP PATTERN (A)", "CEP_SYNTAX_ERROR"),
        (f"MEASURES C.x AS x {SKIPS} DEFINE C AS x = 1", "CEP_NEGATED_VARIABLE"),
        (f"{SKIPS} DEFINE B AS B.x = C.x", "CEP_NEGATED_VARIABLE"),
        (f"AFTER MATCH SKIP TO C {SKIPS} DEFINE B AS B.x = 1", "CEP_NEGATED_VARIABLE"),
    ],
)
def test_refused(body: str, error_class: str) -> None:
    with pytest.raises(SparkCepError) as error:
        query(body)
    assert error.value.error_class == error_class
