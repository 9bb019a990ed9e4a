"""The example files give the results that they print."""

from __future__ import annotations

import contextlib
import datetime
import io
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sparkcep.cli.statements import run_statements
from sparkcep.data.examples import folder, read_example
from sparkcep.data.flights import create_flights_view
from sparkcep.data.stocks import create_stocks_view

from ..conftest import IS_CONNECT, every
from .real_logs import shown

STOCKS = sorted(folder("stocks").glob("*.sql"))
FLIGHTS = sorted(folder("flights").glob("*.sql"))
#: A third of a million rows each: each layout and form once in `make test`.
SHORT_FLIGHTS = ("1_knock_on_delays", "3_v_shape", "6_unmatched_rows")
PAPERS = sorted(folder("papers").rglob("*.sql"))
LOG_KEYS = ("case", "time", "tiebreak", "event")


@pytest.fixture(scope="module")
def flights(spark: SparkSession) -> SparkSession:
    create_flights_view(spark)
    return spark


@pytest.mark.full
@pytest.mark.parametrize(
    "path",
    [pytest.param(p, id=p.stem, marks=[] if p.stem in SHORT_FLIGHTS else pytest.mark.long) for p in FLIGHTS],
)
def test_flights(flights: SparkSession, path: Path) -> None:
    example = read_example(path)
    assert example.question
    assert shown(flights.sql(example.sql)) == example.expected


@pytest.mark.parametrize("path", STOCKS, ids=[p.stem for p in STOCKS])
def test_stocks(spark: SparkSession, path: Path) -> None:
    create_stocks_view(spark)
    example = read_example(path)
    assert shown(spark.sql(example.sql)) == example.expected


@pytest.fixture
def log_settings(spark: SparkSession) -> Iterator[SparkSession]:
    """The session; what an example sets of the log's columns is unset behind it."""
    yield spark
    for key in LOG_KEYS:
        spark.conf.unset(f"spark.sparkcep.log.{key}")


@pytest.mark.skipif(IS_CONNECT, reason="engines know no session")
@pytest.mark.parametrize("path", every(4, PAPERS), ids=[f"{p.parent.name}-{p.stem}" for p in PAPERS])
def test_papers(log_settings: SparkSession, path: Path) -> None:
    """The papers' queries have no ORDER BY, so that rows come in any order."""
    example = read_example(path)
    for statement in example.setup:
        log_settings.sql(statement)
    lines = shown(log_settings.sql(example.sql))
    assert (*lines[:2], *sorted(lines[2:])) == example.expected


def test_quickstart(spark: SparkSession) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        run_statements(spark, (folder("flights").parent / "quickstart.sql").read_text(), "csv")
    assert printed.getvalue().splitlines()[:5] == [
        "symbol,top_day,bottom_day,bottom,end_day",
        "ACME,2026-01-03,2026-01-05,13.0,2026-01-07",
        "ACME,2026-01-07,2026-01-09,11.5,2026-01-10",
        "",
        "match,role,day,price",
    ]


@pytest.mark.long
def test_recovery_equals_a_plain_loop(flights: SparkSession) -> None:
    """The same question answered in Python, row by row, without any pattern matching."""
    rows = flights.sql("SELECT tailnum, departure, carrier, flight, dest, origin, dep_delay FROM flights").collect()
    by_aircraft: dict[str, list[tuple[object, ...]]] = {}
    for r in rows:
        # Ties in departure go by the columns the query names, in table order, NULLs first: dep_delay.
        delay = (r.dep_delay is not None, r.dep_delay or 0)
        by_aircraft.setdefault(r.tailnum, []).append((r.departure, delay, r.dep_delay))
    counts: dict[int, int] = {}
    for events in by_aircraft.values():
        events.sort(key=lambda e: e[:2])
        at = 0
        while at < len(events):
            first, _, delay = events[at]
            end = at + 1
            if delay is not None and delay > 60:
                while end < len(events) and (events[end][2] or 0) > 15:
                    end += 1
                recovered = end < len(events) and events[end][2] is not None and events[end][2] <= 0
                if recovered and (events[end][0] - first).total_seconds() <= 18 * 3600:
                    counts[end - at] = counts.get(end - at, 0) + 1
                    at = end + 1
                    continue
            at += 1
    example = read_example(folder("flights") / "2_recovery.sql")
    found = {r[0]: r[1] for r in flights.sql(example.sql).collect()}
    assert found == counts


def test_down_trends_equal_a_plain_loop(spark: SparkSession) -> None:
    """Counts by adding up, for each month, the trends of all earlier and higher months of its window."""
    create_stocks_view(spark)
    epoch = datetime.date(1970, 1, 1)
    windows: dict[tuple[str, str, int], list[Decimal]] = {}
    for r in spark.sql("SELECT sector, symbol, month, price FROM stocks ORDER BY month").collect():
        windows.setdefault((r.sector, r.symbol, (r.month - epoch).days // 365), []).append(r.price)
    expected: dict[tuple[str, int], int] = {}
    for (sector, _, window), prices in windows.items():
        counts: list[int] = []
        for j, price in enumerate(prices):
            counts.append(1 + sum(counts[i] for i in range(j) if prices[i] > price))
        expected[sector, window] = expected.get((sector, window), 0) + sum(counts)
    found = spark.sql("""
        SELECT sector, unix_date(window.start) div 365 AS k, n FROM (
          FROM stocks ORDER BY month PATTERN stocks S+ WHERE [symbol] AND S.price > NEXT(S).price
          GROUP BY sector WITHIN 365 days RETURN sector, COUNT(*) AS n)""").collect()
    assert {(r.sector, r.k): int(r.n) for r in found} == expected
