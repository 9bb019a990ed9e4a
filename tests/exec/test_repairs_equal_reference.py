"""The repair kernel gives the definition's repair: cost, events and shifts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.exec.automaton import compile_automaton
from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.engines.non_answers.repairer import Repairer
from sparkcep.exec.engines.non_answers.spec import Bound, Repair
from sparkcep.exec.engines.runs.spec import Check, RunSpec
from sparkcep.exec.kernels.non_answers.repair import repair_partitions
from sparkcep.expr.nodes import Call, Load, NavigationSlot
from sparkcep.expr.types import BIGINT
from sparkcep.pattern import Concatenation, Variable
from sparkcep.query import RowsPerMatch, Selection, SkipMode, TestedAt

from .repair_reference import Answer, RepairCase, reference_repair

TYPES = "ABCD"


def conditions(case: RepairCase) -> tuple[ConditionSet, tuple[Check, ...]]:
    """Values that rise, as the planner would give them: LAST of one component's value against another's."""
    if not case.rising:
        return ConditionSet(), ()
    places = sorted({p for pair in case.rising for p in pair})
    slots = tuple(NavigationSlot(n, False, 0, 0, 1) for n in range(len(places)))
    tests = {k: Call("<", (Load(places.index(i)), Load(places.index(j)))) for k, (i, j) in enumerate(case.rising)}
    registers = tuple(frozenset([p]) for p in places)
    checks = tuple(
        Check(k, frozenset([j]), TestedAt.TAKE, places.index(j), (places.index(i),))
        for k, (i, j) in enumerate(case.rising)
    )
    tested = tuple(frozenset([j]) for _, j in case.rising)
    return ConditionSet(tests, slots, (BIGINT, BIGINT), registers, tested=tested), checks


def repairer(case: RepairCase) -> Repairer:
    names = tuple(f"{e}{n}" for n, e in enumerate(case.sequence))
    pattern = Concatenation(tuple(map(Variable, names)))
    condition_set, checks = conditions(case)
    run = RunSpec(
        pattern=pattern, automaton=compile_automaton(pattern, names, 100),
        condition_bits={n: TYPES.index(e) for n, e in enumerate(case.sequence)}, mask_words=1,
        selection=Selection.NEXT, one_per_start=True, first_only=True, use_within=False, strict_time=False,
        rows_per_match=RowsPerMatch.ONE, skip=SkipMode.PAST_LAST_ROW, skip_labels=frozenset(), skip_target="",
        slots=(), slot_registers=(), every_row=False, traced=False, conditions=condition_set, checks=checks, ansi=True,
        limit_steps=10**8, limit_rows=10**6,
    )  # fmt: skip
    repair = Repair(
        tuple(range(len(names))), 0, case.bounds, frozenset(), case.step, case.most_cost, case.most_shift, -(2**63),
        2**63 - 1,
    )  # fmt: skip
    return Repairer(run, repair, 10**7)


def run_repair(case: RepairCase) -> Answer:
    rows = len(case.types)
    mask = [1 << TYPES.index(e) for e in case.types]
    values = pa.array(case.values or (0,) * rows, pa.int64())
    batch = Batch(
        np.array([0, rows], np.int64), [pa.array(mask, pa.int64())], [pa.array(case.times, pa.int64()), values]
    )
    masks = np.array([mask], np.uint64).reshape(1, rows)
    found = repairer(case).repaired(batch, masks, np.ones(1, np.uint8))
    if found.cost[0] < 0:
        return None
    return int(found.cost[0]), tuple(found.row.tolist()), tuple(found.shift.tolist())


@st.composite
def cases(draw: st.DrawFn, gaps: bool = True, rising: bool = True) -> RepairCase:
    length = draw(st.integers(1, 4))
    rows = draw(st.integers(0, 6))
    types = TYPES[: draw(st.integers(1, 4))]
    steps = draw(st.lists(st.sampled_from([0, 1, 1, 2, 3]), min_size=rows, max_size=rows))
    times: list[int | None] = [sum(steps[: n + 1]) for n in range(rows)]
    if rows and draw(st.integers(0, 9)) == 0:
        times[0] = None
    sequence = draw(st.lists(st.sampled_from(types), min_size=length, max_size=length))
    bounds = []
    for _ in range(draw(st.integers(0, 2)) if length > 1 else 0):
        i = draw(st.integers(0, length - 2))
        j = draw(st.integers(i + 1, length - 1))
        near, far = draw(st.integers(0, 4)), draw(st.integers(1, 5))
        kind = draw(st.sampled_from(["within", "atleast", "both"]))
        bounds.append(
            Bound(i, j, None if kind == "within" else near, None if kind == "atleast" else far,
                  gaps and draw(st.booleans()))
        )  # fmt: skip
    pairs = [(i, j) for j in range(length) for i in range(j)]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=2, unique=True)) if rising and pairs else []
    return RepairCase(
        tuple(draw(st.lists(st.sampled_from(types), min_size=rows, max_size=rows))), tuple(times), tuple(sequence),
        tuple(bounds), draw(st.integers(1, 2)), draw(st.integers(0, 5)), draw(st.integers(0, 2)),
        tuple(draw(st.lists(st.sampled_from([0, 1, 2, 3, None]), min_size=rows, max_size=rows))), tuple(chosen),
    )  # fmt: skip


@given(cases(gaps=False, rising=False))
def test_sequences_with_time_constraints(case: RepairCase) -> None:
    assert run_repair(case) == reference_repair(case)


@given(cases(rising=False))
def test_gaps_count_positions_after_the_shifts(case: RepairCase) -> None:
    assert run_repair(case) == reference_repair(case)


@given(cases())
def test_conditions_between_events(case: RepairCase) -> None:
    assert run_repair(case) == reference_repair(case)


@pytest.mark.compiled
def test_one_signature_for_all_queries() -> None:
    """Bounds, gaps, conditions, NULL times: none of them makes another signature to compile."""
    plain = RepairCase(("A", "B"), (1, 2), ("B", "A"), (), 1, 4, 2)
    gap = replace(plain, bounds=(Bound(0, 1, None, 1, gap=True),), times=(None, 2))
    rising = replace(plain, values=(1, 2), rising=((0, 1),))
    assert [run_repair(c) for c in (plain, gap, rising)] == [reference_repair(c) for c in (plain, gap, rising)]
    assert len(repair_partitions.signatures) == 1


def test_worker_and_rooms() -> None:
    """SIESTA's example: worker A@2 B@3 C@6; B, A, C with at most 2 from A to C costs 3."""
    case = RepairCase(("A", "B", "C"), (2, 3, 6), ("B", "A", "C"), (Bound(1, 2, None, 2),), 1, 4, 1)
    assert run_repair(case) == (3, (1, 0, 2), (-1, 1, -1)) == reference_repair(case)
