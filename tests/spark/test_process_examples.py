"""The questions of sql_examples/process to real event logs, each answered a second time without any pattern."""

from __future__ import annotations

import datetime
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from sparkcep.data.examples import folder, read_example

from .real_logs import DATA, as_views, over, shown

LOGS = ("sepsis", "road_traffic_fines", "helpdesk", "bpi_2011_hospital")
EXAMPLES = sorted(folder("process").glob("*.sql"))

Rows = list[tuple[Any, ...]]

pytestmark = over(LOGS)


@pytest.fixture(scope="module")
def logs(spark: SparkSession) -> Iterator[SparkSession]:
    yield from as_views(spark, LOGS)


def late_antibiotics(spark: SparkSession) -> Rows:
    """A triage without antibiotics behind it, as an anti join."""
    return spark.sql("""
        SELECT g, count(*) FROM (
          SELECT t.case_id, min_by(t.org_group, struct(t.ts, t.pos)) AS g FROM sepsis t
          LEFT ANTI JOIN sepsis x ON x.case_id = t.case_id AND x.activity = 'IV Antibiotics'
            AND struct(x.ts, x.pos) > struct(t.ts, t.pos) AND x.ts <= t.ts + INTERVAL 1 HOUR
          WHERE t.activity = 'ER Sepsis Triage' GROUP BY t.case_id)
        GROUP BY g ORDER BY g""").collect()  # type: ignore[return-value]


def rising_crp(_: SparkSession) -> Rows:
    """Runs begin where the case or the direction changes."""
    table = pq.read_table(DATA / "sepsis.parquet", columns=["case_id", "ts", "pos", "activity", "crp"])
    table = table.filter(table["crp"].is_valid()).sort_by([(c, "ascending") for c in ("case_id", "ts", "pos")])
    assert set(table["activity"].to_pylist()) == {"CRP"}
    case = table["case_id"].to_numpy()
    crp = table["crp"].to_numpy()
    begins = np.flatnonzero(np.r_[True, (case[1:] != case[:-1]) | ~(crp[1:] > crp[:-1])])
    lengths, runs = np.unique(np.diff(np.r_[begins, len(crp)]), return_counts=True)
    return [(int(n), int(k)) for n, k in zip(lengths, runs, strict=True)]


def paid_and_collected(spark: SparkSession) -> Rows:
    """Payments between a fine and its first collection, as joins."""
    return spark.sql("""
        SELECT n, count(*) FROM (
          SELECT f.case_id, count(*) AS n FROM road_traffic_fines f
          JOIN (SELECT case_id, min(struct(ts, pos)) AS at FROM road_traffic_fines
                WHERE activity = 'Send for Credit Collection' GROUP BY case_id) c USING (case_id)
          JOIN road_traffic_fines p ON p.case_id = f.case_id AND p.activity = 'Payment'
            AND struct(p.ts, p.pos) > struct(f.ts, f.pos) AND struct(p.ts, p.pos) < c.at
          WHERE f.activity = 'Create Fine' GROUP BY f.case_id, f.amount HAVING sum(p.paymentamount) >= f.amount)
        GROUP BY n ORDER BY n""").collect()  # type: ignore[return-value]


def paid_after_penalty(spark: SparkSession) -> Rows:
    """First and last events of each kind, and comparisons between them."""
    return spark.sql("""
        WITH firsts AS (
          SELECT case_id, min_by(vehicleclass, at) FILTER (WHERE activity = 'Create Fine') AS vehicleclass,
            min(at) FILTER (WHERE activity = 'Create Fine') AS fine,
            min(at) FILTER (WHERE activity = 'Payment') AS payment,
            min(at) FILTER (WHERE activity = 'Add penalty') AS penalty,
            max(at) FILTER (WHERE activity = 'Send for Credit Collection') AS collection
          FROM (SELECT *, struct(ts, pos) AS at FROM road_traffic_fines) GROUP BY case_id)
        SELECT vehicleclass, count(*), min(days), max(days) FROM (
          SELECT *, datediff(payment.ts, penalty.ts) AS days FROM firsts
          WHERE fine < penalty AND penalty < payment AND (collection IS NULL OR collection < payment))
        GROUP BY vehicleclass ORDER BY vehicleclass""").collect()  # type: ignore[return-value]


def hand_overs(_: SparkSession) -> Rows:
    """A loop over every ticket from every event that somebody takes it."""
    table = pq.read_table(DATA / "helpdesk.parquet", columns=["case_id", "ts", "pos", "activity", "resource"])
    table = table.sort_by([(c, "ascending") for c in ("case_id", "ts", "pos")])
    tickets: dict[str, list[tuple[str, str | None]]] = {}
    for case, activity, resource in zip(
        *(table[c].to_pylist() for c in ("case_id", "activity", "resource")), strict=True
    ):
        tickets.setdefault(case, []).append((activity, resource))

    def hands(events: list[tuple[str, str | None]]) -> int:
        """People from the first event on until a resolution ends it, 0 where none does."""
        taken, last, waited = 0, None, False
        for activity, resource in events:
            if activity == "Take in charge ticket" and (taken == 0 or (resource and last and resource != last)):
                taken, last, waited = taken + 1, resource, False
            elif activity == "Wait":
                waited = True
            elif activity == "Resolve ticket" and taken >= 3 and not waited:
                return taken
        return 0

    found: Counter[int] = Counter()
    for events in tickets.values():
        starts = (i for i, e in enumerate(events) if e[0] == "Take in charge ticket")
        found[next(filter(None, (hands(events[i:]) for i in starts)), 0)] += 1
    return sorted((n, k) for n, k in found.items() if n)


