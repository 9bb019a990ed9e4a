"""Which conditions EXPLAIN NON ANSWERS reads as bounds, and what it leaves unrepaired, and why."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from sparkcep import settings
from sparkcep.exec.engines.non_answers.spec import Bound
from sparkcep.planner.engines.non_answers.plan import NonAnswersPlan, plan_non_answers
from sparkcep.planner.plan import PatternPlan

from ..parsing.blocks import COLUMNS, LOG, bind

TYPES = {"ts": "timestamp", "kind": "string", "val": "int", "price": "double"}
MINUTE = 60_000_000
ASKED = "EXPLAIN NON ANSWERS (k => 4, uncertainty => 2 minutes, step => 1 minute)"


def plan(text: str, time_type: str = "timestamp", zone: str = "UTC") -> PatternPlan[NonAnswersPlan]:
    types = {**dict.fromkeys(COLUMNS, "string"), **TYPES, "ts": time_type}

    def analyze(items: Sequence[str]) -> list[tuple[str, str]]:
        return [(item, type_of(item)) for item in items]

    def type_of(item: str) -> str:
        """Of the one column that an expression names; of a constant its own."""
        if "AS TIMESTAMP_NTZ" in item:
            return "timestamp_ntz"
        named = next((c for c in COLUMNS if re.search(rf"\b{c}\b", item)), None)
        if named is not None:
            return types[named]
        if "INTERVAL" in item:
            return "interval day" if "DAY" in item else "interval day to second"
        return f"decimal(4,{len(item.split('.')[1].strip(')'))})" if "." in item else "int"

    block = bind(f"FROM t PARTITION BY job ORDER BY ts EVENT TYPE kind {text}", time_type=time_type)
    own = settings.read({**LOG, "spark.sql.session.timeZone": zone}.get)
    return plan_non_answers(block, own, analyze, lambda *_: None, [types[c] for c in COLUMNS])


#: Conditions, and (first place, second place, least, most, whether of positions).
BOUNDS = [
    ("WHERE (time, within, 2 minutes, 1, 3)", [(0, 2, None, 2 * MINUTE, False)]),
    ("WHERE (time, atleast, 90 seconds, 1, 2)", [(0, 1, 90_000_000, None, False)]),
    ("WHERE (gap, within, 3, 2, 3), (gap, atleast, 2, 1, 3)", [(1, 2, None, 3, True), (0, 2, 2, None, True)]),
    ("WITHIN 5 minutes", [(0, 2, None, 5 * MINUTE, False)]),
    ("WITHIN 1 day", [(0, 2, None, 1440 * MINUTE, False)]),
    ("WHERE c.ts <= a.ts + INTERVAL 2 MINUTES", [(0, 2, None, 2 * MINUTE, False)]),
    ("WHERE a.ts + INTERVAL 2 MINUTES > c.ts", [(0, 2, None, 2 * MINUTE - 1, False)]),
    ("WHERE c.ts - INTERVAL 2 MINUTES < b.ts", [(1, 2, None, 2 * MINUTE - 1, False)]),
    ("WHERE b.ts >= a.ts + INTERVAL '1' MINUTE", [(0, 1, MINUTE, None, False)]),
    ("WHERE c.timestamp - b.timestamp <= INTERVAL 1 DAY", [(1, 2, None, 1440 * MINUTE, False)]),
    ("WHERE INTERVAL 1 HOUR > c.ts - a.ts", [(0, 2, None, 60 * MINUTE - 1, False)]),
    ("WHERE (c.ts - a.ts) >= INTERVAL 1 HOUR", [(0, 2, 60 * MINUTE, None, False)]),
    ("WHERE a.ts - c.ts >= INTERVAL '-1' HOUR", None),
    ("WHERE b.ts = a.ts + INTERVAL 1 MINUTE", [(0, 1, MINUTE, MINUTE, False)]),
    ("WHERE a.ts < b.ts", [(0, 1, 1, None, False)]),
    ("WHERE c.val > a.val AND c.ts - a.ts < INTERVAL 1 MINUTE", [(0, 2, None, MINUTE - 1, False)]),
]


@pytest.mark.parametrize(("clause", "bounds"), BOUNDS, ids=[c for c, _ in BOUNDS])
def test_bounds(clause: str, bounds: list[tuple[int, int, int | None, int | None, bool]] | None) -> None:
    planned = plan(f"PATTERN SEQ(A a, B b, C c) {clause} {ASKED}")
    repair = planned.engine.spec.repair
    if bounds is None:
        assert repair is None
        assert "does not bound the time" in planned.engine.unrepaired
    else:
        assert repair is not None, planned.engine.unrepaired
        assert list(repair.bounds) == [Bound(*b, source=o.source) for b, o in zip(bounds, repair.bounds, strict=True)]


NUMBERS = [
    ("int", "WHERE c.ts - a.ts <= 2.5", (0, 2, None, 2)),
    ("int", "WHERE c.ts > a.ts + 2.5", (0, 2, 3, None)),
    ("bigint", "WHERE c.ts < a.ts + 3", (0, 2, None, 2)),
    ("decimal(9,2)", "WHERE c.ts <= a.ts + 0.5", (0, 2, None, 50)),
    ("decimal(9,2)", "WHERE c.ts < a.ts + 0.505", (0, 2, None, 50)),
    ("date", "WHERE c.ts - a.ts <= INTERVAL 2 DAYS", (0, 2, None, 2)),
]


@pytest.mark.parametrize(("type_", "clause", "bound"), NUMBERS, ids=[f"{t} {c}" for t, c, _ in NUMBERS])
def test_units(type_: str, clause: str, bound: tuple[int, int, int | None, int | None]) -> None:
    lengths = "k => 4, uncertainty => 2 days, step => 1 day" if type_ == "date" else "4, 2, 1"
    repair = plan(f"PATTERN SEQ(A a, B b, C c) {clause} EXPLAIN NON ANSWERS ({lengths})", type_).engine.spec.repair
    assert repair is not None
    (found,) = repair.bounds
    assert (found.first, found.second, found.least, found.most) == bound


UNREPAIRED = [
    ("PATTERN SEQ(A a, B+ b[])", "not a plain sequence"),
    ("PATTERN SEQ(A a, !B b, C c)", "not a plain sequence"),
    ("PATTERN SEQ(A a, B b) EVENT SELECTION STRICT CONTIGUITY", "neighbours"),
    ("PATTERN SEQ(A a, B b) BETWEEN '2024-01-01' AND '2025-01-01'", "BETWEEN"),
    ("PATTERN SEQ(A a, B b) WHERE hour(a.ts) = 3", "hour(ts) = 3"),
    ("PATTERN SEQ(A a, B b) WHERE month(b.ts) = month(a.ts)", "does not bound the time"),
    ("PATTERN SEQ(A a, B b) WHERE b.ts <= a.ts + INTERVAL 1 MONTH", "does not bound the time"),
    ("PATTERN SEQ(A a, B b) WITHIN 1 month", "differs from event to event"),
]


@pytest.mark.parametrize(("clause", "why"), UNREPAIRED, ids=[c for c, _ in UNREPAIRED])
def test_unrepaired(clause: str, why: str) -> None:
    planned = plan(f"{clause} {ASKED}")
    assert planned.engine.spec.repair is None
    assert why in planned.engine.unrepaired


@pytest.mark.parametrize("zone", ["Europe/Berlin", ""])
def test_days_where_clocks_change(zone: str) -> None:
    assert plan(f"PATTERN SEQ(A a, B b) WITHIN 1 day {ASKED}", zone=zone).engine.spec.repair is None
    assert plan(f"PATTERN SEQ(A a, B b) WITHIN 23 hours {ASKED}", zone=zone).engine.spec.repair is not None
    assert plan(f"PATTERN SEQ(A a, B b) WITHIN 1 day {ASKED}", "timestamp_ntz", zone).engine.spec.repair is not None


def test_what_every_match_takes() -> None:
    planned = plan(f"PATTERN SEQ(A a, (B b | C c), D? d, E e) {ASKED}")
    names = planned.engine.spec.run.automaton.names
    assert [names[c] for c in planned.engine.spec.needed] == ["a", "e"]
