"""The driver's share: `spark.sql` of a statement, without running it, beside Spark's analysis of a GROUP BY."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks import spark as sparks
from benchmarks.generate import DATA
from benchmarks.harness import Answer, Benchmark, Entry, Ratio, timed

#: Statements with a constant to fill in, so that each is a text that the session has not seen.
STATEMENTS = {
    "GROUP BY": "SELECT k, count(*), max(t) FROM log WHERE x > {} GROUP BY k",
    "window functions": "SELECT k, t, lag(x) OVER (PARTITION BY k ORDER BY t) AS l, sum(x) OVER (PARTITION BY k "
    "ORDER BY t) AS s FROM log WHERE x > {}",
    "fold": "FROM log PARTITION BY k ORDER BY t EVENT TYPE e PATTERN SEQ(A a, B b, C c) WHERE a.x > {} "
    "MATCHES NON OVERLAPPING RETURN k, a.t AS t",
    "clause": "SELECT * FROM log MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES a.t AS x, LAST(b.t) AS y "
    "PATTERN (a b+ c) DEFINE b AS b.x > a.x * {}, c AS c.x < b.x)",
    "Kleene block": "FROM log PARTITION BY k ORDER BY t EVENT TYPE e PATTERN SEQ(A a, B+ b[], C c) "
    "WHERE b[i].x > a.x * {} WITHIN 20 RETURN k, a.t AS t, count(b[].x) AS n",
}
#: Statements of one timing: a single one takes milliseconds.
STATEMENTS_A_RUN = 20

ABOUT = """
`spark.sql(text)` of {count} statements without running any, over a view of a small Parquet file: *new* texts differ by
a constant, *seen* is one text again and again. *GROUP BY* and *window functions* are Spark's own.

{statements}
"""


def ensure_rows() -> None:
    """A log of 1,000 rows as a Parquet file, made on first use."""
    path = DATA / "driver.parquet"
    if not path.exists():
        DATA.mkdir(parents=True, exist_ok=True)
        at = np.arange(1000)
        types = pa.array(list("ABCD")).take(pa.array(at % 4))
        pq.write_table(pa.table({"k": at % 50, "t": at, "e": types, "x": (at * 37 % 101) / 101}), path)


def analysed(spark: SparkSession, text: str, constants: Iterator[str]) -> Answer:
    """The time of some statements until each is a DataFrame."""

    def run() -> list[tuple[int]]:
        for _ in range(STATEMENTS_A_RUN):
            spark.sql(text.format(next(constants)))
        return [(STATEMENTS_A_RUN,)]

    return timed(run)


@contextmanager
def driver(quick: bool = False, **_: object) -> Iterator[Benchmark]:
    """The benchmark, with its session running for the length of the with block."""
    ensure_rows()
    new = (f"0.{n:06}" for n in itertools.count())
    with sparks.spark_session({"log": DATA / "driver.parquet"}) as spark:
        if not quick:  # until the JVM has compiled what analyses
            for text in list(STATEMENTS.values()) * 5:
                analysed(spark, text, new)
        constants = {"new": new, "seen": itertools.repeat("0.5")}
        shown = "\n\n".join(f"*{name}*\n\n```sql\n{text.format('0.5')}\n```" for name, text in STATEMENTS.items())
        yield Benchmark(
            name="driver",
            title="The driver's share",
            about=ABOUT.format(count=STATEMENTS_A_RUN, statements=shown),
            entries=tuple(
                Entry(query, name, partial(analysed, spark, text, of))
                for query, of in constants.items()
                for name, text in STATEMENTS.items()
            ),
            ratios=tuple(Ratio(f"{name} / GROUP BY", (name,), ("GROUP BY",)) for name in list(STATEMENTS)[1:]),
            versions=sparks.versions(spark),
            notes=(sparks.SETTINGS_NOTE,),
        )
