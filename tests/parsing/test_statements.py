"""Where pattern forms are found: spans of the input relation and of the clause."""

from __future__ import annotations

import pytest

from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.rewriter import Rewriter

C = "MATCH_RECOGNIZE (PATTERN (A))"

# statement with [input relations] marked; the marks are taken out before reading
MARKED = [
    f"SELECT * FROM [t ]{C}",
    f"SELECT * FROM [t AS u ]{C} AS m",
    f"SELECT * FROM a, [b ]{C}, c",
    f"SELECT * FROM a JOIN [b ]{C} m ON a.x = m.x, [c ]{C}",
    f"SELECT * FROM [(SELECT * FROM x) s ]{C}",
    f"SELECT * FROM [VALUES (1), (2) t(x) ]{C}",
    f"SELECT * FROM [VALUES (1, INTERVAL 1 DAY), (2, DATE'2026-01-01') AS t(x, y) ]{C}, [z ]{C}",
    f"SELECT * FROM [range(10) ]{C}",
    f"SELECT * FROM [a.b.`c d` VERSION AS OF 3 ]{C}",
    f"SELECT * FROM [t TABLESAMPLE (5 ROWS) ]{C}",
    f"FROM [t ]{C} |> WHERE x > 1 |> JOIN [u ]{C} ON true",
    f"INSERT INTO r SELECT x FROM [t ]{C}",
    f"CREATE TABLE r USING parquet AS SELECT x FROM [t ]{C}",
    f"SELECT extract(day FROM ts), (SELECT max(x) FROM [t ]{C}) FROM u WHERE y IN (SELECT x FROM [v ]{C})",
    f"MERGE INTO r USING [s ]{C} AS m ON r.k = m.k WHEN MATCHED THEN DELETE",
    f"SELECT * FROM [{{df}} ]{C}",
    f"SELECT '{C}' FROM [t ]{C} -- FROM t {C}",
    f"SELECT /* FROM t {C} */ x FROM [t ]{C} LATERAL VIEW explode(y) e AS z",
    "SELECT * FROM t match_recognize (a, b)",
    "SELECT match_recognize(a) FROM t",
    "SELECT match_recognize FROM t",
]


@pytest.mark.parametrize("marked", MARKED)
def test_input_relations(marked: str) -> None:
    text, spans, start = "", [], 0
    for c in marked:
        if c == "[":
            start = len(text)
        elif c == "]":
            spans.append((start, len(text)))
        else:
            text += c
    assert sorted((f.start, f.relation_end) for f in read_statement(text).forms) == sorted(spans)


def test_chained_clauses_nest() -> None:
    text = f"SELECT * FROM t {C} AS m {C} AS n"
    inner, outer = read_statement(text).forms
    assert text[inner.start : inner.end] == f"t {C}"
    assert text[outer.start : outer.end] == f"t {C} AS m {C}"


def test_with_lists_in_sight() -> None:
    text = f"""WITH a AS (SELECT 1), b (x) AS (SELECT * FROM a {C})
        SELECT * FROM (WITH c AS (SELECT 2) SELECT * FROM c {C}) JOIN b {C}"""
    in_b, in_c, outer = read_statement(text).forms
    assert [[t.name for t in s] for s in in_b.scopes] == [["a"]]
    assert [[t.name for t in s] for s in in_c.scopes] == [["a", "b"], ["c"]]
    assert [[t.name for t in s] for s in outer.scopes] == [["a", "b"]]


def test_inputs_bring_the_definitions_they_use() -> None:
    text = f"WITH a AS (SELECT 1), unused AS (SELECT 2), b AS (SELECT * FROM a) SELECT * FROM b {C}"
    statement = read_statement(text)
    query = Rewriter(statement).input_sql(statement.forms[0]).text
    assert query == "WITH a AS (SELECT 1), b AS (SELECT * FROM a) SELECT * FROM b"


def test_text_outside_of_forms_is_kept_to_the_byte() -> None:
    head, middle, tail = "SELECT\t'{x}' AS \"é\" /* {y} */ FROM ", "  AS m -- end\r\n JOIN ", " ; "
    text = f"{head}t {C}{middle}u {C}{tail}"
    statement = read_statement(text)
    rewriter = Rewriter(statement)
    for k, form in enumerate(statement.forms):
        rewriter.replace(form, f"{{r{k}}}")
    assert rewriter.render(0, len(text)).format(r0="t0", r1="t1") == f"{head}t0{middle}t1{tail}"
