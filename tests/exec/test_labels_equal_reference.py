"""Conditions that look at other rows' variables (CLASSIFIER) equal the reference, in the kernel and called back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.rows.program import compile_pattern
from sparkcep.expr.nodes import (
    LABEL_COLUMN,
    AggregateSlot,
    Call,
    ConditionSlot,
    Constant,
    Load,
    NavigationSlot,
    RowValue,
)
from sparkcep.expr.types import BIGINT, STRING
from sparkcep.pattern import Concatenation, Pattern, Variable
from sparkcep.query import SkipMode

from .helpers import as_tuples, batch, found_matches, make_spec, read_matches, remembering
from .reference_rows import Path, reference_matches
from .strategies import patterns

NAMES = ("A", "B", "C")
Holds: TypeAlias = Callable[[Path, int], bool]
navigations = st.builds(
    NavigationSlot, st.just(0), st.booleans(), st.integers(0, 2), st.sampled_from([0, 0, -1, -2, 1]),
    st.just(LABEL_COLUMN),
)  # fmt: skip
of_labels = st.tuples(
    st.one_of(
        navigations,
        navigations.map(lambda slot: replace(slot, argument=Call("upper", (RowValue(LABEL_COLUMN),)))),
        st.sampled_from(
            [
                AggregateSlot("max", 0, (RowValue(LABEL_COLUMN),)),
                AggregateSlot("count", 0, (RowValue(LABEL_COLUMN),)),
                AggregateSlot("count", 0, (RowValue(LABEL_COLUMN),), distinct=True),
            ]
        ),
    ),
    st.frozensets(st.sampled_from(NAMES), min_size=1),
)


def value(slot: ConditionSlot, of: frozenset[str], path: Path) -> str | int | None:
    """A slot's value, straight from its definition: rows that the match has not taken have no name."""
    taken = {row: name for name, row, _ in path}
    seen = [row for name, row, _ in path if name in of]
    if isinstance(slot, NavigationSlot):
        ordered = seen if slot.from_first else seen[::-1]
        return taken.get(ordered[slot.logical] + slot.physical) if slot.logical < len(ordered) else None
    assert isinstance(slot, AggregateSlot)
    names = [taken[row] for row in seen]
    if slot.function == "max":
        return max(names, default=None)
    return len(set(names)) if slot.distinct else len(names)


def masked(bit: int | None, masks: list[int], own: Holds | None) -> Holds:
    """A condition with the test of a row by itself."""

    def holds(path: Path, number: int) -> bool:
        return (bit is None or bool(masks[path[-1][1]] >> bit & 1)) and (own is None or own(path, number))

    return holds


@pytest.mark.parametrize("calls_back", [CallsBack.WHERE_NEEDED, CallsBack.ALWAYS])
@given(
    patterns(), st.lists(st.integers(0, 7), max_size=6),
    st.sampled_from([SkipMode.PAST_LAST_ROW, SkipMode.TO_NEXT_ROW]),
    st.dictionaries(
        st.sampled_from(NAMES),
        st.tuples(of_labels, st.sampled_from(["=", "<>", "<", "<=>"]), st.sampled_from(["A", "B", "C", None, 1, 2])),
        min_size=1,
    ),
)  # fmt: skip
def test_labels(calls_back: CallsBack, pattern: Pattern, masks: list[int], skip: SkipMode, chosen) -> None:
    """Tests of what variables took rows beside tests of the rows themselves."""
    labels = compile_pattern(pattern).names
    slots: list[ConditionSlot] = []
    registers: list[frozenset[int]] = []
    conditions, reference = {}, {}
    for name, ((slot, of), operator, constant) in chosen.items():
        counts = isinstance(slot, AggregateSlot) and slot.function == "count"
        wanted = (
            (constant if isinstance(constant, int) else 1) if counts else (None if constant in (1, 2) else constant)
        )
        slots.append(replace(slot, register=len(registers)))
        registers.append(frozenset(labels.index(n) for n in of if n in labels))
        if name in labels:
            literal = Constant(wanted, BIGINT if counts else STRING)
            conditions[labels.index(name)] = Call(operator, (Load(len(slots) - 1), literal))

        def holds(path: Path, _: int, slot=slot, of=of, operator=operator, wanted=wanted) -> bool:
            found = value(slot, of, path)
            if operator == "<=>":
                return found == wanted
            if found is None or wanted is None:
                return False
            return {"=": found == wanted, "<>": found != wanted, "<": found < wanted}[operator]

        reference[name] = holds
    bits = {"A": 0, "B": 1}
    reference = {n: masked(bits.get(n), masks, reference.get(n)) for n in NAMES}
    expected = as_tuples(reference_matches(pattern, len(masks), reference, skip))
    dependent = ConditionSet(conditions, tuple(slots), (), tuple(registers))
    spec = make_spec(pattern, {n: b for n, b in bits.items() if n in labels}, skip=skip, conditions=dependent)
    assert found_matches(spec, batch(masks), calls_back) == expected
    assert read_matches(spec, remembering(spec, 64, calls_back).match(batch(masks))) == expected


@pytest.mark.parametrize("skip", [SkipMode.PAST_LAST_ROW, SkipMode.TO_NEXT_ROW])
@pytest.mark.parametrize("offset", [-1, 1])
def test_rows_outside_of_the_match_have_no_name(skip: SkipMode, offset: int) -> None:
    """Neither those of the match before, which is followed at once, nor those of one that is given up."""
    slot = NavigationSlot(0, offset < 0, 0, offset, LABEL_COLUMN)
    nameless = ConditionSet({1: Call("isnull", (Load(0),))}, (slot,), (), (frozenset([0, 1]),))
    spec = make_spec(Concatenation((Variable("A"), Variable("B"))), {}, skip=skip, conditions=nameless)
    found = found_matches(spec, batch([0] * 6))
    assert len(found) == (3 if skip is SkipMode.PAST_LAST_ROW else 5)
