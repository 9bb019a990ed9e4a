# ruff: noqa: E501 (statements as data)
"""Whatever the text is: an answer or a refusal with its place, in bounded time; what is not ours stays as it is."""

from __future__ import annotations

import os
import time
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkcep.sql.index_statements import read_index_statement
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.statement import mentions_pattern

from ..conftest import every
from .hostile import hostile, in_bounded_time, outcome

EXAMPLES = 100_000 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 500


@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 2**63))
def test_any_statement_ends_in_an_answer_or_a_refusal_with_its_place(seed: int) -> None:
    text = hostile(Random(seed))
    started = time.process_time()
    outcome(text)
    assert in_bounded_time(started), text


N = 3_000
MR = "SELECT * FROM t MATCH_RECOGNIZE "


def in_clause(pattern: str) -> str:
    return f"{MR}(PATTERN ({pattern}))"


def in_define(condition: str) -> str:
    return f"{MR}(PATTERN (A B) DEFINE B AS {condition})"


def in_where(condition: str) -> str:
    return f"FROM t PATTERN A a, B b WHERE {condition}"


# What each comes to (None: any refusal or answer). Those marked once took minutes (*) or ended in a fault from inside (!).
LARGE = {
    "nested parentheses": (in_clause("(" * 10_000 + "A" + ")" * 10_000), "CEP_PATTERN_SYNTAX"),
    "nested groups of a block": ("FROM t PATTERN " + "SEQ(" * 10_000 + "A a" + ")" * 10_000, "CEP_PATTERN_SYNTAX"),
    "negations of negations": ("FROM t PATTERN " + "NOT " * 10_000 + "A a", "CEP_PATTERN_SYNTAX"),
    "a query in parentheses *": ("(" * N + "FROM t PATTERN A a" + ")" * N, "read"),
    "a limited block in parentheses *": ("SELECT id FROM " + "(" * N + "FROM t PATTERN A a" + ")" * N + " LIMIT 3", "read"),
    "long alternation *": (in_clause("|".join(f"A{i}" for i in range(N))), "read"),
    "repeated alternation *": (in_clause("(" + "|".join(f"A{i}" for i in range(N)) + ")*"), "CEP_PROGRAM_TOO_LARGE"),
    "long sequence": ("FROM t PATTERN " + ", ".join(f"A{i}" for i in range(N)), "read"),
    "optional sequence *": ("FROM t PATTERN " + ", ".join(["A?"] * N), "CEP_PROGRAM_TOO_LARGE"),
    "PERMUTE of many": (in_clause("PERMUTE(" + ", ".join(f"A{i}" for i in range(N)) + ")"), "MATCH_RECOGNIZE_PERMUTE_TOO_MANY_PATTERNS"),
    "nested quantifiers": (in_clause("((((A{100}){100}){100}){100}){100}"), "CEP_PROGRAM_TOO_LARGE"),
    "optional copies *": (in_clause("(A?){5000} A{5000}"), "CEP_PROGRAM_TOO_LARGE"),
    "a bound of many digits !": (in_clause("A{" + "9" * 5_000 + "}"), "CEP_PATTERN_SYNTAX"),
    "copies of an anchor *": (in_clause("A (^ | ${99999} | ())* B{2} (${99999} A+)"), "read"),
    "nested stars": (in_clause("(" * 90 + "A" + "*)" * 90), "read"),
    "many negations": ("FROM t PATTERN A a, " + ", ".join(f"!X{i}" for i in range(300)) + ", B b", "CEP_PROGRAM_TOO_LARGE"),
    "nested operators": (in_define("NOT " * N + "A.val > 1"), None),
    "long conjunction !": (in_define("A.val > B.val AND " * 1_500 + "TRUE"), "read"),
    "long sum": (in_define("A.val + " * N + "1 > B.val"), None),
    "nested calls": (in_define("abs(" * N + "B.val" + ")" * N + " > A.val"), None),
    "BETWEENs *": (in_where(" AND ".join(["a.val BETWEEN 1 AND 2"] * N)), "read"),
    "open brackets": (in_where("[(" * 50_000), None),
    "a run of MATCHES !": ("FROM t PATTERN A a " + "MATCHES " * N, "CEP_SYNTAX_ERROR"),
    "a run of COLLAPSED !": ("FROM t PATTERN A a " + "COLLAPSED " * N, None),
    "a run of PATTERN !": ("FROM t " + "PATTERN " * N + "A", None),
    "a run of LEFT *": ("FROM t PATTERN A a " + "LEFT " * N, None),
    "FROMs behind AS *": ("AS FROM t " * N + "PATTERN A a", None),
    "WITH list in a chain": (
        "WITH c0 AS (SELECT 1)" + "".join(f", c{i + 1} AS (SELECT * FROM c{i})" for i in range(N)) + f" SELECT * FROM c{N} MATCH_RECOGNIZE (PATTERN (A))",
        "read",
    ),
    "rows of VALUES *": (
        "SELECT * FROM VALUES " + ", ".join(f"({i}, {i})" for i in range(20_000)) + " AS t(id, val) MATCH_RECOGNIZE (PATTERN (A))",
        "read",
    ),
    "a text of a megabyte": (in_where(f"a.kind = '{'x' * 1_000_000}'"), "read"),
    "a megabyte that is Spark's": ("SELECT " + ", ".join(f"'pattern {i}' AS p{i}" for i in range(40_000)) + " FROM t", "foreign"),
    "comments": ("FROM t PATTERN A a " + "/*" * 50_000 + "*/" * 50_000, "read"),
    "semicolons *": ("DROP PATTERN INDEX i" + ";" * 50_000, "index"),
}  # fmt: skip


