"""Aggregates that list: collect_list of one long match, beside a sum of it and Spark's own list of the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from benchmarks import spark as sparks
from benchmarks.harness import Benchmark, Entry, Ratio

SIZES = (40_000, 80_000, 160_000)
LISTED, SUMMED, GROUPED = "collect_list in MEASURES", "sum in MEASURES", "Spark: GROUP BY"

ABOUT = """
One match that takes all rows of a table without keys. What is measured is how the time of a list grows with the match.

```sql
{listed}
```

*{summed}* has `sum(id)` in its place, which is what matching alone costs. *{grouped}* lists the same rows in order:

```sql
{group}
```
"""


def clause(rows: int, measure: str) -> str:
    """One match of all rows of a view."""
    return (
        f"SELECT max(s) FROM w{rows} MATCH_RECOGNIZE (ORDER BY id MEASURES {measure} AS s PATTERN (a b*) "
        "DEFINE b AS id > 0)"
    )


def group(rows: int) -> str:
    """The list of all rows of a view in order."""
    return f"SELECT max(size(l)) FROM (SELECT sort_array(collect_list(id)) AS l FROM w{rows})"


@contextmanager
def lists(quick: bool = False, **_: object) -> Iterator[Benchmark]:
    """The benchmark, with its session running for the length of the with block."""
    sizes = SIZES[:1] if quick else SIZES
    asked = {LISTED: partial(clause, measure="size(collect_list(id))"), SUMMED: partial(clause, measure="sum(id)"),
             GROUPED: group}  # fmt: skip
    with sparks.spark_session({}) as spark:
        for rows in sizes:
            spark.range(rows).createOrReplaceTempView(f"w{rows}")
        yield Benchmark(
            name="lists",
            title="Aggregates that list",
            about=ABOUT.format(
                listed=asked[LISTED](sizes[0]), summed=SUMMED, grouped=GROUPED, group=group(sizes[0])
            ),
            entries=tuple(
                Entry(f"{rows:,} rows", name, partial(sparks.answer, spark, sql(rows)), "" if name != SUMMED else name)
                for rows in sizes
                for name, sql in asked.items()
            ),
            ratios=(Ratio(f"{LISTED} / {SUMMED}", (LISTED,), (SUMMED,)),
                    Ratio(f"{LISTED} / {GROUPED}", (LISTED,), (GROUPED,))),
            versions=sparks.versions(spark),
            notes=(sparks.SETTINGS_NOTE,),
        )  # fmt: skip
