"""Positional parameters stand wherever a value may, in every form with a pattern: they say what literals would say."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from pyspark.sql import SparkSession

from sparkcep.errors import PatternAnalysisError

from ..conftest import every

BLOCK = "FROM given PARTITION BY c ORDER BY t EVENT TYPE e PATTERN SEQ(A a, B b)"
ANY = f"{BLOCK} EVENT SELECTION SKIP TILL ANY MATCH"
CLAUSE = "SELECT * FROM given MATCH_RECOGNIZE"
#: Statements with `@` where values stand, and the values.
STATEMENTS: list[tuple[str, list[Any]]] = [
    # blocks: WHERE, WITHIN, RETURN, ORDER BY, LIMIT
    (f"{BLOCK} WHERE b.v > @ ORDER BY c", [10]),
    (f"{BLOCK} WHERE b.v > a.v + @ WITHIN @ RETURN @ AS q, b.v + @ AS w", [0, 3, "k", 5]),
    (f"{BLOCK} WITHIN @ WHERE b.v > @", [5, 1]),
    (f"{BLOCK} WHERE b.v > a.v + @ MATCHES FIRST RETURN b.t", [0]),
    (f"{BLOCK} WHERE b.v > a.v + @ EVENT SELECTION SKIP TILL ANY MATCH RETURN b.t AS t, @ x, b.v + @ y ORDER BY "
     f"t", [0, 7, 1]),
    (f"{BLOCK} WHERE b.v BETWEEN @ AND @ AND a.v IN (@, @) OR b.v > @ AND NOT a.v = @ RETURN b.t ORDER BY @, t LIMIT @",
     [0, 100, 10, 11, 3, 4, 1, 1]),
    (f"{BLOCK} WHERE exists(array(1, @), x -> x = @) AND b.v > a.v - @ RETURN b.t ORDER BY t", [1, 1, 3]),
    (f"{BLOCK} WHERE b.v > a.v AND CASE WHEN b.v > @ THEN true ELSE @ END RETURN b.t", [11, False]),
    (f"{BLOCK} WHERE b.v > a.v RETURN b.v + @ UNION ALL SELECT @ ORDER BY 1", [1, 100]),
    ("FROM given PARTITION BY v > @ ORDER BY t + @ EVENT TYPE e PATTERN SEQ(A a, B b)", [1, 1]),
    ("FROM (SELECT * FROM given WHERE v > @ ORDER BY t) PARTITION BY c ORDER BY t EVENT TYPE e PATTERN SEQ(A a, "
     "B b)", [1]),
    (f"SELECT c FROM ({BLOCK} WHERE b.v > @) GROUP BY c HAVING count(*) >= @ ORDER BY c LIMIT @ OFFSET @",
     [0, 1, 5, 1]),
    # lengths that planners have to know
    (f"{ANY} WHERE b.v > a.v + @ WITHIN @ SLIDE @ RETURN c, COUNT(*) AS n, @ total GROUP BY c HAVING COUNT(*) > "
     f"@ ORDER BY c",
     [0, 6, 3, 1, 0]),
    (f"{ANY} WITHIN @ UNCERTAINTY @ STEP @ RETURN b.t", [5, 2, 2]),
    (f"{ANY.replace('ORDER BY t', 'ORDER BY moment')} WITHIN @ RETURN c, COUNT(*) AS n GROUP BY c",
     [dt.timedelta(minutes=5)]),
    (f"{ANY.replace('ORDER BY t', 'ORDER BY moment')} WITHIN @ RETURN b.t", [dt.timedelta(minutes=5)]),
    # clauses: MEASURES, WITHIN, DEFINE, before sections and behind the clause; `?` in PATTERN is a quantifier
    (f"{CLAUSE} (PARTITION BY c, @ ORDER BY t, @ MEASURES A.t + @ AS x, @ AS y ONE ROW PER MATCH PATTERN (A B?) "
     f"WITHIN @ "
     "SUBSET U = (A, B) DEFINE A AS A.v >= @, B AS B.v > A.v + @) ORDER BY c, x, @ LIMIT @",
     [1, 2, 100, "u", 7, 10, 0, 1, 3]),
    (f"{CLAUSE} (PARTITION BY @ ORDER BY t MEASURES @ AS x PATTERN (A B??) DEFINE B AS B.v > @) WHERE x > @ "
     f"ORDER BY x", [1, 2, 10, 1]),
    (f"{CLAUSE} (ORDER BY c, @ MEASURES A.v > @ AS x ALL ROWS PER MATCH PATTERN (A B+) DEFINE B AS B.v > @ OR "
     f"@) LIMIT @",
     [1, 2, 0, False, 1]),
    # windows: the frame, DEFINE, before WINDOW, ORDER BY and names
    ("SELECT t, @ p, m OVER w AS x FROM given WHERE v > @ WINDOW w AS (PARTITION BY c ORDER BY t MEASURES "
     "LAST(B.v) + @ AS m "
     "ROWS BETWEEN CURRENT ROW AND @ FOLLOWING PATTERN (A B?) DEFINE B AS B.v > A.v + @) ORDER BY @, t, c LIMIT @",
     [5, 0, 100, 2, 0, 1, 3]),
    ("SELECT c, t, count(*) OVER (PARTITION BY c, @ ORDER BY t, @ ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING "
     "PATTERN (A B) "
     "DEFINE B AS B.v > @) + @ AS n FROM given WHERE v > @ ORDER BY c, t LIMIT @", [1, 1, 0, 100, 0, 2]),
    ("SELECT t, @ w, count(*) OVER w FROM given JOIN (SELECT 1 AS one) ON one = @ WINDOW w AS (PARTITION BY c "
     "ORDER BY t "
     "ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING PATTERN (A B) DEFINE A AS A.v < @, B AS B.v > 1)", [7, 1, 12]),
    ("SELECT c, count(*) OVER w FROM given GROUP BY c HAVING max(v) > @ WINDOW w AS (ORDER BY @ ROWS BETWEEN CURRENT "
     "ROW AND 1 FOLLOWING PATTERN (A B) DEFINE B AS B.c > @) ORDER BY c LIMIT @", [0, 1, "a", 2]),
]  # fmt: skip


def literal(value: Any) -> str:
    if isinstance(value, dt.timedelta):
        return f"INTERVAL {value // dt.timedelta(seconds=1)} SECONDS"
    return repr(value)


@pytest.fixture(scope="module", autouse=True)
def rows(spark: SparkSession) -> None:
    spark.sql("""CREATE OR REPLACE TEMP VIEW given AS
        SELECT *, TIMESTAMP_NTZ '2026-01-01' + make_dt_interval(0, 0, t) AS moment FROM VALUES
        ('x', 1, 10, 'A'), ('x', 2, 11, 'B'), ('x', 3, 12, 'B'), ('y', 1, 10, 'A'), ('y', 9, 11, 'B')
        AS s(c, t, v, e)""")


@pytest.mark.parametrize(("text", "values"), every(3, STATEMENTS), ids=range(len(every(3, STATEMENTS))))
def test_they_say_what_literals_say(spark: SparkSession, text: str, values: list[Any]) -> None:
    assert text.count("@") == len(values)
    written = text
    for value in values:
        written = written.replace("@", literal(value), 1)
    expected = sorted(map(str, (tuple(row) for row in spark.sql(written).collect())))
    assert expected
    assert sorted(map(str, (tuple(row) for row in spark.sql(text.replace("@", "?"), values).collect()))) == expected


@pytest.mark.parametrize(
    ("value", "shown"), [("x", "TYPE.* 'x' is string"), (-3, r"VALUE.* \(-3\)"), (2.5, "TYPE.* 2.5D is not")]
)
def test_a_length_that_is_none_is_shown(spark: SparkSession, value: Any, shown: str) -> None:
    with pytest.raises(PatternAnalysisError, match=rf"CEP_WITHIN_{shown}"):
        spark.sql(f"{ANY} WITHIN ? RETURN COUNT(*) AS n", [value])


def test_arguments_in_braces_end_operands_too(spark: SparkSession) -> None:
    text = f"{CLAUSE} (ORDER BY t + {{k}} MEASURES A.t AS x PATTERN (A) DEFINE A AS A.v > {{k}}) ORDER BY x LIMIT 1"
    assert spark.sql(text, k=1).collect() == [(1,)]
    text = """SELECT t, count(*) OVER w AS n FROM given WHERE v > {k} WINDOW w AS (PARTITION BY c ORDER BY t * {k}
        ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING PATTERN (A B) DEFINE B AS B.v > {k}) ORDER BY t DESC LIMIT 1"""
    assert spark.sql(text, k=1).collect() == [(9, 0)]