@pytest.mark.parametrize("name", every(4, LARGE))
def test_large_statements_end_in_bounded_time(name: str) -> None:
    text, expected = LARGE[name]
    started = time.process_time()
    came = outcome(text)
    assert in_bounded_time(started)
    assert came == expected if expected else came != "foreign"


@pytest.mark.parametrize(
    ("text", "error_class"),
    [
        ("CREATE TEMPORARY VIEW v (a, b AS FROM t PATTERN A a", "CEP_SYNTAX_ERROR"),
        (f"{MR}(PATTERN (A) DEFINE A AS kind = x'zz')", "CEP_SYNTAX_ERROR"),
        (in_clause("A{²}"), "CEP_PATTERN_SYNTAX"),
        (in_where("(time, within, 5, 1, 000000012345)"), "CEP_CONSTRAINT"),
        (in_define("PREV(val, " + "9" * 5_000 + ") > 1"), "CEP_NAVIGATION_OFFSET"),
        (in_define("A.val / NULL >= 1"), "read"),
        (in_define("A.val > B.val AND " * 1_500 + "TRUE"), "read"),
        (in_clause("A{30000}"), "CEP_PROGRAM_TOO_LARGE"),
        ("FROM t PATTERN A{30000}", "CEP_PROGRAM_TOO_LARGE"),
        (
            "SELECT count(*) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING PATTERN (A B)) FROM",
            "CEP_WINDOW_QUERY",
        ),
        (
            "SELECT count(*) OVER (v ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING PATTERN (A B)) FROM WINDOW v AS u, u AS v",
            "CEP_WINDOW_QUERY",
        ),
        ("FROM t PATTERN A a, B+ b[], C c WITHIN INTERVAL", "CEP_UNRESOLVED_COLUMN"),
        (in_define("'x' / NULL BETWEEN A.val AND B.val"), "CEP_UNSUPPORTED_CONDITION"),
        ("FROM t PATTERN A a, B b RETURN 1 + (SELECT max(val) FROM t) AS x", "read"),
        (
            "SELECT count(*) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING PATTERN (A B))",
            "CEP_WINDOW_QUERY",
        ),
    ],
)
def test_fixed_refusals(text: str, error_class: str) -> None:
    assert outcome(text) == error_class


