"""Where calls of table functions are found, and which arguments stand for which parameters."""

from __future__ import annotations

import pytest

from sparkcep.errors import SparkCepError
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.statement import OccurrenceKind, mentions_pattern
from sparkcep.sql.table_functions import plain_literal, read_call, relation_name

CALL = "pattern_statistics(l, 'A B')"


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (f"SELECT * FROM {CALL}", 1),
        (f"SELECT * FROM {CALL.upper()} AS x", 1),
        (f"SELECT * FROM t JOIN {CALL} ON true LEFT JOIN {CALL} s USING (step)", 2),
        (f"SELECT * FROM t, {CALL}, LATERAL {CALL}", 2),
        (f"SELECT * FROM t LEFT JOIN LATERAL {CALL} ON true", 1),
        (f"WITH c AS (SELECT * FROM {CALL}) SELECT (SELECT max(step) FROM {CALL}) FROM c", 2),
        (f"FROM {CALL} SELECT step", 1),
        (f"INSERT INTO t SELECT * FROM {CALL}", 1),
        (f"FROM {CALL} ORDER BY step EVENT TYPE event PATTERN SEQ(A a, B b)", 1),
        ("SELECT * FROM pattern_continuations(l, 'A', k => (SELECT max(k) FROM t))", 1),
        ("SELECT pattern_statistics(1) FROM t", 0),
        ("SELECT pattern_statistics FROM pattern_statistics", 0),
        ("SELECT * FROM own.pattern_statistics(1)", 0),
        ("SELECT * FROM `pattern_statistics`(1)", 0),
        ("SELECT 'FROM pattern_statistics(1)' FROM t -- FROM pattern_statistics(1)", 0),
        ("SELECT * FROM t WHERE a IN (pattern_statistics(1))", 0),
    ],
)
def test_places(text: str, calls: int) -> None:
    assert mentions_pattern(text)
    forms = [f for f in read_statement(text).forms if f.kind is OccurrenceKind.CALL]
    assert len(forms) == calls
    assert all(text[f.start : f.start + 8].lower() == "pattern_" and text[f.end - 1] == ")" for f in forms)


def arguments(text: str) -> dict[str, str]:
    statement = read_statement(f"SELECT * FROM {text}")
    found = read_call(statement, statement.forms[0]).arguments
    return {
        name: statement.text[statement.tokens[low].start : statement.tokens[high - 1].end]
        for name, (low, high) in found.items()
    }


def test_arguments() -> None:
    assert arguments("pattern_statistics(a.b, concat('A', ' B'))") == {"log": "a.b", "pattern": "concat('A', ' B')"}
    assert arguments("pattern_continuations(l, 'A', 'fast', 3)") == {
        "log": "l", "pattern": "'A'", "mode": "'fast'", "k": "3",
    }  # fmt: skip
    assert arguments("pattern_continuations(k => 1 + 2, PATTERN => 'A', log => l)") == {
        "k": "1 + 2", "pattern": "'A'", "log": "l",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("l", ("l",)), ("a.b.c", ("a", "b", "c")), ("`a b`.c", ("a b", "c")), ("TABLE(a.b)", ("a", "b")),
        ("TABLE l", ("l",)), ("table", ("table",)), ("'l'", None), ("a || b", None), (":l", None), ("a.", None),
        ("TABLE()", None),
    ],
)  # fmt: skip
def test_relation_names(text: str, name: tuple[str, ...] | None) -> None:
    statement = read_statement(text)
    assert relation_name(statement, 0, len(statement.tokens)) == name


@pytest.mark.parametrize(
    ("text", "value"),
    [("'A B'", "A B"), ('"A B"', "A B"), ("7", 7), ("'a\\nb'", None), ("'it''s'", None), ("r'a'", None), ("1.5", None),
     ("'a' 'b'", None), ("a", None)],
)  # fmt: skip
def test_plain_literals(text: str, value: str | int | None) -> None:
    statement = read_statement(text)
    assert plain_literal(statement, 0, len(statement.tokens)) == value


def test_errors_tell_their_place() -> None:
    with pytest.raises(SparkCepError) as caught:
        arguments("pattern_continuations(l, 'A', mod => 'fast')")
    assert caught.value.error_class == "UNRECOGNIZED_PARAMETER_NAME"
    assert "Line 1, column 45" in str(caught.value)
