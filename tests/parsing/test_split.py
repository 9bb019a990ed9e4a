"""Where statements end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.sql.script import is_complete, split_statements

#: Each is one statement.
STATEMENTS = (
    "SELECT ';' AS a, `;` /* ; */",
    "SELECT begin, end, repeat('a', 2), if(a, b, c) FROM t",
    "SELECT CASE WHEN a THEN 1 ELSE CASE b WHEN 1 THEN 2 END END AS end FROM t",
    "SELECT t.case, t.end, substring('abc' FROM 1 FOR CASE WHEN x THEN 1 END) FROM t",
    "DECLARE begin INT DEFAULT 1",
    "SELECT c:begin FROM t",
    "FROM t ORDER BY ts EVENT TYPE e PATTERN SEQ(BEGIN a, CASE+ b[], !IF c, END d) RETURN a.ts",
    "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (begin case end) DEFINE case AS e = 'B')",
    "BEGIN END",
    "BEGIN SELECT 1; SELECT 2; END",
    "`a label`: BEGIN SELECT 1; LEAVE `a label`; END `a label`",
    "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN SELECT 'failed;'; END; SELECT 1; END",
    "BEGIN IF a = CASE b WHEN 1 THEN 2 END THEN SELECT 1; ELSEIF c THEN SELECT 2; ELSE BEGIN END; END IF; END",
    "BEGIN l: WHILE x < CASE WHEN y THEN 1 END DO SET x = x + 1; ITERATE l; END WHILE l; END",
    "BEGIN l: LOOP REPEAT SET x = 1; UNTIL CASE WHEN x THEN true END END REPEAT; LEAVE l; END LOOP l; END",
    "BEGIN REPEAT BEGIN SELECT 1; END; UNTIL x = 1 END REPEAT; END",
    "BEGIN FOR r AS SELECT CASE WHEN x THEN 1 END AS y FROM t DO SELECT r.y; END FOR; END",
    "BEGIN CASE x WHEN 1 THEN SELECT 1; WHEN CASE WHEN y THEN 2 END THEN SELECT 2; ELSE SELECT 3; END CASE; END",
    "CREATE OR REPLACE PROCEDURE p(x INT) LANGUAGE SQL AS BEGIN SELECT 1; SELECT 2; END",
)


@pytest.mark.parametrize("text", STATEMENTS)
def test_one_statement(text: str) -> None:
    assert split_statements(f"SELECT 0; {text};\nSELECT 9") == ["SELECT 0", text, "SELECT 9"]
    assert split_statements(text) == [text]
    assert is_complete(text + "; -- done")
    assert not is_complete(text)


def test_comments_and_nothing() -> None:
    text = "SELECT ';' AS a; -- not; here\nSELECT 2;\n; -- nor here"
    assert split_statements(text) == ["SELECT ';' AS a", "-- not; here\nSELECT 2"]
    assert split_statements(" ;; -- a\n") == []


SIMPLE = st.sampled_from([s for s in STATEMENTS if not s.startswith(("BEGIN", "`", "CREATE", "DECLARE"))])


def blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(inner, min_size=1, max_size=3).map(lambda s: "".join(f"{x}; " for x in s))
    condition = st.sampled_from(["x = 1", "CASE WHEN x THEN y END", "end", "if(a, b, c)", "(SELECT max(begin) FROM t)"])
    return st.one_of(
        st.builds("BEGIN {}END".format, body),
        st.builds("lb: BEGIN {}END lb".format, body),
        st.builds("IF {} THEN {}ELSE {}END IF".format, condition, body, body),
        st.builds("IF {} THEN {}ELSEIF {} THEN {}END IF".format, condition, body, condition, body),
        st.builds("WHILE {} DO {}END WHILE".format, condition, body),
        st.builds("lb: LOOP {}END LOOP lb".format, body),
        st.builds("REPEAT {}UNTIL {} END REPEAT".format, body, condition),
        st.builds("FOR SELECT {} DO {}END FOR".format, condition, body),
        st.builds("CASE {} WHEN 1 THEN {}ELSE {}END CASE".format, condition, body, body),
        st.builds("CASE WHEN {} THEN {}END CASE".format, condition, body),
    )


SCRIPT = st.lists(st.recursive(SIMPLE, blocks, max_leaves=12), max_size=3).map(
    lambda s: "BEGIN " + "".join(f"{x}; " for x in s) + "END"
)


@given(st.lists(st.one_of(SIMPLE, SCRIPT), max_size=4))
def test_scripts_of_any_depth(statements: list[str]) -> None:
    assert split_statements(";\n".join(statements)) == statements
    for script in statements:
        assert not is_complete(script.removesuffix("END") + "SELECT 1;") or not script.startswith("BEGIN")
