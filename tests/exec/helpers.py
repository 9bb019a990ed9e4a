"""Run the rows engine on plain Python data, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sparkcep.exec.arrays import Ints
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.rows.matcher import Batch, Matcher
from sparkcep.exec.engines.rows.program import compile_pattern
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.engines.rows.tables import NEVER
from sparkcep.exec.kernels.rows import rows as kernel
from sparkcep.pattern import Pattern
from sparkcep.query import RowsPerMatch, SkipMode

from .reference_rows import ReferenceMatch


def make_spec(pattern: Pattern, bits: dict[str, int], **changes: Any) -> MatchSpec:
    """A spec with ALL ROWS PER MATCH; ``bits`` gives the mask bit of each variable that has a condition."""
    program = compile_pattern(pattern)
    values: dict[str, Any] = {
        "program": program,
        "condition_bits": {program.names.index(v): b for v, b in bits.items() if v in program.names},
        "mask_words": 1,
        "use_within": False,
        "rows_per_match": RowsPerMatch.ALL_SHOW_EMPTY,
        "skip": SkipMode.PAST_LAST_ROW,
        "skip_labels": frozenset(),
        "skip_target": "",
        "slots": (),
        "slot_registers": (),
        "every_row": False,
        "conditions": ConditionSet(),
        "ansi": True,
        "limit_steps": 10**7,
        "limit_rows": 10**6,
    }
    values.update(changes)
    return MatchSpec(**values)


def batch(masks: Sequence[int], columns: Sequence[pa.Array] = (), within: Any = None) -> Batch:
    """One partition."""
    return Batch(np.array([0, len(masks)], np.int64), [pa.array(masks, pa.int64())], columns, within)


def remembering(spec: MatchSpec, capacity: int, calls_back: CallsBack = CallsBack.WHERE_NEEDED) -> Matcher:
    """A matcher that keeps failed states from the first one on, in a table of so many entries, if it keeps any."""
    matcher = Matcher(spec, calls_back)
    memo = matcher.memo
    if memo.patience != NEVER:
        matcher.memo = memo._replace(entries=np.zeros(capacity * memo.width, np.int64), capacity=capacity, patience=-1)
    return matcher


def found_matches(
    spec: MatchSpec, data: Batch, calls_back: CallsBack = CallsBack.WHERE_NEEDED
) -> list[tuple[int, int, tuple[tuple[str, int, bool], ...]]]:
    """Matches of one partition as (number, start, taken rows), as the reference gives them."""
    return read_matches(spec, Matcher(spec, calls_back).match(data))


def read_matches(spec: MatchSpec, table: Ints) -> list[tuple[int, int, tuple[tuple[str, int, bool], ...]]]:
    """Matches of one partition from a matcher's output."""
    out: dict[int, tuple[int, list[tuple[str, int, bool]]]] = {}
    for row in table.tolist():
        number, label, self_row, flags = row[kernel.NUMBER], row[kernel.LABEL], row[kernel.SELF], row[kernel.FLAGS]
        _, taken = out.setdefault(number, (self_row, []))
        if label >= 0:
            taken.append((spec.program.names[label], self_row, bool(flags & kernel.EXCLUDED)))
    return [(number, start, tuple(taken)) for number, (start, taken) in out.items()]


def as_tuples(matches: list[ReferenceMatch]) -> list[tuple[int, int, tuple[tuple[str, int, bool], ...]]]:
    return [(m.number, m.start, m.path) for m in matches]
