"""Twice the rows: how the time of every benchmark query grows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks import sequences as seq
from benchmarks import small_cases as small
from benchmarks import spark as sparks
from benchmarks import ticks
from benchmarks.generate import FULL, QUICK, ensure_log
from benchmarks.harness import Benchmark, Entry, Ratio

ABOUT = """
Each query of the other benchmarks at *n* and *2n* rows. `q2`, `q5`, `q10`, `k`: {events:,} and {twice:,} events in
{cases:,} and {twice_cases:,} cases (Parquet). `v_shape`, `rising`, `within`: the first half of each symbol's ticks and
all of them, so that partitions grow, not their number. `three_steps`: the first half of the small cases and all.
Where a query has a floor (the plain window, the plain aggregate), its growth stands beside it.
"""


def _half_of_ticks(folder: Path) -> Path:
    """The first half of every symbol's ticks; in a folder that goes away, since the data are not ours to keep."""
    table = pq.read_table(ticks.ticks_file())
    last = table.group_by("symbol").aggregate([("seq", "max")])
    half = dict(zip(last["symbol"].to_pylist(), pc.divide(last["seq_max"], 2).to_pylist(), strict=True))
    kept = None
    for symbol, border in half.items():
        own = pc.and_(pc.equal(table["symbol"], symbol), pc.less_equal(table["seq"], border))
        kept = own if kept is None else pc.or_(kept, own)
    path = folder / "half.parquet"
    pq.write_table(table.filter(kept), path, compression="zstd", row_group_size=262_144)
    return path


def _entries(spark: SparkSession, queries: tuple[seq.Query, ...]) -> Iterator[Entry]:
    def pair(query: str, system: str, text: Callable[[str], str], tables: tuple[str, str]) -> Iterator[Entry]:
        for size, table in zip(("n", "2n"), tables, strict=True):
            name = f"{system}, {size}"
            yield Entry(query, name, partial(sparks.answer, spark, text(table)), name)

    for query in queries:
        yield from pair(query.name, "sparkcep", partial(seq.pattern_sql, query), ("events", "events_twice"))
    for tick in ticks.QUERIES:
        yield from pair(tick.name, "sparkcep", tick.sql, ("ticks_half", "ticks"))
        yield from pair(tick.name, "floor", tick.floor, ("ticks_half", "ticks"))
    yield from pair("three_steps", "sparkcep", small.pattern_sql, ("cases_half", "cases"))
    yield from pair("three_steps", "floor", small.floor_sql, ("cases_half", "cases"))


@contextmanager
def scaling(quick: bool = False, **_: object) -> Iterator[Benchmark]:
    """The benchmark, with its session running for the length of the with block."""
    shape = QUICK if quick else FULL
    twice = replace(shape, cases=2 * shape.cases, events=2 * shape.events)
    log = ensure_log(shape)
    with tempfile.TemporaryDirectory() as folder:
        files = {
            "events": log.parquet,
            "events_twice": ensure_log(twice).parquet,
            "ticks": ticks.ticks_file(),
            "ticks_half": _half_of_ticks(Path(folder)),
            "cases": small.ensure_cases(),
            "cases_half": small.ensure_half(),
        }
        with sparks.spark_session(files) as spark:
            yield Benchmark(
                name="scaling",
                title="Twice the rows",
                about=ABOUT.format(events=shape.events, twice=twice.events, cases=shape.cases, twice_cases=twice.cases),
                entries=tuple(_entries(spark, seq.choose_queries(log.read()))),
                ratios=(
                    Ratio("sparkcep, 2n / n", ("sparkcep, 2n",), ("sparkcep, n",)),
                    Ratio("floor, 2n / n", ("floor, 2n",), ("floor, n",)),
                ),
                versions=sparks.versions(spark),
                facts={"events": shape.events, "cases": shape.cases},
                notes=(sparks.SETTINGS_NOTE,),
            )
