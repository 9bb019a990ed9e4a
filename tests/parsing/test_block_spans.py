"""Where pattern blocks begin and end, and what only looks like one."""

from __future__ import annotations

import pytest

from sparkcep.errors import PatternParseError
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.rewriter import Rewriter
from sparkcep.sql.statement import OccurrenceKind, mentions_pattern

P = "PATTERN SEQ(A a, B b)"

# statement with {blocks} and [their relations] marked; the marks are taken out before reading
MARKED = [
    f"⟦FROM ⟨t⟩ {P}⟧",
    f"⟦FROM ⟨t AS u⟩ {P} WHERE a.x = 1⟧ ORDER BY 1 LIMIT 3",
    f"⟦from ⟨t⟩ {P.lower()} where a.x = 1 return a.x⟧ Sort By x",
    f"SELECT * FROM (⟦FROM ⟨t⟩ {P}⟧) m WHERE x",
    f"SELECT (⟦FROM ⟨t⟩ {P}⟧) x, y FROM z",
    f"WITH c AS (⟦FROM ⟨t⟩ {P}⟧) SELECT * FROM c",
    f"WITH c AS (SELECT 1) ⟦FROM ⟨c⟩ {P}⟧",
    f"CREATE TABLE r USING parquet AS ⟦FROM ⟨t⟩ {P}⟧",
    f"CREATE TEMPORARY VIEW r AS ⟦FROM ⟨t⟩ {P}⟧",
    f"INSERT INTO r ⟦FROM ⟨t⟩ {P}⟧",
    f"INSERT OVERWRITE TABLE r PARTITION (d = 1) (x, y) ⟦FROM ⟨t⟩ {P}⟧",
    f"EXPLAIN INSERT INTO r ⟦FROM ⟨t⟩ {P}⟧",
    f"EXPLAIN FORMATTED ⟦FROM ⟨t⟩ {P}⟧",
    f"SELECT 1 UNION ALL ⟦FROM ⟨t⟩ {P} ⟧EXCEPT ⟦FROM ⟨u⟩ {P}⟧ MINUS SELECT 2",
    f"⟦FROM ⟨t⟩ {P}⟧; ⟦FROM ⟨u⟩ {P}⟧",
    f"FROM ⟦⟨t⟩ {P} RETURN a.x⟧ LEFT JOIN u ON true SELECT *",
    f"FROM ⟦⟨t⟩ {P}⟧ SELECT a",
    f"FROM ⟦⟨t⟩ {P}⟧ |> WHERE x",
    "⟦FROM ⟨t⟩ PATTERN A S+⟧ ORDER BY x",
    "⟦FROM ⟨t⟩ PATTERN A* WHERE A.x > 95%⟧ LIMIT 3",
    f"⟦FROM ⟨VALUES (1, 'A'), (2, 'B') AS t(x, y)⟩ PARTITION BY x ORDER BY x, y EVENT TYPE y {P}⟧",
    "⟦FROM ⟨range(10)⟩ EVENT TYPE NONE PATTERN (a, b) RETURN a.id⟧",
    f"⟦FROM ⟨a.b.`c d` VERSION AS OF 3⟩ {P}⟧",
    f"⟦FROM ⟨t TABLESAMPLE (5 ROWS) s⟩ {P}⟧",
    f"⟦FROM ⟨{{df}}⟩ {P}⟧",
    f"⟦FROM <⟨t⟩> {P}⟧",
    f"⟦FROM << ⟨a.b⟩ >> ORDER BY x {P}⟧",
    f"⟦FROM ⟨t⟩ return x, count(*) {P}⟧",
    f"⟦FROM ⟨pattern⟩ {P}⟧",
    f"⟦FROM ⟨t pattern⟩ {P}⟧",
    f"⟦FROM ⟨t AS pattern⟩ {P}⟧",
    f"⟦FROM ⟨t return⟩ {P}⟧",
    f"⟦FROM ⟨t within⟩ {P}⟧",
    f"⟦FROM ⟨t⟩ PARTITION BY pattern {P}⟧",
    "⟦FROM ⟨t⟩ PATTERN <(B,_),(A,+)> WHERE (time, within, 2, 1, 2)⟧",
    "⟦FROM ⟨t⟩ PATTERN (a) WHERE a.limit > 1 AND a.x IN (SELECT y FROM u LIMIT 1) RETURN a.x AS limit⟧ LIMIT 1",
    f"MERGE INTO r USING (⟦FROM ⟨t⟩ {P}⟧) s ON true WHEN MATCHED THEN DELETE",
    f"⟦FROM ⟨t⟩ {P} // it's the end\n⟧; SELECT 'FROM t {P}' -- FROM t {P}",
    "SELECT * FROM t pattern(a)",
    "SELECT a FROM t pattern (a b)",
    "SELECT * FROM t pattern",
    "SELECT pattern FROM t WHERE pattern LIKE 'a' ORDER BY pattern",
    "SELECT within, matches FROM t return JOIN pattern ON true",
    "SELECT a IS DISTINCT FROM t pattern (x) FROM t",
    "SELECT extract(day FROM pattern) FROM t",
    "FROM t pattern SELECT a",
    "FROM t pattern(a, b) SELECT a",
    "FROM t pattern |> SELECT a",
    "FROM t pattern(a) |> SELECT a",
    "FROM t pattern, u SELECT a",
    "FROM t pattern(a), u SELECT 1",
    "FROM t pattern JOIN u SELECT 1",
    "FROM t pattern LEFT OUTER JOIN u SELECT 1",
    "FROM t pattern LATERAL VIEW explode(x) e AS y SELECT y",
    "FROM t pattern INSERT INTO r SELECT 1",
    "FROM t pattern UNION FROM u",
    "FROM (FROM t pattern) LIMIT 3",
    f"⟦FROM ⟨t⟩ WHERE x = 1 AND y IN (SELECT 1 LIMIT 2) {P}⟧ LIMIT 3",
    f"⟦FROM ⟨t u⟩ PARTITION BY k WHERE pattern < 3 OR limit > 2 {P} WHERE a.x = 1⟧ UNION ⟦FROM ⟨u⟩ WHERE x {P}⟧",
    f"⟦FROM ⟨t⟩ WHERE (x = 1) {P}⟧",
    f"⟦FROM ⟨t⟩ WHERE confidence {P}⟧",
    f"FROM ⟦⟨t⟩ WHERE x = 1 {P}⟧ SELECT a",
    "FROM t WHERE pattern < 3 |> SELECT a",
    "FROM t WHERE pattern (a) |> SELECT a",
    "FROM t WHERE x = 1 AND pattern <> 3 SELECT a",
    "FROM t WHERE u.pattern < 3 SELECT a",
    "FROM t WHERE x = 1 SELECT pattern",
    "FROM t WHERE x INSERT INTO r SELECT pattern",
    "DELETE FROM t WHERE pattern < 3",
    f"FROM a, b {P}",
    f"FROM a, b WHERE x = 1 {P}",
    f"FROM a JOIN b ON x WHERE y {P}",
    f"FROM a JOIN b {P}",
    f"SELECT 'FROM t {P}' FROM t /* FROM t {P} */",
    "SELECT 1 FROM t WHERE pattern = 'it",
]


