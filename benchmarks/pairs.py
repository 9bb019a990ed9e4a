"""Functions of two rows that only Spark has: over rows side by side, beside PREV and Spark's lag."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from benchmarks import spark as sparks
from benchmarks.harness import Benchmark, Entry, Ratio

SIZES = (3_000, 6_000, 100_000)
CALL = "xxhash64({}, {}) % 97 = 0"

ABOUT = """
One user's events. The first queries count rows whose hash together with the row before is divisible by 97; the
interpreter of conditions has no `xxhash64`. The others count such pairs of any two events of two types among ten.

{queries}
"""


def clause(rows: int) -> str:
    """Two rows side by side."""
    return (
        f"SELECT count(*) AS n FROM v{rows} MATCH_RECOGNIZE (PARTITION BY k ORDER BY id MEASURES B.id AS b "
        f"AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) DEFINE B AS {CALL.format('A.s', 'B.s')})"
    )


def previous(rows: int) -> str:
    """The same by PREV."""
    return (
        f"SELECT count(*) AS n FROM v{rows} MATCH_RECOGNIZE (PARTITION BY k ORDER BY id MEASURES B.id AS b "
        f"AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) DEFINE B AS {CALL.format('PREV(B.s)', 'B.s')})"
    )


def lag(rows: int) -> str:
    """The same without a pattern."""
    window = "WINDOW w AS (PARTITION BY k ORDER BY id)"
    inner = f"SELECT s, lag(s) OVER w AS p, row_number() OVER w AS n FROM v{rows} {window}"
    return f"SELECT count(*) AS n FROM ({inner}) WHERE n > 1 AND {CALL.format('p', 's')}"


ASKED = {"A B": clause, "PREV": previous, "Spark: lag": lag}
FUNCTION = f"CREATE OR REPLACE TEMPORARY FUNCTION bench_near(x STRING, y STRING) RETURNS BOOLEAN RETURN {CALL}"


def types(rows: int, test: str = CALL) -> str:
    """Any two events of two types among ten."""
    condition = test.format("a.s", "b.s")
    return f"SELECT count(*) AS n FROM (FROM v{rows} PARTITION BY k ORDER BY id EVENT TYPE e PATTERN SEQ(A a, B b) " + (
        f"WHERE {condition} EVENT SELECTION SKIP TILL ANY MATCH RETURN k)"
    )


def join(rows: int) -> str:
    """The same without a pattern."""
    return (
        f"SELECT count(*) AS n FROM v{rows} a JOIN v{rows} b ON a.k = b.k AND a.e = 'A' AND b.e = 'B' AND a.id < b.id "
        f"AND {CALL.format('a.s', 'b.s')}"
    )


#: Over partitions whose pairs of these types the limit lets through.
ASKED_BY_TYPE = {
    "of two types": types,
    "of two types, a SQL function": partial(types, test="bench_near({}, {})"),
    "Spark: join": join,
}


@contextmanager
def pairs(quick: bool = False, **_: object) -> Iterator[Benchmark]:
    """The benchmark, with its session running for the length of the with block."""
    sizes = SIZES[:1] if quick else SIZES
    with sparks.spark_session({}) as spark:
        spark.sql(FUNCTION.format("x", "y"))
        for rows in sizes:
            types_ = "substr('ABCDEFGHIJ', 1 + pmod(xxhash64(id), 10), 1) AS e"
            view = spark.range(rows).selectExpr("1 AS k", "id", "concat('s', id * 31 % 1009) AS s", types_)
            view.createOrReplaceTempView(f"v{rows}")
        asked = {**ASKED, **ASKED_BY_TYPE}
        queries = "\n\n".join(f"*{name}*\n\n```sql\n{sql(sizes[0])}\n```" for name, sql in asked.items())
        yield Benchmark(
            name="pairs",
            title="Functions of two rows",
            about=ABOUT.format(queries=queries),
            entries=tuple(
                Entry(f"{rows:,} rows{what}", name, partial(sparks.answer, spark, sql(rows)))
                for rows in sizes
                for what, queries_of in (("", ASKED), (", two types", ASKED_BY_TYPE if rows < 10_000 else {}))
                for name, sql in queries_of.items()
            ),
            ratios=(
                Ratio("A B / PREV", ("A B",), ("PREV",)),
                Ratio("A B / Spark: lag", ("A B",), ("Spark: lag",)),
                *(Ratio(f"{name} / Spark: join", (name,), ("Spark: join",)) for name in list(ASKED_BY_TYPE)[:2]),
            ),
            versions=sparks.versions(spark),
            notes=(sparks.SETTINGS_NOTE,),
        )
