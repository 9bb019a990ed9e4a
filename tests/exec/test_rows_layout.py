"""The rows layout matches a stream in pieces of any size with the same answer, and keeps only what is undecided."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.exec.engines.rows.engine import RowsEngine, RowsMatcher
from sparkcep.exec.layouts import rows as layout
from sparkcep.exec.layouts.rows import RowsBody
from sparkcep.pattern import Concatenation, Pattern, Quantified, Variable
from sparkcep.query import RowsPerMatch, SkipMode

from .strategies import NAMES, patterns
from .test_ranges import answer, prepared, shape_of, spec_of

ROWS = st.tuples(st.integers(-12, 12), st.integers(0, 3), st.integers(-2, 3))
PARTITIONS = st.lists(st.lists(ROWS, min_size=1, max_size=14), min_size=1, max_size=4)
SKIPS = st.sampled_from([(SkipMode.PAST_LAST_ROW, ""), (SkipMode.TO_NEXT_ROW, "")])


def body(spec: Any, chunk: int, chunk_bytes: int = 1 << 30) -> RowsBody[Any]:
    out = RowsBody(RowsEngine(), dataclasses.replace(shape_of(5, None), chunk_bytes=chunk_bytes), spec)
    assert isinstance(out.matcher, RowsMatcher)
    out.matcher.chunk = chunk
    return out


def matched(groups: list[Any], spec: Any, batch: int, chunk: int, chunk_bytes: int = 1 << 30) -> list[dict[str, Any]]:
    table = prepared(groups)
    pieces = [table.slice(k, batch) for k in range(0, table.num_rows, batch)]
    return answer(body(spec, chunk, chunk_bytes).run(iter(pieces)))


@given(
    patterns(NAMES[:3]), PARTITIONS, SKIPS, st.sampled_from(["none", "navigation", "aggregate"]), st.booleans(),
    st.sampled_from(RowsPerMatch), st.booleans(), st.integers(1, 4), st.integers(1, 9),
)  # fmt: skip
def test_pieces_give_what_the_whole_gives(
    pattern: Pattern, partitions: list[Any], skip: tuple[SkipMode, str], kind: str, every: bool, mode: RowsPerMatch,
    within: bool, batch: int, chunk: int,
) -> None:  # fmt: skip
    spec = dataclasses.replace(spec_of(pattern, *skip, kind, every), rows_per_match=mode, use_within=within)
    groups = []
    for q, rows in enumerate(partitions):
        ordered = sorted(rows)
        groups.append((q, None, [(*row, 100 * q + k) for k, row in enumerate(ordered)]))
    whole = matched(groups, spec, 1000, 1000)
    assert matched(groups, spec, batch, chunk) == whole
    assert matched(groups, spec, batch, 1000, chunk_bytes=64 * chunk) == whole


def test_wide_rows_are_matched_and_given_out_in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, width = 4_000, 1_000
    masks = np.where(np.arange(rows) % 2 == 0, 1, 2).astype(np.int8)
    masks[0] = ~masks[0]
    spec = spec_of(Concatenation((Variable("A"), Variable("B"))), SkipMode.PAST_LAST_ROW, "", "none", False)
    spec = dataclasses.replace(spec, use_within=False)
    payload = pa.array(["x" * width] * rows)
    fields = {f"__cep_f{i}": payload if i == 2 else pa.array(np.arange(rows)) for i in range(3)}
    table = pa.RecordBatch.from_pydict(
        {"__cep_k0": pa.array([1] + [None] * (rows - 1), pa.int64()), "__cep_m0": pa.array(masks), **fields}
    )
    held: list[int] = []
    chunk_of = layout.chunk_of

    def noted(table: pa.Table, *more: Any) -> Any:
        held.append(table.nbytes)
        return chunk_of(table, *more)

    monkeypatch.setattr(layout, "chunk_of", noted)
    limit = 300_000
    pieces = [table.slice(k, 50) for k in range(0, rows, 50)]
    out = list(body(spec, 1_000_000, chunk_bytes=limit).run(iter(pieces)))
    assert sum(batch.num_rows for batch in out) == rows // 2
    assert max(held) < 2 * limit and max(batch.nbytes for batch in out) < 2 * limit


@pytest.mark.compiled
def test_a_long_partition_is_not_held_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 200_000
    masks = np.where(np.arange(rows) % 7 == 0, 1, 2).astype(np.int8)
    masks[0] = ~masks[0]
    pattern = Concatenation((Variable("A"), Quantified(Variable("B"), 1, None)))
    spec = dataclasses.replace(spec_of(pattern, SkipMode.PAST_LAST_ROW, "", "none", False), use_within=False)
    table = pa.RecordBatch.from_pydict(
        {
            "__cep_k0": pa.array([1] + [None] * (rows - 1), pa.int64()),
            "__cep_m0": pa.array(masks),
            **{f"__cep_f{i}": pa.array(np.arange(rows)) for i in range(3)},
        }
    )
    kept: list[int] = []
    chunk_of = layout.chunk_of

    def noted(table: pa.Table, *more: Any) -> Any:
        kept.append(table.num_rows)
        return chunk_of(table, *more)

    monkeypatch.setattr(layout, "chunk_of", noted)
    found = answer(body(spec, 1000).run(iter([table.slice(k, 1000) for k in range(0, rows, 1000)])))
    assert len(found) == (rows + 5) // 7
    assert {row["__cep_k0"] for row in found} == {1}
    assert [row["__cep_self"] for row in found[-1:]] == [rows - 1]
    assert max(kept) < 1100
