"""Trend aggregates: what the kernel takes beside reading its columns once, GRETA's queries, and what others need.

Kernel lines are CPU time of one core over one window, the yardstick a Numba loop that sums the columns the query reads.
Beside them the propagation of the paper, event by event over all earlier ones, and two-step aggregation over matches
that are constructed. Spark lines are wall time from the text to an Arrow table, which is how many rows are best taken
over; to rows of Python objects beside it, and `spark.range(1).count()` in the same rounds.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from numba import njit

from benchmarks.generate import DATA
from benchmarks.harness import RESULTS, cpu_seconds
from benchmarks.spark import spark_session
from benchmarks.ticks import FILE as TICKS
from sparkcep.errors import LimitError
from sparkcep.exec.batch import Batch
from sparkcep.exec.engines.trends.enumeration import EnumeratingMatcher
from sparkcep.exec.engines.trends.matcher import TrendMatcher
from sparkcep.exec.shape import batch_of
from sparkcep.pattern import Concatenation, Pattern, Quantified, Variable
from sparkcep.planner.engines.trends.plan import TrendPlanner, TrendsPlan
from sparkcep.planner.plan import PatternPlan
from sparkcep.query import (
    TREND_VALUE,
    Component,
    Condition,
    Matches,
    Navigation,
    PatternQuery,
    RowExpression,
    Scalar,
    Selection,
    SortKey,
    Trend,
    TrendExpression,
)
from sparkcep.settings import read

COLUMNS = {"t": "bigint", "e": "string", "v": "int", "w": "int", "x": "int"}
A_PLUS: Pattern = Quantified(Variable("A"), 1, None)
A_PLUS_B: Pattern = Quantified(Concatenation((A_PLUS, Variable("B"))), 1, None)
QUERIES = {
    "Q1": "FROM Stock ORDER BY time RETURN sector, COUNT(*) PATTERN Stock S+ WHERE [company, sector] AND "
    "S.price > NEXT(S).price GROUP-BY sector WITHIN 10 minutes SLIDE 10 seconds",
    "Q2": "FROM Cluster ORDER BY time EVENT TYPE type RETURN mapper, SUM(M.cpu) "
    "PATTERN SEQ(Start S, Measurement M+, End E) WHERE [job, mapper] AND M.load < NEXT(M).load GROUP-BY mapper "
    "WITHIN 1 minute SLIDE 30 seconds",
    "Q3": "FROM Traffic ORDER BY time EVENT TYPE type RETURN segment, COUNT(*), AVG(P.speed) "
    "PATTERN SEQ(NOT Accident A, Position P+) WHERE [P.vehicle, segment] AND P.speed > NEXT(P).speed "
    "GROUP-BY segment WITHIN 5 minutes SLIDE 1 minute",
}
TICK_QUERY = (
    "FROM ticks ORDER BY ts PATTERN ticks S+ WHERE [symbol] AND S.price > NEXT(S).price GROUP BY symbol "
    "WITHIN 1 minute RETURN symbol, approx_count(*) AS trends, AVG(S.price) AS price"
)
Ints = npt.NDArray[np.int64]


@njit
def read_once(mask: Ints) -> int:
    total = 0
    for row in range(len(mask)):
        total += mask[row]
    return total


@njit
def read_two(mask: Ints, value: Ints) -> int:
    total = 0
    for row in range(len(mask)):
        total += mask[row] + value[row]
    return total


@njit
def quadratic(value: Ints) -> float:
    """GRETA, algorithm 2: every event adds up all earlier ones that it may follow."""
    counts = np.empty(len(value))
    total = 0.0
    for j in range(len(value)):
        own = 1.0
        for i in range(j):
            if value[i] > value[j]:
                own += counts[i]
        counts[j] = own
        total += own
    return total


@njit
def quadratic_of(first: Ints, second: Ints, third: Ints) -> float:
    """The same under two conditions, or three: a plain loop that stops at the first that does not hold."""
    counts = np.empty(len(first))
    total = 0.0
    for j in range(len(first)):
        own = 1.0
        for i in range(j):
            if first[i] > first[j] and second[i] > second[j] and (len(third) == 0 or third[i] > third[j]):
                own += counts[i]
        counts[j] = own
        total += own
    return total


def falls(column: str) -> Condition:
    """`A.column > NEXT(A).column`"""
    before, after = (Navigation(RowExpression((column,)), ("A",), False, n, 0, True) for n in (1, 0))
    return Condition(Scalar((before, " > ", after)), ("A",), minimum=2, after=("A",), source=f"A.{column} > NEXT(A)")


def plan(
    pattern: Pattern, trends: tuple[Trend, ...], conditions: tuple[Condition, ...] = ()
) -> PatternPlan[TrendsPlan]:
    """A block over events of types A and B, without windows."""

    def analyze(items: Any) -> list[tuple[str, str]]:
        return [(i, COLUMNS[i.strip("`()")]) for i in items]

    names = ("A", "B") if pattern is A_PLUS_B else ("A",)
    query = PatternQuery(
        columns=tuple(COLUMNS), partition_by=(), order_by=(SortKey("t"),), event_type="e",
        components=tuple(Component(n, n, (n,), n == "A") for n in names), pattern=pattern, conditions=conditions,
        selection=Selection.ANY, matches=Matches.ALL, measures=(), is_block=True, trends=trends,
        identifiers=frozenset("evw"),
        output=tuple(TrendExpression(t.name, f"{TREND_VALUE}{n}") for n, t in enumerate(trends)),
    )  # fmt: skip
    settings = read(lambda key, default=None: default)
    return TrendPlanner(query, settings, analyze, lambda *_: None, list(COLUMNS.values())).plan()


COUNT = Trend("n", "count", None, ())
APPROXIMATE = Trend("n", "approx_count", None, ())
SUM = Trend("s", "sum", RowExpression(("v",)), ("A",))


def values_of(value: Ints) -> dict[str, Ints]:
    """Three columns of the same values, each in an order of its own."""
    return {"v": value, "w": value[::-1].copy(), "x": np.random.default_rng(len(value)).permutation(value)}


def batch(planned: PatternPlan[TrendsPlan], mask: Ints, value: Ints) -> Batch:
    texts = planned.input.fields.texts
    of = values_of(value)
    columns = [pa.array(of[texts[i].strip("`()")], pa.int32()) for i in planned.input.shape.kernel_fields]
    return batch_of(np.array([0, len(mask)], np.int64), [pa.array(mask), *columns], planned.input.shape)


def kernel(quick: bool) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    out: dict[str, Any] = {}
    n = 200_000 if quick else 10_000_000
    value = rng.integers(0, 1_000_000, n)
    ones, kinds = np.ones(n, np.int64), rng.integers(1, 3, n)
    once = cpu_seconds(lambda: read_once(kinds))
    twice = cpu_seconds(lambda: read_two(kinds, value))
    cases = {
        "A+, COUNT(*)": (plan(A_PLUS, (COUNT,)), ones, once),
        "(SEQ(A+, B))+, COUNT(*)": (plan(A_PLUS_B, (COUNT,)), kinds, once),
        "(SEQ(A+, B))+, COUNT(*), SUM(A.v)": (plan(A_PLUS_B, (COUNT, SUM)), kinds, twice),
    }
    for name, (planned, mask, yardstick) in cases.items():
        data, matcher = batch(planned, mask, value), TrendMatcher(planned.engine.spec)
        took = cpu_seconds(lambda matcher=matcher, data=data: matcher.aggregate(data))
        out[f"no edge condition: {name}"] = figures(n, took) | {"times_reading": round(took / yardstick, 1)}
    del data
    ordered = plan(A_PLUS, (APPROXIMATE,), (falls("v"),))
    took_by: dict[int, float] = {}
    for n in (25_000, 50_000) if quick else (250_000, 500_000):
        data, matcher = batch(ordered, ones[:n], value[:n]), TrendMatcher(ordered.engine.spec)
        took_by[n] = cpu_seconds(lambda matcher=matcher, data=data: matcher.aggregate(data))
        out[f"one ordered condition, approx_count, {n:,} events"] = figures(n, took_by[n]) | {
            "bytes_per_event": round(matcher.scratch_bytes / n, 1)
        }
    small, large = took_by.values()
    out["one ordered condition"] = {"growth": round(large / small, 2)}
    for n in (2_000,) if quick else (20_000, 100_000):
        matcher = TrendMatcher(ordered.engine.spec)
        data = batch(ordered, ones[:n], value[:n])
        own = cpu_seconds(lambda matcher=matcher, data=data: matcher.aggregate(data))
        paper = cpu_seconds(lambda n=n: quadratic(value[:n]), 1)
        out[f"propagation of the paper, {n:,} events"] = {"seconds": round(paper, 3), "ratio": round(paper / own)}
    out |= of_several_orders(quick, ones, value)
    for n in (10, 50) if quick else (10, 50, 75, 100):
        # Two-step aggregation: every trend is a match of the runs kernel.
        run = replace(ordered.engine.spec.run, limit_rows=20_000_000)
        try:
            took, trends = _two_step(run, ones[:n], value[:n])
        except LimitError:
            out[f"two-step enumeration, {n} events"] = {"ends beyond": run.limit_rows}
            break
        own = cpu_seconds(lambda n=n: TrendMatcher(ordered.engine.spec).aggregate(batch(ordered, ones[:n], value[:n])))
        out[f"two-step enumeration, {n} events"] = {
            "seconds": round(took, 3), "trends": trends, "ratio": round(took / own)
        }  # fmt: skip
    return out


def of_several_orders(quick: bool, mask: Ints, value: Ints) -> dict[str, Any]:
    """Two ordered conditions on an edge, and three, beside a plain compiled loop over the same columns; growth."""
    out: dict[str, Any] = {}
    two = plan(A_PLUS, (APPROXIMATE,), (falls("v"), falls("w")))
    three = plan(A_PLUS, (APPROXIMATE,), (falls("v"), falls("w"), falls("x")))
    n = 1_000 if quick else 20_000
    of = values_of(value[:n])
    for name, planned, third in (("two", two, of["x"][:0]), ("three", three, of["x"])):
        data, matcher = batch(planned, mask[:n], value[:n]), TrendMatcher(planned.engine.spec)
        own = cpu_seconds(lambda matcher=matcher, data=data: matcher.aggregate(data))
        loop = cpu_seconds(lambda third=third: quadratic_of(of["v"], of["w"], third))
        out[f"{name} ordered conditions, {n:,} events"] = figures(n, own) | {
            "plain_loop_seconds": round(loop, 3), "plain_loop_ratio": round(loop / own, 1)
        }  # fmt: skip
    before = 0.0
    for n in (1_000, 2_000) if quick else (50_000, 100_000, 200_000):
        data, matcher = batch(two, mask[:n], value[:n]), TrendMatcher(two.engine.spec)
        took = cpu_seconds(lambda matcher=matcher, data=data: matcher.aggregate(data))
        out[f"two ordered conditions, {n:,} events"] = figures(n, took) | {
            "bytes_per_event": round(matcher.scratch_bytes / n, 1)
        }
        if before:
            out[f"two ordered conditions, {n:,} events"] |= {"growth": round(took / before, 2)}
        before = took
    return out


def _two_step(run: Any, mask: Ints, value: Ints) -> tuple[float, int]:
    """Seconds and trends where matches are constructed and counted."""
    from sparkcep.exec.conditions.condition_set import ConditionSet
    from sparkcep.exec.engines.runs.spec import Check
    from sparkcep.exec.engines.trends.spec import TrendAggregate, TrendSpec
    from sparkcep.expr.nodes import Call, Load, NavigationSlot
    from sparkcep.expr.types import BIGINT
    from sparkcep.query import TestedAt

    a = frozenset([0])
    slots = (NavigationSlot(0, False, 1, 0, 0), NavigationSlot(0, False, 0, 0, 0))
    condition = ConditionSet({0: Call(">", (Load(0), Load(1)))}, slots, (BIGINT,), (a,), tested=(a,))
    check = Check(0, a, TestedAt.TAKE, 0, minimum=2)
    run = replace(run, conditions=condition, checks=(check,), traced=True)
    count = TrendAggregate("count", -1, frozenset(), "decimal(38,0)")
    spec = TrendSpec(run, run.condition_bits, (), (), ConditionSet(), (count,), ("bigint",), enumerated="two steps")
    data = Batch(np.array([0, len(mask)]), [pa.array(mask)], [pa.array(value)])
    matcher = EnumeratingMatcher(spec)
    start = time.process_time()
    table = matcher.aggregate(data)
    return time.process_time() - start, int(table.partials[0].values[0].as_py())


def figures(n: int, took: float) -> dict[str, Any]:
    return {"events": n, "seconds": round(took, 4), "million_events_per_second": round(n / took / 1e6, 2)}


# -- through Spark -----------------------------------------------------------------------------------------------------


def streams(events: int) -> dict[str, Path]:
    """GRETA's three streams: a stock exchange, a cluster, traffic."""
    rng = np.random.default_rng(7)
    second = np.int64(1_000_000)
    time_ = np.sort(rng.integers(0, 20_000 * second, events))
    company = rng.integers(0, 100, events)
    tables = {
        "Stock": {"time": time_, "company": company, "sector": company % 20, "price": rng.integers(1000, 9999, events)}
    }
    # A job runs on a mapper for 40 seconds: a start, measurements, an end.
    length = 60
    runs = events // length
    job = np.repeat(np.arange(runs), length)
    step = np.tile(np.arange(length), runs)
    kind = np.where(step == 0, "Start", np.where(step == length - 1, "End", "Measurement"))
    start = rng.integers(0, 3_600, runs) * second
    tables["Cluster"] = {
        "time": np.repeat(start, length) + step * (2 * second // 3), "type": kind, "job": job,
        "mapper": np.repeat(rng.integers(0, 10, runs), length), "cpu": rng.integers(0, 1000, len(job)),
        "load": rng.poisson(100, len(job)),
    }  # fmt: skip
    vehicle = rng.integers(0, 5_000, events)
    accident = rng.random(events) < 0.0005
    tables["Traffic"] = {
        "time": np.sort(rng.integers(0, 6_000 * second, events)), "type": np.where(accident, "Accident", "Position"),
        "segment": vehicle % 100, "vehicle": vehicle, "speed": rng.integers(0, 120, events),
    }  # fmt: skip
    out = {}
    for name, columns in tables.items():
        table = pa.table({k: pa.array(v) for k, v in columns.items()})
        table = table.set_column(0, "time", table["time"].cast(pa.timestamp("us", "UTC")))
        out[name] = DATA / f"greta_{name}_{events}.parquet"
        out[name].parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, out[name])
    return out


