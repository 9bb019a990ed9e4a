"""LIMIT that a partition may stop at: only where any rows of the block will do."""

from __future__ import annotations

import pytest

from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.outer import most_probable, plain_limit

BLOCK = "FROM t ORDER BY ts PATTERN SEQ(A a, B b) WITHIN 5"

CASES: list[tuple[str, int | None]] = [
    (f"{BLOCK} LIMIT 5", 5),
    (f"{BLOCK} LIMIT 5;", 5),
    (f"EXPLAIN {BLOCK} LIMIT 5", 5),
    (f"CREATE TABLE x AS {BLOCK} LIMIT 5", 5),
    (f"WITH m AS ({BLOCK} LIMIT 7) SELECT count(*) FROM m LIMIT 1", 7),
    (f"SELECT a.x, b.* FROM ({BLOCK} LIMIT 7) JOIN u ORDER BY 1 LIMIT 1", 7),
    (f"SELECT * FROM ({BLOCK}) LIMIT 5", 5),
    (f"SELECT m.a AS x, b FROM (({BLOCK})) AS m LIMIT 5", 5),
    (f"SELECT * FROM u WHERE x IN (SELECT a FROM ({BLOCK}) m LIMIT 3)", 3),
    (f"SELECT * FROM u UNION ALL (SELECT a FROM ({BLOCK}) m LIMIT 3)", 3),
    (BLOCK, None),
    (f"{BLOCK} LIMIT 5 OFFSET 2", None),
    (f"{BLOCK} OFFSET 2 LIMIT 5", None),
    (f"{BLOCK} LIMIT ALL", None),
    (f"{BLOCK} LIMIT :n", None),
    (f"{BLOCK} LIMIT 5 + 5", None),
    (f"{BLOCK} ORDER BY a LIMIT 5", None),
    (f"FROM u UNION {BLOCK} LIMIT 5", None),
    (f"SELECT 1 UNION ALL {BLOCK} LIMIT 5", None),
    (f"SELECT a FROM u EXCEPT SELECT a FROM ({BLOCK}) LIMIT 5", None),
    (f"SELECT count(*) FROM ({BLOCK}) LIMIT 5", None),
    (f"SELECT DISTINCT a FROM ({BLOCK}) LIMIT 5", None),
    (f"SELECT explode(events) FROM ({BLOCK}) LIMIT 5", None),
    (f"SELECT * FROM ({BLOCK}) WHERE a > 1 LIMIT 5", None),
    (f"SELECT * FROM ({BLOCK}) GROUP BY a LIMIT 5", None),
    (f"SELECT * FROM ({BLOCK}) ORDER BY a LIMIT 5", None),
    (f"SELECT * FROM ({BLOCK}) JOIN u LIMIT 5", None),
    (f"SELECT * FROM ({BLOCK}), u LIMIT 5", None),
    (f"SELECT * FROM u, ({BLOCK}) LIMIT 5", None),
    (f"SELECT * FROM u WHERE x IN ({BLOCK}) LIMIT 5", None),
]


@pytest.mark.parametrize(("text", "limit"), CASES)
def test_limit(text: str, limit: int | None) -> None:
    statement = read_statement(text)
    (form,) = statement.forms
    assert plain_limit(statement, form) == limit


BEST = "ORDER BY confidence DESC"

PROBABLE: list[tuple[str, int | None]] = [
    (f"{BLOCK} {BEST} LIMIT 5", 5),
    (f"{BLOCK} order by Confidence desc nulls last limit 5;", 5),
    (f"{BLOCK} {BEST}, a, (b + 1) LIMIT 5", 5),
    (f"CREATE TABLE x AS {BLOCK} {BEST} LIMIT 5", 5),
    (f"WITH m AS ({BLOCK} {BEST} LIMIT 7) SELECT count(*) FROM m", 7),
    (f"SELECT * FROM ({BLOCK}) {BEST} LIMIT 5", 5),
    (f"SELECT a, m.confidence FROM ({BLOCK}) AS m ORDER BY m.confidence DESC LIMIT 5", 5),
    (f"SELECT a, confidence c FROM ({BLOCK}) m {BEST} LIMIT 5", 5),
    (f"SELECT a FROM ({BLOCK}) m {BEST} LIMIT 5", 5),
    (f"{BLOCK} {BEST}", None),
    (f"{BLOCK} LIMIT 5", None),
    (f"{BLOCK} {BEST} LIMIT 5 OFFSET 1", None),
    (f"{BLOCK} {BEST} LIMIT ALL", None),
    (f"{BLOCK} ORDER BY confidence LIMIT 5", None),
    (f"{BLOCK} ORDER BY confidence ASC LIMIT 5", None),
    (f"{BLOCK} ORDER BY a, confidence DESC LIMIT 5", None),
    (f"{BLOCK} ORDER BY confidence + a DESC LIMIT 5", None),
    (f"{BLOCK} SORT BY confidence DESC LIMIT 5", None),
    (f"SELECT 1 UNION ALL {BLOCK} {BEST} LIMIT 5", None),
    (f"SELECT a AS confidence FROM ({BLOCK}) {BEST} LIMIT 5", None),
    (f"SELECT a confidence FROM ({BLOCK}) {BEST} LIMIT 5", None),
    (f"SELECT * FROM ({BLOCK}) m(x, confidence) {BEST} LIMIT 5", None),
    (f"SELECT count(*) FROM ({BLOCK}) {BEST} LIMIT 5", None),
    (f"SELECT DISTINCT a FROM ({BLOCK}) {BEST} LIMIT 5", None),
    (f"SELECT * FROM ({BLOCK}) WHERE a > 1 {BEST} LIMIT 5", None),
    (f"SELECT * FROM ({BLOCK}) JOIN u {BEST} LIMIT 5", None),
]


@pytest.mark.parametrize(("text", "limit"), PROBABLE)
def test_most_probable(text: str, limit: int | None) -> None:
    statement = read_statement(text)
    (form,) = statement.forms
    assert most_probable(statement, form) == limit
