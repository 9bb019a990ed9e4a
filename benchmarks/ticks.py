"""Long partitions: every trade of four symbols, beside the plain window that sorts the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks import spark as sparks
from benchmarks.harness import Benchmark, Entry, Ratio

FILE = Path(__file__).parents[1] / ".." / "shared" / "data" / "stock_ticks_nyse_nasdaq_201310.parquet"

ABOUT = """
Every trade of four symbols on NYSE and NASDAQ in one week of October 2013: {rows} rows; SPY alone has 1,887,460, so
one partition is two thirds of the work. `v_shape`: a fall and a rise. `rising`: at least three rising trades, each
above the average of its run so far, which depends on the match. `within`: after a block trade the price stays below it,
falls by 0.05 % and is back, all inside one minute. `spy_block` is the same over SPY as the only partition, `spy_every`
starts at every trade; sparkcep cuts the partition into ranges of 16 minutes.

```sql
{example}
```

The floor is what any sorted treatment in Spark pays: `row_number()` over the same partitions, order and columns.
Both sides end in an aggregate over every column they make, one row for the caller:

```sql
{floor}
```

The floor has another answer, so it is compared only with itself.
"""

NOTES = (
    "Every run goes from the text of the query to its row in the caller: parsing, planning, reading, collecting.",
    "sparkcep chooses the layout itself; the line `rows layout` sets spark.sparkcep.exec.layout = rows.",
    "Gaps and islands: signs by `lag`, runs by a running sum, a valley is a fall beside a rise; a valley of a one-step "
    "fall right after a matched one has no row left to start with, which a count from the last certain valley decides.",
    sparks.SETTINGS_NOTE,
)


class MissingData(Exception):
    """A data set that a benchmark reads is not there."""


@dataclass(frozen=True, slots=True)
class TickQuery:
    """A pattern query over ticks: ``columns`` it reads, ``sums`` of measures that make its answer."""

    name: str
    columns: tuple[str, ...]
    sums: tuple[str, ...]
    clause: str
    partition_by: str = "PARTITION BY symbol "

    def sql(self, table: str) -> str:
        outer = ", ".join(["count(*) AS matches", *(f"sum({s}) AS {s}" for s in self.sums)])
        return (
            f"SELECT {outer}\nFROM {table} MATCH_RECOGNIZE (\n  {self.partition_by}ORDER BY ts, seq\n{self.clause}\n)"
        )

    def floor(self, table: str) -> str:
        outer = ", ".join(["count(*)", *(f"max({c})" for c in (*self.columns, "number"))])
        return (
            f"SELECT {outer}\nFROM (\n  SELECT {', '.join(self.columns)},\n"
            f"    row_number() OVER ({self.partition_by}ORDER BY ts, seq) AS number\n  FROM {table}\n)"
        )


V_SHAPE = TickQuery(
    "v_shape",
    ("symbol", "ts", "seq", "price"),
    ("start_seq", "bottom_seq", "end_seq"),
    """  MEASURES STRT.seq AS start_seq, LAST(DOWN.seq) AS bottom_seq, LAST(UP.seq) AS end_seq
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (STRT DOWN+ UP+)
  DEFINE DOWN AS price < PREV(price),
    UP AS price > PREV(price)""",
)
RISING = TickQuery(
    "rising",
    ("symbol", "ts", "seq", "price"),
    ("start_seq", "end_seq"),
    """  MEASURES A.seq AS start_seq, LAST(B.seq) AS end_seq
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A B{3,})
  SUBSET RUN = (A, B)
  DEFINE B AS B.price >= PREV(B.price) AND B.price > avg(RUN.price)""",
)
WITHIN = TickQuery(
    "within",
    ("symbol", "ts", "seq", "price", "volume"),
    ("start_seq", "end_seq"),
    """  MEASURES A.seq AS start_seq, R.seq AS end_seq
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A X+ R) WITHIN INTERVAL '1' MINUTE
  DEFINE A AS A.volume >= 10000,
    X AS X.price < A.price,
    R AS R.price >= A.price AND min(X.price) <= A.price * 0.9995""",
)
QUERIES = (V_SHAPE, RISING, WITHIN)
_EVERY_START = WITHIN.clause.replace("A AS A.volume >= 10000,\n    ", "")
#: Over SPY alone without PARTITION BY, so that only ranges can keep the second core busy.
ONE_PARTITION = (
    replace(WITHIN, name="spy_block", partition_by=""),
    replace(WITHIN, name="spy_every", partition_by="", clause=_EVERY_START),
)


def islands_sql(table: str) -> str:
    """``v_shape`` by hand: lag, then gaps and islands."""
    return f"""