def through_spark(quick: bool) -> dict[str, Any]:
    events = 20_000 if quick else 1_000_000
    out: dict[str, Any] = {}
    files = streams(events)
    if TICKS.exists():
        files["ticks"] = TICKS
    with spark_session(files) as spark:
        queries = QUERIES | ({"down-trends of real trades, per minute": TICK_QUERY} if TICKS.exists() else {})
        for name, text in queries.items():
            rows = spark.table("ticks").count() if "real" in name else events
            runs: dict[str, list[float]] = {"trivial": [], "seconds": [], "seconds to Python rows": []}
            for _ in range(3 if quick else 8):
                runs["trivial"].append(_wall(lambda: spark.range(1).count()))
                runs["seconds"].append(_wall(lambda text=text: spark.sql(text).toArrow()))
                runs["seconds to Python rows"].append(_wall(lambda text=text: spark.sql(text).collect()))
            took = {of: statistics.median(times[1:]) for of, times in runs.items()}
            out[name] = {
                "events": rows, "rows": spark.sql(text).count(), "events_per_second": round(rows / took["seconds"]),
                "times a trivial job": round(took["seconds"] / took["trivial"], 1),
                **{of: round(seconds, 3) for of, seconds in took.items()},
            }  # fmt: skip
    if not TICKS.exists():
        print(f"no real trades: {TICKS.name} is not beside the project")
    return out


def _wall(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def words(name: str) -> str:
    return name.replace("_", " ")


def main(quick: bool = False) -> None:
    """Print all figures and write them to results/trends.json and trends.md."""
    found = {"kernel": kernel(quick), "spark": through_spark(quick)}
    lines = ["# Aggregates over trends", "", *(__doc__ or "").splitlines()[2:], ""]
    for title, part in (("kernel, one core", found["kernel"]), ("spark.sql, two cores", found["spark"])):
        lines += [f"| {title} | |", "|---|---|"]
        lines += [f"| {k} | {', '.join(f'{words(a)} {b:,}' for a, b in v.items())} |" for k, v in part.items()]
        lines.append("")
    load = os.getloadavg()
    lines.append(f"{os.cpu_count()} cores; load average at the end {load[0]:.1f}.")
    folder = DATA / "quick" if quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trends.json").write_text(json.dumps(found, indent=2) + "\n")
    (folder / "trends.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
