"""A stream gives what the same log at rest gives: whatever its split, disorder within the delay, and restarts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from sparkcep.errors import PatternAnalysisError, SparkCepError
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.engines.rows.program import compile_pattern
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.kernels.rows.output import WAITING
from sparkcep.exec.ordering import SortField
from sparkcep.exec.shape import SELF_ROW, Gather, OperatorColumns, Within
from sparkcep.exec.streaming.blobs import TIME
from sparkcep.exec.streaming.meaning import StreamMeaning
from sparkcep.exec.streaming.step import StreamPlan
from sparkcep.expr.nodes import NavigationSlot
from sparkcep.expr.types import BIGINT
from sparkcep.pattern import Anchor, Concatenation, Negation, Pattern, Quantified, Variable, variables
from sparkcep.planner.engines.rows.stream import never_decided
from sparkcep.query import PREFIX, Component, Matches, Selection, SkipMode

from .helpers import make_spec
from .run_engine import fields_of_case, mask_of_case, plan_case
from .run_strategies import RunCase, run_cases
from .strategies import patterns
from .streams import Arrival, arrivals, batched, streamed
from .test_conditions_equal_reference import SHAPES, condition_sets
from .test_open_ends import MODES
from .trend_engine import TrendCase, batch_of_case, plan_trend_case, trend_cases

Log = Sequence[tuple[int, int, int, int | None, int]]  # key, time, mask, value, reach of WITHIN

MEANING = StreamMeaning({})
LOGS = st.lists(
    st.tuples(
        st.integers(0, 2), st.integers(0, 20), st.integers(0, 3), st.none() | st.integers(-2, 3), st.just(4)
    ),
    max_size=16,
)  # fmt: skip
#: Time, value and a number of each row that breaks ties, and the bound where it is no fixed distance.
TIME_FIELD, VALUE, TIE, BOUND = range(4)


def prepared(log: Log) -> pa.Table:
    columns = list(zip(*log, strict=True)) or [()] * 5
    key, time, mask, value, reach = columns
    return pa.table(
        {
            PREFIX + "k0": pa.array(key, pa.int64()),
            PREFIX + "m0": pa.array(mask, pa.int64()),
            PREFIX + "f0": pa.array(time, pa.int64()),
            PREFIX + "f1": pa.array(value, pa.int64()),
            PREFIX + "f2": pa.array(range(len(log)), pa.int64()),
            PREFIX + "f3": pa.array([t + r for t, r in zip(time, reach, strict=True)], pa.int64()),
            TIME: pa.array(time, pa.int64()),
        }
    )


def same_rows(spec: MatchSpec, log: Log, fixed: bool, data: st.DataObject) -> None:
    assume(never_decided(spec) is None)
    within = Within(TIME_FIELD, None if fixed else BOUND, 4 if fixed else None) if spec.use_within else None
    shape = OperatorColumns(
        1, 1, (VALUE,) if spec.conditions.column_types else (), within, (Gather(SELF_ROW, TIE),), ()
    )
    plan = StreamPlan((SortField(TIME_FIELD), SortField(TIE)), MEANING, remembers=True)
    table = prepared(log)
    order = sorted(range(len(log)), key=lambda n: (log[n][0], log[n][1], n))
    arrival = data.draw(arrivals([row[1] for row in log]))
    try:
        expected = batched(table, order, shape, spec)
    except SparkCepError as error:
        assume(error.getCondition() not in ("CEP_SKIP_TARGET_ABSENT", "CEP_SKIP_TO_FIRST_ROW"))
        with pytest.raises(SparkCepError):
            streamed(table, shape, spec, plan, arrival, 100)
        return
    found = streamed(table, shape, spec, plan, arrival, 100)
    for key in range(3):
        of = [r for r in found if r[PREFIX + "k0"] == key]
        wanted = [r for r in expected if r[PREFIX + "k0"] == key]
        # Without WITHIN what is undecided is not emitted; a stream has no end.
        assert of == (wanted if spec.use_within else wanted[: len(of)])


@given(patterns(), LOGS, MODES, st.sampled_from(list(SkipMode)), st.booleans(), st.booleans(), st.data())
def test_row_patterns(pattern: Pattern, log: Log, mode, skip, use_within: bool, fixed: bool, data) -> None:
    names = compile_pattern(pattern).names
    target = data.draw(st.sampled_from(names or ("A",)))
    spec = make_spec(
        pattern, {"A": 0, "B": 1}, use_within=use_within, rows_per_match=mode, skip=skip,
        skip_labels=frozenset(k for k, n in enumerate(names) if n == target),
    )  # fmt: skip
    same_rows(spec, log, fixed, data)


@pytest.mark.parametrize("called_back", [False, True])
@given(st.one_of(patterns(), st.sampled_from(SHAPES)), LOGS, MODES, st.booleans(), st.data())
def test_match_conditions(called_back: bool, pattern, log: Log, mode, use_within: bool, data) -> None:
    """Conditions that look back, also before the match, and ahead inside of it, and at MATCH_NUMBER()."""
    names = variables(pattern)
    assume(names)
    dependent = data.draw(condition_sets(pattern))
    skip = data.draw(st.sampled_from([SkipMode.PAST_LAST_ROW, SkipMode.TO_NEXT_ROW]))
    spec = make_spec(pattern, {"A": 0}, use_within=use_within, rows_per_match=mode, skip=skip, conditions=dependent)
    same_rows(spec, log, True, data)


def table_of_case(case: RunCase, plan: Any, keys: Sequence[int]) -> pa.Table:
    """A case's prepared rows, of partitions with these keys."""
    columns: dict[str, Any] = {PREFIX + "k0": pa.array(keys, pa.int64()), PREFIX + "m0": mask_of_case(case, plan)}
    columns |= {f"{PREFIX}f{n}": values for n, values in enumerate(fields_of_case(case, plan))}
    return pa.table(columns | {TIME: pa.array(case.times, pa.int64())})


