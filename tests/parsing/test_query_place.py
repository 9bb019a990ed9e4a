"""Where a WITH list goes so that a statement's query sees it."""

from __future__ import annotations

import pytest

from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.query_place import query_place

BLOCK = "FROM log PARTITION BY k ORDER BY t EVENT TYPE e PATTERN SEQ(A a, B b)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1", "WITH x AS (y) SELECT 1"),
        (BLOCK, f"WITH x AS (y) {BLOCK}"),
        ("(SELECT 1) UNION ALL (SELECT 2)", "WITH x AS (y) (SELECT 1) UNION ALL (SELECT 2)"),
        ("WITH a AS (SELECT 1) SELECT * FROM a", "WITH x AS (y), a AS (SELECT 1) SELECT * FROM a"),
        ("WITH RECURSIVE a(n) AS (SELECT 1) TABLE a", "WITH RECURSIVE x AS (y), a(n) AS (SELECT 1) TABLE a"),
        ("INSERT INTO t (a, b) SELECT 1, 2", "INSERT INTO t (a, b) WITH x AS (y) SELECT 1, 2"),
        (f"INSERT INTO t {BLOCK}", f"INSERT INTO t WITH x AS (y) {BLOCK}"),
        ("INSERT INTO t WITH a AS (SELECT 1) TABLE a", "INSERT INTO t WITH x AS (y), a AS (SELECT 1) TABLE a"),
        ("CREATE TABLE t USING delta AS SELECT 1", "CREATE TABLE t USING delta AS WITH x AS (y) SELECT 1"),
        ("CREATE TABLE t AS (SELECT 1)", "CREATE TABLE t AS WITH x AS (y) (SELECT 1)"),
        ("MERGE INTO t USING (SELECT 1) s ON t.a = s.a WHEN MATCHED THEN DELETE", None),
        ("DELETE FROM t WHERE a IN (SELECT 1)", None),
    ],
)
def test_place(text: str, expected: str | None) -> None:
    place = query_place(read_statement(text))
    found = None if place is None else text[: place.offset] + place.text("x AS (y)") + text[place.offset :]
    assert found == expected


def test_behind_what_is_explained() -> None:
    text = "EXPLAIN SELECT 1"
    place = query_place(read_statement(text), 8)
    assert place is not None
    assert place.offset == 8