@pytest.mark.parametrize("marked", MARKED)
def test_spans(marked: str) -> None:
    text = "".join(c for c in marked if c not in "⟦⟧⟨⟩")
    at = 0
    places: dict[str, list[int]] = {c: [] for c in "⟦⟧⟨⟩"}
    for c in marked:
        if c in places:
            places[c].append(at)
        else:
            at += 1
    # A block ends with its last token, so what is marked may go on with blanks and comments.
    spans = [(a, len(text[:b].split(" //")[0].rstrip()), c, d) for a, b, c, d in zip(*places.values(), strict=True)]
    found = read_statement(text).forms
    assert [(f.start, f.end, f.relation_start, f.relation_end) for f in found] == spans
    assert all(f.kind is OccurrenceKind.BLOCK for f in found)
    assert mentions_pattern(text)


def test_blocks_and_clauses_nest() -> None:
    clause = "t MATCH_RECOGNIZE (PATTERN (A))"
    text = f"FROM (FROM {clause} AS m {P}) s {P} WHERE a.x IN (FROM u {P})"
    forms = [text[f.start : f.end] for f in read_statement(text).forms]
    assert forms == [clause, f"FROM {clause} AS m {P}", f"FROM u {P}", text]


def test_blocks_see_their_with_lists() -> None:
    text = f"WITH a AS (SELECT 1), b AS (FROM a {P}) FROM b {P}"
    in_b, outer = read_statement(text).forms
    assert [[t.name for t in s] for s in in_b.scopes] == [["a"]]
    assert [[t.name for t in s] for s in outer.scopes] == [["a", "b"]]
    assert Rewriter(read_statement(text)).input_sql(in_b).text == "WITH a AS (SELECT 1) SELECT * FROM a"


def test_a_question_mark_in_a_pattern_is_no_parameter() -> None:
    text = "FROM t PATTERN SEQ(A?, B) WHERE A.x = ? RETURN B.x"
    rewriter = Rewriter(read_statement(text), positional=True)
    assert rewriter.render(0, len(text)) == "FROM t PATTERN SEQ(A?, B) WHERE A.x = :__cep_p0 RETURN B.x"


@pytest.mark.parametrize("deep", ["(" * 50_000, "(" * 50_000 + ")" * 50_000, "FROM (" * 20_000])
def test_deep_statements_are_read_quickly(deep: str) -> None:
    assert read_statement(f"SELECT pattern, {deep}").forms == []


@pytest.mark.parametrize(
    ("text", "column"),
    [("FROM t PATTERN (a) WHERE x = 'it", 30), ("FROM t PATTERN (a) /* b /* c */", 20), ("FROM t PATTERN (`a)", 17)],
)
def test_unclosed_strings_and_comments_have_a_place(text: str, column: int) -> None:
    with pytest.raises(PatternParseError, match=f"column {column}\\.") as error:
        read_statement(text)
    assert error.value.error_class == "CEP_SYNTAX_ERROR"