# After the idioms of Spark's own SQL tests; the words of our forms stand where they mean nothing to us.
FOREIGN = [
    "BEGIN DECLARE pattern INT = 1; WHILE pattern < 3 DO SET pattern = pattern + 1; END WHILE; SELECT pattern; END",
    "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN SELECT 'FROM t PATTERN A'; END; SELECT 1; END",
    "lbl: BEGIN FOR r AS SELECT pattern FROM t DO SELECT r.pattern; END FOR; END lbl",
    "FROM t |> WHERE pattern > 1 |> EXTEND x AS pattern |> AGGREGATE sum(pattern) GROUP BY x |> ORDER BY pattern",
    "TABLE pattern |> SELECT * |> LIMIT 2",
    "SELECT /*+ BROADCAST(pattern), COALESCE(1) */ * FROM t JOIN pattern ON t.id = pattern.id",
    "SELECT * FROM t pattern LATERAL VIEW OUTER explode(array(1, 2)) match_recognize AS pattern",
    "SELECT transform(pattern, (pattern, i) -> pattern + i), aggregate(a, 0, (x, match_recognize) -> x) FROM t",
    "SELECT 1 /* outer /* FROM t PATTERN A */ SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A)) */ AS pattern",
    "-- FROM t PATTERN A\nSELECT pattern --\\\n FROM t",
    "SELECT 'it''s FROM t PATTERN A' AS `a``b pattern`, \"FROM t PATTERN \\\" B\", r'\\pattern', X'1F' FROM t",
    "SELECT 'a' 'FROM t MATCH_RECOGNIZE (PATTERN (A))' \"pattern\"",
    "SELECT `match_recognize`.`pattern`, `FROM t PATTERN A` FROM `match_recognize`",
    "SELECT ünïcode, 列, `🚀 pattern` FROM `データ`.pattern WHERE 名前 = 'pattern'",
    "CREATE TABLE pattern (pattern STRING COMMENT 'FROM t PATTERN A', match_recognize INT) USING parquet",
    "INSERT INTO pattern (pattern) VALUES ('FROM t PATTERN A a'), (1)",
    "MERGE INTO pattern USING match_recognize ON pattern.id = match_recognize.id WHEN MATCHED THEN DELETE",
    "SELECT regexp_extract(x, 'pattern', 0) pattern FROM VALUES ('pattern'), ('b') AS pattern(x)",
    "SELECT * FROM t TABLESAMPLE (5 PERCENT) pattern WHERE pattern.x LIKE '%pattern%' ESCAPE '\\\\'",
    "SELECT sum(x) OVER pattern FROM t WINDOW pattern AS (PARTITION BY a ORDER BY b RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
    "SELECT * FROM t PIVOT (sum(pattern) FOR match_recognize IN ('a', 'b'))",
    "SELECT extract(DAY FROM pattern), trim(BOTH 'x' FROM pattern), substring(pattern FROM 1 FOR 2) FROM t",
    "FROM t pattern SELECT pattern.a INSERT OVERWRITE TABLE u SELECT 1",
    "FROM (SELECT 1 AS pattern) SELECT pattern",
    "SHOW TABLES LIKE 'pattern*'", "SET pattern.match_recognize = FROM t PATTERN A", "ADD JAR /tmp/pattern index.jar",
    "CREATE INDEX pattern ON t (a)", "DROP PATTERN", "SHOW PATTERN", "CREATE PATTERN TABLE index (a INT)",
    "SELECT {pattern}, {df} FROM {match_recognize} WHERE '{{' = '}'",
    "SELECT a:pattern.b[0]::int, try_cast(pattern AS int), -- x\n :pattern, ?, IDENTIFIER('pattern') FROM t",
    "SELECT 'FROM t PATTERN", "SELECT /* pattern", "", ";", "pattern", "match_recognize", "\x00pattern\u200b\ufeff",
]  # fmt: skip


@pytest.mark.parametrize("text", FOREIGN)
def test_foreign_statements_are_none_of_ours(text: str) -> None:
    """Then `spark.sql` gets the very text (tests/spark/test_session.py)."""
    assert not read_index_statement(text)
    assert not mentions_pattern(text) or not read_statement(text).forms