WITH signs AS (
  SELECT symbol, ts, seq, coalesce(sign(price - lag(price) OVER w), 0D) AS direction, lag(seq) OVER w AS previous
  FROM {table} WINDOW w AS (PARTITION BY symbol ORDER BY ts, seq)
), borders AS (
  SELECT *, CASE WHEN direction = lag(direction) OVER w THEN 0 ELSE 1 END AS border
  FROM signs WINDOW w AS (PARTITION BY symbol ORDER BY ts, seq)
), islands AS (
  SELECT *, sum(border) OVER (PARTITION BY symbol ORDER BY ts, seq) AS island FROM borders
), runs AS (
  SELECT symbol, island, min(direction) AS direction, count(*) AS steps, min(previous) AS before, min(seq) AS first,
    max(seq) AS last
  FROM islands GROUP BY symbol, island
), valleys AS (
  SELECT * FROM (
    SELECT *, lead(direction) OVER w AS next_direction, lead(last) OVER w AS end_seq
    FROM runs WINDOW w AS (PARTITION BY symbol ORDER BY island)
  ) WHERE direction < 0 AND next_direction > 0
), chains AS (
  SELECT *, CASE WHEN steps > 1 OR lag(island) OVER w IS DISTINCT FROM island - 2 THEN 1 ELSE 0 END AS certain,
    lag(island) OVER w IS NOT DISTINCT FROM island - 2 AS beside
  FROM valleys WINDOW w AS (PARTITION BY symbol ORDER BY island)
), counted AS (
  SELECT *, sum(certain) OVER (PARTITION BY symbol ORDER BY island) AS chain FROM chains
), numbered AS (
  SELECT *, row_number() OVER (PARTITION BY symbol, chain ORDER BY island) % 2 AS matched FROM counted
), started AS (
  SELECT *, CASE WHEN beside AND lag(matched) OVER (PARTITION BY symbol ORDER BY island) = 1 THEN first ELSE before END
    AS start_seq
  FROM numbered
)
SELECT count(*) AS matches, sum(start_seq) AS start_seq, sum(last) AS bottom_seq, sum(end_seq) AS end_seq
FROM started WHERE matched = 1
"""


def ticks_file() -> Path:
    """The shared data set.

    Raises:
        MissingData: it is not there.
    """
    if not FILE.exists():
        raise MissingData(f"the benchmark reads {FILE.name} in ../shared/data beside the project, and it is not there")
    return FILE


def _entries(spark: SparkSession, table: str) -> Iterator[Entry]:
    for query in QUERIES:
        yield Entry(query.name, "plain window (floor)", partial(sparks.answer, spark, query.floor(table)), "floor")
        yield Entry(query.name, "sparkcep", partial(sparks.answer, spark, query.sql(table)))
        yield Entry(query.name, "sparkcep, rows layout", partial(sparks.answer, spark, query.sql(table), layout="rows"))
    yield Entry(V_SHAPE.name, "Spark SQL, gaps and islands", partial(sparks.answer, spark, islands_sql(table)))
    for query in ONE_PARTITION:
        floor, text = query.floor(f"{table}_spy"), query.sql(f"{table}_spy")
        yield Entry(query.name, "plain window (floor)", partial(sparks.answer, spark, floor), "floor")
        yield Entry(query.name, "sparkcep", partial(sparks.answer, spark, text))
        yield Entry(query.name, "sparkcep, not in ranges", partial(sparks.answer, spark, text, splitting="false"))


@contextmanager
def ticks(quick: bool = False, **_: object) -> Iterator[Benchmark]:
    """The benchmark, with its session running for the length of the with block."""
    with sparks.spark_session({"ticks": ticks_file()}) as spark:
        table = "ticks"
        if quick:
            table = "few_ticks"
            spark.sql("SELECT * FROM ticks WHERE symbol = 'IBM'").createOrReplaceTempView(table)
        one = "SPY" if table == "ticks" else "IBM"
        spark.table(table).where(f"symbol = '{one}'").createOrReplaceTempView(f"{table}_spy")
        rows = spark.table(table).count()
        yield Benchmark(
            name="ticks",
            title="Long partitions: stock ticks",
            about=ABOUT.format(rows=f"{rows:,}", example=WITHIN.sql("ticks"), floor=WITHIN.floor("ticks")),
            entries=tuple(_entries(spark, table)),
            ratios=(
                Ratio("sparkcep / plain window", ("sparkcep",), ("plain window (floor)",)),
                Ratio("sparkcep, rows layout / plain window", ("sparkcep, rows layout",), ("plain window (floor)",)),
                Ratio("gaps and islands / sparkcep", ("Spark SQL, gaps and islands",), ("sparkcep",)),
                Ratio("not in ranges / sparkcep", ("sparkcep, not in ranges",), ("sparkcep",)),
            ),
            versions=sparks.versions(spark),
            facts={"rows": rows, "queries": {q.name: q.sql("ticks") for q in QUERIES}},
            notes=NOTES,
        )
