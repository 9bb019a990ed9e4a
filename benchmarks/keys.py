"""Keys that join: a few events of one type and a million of another whose key is theirs, beside Spark's own join."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import spark as sparks
from benchmarks.generate import DATA
from benchmarks.harness import Benchmark, Entry, Ratio

ROWS = 1_000_000
#: How many events of the rare type there are.
RARE = (6, 1000)
BLOCK, WITHOUT, JOIN = "block", "block without a key join", "Spark: JOIN"

ABOUT = """
A log of processes: {rows:,} events of four hosts, of which 6 or 1,000 have type `service`, all others `process`. Each
has an entity of its own and a parent; 40 per service have it as their parent.

```sql
{block}
```

*{without}* has `spark.sparkcep.planner.joinPrefilter.enabled = false`. *{join}* says the same without a pattern:

```sql
{joined}
```
"""


def ensure_processes(rare: int, rows: int) -> Path:
    """The log as a Parquet file, made on first use."""
    path = DATA / f"keys_{rare}_{rows}.parquet"
    if not path.exists():
        random = np.random.default_rng(11)
        at = np.arange(rows)
        is_rare = np.zeros(rows, bool)
        services = np.linspace(0, rows // 2, rare).astype(np.int64)
        is_rare[services] = True
        parent = random.integers(0, rows, rows)
        children = random.choice(np.setdiff1d(at, services), 40 * rare, replace=False)
        parent[children] = random.choice(services, len(children))

        def entity(numbers: np.ndarray) -> pa.Array:
            return pa.array([f"{n:016x}-{n * 7919:016x}" for n in numbers.tolist()])

        DATA.mkdir(parents=True, exist_ok=True)
        types = pa.array(["process", "service"]).take(pa.array(is_rare.astype(np.int8)))
        columns = {"host": at * 7 % 4, "t": at, "e": types, "entity": entity(at), "parent": entity(parent)}
        pq.write_table(pa.table(columns), path, compression="zstd")
    return path


def block(rare: int) -> str:
    """Children of services."""
    return (
        f"SELECT count(*) AS n, sum(d) AS waits FROM (FROM log{rare} PARTITION BY host ORDER BY t EVENT TYPE e\n"
        "  PATTERN SEQ(service a, process b) WHERE b.parent = a.entity\n"
        "  EVENT SELECTION SKIP TILL ANY MATCH RETURN b.t - a.t AS d)"
    )


def join(rare: int) -> str:
    """The same as a join."""
    return (
        f"SELECT count(*) AS n, sum(b.t - a.t) AS waits FROM log{rare} a JOIN log{rare} b\n"
        "  ON a.host = b.host AND b.parent = a.entity AND b.t > a.t WHERE a.e = 'service' AND b.e = 'process'"
    )


@contextmanager
def keys(quick: bool = False, **_: object) -> Iterator[Benchmark]:
    """The benchmark, with its session running for the length of the with block."""
    rows = 50_000 if quick else ROWS
    with sparks.spark_session({f"log{rare}": ensure_processes(rare, rows) for rare in RARE}) as spark:

        def answer(text: str, joins: str) -> sparks.Answer:
            spark.conf.set("spark.sparkcep.planner.joinPrefilter.enabled", joins)
            return sparks.answer(spark, text)

        asked = {BLOCK: (block, "true"), WITHOUT: (block, "false"), JOIN: (join, "true")}
        yield Benchmark(
            name="keys",
            title="Keys that join",
            about=ABOUT.format(rows=rows, block=block(RARE[0]), joined=join(RARE[0]), without=WITHOUT, join=JOIN),
            entries=tuple(
                Entry(f"{rare:,} services", name, partial(answer, text(rare), joins))
                for rare in RARE
                for name, (text, joins) in asked.items()
            ),
            ratios=(Ratio(f"{BLOCK} / {JOIN}", (BLOCK,), (JOIN,)), Ratio(f"{BLOCK} / {WITHOUT}", (BLOCK,), (WITHOUT,))),
            versions=sparks.versions(spark),
            notes=(sparks.SETTINGS_NOTE,),
        )
