"""Matching a partition by overlapping ranges gives what matching it whole gives."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.errors import SparkCepError
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.engines.rows.engine import RowsEngine
from sparkcep.exec.engines.rows.program import compile_pattern
from sparkcep.exec.engines.rows.ranges import ChainSelector, RangeMatcher
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.layouts.rows import RowsBody
from sparkcep.exec.reports import RowsReport
from sparkcep.exec.shape import CURRENT_ROW, SELF_ROW, Gather, OperatorColumns, OutputSlot, Ranges, Within
from sparkcep.expr.nodes import AggregateSlot, Call, Load, NavigationSlot, RowValue
from sparkcep.expr.types import BIGINT
from sparkcep.pattern import Concatenation, Pattern, Variable
from sparkcep.query import RowsPerMatch, SkipMode

from .helpers import make_spec
from .strategies import NAMES, patterns

BITS = {name: k for k, name in enumerate(NAMES[:2])}
#: Key (NULL first), mask, value; of several partitions.
ROWS = st.tuples(st.one_of(st.none(), st.integers(-12, 12)), st.integers(0, 3), st.integers(-2, 3))
PARTITIONS = st.lists(st.lists(ROWS, min_size=1, max_size=14), min_size=1, max_size=3)


def conditions(names: tuple[str, ...], kind: str) -> ConditionSet:
    """B is above what a register holds; ``overflow`` makes some searches fail."""
    if kind == "none" or "B" not in names:
        return ConditionSet()
    every, b = frozenset(range(len(names))), names.index("B")
    slots = (
        (NavigationSlot(0, False, 0, 0, 0), NavigationSlot(0, True, 0, 0, 0))
        if kind == "navigation"
        else (NavigationSlot(0, False, 0, 0, 0), AggregateSlot("avg", 0, (RowValue(0),)))
    )
    test = Call(">", (Load(0), Load(1)))
    if kind == "failure":
        test = Call(">", (Call("div", (Load(0), Load(0))), Load(1)))
    return ConditionSet({b: test}, slots, (BIGINT,), (every,))


def spec_of(pattern: Pattern, skip: SkipMode, target: str, kind: str, every_row: bool) -> MatchSpec:
    names = compile_pattern(pattern).names
    every = frozenset(range(len(names)))
    return make_spec(
        pattern,
        BITS,
        use_within=True,
        rows_per_match=RowsPerMatch.ONE,
        skip=skip,
        skip_labels=frozenset(k for k, n in enumerate(names) if n == target),
        skip_target=target,
        slots=(OutputSlot(0, True, 0, 0, False, False), OutputSlot(0, False, 1, 0, True, True)),
        slot_registers=(every,),
        every_row=every_row,
        conditions=conditions(names, kind),
    )


def shape_of(distance: int, ranges: Ranges | None) -> OperatorColumns:
    return OperatorColumns(
        keys=1,
        masks=1,
        columns=(1,),
        within=Within(0, None, distance),
        gathers=(Gather(0, 2), Gather(CURRENT_ROW, 2), Gather(SELF_ROW, 2)),
        labels=(1,),
        ranges=ranges,
    )


def prepared(groups: list[tuple[int, int | None, list[tuple[Any, ...]]]]) -> pa.RecordBatch:
    """Input of the operator: (partition, range, rows of key, mask, value and identity)."""
    first = [k == 0 for _, _, rows in groups for k in range(len(rows))]
    flat = [(q, number, *row) for q, number, rows in groups for row in rows]
    columns = {
        "__cep_k0": pa.array([r[0] if f else None for r, f in zip(flat, first, strict=True)], pa.int64()),
        "__cep_range": pa.array([r[1] if f else None for r, f in zip(flat, first, strict=True)], pa.int64()),
        "__cep_m0": pa.array([~r[3] if f else r[3] for r, f in zip(flat, first, strict=True)], pa.int8()),
        "__cep_f0": pa.array([r[2] for r in flat], pa.int64()),
        "__cep_f1": pa.array([r[4] for r in flat], pa.int64()),
        "__cep_f2": pa.array([r[5] for r in flat], pa.int64()),
    }
    return pa.RecordBatch.from_pydict(columns)


def in_pieces(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    return [batch.slice(k, 3) for k in range(0, batch.num_rows, 3)]


def answer(batches: Any) -> list[dict[str, Any]]:
    return [row for b in batches for row in b.to_pylist()]


def whole(partitions: list[list[Any]], distance: int, spec: MatchSpec) -> list[dict[str, Any]]:
    groups = [(q, None, rows) for q, rows in enumerate(partitions)]
    return answer(RowsBody(RowsEngine(), shape_of(distance, None), spec).run(iter(in_pieces(prepared(groups)))))


def by_ranges(partitions: list[list[Any]], distance: int, ranges: Ranges, spec: MatchSpec) -> list[dict[str, Any]]:
    groups: dict[tuple[int, int | None], list[Any]] = {}
    for q, rows in enumerate(partitions):
        for row in rows:
            if row[0] is None:
                groups.setdefault((q, None), []).append(row)
                continue
            number, inside = divmod(row[0], ranges.width)
            for n in (number - 1, number) if inside <= distance else (number,):
                groups.setdefault((q, n), []).append(row)
    # Ranges arrive in any order.
    shuffled = sorted(groups.items(), key=lambda g: hash((g[0][1], 7)))
    first = RangeMatcher(shape_of(distance, ranges), spec)
    pieces = iter(in_pieces(prepared([(q, n, rows) for (q, n), rows in shuffled])))
    found = list(RowsReport(first.run, first.empty).run(pieces))  # with a column for errors
    table = pa.Table.from_batches(found)
    order = [("__cep_k0", "ascending"), ("__cep_range", "ascending"), ("__cep_start", "ascending")]
    indices = pc.sort_indices(table, sort_keys=[*order, ("__cep_self", "ascending")], null_placement="at_start")
    table = table.take(indices)
    keys = table["__cep_k0"].to_pylist()
    row = [1 if k == 0 or keys[k - 1] != keys[k] else 2 for k in range(len(keys))]
    table = table.drop(["__cep_range"]).append_column("__cep_row", pa.array(row, pa.int32())).combine_chunks()
    return answer(ChainSelector(spec, shape_of(distance, ranges)).run(iter(table.to_batches(max_chunksize=5))))


def outcome(run: Any) -> Any:
    try:
        return run()
    except SparkCepError as error:
        return error.getCondition()


@given(
    patterns(anchors=False),
    PARTITIONS,
    st.integers(0, 5),
    st.integers(0, 3),
    st.sampled_from(list(SkipMode)),
    st.sampled_from(NAMES),
    st.sampled_from(["none", "navigation", "average", "failure"]),
    st.booleans(),
)
def test_ranges_equal_whole(
    pattern: Pattern,
    partitions: list[list[Any]],
    distance: int,
    wider: int,
    skip: SkipMode,
    target: str,
    kind: str,
    every_row: bool,
) -> None:
    ordered = []
    for q, rows in enumerate(partitions):
        by_key = sorted(rows, key=lambda r: (r[0] is not None, r[0] or 0))
        ordered.append([(*row, 100 * q + k) for k, row in enumerate(by_key)])
    spec = spec_of(pattern, skip, target, kind, every_row)
    ranges = Ranges(max(distance, 1) + wider, distance, True)
    expected = outcome(lambda: whole(ordered, distance, spec))
    found = outcome(lambda: by_ranges(ordered, distance, ranges, spec))
    if isinstance(expected, str) or isinstance(found, str):
        assert found == expected or (isinstance(expected, str) and isinstance(found, str))
    else:
        assert sorted(map(str, found)) == sorted(map(str, expected))


@pytest.mark.parametrize("edge", [-(2**63), 2**63 - 1])
def test_keys_at_the_ends_of_their_type(edge: int) -> None:
    rows = sorted([(edge, 3, 0, 0), (edge - 1 if edge > 0 else edge + 1, 3, 0, 1), (0, 3, 0, 2)])
    spec = spec_of(Concatenation((Variable("A"), Variable("B"))), SkipMode.PAST_LAST_ROW, "A", "none", False)
    found = by_ranges([rows], 2, Ranges(32, 2, True), spec)
    assert found == whole([rows], 2, spec)
    assert len(found) == 1


def test_more_rows_than_a_number_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start and resume rows share a number: what would grow into the other's bits is refused."""
    rows = [(key, 3, 0, key) for key in range(3)]
    spec = spec_of(Concatenation((Variable("A"), Variable("B"))), SkipMode.PAST_LAST_ROW, "A", "none", False)
    assert outcome(lambda: by_ranges([rows], 2, Ranges(32, 2, True), spec)) == whole([rows], 2, spec)
    monkeypatch.setattr("sparkcep.exec.engines.rows.ranges.MAX_RANGE_ROWS", 2)
    assert outcome(lambda: by_ranges([rows], 2, Ranges(32, 2, True), spec)) == "CEP_EVENT_LIMIT"