def stream_of(plan: Any) -> StreamPlan:
    """How its rows are sorted."""
    return StreamPlan(tuple(SortField(n) for n in range(plan.input.fields.sort_fields)), MEANING, remembers=True)


@given(run_cases(steps=True), st.data())
def test_blocks(case: RunCase, data: st.DataObject) -> None:
    """Strategies, Kleene, negations, which matches, runs that timed out; traced events and positions."""
    within = case.within if case.within is not None else data.draw(st.integers(0, 6))
    case = replace(case, within=within)
    timed_out = case.matches is not Matches.FIRST and data.draw(st.booleans())
    try:
        plan = plan_case(case, streaming=True, timed_out=timed_out)
    except PatternAnalysisError as error:
        assert error.error_class == "CEP_TIMED_OUT"  # a leading negation
        reject()
    shape = replace(plan.input.shape, keys=1)
    keys = [data.draw(st.integers(0, 1)) for _ in case.types]
    table = table_of_case(case, plan, keys)

    def by(n: int) -> tuple[Any, ...]:
        value = case.values[n]
        return keys[n], case.times[n], case.types[n].encode(), value is not None, value or 0

    order = sorted(range(len(keys)), key=by)
    arrival = data.draw(arrivals(case.times))
    spec = plan.engine.spec
    expected = batched(table, order, shape, spec)
    stream = stream_of(plan)
    assert spec.stream is not None

    def moments(rows: Sequence[dict[str, Any]]) -> Counter[int]:
        """When matches are decided."""
        found: Counter[int] = Counter()
        for row in rows:
            waits = case.matches is not Matches.ALL or spec.stream.closes or row[PREFIX + "flags"] >= WAITING
            event = row[PREFIX + "events"][0 if waits else -1]
            found[event[time] + (within if waits else 0)] += 1
        return found

    time = next(name for name in expected[0][PREFIX + "events"][0] if name not in ("c", "r")) if expected else ""

    def check(watermark: int, so_far: Sequence[dict[str, Any]]) -> None:
        """None is later than its moment, and none is early."""
        due = Counter({m: n for m, n in moments(expected).items() if m <= watermark})
        assert moments(so_far) == due

    found = streamed(table, shape, spec, stream, arrival, 1000, check)
    numbered = Counter((row[PREFIX + "k0"], row[PREFIX + "number"]) for row in found)
    assert numbered == Counter((row[PREFIX + "k0"], row[PREFIX + "number"]) for row in expected)
    assert counted(found) == counted(expected)


def counted(rows: Sequence[dict[str, Any]]) -> Counter[str]:
    return Counter(repr({k: v for k, v in row.items() if k != PREFIX + "number"}) for row in rows)


