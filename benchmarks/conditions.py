"""What conditions cost by what is in them: the same queries over DOUBLE, INT, DECIMAL, strings, CASE, LIKE."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import spark as sparks
from benchmarks.generate import DATA
from benchmarks.harness import Benchmark, Entry, Ratio

CASES = 1000

ABOUT = """
{rows:,} events of {cases:,} partitions, whose values are one random number below 1,000, kept as a DOUBLE, an INT, a
BIGINT, two DECIMALs and a text. *clause* and *block* look for a value that is 1.25 times as high as an earlier one and
for one below that; *trends* counts the trends of values that rise by a factor of 1.25. In Spark 1.25 is a DECIMAL and
`1.25D` a DOUBLE; either product is exact, so that all answers but those of other conditions are the same.

```sql
{clause}
```

```sql
{block}
```

```sql
{trends}
```
"""

NOTES = (
    "Every run goes from the text of the query to its row in the caller: parsing, planning, reading, collecting.",
    "Texts of two events are joined by `||`, or compared by LIKE, which the kernel cannot do: these lines say what the "
    "interpreter costs. Trends have them tested for each pair of neighbours, where DOUBLE takes a tree.",
    "Spark compiles Java classes for each query and keeps the last 100 (spark.sql.codegen.cache.maxEntries), fewer "
    "than these queries have: here it keeps 1,000, so that none of them is compiled again in each round.",
    sparks.SETTINGS_NOTE,
)


@dataclass(frozen=True, slots=True)
class ConditionClass:
    """A test of events ``a`` and ``b``, and one of ``b`` and ``c``; ``answer``: which classes find the same.

    ``trends``: what two events next to each other in a trend fulfil, where trends are asked.
    """

    name: str
    rises: str
    falls: str
    answer: str = ""
    trends: str = ""


def _number(name: str, column: str, factor: str) -> ConditionClass:
    return ConditionClass(
        name, f"b.{column} > a.{column} * {factor}", f"c.{column} < b.{column}", "numbers",
        f"S.{column} * {factor} < NEXT(S).{column}",
    )  # fmt: skip


DOUBLE = "DOUBLE"
CLASSES = (
    _number(DOUBLE, "x", "1.25D"),
    ConditionClass("DOUBLE, not scaled", "b.x > a.x", "c.x < b.x", "unscaled", "S.x < NEXT(S).x"),
    ConditionClass("FLOAT", "b.f - a.f > a.f * float(0.25)", "c.f < b.f", "numbers", "S.f * 1.25 < NEXT(S).f"),
    _number("INT x 1.25", "v", "1.25"),
    _number("BIGINT x 1.25", "l", "1.25"),
    _number("DECIMAL(10,2) x 1.25", "d", "1.25"),
    _number("DECIMAL(38,18) x 1.25", "w", "1.25"),
    ConditionClass("DECIMAL beside DOUBLE", "b.x > a.d * 1.25", "c.d < b.x", "numbers", "S.d * 1.25 < NEXT(S).x"),
    ConditionClass("CASE, COALESCE", "CASE WHEN b.x > a.x * 1.25D THEN 1 ELSE 0 END = 1",
                   "coalesce(c.x, b.x) < b.x", "numbers"),
    ConditionClass("text", "b.s > a.s", "c.s < b.s", "unscaled"),
    ConditionClass("a text beside DOUBLE", "b.s > a.x * 1.25D", "c.x < b.s", "numbers", "S.x * 1.25D < NEXT(S).s"),
    ConditionClass("LIKE", "b.x > a.x * 1.25D AND a.s LIKE '%7%'", "c.x < b.x", "like"),
    ConditionClass("texts of two events joined", "b.x > a.x * 1.25D AND a.s || b.s > '0'", "c.x < b.x", "numbers",
                   "S.x * 1.25D < NEXT(S).x AND S.s || NEXT(S).s > '0'"),
    ConditionClass("LIKE of two events", "b.x > a.x * 1.25D AND b.s NOT LIKE a.s || '_%'", "c.x < b.x", "numbers",
                   "S.x * 1.25D < NEXT(S).x AND NEXT(S).s NOT LIKE S.s || '_%'"),
)  # fmt: skip


def clause(c: ConditionClass) -> str:
    return f"""SELECT count(*) AS n, sum(first) AS first, sum(last) AS last
FROM log MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY t
  MEASURES a.t AS first, c.t AS last
  PATTERN (a b+ c)
  DEFINE b AS {c.rises}, c AS {c.falls}
)"""


def block(c: ConditionClass) -> str:
    return f"""SELECT count(*) AS n, sum(first) AS first, sum(last) AS last FROM (
  FROM log PARTITION BY k ORDER BY t EVENT TYPE e
  PATTERN SEQ(A a, B b, C c)
  WHERE {c.rises} AND {c.falls}
  WITHIN 20
  EVENT SELECTION SKIP TILL NEXT MATCH
  RETURN a.t AS first, c.t AS last
)"""


def trends(c: ConditionClass) -> str:
    return f"""SELECT count(*) AS groups, sum(n) AS n FROM (
  FROM (SELECT *, 'S' AS type FROM log) ORDER BY t EVENT TYPE type
  PATTERN S+ WHERE {c.trends} WITHIN 50 SLIDE 50
  GROUP BY k RETURN k, COUNT(*) AS n
)"""


def ensure_values(quick: bool) -> Path:
    """The log as one Parquet file, made on first use."""
    path = DATA / ("condition_kinds_quick.parquet" if quick else "condition_kinds.parquet")
    if not path.exists():
        rows = 50_000 if quick else 1_000_000
        value = np.random.default_rng(5).integers(0, 1000, rows)
        at = np.arange(rows)
        ints = pa.array(value, pa.int32())
        DATA.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        pq.write_table(
            pa.table({
                "k": at * CASES // rows, "t": at, "e": pa.array(["A", "B", "C"]).take(pa.array(at % 3)),
                "x": pa.array(value, pa.float64()), "f": pa.array(value, pa.float32()), "v": ints, "l": pa.array(value),
                "s": pa.array([f"{v:04}" for v in value]),
                "d": ints.cast(pa.decimal128(10, 0)).cast(pa.decimal128(10, 2)),
                "w": ints.cast(pa.decimal128(10, 0)).cast(pa.decimal128(38, 18)),
            }),
            part, compression="zstd", row_group_size=131_072,
        )  # fmt: skip
        part.rename(path)  # an interrupted run leaves no file that looks whole
    return path


@contextmanager
def conditions(quick: bool = False, **_: object) -> Iterator[Benchmark]:
    """The benchmark, with its session running for the length of the with block."""
    with sparks.spark_session({"log": ensure_values(quick)}, spark_sql_codegen_cache_maxEntries="1000") as spark:
        first = CLASSES[0]
        asked = [("clause", clause), ("block", block), ("trends", trends)]
        yield Benchmark(
            name="conditions",
            title="Conditions by what is in them",
            about=ABOUT.format(
                rows=spark.table("log").count(), cases=CASES, clause=clause(first), block=block(first),
                trends=trends(first),
            ),
            entries=tuple(
                Entry(name, c.name, partial(sparks.answer, spark, sql(c)), f"{name} {c.answer}")
                for name, sql in asked
                for c in CLASSES
                if name != "trends" or c.trends
            ),
            ratios=tuple(Ratio(f"{c.name} / {DOUBLE}", (c.name,), (DOUBLE,)) for c in CLASSES[1:]),
            versions=sparks.versions(spark),
            notes=NOTES,
        )  # fmt: skip
