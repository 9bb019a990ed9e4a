"""LIMIT that a partition may stop at: only where any rows of the block will do."""

from __future__ import annotations

import pytest

from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.outer import plain_limit

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