@given(trend_cases(), st.data())
def test_trends(case: TrendCase, data: st.DataObject) -> None:
    """Aggregates of windows, each once and when it ends."""
    assume(case.width is not None)
    try:
        plan = plan_trend_case(case)
    except PatternAnalysisError:
        reject()
    shape, spec = replace(plan.input.shape, keys=1), plan.engine.spec
    batch = batch_of_case(case, plan)
    rows = len(case.run.types)
    keys = [data.draw(st.integers(0, 1)) for _ in range(rows)]
    times = pa.array(case.run.times, pa.int64())
    columns: dict[str, Any] = {PREFIX + "k0": pa.array(keys, pa.int64()), TIME: times}
    columns |= {f"{PREFIX}m{w}": mask for w, mask in enumerate(batch.masks)}
    values = [*batch.columns, *(batch.within or ())[:1]]
    columns |= {f"{PREFIX}f{n}": v for n, v in zip(shape.kernel_fields, values, strict=False)}
    tie = 99
    columns |= {f"{PREFIX}f{tie}": pa.array(range(rows), pa.int64()), f"{PREFIX}f{tie + 1}": times}
    table = pa.table(columns)
    order = sorted(range(rows), key=lambda n: (keys[n], case.run.times[n], n))
    expected = batched(table, order, shape, spec)
    stream = StreamPlan((SortField(tie + 1), SortField(tie)), MEANING)

    def check(watermark: int, so_far: Sequence[dict[str, Any]]) -> None:
        due = [r for r in expected if r[PREFIX + "w"] * spec.slide + spec.width <= watermark]
        assert exactly(so_far) == exactly(due)

    found = streamed(table, shape, spec, stream, data.draw(arrivals(case.run.times)), 1000, check)
    assert exactly(found) == exactly(expected)


@pytest.mark.parametrize("called_back", [False, True])
def test_a_start_whose_within_has_passed_waits_for_no_row(called_back: bool) -> None:
    """NEXT looks a row ahead; behind the last row that WITHIN lets a match take, none is needed."""
    slots_ = (NavigationSlot(0, False, 0, 1, 0),)
    dependent = ConditionSet({}, slots_, (BIGINT,), (frozenset([0]),))
    spec = make_spec(Quantified(Variable("A"), 1, None), {"A": 0}, use_within=True, conditions=dependent)
    shape = OperatorColumns(1, 1, (VALUE,), Within(TIME_FIELD, None, 4), (Gather(SELF_ROW, TIE),), ())
    plan = StreamPlan((SortField(TIME_FIELD), SortField(TIE)), MEANING, remembers=True)
    log = prepared([(1, 0, 1, None, 4), (1, 5, 0, None, 4), (0, 6, 0, None, 4)])
    found = streamed(log, shape, spec, plan, Arrival([0, 1, 2], [1, 1], 0, [False] * 3), 100)
    assert [(r[PREFIX + "k0"], r[PREFIX + "number"]) for r in found] == [(1, 1)]


def exactly(rows: Sequence[dict[str, Any]]) -> Counter[str]:
    return Counter(map(repr, rows))


@pytest.mark.parametrize("use_within", [False, True])
def test_a_pattern_of_anchors_alone(use_within: bool) -> None:
    """It has no positions, of which memory is counted."""
    spec = make_spec(Quantified(Anchor(False), 0, None), {}, use_within=use_within)
    within = Within(TIME_FIELD, None, 4) if use_within else None
    shape = OperatorColumns(1, 1, (), within, (Gather(SELF_ROW, TIE),), ())
    plan = StreamPlan((SortField(TIME_FIELD), SortField(TIE)), MEANING, remembers=True)
    assert streamed(prepared([]), shape, spec, plan, Arrival([], [], 0, [False]), 100) == []
    empty = batched(prepared([(0, 1, 0, None, 4)]), [0], shape, spec)
    assert [row[PREFIX + "code"] for row in empty] == [-1]


def test_what_a_negation_ended_stays_ended() -> None:
    """Of one match for each start: `!c` ends the run that begins at time 2 by the row at 0, which is gone when the rows
    at 2 and 3 are looked at again."""
    pattern = Concatenation((Quantified(Variable("B"), 0, None), Negation(Variable("C")), Variable("A")))
    components = tuple(
        Component(name, name, types, kleene=name == "B", negated=name == "C")
        for name, types in (("B", ("B",)), ("C", ()), ("A", ()))
    )
    case = RunCase(
        pattern=pattern, components=components, types=("A", "A", "B"), values=(0, 0, 0), times=(0, 2, 3), conditions=(),
        references=(), selection=Selection.NEXT, matches=Matches.NON_OVERLAPPING, within=2, strict_time=True,
    )  # fmt: skip
    plan = plan_case(case, streaming=True, timed_out=False)
    shape, spec = replace(plan.input.shape, keys=1), plan.engine.spec
    table = table_of_case(case, plan, [0, 0, 0])
    stream = stream_of(plan)
    found = streamed(table, shape, spec, stream, Arrival([0, 1, 2], [], 0, [False]), 1000)
    assert found == batched(table, range(3), shape, spec)
    assert len(found) == 1
