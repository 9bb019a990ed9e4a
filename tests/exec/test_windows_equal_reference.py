"""Matches in each row's frame are the reference's: random patterns, masks, frames, skips, INITIAL and SEEK."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from sparkcep.errors import SparkCepError
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.rows.matcher import Matcher
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.kernels.rows import rows as kernel
from sparkcep.exec.kernels.rows.output import CURRENT
from sparkcep.expr.nodes import Call, Load, NavigationSlot
from sparkcep.expr.types import BIGINT
from sparkcep.pattern import Concatenation, Pattern, Quantified, Variable
from sparkcep.query import GAP, RowsPerMatch, SkipMode

from .helpers import batch, make_spec
from .reference_windows import reference_windows
from .strategies import NAMES, patterns, row_pattern

BITS = {name: k for k, name in enumerate(NAMES)}
MASKS = st.lists(st.sampled_from([1, 2, 3, 4, 5, 6, 7, 3, 7, 0]), max_size=7)
SKIPS = st.sampled_from(list(SkipMode))
ERRORS = {"CEP_SKIP_TO_FIRST_ROW": "skip to first row", "CEP_SKIP_TARGET_ABSENT": "skip target absent"}


def window_spec(pattern: Pattern, skip: SkipMode, target: str, seek: bool, **changes: Any) -> MatchSpec:
    """As the binder and the planner make it: SEEK is a reluctant component before the pattern."""
    if seek:
        pattern = Concatenation((Quantified(Variable(GAP), 0, None, greedy=False), pattern))
    names = make_spec(pattern, BITS).program.names
    return make_spec(
        pattern, BITS, use_within=True, rows_per_match=RowsPerMatch.EACH_ROW, every_row=True, skip=skip,
        skip_labels=frozenset(k for k, n in enumerate(names) if n == target),
        gap=names.index(GAP) if seek else -1, **changes,
    )  # fmt: skip


def found_windows(spec: MatchSpec, rows: int, table: Any) -> list[Any]:
    """What each row has, as the reference gives it; each has one match at most."""
    out: list[Any] = ["nothing"] * rows
    numbers: dict[int, int] = {}
    for row in table.tolist():
        number, label, of, current = row[kernel.NUMBER], row[kernel.LABEL], row[kernel.SELF], row[CURRENT]
        assert out[of] == "nothing" or numbers[of] == number
        numbers[of] = number
        if number == 0:
            out[of] = None
            continue
        out[of] = out[of] if out[of] != "nothing" else ()
        if label >= 0 and spec.program.names[label] != GAP:
            out[of] = (*out[of], (spec.program.names[label], current))
    return out


def outcome(action: Any) -> Any:
    try:
        return action()
    except ValueError as error:
        return str(error)
    except SparkCepError as error:
        return ERRORS[error.getCondition()]


def short(paths: list[Any]) -> list[Any]:
    return [None if path is None else tuple((name, row) for name, row, _ in path) for path in paths]


def frames(masks: list[int], reaches: list[int]) -> tuple[list[int], tuple[pa.Array, pa.Array]]:
    """The last row of each row's frame, and the kernel's WITHIN of them."""
    ends = [k + reach for k, reach in enumerate(reaches)]
    return ends, (pa.array(range(len(masks)), pa.int64()), pa.array(ends, pa.int64()))


@given(patterns(anchors=False), MASKS, SKIPS, st.sampled_from(NAMES), st.booleans(), st.data())
@example(row_pattern("A B"), [1, 2, 1, 2], SkipMode.TO_FIRST, "A", True, None)
@example(row_pattern("A | ()"), [2, 1], SkipMode.PAST_LAST_ROW, "A", True, None)
def test_windows(
    pattern: Pattern, masks: list[int], skip: SkipMode, target: str, seek: bool, data: st.DataObject | None
) -> None:
    reach = st.sampled_from([0, 1, 2, 3, 9])
    size = len(masks)
    reaches = [9] * size if data is None else data.draw(st.lists(reach, min_size=size, max_size=size))
    ends, within = frames(masks, reaches)
    spec = window_spec(pattern, skip, target, seek)
    conditions = {n: (lambda path, *_, b=b: bool(masks[path[-1][1]] >> b & 1)) for n, b in BITS.items()}
    expected = outcome(lambda: short(reference_windows(pattern, ends, conditions, skip, (target,), seek)))
    assert outcome(lambda: found_windows(spec, size, Matcher(spec).match(batch(masks, within=within)))) == expected


@given(patterns(anchors=False), MASKS, SKIPS, st.booleans(), st.booleans(), st.data())
def test_conditions_between_rows(
    pattern: Pattern, masks: list[int], skip: SkipMode, seek: bool, called: bool, data: st.DataObject
) -> None:
    """B's value is above that of the first A, as the kernel tests it, and as the interpreter that it calls."""
    size = len(masks)
    values = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    reaches = data.draw(st.lists(st.sampled_from([0, 1, 3, 9]), min_size=size, max_size=size))
    ends, within = frames(masks, reaches)
    names = window_spec(pattern, skip, "A", seek).program.names
    dependent = ConditionSet()
    if "A" in names and "B" in names:
        a, b = names.index("A"), names.index("B")
        slots = (NavigationSlot(0, True, 0, 0, 0), NavigationSlot(1, False, 0, 0, 0))
        registers = (frozenset([a]), frozenset([b]))
        above = Call(">", (Load(1), Load(0)))
        dependent = ConditionSet({b: above}, slots, (BIGINT,), registers)
    spec = window_spec(pattern, skip, "A", seek, conditions=dependent)

    def holds(name: str):
        def condition(path: Any, *_: int) -> bool:
            row = path[-1][1]
            first = next((r for n, r, _ in path if n == "A"), None)
            dependent_holds = name != "B" or "A" not in names or (first is not None and values[row] > values[first])
            return bool(masks[row] >> BITS[name] & 1) and dependent_holds

        return condition

    conditions = {name: holds(name) for name in NAMES}
    expected = outcome(lambda: short(reference_windows(pattern, ends, conditions, skip, ("A",), seek)))
    calls_back = CallsBack.ALWAYS if called else CallsBack.NEVER
    data_batch = batch(masks, [pa.array(values, pa.int64())], within)
    assert outcome(lambda: found_windows(spec, size, Matcher(spec, calls_back).match(data_batch))) == expected


@given(patterns(anchors=False), MASKS, st.booleans(), st.data())
def test_pieces(pattern: Pattern, masks: list[int], seek: bool, data: st.DataObject) -> None:
    """A partition that comes in two pieces has what it has in one."""
    size = len(masks)
    reaches = data.draw(st.lists(st.sampled_from([0, 1, 2, 9]), min_size=size, max_size=size))
    skip = data.draw(st.sampled_from([SkipMode.PAST_LAST_ROW, SkipMode.TO_NEXT_ROW]))
    cut = data.draw(st.integers(0, size))
    _, within = frames(masks, reaches)
    spec = window_spec(pattern, skip, "A", seek)
    whole = found_windows(spec, size, Matcher(spec).match(batch(masks, within=within)))
    matcher = Matcher(spec)
    first, resume = matcher.match_piece(batch(masks[:cut], within=[w[:cut] for w in within]), None, True)
    assert resume is not None
    rest = batch(masks[resume.drop :], within=[w[resume.drop :] for w in within])
    second, _ = matcher.match_piece(rest, resume, False)
    for column in (kernel.SELF, CURRENT):
        second[:, column] += np.where(second[:, column] >= 0, resume.drop, 0)
    assert found_windows(spec, size, np.concatenate([first, second])) == whole
