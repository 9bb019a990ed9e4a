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
One user's events. Each query counts rows whose hash together with the row before is divisible by 97; the interpreter of
conditions has no `xxhash64`.

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


@contextmanager
def pairs(quick: bool = False, **_: object) -> Iterator[Benchmark]:
    """The benchmark, with its session running for the length of the with block."""
    sizes = SIZES[:1] if quick else SIZES
    with sparks.spark_session({}) as spark:
        for rows in sizes:
            view = spark.range(rows).selectExpr("1 AS k", "id", "concat('s', id * 31 % 1009) AS s")
            view.createOrReplaceTempView(f"v{rows}")
        queries = "\n\n".join(f"*{name}*\n\n```sql\n{sql(sizes[0])}\n```" for name, sql in ASKED.items())
        yield Benchmark(
            name="pairs",
            title="Functions of two rows",
            about=ABOUT.format(queries=queries),
            entries=tuple(
                Entry(f"{rows:,} rows", name, partial(sparks.answer, spark, sql(rows)))
                for rows in sizes
                for name, sql in ASKED.items()
            ),
            ratios=(Ratio("A B / PREV", ("A B",), ("PREV",)), Ratio("A B / Spark: lag", ("A B",), ("Spark: lag",))),
            versions=sparks.versions(spark),
            notes=(sparks.SETTINGS_NOTE,),
        )