def late_by_the_clock(_: SparkSession) -> Rows:
    """Every choice of events and every shift of whole minutes, case by case."""
    wanted = ("ER Registration", "ER Triage", "ER Sepsis Triage", "IV Antibiotics")
    names = ("r", "t", "s", "a")
    table = pq.read_table(DATA / "sepsis.parquet", columns=["case_id", "ts", "pos", "activity"])
    table = table.sort_by([(c, "ascending") for c in ("case_id", "ts", "pos")])
    cases: dict[str, list[tuple[int, str]]] = {}
    for case, ts, activity in zip(*(table[c].to_pylist() for c in ("case_id", "ts", "activity")), strict=True):
        cases.setdefault(case, []).append((round(ts.timestamp() * 1_000_000), activity))
    minute = 60_000_000
    shifts = np.stack(np.meshgrid(*[np.arange(-10, 11)] * 4, indexing="ij")).reshape(4, -1)
    costs = np.abs(shifts).sum(axis=0)
    shifts, costs = shifts[:, costs <= 20], costs[costs <= 20]

    def repair(events: list[tuple[int, str]]) -> int | None:
        """The least cost in minutes."""
        best = None
        for chosen in itertools.product(*([t for t, e in events if e == name] for name in wanted)):
            at = np.array(chosen)[:, None] + shifts * minute
            fits = (np.diff(at, axis=0) > 0).all(axis=0) & (at[3] - at[2] <= 60 * minute)
            if fits.any():
                cost = int(costs[fits].min())
                best = cost if best is None else min(best, cost)
        return best

    def outcome(events: list[tuple[int, str]]) -> tuple[str, str | None, int | None] | None:
        """None for a match, else the reason with its component, or the least cost."""
        reached = [(-1,)]  # rows of runs, for want of repetition the longest in order
        for n, name in enumerate(wanted):
            following = [(*run, i) for run in reached for i, e in enumerate(events) if e[1] == name and i > run[-1]]
            if n == 3:
                following = [f for f in following if events[f[4]][0] - events[f[3]][0] <= 60 * minute]
            if not following:
                break
            reached = following
        else:
            return None
        cost = repair(events)
        if cost is not None:
            return "repaired", None, cost
        missing = [names[k] for k, w in enumerate(wanted) if all(e[1] != w for e in events)]
        if missing:
            return "no_event_of_type", missing[0], None
        late = any(e[1] == name and i > min(reached)[-1] for i, e in enumerate(events))
        return "condition_failed" if late else "no_successor", names[n], None

    found = [told for events in cases.values() if (told := outcome(events)) is not None]
    counts = Counter((reason, component) for reason, component, _ in found)
    worst = max(cost for *_, cost in found if cost is not None)
    rows = sorted(counts.items(), key=lambda item: (item[0][0], item[0][1] or ""))
    return [(*key, count, datetime.timedelta(minutes=worst) if key[0] == "repaired" else None) for key, count in rows]


def uncertain_days(_: SparkSession) -> Rows:
    """Hours of two days in order and within twelve hours, counted; pairs of events by the days between them."""
    table = pq.read_table(DATA / "bpi_2011_hospital.parquet", columns=["case_id", "ts", "activity"])
    kinds = ("190021 klinische opname a002", "kruisproef volledig -drie methoden-")
    days: dict[tuple[str, str], list[int]] = {}
    columns = (table[c].to_pylist() for c in ("case_id", "ts", "activity"))
    for case, ts, activity in zip(*columns, strict=True):
        if activity in kinds:
            days.setdefault((case, activity), []).append(ts.date().toordinal())
    pairs: Counter[float] = Counter()
    patients: dict[float, set[str]] = {}
    for case in {case for case, _ in days}:
        for a, k in itertools.product(*(days.get((case, kind), []) for kind in kinds)):
            hours = [24 * (k - a) + j - i for i in range(24) for j in range(24)] if -1 <= k - a <= 1 else []
            share = round(sum(0 < h <= 12 for h in hours) / 576, 6)
            if share:
                pairs[share] += 1
                patients.setdefault(share, set()).add(case)
    return [(share, n, len(patients[share])) for share, n in sorted(pairs.items())]


DERIVED: dict[str, Callable[[SparkSession], Rows]] = {
    "1_late_antibiotics": late_antibiotics,
    "2_rising_crp": rising_crp,
    "3_paid_and_collected": paid_and_collected,
    "4_paid_after_penalty": paid_after_penalty,
    "5_hand_overs": hand_overs,
    "6_late_by_the_clock": late_by_the_clock,
    "7_uncertain_days": uncertain_days,
}


@pytest.mark.parametrize("path", EXAMPLES, ids=[p.stem for p in EXAMPLES])
def test_process(logs: SparkSession, path: Path) -> None:
    example = read_example(path)
    frame = logs.sql(example.sql)
    assert shown(frame) == example.expected
    assert [tuple(row) for row in frame.collect()] == [tuple(row) for row in DERIVED[example.name](logs)]
